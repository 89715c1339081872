"""Search a chain for open feedback on any agents by any clients, newest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from hashlib import sha256
from operator import eq, ge, le
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, exists, or_, select, tuple_

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.events import RatingsOpened, ResponseAppended
from bilateral.core.values import MAX_DECIMALS, MAX_VALUE
from bilateral.core.values.summaries import Blind
from bilateral.index.agents.tables import agent, primary_agent
from bilateral.index.files.tables import feedback_file, payment_claim
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import Dialect, dialect_of
from bilateral.index.ratings.feedback import SELECTION, VIEW, Feedback, feedback_of_row
from bilateral.index.reading.pages import DEFAULT_LIMIT, Page, newest_page
from bilateral.index.reading.prepared import plan_by_values
from bilateral.index.reading.registries import AgentKey
from bilateral.index.search.filters import Payment, address, require_in_range, require_short, storable

_PLACE: Final = ("chain_id", "block_number", "log_index")
_ORDER: Final = (VIEW.c.block_number, VIEW.c.log_index)


def counted_feedback(  # noqa: PLR0913  # one a filter
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
    """Return the feedback on an agent that a gate would count if none were revoked, newest first."""
    columns = VIEW.c
    conditions = key.in_registries(columns)
    if tag is not None:
        conditions.append(columns.tag1 == tag)
    if clients is not None:
        conditions.append(columns.client_address.in_(clients))
    if payment is not None:
        conditions.append(_claims(key, payment))
    if blind is not None:
        conditions.append(columns.is_blind.is_(True))
    kind = f"feedback behind a figure of {key.global_id}"
    statement = SELECTION.where(*conditions)
    return newest_page(connection, statement, _ORDER, feedback_of_row, kind=kind, limit=limit, cursor=cursor)


def speakers(connection: Connection, key: AgentKey) -> tuple[str, ...]:
    """Return the accounts that own an agent or are its wallet and have selected it as their primary agent."""
    columns, chosen = agent.c, primary_agent.c
    row = connection.execute(select(columns.owner, columns.wallet).where(*key.of(columns))).first()
    query = select(chosen.account).where(
        chosen.chain_id == key.chain_id,
        chosen.identity_registry.in_(sorted({key.identity_registry, *key.registries})),
        chosen.account.in_(sorted({account for account in row or () if account is not None})),
        chosen.agent_id == key.agent_id,
    )
    return tuple(sorted(set(connection.execute(query).scalars())))


def _claims(key: AgentKey, payment: Payment) -> ColumnElement[bool]:
    claim: Any = payment_claim.c
    conditions = [claim[name] == VIEW.c[name] for name in _PLACE]
    if payment is Payment.MATCHING:
        columns = agent.c
        is_payee = exists().where(*key.of(columns), or_(columns.owner == claim.payee, columns.wallet == claim.payee))
        conditions += [claim.is_bound, claim.payer == claim.account, is_payee.correlate(payment_claim)]
    return exists().where(*conditions).correlate(VIEW)


@dataclass(frozen=True)
class FeedbackSearch:
    """A search for feedback on one chain. Feedback must meet all conditions.

    Attributes:
        agents: Find only feedback on these agents, which must be on this chain; on all agents if empty.
        reviewers: Find only feedback from these clients; from all clients if empty.
        tag1: Find only feedback with this first tag.
        tag2: Find only feedback with this second tag.
        tags: Find only feedback with one of these tags as the first or second tag; with any tags if empty.
        minimum: Find only feedback with at least this value.
        maximum: Find only feedback with at most this value.
        given_from: Find only feedback given at this time or later, in Unix seconds.
        given_to: Find only feedback given at this time or earlier, in Unix seconds.
        tool: Find only feedback whose file lists this MCP tool.
        is_answered: True for feedback with a response, False for feedback without one; None for all.
        has_payment: True for feedback whose file claims a payment, False for other feedback; None for all.
        include_revoked: True to include revoked feedback.
        blind: `only` to find only feedback that was sealed before either side saw the other's rating; None for all.

    Raises:
        InvalidArgumentError: The value of a condition is out of range.
    """

    chain_id: int
    agents: tuple[AgentKey, ...] = ()
    reviewers: tuple[str, ...] = ()
    tag1: str | None = None
    tag2: str | None = None
    tags: tuple[str, ...] = ()
    minimum: Decimal | None = None
    maximum: Decimal | None = None
    given_from: int | None = None
    given_to: int | None = None
    tool: str | None = None
    is_answered: bool | None = None
    has_payment: bool | None = None
    include_revoked: bool = False
    blind: Blind | None = None

    def __post_init__(self) -> None:
        for name in ("agents", "reviewers", "tags"):
            require_short(name, getattr(self, name))
        require_in_range(self.chain_id, self.given_from, self.given_to)
        for name in ("minimum", "maximum"):
            value = getattr(self, name)
            if value is not None and not (Decimal(value).is_finite() and abs(value) <= MAX_VALUE):
                raise InvalidArgumentError(f"{name} {value} is not a number between -1e38 and 1e38")
        for key in self.agents:
            if key.chain_id != self.chain_id:
                raise InvalidArgumentError(f"the agent {key.id} is not on chain {self.chain_id}")
        object.__setattr__(self, "reviewers", tuple(address("reviewer", reviewer) for reviewer in self.reviewers))
        object.__setattr__(self, "tags", tuple(map(storable, self.tags)))
        for name in ("tag1", "tag2", "tool"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, storable(getattr(self, name)))


def search_feedback(
    connection: Connection, search: FeedbackSearch, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
) -> Page[Feedback]:
    """Return the feedback that meets all conditions of a search, newest first."""
    kind = f"feedback {sha256(repr(search).encode()).hexdigest()[:16]}"
    plan_by_values(connection)
    statement = SELECTION.where(*_conditions(search, dialect_of(connection)))
    return newest_page(connection, statement, _ORDER, feedback_of_row, kind=kind, limit=limit, cursor=cursor)


def _conditions(search: FeedbackSearch, dialect: Dialect) -> list[ColumnElement[bool]]:
    columns, place = VIEW.c, tuple_(*_ORDER)
    conditions = [columns.chain_id == search.chain_id]
    if search.agents:
        registries = sorted({registry for key in search.agents for registry in key.registries})
        same = [and_(columns.agent_id == key.agent_id, columns.registry.in_(key.registries)) for key in search.agents]
        ids = sorted({key.agent_id for key in search.agents})
        conditions += [columns.registry.in_(registries), columns.agent_id.in_(ids), or_(*same)]
    if search.reviewers:
        conditions.append(columns.client_address.in_(search.reviewers))
    tags = (columns.tag1, search.tag1), (columns.tag2, search.tag2)
    conditions += [column == tag for column, tag in tags if tag is not None]
    if search.tags:
        conditions.append(or_(columns.tag1.in_(search.tags), columns.tag2.in_(search.tags)))
    values = (search.minimum, True), (search.maximum, False)
    conditions += [_compared(dialect, limit, is_least=is_least) for limit, is_least in values if limit is not None]
    rest = (
        (ge, columns.block_time, search.given_from),
        (le, columns.block_time, search.given_to),
        (eq, feedback_file.c.mcp_tool, search.tool),
    )
    conditions += [compare(column, value) for compare, column, value in rest if value is not None]
    if not search.include_revoked:
        conditions.append(columns.is_revoked.is_(False))
    if search.blind is not None:
        opened = schema.EVENT_TABLES[RatingsOpened].c
        # Blind feedback may be rare, so begin with the openings instead of all feedback on the chain.
        places = select(opened.block_number, opened.log_index - 1).where(opened.chain_id == search.chain_id)
        conditions += [place.in_(places), columns.is_blind.is_(True)]
    response = schema.EVENT_TABLES[ResponseAppended].c
    names = ("chain_id", "registry", "agent_id", "client_address", "feedback_index")
    answered = exists().where(*(response[name] == columns[name] for name in names))
    paid = exists().where(*(payment_claim.c[name] == columns[name] for name in _PLACE))
    for requested, condition in ((search.is_answered, answered), (search.has_payment, paid)):
        if requested is not None:
            conditions.append(condition if requested else ~condition)
    return conditions


def _compared(dialect: Dialect, limit: Decimal, *, is_least: bool) -> ColumnElement[bool]:
    """Return the condition that values with any number of decimals meet a limit."""
    parts = []
    with localcontext(prec=100):
        for decimals in range(MAX_DECIMALS + 1):
            rounding = ROUND_CEILING if is_least else ROUND_FLOOR
            whole = int((Decimal(limit) * 10**decimals).to_integral_value(rounding))
            within = dialect.is_within(VIEW.c.value, whole, is_least=is_least)
            parts.append(and_(VIEW.c.value_decimals == decimals, within))
    return or_(*parts)
