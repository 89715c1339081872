"""Compare an index's rows with an endpoint's data and with stored events."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, Final

from eth_abi.abi import encode
from eth_utils.crypto import keccak
from sqlalchemy import Column, Connection, Engine, MetaData, Table, except_, func, insert, intersect, select

from bilateral.core.contracts import Registry
from bilateral.core.errors import MalformedNodeAnswerError, NodeError
from bilateral.core.identifiers import checksummed
from bilateral.index.agents import tables as agent_tables
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.extraction import Extraction
from bilateral.index.chain.logs import BlockLogs
from bilateral.index.chain.source import Source
from bilateral.index.errors import EndpointLiesError
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import counted, stored_events
from bilateral.index.log.database import snapshot
from bilateral.index.log.dialects import wait_for_locks
from bilateral.index.log.rows import Row, key_columns
from bilateral.index.projections import DERIVED_TABLES, PROJECTIONS
from bilateral.node.answers import revert_of

_SELECTOR: Final = keccak(text="ownerOf(uint256)")[:4]
_OWNER: Final = re.compile(r"0x0{24}([0-9a-fA-F]{40})")


@dataclass(frozen=True)
class OwnerComparison:
    """The result of comparing the owners of some agents.

    Attributes:
        compared: The number of agents that were compared.
        different: The agents whose on-chain owner differs from the stored one, each with registry, token id and both
            owners.
    """

    compared: int
    different: tuple[str, ...]


def compare_owners(
    engine: Engine, endpoint: Endpoint, chain_id: int, *, samples: int, seed: int = 0
) -> OwnerComparison:
    """Compare the owners of randomly chosen agents with `ownerOf` as of the last indexed block."""
    chain, agent = schema.chain.c, agent_tables.agent.c
    query = (
        select(agent.identity_registry, agent.agent_id, agent.owner)
        .where(agent.chain_id == chain_id)
        .order_by(agent.identity_registry, agent.agent_id)  # the same seed chooses the same agents
        .execution_options(stream_results=True)
    )
    choice = random.Random(seed)  # noqa: S311  # a sample, not a secret
    with snapshot(engine) as connection:
        block = connection.execute(select(chain.block_number).where(chain.chain_id == chain_id)).scalar_one()
        rows = map(tuple, connection.execute(query)) if samples else ()
        agents = nsmallest(samples, rows, key=lambda _: choice.random())
    different = []
    for registry, agent_id, owner in agents:
        actual = _owner_of(endpoint, registry, int(agent_id), block)
        if actual != owner:
            different.append(f"{registry} agent {agent_id}: {owner} in the index, {actual or 'no owner'} on the chain")
    return OwnerComparison(len(agents), tuple(different))


def _owner_of(endpoint: Endpoint, registry: str, agent_id: int, block: int) -> str | None:
    """Return an agent's checksummed owner as of a block; None if the call reverts because the agent does not exist."""
    data = "0x" + (_SELECTOR + encode(["uint256"], [agent_id])).hex()
    try:
        answer = endpoint.request("eth_call", ({"to": registry, "data": data}, hex(block)), str)
    except NodeError as error:
        if revert_of(error) is None:
            raise
        return None
    if not (owner := _OWNER.fullmatch(answer)):
        raise MalformedNodeAnswerError(
            f"{endpoint.name} responded to ownerOf({agent_id}) on {registry} with {answer[:80]!r} instead of an address"
        )
    return checksummed("0x" + owner[1])


_MOST_LISTED: Final = 20
"""The maximum number of rows to list for each kind of difference, in case a whole table is missing."""


@dataclass(frozen=True)
class DerivedComparison:
    """The result of comparing one derived table.

    Attributes:
        rows: The number of rows derived from the events.
        missing: The number of derived rows that the table lacks.
        stale: The number of rows in the table that cannot be derived from the events.
        different: The number of rows with the right key but different values.
        places: The kind of difference and the key, for the first missing, stale or different rows.
    """

    table: str
    rows: int
    missing: int
    stale: int
    different: int
    places: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        """True if the table matches the events."""
        return not (self.missing or self.stale or self.different)


def compare_derived(
    engine: Engine, chain_id: int, progress: Callable[[int], None] = lambda _: None
) -> list[DerivedComparison]:
    """Recompute a chain's derived tables, compare them with the stored tables, and roll the transaction back."""
    cursor = select(schema.chain.c.block_number).where(schema.chain.c.chain_id == chain_id)
    with engine.connect() as connection, connection.begin() as changes:
        wait_for_locks(connection)
        connection.execute(cursor.with_for_update()).all()  # prevents workers from adding events in the meantime
        retained = [_copy(connection, table, chain_id) for table in DERIVED_TABLES]
        for projection in PROJECTIONS:
            if projection.derived:  # files change other tables in the meantime, which would appear as differences
                projection.rebuild(connection, chain_id, progress)
        comparisons = [
            _compare(connection, table, copy, chain_id) for table, copy in zip(DERIVED_TABLES, retained, strict=True)
        ]
        changes.rollback()
    return comparisons


