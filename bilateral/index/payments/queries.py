"""Proofs of payment for feedback: the payments that a file claims, compared with those that the index found on chain.

The chain only limits a metered payment to the ceiling that the payer signed. A seller that always takes the maximum may
not be metering at all; this is suspicious but proves nothing.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, product
from statistics import median
from typing import Any, Final, NamedTuple

from sqlalchemy import BigInteger, Connection, Row, Select, bindparam, exists, func, select

from bilateral.core import events
from bilateral.index.files import tables as files
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import in_parts, unindexed
from bilateral.index.payments.tables import FORGOTTEN, late_payment, payment, payment_cursor
from bilateral.index.payments.terms import MICROS, PaymentTerms
from bilateral.index.ratings.authorized import AuthorizedFeedback
from bilateral.index.ratings.feedback import Feedback
from bilateral.index.ratings.recent import RecentFeedback
from bilateral.index.ratings.tables import place_values
from bilateral.index.reading.prepared import CHAIN, Prepared
from bilateral.index.reading.registries import AgentKey, Exact, exact

_NEWEST: Final = 20_000
"""The number of newest events of each kind to search. An index by transaction would slow down storing every event."""

_MOST: Final = 20  # events per transaction; a batch may have more

_PAGES: Final[dict[type[events.Event], tuple[str, tuple[str, ...]]]] = {
    events.NewFeedback: ("rating", ()),
    events.NewAuthorizedFeedback: ("rating", ()),
    events.ClientRated: ("rating", ()),
    events.ValidatorRated: ("rating", ()),
    events.ValidationRequest: ("validation", ("request_hash",)),
    events.Registered: ("registration", ("agent_id",)),
}
"""The kind of web page for each event, and the column that identifies the page if the position does not."""


@dataclass(frozen=True, slots=True)
class Logged:
    """An event in a transaction, of a kind that has its own web page.

    Attributes:
        log_index: The event's position in the block.
        name: The hash of a validation request, or the id of a registered agent; None for ratings.
    """

    kind: str
    block: int
    log_index: int
    name: bytes | int | None = None


def logged_in(connection: Connection, chain_id: int, transaction: bytes) -> tuple[Logged, ...]:
    """Return a transaction's events that have pages of their own, if they are among the newest 20,000 of their kind."""
    logged: list[Logged] = []
    for event, (kind, name) in _PAGES.items():
        columns = schema.EVENT_TABLES[event].c
        newest = (
            select(*(columns[column] for column in ("transaction_hash", "block_number", "log_index", *name)))
            .where(columns.chain_id == chain_id)
            .order_by(columns.block_number.desc(), columns.log_index.desc())
            .limit(_NEWEST)
            .subquery()
        )
        matching = select(newest).where(newest.c.transaction_hash == transaction).limit(_MOST)
        logged += [Logged(kind, *row[1:]) for row in connection.execute(matching)]
    return tuple(sorted(logged, key=lambda event: (event.block, event.log_index))[:_MOST])


def paid_in(connection: Connection, chain_id: int, transaction: bytes) -> Sequence[Row[str, int, str]]:
    """Return `identity_registry`, `agent_id` and `payer` for each agent that a transaction of any age paid."""
    columns = payment.c
    of_transaction = columns.transaction_hash == transaction, columns.chain_id == chain_id
    query = select(columns.identity_registry, columns.agent_id, columns.payer).where(*of_transaction)
    return connection.execute(query.distinct().limit(_MOST)).all()


@dataclass(frozen=True, slots=True)
class PaymentProgress:
    """The progress of one chain's payments, which are read after its blocks are indexed.

    Attributes:
        block: The last block whose payments are stored; if there is none, the block before the first indexed block.
        first_block: The first indexed block.
        lag: The number of indexed blocks with enough confirmations whose payments are not stored yet.
    """

    chain_id: int
    block: int
    first_block: int
    lag: int


