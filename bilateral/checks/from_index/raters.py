"""The raters whose ratings count under a policy, and the ratings that they gave."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from sqlalchemy import Row, Select, select, text

from bilateral.checks.errors import HistoryTooLongError
from bilateral.checks.facts import RatingFacts
from bilateral.checks.from_index.agents import agents_at, agents_of_accounts
from bilateral.checks.from_index.as_of_block import OPEN_REGISTRIES, evidence_of, identity_registries
from bilateral.checks.from_index.entries import (
    Entry,
    entries,
    entry_tallies,
    only_blind,
    with_payment_proof,
    without_repeats,
)
from bilateral.checks.from_index.newest_ratings import feedback_by, newest_about
from bilateral.checks.from_index.ratings import Ratings, Tallies, counted, lines
from bilateral.checks.from_index.subjects import Asker, Subject
from bilateral.checks.names import parse_agent
from bilateral.checks.policy import Policy
from bilateral.checks.verdicts import DAY, EventEvidence
from bilateral.core.events import ClientRated
from bilateral.core.values.bounds import lower_bound, scale_of_tag, share_of_scale
from bilateral.core.values.standing import Side
from bilateral.core.values.summaries import SEALED_SIDES
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import dialect_of
from bilateral.index.log.lists import AT_ONCE, in_parts
from bilateral.index.log.unindexed import newest_first
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.tables import DECIMALS
from bilateral.index.reading.prepared import size_for, spread

MOST_RATERS: Final = 5_000
"""Raters whose own lower bounds are looked up at the head; beyond, the agents with the best bounds are looked up."""

MOST_PAST_RATERS: Final = 200
"""Raters whose own lower bounds are computed for an earlier block."""

_MOST_OPINIONS: Final = 1_000
"""The newest ratings of one asker that name the raters whom it trusts."""

_MOST_NEWEST: Final = 200
"""The newest ratings that are looked at: an agent may have millions."""

_EXAMPLES: Final = 3  # examples are enough to follow a reason
_CLIENT: Final = schema.EVENT_TABLES[ClientRated]

_OF_ACCOUNTS: Final = {
    name: text(
        f"SELECT agent_id, owner, wallet FROM agent INDEXED BY agent_by_{name} "  # noqa: S608  # no input
        f"WHERE chain_id = :chain_id AND {name} IN (SELECT value FROM json_each(:accounts)) "
        "AND +identity_registry = :identity"
    ).columns(agent_tables.agent.c.agent_id, agent_tables.agent.c.owner, agent_tables.agent.c.wallet)
    for name in ("owner", "wallet")
}
"""The agents of accounts, for SQLite."""


@dataclass(frozen=True)
class Question:
    """A question about the ratings of one agent.

    Attributes:
        subject: The agent.
        side: The agent's part.
        tag: The tag that counts.
        own: The accounts of the agent's own side, whose ratings do not count.
        asker: The side that asks; None if it does not say.
    """

    subject: Subject
    side: Side
    tag: str
    own: frozenset[str]
    policy: Policy
    asker: Asker | None

    @cached_property
    def ratings(self) -> Ratings:
        """All ratings of the agent."""
        return Ratings(self.subject.as_of, self.subject.kinds, self.subject.history.agent_id)

    @property
    def summary(self) -> tuple[str, str]:
        """The side and the tag of the summary that counts."""
        return self.side if self.policy.blind is None else SEALED_SIDES[self.side], self.tag


def counted_ratings(question: Question) -> RatingFacts:
    """Return the ratings of an agent that count under a policy."""
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
        by_rater = entry_tallies(_entries(question), side, question.tag)
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


def _entries(question: Question) -> list[Entry]:
    """Return the ratings that count by the way in which they were given, one by one."""
    as_of, policy, since = question.subject.as_of, question.policy, None
    if policy.maximum_rating_age_days is not None and as_of.time is not None:
        since = as_of.time - policy.maximum_rating_age_days * DAY
    entries = [entry for entry in question.ratings.entries if since is None or entry.row.block_time >= since]
    if policy.require_payment_proof and question.side is Side.SERVER:
        entries = with_payment_proof(as_of, entries, question.subject.history.accounts)
    if policy.blind is not None:
        entries = only_blind(as_of, entries, question.side)
    if policy.maximum_repeats is not None:
        entries = without_repeats(entries, policy.maximum_repeats, policy.repeat_days * DAY)
    return entries


def _own_raters(question: Question) -> frozenset[str]:
    """Return the raters of the agent's own side: accounts of a server, agents of a client's accounts."""
    if question.side == Side.SERVER:
        return question.own
    agents = agents_of_accounts(question.subject.as_of, question.subject.identity, question.own)
    return frozenset(f"agent {agent_id}" for agent_id in agents)


def _listed(question: Question) -> frozenset[str]:
    """Return the raters that the policy lists, or that the asker itself rated well."""
    trust, agent_ids = question.policy.trust, _trusted_agents(question)
    if trust.own_experience and question.asker is not None:
        agent_ids |= _liked(question, question.asker)
    if question.side == Side.SERVER:
        agents = agents_at(question.subject.as_of, question.subject.identity, agent_ids)
        return frozenset(trust.accounts).union(*(agent.holders for agent in agents.values()))
    if trust.accounts:
        agent_ids |= agents_of_accounts(question.subject.as_of, question.subject.identity, trust.accounts).keys()
    return frozenset(f"agent {agent_id}" for agent_id in agent_ids)


def _trusted_agents(question: Question) -> set[int]:
    """Return the numbers of the policy's agents that are of the registry of the question."""
    as_of, identity = question.subject.as_of, question.subject.identity
    default = next(iter(identity_registries(as_of)), None)
    return {
        agent.agent_id
        for agent in map(parse_agent, question.policy.trust.agents)
        if agent.chain_id is None or (agent.chain_id, agent.identity or default) == (as_of.chain_id, identity)
    }


