"""The sponsoring accounts in the database: their locks, their budgets, and counters that any process may add to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, Table, select, update

from bilateral.index.log.inserts import insert_into, insert_new
from bilateral.x402.aggregator.settings import SponsoredChain
from bilateral.x402.aggregator.tables import sponsor, sponsor_day


class BudgetSpentError(Exception):
    """The day's budget does not allow the cost. Nothing was changed."""


def lock_account(connection: Connection, chain: SponsoredChain) -> Row[Any]:
    """Return the row of a sponsoring account, and keep others from changing it until the transaction ends."""
    key = {"chain_id": chain.chain_id, "account": chain.account}
    insert_new(connection, sponsor, [{**key, "leased_until": 0.0}])
    query = select(sponsor).where(*(sponsor.c[name] == value for name, value in key.items()))
    return connection.execute(query.with_for_update()).one()


def spend(connection: Connection, chain: SponsoredChain, day: int, wei: int, *, is_paid: bool = False) -> None:
    """Add to the cost of a day. The account's row is locked.

    Raises:
        BudgetSpentError: The budget does not allow it. A cost that was paid is counted all the same.
    """
    key = {"chain_id": chain.chain_id, "account": chain.account, "day": day}
    conditions = [sponsor_day.c[name] == value for name, value in key.items()]
    insert_new(connection, sponsor_day, [{**key, "cost": 0}])
    cost = int(connection.execute(select(sponsor_day.c.cost).where(*conditions)).scalar_one()) + wei
    if wei > 0 and cost > chain.budget and not is_paid:
        raise BudgetSpentError
    connection.execute(update(sponsor_day).where(*conditions).values(cost=cost))


def add_count(connection: Connection, table: Table, key: Mapping[str, Any], name: str, count: int) -> None:
    """Add to a counter."""
    insert = insert_into(connection, table).values(**key, **{name: count})
    connection.execute(insert.on_conflict_do_update(index_elements=list(key), set_={name: table.c[name] + count}))
