"""The tables of payments, and of messages between sellers and buyers. `docs/index.md` is their dictionary.

Payments and the accounts of agents come from the chain: they can be read again. Feedback, reviews, disputes and
enrichments are messages to this service: no rebuild can restore them. `bilateral.buyers` writes those.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
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

from bilateral.index.log.columns import (
    ADDRESS,
    HASH,
    PLACE_KEY,
    WideInteger,
    agent_columns,
    contract_columns,
    log_columns,
    place_columns,
)

FORGOTTEN: Final = -1
"""The first block of a row which says that all payments were read again."""


metadata: Final = MetaData()


payment_cursor: Final = Table(
    "payment_cursor",
    metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("block_number", BigInteger, nullable=False),
    Column("block_hash", HASH, nullable=False),
    Column("terms", Text, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Column("confirmations", Integer, nullable=False, server_default="1"),
)

agent_account: Final = Table(
    "agent_account",
    metadata,
    *log_columns(),
    Column("identity_registry", ADDRESS, nullable=False),
    Column("agent_id", WideInteger, nullable=False),
    Column("owner", ADDRESS),
    Column("wallet", ADDRESS),
    PrimaryKeyConstraint(*PLACE_KEY),
)
Index("agent_account_by_wallet", *(agent_account.c[name] for name in ("chain_id", "wallet")))
Index("agent_account_by_agent", *(agent_account.c[name] for name in ("chain_id", "identity_registry", "agent_id")))

payment: Final = Table(
    "payment",
    metadata,
    *place_columns("token"),
    Column("payer", ADDRESS, nullable=False),
    Column("payee", ADDRESS, nullable=False),
    Column("amount", WideInteger, nullable=False),
    Column("micros", BigInteger, nullable=False),
    Column("nonce", HASH),
    Column("identity_registry", ADDRESS, nullable=False),
    Column("agent_id", WideInteger, nullable=False),
    Column("owner", ADDRESS, nullable=False),
    Column("kinship", String(8)),
    Column("position", Integer, nullable=False, server_default="0"),
    PrimaryKeyConstraint(*PLACE_KEY),
)
Index("payment_by_payer", *(payment.c[name] for name in ("chain_id", "payer", "block_number", "log_index")))
Index(  # all that a buyer's score needs of its payments, in the order of their sellers
    "payment_by_seller",
    *(payment.c[name] for name in ("chain_id", "payer", "identity_registry", "agent_id")),
    *(payment.c[name] for name in ("block_number", "kinship", "micros", "block_time")),
)
Index("payment_by_payee", *(payment.c[name] for name in ("chain_id", "payee", "block_number", "log_index")))
Index("payment_by_transaction", payment.c.transaction_hash)

payment_return: Final = Table(
    "payment_return",
    metadata,
    *place_columns("token"),
    Column("payee", ADDRESS, nullable=False),
    Column("receiver", ADDRESS, nullable=False),
    Column("micros", BigInteger, nullable=False),
    PrimaryKeyConstraint(*PLACE_KEY),
)
Index("payment_return_by_receiver", *(payment_return.c[name] for name in ("chain_id", "receiver", "payee")))

late_payment: Final = Table(
    "late_payment",
    metadata,
    Column("chain_id", BigInteger, nullable=False),
    Column("first_block", BigInteger, nullable=False),
    Column("seen_block", BigInteger, nullable=False),
    PrimaryKeyConstraint("chain_id", "first_block"),
)
Index("late_payment_by_sight", *(late_payment.c[name] for name in ("chain_id", "seen_block", "first_block")))

CHAIN_TABLES: Final = (agent_account, payment, payment_return)
"""Tables whose rows come out with the blocks that they are of."""


def _about_payment() -> list[Column[object]]:
    """Return the columns of a message about one payment.

    A payment is named by its transaction and its position among the payments of that transaction. Both stay if a
    reorganisation moves the transaction. The index of its log in the block does not.
    """
    return [
        Column("id", String(64), primary_key=True),
        Column("chain_id", BigInteger, nullable=False),
        Column("transaction_hash", HASH, nullable=False),
        Column("payment_position", Integer, nullable=False),
        Column("buyer", ADDRESS, nullable=False),
        Column("identity_registry", ADDRESS, nullable=False),
        Column("agent_id", WideInteger, nullable=False),
    ]


def _message() -> list[Column[object]]:
    """Return the columns of a message itself."""
    return [
        Column("content_hash", HASH, nullable=False),
        Column("signer", ADDRESS),
        Column("signature", LargeBinary),
        Column("received_at", BigInteger, nullable=False),
    ]


_PAYMENT: Final = ("chain_id", "transaction_hash", "payment_position")

buyer_feedback: Final = Table(
    "buyer_feedback",
    metadata,
    *_about_payment(),
    Column("score", Integer, nullable=False),
    Column("tags", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("is_counted", Boolean, nullable=False),
    *_message(),
)
Index("buyer_feedback_by_payment", *(buyer_feedback.c[name] for name in (*_PAYMENT, "is_counted")), unique=True)
Index("buyer_feedback_by_buyer", *(buyer_feedback.c[name] for name in ("chain_id", "buyer")))

agent_review: Final = Table(
    "agent_review",
    metadata,
    *_about_payment(),
    Column("score", Integer, nullable=False),
    Column("tag1", Text, nullable=False),
    Column("tag2", Text, nullable=False),
    Column("note", Text, nullable=False),
    *_message(),
)
Index("agent_review_by_payment", *(agent_review.c[name] for name in _PAYMENT), unique=True)
Index("agent_review_by_buyer", *(agent_review.c[name] for name in ("chain_id", "buyer")))

buyer_dispute: Final = Table(
    "buyer_dispute",
    metadata,
    *_about_payment(),
    Column("state", String(9), nullable=False),
    Column("reason", Text, nullable=False),
    *_message(),
)
Index("buyer_dispute_by_payment", *(buyer_dispute.c[name] for name in _PAYMENT), unique=True)
Index("buyer_dispute_by_buyer", *(buyer_dispute.c[name] for name in ("chain_id", "buyer")))

buyer_reply: Final = Table(
    "buyer_reply",
    metadata,
    Column("message_id", String(64), primary_key=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("buyer", ADDRESS, nullable=False),
    Column("reply", Text, nullable=False),
    *_message(),
)

agent_enrichment: Final = Table(
    "agent_enrichment",
    metadata,
    *agent_columns("identity_registry"),
    Column("service_name", String(200), nullable=False),
    Column("content", Text, nullable=False),
    Column("issued_at", BigInteger, nullable=False),
    *_message(),
    PrimaryKeyConstraint("chain_id", "identity_registry", "agent_id", "service_name"),
)

credential_secret: Final = Table(
    "credential_secret",
    metadata,
    Column("day", BigInteger, primary_key=True, autoincrement=False),
    Column("secret", HASH, nullable=False),
)

credential_holder: Final = Table(
    "credential_holder",
    metadata,
    Column("day", BigInteger, nullable=False),
    Column("pseudonym", HASH, nullable=False),
    Column("place", Integer, nullable=False),
    Column("mark", HASH, nullable=False),
    PrimaryKeyConstraint("day", "pseudonym", "place"),
)

tier_member: Final = Table(
    "tier_member",
    metadata,
    Column("policy", Text, nullable=False),
    Column("buyer", ADDRESS, nullable=False),
    Column("from_epoch", BigInteger, nullable=False),
    Column("commitment", HASH, nullable=False),
    Column("payments_chain_id", BigInteger, nullable=False),
    Column("signature", LargeBinary, nullable=False),  # the buyer's, and then the identity's key and signature
    PrimaryKeyConstraint("policy", "buyer", "from_epoch"),
    UniqueConstraint("policy", "commitment", name="tier_member_by_commitment"),
)

tier_list: Final = Table(
    "tier_list",
    metadata,
    *contract_columns("registry"),
    Column("policy", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("made_at", BigInteger, nullable=False),
    Column("roots", LargeBinary, nullable=False),
    Column("sizes", Text, nullable=False),
    Column("document", LargeBinary, nullable=False),
    PrimaryKeyConstraint("chain_id", "registry", "policy", "epoch"),
)

buyer_anchor: Final = Table(
    "buyer_anchor",
    metadata,
    *contract_columns("registry"),
    Column("epoch", BigInteger, nullable=False),
    Column("root", HASH, nullable=False),
    Column("made_at", BigInteger, nullable=False),
    Column("states", BigInteger, nullable=False),
    PrimaryKeyConstraint("chain_id", "registry", "epoch"),
)

buyer_state: Final = Table(
    "buyer_state",
    metadata,
    *contract_columns("registry"),
    Column("epoch", BigInteger, nullable=False),
    Column("buyer", ADDRESS, nullable=False),
    Column("payments_chain_id", BigInteger, nullable=False),
    Column("policy", String(64), nullable=False),
    Column("score", Integer, nullable=False),
    Column("tier", Integer, nullable=False),
    Column("payments", BigInteger, nullable=False),
    Column("volume", WideInteger, nullable=False),
    Column("first_payment_at", BigInteger, nullable=False),
    Column("last_payment_at", BigInteger, nullable=False),
    Column("reviews", BigInteger, nullable=False),
    Column("review_sum", BigInteger, nullable=False),
    Column("feedback_sellers", BigInteger, nullable=False),
    Column("feedback_sum", BigInteger, nullable=False),
    Column("disputes", BigInteger, nullable=False),
    Column("block_number", BigInteger, nullable=False),
    Column("node", BigInteger),
    PrimaryKeyConstraint("chain_id", "registry", "epoch", "buyer", "payments_chain_id", "policy"),
)

buyer_tree: Final = Table(
    "buyer_tree",
    metadata,
    *contract_columns("registry"),
    Column("epoch", BigInteger, nullable=False),
    Column("part", BigInteger, nullable=False),
    Column("nodes", LargeBinary, nullable=False),
    PrimaryKeyConstraint("chain_id", "registry", "epoch", "part"),
)