def _liked(question: Question, asker: Asker) -> set[int]:
    """Return the agents that the asker rated at least as the policy asks. Its last word on each agent counts."""
    minimum, opinions = question.policy.minimum_rating, dict[int, bool]()
    if asker.agent_id is not None:
        query = (
            select(_CLIENT.c.client_id, _CLIENT.c.rating)
            .where(question.subject.as_of.covers(_CLIENT), _CLIENT.c.registry.in_(list(question.subject.kinds)))
            .where(_CLIENT.c.server_id == asker.agent_id)
            .order_by(*newest_first(_CLIENT.c))
            .limit(_MOST_OPINIONS)
        )
        for agent_id, rating in question.subject.as_of.connection.execute(query):
            opinions.setdefault(int(agent_id), rating >= minimum)
    scale = scale_of_tag(question.policy.tag) or (0, 100)
    for row in feedback_by(question.subject.as_of, list(question.subject.kinds), asker.accounts, _MOST_OPINIONS):
        if row.tag1 == question.policy.tag and row.value_decimals <= DECIMALS and not row.is_revoked:
            share = share_of_scale(int(row.value), row.value_decimals, scale)
            opinions.setdefault(int(row.agent_id), share >= minimum * 10_000)
    return {agent_id for agent_id, is_good in opinions.items() if is_good}


def newest_ratings(question: Question, raters: frozenset[str] | None, but: frozenset[str]) -> tuple[EventEvidence, ...]:
    """Return a few of the newest ratings that some raters gave, or all raters but some."""
    as_of, agent_id = question.subject.as_of, question.subject.history.agent_id
    kinds = [address for address, kind in question.subject.kinds.items() if kind in OPEN_REGISTRIES]
    few: list[Any] | None = None if raters is None or len(raters) > AT_ONCE else sorted(raters)
    if few is not None and question.side == Side.CLIENT:
        few = [int(rater[6:]) for rater in few]
    if not kinds or few == []:
        return ()
    size = 0 if few is None else size_for(few)
    parameters = {**as_of.bounds, "agent_id": agent_id, "tag": question.tag}
    parameters |= spread("registry", kinds, len(kinds))
    only_blind_ones = question.policy.blind is not None
    statement = newest_about(question.side, len(kinds), size, _MOST_NEWEST, only_blind=only_blind_ones)
    evidence = []
    for row in statement.records(as_of.connection, parameters | spread("rater", few or [], size)):
        rater = row.client_address if question.side == Side.SERVER else f"agent {row.server_id}"
        if (raters is None or rater in raters) and rater not in but:
            evidence.append(evidence_of("NewFeedback" if question.side == Side.SERVER else "ClientRated", row))
    return tuple(evidence[:_EXAMPLES])


def _reputable_now(question: Question, by_rater: Tallies | None = None) -> frozenset[str]:
    """Return the raters that are agents above the policy's lower bound, at the head."""
    if question.policy.trust.minimum_lower_bound is None:
        return frozenset()
    side = question.side
    if by_rater is None:
        by_rater = question.ratings.all_tallies(*question.summary, MOST_RATERS)
    elif len(by_rater) > MOST_RATERS:
        by_rater = None
    if by_rater is None:
        agents = _best_agents(question)
        if side == Side.CLIENT:
            return frozenset(f"agent {agent_id}" for agent_id in agents)
        rows = _rows(question, agent_tables.agent.c.agent_id, agents)
        return frozenset(account for row in rows for account in (row.owner, row.wallet) if account is not None)
    raters = {rater for _, rater in by_rater}
    if side == Side.CLIENT:
        good = _bounded_agents(question, {int(rater[6:]) for rater in raters})
        return frozenset(f"agent {agent_id}" for agent_id in good)
    rows = [
        *_rows(question, agent_tables.agent.c.owner, raters),
        *_rows(question, agent_tables.agent.c.wallet, raters),
    ]
    good = _bounded_agents(question, {int(row.agent_id) for row in rows})
    return frozenset(
        account for row in rows if int(row.agent_id) in good for account in (row.owner, row.wallet) if account in raters
    )


