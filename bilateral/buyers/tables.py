"""The tables for messages between sellers and buyers, and for buyers' tiers. `docs/index.md` documents them.

Messages are sent only to this service, so they cannot be restored by rebuilding the index.
"""

from typing import Final

import sqlalchemy as sa

from bilateral.index.log.columns import ADDRESS, HASH, WideInteger, agent_columns, contract_columns, required

metadata: Final = sa.MetaData()


_PAYMENT: Final = ("chain_id", "transaction_hash", "payment_position")
"""The columns that identify a payment. Unlike a log index, they do not change in a reorganisation."""


def _signed() -> list[sa.Column[object]]:
    return [
        *required(HASH, "content_hash"),
        sa.Column("signer", ADDRESS),
        sa.Column("signature", sa.LargeBinary),
        *required(sa.BigInteger, "received_at"),
    ]


def _messages(name: str, *columns: sa.Column[object], unique: tuple[str, ...] = _PAYMENT) -> sa.Table:
    """Declare a table of messages. Each message is about one payment."""
    table = sa.Table(
        name,
        metadata,
        sa.Column("id", sa.String(64), primary_key=True),
        *required(sa.BigInteger, "chain_id"),
        *required(HASH, "transaction_hash"),
        *required(sa.Integer, "payment_position"),
        *required(ADDRESS, "buyer", "identity_registry"),
        *required(WideInteger, "agent_id"),
        *columns,
        *_signed(),
    )
    sa.Index(f"{name}_by_payment", *(table.c[column] for column in unique), unique=True)
    sa.Index(f"{name}_by_buyer", table.c.chain_id, table.c.buyer)
    return table


buyer_feedback: Final = _messages(
    "buyer_feedback",
    *required(sa.Integer, "score"),
    *required(sa.Text, "tags", "note"),
    *required(sa.Boolean, "is_counted"),
    unique=(*_PAYMENT, "is_counted"),
)
agent_review: Final = _messages(
    "agent_review", *required(sa.Integer, "score"), *required(sa.Text, "tag1", "tag2", "note")
)
buyer_dispute: Final = _messages("buyer_dispute", *required(sa.String(9), "state"), *required(sa.Text, "reason"))
buyer_reply: Final = sa.Table(
    "buyer_reply",
    metadata,
    sa.Column("message_id", sa.String(64), primary_key=True),
    *required(sa.BigInteger, "chain_id"),
    *required(ADDRESS, "buyer"),
    *required(sa.Text, "reply"),
    *_signed(),
)
agent_enrichment: Final = sa.Table(
    "agent_enrichment",
    metadata,
    *agent_columns("identity_registry"),
    *required(sa.String(200), "service_name"),
    *required(sa.Text, "content"),
    *required(sa.BigInteger, "issued_at"),
    *_signed(),
    sa.PrimaryKeyConstraint("chain_id", "identity_registry", "agent_id", "service_name"),
)

credential_secret: Final = sa.Table(
    "credential_secret",
    metadata,
    sa.Column("day", sa.BigInteger, primary_key=True, autoincrement=False),
    *required(HASH, "secret"),
)

credential_holder: Final = sa.Table(
    "credential_holder",
    metadata,
    *required(sa.BigInteger, "day"),
    *required(HASH, "pseudonym"),
    *required(sa.Integer, "place"),
    *required(HASH, "mark"),
    sa.PrimaryKeyConstraint("day", "pseudonym", "place"),
)

tier_member: Final = sa.Table(
    "tier_member",
    metadata,
    *required(sa.Text, "policy"),
    *required(ADDRESS, "buyer"),
    *required(sa.BigInteger, "from_epoch"),
    *required(HASH, "commitment"),
    *required(sa.BigInteger, "payments_chain_id"),
    *required(sa.LargeBinary, "signature"),  # the buyer's, and then the identity's key and signature
    sa.PrimaryKeyConstraint("policy", "buyer", "from_epoch"),
    sa.UniqueConstraint("policy", "commitment", name="tier_member_by_commitment"),
)

tier_list: Final = sa.Table(
    "tier_list",
    metadata,
    *contract_columns("registry"),
    *required(sa.Text, "policy"),
    *required(sa.BigInteger, "epoch", "made_at"),
    *required(sa.LargeBinary, "roots"),
    *required(sa.Text, "sizes"),
    *required(sa.LargeBinary, "document"),
    sa.PrimaryKeyConstraint("chain_id", "registry", "policy", "epoch"),
)

buyer_anchor: Final = sa.Table(
    "buyer_anchor",
    metadata,
    *contract_columns("registry"),
    *required(sa.BigInteger, "epoch"),
    *required(HASH, "root"),
    *required(sa.BigInteger, "made_at", "states"),
    sa.PrimaryKeyConstraint("chain_id", "registry", "epoch"),
)

buyer_state: Final = sa.Table(
    "buyer_state",
    metadata,
    *contract_columns("registry"),
    *required(sa.BigInteger, "epoch"),
    *required(ADDRESS, "buyer"),
    *required(sa.BigInteger, "payments_chain_id"),
    *required(sa.String(64), "policy"),
    *required(sa.Integer, "score", "tier"),
    *required(sa.BigInteger, "payments"),
    *required(WideInteger, "volume"),
    *required(sa.BigInteger, "first_payment_at", "last_payment_at", "reviews", "review_sum"),
    *required(sa.BigInteger, "feedback_sellers", "feedback_sum", "disputes", "block_number"),
    sa.Column("node", sa.BigInteger),
    sa.PrimaryKeyConstraint("chain_id", "registry", "epoch", "buyer", "payments_chain_id", "policy"),
)

buyer_tree: Final = sa.Table(
    "buyer_tree",
    metadata,
    *contract_columns("registry"),
    *required(sa.BigInteger, "epoch", "part"),
    *required(sa.LargeBinary, "nodes"),
    sa.PrimaryKeyConstraint("chain_id", "registry", "epoch", "part"),
)
