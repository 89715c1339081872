"""The tables of the aggregator, which sends feedback that clients signed. `docs/index.md` documents them.

The tables contain the aggregator's messages and transactions, which cannot be restored by rebuilding the index. They
are part of the index's database, because operators already back that database up. This module imports nothing from
`proof`, so it needs only the extra `index`.
"""

from enum import StrEnum
from typing import Final

import sqlalchemy as sa

from bilateral.index.log.columns import ADDRESS, HASH, WideInteger, optional, required

metadata: Final = sa.MetaData()

_ID: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""The type of numbers that the database assigns. SQLite auto-increments only INTEGER columns."""

_UNIX_SECONDS: Final = sa.Float(53)
"""Unix seconds with a fraction, from the machine's clock."""


class State(StrEnum):
    """The states of sponsored feedback."""

    QUEUED = "queued"
    """The feedback was accepted, but has no nonce yet."""

    SENT = "sent"
    """The feedback has a nonce. Its transaction is stored, may have been sent, and is not in a block yet."""

    INCLUDED = "included"
    """The feedback's transaction is in a block, but has too few confirmations."""

    CONFIRMED = "confirmed"
    """The feedback is on chain."""

    FAILED = "failed"
    """The feedback can never be put on chain. `problem` is the reason."""


class PairState(StrEnum):
    """The states of a pair of blind ratings at a relay."""

    WAITING = "waiting"
    """One side's message is still missing."""

    QUEUED = "queued"
    """Both sides' messages have arrived. Nothing is on chain yet."""

    SEALED = "sealed"
    """Both sealed ratings are on chain. The openings are sent once the seals are confirmed."""

    OPENED = "opened"
    """Both ratings are on chain. The relay deleted its openings."""

    FAILED = "failed"
    """The ratings cannot be put on chain. The relay deleted its openings. `problem` is the reason."""


OPEN: Final = (State.QUEUED, State.SENT, State.INCLUDED)
"""The states of feedback that still requires work."""

sponsor: Final = sa.Table(
    "sponsor",
    metadata,
    sa.Column("chain_id", sa.BigInteger, nullable=False),
    sa.Column("account", ADDRESS, nullable=False),
    sa.Column("lease", sa.LargeBinary(16)),
    sa.Column("leased_until", _UNIX_SECONDS, nullable=False),
    sa.PrimaryKeyConstraint("chain_id", "account"),
)

sponsor_day: Final = sa.Table(
    "sponsor_day",
    metadata,
    sa.Column("chain_id", sa.BigInteger, nullable=False),
    sa.Column("account", ADDRESS, nullable=False),
    sa.Column("day", sa.Integer, nullable=False),
    sa.Column("cost", WideInteger, nullable=False),
    sa.PrimaryKeyConstraint("chain_id", "account", "day"),
)

