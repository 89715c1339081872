"""The raters whose ratings count under a policy, and their ratings."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from sqlalchemy import Row, select, text

from bilateral.checks.errors import HistoryTooLongError
from bilateral.checks.facts import Counted, RatingFacts
from bilateral.checks.from_index import entries
from bilateral.checks.from_index.as_of_block import OPEN_REGISTRIES, covering, evidence_of, identity_registries
from bilateral.checks.from_index.ratings import Ratings, Tallies, counted, lines
from bilateral.checks.from_index.subjects import Asker, Subject, agents_at, agents_of_accounts
from bilateral.checks.policy import Policy, parse_agent
from bilateral.checks.verdicts import DAY, EventEvidence
from bilateral.core.events import ClientRated
from bilateral.core.values.bounds import lower_bound, scale_of_tag, share_of_scale
from bilateral.core.values.standing import Side
from bilateral.core.values.summaries import SEALED_SIDES
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import AT_ONCE, dialect_of, in_parts, newest_first
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.tables import DECIMALS
from bilateral.index.reading.prepared import size_for, spread

MOST_RATERS: Final = 5_000
"""The maximum number of raters whose own lower bounds are read. With more, the best-rated agents are read instead."""

MOST_PAST_RATERS: Final = 200
"""The maximum number of raters whose lower bounds are computed for an earlier block."""

_MOST_OPINIONS: Final = 1_000
"""The maximum number of the requester's newest ratings from which its trusted raters are determined."""

_MOST_NEWEST: Final = 200
"""The maximum number of newest ratings to read: an agent may have millions."""

_EXAMPLES: Final = 3  # examples per reason; enough to understand it
_CLIENT: Final = schema.EVENT_TABLES[ClientRated]

_OF_ACCOUNTS: Final = {
    name: text(
        f"SELECT agent_id, owner, wallet FROM agent INDEXED BY agent_by_{name} "  # noqa: S608  # no input
        f"WHERE chain_id = :chain_id AND {name} IN (SELECT value FROM json_each(:accounts)) "
        "AND +identity_registry = :identity"
    ).columns(agent_tables.agent.c.agent_id, agent_tables.agent.c.owner, agent_tables.agent.c.wallet)
    for name in ("owner", "wallet")
}
"""The statements that find agents by owner or wallet in SQLite."""


@dataclass(frozen=True)
class Question:
    """A query about one agent's ratings.

    Attributes:
        subject: The agent.
        side: The agent's role.
        tag: The tag that counts.
        own: The agent's own accounts, whose ratings do not count.
        asker: The account or agent that requests the check; None if unknown.
    """

    subject: Subject
    side: Side
    tag: str
    own: frozenset[str]
    policy: Policy
    asker: Asker | None

    @cached_property
    def ratings(self) -> Ratings:
        """All of the agent's ratings."""
        return Ratings(self.subject)

    @property
    def summary(self) -> tuple[str, str]:
        """The side and tag of the summary that counts."""
        return SEALED_SIDES[self.side] if self.policy.only_sealed else self.side, self.tag


def counted_ratings(question: Question) -> RatingFacts:
    """Return an agent's ratings that count under a policy."""
    as_of, policy, side, ratings = question.subject.as_of, question.policy, question.side, question.ratings
    own = _own_raters(question)
    listed = _listed(question) if policy.trust.is_set else None
    by_rater: Tallies
    if as_of.is_head and not policy.reads_entries:
        everybody = ratings.total(*question.summary)
        trusted = None if listed is None else listed | _reputable_now(question)
        by_rater = {} if trusted is None else ratings.tallies(*question.summary, trusted)
        own_tallies = ratings.tallies(*question.summary, own) if everybody.count else {}
    else:
        everybody, trusted = None, None
        by_rater = entries.entry_tallies(_entries(question), side, question.tag)
        if listed is not None:
            reputable = _reputable_now if as_of.is_head else _reputable_then
            trusted = listed | reputable(question, by_rater)
        own_tallies = {rater: tally for rater, tally in by_rater.items() if rater[1] in own}
    counts = counted(by_rater, everybody, own_tallies, trusted)
    return RatingFacts(
        counts,
        trusted is not None,
        newest_ratings(question, trusted, own) if counts.raters else (),
        newest_ratings(question, own, frozenset()) if own_tallies else (),
        lines(ratings),
    )


