"""Blind ratings in the tables: the conditions of blind ratings and of answers."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, exists, literal_column, or_, tuple_

from bilateral.core.events import NewFeedback, RatingsOpened
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.log.unindexed import unindexed

ANSWER_SECONDS: Final = 86_400
"""A rating so soon after the client's feedback on its server may answer that feedback."""

_OPENED: Final = schema.EVENT_TABLES[RatingsOpened]
_GIVEN: Final = schema.EVENT_TABLES[NewFeedback]


def is_blind_feedback(rows: FromClause, account: str = "client_address", chain: Any = None) -> ColumnElement[bool]:
    """Return the condition that feedback is blind: its opening is the next log, and names it."""
    columns, opened = rows.c, _OPENED.alias("opened")
    same = [opened.c.server_id == columns.agent_id, opened.c.client == columns[account]]
    if "feedback_index" in columns:
        same.append(opened.c.feedback_index == columns.feedback_index)
    return exists().where(*_beside(opened, rows, 1, chain=chain), *same).correlate(rows)


def is_blind_rating(rows: FromClause, chain: Any = None) -> ColumnElement[bool]:
    """Return the condition that a rating of a client is blind: its opening follows it, or feedback opened with it."""
    rated, opened = rows.c, _OPENED.alias("opened")
    same = [opened.c.client_id == rated.client_id, opened.c.server_id == rated.server_id]
    return exists().where(*_beside(opened, rows, 1, 2, chain=chain), *same).correlate(rows)


def follows_feedback(rows: FromClause, client: str = "client_id", chain: Any = None) -> ColumnElement[bool]:
    """Return the condition that a client gave its server feedback within the day before the server's rating.

    The client is the account that owns its agent, or that is the agent's wallet. Revoked feedback counts: it was seen.
    """
    rated, feedback = rows.c, _GIVEN.alias("answered")
    speaker, kind = agent_tables.agent.alias("speaker"), schema.registry.alias("rated_in")
    chain = rated.chain_id if chain is None else chain
    place = (unindexed(feedback.c.block_number), feedback.c.log_index)
    # One lookup for each account: for a list of accounts SQLite reads all feedback on the server.
    return or_(
        *(
            exists()
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
                feedback.c.block_time >= rated.block_time - literal_column(str(ANSWER_SECONDS)),
                tuple_(*place) < tuple_(rated.block_number, rated.log_index),
            )
            .correlate(rows)
            for account in (speaker.c.owner, speaker.c.wallet)
        )
    )


def _beside(opened: FromClause, rows: FromClause, *distances: int, chain: Any) -> list[ColumnElement[bool]]:
    """Return the conditions that an opening has its place behind a row, in the log of the same registry."""
    return [
        opened.c.chain_id == (rows.c.chain_id if chain is None else chain),
        opened.c.block_number == rows.c.block_number,
        opened.c.log_index.in_([rows.c.log_index + literal_column(str(distance)) for distance in distances]),
        opened.c.registry == rows.c.registry,
    ]
