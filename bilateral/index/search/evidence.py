"""The entries behind a figure that is not of all raters: by some of them, or with claims of payment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, exists, or_, select

from bilateral.core.values.blind import Blind
from bilateral.index.agents.tables import agent, primary_agent
from bilateral.index.files.tables import payment_claim
from bilateral.index.ratings.feedback import SELECTION, VIEW, Feedback, feedback_of_row
from bilateral.index.reading.pages import Page, newest_page, require_limit
from bilateral.index.reading.registries import AgentKey
from bilateral.index.search.filters import Payment

_PLACE: Final = ("chain_id", "block_number", "log_index")


def feedback_behind(  # noqa: PLR0913  # one a filter
    connection: Connection,
    key: AgentKey,
    *,
    tag: str | None,
    clients: Sequence[str] | None,
    payment: Payment | None,
    blind: Blind | None = None,
    limit: int = 20,
    cursor: str | None = None,
) -> Page[Feedback]:
    """Return the feedback on an agent that a gate counts, the newest first, and revoked one among it.

    Args:
        key: The agent.
        tag: The tag; None for any.
        clients: Only by these accounts; None for all.
        payment: Only with such a proof of payment, as `Gate` describes it; None for all.
        blind: `only` for feedback that was sealed first; None for all.
        limit: The largest number of entries.
        cursor: The place in the list, from the former page.

    Raises:
        InvalidCursorError: The cursor is not of this list.
        InvalidArgumentError: The limit is out of range.
    """
    require_limit(limit)
    columns = VIEW.c
    wanted = [columns.chain_id == key.chain_id, columns.registry.in_(key.registries), columns.agent_id == key.agent_id]
    if tag is not None:
        wanted.append(columns.tag1 == tag)
    if clients is not None:
        wanted.append(columns.client_address.in_(clients))
    if payment is not None:
        wanted.append(_claims(key, payment))
    if blind is not None:
        wanted.append(columns.is_blind.is_(True))
    kind = f"feedback behind a figure of {key.global_id}"
    place = (columns.block_number, columns.log_index)
    statement = SELECTION.where(*wanted)
    return newest_page(connection, statement, place, feedback_of_row, kind=kind, limit=limit, cursor=cursor)


def speakers(connection: Connection, key: AgentKey) -> tuple[str, ...]:
    """Return the accounts that speak as an agent: those of its owner and wallet that named it as theirs.

    Args:
        key: The agent.
    """
    columns, chosen = agent.c, primary_agent.c
    row = connection.execute(
        select(columns.owner, columns.wallet).where(
            columns.chain_id == key.chain_id,
            columns.identity_registry == key.identity_registry,
            columns.agent_id == key.agent_id,
        )
    ).first()
    accounts = sorted({account for account in row or () if account is not None})
    query = select(chosen.account).where(
        chosen.chain_id == key.chain_id,
        chosen.identity_registry.in_(sorted({key.identity_registry, *key.registries})),
        chosen.account.in_(accounts),
        chosen.agent_id == key.agent_id,
    )
    return tuple(sorted(set(connection.execute(query).scalars())))


def _claims(key: AgentKey, payment: Payment) -> ColumnElement[bool]:
    """Return the condition that the file of a feedback claims a payment, or names its payer and payee."""
    claim: Any = payment_claim.c
    wanted = [claim[name] == VIEW.c[name] for name in _PLACE]
    if payment is Payment.MATCHING:
        columns = agent.c
        is_payee = exists().where(
            columns.chain_id == key.chain_id,
            columns.identity_registry == key.identity_registry,
            columns.agent_id == key.agent_id,
            or_(columns.owner == claim.payee, columns.wallet == claim.payee),
        )
        wanted += [claim.is_bound, claim.payer == claim.account, is_payee.correlate(payment_claim)]
    return exists().where(*wanted).correlate(VIEW)
