"""Payments behind feedback: those that a file claims, compared with those that the index read from the chain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, Select, bindparam, select

from bilateral.core.events import (
    ClientRated,
    NewAuthorizedFeedback,
    NewFeedback,
    Registered,
    ValidationRequest,
    ValidatorRated,
)
from bilateral.index.log import tables as schema
from bilateral.index.log.lists import in_parts
from bilateral.index.payments.tables import FORGOTTEN, late_payment, payment, payment_cursor
from bilateral.index.ratings.feedback import Feedback
from bilateral.index.ratings.recent import RecentFeedback
from bilateral.index.reading.prepared import CHAIN, Prepared
from bilateral.index.reading.registries import AgentKey
from bilateral.index.reading.values import Exact, exact

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
    """Return the events of a transaction that have a page, among the newest 20,000 of each kind."""
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
    """Return the payments to agents that a transaction made, of any age."""
    columns = payment.c
    asked = select(columns.identity_registry, columns.agent_id, columns.payer).where(
        columns.transaction_hash == transaction, columns.chain_id == chain_id
    )
    rows = connection.execute(asked.distinct().limit(_MOST))
    return tuple(PaidAgent(identity, int(agent_id), payer) for identity, agent_id, payer in rows)


@dataclass(frozen=True, slots=True)
class PaymentProgress:
    """The progress of the payments of one chain, which follow its index.

    Attributes:
        block: The last block whose payments are stored; before the first indexed one if none is.
        first_block: The first indexed block.
        lag: The indexed blocks with enough confirmations whose payments are not stored.
    """

    chain_id: int
    block: int
    first_block: int
    lag: int


def payment_progress(connection: Connection) -> tuple[PaymentProgress, ...]:
    """Return the progress of the payments of each chain whose payments are read, by chain id."""
    table, cursor = schema.chain.c, payment_cursor.c
    query = select(cursor.chain_id, cursor.block_number, cursor.confirmations, table.first_block, table.block_number)
    rows = connection.execute(query.join(schema.chain, table.chain_id == cursor.chain_id).order_by(cursor.chain_id))
    return tuple(
        PaymentProgress(chain_id, block, first, max(0, head - confirmations + 1 - block))
        for chain_id, block, confirmations, first, head in rows
    )


def payments_known_at(connection: Connection, chain_id: int, block: int) -> int | None:
    """Return the last block whose payments the index had read when a block was its last one."""
    table = late_payment
    query = select(table.c.first_block).where(table.c.chain_id == chain_id, table.c.seen_block > block)
    first = connection.execute(query.order_by(table.c.seen_block, table.c.first_block).limit(1)).scalar_one_or_none()
    if first == FORGOTTEN:
        return None
    return block if first is None else min(block, first - 1)


PROVEN: Final = "proven"
"""The client paid the rated agent in the named transaction, as the chain shows."""

TO_ITSELF: Final = "to itself"
"""The same, but the client owns the agent, is its wallet, or may act for it. Such a payment proves nothing."""

CLAIMED: Final = "claimed"
"""The file names a transaction, in which the index has no payment of the client to the agent."""

NONE: Final = "none"
"""The feedback names no payment."""

_HASH: Final = re.compile("0x([0-9a-fA-F]{64})")
_DECIMALS: Final = 6  # of a dollar in millionths


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment that the index read from the chain.

    Attributes:
        payer: The account that paid.
        payee: The wallet that was paid.
        agent: The short id of the agent whose wallet it was.
        dollars: The amount in dollars, exact to millionths and rounded down.
        is_to_itself: True if the payer owns the agent, is its wallet, or may act for it.
        log_index: Its place in the block.
        time: The time of the block, Unix seconds.
    """

    chain_id: int
    payer: str
    payee: str
    agent: str
    token: str
    dollars: Exact
    is_to_itself: bool
    block: int
    log_index: int
    time: int
    transaction: str


@dataclass(frozen=True, slots=True)
class PaymentProof:
    """The answer to the question if a feedback was paid for.

    Attributes:
        state: `proven`, `to itself`, `claimed` or `none`.
        claimed: The transaction that the file names, the word of a stranger; None without one.
        payment: The payment that the chain shows; None if the index has none.
    """

    state: str
    claimed: str | None
    payment: Payment | None


def proofs_of(
    connection: Connection, identities: dict[str, str], chain_id: int, entries: Sequence[Feedback]
) -> tuple[PaymentProof, ...]:
    """Compare the payments that feedback claims with those in the index."""
    claims = [entry.file.payment_transaction if entry.file else None for entry in entries]
    payments = _payments_in(connection, chain_id, claims)
    return tuple(
        _proof(claim, payments, entry.client, identities.get(entry.registry), entry.agent_id)
        for claim, entry in zip(claims, entries, strict=True)
    )


