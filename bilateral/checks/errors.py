"""Errors of checks: there is no answer. A program that pays or serves only on an answer does neither."""

from __future__ import annotations

from bilateral.core.errors import BilateralError


class CheckError(BilateralError):
    """A check has no answer."""


class UnknownChainError(CheckError):
    """The index does not follow the chain, or knows no identity registry on it.

    Attributes:
        chain_id: The chain; None if the caller named none and the index follows several.
    """

    reason = "chain_not_indexed"

    def __init__(self, chain_id: int | None, indexed: list[int]) -> None:
        listed = ", ".join(map(str, indexed)) or "none"
        which = "the chain is not named" if chain_id is None else f"chain {chain_id} is not indexed"
        super().__init__(f"{which}: name one of the indexed chains ({listed}), as in 8453:247")
        self.chain_id = chain_id


class UnknownRegistryError(CheckError):
    """The index does not follow the identity registry that an agent's id names.

    Attributes:
        registry: The address of the registry.
    """

    reason = "registry_not_indexed"

    def __init__(self, chain_id: int, registry: str, indexed: list[str]) -> None:
        super().__init__(
            f"the identity registry {registry} is not indexed: name one of chain {chain_id} ({', '.join(indexed)})"
        )
        self.registry = registry


class UnknownAgentError(CheckError):
    """No such agent exists at the block of the check.

    Attributes:
        agent: The agent, as the caller named it.
    """

    reason = "unknown_agent"

    def __init__(self, agent: str, block: int) -> None:
        super().__init__(f"agent {agent} does not exist at block {block}: check its id and its chain")
        self.agent = agent
        self.block = block


class BlockNotHeldError(CheckError):
    """The index does not hold the block.

    Attributes:
        first: The first block that the index holds.
        last: The last one.
    """

    reason = "block_not_held"

    def __init__(self, block: int, first: int, last: int) -> None:
        super().__init__(f"block {block} is not indexed: at_block must be within {first} to {last}")
        self.block = block
        self.first = first
        self.last = last


class OtherHistoryError(CheckError):
    """A reorganisation replaced the history that an earlier answer rests on.

    Attributes:
        block: The block of the earlier answer.
    """

    reason = "other_history"

    def __init__(self, block: int) -> None:
        super().__init__(
            f"the history up to block {block} is another one than that of the earlier answer: the chain was "
            "reorganised, so check again without at_block"
        )
        self.block = block


class FileNotHeldError(CheckError):
    """The index no longer holds the version of a file that the agent had at the block.

    Attributes:
        uri: The file's URI.
    """

    reason = "file_not_held"

    def __init__(self, uri: str, block: int) -> None:
        super().__init__(f"the agent's file of block {block} was replaced since, and its content is not kept")
        self.uri = uri
        self.block = block


class FindingsNotHeldError(CheckError):
    """The stored trust analysis is newer than the check, and replaced another one.

    Attributes:
        block: The block of the check.
        analysed: The last block that the analysis saw.
    """

    reason = "findings_not_held"

    def __init__(self, block: int, analysed: int) -> None:
        super().__init__(
            f"the findings as of block {block} are not kept: an analysis of block {analysed} replaced them, so check "
            "without findings"
        )
        self.block = block
        self.analysed = analysed


class PaymentsNotHeldError(CheckError):
    """All payments were read again after the block of the check, so nobody can say which ones were known then.

    Attributes:
        block: The block of the check.
    """

    reason = "payments_not_held"

    def __init__(self, block: int) -> None:
        super().__init__(
            f"the payments that were known at block {block} are not kept, because all were read again: check at a "
            "later block"
        )
        self.block = block


class HistoryTooLongError(CheckError):
    """The question needs more events one by one than a check reads.

    Attributes:
        limit: The number of events that a check reads.
    """

    reason = "history_too_long"

    def __init__(self, subject: str, limit: int) -> None:
        super().__init__(
            f"there are more than {limit} {subject}: check at the head, and without a limit of age or proofs of payment"
        )
        self.limit = limit
