"""The tables of the aggregator, which sends feedback that clients signed. `docs/index.md` is their dictionary.

They hold messages and transactions of this service, so no rebuild can restore them. They are in the index's database
because operators back that up. `bilateral.x402.aggregator` reads and writes them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from bilateral.index.log.columns import ADDRESS, HASH, WideInteger

metadata: Final = MetaData()

_ID: Final = BigInteger().with_variant(Integer(), "sqlite")
"""A number that the database gives: SQLite counts up columns of the type INTEGER only."""

_MOMENT: Final = Float(53)
"""Unix seconds with a fraction, by the clock of the machine."""


class State(StrEnum):
    """The states of a sponsored feedback."""

    QUEUED = "queued"
    """It was accepted. It has no nonce yet."""

    SENT = "sent"
    """It has a nonce. Its transaction is stored, then sent, and is in no block."""

    INCLUDED = "included"
    """Its transaction is in a block that has too few confirmations."""

    CONFIRMED = "confirmed"
    """The feedback is on chain."""

    FAILED = "failed"
    """The feedback can never be on chain. The problem says why."""


class PairState(StrEnum):
    """The states of two blind ratings that a relay holds."""

    WAITING = "waiting"
    """One side is missing."""

    QUEUED = "queued"
    """Both sides are here. Nothing is on chain."""

    SEALED = "sealed"
    """Both seals are on chain. The openings wait for confirmations."""

    OPENED = "opened"
    """Both ratings are on chain. The relay deleted its openings."""

    FAILED = "failed"
    """The ratings cannot be brought on chain. The relay deleted its openings. The problem says why."""


OPEN: Final = (State.QUEUED, State.SENT, State.INCLUDED)
"""The states in which work is left."""

sponsor: Final = Table(
    "sponsor",
    metadata,
    Column("chain_id", BigInteger, nullable=False),
    Column("account", ADDRESS, nullable=False),
    Column("lease", LargeBinary(16)),
    Column("leased_until", _MOMENT, nullable=False),
    PrimaryKeyConstraint("chain_id", "account"),
)

sponsor_day: Final = Table(
    "sponsor_day",
    metadata,
    Column("chain_id", BigInteger, nullable=False),
    Column("account", ADDRESS, nullable=False),
    Column("day", Integer, nullable=False),
    Column("cost", WideInteger, nullable=False),
    PrimaryKeyConstraint("chain_id", "account", "day"),
)

sponsored_feedback: Final = Table(
    "sponsored_feedback",
    metadata,
    Column("feedback_id", _ID, primary_key=True, autoincrement=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("payment_transaction", HASH, nullable=False),
    Column("payment_log_index", Integer, nullable=False),
    Column("payment_asset", ADDRESS, nullable=False),
    Column("payment_amount", WideInteger, nullable=False),
    Column("client", ADDRESS, nullable=False),
    Column("agent_id", WideInteger, nullable=False),
    Column("task_ref", String(200), nullable=False),
    Column("interaction_hash", HASH, nullable=False),
    Column("content_hash", HASH, nullable=False),
    Column("proof", String(7), nullable=False),
    Column("file", String(9), nullable=False),
    Column("feedback_index", WideInteger, nullable=False),
    Column("value", WideInteger, nullable=False),
    Column("value_decimals", Integer, nullable=False),
    Column("tag1", Text, nullable=False),
    Column("tag2", Text, nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("feedback_uri", Text, nullable=False),
    Column("feedback_hash", HASH, nullable=False),
    Column("deadline", WideInteger, nullable=False),
    Column("signature", LargeBinary, nullable=False),
    Column("state", String(9), nullable=False),
    Column("account", ADDRESS, nullable=False),
    Column("nonce", BigInteger),
    Column("day", Integer, nullable=False),
    Column("cost", WideInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at", _MOMENT, nullable=False),
    Column("problem", Text),
    Column("failure", Text),
    Column("transaction_hash", HASH),
    Column("block_number", BigInteger),
    Column("gas_used", BigInteger),
    Column("accepted_at", BigInteger, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    UniqueConstraint("chain_id", "account", "nonce"),
    sqlite_autoincrement=True,
)
_IS_ALIVE: Final = sponsored_feedback.c.state != State.FAILED.value
Index(
    "sponsored_feedback_by_payment",
    *(sponsored_feedback.c[name] for name in ("chain_id", "payment_transaction", "payment_log_index", "client")),
    unique=True,
    sqlite_where=_IS_ALIVE,
    postgresql_where=_IS_ALIVE,
)
Index("sponsored_feedback_by_state", *(sponsored_feedback.c[name] for name in ("chain_id", "account", "state")))
Index("sponsored_feedback_by_agent", *(sponsored_feedback.c[name] for name in ("chain_id", "agent_id", "client")))
Index("sponsored_feedback_by_transaction", sponsored_feedback.c.payment_transaction)
Index("sponsored_feedback_by_client", sponsored_feedback.c.client)
Index("sponsored_feedback_by_interaction", sponsored_feedback.c.interaction_hash)

sponsored_transaction: Final = Table(
    "sponsored_transaction",
    metadata,
    Column("transaction_hash", HASH, primary_key=True),
    Column("feedback_id", _ID, ForeignKey(sponsored_feedback.c.feedback_id), nullable=False),
    Column("nonce", BigInteger, nullable=False),
    Column("raw", LargeBinary, nullable=False),
    Column("fees", Text, nullable=False),
    Column("is_empty", Boolean, nullable=False),
    Column("signed_at", _MOMENT, nullable=False),
)
Index("sponsored_transaction_by_feedback", sponsored_transaction.c.feedback_id)

blind_pair: Final = Table(
    "blind_pair",
    metadata,
    Column("pair_id", _ID, primary_key=True, autoincrement=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("account", ADDRESS, nullable=False),
    Column("client_id", WideInteger, nullable=False),
    Column("client", ADDRESS, nullable=False),
    Column("server_id", WideInteger, nullable=False),
    Column("server", ADDRESS, nullable=False),
    Column("interaction", HASH, nullable=False),
    Column("client_envelope", Text),
    Column("client_opening", Text),
    Column("server_envelope", Text),
    Column("server_opening", Text),
    Column("state", String(9), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at", _MOMENT, nullable=False),
    Column("problem", Text),
    Column("accepted_at", BigInteger, nullable=False),
    UniqueConstraint("chain_id", "client_id", "client", "server_id", "server", "interaction"),
    sqlite_autoincrement=True,
)
Index("blind_pair_by_state", *(blind_pair.c[name] for name in ("chain_id", "account", "state", "next_at")))

refused_feedback: Final = Table(
    "refused_feedback",
    metadata,
    Column("day", Integer, nullable=False),
    Column("code", String(40), nullable=False),
    Column("band", Integer, nullable=False),
    Column("count", BigInteger, nullable=False),
    PrimaryKeyConstraint("day", "code", "band"),
)
