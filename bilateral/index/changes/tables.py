"""The tables of the change feed: an order of all changes that never changes itself.

Each transaction that changes the index adds one step, with the next number. A step of blocks names their range, and the
events stay in their own tables. A rollback keeps the events that it removes, beside the step that told them. So every
reader gets the same changes in the same order, whenever it reads a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from bilateral.core.events import (
    AgentUpdated,
    ClientRated,
    Event,
    FeedbackRevoked,
    MetadataSet,
    NewAuthorizedFeedback,
    NewFeedback,
    RatingsOpened,
    ResponseAppended,
    Transfer,
    URIUpdated,
    ValidationRequest,
    ValidationResponse,
    ValidatorRated,
)
from bilateral.index.log.columns import ADDRESS, WideInteger
from bilateral.index.log.tables import EVENT_TABLES

metadata: Final = MetaData()

webhook: Final = Table(
    "webhook",
    metadata,
    Column("id", String(35), primary_key=True),
    Column("owner", String(64), nullable=False),
    Column("url", Text, nullable=False),
    Column("wanted", Text, nullable=False),
    Column("since", String(60), nullable=False),
    Column("pending", String(60)),
    Column("created_at", BigInteger, nullable=False),
    Column("next_at", BigInteger, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("failing_since", BigInteger),
    Column("stopped_at", BigInteger),
    Column("problem", Text),
    Column("delivered", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Index("webhook_by_owner", "owner"),
)
"""One row a subscription. `wanted` is the filter as JSON, `since` the cursor of the last delivery that was taken.

`pending` is the last change of a delivery that was tried and not taken: each retry has the same changes. `failures`
counts since the last success, `failed` since the beginning.
"""

webhook_lease: Final = Table(
    "webhook_lease",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("holder", String(32), nullable=False),
    Column("until", BigInteger, nullable=False),
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
    """A server rated a client or a validator, or blind ratings were opened."""

    VALIDATION = "validation"
    """An agent asked for a validation, or a validator answered."""

    OWNER = "owner"
    """An agent was registered, or its token moved."""

    WALLET = "wallet"
    """An agent's wallet was set or taken away."""

    FILE = "file"
    """An agent names another file or domain, or the index saw another content of one of its files."""

    VERDICT = "verdict"
    """The standing of an agent got another status."""

    FLAG = "flag"
    """The analysis flags an account, or flags it no more."""


EVENT_KINDS: Final[Mapping[type[Event], ChangeKind]] = {
    NewFeedback: ChangeKind.FEEDBACK,
    NewAuthorizedFeedback: ChangeKind.FEEDBACK,
    FeedbackRevoked: ChangeKind.REVOKED,
    ResponseAppended: ChangeKind.RESPONSE,
    ClientRated: ChangeKind.RATING,
    ValidatorRated: ChangeKind.RATING,
    RatingsOpened: ChangeKind.RATING,
    ValidationRequest: ChangeKind.VALIDATION,
    ValidationResponse: ChangeKind.VALIDATION,
    Transfer: ChangeKind.OWNER,
    MetadataSet: ChangeKind.WALLET,
    URIUpdated: ChangeKind.FILE,
    AgentUpdated: ChangeKind.FILE,
}
"""The kinds of the events that are changes. Of metadata, only the wallet is one."""

TABLES_BY_NAME: Final = {EVENT_TABLES[event].name: (event, EVENT_TABLES[event]) for event in EVENT_KINDS}
"""The events that are changes, and their tables, by the table's name."""

WALLET_KEY: Final = "agentWallet"
"""The key of the metadata that is the wallet."""


class StepKind(StrEnum):
    """The kinds of steps."""

    BLOCKS = "blocks"
    """Blocks of a chain were stored."""

    ROLLBACK = "rollback"
    """Blocks of a chain were removed."""

    NOTES = "notes"
    """The index noticed something that is not on the chain."""


change_step: Final = Table(
    "change_step",
    metadata,
    Column("step", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(8), nullable=False),
    Column("chain_id", BigInteger, nullable=False),
    Column("first_block", BigInteger, nullable=False),
    Column("last_block", BigInteger, nullable=False),
    Column("kept_block", BigInteger),
    Column("removal", BigInteger),
    Column("changes", BigInteger, nullable=False),
    Column("made_at", BigInteger, nullable=False),
    Index("change_step_by_block", "chain_id", "kept_block"),
)
"""One row a step. `kept_block` is the last block of a step of blocks that no rollback removed."""

removed_change: Final = Table(
    "removed_change",
    metadata,
    Column("chain_id", BigInteger, nullable=False),
    Column("removal", BigInteger, nullable=False),
    Column("block_number", BigInteger, nullable=False),
    Column("log_index", Integer, nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("table_name", String(40), nullable=False),
    Column("packed_row", LargeBinary, nullable=False),
    PrimaryKeyConstraint("chain_id", "removal", "block_number", "log_index"),
    Index("removed_change_by_step", "step", "block_number", "log_index"),
)
"""The events that rollbacks removed. `step` told them; `removal` numbers the rollbacks of a chain."""

change_note: Final = Table(
    "change_note",
    metadata,
    Column("step", BigInteger, nullable=False),
    Column("position", Integer, nullable=False),
    Column("kind", String(8), nullable=False),
    Column("registry", ADDRESS, nullable=False),
    Column("agent_id", WideInteger),
    Column("account", ADDRESS),
    Column("details", Text, nullable=False),
    PrimaryKeyConstraint("step", "position"),
)
"""The changes of a step of notes. `details` is JSON."""

TABLES: Final = (change_step, removed_change, change_note)