def _entries(question: Question) -> list[entries.Entry]:
    as_of, policy, since = question.subject.as_of, question.policy, None
    if policy.maximum_rating_age_days is not None and as_of.time is not None:
        since = as_of.time - policy.maximum_rating_age_days * DAY
    selected = [entry for entry in question.ratings.entries if since is None or entry.row.block_time >= since]
    if policy.require_payment_proof and question.side is Side.SERVER:
        selected = entries.with_payment_proof(as_of, selected, question.subject.history.accounts)
    if policy.only_sealed:
        selected = entries.only_sealed(as_of, selected, question.side)
    if policy.maximum_repeats is not None:
        selected = entries.without_repeats(selected, policy.maximum_repeats, policy.repeat_days * DAY)
    return selected


def _own_raters(question: Question) -> frozenset[str]:
    if question.side == Side.SERVER:
        return question.own
    return frozenset(map(_rater, agents_of_accounts(question.subject.as_of, question.subject.identity, question.own)))


def _listed(question: Question) -> frozenset[str]:
    trust, subject, agent_ids = question.policy.trust, question.subject, _trusted_agents(question)
    if trust.own_experience and question.asker is not None:
        agent_ids |= _liked(question, question.asker)
    if question.side == Side.SERVER:
        agents = agents_at(subject.as_of, subject.identity, agent_ids)
        return frozenset(trust.accounts).union(*(agent.holders for agent in agents.values()))
    if trust.accounts:
        agent_ids |= agents_of_accounts(subject.as_of, subject.identity, trust.accounts).keys()
    return frozenset(map(_rater, agent_ids))


def _trusted_agents(question: Question) -> set[int]:
    """Return the ids of the policy's trusted agents that belong to the query's registry."""
    as_of, identity = question.subject.as_of, question.subject.identity
    default = next(iter(identity_registries(as_of)), None)
    return {
        agent.agent_id
        for agent in map(parse_agent, question.policy.trust.agents)
        if agent.chain_id is None or (agent.chain_id, agent.identity or default) == (as_of.chain_id, identity)
    }


def _liked(question: Question, asker: Asker) -> set[int]:
    """Return the agents that the requester last rated at or above the policy's minimum."""
    as_of, registries = question.subject.as_of, list(question.subject.kinds)
    minimum, opinions = question.policy.minimum_rating, dict[int, bool]()
    if asker.agent_id is not None:
        query = (
            select(_CLIENT.c.client_id, _CLIENT.c.rating)
            .where(covering(_CLIENT), _CLIENT.c.registry.in_(registries), _CLIENT.c.server_id == asker.agent_id)
            .order_by(*newest_first(_CLIENT.c))
            .limit(_MOST_OPINIONS)
        )
        for agent_id, rating in as_of.connection.execute(query, as_of.bounds):
            opinions.setdefault(int(agent_id), rating >= minimum)
    scale = scale_of_tag(question.policy.tag) or (0, 100)
    for row in entries.feedback_by(as_of, registries, asker.accounts, _MOST_OPINIONS):
        if row.tag1 == question.policy.tag and row.value_decimals <= DECIMALS and not row.is_revoked:
            share = share_of_scale(int(row.value), row.value_decimals, scale)
            opinions.setdefault(int(row.agent_id), share >= minimum * 10_000)
    return {agent_id for agent_id, is_good in opinions.items() if is_good}


def newest_ratings(question: Question, raters: frozenset[str] | None, but: frozenset[str]) -> tuple[EventEvidence, ...]:
    """Return a few of the newest ratings by `raters` (None for everyone), except those by `but`."""
    subject, is_server = question.subject, question.side == Side.SERVER
    kinds = [address for address, kind in subject.kinds.items() if kind in OPEN_REGISTRIES]
    few: list[Any] | None = None if raters is None or len(raters) > AT_ONCE else sorted(raters)
    if few is not None and not is_server:
        few = list(map(_agent_id, few))
    if not kinds or few == []:
        return ()
    size = 0 if few is None else size_for(few)
    parameters = {**subject.parameters, "tag": question.tag, **spread("registry", kinds, len(kinds))}
    only_sealed = question.policy.only_sealed
    statement = entries.newest_about(question.side, len(kinds), size, _MOST_NEWEST, only_sealed=only_sealed)
    evidence = []
    for row in statement.records(subject.as_of.connection, parameters | spread("rater", few or [], size)):
        rater = row.client_address if is_server else _rater(row.server_id)
        if (raters is None or rater in raters) and rater not in but:
            evidence.append(evidence_of("NewFeedback" if is_server else "ClientRated", row))
    return tuple(evidence[:_EXAMPLES])


def _rater(agent_id: int) -> str:
    return f"agent {agent_id}"


