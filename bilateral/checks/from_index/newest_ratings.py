"""Newest ratings first: those that accounts gave, and those about an agent."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import bindparam, exists, literal_column, select, union_all

from bilateral.checks.from_index.as_of_block import AsOfBlock, covering
from bilateral.core.events import ClientRated, FeedbackRevoked, NewAuthorizedFeedback, NewFeedback
from bilateral.core.values.standing import Side
from bilateral.index.log import tables as schema
from bilateral.index.log.unindexed import newest_first
from bilateral.index.ratings.blind import is_blind_feedback, is_blind_rating
from bilateral.index.reading.prepared import Prepared, at_most, one_of, size_for, spread

_ONE_BY_ONE: Final = 8
"""The most accounts that are asked for one by one."""

_FEEDBACK, _AUTHORIZED, _REVOKED, _CLIENT = (
    schema.EVENT_TABLES[event] for event in (NewFeedback, NewAuthorizedFeedback, FeedbackRevoked, ClientRated)
)


def feedback_by(as_of: AsOfBlock, registries: Collection[str], accounts: Collection[str], limit: int) -> list[Any]:
    """Return the newest open feedback that some accounts gave, with `is_revoked`."""
    addresses = list(registries)
    parameters = {**as_of.bounds, **spread("registry", addresses, len(addresses))}
    ordered = sorted(accounts)
    if len(ordered) > _ONE_BY_ONE:
        parameters |= spread("account", ordered, size := size_for(ordered))
        return _feedback_by(len(addresses), size, limit).records(as_of.connection, parameters)
    # The index of an account's feedback has blocks, so each query ends after its rows. Of two accounts none would.
    statement = _feedback_by(len(addresses), 1, limit)
    rows: list[Any] = []
    for account in ordered:
        rows += statement.records(as_of.connection, {**parameters, "account_0": account})
    rows.sort(key=lambda row: (row.block_number, row.log_index), reverse=True)
    return rows[:limit]


@lru_cache
def _feedback_by(registries: int, accounts: int, limit: int) -> Prepared:
    """Return the statement that reads the newest open feedback of some accounts in some registries."""
    columns = _FEEDBACK.c
    by_place = (columns.block_number.desc(), columns.log_index.desc())
    names = ("block_number", "log_index", "block_time", "transaction_hash", "registry", "agent_id")
    return Prepared(
        select(
            *(columns[name] for name in names),
            columns.client_address,
            columns.value,
            columns.value_decimals,
            columns.tag1,
        )
        .add_columns(_is_revoked().label("is_revoked"))
        .where(covering(_FEEDBACK), one_of("registry", columns.registry, registries))
        .where(one_of("account", columns.client_address, accounts))
        .order_by(*(by_place if accounts == 1 else newest_first(columns)))
        .limit(at_most(limit))
    )


@lru_cache
def newest_about(side: str, registries: int, raters: int, limit: int, *, only_blind: bool = False) -> Prepared:
    """Return the statement that reads the newest ratings of an agent by some raters; 0 for all.

    Its parameters: those of `covering`, `agent_id`, for a server `tag`, and the lists `registry` and `rater`.
    """
    table, is_server = (_FEEDBACK, True) if side == Side.SERVER else (_CLIENT, False)
    rater = table.c.client_address if is_server else table.c.server_id
    names = ("registry", "block_number", "log_index", "transaction_hash", "rating")
    query = select(*(table.c[name] for name in names if name in table.c), rater).where(covering(table))
    query = query.where(one_of("registry", table.c.registry, registries))
    if is_server:
        query = query.where(table.c.agent_id == bindparam("agent_id"), table.c.tag1 == bindparam("tag"), ~_is_revoked())
    else:
        query = query.where(table.c.client_id == bindparam("agent_id"))
    if only_blind:
        query = query.where(is_blind_feedback(table) if is_server else is_blind_rating(table))
    if raters:
        query = query.where(one_of("rater", rater, raters))
    by_place = (table.c.block_number.desc(), table.c.log_index.desc())  # the index of an agent's feedback has blocks
    return Prepared(query.order_by(*(by_place if is_server else newest_first(table.c))).limit(at_most(limit)))


def _is_revoked() -> Any:
    """Return the condition that a feedback is revoked as of a block."""
    feedback, revoked = _FEEDBACK, _REVOKED
    is_later = (revoked.c.block_number > feedback.c.block_number) | (
        (revoked.c.block_number == feedback.c.block_number) & (revoked.c.log_index > feedback.c.log_index)
    )
    key = ("registry", "agent_id", "client_address", "feedback_index")
    return exists().where(covering(revoked), *(revoked.c[name] == feedback.c[name] for name in key), is_later)


@lru_cache
def first_feedback(registries: int) -> Prepared:
    """Return the statement that reads the first feedback of each kind that an account gave.

    Its parameters are those of `covering`, `account`, and the list `registry`.
    """
    names = ("registry", "block_number", "log_index", "transaction_hash", "block_time")
    parts = []
    for place, table in enumerate((_FEEDBACK, _AUTHORIZED)):
        query = (
            select(*(table.c[name] for name in names), literal_column(str(place)).label("kind"))
            .where(covering(table), one_of("registry", table.c.registry, registries))
            .where(table.c.client_address == bindparam("account"))
            .order_by(table.c.block_number, table.c.log_index)
            .limit(at_most(1))
        )
        parts.append(select(query.subquery()))
    return Prepared(union_all(*parts))