def payment_progress(connection: Connection) -> tuple[PaymentProgress, ...]:
    """Return the payment progress of each chain whose payments are read, keyed by chain id."""
    table, cursor = schema.chain.c, payment_cursor.c
    query = select(cursor.chain_id, cursor.block_number, cursor.confirmations, table.first_block, table.block_number)
    rows = connection.execute(query.join(schema.chain, table.chain_id == cursor.chain_id).order_by(cursor.chain_id))
    return tuple(
        PaymentProgress(chain_id, block, first, max(0, head - confirmations + 1 - block))
        for chain_id, block, confirmations, first, head in rows
    )


def last_block_with_payments(connection: Connection, chain_id: int, block: int) -> int | None:
    """Return the last block whose payments the index had read when a given block was the last to be indexed."""
    table = late_payment
    query = select(table.c.first_block).where(table.c.chain_id == chain_id, table.c.seen_block > block)
    first = connection.execute(query.order_by(table.c.seen_block, table.c.first_block).limit(1)).scalar_one_or_none()
    if first == FORGOTTEN:
        return None
    return block if first is None else min(block, first - 1)


PROVEN: Final = "proven"
"""The client paid the rated agent in the claimed transaction, as proven on chain."""

TO_ITSELF: Final = "to itself"
"""Like `PROVEN`, but the client owns the agent, is its wallet or may act for it, so that the payment proves nothing."""

USED: Final = "used"
"""The client paid the agent in the claimed transaction, but earlier feedback already claims that payment."""

CLAIMED: Final = "claimed"
"""The file claims a transaction for which the index has no payment from the client to the agent before the feedback."""

NONE: Final = "none"
"""The feedback claims no payment."""

_HASH: Final = re.compile("0x[0-9a-fA-F]{64}")


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment that the index read from the chain.

    Attributes:
        payer: The account that paid.
        payee: The wallet that was paid.
        agent: The short id of the agent whose wallet it was.
        kind: `eip3009`, `permit2-exact`, `permit2-upto`, `channel` or `plain`.
        dollars: The amount in dollars, exact to millionths and rounded down.
        ceiling: The maximum amount that the payer signed for, in dollars; None if the payer signed an exact amount.
        is_to_itself: True if the payer owns the agent, is the agent's wallet, or is authorised to act for the agent.
        log_index: The payment's position in the block.
        time: The block time, in Unix seconds.
    """

    chain_id: int
    payer: str
    payee: str
    agent: str
    token: str
    kind: str
    dollars: Exact
    ceiling: Exact | None
    is_to_itself: bool
    block: int
    log_index: int
    time: int
    transaction: str


@dataclass(frozen=True, slots=True)
class PaymentProof:
    """The evidence of whether feedback was paid for.

    Attributes:
        state: `proven`, `to itself`, `used`, `claimed` or `none`.
        claimed: The transaction that the feedback file claims, which is untrusted text; None if the file claims none.
        payment: The payment on chain; None if the index has no matching payment.
    """

    state: str
    claimed: str | None
    payment: Payment | None


class _Claim(NamedTuple):
    """A feedback entry, with the transaction of the payment that its file claims."""

    transaction: str | None
    client: str
    identity: str | None
    registry: str
    agent_id: int
    place: tuple[int, int]


def proofs_of(
    connection: Connection, identities: dict[str, str], chain_id: int, entries: Sequence[Feedback]
) -> tuple[PaymentProof, ...]:
    """Compare the payments that feedback entries claim with the payments in the index."""
    claims = []
    for entry in entries:
        transaction = entry.file.payment_transaction if entry.file else None
        claims.append(_claim(entry, transaction, identities.get(entry.registry), entry.agent_id))
    return _proofs(connection, chain_id, claims)


def proof_of(
    connection: Connection, identity: str | None, entry: AuthorizedFeedback, transaction: str | None
) -> PaymentProof:
    """Compare the payment that an authorised feedback entry claims with the payments in the index."""
    chain_id, agent_id = map(int, entry.agent.split(":"))
    return _proofs(connection, chain_id, [_claim(entry, transaction, identity, agent_id)])[0]


def payment_states(connection: Connection, key: AgentKey, newest: Sequence[RecentFeedback]) -> tuple[str, ...]:
    """Return the payment state of each of an agent's newest feedback entries."""
    claims = [_claim(entry, entry.payment_transaction, key.identity_registry, key.agent_id) for entry in newest]
    return tuple(proof.state for proof in _proofs(connection, key.chain_id, claims))


