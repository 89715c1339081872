"""Checks, stores, displays and moderates the messages that buyers and sellers send about payments."""

# ruff: noqa: N815  # the names of the service

import json
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeVar

from eth_utils.crypto import keccak
from sqlalchemy import Connection, Engine, Table, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from bilateral.buyers import proofs, requests
from bilateral.buyers.discounts import warnings_of
from bilateral.buyers.errors import BuyerRefusalError
from bilateral.buyers.messages import content_hash
from bilateral.buyers.policies import BuyerSettings
from bilateral.buyers.records import iso
from bilateral.buyers.tables import agent_enrichment, agent_review, buyer_dispute, buyer_feedback, buyer_reply
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import checksummed, global_agent_id
from bilateral.core.signatures import Domain, TypedMessage, recover_signer
from bilateral.index.reading.registries import AgentKey, agent_key, read_registries

T = TypeVar("T")

_PAYMENT: Final = ["chain_id", "transaction_hash", "payment_position"]
"""The columns that identify the payment to which a message refers."""

_AGENT: Final = ["identity_registry", "agent_id"]

MOST_SERVICES: Final = 100
"""The maximum number of services per agent. Every discount lookup and every search reads all of them."""

_AHEAD: Final = 300
"""How many seconds a seller's clock may be ahead of the service's clock."""


@dataclass(frozen=True)
class Accepted:
    """The result of accepting a message.

    Attributes:
        id: The message's id, as 64 hexadecimal digits.
        is_counted: True if the message affects scores; False if it is unsigned and therefore only displayed.
        is_new: False if the same message was already accepted.
        warnings: Advice to the message's author.
    """

    id: str
    seller: AgentKey
    buyer: str
    is_counted: bool
    is_new: bool
    warnings: tuple[str, ...] = ()


