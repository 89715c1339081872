"""The records of one transaction: its payments, and the ratings, validations and registrations that it logged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, select

from bilateral.core.events import (
    ClientRated,
    NewAuthorizedFeedback,
    NewFeedback,
    Registered,
    ValidationRequest,
    ValidatorRated,
)
from bilateral.index.log import tables as schema
from bilateral.index.payments.tables import payment

LOOKED_AT: Final = 20_000
"""The newest events of each kind that are looked at. An index by transactions would slow the storing of every event."""

_MOST: Final = 20  # events; a batch may have more

_RATINGS: Final = (NewFeedback, NewAuthorizedFeedback, ClientRated, ValidatorRated)


@dataclass(frozen=True, slots=True)
class Logged:
    """An event of a transaction that has a page.

    Attributes:
        kind: `rating`, `validation` or `registration`.
        log_index: Its place in the block.
        name: The hash of a validation's request, or the id of a registered agent; None for ratings.
    """

    kind: str
    block: int
    log_index: int
    name: bytes | int | None


@dataclass(frozen=True, slots=True)
class PaidAgent:
    """A payment that a transaction made to an agent.

    Attributes:
        identity_registry: The agent's identity registry.
        agent_id: The id of its token.
        payer: The account that paid.
    """

    identity_registry: str
    agent_id: int
    payer: str


def logged_in(connection: Connection, chain_id: int, transaction: bytes) -> tuple[Logged, ...]:
    """Return the events of a transaction that have a page, among the newest 20,000 of each kind.

    Args:
        transaction: The hash of the transaction.
    """
    named = {ValidationRequest: ("validation", "request_hash"), Registered: ("registration", "agent_id")}
    events: list[Logged] = []
    for event in (*_RATINGS, *named):
        kind, name = named.get(event, ("rating", None))
        columns = schema.EVENT_TABLES[event].c
        newest = (
            select(
                columns.block_number, columns.log_index, columns.transaction_hash, *([columns[name]] if name else [])
            )
            .where(columns.chain_id == chain_id)
            .order_by(columns.block_number.desc(), columns.log_index.desc())
            .limit(LOOKED_AT)
            .subquery()
        )
        asked = select(newest).where(newest.c.transaction_hash == transaction).limit(_MOST)
        events += [Logged(kind, row[0], row[1], row[3] if name else None) for row in connection.execute(asked)]
    return tuple(sorted(events, key=lambda logged: (logged.block, logged.log_index))[:_MOST])


def paid_in(connection: Connection, chain_id: int, transaction: bytes) -> tuple[PaidAgent, ...]:
    """Return the payments to agents that a transaction made, of any age.

    Args:
        transaction: The hash of the transaction.
    """
    columns = payment.c
    asked = select(columns.identity_registry, columns.agent_id, columns.payer).where(
        columns.transaction_hash == transaction, columns.chain_id == chain_id
    )
    rows = connection.execute(asked.distinct().limit(_MOST))
    return tuple(PaidAgent(identity, int(agent_id), payer) for identity, agent_id, payer in rows)