def _copy(connection: Connection, table: Table, chain_id: int) -> Table:
    """Copy a chain's rows from a table to a temporary table, which disappears in the rollback."""
    columns = [Column(column.name, column.type) for column in table.c]
    copy = Table(f"verified_{table.name}", MetaData(), *columns, prefixes=["TEMPORARY"])
    copy.create(connection, checkfirst=False)
    connection.execute(insert(copy).from_select(list(table.c), select(table).where(table.c.chain_id == chain_id)))
    return copy


def _compare(connection: Connection, table: Table, copy: Table, chain_id: int) -> DerivedComparison:
    """Compare a table's recomputed rows with the copy of the previous rows."""
    of_chain, names = table.c.chain_id == chain_id, key_columns(table)
    expected, stored = select(*table.c[names]).where(of_chain), select(*copy.c[names])
    changed = except_(select(table).where(of_chain), select(copy)).subquery()
    queries = {
        "missing": except_(expected, stored),
        "stale": except_(stored, expected),
        "different": intersect(select(*changed.c[names]), stored),
    }
    counts, places = {}, list[str]()
    for kind, query in queries.items():
        keys = query.subquery()
        counts[kind] = connection.execute(select(func.count()).select_from(keys)).scalar_one()
        if counts[kind]:
            first = connection.execute(select(keys).order_by(*keys.c).limit(_MOST_LISTED))
            places += [f"{kind} {_place(row._asdict())}" for row in first]
    rows = connection.execute(select(func.count()).select_from(table).where(of_chain)).scalar_one()
    return DerivedComparison(table.name, rows, **counts, places=tuple(places))


def _place(key: Mapping[str, Any]) -> str:
    return " ".join(f"{name} {value}" for name, value in key.items() if name != "chain_id")


RANGE_BLOCKS: Final = 2_000
"""The number of blocks to compare at once."""


@dataclass(frozen=True)
class Comparison:
    """The result of comparing one range of blocks.

    Attributes:
        first: The first block.
        last: The last block.
        rows: The number of rows that were compared.
        missing: The table, block and log index of each row that the index lacks although the log is on the chain.
        stale: The table, block and log index of each row whose log is missing or different on the chain.
    """

    first: int
    last: int
    rows: int
    missing: tuple[str, ...]
    stale: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        """True if the stored rows match the chain."""
        return not self.missing and not self.stale


class Verifier:
    """Reads ranges of blocks again and compares them with the stored rows.

    Args:
        source: The source of the chain's data, preferably a different endpoint than was used for indexing.
    """

    def __init__(self, engine: Engine, source: Source, registries: Mapping[str, Registry]) -> None:
        self._engine = engine
        self._source = source
        self._chain_id = source.chain_id()
        self._extraction = Extraction(self._chain_id, registries)

    def compare(self, first: int, last: int, *, samples: int | None = None, seed: int = 0) -> Iterator[Comparison]:
        """Compare a range of blocks, and yield the result for each segment of the range."""
        if (head := self._source.head()) < last:
            raise EndpointLiesError(self._source.name, f"the last block is {head}, but block {last} is indexed")
        starts = list(range(first, last + 1, RANGE_BLOCKS))
        if samples is not None and samples < len(starts):
            starts = sorted(random.Random(seed).sample(starts, samples))  # noqa: S311  # a sample, not a secret
        for start in starts:
            stop, end = min(start + RANGE_BLOCKS - 1, last), start - 1
            while end < stop:  # an endpoint may return fewer blocks at once
                begin = end + 1
                logs, end = self._source.logs(begin, stop)
                yield self._compare_range(begin, end, logs)

    def _compare_range(self, first: int, last: int, logs: Sequence[BlockLogs]) -> Comparison:
        for block, header in zip(logs, self._source.headers_of([log.number for log in logs]), strict=True):
            block.time = header.block.time
        expected = counted(self._extraction.rows(logs))
        stored = stored_events(self._engine, self._chain_id, first, last)
        missing, stale = expected - stored, stored - expected
        return Comparison(first, last, expected.total(), _places(missing), _places(stale))


def _places(rows: Counter[tuple[str, Row]]) -> tuple[str, ...]:
    return tuple(f"{name} block {row[1]} log {row[2]}" for name, row in sorted(rows, key=lambda row: row[1][1:3]))