class BuyerMessages:
    """Accepts buyers' and sellers' messages."""

    def __init__(self, engine: Engine, settings: BuyerSettings) -> None:
        self._engine = engine
        self._settings = settings

    def take_feedback(self, value: Mapping[str, Any]) -> Accepted:
        """Accept a seller's feedback on a buyer (section 5.3)."""
        body = requests.parse_body(requests.FeedbackBody, value)
        claim = body.proofOfPayment.claim
        if requests.address_of(body.buyerAddress, "buyerAddress") != claim.payer:
            raise requests.invalid("buyerAddress differs from proofOfPayment.fromAddress")
        values = {
            "score": body.score,
            "tags": json.dumps(body.tags, ensure_ascii=False),
            "note": body.note,
            "is_counted": True,
        }
        content = content_hash([body.score, body.tags, body.note])
        return self._take(buyer_feedback, body, body.sellerGlobalId, values, content, is_by_seller=True)

    def check_review(self, value: Mapping[str, Any]) -> None:
        """Reject a review that `take_review` would later reject, before the buyer signs the review."""
        body = requests.parse_body(requests.ReviewBody, value)
        seller, paid, _ = self._paid(body.agentId, body.proofOfPayment.claim)
        row = {**_about(seller, paid, agent_review), "content_hash": _review_content(body)}
        with self._engine.connect() as connection:
            _stored_message(connection, agent_review, row)

    def take_review(self, value: Mapping[str, Any]) -> Accepted:
        """Accept a buyer's review of a seller."""
        body = requests.parse_body(requests.ReviewBody, value)
        values = {"score": body.score, "tag1": body.tag1, "tag2": body.tag2, "note": body.feedbackNote}
        return self._take(agent_review, body, body.agentId, values, _review_content(body))

    def take_dispute(self, buyer: str, value: Mapping[str, Any]) -> Accepted:
        """Accept a seller's dispute, or the withdrawal of a dispute."""
        if not self._settings.disputes:
            raise BuyerRefusalError(HTTPStatus.FORBIDDEN, "disputes_off", "this service does not accept disputes")
        body = requests.parse_body(requests.DisputeBody, value)
        if body.proofOfPayment.claim.payer != buyer:
            raise requests.invalid("the buyer in the path differs from proofOfPayment.fromAddress")
        values = {"state": body.state, "reason": body.reason}
        content = content_hash([body.reason])
        return self._take(buyer_dispute, body, body.sellerGlobalId, values, content, is_by_seller=True)

    def take_reply(self, value: Mapping[str, Any]) -> Accepted:
        """Accept a buyer's reply to feedback or a dispute. Only one reply per message is accepted."""
        body = requests.parse_body(requests.ReplyBody, value)
        with self._engine.connect() as connection:
            about = _message_row(connection, body.messageId)
            seller = AgentKey(about.chain_id, about.identity_registry, int(about.agent_id), ())
        message = body.message(about.buyer, about.chain_id)
        proof = self._proof(message, seller, body.signature, {about.buyer}, content_hash([body.text]))
        values = {"message_id": body.messageId, "chain_id": about.chain_id, "buyer": about.buyer, "reply": body.text}
        return self._store(buyer_reply, seller, values | proof)

    def take_enrichment(self, value: Mapping[str, Any]) -> Accepted:
        """Accept a seller's service. It replaces the seller's service of the same name."""
        body = requests.parse_body(requests.EnrichmentBody, value)
        unsigned = {name: part for name, part in value.items() if name != "signature"}
        if body.issuedAt > time.time() + _AHEAD:
            raise requests.invalid("issuedAt is in the future: check the clock")
        content = content_hash(unsigned)
        with self._engine.connect() as connection:
            seller = self._seller(connection, body.globalId, None)
            message = body.message(seller, content)
            accepted = proofs.accounts_of(connection, seller)
            author = recover_signer(message.digest(_domain(seller)), bytes.fromhex(body.signature[2:]))
            if author is not None:
                key = seller.chain_id, seller.identity_registry, seller.agent_id
                accepted |= proofs.operators_of(connection, *key, [checksummed(author)])
        proof = self._proof(message, seller, body.signature, accepted, content)
        text = json.dumps(unsigned, ensure_ascii=False)
        is_new = self._replace(seller, body.serviceName, {"content": text, "issued_at": body.issuedAt, **proof})
        warnings = () if body.buyerIncentives is None else warnings_of(body.buyerIncentives)
        return Accepted(content.hex(), seller, "", True, is_new, warnings)

    def _take(  # noqa: PLR0913  # what differs between the kinds of messages
        self,
        table: Table,
        body: requests.FeedbackBody | requests.ReviewBody | requests.DisputeBody,
        agent: str,
        values: Mapping[str, Any],
        content: bytes,
        *,
        is_by_seller: bool = False,
    ) -> Accepted:
        seller, paid, accepted = self._paid(agent, body.proofOfPayment.claim, is_by_seller=is_by_seller)
        about = _about(seller, paid, table)
        if body.signature is None:  # anybody could have sent it, so it has no effect
            if self._settings.requires_signature:
                detail = "the message has no signature: sign it as described in docs/buyers.md"
                raise BuyerRefusalError(HTTPStatus.UNAUTHORIZED, "signature_required", detail)
            return Accepted(about["id"], seller, paid.payer, False, False)
        proof = self._proof(body.message(seller), seller, body.signature, accepted, content)
        if values.get("state") == "withdrawn":
            return self._withdraw(about, seller, proof["signature"])
        return self._store(table, seller, {**about, **values, **proof})

    def _proof(
        self, message: TypedMessage, seller: AgentKey, signature: str, accepted: Collection[str], content: bytes
    ) -> dict[str, Any]:
        """Check a message's signature, and return the columns that all messages have."""
        signed = bytes.fromhex(signature[2:])
        signer = proofs.require_signer(message, _domain(seller), signed, accepted, self._settings.nodes)
        return {"content_hash": content, "signer": signer, "signature": signed, "received_at": int(time.time())}

    def _replace(self, seller: AgentKey, name: str, values: Mapping[str, Any]) -> bool:
        """Store a service, replacing an older version. Return False if the same version was already stored."""
        table = agent_enrichment
        key = _agent_columns(seller) | {"chain_id": seller.chain_id, "service_name": name}
        is_key = [table.c[name] == value for name, value in key.items()]

        def store(connection: Connection) -> bool:
            stored = connection.execute(select(table.c.content_hash, table.c.issued_at).where(*is_key)).one_or_none()
            if stored is None:
                count = select(func.count()).where(*seller.of(table.c))
                if connection.execute(count).scalar_one() >= MOST_SERVICES:
                    detail = f"the agent has {MOST_SERVICES} services and cannot have more: reuse one of their names"
                    raise BuyerRefusalError(HTTPStatus.CONFLICT, "too_many_services", detail)
                connection.execute(insert(table).values(**key, **values))
                return True
            if bytes(stored.content_hash) == values["content_hash"]:
                return False
            is_older = table.c.issued_at < values["issued_at"]
            if not connection.execute(update(table).where(*is_key, is_older).values(**values)).rowcount:
                detail = f"issuedAt must be later than {stored.issued_at}: that is the time of the stored service"
                raise BuyerRefusalError(HTTPStatus.CONFLICT, "older_enrichment", detail)
            return True

        return self._once(store)

    def _withdraw(self, about: Mapping[str, Any], seller: AgentKey, signature: bytes) -> Accepted:
        table = buyer_dispute
        values = {"state": "withdrawn", "signature": signature, "received_at": int(time.time())}
        is_about = [table.c[name] == about[name] for name in (*_PAYMENT, *_AGENT)]
        with self._engine.begin() as connection:
            filed = connection.execute(select(table.c.id, table.c.state).where(*is_about)).one_or_none()
            if filed is None:
                raise BuyerRefusalError(HTTPStatus.NOT_FOUND, "dispute_not_found", "no such dispute has been filed")
            if filed.state not in ("filed", "withdrawn"):
                raise BuyerRefusalError(
                    HTTPStatus.CONFLICT, "dispute_decided", f"the dispute has already been {filed.state}"
                )
            connection.execute(update(table).where(table.c.id == filed.id).values(**values))
        return Accepted(filed.id, seller, about["buyer"], True, filed.state == "filed")

    def _store(self, table: Table, seller: AgentKey, row: Mapping[str, Any]) -> Accepted:
        """Store a message, unless the same message is already stored."""
        (key,) = table.primary_key.columns

        def store(connection: Connection) -> tuple[str, bool]:
            stored = _stored_message(connection, table, row)
            if stored is None:
                connection.execute(insert(table).values(**row))
            return stored or row[key.name], stored is None

        message_id, is_new = self._once(store)
        return Accepted(message_id, seller, row["buyer"], True, is_new)

    def _once(self, store: Callable[[Connection], T]) -> T:
        """Run a transaction that inserts a row, and run it again if another process inserted the row first."""
        try:
            with self._engine.begin() as connection:
                return store(connection)
        except IntegrityError:
            with self._engine.begin() as connection:
                return store(connection)

    def _paid(
        self, text: str, claim: proofs.PaymentClaim, *, is_by_seller: bool = False
    ) -> tuple[AgentKey, proofs.ProvenPayment, set[str]]:
        """Return a message's seller and payment, and the accounts that may sign the message."""
        with self._engine.connect() as connection:
            seller = self._seller(connection, text, claim.chain_id)
            paid = proofs.find_payment(connection, claim, seller, self._settings.nodes)
            return seller, paid, proofs.paid_accounts(connection, seller, paid) if is_by_seller else {paid.payer}

    @staticmethod
    def _seller(connection: Connection, text: str, chain_id: int | None) -> AgentKey:
        seller = agent_key(read_registries(connection), text)
        if chain_id is not None and seller.chain_id != chain_id:
            raise requests.invalid(f"the seller is on chain {seller.chain_id}, but the payment is on chain {chain_id}")
        return seller


