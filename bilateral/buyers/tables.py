"""The tables of messages between sellers and buyers, and of tiers. `docs/index.md` is their dictionary.

Messages come to this service alone: no rebuild of the index can restore them.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from bilateral.index.log.columns import ADDRESS, HASH, WideInteger, agent_columns, contract_columns, required

metadata: Final = sa.MetaData()


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
        *required(ADDRESS, "buyer", "identity_registry"),
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
    *required(sa.Text, "tags", "note"),
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
    *required(sa.Text, "tag1", "tag2", "note"),
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
    *required(sa.BigInteger, "epoch", "made_at"),
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
    *required(sa.BigInteger, "made_at", "states"),
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
    *required(sa.Integer, "score", "tier"),
    sa.Column("payments", sa.BigInteger, nullable=False),
    sa.Column("volume", WideInteger, nullable=False),
    *required(
        sa.BigInteger,
        "first_payment_at",
        "last_payment_at",
        "reviews",
        "review_sum",
        "feedback_sellers",
        "feedback_sum",
        "disputes",
        "block_number",
    ),
    sa.Column("node", sa.BigInteger),
    sa.PrimaryKeyConstraint("chain_id", "registry", "epoch", "buyer", "payments_chain_id", "policy"),
)

buyer_tree: Final = sa.Table(
    "buyer_tree",
    metadata,
    *contract_columns("registry"),
    *required(sa.BigInteger, "epoch", "part"),
    sa.Column("nodes", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("chain_id", "registry", "epoch", "part"),
)