def _agent_id(rater: str) -> int:
    return int(rater.removeprefix("agent "))


def _reputable_now(question: Question, by_rater: Tallies | None = None) -> frozenset[str]:
    if question.policy.trust.minimum_lower_bound is None:
        return frozenset()
    if by_rater is None:
        by_rater = question.ratings.all_tallies(*question.summary, MOST_RATERS)
    raters = None if by_rater is None or len(by_rater) > MOST_RATERS else {rater for _, rater in by_rater}
    table = agent_tables.agent.c
    if question.side == Side.CLIENT:
        good = _agents_above_bound(question, None if raters is None else set(map(_agent_id, raters)))
        return frozenset(map(_rater, good))
    if raters is None:
        rows = _agents(question, table.agent_id, _agents_above_bound(question, None))
    else:
        rows = [row for column in (table.owner, table.wallet) for row in _agents(question, column, raters)]
        good = _agents_above_bound(question, {int(row.agent_id) for row in rows})
        rows = [row for row in rows if int(row.agent_id) in good]
    accounts = {account for row in rows for account in (row.owner, row.wallet) if account is not None}
    return frozenset(accounts if raters is None else accounts & raters)


def _agents(question: Question, column: Any, values: Collection[Any]) -> list[Row[Any]]:
    table, as_of, rows = agent_tables.agent, question.subject.as_of, list[Any]()
    for part in in_parts(sorted(values)):
        if column.name in _OF_ACCOUNTS and not dialect_of(as_of.connection).has_statistics:
            # For a long list, SQLite would scan all agents of the chain instead of looking up the accounts' agents.
            parameters = {**question.subject.parameters, "accounts": json.dumps(part)}
            rows += as_of.connection.execute(_OF_ACCOUNTS[column.name], parameters).all()
            continue
        query = select(table.c.agent_id, table.c.owner, table.c.wallet).where(
            table.c.chain_id == as_of.chain_id, table.c.identity_registry == question.subject.identity, column.in_(part)
        )
        rows += as_of.connection.execute(query).all()
    return rows


def _least_bound(question: Question) -> float:
    lowest, highest = scale_of_tag(question.policy.tag) or (0, 100)
    return lowest + float(question.policy.trust.minimum_lower_bound or 0) / 100 * (highest - lowest)


def _agents_above_bound(question: Question, agent_ids: Collection[int] | None) -> set[int]:
    """Return the agents among `agent_ids` (None for all) whose current lower bound as servers meets the policy."""
    table, subject = rating_tables.summary, question.subject
    query = (
        select(table.c.agent_id)
        .where(table.c.chain_id == subject.as_of.chain_id, table.c.registry.in_(list(subject.kinds)))
        .where(table.c.side == Side.SERVER, table.c.tag == question.policy.tag)
        .where(table.c.lower_bound >= _least_bound(question))
    )
    if agent_ids is None:
        queries = [query.order_by(table.c.lower_bound.desc(), table.c.agent_id).limit(MOST_RATERS)]
    else:
        queries = [query.where(table.c.agent_id.in_(part)) for part in in_parts(sorted(agent_ids))]
    return {int(agent_id) for query in queries for agent_id in subject.as_of.connection.execute(query).scalars()}


def _reputable_then(question: Question, by_rater: Tallies) -> frozenset[str]:
    if question.policy.trust.minimum_lower_bound is None:
        return frozenset()
    raters = {rater for _, rater in by_rater}
    if len(raters) > MOST_PAST_RATERS:
        raise HistoryTooLongError("raters whose own ratings count", MOST_PAST_RATERS)
    if question.side == Side.CLIENT:
        accounts_of = {_agent_id(rater): {rater} for rater in raters}
    else:
        agents = agents_of_accounts(question.subject.as_of, question.subject.identity, raters)
        accounts_of = {agent_id: set(agent.holders & raters) for agent_id, agent in agents.items()}
    return frozenset().union(*(accounts for agent_id, accounts in accounts_of.items() if _is_above(question, agent_id)))


def _is_above(question: Question, agent_id: int) -> bool:
    subject, tag = question.subject, question.policy.tag
    tallies = entries.entry_tallies(entries.entries(subject.as_of, subject.kinds, agent_id), Side.SERVER, tag)
    for registry in subject.kinds:
        rated = Counted.of({rater: tally for rater, tally in tallies.items() if rater[0] == registry})
        scale = scale_of_tag(tag) or (0, 100)
        if rated.raters and lower_bound(rated.share_sum, rated.raters, scale) >= _least_bound(question):
            return True
    return False
