"""The raters whose ratings count under a policy, and the ratings that they gave."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select, text

from bilateral.checks.agents import agents_at, agents_of_accounts
from bilateral.checks.as_of_block import DAY, OPEN_REGISTRIES, evidence_of, identity_registries
from bilateral.checks.entries import CLIENT, SERVER, entries, entry_tallies, without_repeats
from bilateral.checks.errors import HistoryTooLongError
from bilateral.checks.names import named_agent
from bilateral.checks.newest_ratings import given_by, newest_about
from bilateral.checks.proofs import only_blind, with_payment_proof
from bilateral.checks.ratings import Counted, Tallies, all_tallies, counted, tallies, total
from bilateral.core.events import ClientRated
from bilateral.core.values.blind import BLIND_SIDES
from bilateral.core.values.bounds import lower_bound, scale_of_tag, share_of_scale
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import dialect_of
from bilateral.index.log.lists import AT_ONCE, in_parts
from bilateral.index.log.unindexed import newest_first
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.tables import DECIMALS
from bilateral.index.reading.prepared import size_for, spread

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy import Connection, Row

    from bilateral.checks.agents import AgentFacts
    from bilateral.checks.as_of_block import Moment
    from bilateral.checks.policy import Policy
    from bilateral.checks.ratings import Ratings
    from bilateral.checks.verdicts import EventEvidence

MOST_RATERS: Final = 5_000
"""Raters whose own lower bounds are looked up at the head; beyond, the agents with the best bounds are looked up."""

MOST_PAST_RATERS: Final = 200
"""Raters whose own lower bounds are computed for an earlier block."""

_MOST_OPINIONS: Final = 1_000
"""The newest ratings of one asker that name the raters whom it trusts."""

_LOOKED_AT: Final = 200
"""The newest ratings that are looked at: an agent may have millions."""

_SHOWN: Final = 3  # examples are enough to follow a reason
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
class Asker:
    """The side that asks.

    Attributes:
        agent_id: Its agent; None without one.
        facts: The agent as of the block.
    """

    agent_id: int | None
    accounts: frozenset[str]
    facts: AgentFacts | None = None


@dataclass(frozen=True)
class Question:
    """A question about the ratings of one agent.

    Attributes:
        identity: The identity registry.
        kinds: Its registries with their kinds.
        facts: The agent.
        side: Its part.
        tag: The tag that counts.
        own: The accounts of the agent's own side, whose ratings do not count.
        asker: The side that asks; None if it does not say.
        ratings: The ratings of the agent.
    """

    moment: Moment
    identity: str
    kinds: Mapping[str, str]
    facts: AgentFacts
    side: str
    tag: str
    own: frozenset[str]
    policy: Policy
    asker: Asker | None
    ratings: Ratings


@dataclass(frozen=True)
class Judgement:
    """The ratings that count, and who gave them.

    Attributes:
        counted: The ratings that count.
        trusted: The trusted raters; None if all count.
        evidence: The newest of the ratings.
        own_evidence: The newest ratings by the agent's own side.
    """

    counted: Counted
    trusted: frozenset[str] | None
    evidence: tuple[EventEvidence, ...]
    own_evidence: tuple[EventEvidence, ...]


def judge(connection: Connection, question: Question) -> Judgement:
    """Return the ratings of an agent that count under a policy.

    Raises:
        HistoryTooLongError: More events have to be read one by one than a check reads.
    """
    moment, policy, side = question.moment, question.policy, question.side
    counted_side = side if policy.blind is None else BLIND_SIDES[side]
    place = (question.kinds, question.facts.agent_id, counted_side, question.tag)
    own = _own_raters(connection, question)
    listed = _listed(connection, question) if policy.trust.is_set else None
    by_rater: Tallies
    if moment.is_head and not policy.reads_entries:
        everybody = total(question.ratings, counted_side, question.tag)
        trusted = None if listed is None else listed | _reputable_now(connection, question)
        by_rater = {} if trusted is None else tallies(connection, moment, *place, trusted)
        own_tallies = tallies(connection, moment, *place, own) if everybody.count else {}
    else:
        since = None
        if policy.maximum_rating_age_days is not None and moment.time is not None:
            since = moment.time - policy.maximum_rating_age_days * DAY
        entries = question.ratings.entries_since(since)
        if policy.require_payment_proof and side == SERVER:
            entries = with_payment_proof(connection, moment, entries, question.facts.accounts)
        if policy.blind is not None:
            entries = only_blind(connection, moment, entries, side)
        if policy.maximum_repeats is not None:
            entries = without_repeats(entries, policy.maximum_repeats, policy.repeat_days * DAY)
        by_rater = entry_tallies(entries, side, question.tag)
        everybody = None
        trusted = None
        if listed is not None:
            reputable = _reputable_now if moment.is_head else _reputable_then
            trusted = listed | reputable(connection, question, by_rater)
        own_tallies = {rater: tally for rater, tally in by_rater.items() if rater[1] in own}
    counts = counted(by_rater, everybody, own_tallies, trusted)
    return Judgement(
        counts,
        trusted,
        newest_ratings(connection, question, trusted, own) if counts.raters else (),
        newest_ratings(connection, question, own, frozenset()) if own_tallies else (),
    )


def _own_raters(connection: Connection, question: Question) -> frozenset[str]:
    """Return the raters of the agent's own side: accounts of a server, agents of a client's accounts."""
    if question.side == SERVER:
        return question.own
    known = agents_of_accounts(connection, question.moment, question.identity, question.own)
    return frozenset(f"agent {agent_id}" for agent_id in known)


def _listed(connection: Connection, question: Question) -> frozenset[str]:
    """Return the raters that the policy lists, or that the asker itself rated well."""
    trust, agent_ids = question.policy.trust, _trusted_agents(question)
    if trust.own_experience and question.asker is not None:
        agent_ids |= _liked(connection, question, question.asker)
    if question.side == SERVER:
        known = agents_at(connection, question.moment, question.identity, agent_ids)
        return frozenset(trust.accounts).union(*(facts.holders for facts in known.values()))
    if trust.accounts:
        agent_ids |= agents_of_accounts(connection, question.moment, question.identity, trust.accounts).keys()
    return frozenset(f"agent {agent_id}" for agent_id in agent_ids)


def _trusted_agents(question: Question) -> set[int]:
    """Return the numbers of the policy's agents that are of the registry of the question."""
    meant = next(iter(identity_registries(question.moment)), None)
    trusted = set()
    for named in map(named_agent, question.policy.trust.agents):
        is_bare = named.chain_id is None
        if is_bare or (named.chain_id, named.identity or meant) == (question.moment.chain_id, question.identity):
            trusted.add(named.agent_id)
    return trusted