def proof_of(  # noqa: PLR0913, PLR0917  # one a part of the question
    connection: Connection, identity: str | None, chain_id: int, agent_id: int, client: str, claim: str | None
) -> PaymentProof:
    """Compare one payment that a file claims with those in the index."""
    return _proof(claim, _payments_in(connection, chain_id, [claim]), client, identity, agent_id)


def payment_states(connection: Connection, key: AgentKey, newest: Sequence[RecentFeedback]) -> tuple[str, ...]:
    """Return the state of the payment of each of an agent's newest feedback."""
    payments = _payments_in(connection, key.chain_id, [feedback.payment_transaction for feedback in newest])
    proofs = (
        _proof(
            recent_feedback.payment_transaction, payments, recent_feedback.client, key.identity_registry, key.agent_id
        )
        for recent_feedback in newest
    )
    return tuple(proof.state for proof in proofs)


def payments_by(connection: Connection, chain_id: int, payer: str, limit: int = 12) -> tuple[Payment, ...]:
    """Return the newest payments of an account to agents."""
    return _newest(_BY_PAYER, connection, chain_id, payer, limit)


def payments_to(connection: Connection, chain_id: int, payee: str, limit: int = 12) -> tuple[Payment, ...]:
    """Return the newest payments to an account that is the wallet of agents."""
    return _newest(_BY_PAYEE, connection, chain_id, payee, limit)


def _newest(
    statement: Prepared, connection: Connection, chain_id: int, account: str, limit: int
) -> tuple[Payment, ...]:
    rows = statement.all(connection, {"chain": chain_id, "account": account, "limit": limit})
    return tuple(_payment(chain_id, *row[1:]) for row in rows)


def _payments_in(
    connection: Connection, chain_id: int, claims: Iterable[str | None]
) -> dict[bytes, list[tuple[str, Payment]]]:
    """Return the payments of the transactions that files name, each with the identity registry of its agent."""
    hashes = sorted({name for claim in claims if (name := _hash(claim)) is not None})
    payments: dict[bytes, list[tuple[str, Payment]]] = {}
    columns = payment.c
    for part in in_parts(hashes):
        query = _selection().where(columns.chain_id == chain_id, columns.transaction_hash.in_(part))
        for identity, *values in connection.execute(query):
            paid = _payment(chain_id, *values)
            payments.setdefault(bytes.fromhex(paid.transaction[2:]), []).append((identity, paid))
    return payments


def _proof(
    claim: str | None,
    payments_of: dict[bytes, list[tuple[str, Payment]]],
    client: str,
    identity: str | None,
    agent_id: int,
) -> PaymentProof:
    """Return the proof of one feedback. A payment of somebody else, or to another agent, proves nothing."""
    if claim is None:
        return PaymentProof(NONE, None, None)
    name = _hash(claim)
    agent = str(agent_id)
    fitting = [
        paid
        for registry, paid in (payments_of.get(name, ()) if name is not None else ())
        if registry == identity and paid.payer == client and paid.agent.partition(":")[2] == agent
    ]
    if not fitting:
        return PaymentProof(CLAIMED, claim, None)
    best = min(fitting, key=lambda log: (log.is_to_itself, log.log_index))
    return PaymentProof(TO_ITSELF if best.is_to_itself else PROVEN, claim, best)


def _hash(claim: str | None) -> bytes | None:
    """Return the hash of a transaction that a file names; None if the text is not one."""
    matched = _HASH.fullmatch(claim or "")
    return None if matched is None else bytes.fromhex(matched[1])


def _payment(chain_id: int, *values: Any) -> Payment:
    payer, payee, agent_id, token, micros, kinship, block, log_index, time, transaction = values
    return Payment(
        *(chain_id, payer, payee, f"{chain_id}:{int(agent_id)}", token, exact(micros, _DECIMALS), kinship is not None),
        *(block, log_index, time, f"0x{transaction.hex()}"),
    )


def _selection() -> Select[Any]:
    """Return the statement for payments."""
    columns = payment.c
    return select(
        *(columns[name] for name in ("identity_registry", "payer", "payee", "agent_id", "token", "micros", "kinship")),
        *(columns.block_number, columns.log_index, columns.block_time, columns.transaction_hash),
    )


def _of_account(name: str) -> Prepared:
    """Return the statement for the newest payments of an account, as the payer or as the payee."""
    columns = payment.c
    chain = columns.chain_id == CHAIN
    account = columns[name] == bindparam("account", type_=columns[name].type)
    limit = bindparam("limit", type_=BigInteger)
    order = (columns.block_number.desc(), columns.log_index.desc())
    return Prepared(_selection().where(chain, account).order_by(*order).limit(limit))


_BY_PAYER: Final = _of_account("payer")
_BY_PAYEE: Final = _of_account("payee")