def _review_content(body: requests.ReviewBody) -> bytes:
    return content_hash([body.score, body.tag1, body.tag2, body.feedbackNote])


def _stored_message(connection: Connection, table: Table, row: Mapping[str, Any]) -> str | None:
    """Return a message's id if already stored, or None. Reject a different one about the same payment or message."""
    (key,) = table.primary_key.columns
    names, same = ([key.name], []) if table is buyer_reply else (_PAYMENT, _AGENT)
    query = select(key, *(table.c[name] for name in ("content_hash", *same)))
    stored = connection.execute(query.where(*(table.c[name] == row[name] for name in names))).one_or_none()
    if stored is None:
        return None
    if bytes(stored.content_hash) != row["content_hash"] or list(stored[2:]) != [row[name] for name in same]:
        detail = f"there is already a message about this {'message' if table is buyer_reply else 'payment'}"
        raise BuyerRefusalError(HTTPStatus.CONFLICT, "already_given", detail)
    return str(stored[0])


def _message_row(connection: Connection, message_id: str) -> Any:
    for table in (buyer_feedback, buyer_dispute):
        row = connection.execute(select(table).where(table.c.id == message_id)).one_or_none()
        if row is not None:
            return row
    raise BuyerRefusalError(HTTPStatus.NOT_FOUND, "message_not_found", f"there is no message {message_id}")


def _about(seller: AgentKey, paid: proofs.ProvenPayment, table: Table) -> dict[str, Any]:
    """Return a message's id, payment, buyer and seller. Only one message of a kind is stored per payment and seller."""
    key = f"{table.name} {paid.chain_id} {paid.transaction.hex()} {paid.position} {seller.global_id}"
    return {
        "id": keccak(text=key).hex(),
        "chain_id": paid.chain_id,
        "transaction_hash": paid.transaction,
        "payment_position": paid.position,
        "buyer": paid.payer,
        **_agent_columns(seller),
    }