def _claim(
    entry: Feedback | AuthorizedFeedback | RecentFeedback, transaction: str | None, identity: str | None, agent_id: int
) -> _Claim:
    return _Claim(transaction, entry.client, identity, entry.registry, agent_id, (entry.block, entry.log_index))


def payments_of(connection: Connection, chain_id: int, account: str, side: str, limit: int = 12) -> tuple[Payment, ...]:
    """Return the newest payments that an account made to agents (`payer`) or received as agents' wallet (`payee`)."""
    rows = _BY_SIDE[side].all(connection, {"chain": chain_id, "account": account, "limit": limit})
    return tuple(_payment(chain_id, *row[1:]) for row in rows)


def _proofs(connection: Connection, chain_id: int, claims: Sequence[_Claim]) -> tuple[PaymentProof, ...]:
    """Return the proof of each claim. A payment backs the first feedback that claims it, in chain order.

    If a transaction contains several payments from a client to an agent, each of them backs one feedback entry.
    """
    transactions = [_normalized(claim.transaction) for claim in claims]
    payments: dict[tuple[str | None, ...], list[Payment]] = defaultdict(list)
    for part in in_parts(bytes.fromhex(name[2:]) for name in sorted({*transactions} - {""})):
        query = _selection().where(unindexed(payment.c.chain_id) == chain_id, payment.c.transaction_hash.in_(part))
        for identity, *values in connection.execute(query):
            paid = _payment(chain_id, *values)
            payments[paid.transaction, paid.payer, identity, paid.agent].append(paid)
    last = max((claim.place[0] for claim in claims), default=0)
    places = _places_of_claims(connection, chain_id, list(chain(*payments.values())), last)
    proofs = []
    for claim, transaction in zip(claims, transactions, strict=True):
        # A payment by another account, or to another agent, proves nothing.
        subject = transaction, claim.client, claim.identity, f"{chain_id}:{claim.agent_id}"
        paying = sorted(payments.get(subject, ()), key=lambda paid: (paid.is_to_itself, paid.log_index))
        if not paying or claim.place < (paying[0].block, 0):
            proofs.append(PaymentProof(NONE if claim.transaction is None else CLAIMED, claim.transaction, None))
            continue
        rivals = places[transaction, claim.client, claim.registry, claim.agent_id]
        rank = sum((paying[0].block, 0) <= place < claim.place for place in rivals)
        best = paying[min(rank, len(paying) - 1)]
        state = USED if rank >= len(paying) else TO_ITSELF if best.is_to_itself else PROVEN
        proofs.append(PaymentProof(state, claim.transaction, best))
    return tuple(proofs)


def _normalized(transaction: str | None) -> str:
    return transaction.lower() if transaction and _HASH.fullmatch(transaction) else ""


def _places_of_claims(
    connection: Connection, chain_id: int, payments: Sequence[Payment], last: int
) -> Mapping[tuple[Any, ...], list[tuple[int, int]]]:
    """Return the positions of payers' unrevoked feedback, by the claimed transaction and the rated agent."""
    places: dict[tuple[Any, ...], list[tuple[int, int]]] = defaultdict(list)
    first = min((paid.block for paid in payments), default=0)
    payers, names = ({getattr(paid, name) for paid in payments} for name in ("payer", "transaction"))
    reference, file, read = files.file_reference.c, files.file.c, files.feedback_file.c
    revoked = schema.EVENT_TABLES[events.FeedbackRevoked].c
    subject = ("chain_id", "registry", "agent_id", "client_address", "feedback_index")
    for event, part in product((events.NewFeedback, events.NewAuthorizedFeedback), in_parts(sorted(payers))):
        columns = schema.EVENT_TABLES[event].c
        place = columns.block_number, columns.log_index
        about = columns.client_address, columns.registry, columns.agent_id
        query = select(read.payment_transaction, *about, *place).where(
            columns.chain_id == chain_id,
            columns.client_address.in_(part),
            columns.block_number.between(first, last),
            *(reference[name] == unindexed(columns[name]) for name in ("chain_id", "block_number", "log_index")),
            file.file_id == reference.file_id,
            read.content_hash == file.content_hash,
            func.lower(read.payment_transaction).in_(sorted(names)),
        )
        if event is events.NewFeedback:
            query = query.where(~exists().where(*(revoked[name] == columns[name] for name in subject)))
        for transaction, client, registry, agent_id, *at in connection.execute(query):
            places[transaction.lower(), client, registry, int(agent_id)].append((at[0], at[1]))
    return places


