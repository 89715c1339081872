"""The tables of the change feed: an order of all changes that never changes itself.

Each transaction that changes the index adds one step, with the next number. A step of blocks names their range, and the
events stay in their own tables. A rollback keeps the events that it removes, beside the step that told them. So every
reader gets the same changes in the same order, whenever it reads a step.
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
"""One row a subscription. `wanted` is the filter as JSON, `since` the cursor of the last delivery that was taken.

`pending` is the last change of a delivery that was tried and not taken: each retry has the same changes. `failures`
counts since the last success, `failed` since the beginning.
"""

webhook_lease: Final = sa.Table(
    "webhook_lease",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("holder", sa.String(32), nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
)
"""At most one row: the process that delivers, and the time until which no other one does."""

WEBHOOK_TABLES: Final = (webhook, webhook_lease)


MOST_TEXT: Final = 1_000
"""The characters of a text that a change shows. One more is kept, which tells that there are more."""


class ChangeKind(StrEnum):
    """The kinds of changes."""

    FEEDBACK = "feedback"
    """A client gave feedback on an agent."""

    REVOKED = "revoked"
    """The client revoked it."""

    RESPONSE = "response"
    """Somebody responded to it."""

    RATING = "rating"
    """A server rated a client or a validator, or sealed ratings were opened."""

    VALIDATION = "validation"
    """An agent asked for a validation, or a validator answered."""

    OWNER = "owner"
    """An agent was registered, or its token moved."""

    WALLET = "wallet"
    """An agent's wallet was set or taken away."""

    FILE = "file"
    """An agent names another file or domain, or the index saw another content of one of its files."""

    ENDPOINT = "endpoint"
    """A watchtower saw an endpoint of an agent come up or go down, or change its price, keys or tools."""

    VERDICT = "verdict"
    """The standing of an agent got another status."""

    FLAG = "flag"
    """The analysis flags an account, or flags it no more."""


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
"""The kinds of the events that are changes. Of metadata, only the wallet is one."""

TABLES_BY_NAME: Final = {EVENT_TABLES[event].name: (event, EVENT_TABLES[event]) for event in EVENT_KINDS}
"""The events that are changes, and their tables, by the table's name."""


class StepKind(StrEnum):
    """The kinds of steps."""

    BLOCKS = "blocks"
    """Blocks of a chain were stored."""

    ROLLBACK = "rollback"
    """Blocks of a chain were removed."""

    NOTES = "notes"
    """The index noticed something that is not on the chain."""


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
"""One row a step. `kept_block` is the last block of a step of blocks that no rollback removed."""

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
"""The events that rollbacks removed. `step` told them; `removal` numbers the rollbacks of a chain."""

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
"""The changes of a step of notes. `details` is JSON."""

TABLES: Final = (change_step, removed_change, change_note)