def _agent_columns(seller: AgentKey) -> dict[str, Any]:
    return {"identity_registry": seller.identity_registry, "agent_id": seller.agent_id}


def _domain(seller: AgentKey) -> Domain:
    return Domain(seller.chain_id, seller.identity_registry)  # type: ignore[arg-type]  # it is checksummed


MOST_MESSAGES: Final = 100
"""The maximum number of messages to show per kind, newest first."""

DECISIONS: Final = ("upheld", "rejected")
"""The decisions that the operator may make about a dispute."""

_TEXTS: Final[Mapping[Table, Mapping[str, str]]] = {
    buyer_feedback: {"tags": "[]", "note": ""},
    agent_review: {"tag1": "", "tag2": "", "note": ""},
    buyer_dispute: {"reason": ""},
}
"""The columns that contain free text, and the values that replace the text when it is removed."""


@dataclass(frozen=True)
class MessageAbout:
    """A seller's feedback on the buyer, or a seller's dispute.

    Attributes:
        id: The message's id, to which a reply refers.
        kind: `feedback` or `dispute`.
        agentGlobalId: The seller.
        txHash: The payment's transaction.
        score: The score, from 0 to 100; null for a dispute.
        state: `filed`, `upheld`, `rejected` or `withdrawn`; null for feedback.
        text: The note of the feedback, or the reason for the dispute.
        reply: The buyer's reply; null if there is none.
        receivedAt: The time at which the message was received.
    """

    id: str
    kind: str
    agentGlobalId: str
    txHash: str
    score: int | None
    state: str | None
    tags: tuple[str, ...]
    text: str
    reply: str | None
    receivedAt: str


def messages_about(connection: Connection, chain_id: int, buyer: str) -> tuple[MessageAbout, ...]:
    """Return the latest messages about a buyer. They reveal whom the buyer paid; see docs/buyers.md on privacy."""
    messages = []
    for kind, table in (("feedback", buyer_feedback), ("dispute", buyer_dispute)):
        query = (
            select(table, buyer_reply.c.reply)
            .outerjoin(buyer_reply, buyer_reply.c.message_id == table.c.id)
            .where(table.c.chain_id == chain_id, table.c.buyer == buyer)
            .order_by(table.c.received_at.desc(), table.c.id)
            .limit(MOST_MESSAGES)
        )
        messages += [_message(kind, dict(row._mapping)) for row in connection.execute(query)]
    return tuple(messages)


def _message(kind: str, row: Mapping[str, Any]) -> MessageAbout:
    is_feedback = kind == "feedback"
    return MessageAbout(
        row["id"],
        kind,
        global_agent_id(row["chain_id"], row["identity_registry"], row["agent_id"]),
        "0x" + bytes(row["transaction_hash"]).hex(),
        row["score"] if is_feedback else None,
        None if is_feedback else row["state"],
        tuple(json.loads(row["tags"])) if is_feedback else (),
        row["note"] if is_feedback else row["reason"],
        row["reply"],
        iso(row["received_at"]),
    )


def decide_dispute(engine: Engine, dispute_id: str, decision: str) -> None:
    """As the operator, decide a dispute. A later decision replaces an earlier one."""
    if decision not in DECISIONS:
        raise InvalidArgumentError(f"the decision {decision[:20]!r} is unknown: use {' or '.join(DECISIONS)}")
    table = buyer_dispute
    with engine.begin() as connection:
        open_ = update(table).where(table.c.id == dispute_id, table.c.state != "withdrawn")
        if not connection.execute(open_.values(state=decision)).rowcount:
            raise InvalidArgumentError(f"there is no dispute {dispute_id[:80]}, or its seller withdrew it")


def remove_message(engine: Engine, message_id: str, *, whole: bool = False) -> str:
    """Remove a message's text and the reply to it. The score still counts, unless `whole` removes the entire message.

    The author cannot send the text again: sending the same message has no effect, and a different message is rejected.
    """
    with engine.begin() as connection:
        connection.execute(delete(buyer_reply).where(buyer_reply.c.message_id == message_id))
        for table, texts in _TEXTS.items():
            is_message = table.c.id == message_id
            change = delete(table).where(is_message) if whole else update(table).where(is_message).values(**texts)
            if connection.execute(change).rowcount:
                return table.name
    raise InvalidArgumentError(f"there is no message {message_id[:80]}")