def _rows(question: Question, column: Any, values: Collection[Any]) -> list[Row[Any]]:
    """Return the agents with one of some values in a column, at the head."""
    table = agent_tables.agent
    rows: list[Any] = []
    is_account = column is not table.c.agent_id
    for part in in_parts(sorted(values)):
        if is_account and not dialect_of(question.subject.as_of.connection).has_statistics:
            # Of a long list, SQLite would look at all agents of the chain, and not at those of the accounts.
            parameters = {
                "chain_id": question.subject.as_of.chain_id,
                "identity": question.subject.identity,
                "accounts": json.dumps(part),
            }
            rows += question.subject.as_of.connection.execute(_OF_ACCOUNTS[column.name], parameters).all()
            continue
        query = select(table.c.agent_id, table.c.owner, table.c.wallet).where(
            table.c.chain_id == question.subject.as_of.chain_id,
            table.c.identity_registry == question.subject.identity,
            column.in_(part),
        )
        rows += question.subject.as_of.connection.execute(query).all()
    return rows


def _least_bound(question: Question) -> float:
    """Return the policy's lower bound on the scale of its tag."""
    lowest, highest = scale_of_tag(question.policy.tag) or (0, 100)
    return lowest + float(question.policy.trust.minimum_lower_bound or 0) / 100 * (highest - lowest)


def _bounded_agents(question: Question, agent_ids: Collection[int]) -> set[int]:
    """Return the agents above the policy's lower bound among some, at the head."""
    bounded, query = set[int](), _above_bound(question)
    for part in in_parts(sorted(agent_ids)):
        among = query.where(rating_tables.summary.c.agent_id.in_(part))
        bounded.update(map(int, question.subject.as_of.connection.execute(among).scalars()))
    return bounded


def _best_agents(question: Question) -> set[int]:
    """Return the agents with the best lower bounds, at the head."""
    table = rating_tables.summary
    query = _above_bound(question).order_by(table.c.lower_bound.desc(), table.c.agent_id).limit(MOST_RATERS)
    return set(map(int, question.subject.as_of.connection.execute(query).scalars()))


def _above_bound(question: Question) -> Select[Any]:
    """Return the query of the agents above the policy's lower bound as servers."""
    table, subject = rating_tables.summary, question.subject
    return (
        select(table.c.agent_id)
        .where(table.c.chain_id == subject.as_of.chain_id, table.c.registry.in_(list(subject.kinds)))
        .where(table.c.side == Side.SERVER, table.c.tag == question.policy.tag)
        .where(table.c.lower_bound >= _least_bound(question))
    )


def _reputable_then(question: Question, by_rater: Tallies) -> frozenset[str]:
    """Return the raters that are agents above the policy's lower bound, as of an earlier block."""
    if question.policy.trust.minimum_lower_bound is None:
        return frozenset()
    raters = {rater for _, rater in by_rater}
    if len(raters) > MOST_PAST_RATERS:
        raise HistoryTooLongError("raters whose own ratings count", MOST_PAST_RATERS)
    good: set[str] = set()
    if question.side == Side.CLIENT:
        candidates = {int(rater[6:]): {rater} for rater in raters}
    else:
        agents = agents_of_accounts(question.subject.as_of, question.subject.identity, raters)
        candidates = {agent_id: set(agent.holders & raters) for agent_id, agent in agents.items()}
    for agent_id, accounts in candidates.items():
        if _is_above(question, agent_id):
            good |= accounts
    return frozenset(good)


def _is_above(question: Question, agent_id: int) -> bool:
    """Return True if an agent is above the policy's lower bound as of an earlier block, in any registry."""
    scale, least = scale_of_tag(question.policy.tag) or (0, 100), _least_bound(question)
    by_rater = entry_tallies(
        entries(question.subject.as_of, question.subject.kinds, agent_id), Side.SERVER, question.policy.tag
    )
    for registry in question.subject.kinds:
        shares = [share_sum // count for (at, _), (count, share_sum) in by_rater.items() if at == registry]
        if shares and lower_bound(sum(shares), len(shares), scale) >= least:
            return True
    return False
