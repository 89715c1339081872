"""The progress of chains on shards, which each shard tells itself: one that does not answer hides no other."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from sqlalchemy import make_url

from bilateral.core.errors import BilateralError
from bilateral.index.log.database import open_database
from bilateral.index.operating.databases import Shard
from bilateral.index.operating.status import ChainStatus, chain_statuses
from bilateral.index.shards.servers import of_shard

_CONNECT_SECONDS: Final = 2
"""The seconds to connect to a shard, as the coordinator has: monitors wait ten by default."""


@dataclass(frozen=True)
class ShardStatuses:
    """The progress of all chains that can be read.

    Attributes:
        chains: The status of each of them, by chain id.
        missing: The chains of shards that cannot be read, by chain id.
        problems: The reasons, by shard.
    """

    chains: list[ChainStatus]
    missing: list[int]
    problems: list[BilateralError]


def statuses_of_shards(shards: Mapping[str, Shard]) -> ShardStatuses:
    """Ask all shards at once.

    Args:
        shards: The shards of the settings.
    """
    with ThreadPoolExecutor(len(shards)) as threads:
        answers = dict(zip(shards, threads.map(_asked, shards, shards.values()), strict=True))
    failed = {name: answer for name, answer in answers.items() if isinstance(answer, BilateralError)}
    statuses = [status for answer in answers.values() if isinstance(answer, list) for status in answer]
    return ShardStatuses(
        sorted(statuses, key=lambda status: status.chain_id),
        sorted(chain_id for name in failed for chain_id in shards[name].chains),
        list(failed.values()),
    )


def _asked(name: str, shard: Shard) -> list[ChainStatus] | BilateralError:
    """Return the status of a shard's chains, or the reason why it cannot be read."""
    url = make_url(shard.url)
    if "connect_timeout" not in url.query:
        url = url.update_query_dict({"connect_timeout": str(_CONNECT_SECONDS)})
    try:
        with of_shard(name):
            engine = open_database(url.render_as_string(hide_password=False), creates=False)
            try:
                return chain_statuses(engine)
            finally:
                engine.dispose()
    except BilateralError as problem:
        return problem
