"""The payment tables, which `docs/index.md` documents. Their rows come from the chain, so they can be read again."""

from typing import Final

import sqlalchemy as sa

from bilateral.index.log.columns import (
    ADDRESS,
    HASH,
    PLACE_KEY,
    WideInteger,
    log_columns,
    optional,
    place_columns,
    required,
)

FORGOTTEN: Final = -1
"""The value of `first_block` in the `late_payment` row that is written when all payments must be read again."""


metadata: Final = sa.MetaData()


payment_cursor: Final = sa.Table(
    "payment_cursor",
    metadata,
    sa.Column("chain_id", sa.BigInteger, primary_key=True, autoincrement=False),
    *(*required(sa.BigInteger, "block_number"), *required(HASH, "block_hash"), *required(sa.Text, "terms")),
    sa.Column("changed_at", sa.BigInteger, nullable=False),
    sa.Column("confirmations", sa.Integer, nullable=False, server_default="1"),
)

agent_account: Final = sa.Table(
    "agent_account",
    metadata,
    *(*required(sa.BigInteger, "chain_id", "block_number"), *required(sa.Integer, "log_index")),
    *(*required(ADDRESS, "identity_registry"), *required(WideInteger, "agent_id")),
    *optional(ADDRESS, "owner", "wallet"),
    sa.PrimaryKeyConstraint(*PLACE_KEY),
)
sa.Index("agent_account_by_wallet", *(agent_account.c[name] for name in ("chain_id", "wallet")))
sa.Index("agent_account_by_agent", *(agent_account.c[name] for name in ("chain_id", "identity_registry", "agent_id")))

payment: Final = sa.Table(
    "payment",
    metadata,
    *place_columns("token"),
    *required(ADDRESS, "payer", "payee"),
    *(*required(WideInteger, "amount"), *required(sa.BigInteger, "micros")),
    sa.Column("nonce", HASH),
    *(*required(ADDRESS, "identity_registry"), *required(WideInteger, "agent_id"), *required(ADDRESS, "owner")),
    sa.Column("kinship", sa.String(8)),
    sa.Column("position", sa.Integer, nullable=False, server_default="0"),
    sa.Column("kind", sa.String(16), nullable=False, server_default="eip3009"),
    sa.Column("ceiling", WideInteger),
    sa.PrimaryKeyConstraint(*PLACE_KEY),
)
sa.Index("payment_by_payer", *(payment.c[name] for name in ("chain_id", "payer", "block_number", "log_index")))
sa.Index(  # contains all that a buyer's score needs of the payments, ordered by seller
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
    *required(ADDRESS, "payee", "receiver"),
    sa.Column("micros", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint(*PLACE_KEY, "payee"),  # a claim from a channel may spend several accounts' money
)
sa.Index("payment_return_by_receiver", *(payment_return.c[name] for name in ("chain_id", "receiver", "payee")))

channel: Final = sa.Table(
    "channel",
    metadata,
    *place_columns("token"),
    *required(HASH, "channel_id"),
    *required(ADDRESS, "payer", "receiver"),
    sa.PrimaryKeyConstraint(*PLACE_KEY),  # rollbacks find the rows by this key
)
sa.Index("channel_by_id", *(channel.c[name] for name in ("chain_id", "channel_id")))

channel_fund: Final = sa.Table(
    "channel_fund",
    metadata,
    *log_columns(),
    *required(HASH, "channel_id"),
    *(*required(ADDRESS, "funder"), *required(WideInteger, "remaining")),
    sa.PrimaryKeyConstraint(*PLACE_KEY, "funder"),
)
_FUND: Final = ("chain_id", "channel_id", "funder", "block_number", "log_index")
sa.Index("channel_fund_by_channel", *(channel_fund.c[name] for name in _FUND))

late_payment: Final = sa.Table(
    "late_payment",
    metadata,
    *required(sa.BigInteger, "chain_id", "first_block", "seen_block"),
    sa.PrimaryKeyConstraint("chain_id", "first_block"),
)
sa.Index("late_payment_by_sight", *(late_payment.c[name] for name in ("chain_id", "seen_block", "first_block")))

CHAIN_TABLES: Final = (agent_account, payment, payment_return, channel, channel_fund)
"""The tables whose rows are removed along with their blocks."""