def _liked(connection: Connection, question: Question, asker: Asker) -> set[int]:
    """Return the agents that the asker rated at least as the policy asks. Its last word on each agent counts."""
    minimum, opinions = question.policy.minimum_rating, dict[int, bool]()
    if asker.agent_id is not None:
        query = (
            select(_CLIENT.c.client_id, _CLIENT.c.rating)
            .where(question.moment.covers(_CLIENT), _CLIENT.c.registry.in_(list(question.kinds)))
            .where(_CLIENT.c.server_id == asker.agent_id)
            .order_by(*newest_first(_CLIENT.c))
            .limit(_MOST_OPINIONS)
        )
        for agent_id, rating in connection.execute(query):
            opinions.setdefault(int(agent_id), rating >= minimum)
    scale = scale_of_tag(question.policy.tag)
    if scale is None:  # the policy refuses such a tag
        return {agent_id for agent_id, is_good in opinions.items() if is_good}
    for row in given_by(connection, question.moment, list(question.kinds), asker.accounts, _MOST_OPINIONS):
        if row.tag1 == question.policy.tag and row.value_decimals <= DECIMALS and not row.is_revoked:
            share = share_of_scale(int(row.value), row.value_decimals, scale)
            opinions.setdefault(int(row.agent_id), share >= minimum * 10_000)
    return {agent_id for agent_id, is_good in opinions.items() if is_good}


def newest_ratings(
    connection: Connection, question: Question, raters: frozenset[str] | None, but: frozenset[str]
) -> tuple[EventEvidence, ...]:
    """Return a few of the newest ratings that some raters gave.

    Args:
        raters: The raters; None for all.
        but: Raters to leave out.
    """
    moment, agent_id = question.moment, question.facts.agent_id
    kinds = [address for address, kind in question.kinds.items() if kind in OPEN_REGISTRIES]
    few: list[Any] | None = None if raters is None or len(raters) > AT_ONCE else sorted(raters)
    if few is not None and question.side == CLIENT:
        few = [int(rater[6:]) for rater in few]
    if not kinds or few == []:
        return ()
    size = 0 if few is None else size_for(few)
    parameters = {**moment.bounds, "agent_id": agent_id, "tag": question.tag}
    parameters |= spread("registry", kinds, len(kinds))
    only_blind_ones = question.policy.blind is not None
    statement = newest_about(question.side, len(kinds), size, _LOOKED_AT, only_blind=only_blind_ones)
    evidence = []
    for row in statement.records(connection, parameters | spread("rater", few or [], size)):
        rater = row.client_address if question.side == SERVER else f"agent {row.server_id}"
        if (raters is None or rater in raters) and rater not in but:
            evidence.append(evidence_of("NewFeedback" if question.side == SERVER else "ClientRated", row))
    return tuple(evidence[:_SHOWN])


