"""Messages about a buyer: what the buyer may see of them, and what the operator may do about them."""

# ruff: noqa: N815  # the names of the service

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Engine, Table, delete, select, update

from bilateral.buyers.records import iso
from bilateral.buyers.tables import agent_review, buyer_dispute, buyer_feedback, buyer_reply
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import global_agent_id

MOST_MESSAGES: Final = 100
"""The messages of each kind that are shown: the newest."""

DECISIONS: Final = ("upheld", "rejected")
"""The decisions of the operator about a dispute."""

_TEXTS: Final[Mapping[Table, Mapping[str, str]]] = {
    buyer_feedback: {"tags": "[]", "note": ""},
    agent_review: {"tag1": "", "tag2": "", "note": ""},
    buyer_dispute: {"reason": ""},
}
"""The columns with texts of people, and what they hold when the text is removed."""


@dataclass(frozen=True)
class MessageAbout:
    """Feedback of a seller on the buyer, or its dispute.

    Attributes:
        id: Its id, which a reply names.
        kind: `feedback` or `dispute`.
        agentGlobalId: The seller.
        txHash: The payment's transaction.
        score: 0 to 100; null for a dispute.
        state: `filed`, `upheld`, `rejected` or `withdrawn`; null for feedback.
        text: The note, or the reason.
        reply: The buyer's reply; null without one.
        receivedAt: The time of the message.
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
    """Return the last messages about a buyer. They join it with its sellers: see docs/buyers.md on privacy."""
    removed = []
    for kind, table in (("feedback", buyer_feedback), ("dispute", buyer_dispute)):
        query = (
            select(table, buyer_reply.c.reply)
            .outerjoin(buyer_reply, buyer_reply.c.message_id == table.c.id)
            .where(table.c.chain_id == chain_id, table.c.buyer == buyer)
            .order_by(table.c.received_at.desc(), table.c.id)
            .limit(MOST_MESSAGES)
        )
        removed += [_message(kind, dict(row._mapping)) for row in connection.execute(query)]
    return tuple(removed)


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
    """Decide a dispute, as the operator. A later decision replaces an earlier one."""
    if decision not in DECISIONS:
        raise InvalidArgumentError(f"the decision {decision[:20]!r} is unknown: use {' or '.join(DECISIONS)}")
    table = buyer_dispute
    with engine.begin() as connection:
        open_ = update(table).where(table.c.id == dispute_id, table.c.state != "withdrawn")
        if not connection.execute(open_.values(state=decision)).rowcount:
            raise InvalidArgumentError(f"there is no dispute {dispute_id[:80]}, or its seller withdrew it")


def remove_message(engine: Engine, message_id: str, *, whole: bool = False) -> str:
    """Remove the texts of a message, and the reply to it. Its score counts unless the whole is removed.

    The removed texts cannot be sent again: the same message has no effect, and another one is refused.
    """
    with engine.begin() as connection:
        connection.execute(delete(buyer_reply).where(buyer_reply.c.message_id == message_id))
        for table, texts in _TEXTS.items():
            is_message = table.c.id == message_id
            change = delete(table).where(is_message) if whole else update(table).where(is_message).values(**texts)
            if connection.execute(change).rowcount:
                return table.name
    raise InvalidArgumentError(f"there is no message {message_id[:80]}")
