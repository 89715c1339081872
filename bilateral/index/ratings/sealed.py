"""Ratings that were sealed before either side saw the other's rating: SQL conditions for them, and sealed pairs."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa

from bilateral.core.events import NewFeedback, RatingsOpened, RatingsSealed
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import unindexed
from bilateral.index.ratings.tables import event_columns, place_values
from bilateral.index.reading.pages import Page, newest_page
from bilateral.index.reading.registries import AgentKey, Wide

ANSWER_SECONDS: Final = 86_400
"""The number of seconds after a client's feedback within which the server's rating may be a response to it."""

_SEALED: Final = schema.EVENT_TABLES[RatingsSealed]
_OPENED: Final = schema.EVENT_TABLES[RatingsOpened]


def is_sealed_feedback(
    rows: sa.FromClause, account: str = "client_address", chain: Any = None
) -> sa.ColumnElement[bool]:
    """Return the condition that feedback was sealed first, which means that the next log is its opening."""
    columns, opened = rows.c, _OPENED.alias("opened")
    same = [opened.c.server_id == columns.agent_id, opened.c.client == columns[account]]
    if "feedback_index" in columns:
        same.append(opened.c.feedback_index == columns.feedback_index)
    return sa.exists().where(*_beside(opened, rows, 1, chain=chain), *same).correlate(rows)


def is_sealed_rating(rows: sa.FromClause, chain: Any = None) -> sa.ColumnElement[bool]:
    """Return the condition that a server's rating of a client was sealed first, because an opening follows it."""
    rated, opened = rows.c, _OPENED.alias("opened")
    same = [opened.c.client_id == rated.client_id, opened.c.server_id == rated.server_id]
    return sa.exists().where(*_beside(opened, rows, 1, 2, chain=chain), *same).correlate(rows)


def follows_feedback(rows: sa.FromClause, client: str = "client_id", chain: Any = None) -> sa.ColumnElement[bool]:
    """Return the condition that a client gave a server feedback within the day before the server's rating.

    The client is the account that owns the client agent or is the agent's wallet. Revoked feedback also meets the
    condition, because the server could see it.
    """
    rated, feedback = rows.c, schema.EVENT_TABLES[NewFeedback].alias("answered")
    speaker, kind = agent_tables.agent.alias("speaker"), schema.registry.alias("rated_in")
    chain = rated.chain_id if chain is None else chain
    place = (unindexed(feedback.c.block_number), feedback.c.log_index)
    # Look up each account separately: for a list of accounts, SQLite would read all feedback on the server.
    return sa.or_(
        *(
            sa.exists()
            .where(
                kind.c.chain_id == chain,
                kind.c.address == rated.registry,
                speaker.c.chain_id == chain,
                speaker.c.identity_registry == kind.c.identity_registry,
                speaker.c.agent_id == rated[client],
                feedback.c.chain_id == chain,
                feedback.c.registry == rated.registry,
                feedback.c.agent_id == rated.server_id,
                feedback.c.client_address == account,
                feedback.c.block_time >= rated.block_time - sa.literal_column(str(ANSWER_SECONDS)),
                sa.tuple_(*place) < sa.tuple_(rated.block_number, rated.log_index),
            )
            .correlate(rows)
            for account in (speaker.c.owner, speaker.c.wallet)
        )
    )


def _beside(opened: sa.FromClause, rows: sa.FromClause, *distances: int, chain: Any) -> list[sa.ColumnElement[bool]]:
    """Return the conditions that an opening from the same registry follows a row."""
    return [
        opened.c.chain_id == (rows.c.chain_id if chain is None else chain),
        opened.c.block_number == rows.c.block_number,
        opened.c.log_index.in_([rows.c.log_index + sa.literal_column(str(distance)) for distance in distances]),
        opened.c.registry == rows.c.registry,
    ]


class SealState(StrEnum):
    """The states of a sealed pair."""

    SEALED = "sealed"
    """Neither rating has been opened."""

    WITHHELD = "withheld"
    """Only one rating has been opened. The unopened rating has no effect."""

    OPENED = "opened"
    """Both ratings have been opened."""


_VIEW: Final = sa.table(
    "sealed_pair",
    *(sa.column(field.name, field.type) for field in _SEALED.c if field.name != "block_hash"),
    sa.column("feedback_index", _OPENED.c.feedback_index.type),
    *(sa.column(name, sa.Text) for name in ("client_address", "state")),
    *(sa.column(name, sa.BigInteger) for name in ("feedback_opened_at", "rating_opened_at")),
)


@dataclass(frozen=True, slots=True)
class SealedPair:
    """A client and a server that sealed their ratings of each other.

    Attributes:
        client: The client's short id.
        client_id: The client's token id.
        server: The server's short id.
        server_id: The server's token id.
        state: `sealed`, `withheld` or `opened`.
        missing: The sides that have not opened their ratings, `client` or `server` or both.
        feedback: The textual id of the client's feedback; None while it is sealed.
        feedback_opened_at: The time at which the feedback was opened, in Unix seconds; None while it is sealed.
        rating_opened_at: The time at which the server's rating was opened, in Unix seconds; None while it is sealed.
        block: The block of the seal.
        log_index: The seal's position in the block.
        time: The time of the seal, in Unix seconds.
        transaction: The transaction of the seal.
    """

    client: str
    client_id: Wide
    server: str
    server_id: Wide
    registry: str
    interaction: str
    state: str
    missing: tuple[str, ...]
    feedback: str | None
    feedback_opened_at: int | None
    rating_opened_at: int | None
    block: int
    log_index: int
    time: int
    transaction: str


def sealed_pairs_of(
    connection: sa.Connection,
    key: AgentKey,
    state: SealState | None = None,
    *,
    limit: int = 20,
    cursor: str | None = None,
) -> Page[SealedPair]:
    """Return the pairs that an agent sealed, as client or server, newest first.

    Ratings that are sealed and opened in one transaction (an exchange) are not listed, but count as sealed.
    """
    pair = _VIEW.c
    names = ("chain_id", "client_id", "server_id", "registry", "interaction", "state", "client_address")
    opening = ("feedback_index", "feedback_opened_at", "rating_opened_at")
    statement = sa.select(*event_columns(pair, *names, *opening)).where(
        pair.chain_id == key.chain_id,
        pair.registry.in_(key.registries),
        sa.or_(pair.client_id == key.agent_id, pair.server_id == key.agent_id),
    )
    if state is not None:
        statement = statement.where(pair.state == state.value)
    kind = f"sealed pairs of {key.global_id} {state}"
    place = (pair.block_number, pair.log_index)
    return newest_page(connection, statement, place, _pair, kind=kind, limit=limit, cursor=cursor)


def _pair(row: sa.Row[*tuple[Any, ...]]) -> SealedPair:
    chain_id, client_id, server_id, registry, interaction, state, account, index, *rest = row
    feedback_at, rating_at, *place = rest
    server = f"{chain_id}:{server_id}"
    missing = tuple(side for side, opened_at in (("client", feedback_at), ("server", rating_at)) if opened_at is None)
    agents = f"{chain_id}:{client_id}", client_id, server, server_id, registry
    feedback = None if feedback_at is None else f"{server}:{account}:{index - 1}"
    opened = state, missing, feedback, feedback_at, rating_at
    return SealedPair(*agents, f"0x{interaction.hex()}", *opened, *place_values(*place))
