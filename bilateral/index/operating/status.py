"""The index's progress on each chain."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Engine, select

from bilateral.core.errors import BilateralError
from bilateral.core.values.standing import StandingsState
from bilateral.core.values.times import chain_time
from bilateral.index.log import tables as schema
from bilateral.index.log.database import snapshot
from bilateral.index.projections import PROJECTIONS, progress_of


@dataclass(frozen=True)
class ChainStatus:
    """One chain's progress.

    Attributes:
        first_block: The first block that is indexed.
        block: The last block that is indexed.
        head: The chain's head when the index last checked.
        lag: The number of blocks between `block` and `head`.
        finalized: The last finalized block; None if the node does not report it.
        event_rows: The number of stored logs.
        endpoint: The host of the endpoint in use.
        updated_at: The time of the last check.
        reorganizations: The number of reorganisations that removed blocks.
        last_reorganization_at: The time of the last reorganisation; None if there was none.
        last_reorganization_depth: The number of blocks that the last reorganisation removed.
        problem: The reason why the worker is waiting; None while it is working.
        files_waiting: The number of files that the chain's events refer to and that have not been fetched yet.
        files_loaded: The number of files that are stored and valid.
        files_malformed: The number of files that are stored but malformed.
        files_failed: The number of files that could not be loaded.
        files_per_second: The number of files loaded per second in the last minute.
        files_seconds_left: The seconds until all files are loaded at `files_per_second`; None if no file was loaded
            recently.
        standings: The block and age of the chain's standings and, if the last analysis failed, the reason.
    """

    chain_id: int
    first_block: int
    block: int
    block_time: datetime
    head: int
    lag: int
    finalized: int | None
    event_rows: int
    endpoint: str
    updated_at: datetime
    reorganizations: int
    last_reorganization_at: datetime | None
    last_reorganization_depth: int | None
    problem: str | None
    files_waiting: int
    files_loaded: int
    files_malformed: int
    files_failed: int
    files_per_second: float
    files_seconds_left: int | None
    standings: StandingsState


@dataclass(frozen=True)
class IndexStatus:
    """The progress of all chains that can be read, and the reasons why the other chains cannot be read.

    Attributes:
        chains: The status of each chain that can be read, in order of chain id.
        missing: The ids of the chains whose server does not respond, in ascending order.
        problems: The reasons why chains cannot be read, one per server.
    """

    chains: list[ChainStatus]
    missing: list[int]
    problems: list[BilateralError]


_TIMES: Final = ("block_time", "updated_at", "last_reorganization_at")
_COPIED: Final = (
    *("chain_id", "first_block", "event_rows", "endpoint", "problem"),
    *("reorganizations", "last_reorganization_depth"),
)
"""The columns of a chain's row that are copied into the chain's status."""


def chain_statuses(engine: Engine) -> list[ChainStatus]:
    """Return every chain's status, in order of chain id."""
    statuses = []
    with snapshot(engine) as connection:
        progress = progress_of(connection)
        for row in connection.execute(select(schema.chain).order_by(schema.chain.c.chain_id)).mappings().all():
            chain_id, figures = row["chain_id"], dict[str, Any]()
            for projection in PROJECTIONS:
                figures |= projection.status(connection, chain_id)
            figures |= {name: row[name] for name in _COPIED}
            figures |= {name: None if row[name] is None else chain_time(row[name]) for name in _TIMES}
            block, head = row["block_number"], row["head_number"]
            figures |= {"block": block, "head": head, "lag": max(0, head - block), "finalized": row["finalized_number"]}
            statuses.append(ChainStatus(**figures, standings=progress[chain_id].get("standings", StandingsState())))
    return statuses
