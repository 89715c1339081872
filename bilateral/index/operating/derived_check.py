"""Compare derived tables with what the events make of them, and change nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Column, Connection, Engine, MetaData, Table, except_, func, insert, intersect, select

from bilateral.index.log import tables as schema
from bilateral.index.log.lock_waits import wait_for_locks
from bilateral.index.log.rows import key_columns
from bilateral.index.projections import DERIVED_TABLES, PROJECTIONS

_MOST_NAMED: Final = 20
"""The rows of each kind that are named: enough to find the cause, and still readable if a whole table is gone."""


@dataclass(frozen=True)
class DerivedComparison:
    """The comparison of one derived table.

    Attributes:
        rows: The number of rows that follow from the events.
        missing: The number of rows that follow from the events, and that the table lacks.
        stale: The number of rows that the table has, and that do not follow from the events.
        different: The number of rows with the right key and other values.
        places: The first of these rows: the kind of difference, and the row's key.
    """

    table: str
    rows: int
    missing: int
    stale: int
    different: int
    places: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        """True if the table holds what follows from the events."""
        return not (self.missing or self.stale or self.different)


def compare_derived(
    engine: Engine, chain_id: int, progress: Callable[[int], None] = lambda _: None
) -> list[DerivedComparison]:
    """Recompute the derived tables of a chain, compare, and roll the transaction back.

    Args:
        engine: The database. Its other writers of the chain wait meanwhile.
        progress: Called with the number of a block now and then.

    Returns:
        The comparison of each table.
    """
    cursor = select(schema.chain.c.block_number).where(schema.chain.c.chain_id == chain_id)
    with engine.connect() as connection, connection.begin() as changes:
        wait_for_locks(connection)
        connection.execute(cursor.with_for_update()).all()  # no worker adds events meanwhile
        kept = [_copy(connection, table, chain_id) for table in DERIVED_TABLES]
        for projection in PROJECTIONS:
            if projection.derived:  # files change the other tables meanwhile, so a comparison would blame rows
                projection.rebuild(connection, chain_id, progress)
        comparisons = [
            _compare(connection, table, copy, chain_id) for table, copy in zip(DERIVED_TABLES, kept, strict=True)
        ]
        changes.rollback()
    return comparisons


def _copy(connection: Connection, table: Table, chain_id: int) -> Table:
    """Copy a chain's rows of a table into a temporary one, which the rollback removes."""
    columns = [Column(column.name, column.type) for column in table.c]
    copy = Table(f"verified_{table.name}", MetaData(), *columns, prefixes=["TEMPORARY"])
    copy.create(connection, checkfirst=False)
    connection.execute(insert(copy).from_select(list(table.c), select(table).where(table.c.chain_id == chain_id)))
    return copy


def _compare(connection: Connection, table: Table, kept: Table, chain_id: int) -> DerivedComparison:
    """Compare the rows of a table, computed again, with those that were kept."""
    of_chain, names = table.c.chain_id == chain_id, key_columns(table)
    expected, stored = (
        select(*(table.c[name] for name in names)).where(of_chain),
        select(*(kept.c[name] for name in names)),
    )
    changed = except_(select(table).where(of_chain), select(kept)).subquery()
    queries = {
        "missing": except_(expected, stored),
        "stale": except_(stored, expected),
        "different": intersect(select(*(changed.c[name] for name in names)), stored),
    }
    counts, places = {}, list[str]()
    for kind, query in queries.items():
        counts[kind], keys = _keys(connection, query)
        places += [f"{kind} {_place(names, key)}" for key in keys]
    rows = connection.execute(select(func.count()).select_from(table).where(of_chain)).scalar_one()
    return DerivedComparison(table.name, rows, **counts, places=tuple(places))


def _keys(connection: Connection, query: Any) -> tuple[int, Sequence[Any]]:
    """Return the number of keys that a query gives, and the first of them."""
    keys = query.subquery()
    count = connection.execute(select(func.count()).select_from(keys)).scalar_one()
    first = select(keys).order_by(*keys.c).limit(_MOST_NAMED)
    return count, connection.execute(first).all() if count else ()


def _place(names: Sequence[str], key: Sequence[Any]) -> str:
    """Return the key of a row, for people."""
    return " ".join(f"{name} {value}" for name, value in zip(names, key, strict=True) if name != "chain_id")
