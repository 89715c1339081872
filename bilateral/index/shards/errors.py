"""Errors of an index on several servers."""

from __future__ import annotations

from bilateral.core.errors import BilateralError


class ShardError(BilateralError):
    """A server of a sharded index is not what the settings say. Nothing was changed.

    Attributes:
        shard: The name of the shard, or `coordinator`.
    """

    reason = "wrong_shard"

    def __init__(self, shard: str, problem: str) -> None:
        super().__init__(f"shard {shard}: {problem}" if shard else f"the coordinator: {problem}")
        self.shard = shard or "coordinator"


class MisplacedChainError(BilateralError):
    """A worker would write a chain into a database that does not hold it. Nothing was changed."""

    reason = "misplaced_chain"

    def __init__(self, chain_id: int, problem: str) -> None:
        super().__init__(f"chain {chain_id} {problem}")
        self.chain_id = chain_id
