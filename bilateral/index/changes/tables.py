"""The tables of the change feed, in which all changes have a permanent order.

Each transaction that changes the index adds one step, and steps are numbered consecutively. A block step records only a
range of blocks; the events stay in the event tables. A rollback copies the events that it removes, and notes the step
that reported them. Every reader therefore gets the same changes in the same order, whenever it reads a step.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import sqlalchemy as sa

from bilateral.core import events
from bilateral.index.log.columns import ADDRESS, WideInteger, optional, required
from bilateral.index.log.tables import EVENT_TABLES

metadata: Final = sa.MetaData()

webhook: Final = sa.Table(
    "webhook",
    metadata,
    sa.Column("id", sa.String(35), primary_key=True),
    sa.Column("owner", sa.String(64), nullable=False),
    *required(sa.Text, "url", "wanted"),
    sa.Column("since", sa.String(60), nullable=False),
    sa.Column("pending", sa.String(60)),
    *required(sa.BigInteger, "created_at", "next_at"),
    sa.Column("failures", sa.Integer, nullable=False),
    *optional(sa.BigInteger, "failing_since", "stopped_at"),
    sa.Column("problem", sa.Text),
    *required(sa.BigInteger, "delivered", "failed"),
    sa.Index("webhook_by_owner", "owner"),
)
"""One row per subscription. `wanted` is the filter in JSON; `since` is the cursor of the last accepted delivery.

`pending` is the last change of a delivery that was attempted but not accepted; each retry delivers the same changes.
`failures` counts failures since the last success; `failed` counts all failures.
"""

webhook_lease: Final = sa.Table(
    "webhook_lease",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("holder", sa.String(32), nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
)
"""At most one row, with the process that delivers and the time until which no other process may deliver."""

WEBHOOK_TABLES: Final = (webhook, webhook_lease)


MOST_TEXT: Final = 1_000
"""The maximum number of characters of a text in a change. One extra character marks a text as truncated."""


class ChangeKind(StrEnum):
    """The kinds of changes."""

    FEEDBACK = "feedback"
    """A client gave feedback on an agent."""

    REVOKED = "revoked"
    """A client revoked feedback."""

    RESPONSE = "response"
    """Someone responded to feedback."""

    RATING = "rating"
    """A server rated a client or a validator, or both sides' sealed ratings were opened."""

    VALIDATION = "validation"
    """An agent requested a validation, or a validator responded."""

    OWNER = "owner"
    """An agent was registered, or its token was transferred."""

    WALLET = "wallet"
    """An agent's wallet was set or removed."""

    FILE = "file"
    """An agent's file URI or domain changed, or the index saw new content in one of the agent's files."""

    ENDPOINT = "endpoint"
    """A watchtower saw an endpoint of an agent come up or go down, or change its price, keys or tools."""

    VERDICT = "verdict"
    """An agent's status in the trust analysis changed."""

    FLAG = "flag"
    """The analysis started or stopped flagging an account."""


EVENT_KINDS: Final[Mapping[type[events.Event], ChangeKind]] = {
    events.NewFeedback: ChangeKind.FEEDBACK,
    events.NewAuthorizedFeedback: ChangeKind.FEEDBACK,
    events.FeedbackRevoked: ChangeKind.REVOKED,
    events.ResponseAppended: ChangeKind.RESPONSE,
    events.ClientRated: ChangeKind.RATING,
    events.ValidatorRated: ChangeKind.RATING,
    events.RatingsOpened: ChangeKind.RATING,
    events.ValidationRequest: ChangeKind.VALIDATION,
    events.ValidationResponse: ChangeKind.VALIDATION,
    events.Transfer: ChangeKind.OWNER,
    events.MetadataSet: ChangeKind.WALLET,
    events.URIUpdated: ChangeKind.FILE,
    events.AgentUpdated: ChangeKind.FILE,
}
"""The kind of change that each event represents. Of the metadata events, only those that set the wallet are changes."""

TABLES_BY_NAME: Final = {EVENT_TABLES[event].name: (event, EVENT_TABLES[event]) for event in EVENT_KINDS}
"""The events that are reported as changes, and their tables, keyed by table name."""


class StepKind(StrEnum):
    """The kinds of steps."""

    BLOCKS = "blocks"
    """Blocks of a chain were stored."""

    ROLLBACK = "rollback"
    """Blocks of a chain were removed."""

    NOTES = "notes"
    """Off-chain changes were recorded."""


change_step: Final = sa.Table(
    "change_step",
    metadata,
    sa.Column("step", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(8), nullable=False),
    *required(sa.BigInteger, "chain_id", "first_block", "last_block"),
    *optional(sa.BigInteger, "kept_block", "removal"),
    *required(sa.BigInteger, "changes", "made_at"),
    sa.Index("change_step_by_block", "chain_id", "kept_block"),
)
"""One row per step. `kept_block` is the last block of a block step that rollbacks have not removed."""

removed_change: Final = sa.Table(
    "removed_change",
    metadata,
    *required(sa.BigInteger, "chain_id", "removal", "block_number"),
    sa.Column("log_index", sa.Integer, nullable=False),
    sa.Column("step", sa.BigInteger, nullable=False),
    sa.Column("table_name", sa.String(40), nullable=False),
    sa.Column("packed_row", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("chain_id", "removal", "block_number", "log_index"),
    sa.Index("removed_change_by_step", "step", "block_number", "log_index"),
)
"""The events that rollbacks removed. `step` is the step that reported an event; `removal` numbers the rollbacks."""

change_note: Final = sa.Table(
    "change_note",
    metadata,
    sa.Column("step", sa.BigInteger, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("kind", sa.String(8), nullable=False),
    sa.Column("registry", ADDRESS, nullable=False),
    sa.Column("agent_id", WideInteger),
    sa.Column("account", ADDRESS),
    sa.Column("details", sa.Text, nullable=False),
    sa.PrimaryKeyConstraint("step", "position"),
)
"""The off-chain changes, several per step. `details` is JSON."""

TABLES: Final = (change_step, removed_change, change_note)