def _reputable_now(connection: Connection, question: Question, by_rater: Tallies | None = None) -> frozenset[str]:
    """Return the raters that are agents above the policy's lower bound, at the head."""
    if question.policy.trust.minimum_lower_bound is None:
        return frozenset()
    moment, side = question.moment, question.side
    if by_rater is None:
        counted_side = side if question.policy.blind is None else BLIND_SIDES[side]
        place = (question.kinds, question.facts.agent_id, counted_side, question.tag)
        by_rater = all_tallies(connection, moment, *place, MOST_RATERS)
    elif len(by_rater) > MOST_RATERS:
        by_rater = None
    if by_rater is None:
        agents = _best_agents(connection, question)
        if side == CLIENT:
            return frozenset(f"agent {agent_id}" for agent_id in agents)
        known = _rows(connection, question, agent_tables.agent.c.agent_id, agents)
        return frozenset(account for row in known for account in (row.owner, row.wallet) if account is not None)
    raters = {rater for _, rater in by_rater}
    if side == CLIENT:
        good = _bounded_agents(connection, question, {int(rater[6:]) for rater in raters})
        return frozenset(f"agent {agent_id}" for agent_id in good)
    rows = [
        *_rows(connection, question, agent_tables.agent.c.owner, raters),
        *_rows(connection, question, agent_tables.agent.c.wallet, raters),
    ]
    good = _bounded_agents(connection, question, {int(row.agent_id) for row in rows})
    return frozenset(
        account for row in rows if int(row.agent_id) in good for account in (row.owner, row.wallet) if account in raters
    )


def _rows(connection: Connection, question: Question, column: Any, values: Collection[Any]) -> list[Row[Any]]:
    """Return the agents with one of some values in a column, at the head."""
    table = agent_tables.agent
    rows: list[Any] = []
    is_account = column is not table.c.agent_id
    for part in in_parts(sorted(values)):
        if is_account and not dialect_of(connection).has_statistics:
            # Of a long list, SQLite would look at all agents of the chain, and not at those of the accounts.
            parameters = {
                "chain_id": question.moment.chain_id,
                "identity": question.identity,
                "accounts": json.dumps(part),
            }
            rows += connection.execute(_OF_ACCOUNTS[column.name], parameters).all()
            continue
        query = select(table.c.agent_id, table.c.owner, table.c.wallet).where(
            table.c.chain_id == question.moment.chain_id,
            table.c.identity_registry == question.identity,
            column.in_(part),
        )
        rows += connection.execute(query).all()
    return rows


def _least_bound(question: Question) -> float:
    """Return the policy's lower bound on the scale of its tag."""
    lowest, highest = scale_of_tag(question.policy.tag) or (0, 100)
    return lowest + float(question.policy.trust.minimum_lower_bound or 0) / 100 * (highest - lowest)


def _bounded_agents(connection: Connection, question: Question, agent_ids: Collection[int]) -> set[int]:
    """Return the agents above the policy's lower bound among some, at the head."""
    table, bounded, least = rating_tables.summary, set[int](), _least_bound(question)
    for part in in_parts(sorted(agent_ids)):
        query = select(table.c.agent_id, table.c.lower_bound).where(
            table.c.chain_id == question.moment.chain_id,
            table.c.registry.in_(list(question.kinds)),
            table.c.agent_id.in_(part),
            table.c.side == SERVER,
            table.c.tag == question.policy.tag,
        )
        rows = connection.execute(query)
        bounded |= {int(row.agent_id) for row in rows if row.lower_bound is not None and row.lower_bound >= least}
    return bounded


def _best_agents(connection: Connection, question: Question) -> set[int]:
    """Return the agents with the best lower bounds, at the head."""
    table = rating_tables.summary
    query = (
        select(table.c.agent_id)
        .where(table.c.chain_id == question.moment.chain_id, table.c.registry.in_(list(question.kinds)))
        .where(table.c.side == SERVER, table.c.tag == question.policy.tag)
        .where(table.c.lower_bound >= _least_bound(question))
        .order_by(table.c.lower_bound.desc(), table.c.agent_id)
        .limit(MOST_RATERS)
    )
    return set(map(int, connection.execute(query).scalars()))


def _reputable_then(connection: Connection, question: Question, by_rater: Tallies) -> frozenset[str]:
    """Return the raters that are agents above the policy's lower bound, as of an earlier block."""
    if question.policy.trust.minimum_lower_bound is None:
        return frozenset()
    raters = {rater for _, rater in by_rater}
    if len(raters) > MOST_PAST_RATERS:
        raise HistoryTooLongError("raters whose own ratings count", MOST_PAST_RATERS)
    good: set[str] = set()
    if question.side == CLIENT:
        candidates = {int(rater[6:]): {rater} for rater in raters}
    else:
        known = agents_of_accounts(connection, question.moment, question.identity, raters)
        candidates = {agent_id: set(facts.holders & raters) for agent_id, facts in known.items()}
    for agent_id, accounts in candidates.items():
        if _is_above(connection, question, agent_id):
            good |= accounts
    return frozenset(good)


def _is_above(connection: Connection, question: Question, agent_id: int) -> bool:
    """Return True if an agent is above the policy's lower bound as of an earlier block, in any registry."""
    scale, least = scale_of_tag(question.policy.tag) or (0, 100), _least_bound(question)
    by_rater = entry_tallies(
        entries(connection, question.moment, question.kinds, agent_id), SERVER, question.policy.tag
    )
    for registry in question.kinds:
        shares = [share_sum // count for (at, _), (count, share_sum) in by_rater.items() if at == registry]
        if shares and lower_bound(sum(shares), len(shares), scale) >= least:
            return True
    return False