sponsored_feedback: Final = sa.Table(
    "sponsored_feedback",
    metadata,
    sa.Column("feedback_id", _ID, primary_key=True, autoincrement=True),
    sa.Column("chain_id", sa.BigInteger, nullable=False),
    sa.Column("payment_transaction", HASH, nullable=False),
    sa.Column("payment_log_index", sa.Integer, nullable=False),
    sa.Column("payment_asset", ADDRESS, nullable=False),
    sa.Column("payment_amount", WideInteger, nullable=False),
    sa.Column("client", ADDRESS, nullable=False),
    sa.Column("agent_id", WideInteger, nullable=False),
    sa.Column("task_ref", sa.String(200), nullable=False),
    *required(HASH, "interaction_hash", "content_hash"),
    sa.Column("proof", sa.String(7), nullable=False),
    sa.Column("file", sa.String(9), nullable=False),
    *required(WideInteger, "feedback_index", "value"),
    sa.Column("value_decimals", sa.Integer, nullable=False),
    *required(sa.Text, "tag1", "tag2", "endpoint", "feedback_uri"),
    sa.Column("feedback_hash", HASH, nullable=False),
    sa.Column("deadline", WideInteger, nullable=False),
    sa.Column("signature", sa.LargeBinary, nullable=False),
    sa.Column("state", sa.String(9), nullable=False),
    sa.Column("account", ADDRESS, nullable=False),
    sa.Column("nonce", sa.BigInteger),
    sa.Column("day", sa.Integer, nullable=False),
    sa.Column("cost", WideInteger, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("next_at", _UNIX_SECONDS, nullable=False),
    *optional(sa.Text, "problem", "failure"),
    sa.Column("transaction_hash", HASH),
    *optional(sa.BigInteger, "block_number", "gas_used"),
    *required(sa.BigInteger, "accepted_at", "changed_at"),
    sa.UniqueConstraint("chain_id", "account", "nonce"),
    sqlite_autoincrement=True,
)
SIGNED_COLUMNS: Final = (
    *("agent_id", "feedback_index", "value", "value_decimals", "tag1", "tag2", "endpoint", "feedback_uri"),
    *("feedback_hash", "deadline"),
)
"""The columns whose values the client signed for the registry, in the order of the signed fields."""

_IS_ALIVE: Final = sponsored_feedback.c.state != State.FAILED.value
sa.Index(
    "sponsored_feedback_by_payment",
    *(sponsored_feedback.c[name] for name in ("chain_id", "payment_transaction", "payment_log_index", "client")),
    unique=True,
    sqlite_where=_IS_ALIVE,
    postgresql_where=_IS_ALIVE,
)
sa.Index("sponsored_feedback_by_state", *(sponsored_feedback.c[name] for name in ("chain_id", "account", "state")))
sa.Index("sponsored_feedback_by_agent", *(sponsored_feedback.c[name] for name in ("chain_id", "agent_id", "client")))
sa.Index("sponsored_feedback_by_transaction", sponsored_feedback.c.payment_transaction)
sa.Index("sponsored_feedback_by_client", sponsored_feedback.c.client)
sa.Index("sponsored_feedback_by_interaction", sponsored_feedback.c.interaction_hash)

sponsored_transaction: Final = sa.Table(
    "sponsored_transaction",
    metadata,
    sa.Column("transaction_hash", HASH, primary_key=True),
    sa.Column("feedback_id", _ID, sa.ForeignKey(sponsored_feedback.c.feedback_id), nullable=False),
    sa.Column("nonce", sa.BigInteger, nullable=False),
    sa.Column("raw", sa.LargeBinary, nullable=False),
    sa.Column("fees", sa.Text, nullable=False),
    sa.Column("is_empty", sa.Boolean, nullable=False),
    sa.Column("signed_at", _UNIX_SECONDS, nullable=False),
)
sa.Index("sponsored_transaction_by_feedback", sponsored_transaction.c.feedback_id)

blind_pair: Final = sa.Table(
    "blind_pair",
    metadata,
    sa.Column("pair_id", _ID, primary_key=True, autoincrement=True),
    sa.Column("chain_id", sa.BigInteger, nullable=False),
    sa.Column("account", ADDRESS, nullable=False),
    sa.Column("client_id", WideInteger, nullable=False),
    sa.Column("client", ADDRESS, nullable=False),
    sa.Column("server_id", WideInteger, nullable=False),
    sa.Column("server", ADDRESS, nullable=False),
    sa.Column("interaction", HASH, nullable=False),
    *optional(sa.Text, "client_envelope", "client_opening", "server_envelope", "server_opening"),
    sa.Column("state", sa.String(9), nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("next_at", _UNIX_SECONDS, nullable=False),
    sa.Column("problem", sa.Text),
    sa.Column("accepted_at", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("chain_id", "client_id", "client", "server_id", "server", "interaction"),
    sqlite_autoincrement=True,
)
sa.Index("blind_pair_by_state", *(blind_pair.c[name] for name in ("chain_id", "account", "state", "next_at")))

refused_feedback: Final = sa.Table(
    "refused_feedback",
    metadata,
    sa.Column("day", sa.Integer, nullable=False),
    sa.Column("code", sa.String(40), nullable=False),
    sa.Column("band", sa.Integer, nullable=False),
    sa.Column("count", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("day", "code", "band"),
)
