"""The tables of payments, and of messages between sellers and buyers. `docs/index.md` is their dictionary.

Payments and the accounts of agents come from the chain: they can be read again. Feedback, reviews, disputes and
enrichments are messages to this service: no rebuild can restore them. `bilateral.buyers` writes those.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

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


metadata: Final = sa.MetaData()


payment_cursor: Final = sa.Table(
    "payment_cursor",
    metadata,
    sa.Column("chain_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("block_number", sa.BigInteger, nullable=False),
    sa.Column("block_hash", HASH, nullable=False),
    sa.Column("terms", sa.Text, nullable=False),
    sa.Column("changed_at", sa.BigInteger, nullable=False),
    sa.Column("confirmations", sa.Integer, nullable=False, server_default="1"),
)

agent_account: Final = sa.Table(
    "agent_account",
    metadata,
    *log_columns(),
    sa.Column("identity_registry", ADDRESS, nullable=False),
    sa.Column("agent_id", WideInteger, nullable=False),
    sa.Column("owner", ADDRESS),
    sa.Column("wallet", ADDRESS),
    sa.PrimaryKeyConstraint(*PLACE_KEY),
)
sa.Index("agent_account_by_wallet", *(agent_account.c[name] for name in ("chain_id", "wallet")))
sa.Index("agent_account_by_agent", *(agent_account.c[name] for name in ("chain_id", "identity_registry", "agent_id")))

payment: Final = sa.Table(
    "payment",
    metadata,
    *place_columns("token"),
    sa.Column("payer", ADDRESS, nullable=False),
    sa.Column("payee", ADDRESS, nullable=False),
    sa.Column("amount", WideInteger, nullable=False),
    sa.Column("micros", sa.BigInteger, nullable=False),
    sa.Column("nonce", HASH),
    sa.Column("identity_registry", ADDRESS, nullable=False),
    sa.Column("agent_id", WideInteger, nullable=False),
    sa.Column("owner", ADDRESS, nullable=False),
    sa.Column("kinship", sa.String(8)),
    sa.Column("position", sa.Integer, nullable=False, server_default="0"),
    sa.PrimaryKeyConstraint(*PLACE_KEY),
)
sa.Index("payment_by_payer", *(payment.c[name] for name in ("chain_id", "payer", "block_number", "log_index")))
sa.Index(  # all that a buyer's score needs of its payments, in the order of their sellers
    "payment_by_seller",
    *(payment.c[name] for name in ("chain_id", "payer", "identity_registry", "agent_id")),
    *(payment.c[name] for name in ("block_number", "kinship", "micros", "block_time")),
)
sa.Index("payment_by_payee", *(payment.c[name] for name in ("chain_id", "payee", "block_number", "log_index")))
sa.Index("payment_by_transaction", payment.c.transaction_hash)

payment_return: Final = sa.Table(
    "payment_return",
    metadata,
    *place_columns("token"),
    sa.Column("payee", ADDRESS, nullable=False),
    sa.Column("receiver", ADDRESS, nullable=False),
    sa.Column("micros", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint(*PLACE_KEY),
)
sa.Index("payment_return_by_receiver", *(payment_return.c[name] for name in ("chain_id", "receiver", "payee")))

late_payment: Final = sa.Table(
    "late_payment",
    metadata,
    sa.Column("chain_id", sa.BigInteger, nullable=False),
    sa.Column("first_block", sa.BigInteger, nullable=False),
    sa.Column("seen_block", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("chain_id", "first_block"),
)
sa.Index("late_payment_by_sight", *(late_payment.c[name] for name in ("chain_id", "seen_block", "first_block")))

CHAIN_TABLES: Final = (agent_account, payment, payment_return)
"""Tables whose rows come out with the blocks that they are of."""


def _about_payment() -> list[sa.Column[object]]:
    """Return the columns of a message about one payment.

    A payment is named by its transaction and its position among the payments of that transaction. Both stay if a
    reorganisation moves the transaction. The index of its log in the block does not.
    """
    return [
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("chain_id", sa.BigInteger, nullable=False),
        sa.Column("transaction_hash", HASH, nullable=False),
        sa.Column("payment_position", sa.Integer, nullable=False),
        sa.Column("buyer", ADDRESS, nullable=False),
        sa.Column("identity_registry", ADDRESS, nullable=False),
        sa.Column("agent_id", WideInteger, nullable=False),
    ]


def _message() -> list[sa.Column[object]]:
    """Return the columns of a message itself."""
    return [
        sa.Column("content_hash", HASH, nullable=False),
        sa.Column("signer", ADDRESS),
        sa.Column("signature", sa.LargeBinary),
        sa.Column("received_at", sa.BigInteger, nullable=False),
    ]


_PAYMENT: Final = ("chain_id", "transaction_hash", "payment_position")

buyer_feedback: Final = sa.Table(
    "buyer_feedback",
    metadata,
    *_about_payment(),
    sa.Column("score", sa.Integer, nullable=False),
    sa.Column("tags", sa.Text, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("is_counted", sa.Boolean, nullable=False),
    *_message(),
)
sa.Index("buyer_feedback_by_payment", *(buyer_feedback.c[name] for name in (*_PAYMENT, "is_counted")), unique=True)
sa.Index("buyer_feedback_by_buyer", *(buyer_feedback.c[name] for name in ("chain_id", "buyer")))

agent_review: Final = sa.Table(
    "agent_review",
    metadata,
    *_about_payment(),
    sa.Column("score", sa.Integer, nullable=False),
    sa.Column("tag1", sa.Text, nullable=False),
    sa.Column("tag2", sa.Text, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    *_message(),
)
sa.Index("agent_review_by_payment", *(agent_review.c[name] for name in _PAYMENT), unique=True)
sa.Index("agent_review_by_buyer", *(agent_review.c[name] for name in ("chain_id", "buyer")))

buyer_dispute: Final = sa.Table(
    "buyer_dispute",
    metadata,
    *_about_payment(),
    sa.Column("state", sa.String(9), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    *_message(),
)
sa.Index("buyer_dispute_by_payment", *(buyer_dispute.c[name] for name in _PAYMENT), unique=True)
sa.Index("buyer_dispute_by_buyer", *(buyer_dispute.c[name] for name in ("chain_id", "buyer")))

buyer_reply: Final = sa.Table(
    "buyer_reply",
    metadata,
    sa.Column("message_id", sa.String(64), primary_key=True),
    sa.Column("chain_id", sa.BigInteger, nullable=False),
    sa.Column("buyer", ADDRESS, nullable=False),
    sa.Column("reply", sa.Text, nullable=False),
    *_message(),
)

agent_enrichment: Final = sa.Table(
    "agent_enrichment",
    metadata,
    *agent_columns("identity_registry"),
    sa.Column("service_name", sa.String(200), nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("issued_at", sa.BigInteger, nullable=False),
    *_message(),
    sa.PrimaryKeyConstraint("chain_id", "identity_registry", "agent_id", "service_name"),
)

credential_secret: Final = sa.Table(
    "credential_secret",
    metadata,
    sa.Column("day", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("secret", HASH, nullable=False),
)

credential_holder: Final = sa.Table(
    "credential_holder",
    metadata,
    sa.Column("day", sa.BigInteger, nullable=False),
    sa.Column("pseudonym", HASH, nullable=False),
    sa.Column("place", sa.Integer, nullable=False),
    sa.Column("mark", HASH, nullable=False),
    sa.PrimaryKeyConstraint("day", "pseudonym", "place"),
)

tier_member: Final = sa.Table(
    "tier_member",
    metadata,
    sa.Column("policy", sa.Text, nullable=False),
    sa.Column("buyer", ADDRESS, nullable=False),
    sa.Column("from_epoch", sa.BigInteger, nullable=False),
    sa.Column("commitment", HASH, nullable=False),
    sa.Column("payments_chain_id", sa.BigInteger, nullable=False),
    sa.Column("signature", sa.LargeBinary, nullable=False),  # the buyer's, and then the identity's key and signature
    sa.PrimaryKeyConstraint("policy", "buyer", "from_epoch"),
    sa.UniqueConstraint("policy", "commitment", name="tier_member_by_commitment"),
)

tier_list: Final = sa.Table(
    "tier_list",
    metadata,
    *contract_columns("registry"),
    sa.Column("policy", sa.Text, nullable=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("made_at", sa.BigInteger, nullable=False),
    sa.Column("roots", sa.LargeBinary, nullable=False),
    sa.Column("sizes", sa.Text, nullable=False),
    sa.Column("document", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("chain_id", "registry", "policy", "epoch"),
)

buyer_anchor: Final = sa.Table(
    "buyer_anchor",
    metadata,
    *contract_columns("registry"),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("root", HASH, nullable=False),
    sa.Column("made_at", sa.BigInteger, nullable=False),
    sa.Column("states", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("chain_id", "registry", "epoch"),
)

buyer_state: Final = sa.Table(
    "buyer_state",
    metadata,
    *contract_columns("registry"),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("buyer", ADDRESS, nullable=False),
    sa.Column("payments_chain_id", sa.BigInteger, nullable=False),
    sa.Column("policy", sa.String(64), nullable=False),
    sa.Column("score", sa.Integer, nullable=False),
    sa.Column("tier", sa.Integer, nullable=False),
    sa.Column("payments", sa.BigInteger, nullable=False),
    sa.Column("volume", WideInteger, nullable=False),
    sa.Column("first_payment_at", sa.BigInteger, nullable=False),
    sa.Column("last_payment_at", sa.BigInteger, nullable=False),
    sa.Column("reviews", sa.BigInteger, nullable=False),
    sa.Column("review_sum", sa.BigInteger, nullable=False),
    sa.Column("feedback_sellers", sa.BigInteger, nullable=False),
    sa.Column("feedback_sum", sa.BigInteger, nullable=False),
    sa.Column("disputes", sa.BigInteger, nullable=False),
    sa.Column("block_number", sa.BigInteger, nullable=False),
    sa.Column("node", sa.BigInteger),
    sa.PrimaryKeyConstraint("chain_id", "registry", "epoch", "buyer", "payments_chain_id", "policy"),
)

buyer_tree: Final = sa.Table(
    "buyer_tree",
    metadata,
    *contract_columns("registry"),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("part", sa.BigInteger, nullable=False),
    sa.Column("nodes", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("chain_id", "registry", "epoch", "part"),
)