def _payment(chain_id: int, *values: Any) -> Payment:
    payer, payee, agent_id, token, kind, micros, ceiling, terms, relation, *place = values
    most = ceiling_micros(terms, token, ceiling)
    amounts = exact(micros, MICROS), None if most is None else exact(most, MICROS)
    paid = chain_id, payer, payee, f"{chain_id}:{int(agent_id)}", token, kind, *amounts
    return Payment(*paid, relation is not None, *place_values(*place))


_terms: Final = lru_cache(maxsize=16)(PaymentTerms.parse)

TERMS: Final = (
    select(payment_cursor.c.terms)
    .where(payment_cursor.c.chain_id == payment.c.chain_id)
    .scalar_subquery()
    .label("terms")
)
"""The column with the terms under which a payment was stored, which include the token's decimals."""


def ceiling_micros(terms: str, token: str, ceiling: Any) -> int | None:
    """Return the maximum that a payer signed for, in millionths of a dollar; None for an exact amount."""
    return None if ceiling is None else _terms(terms).micros(token, int(ceiling))


def _selection() -> Select[Any]:
    names = ("identity_registry", "payer", "payee", "agent_id", "token", "kind", "micros", "ceiling")
    place = ("kinship", "block_number", "log_index", "block_time", "transaction_hash")
    return select(*(payment.c[name] for name in names), TERMS, *(payment.c[name] for name in place))


def _of_account(name: str) -> Prepared:
    columns = payment.c
    account = columns[name] == bindparam("account", type_=columns[name].type)
    newest = _selection().where(columns.chain_id == CHAIN, account)
    newest = newest.order_by(columns.block_number.desc(), columns.log_index.desc())
    return Prepared(newest.limit(bindparam("limit", type_=BigInteger)))


PAYMENT_SIDES: Final = ("payer", "payee")
_BY_SIDE: Final = {side: _of_account(side) for side in PAYMENT_SIDES}


_OWN: Final = 300  # newest payments to the agent's accounts
_OF_OTHERS: Final = 3_000  # newest payments on the chain, read only for an agent that always takes the maximum
_ALL: Final = 0.99


@dataclass(frozen=True, slots=True)
class MeteredSales:
    """The share of the signed ceilings that a seller charged in its newest payments.

    Attributes:
        share: The share, 0 to 1. Payments are weighted by amount, so that small payments cannot hide a large one.
        others: The median share that other sellers charge; None unless it is below 99 % and this seller's is not.
    """

    share: float
    others: float | None


def metered_sales(connection: Connection, key: AgentKey, accounts: Collection[str]) -> MeteredSales | None:
    """Return the share of the signed ceilings that an agent charged its buyers; None without metered payments."""
    columns = payment.c
    newest = (
        select(columns.agent_id, columns.owner, columns.micros, columns.amount, columns.ceiling)
        .where(columns.chain_id == key.chain_id, columns.kinship.is_(None))
        .order_by(columns.block_number.desc(), columns.log_index.desc())
    )
    received = connection.execute(newest.where(columns.payee.in_(accounts)).limit(_OWN)).all()
    share = _share([row for row in received if row.agent_id == key.agent_id])
    if share is None:
        return None
    sellers = defaultdict(list)
    for row in connection.execute(newest.limit(_OF_OTHERS)) if share >= _ALL else ():
        sellers[row.owner].append(row)
    shares = [of_other for owner, rows in sellers.items() if owner not in accounts and (of_other := _share(rows))]
    others = median(shares) if shares else 1.0
    return MeteredSales(share, others if others < _ALL else None)


def _share(payments: Sequence[Any]) -> float | None:
    metered = [(row.micros, row.amount / row.ceiling) for row in payments if row.ceiling]
    paid = sum(micros for micros, _ in metered)
    return sum(micros * share for micros, share in metered) / paid if paid else None
