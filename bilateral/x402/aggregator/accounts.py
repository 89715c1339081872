"""The sponsoring accounts in the database: their locks, their budgets, and counters that any process may add to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update
from sqlalchemy.dialects import postgresql, sqlite

from bilateral.index.tables.aggregator import sponsor, sponsor_day

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection, Row, Table

    from bilateral.x402.aggregator.settings import SponsoredChain


class BudgetSpentError(Exception):
    """The day's budget does not allow the cost. Nothing was changed."""


def lock_account(connection: Connection, chain: SponsoredChain) -> Row[Any]:
    """Return the row of a sponsoring account, and keep others from changing it until the transaction ends."""
    key = {"chain_id": chain.chain_id, "account": chain.account}
    _insert_if_missing(connection, sponsor, {**key, "leased_until": 0.0})
    query = select(sponsor).where(*(sponsor.c[name] == value for name, value in key.items()))
    return connection.execute(query.with_for_update()).one()


def spend(connection: Connection, chain: SponsoredChain, day: int, wei: int, *, is_paid: bool = False) -> None:
    """Add to the cost of a day. The account's row is locked.

    Raises:
        BudgetSpentError: The budget does not allow it. A cost that was paid is counted all the same.
    """
    key = {"chain_id": chain.chain_id, "account": chain.account, "day": day}
    conditions = [sponsor_day.c[name] == value for name, value in key.items()]
    _insert_if_missing(connection, sponsor_day, {**key, "cost": 0})
    cost = int(connection.execute(select(sponsor_day.c.cost).where(*conditions)).scalar_one()) + wei
    if wei > 0 and cost > chain.budget and not is_paid:
        raise BudgetSpentError
    connection.execute(update(sponsor_day).where(*conditions).values(cost=cost))


def _insert_if_missing(connection: Connection, table: Table, values: Mapping[str, Any]) -> None:
    """Insert a row unless there is one with its key."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    connection.execute(dialect.insert(table).values(**values).on_conflict_do_nothing())


def add_count(connection: Connection, table: Table, key: Mapping[str, Any], name: str, count: int) -> None:
    """Add to a counter."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    insert = dialect.insert(table).values(**key, **{name: count})
    connection.execute(insert.on_conflict_do_update(index_elements=list(key), set_={name: table.c[name] + count}))
