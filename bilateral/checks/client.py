"""Should I serve this client?"""

from __future__ import annotations

from collections import Counter
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final

from bilateral.checks.as_of_block import evidence_of, identity_registries, moment_of, registries
from bilateral.checks.entries import CLIENT
from bilateral.checks.newest_ratings import first_given, given_by, newest_about
from bilateral.checks.policy import Policy
from bilateral.checks.providers import FoundFindings
from bilateral.checks.raters import Asker, Question, judge
from bilateral.checks.ratings import Ratings, lines
from bilateral.checks.reasons import Reasons
from bilateral.checks.shared_reasons import (
    agent_figures,
    days,
    judge_age,
    judge_findings,
    judge_ratings,
    rating_figures,
    split_lines,
)
from bilateral.checks.stake import backing_of, judge_standing
from bilateral.checks.subjects import Party, asker_of, find_account, find_agent, is_account
from bilateral.checks.verdicts import Code
from bilateral.core.identifiers import AgentId, GlobalAgentId, checksummed
from bilateral.core.values.bounds import SHARES, scale_of_tag, share_of_scale
from bilateral.index.ratings.tables import DECIMALS
from bilateral.index.reading.prepared import spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from bilateral.checks.as_of_block import Moment
    from bilateral.checks.providers import BuyerRecord, BuyerRecords, Findings, ProvenTier
    from bilateral.checks.stake import Backing
    from bilateral.checks.verdicts import Check, EventEvidence

_MOST_GIVEN: Final = 1_000
"""Newest ratings that are looked at: a client may have given millions."""

_MOST_NAMED: Final = 20  # of ratings; an answer that names more is read by nobody
_SHOWN: Final = 3  # examples are enough to follow a reason
_FEW_GIVEN: Final = 5
"""The number of feedbacks from which a client is judged by what it gave."""


def check_client(  # noqa: PLR0913  # the seams are separate on purpose
    connection: Connection,
    client: str | int | AgentId | GlobalAgentId,
    *,
    for_server: str | int | None = None,
    policy: Policy | None = None,
    chain_id: int | None = None,
    at_block: int | None = None,
    history: bytes | None = None,
    payments: int | None = None,
    analysis: int | None = None,
    findings: Findings | None = None,
    buyers: BuyerRecords | None = None,
    tier_proof: ProvenTier | None = None,
) -> Check:
    """Answer the question: should I serve this client?

    Args:
        connection: A connection of `snapshot`.
        client: The client: an account, `0x…`, or an agent in any published form.
        for_server: The server that asks, an agent or its account. Its own rating of the client counts above all.
        policy: The policy; the default one if left out.
        chain_id: The chain of an account; the only one of the index if left out.
        at_block: The block; the last indexed one if left out.
        history: The `history` of an earlier answer, to refuse another fork.
        payments: The `payments` of an earlier answer, to repeat it to the letter.
        analysis: The `analysis` of an earlier answer, to the same end.
        findings: A source of findings of trust analysis.
        buyers: A source of buyers' records.
        tier_proof: A tier that the client proved privately, checked by the caller. The age of its account, which may be
            fresh, is then no reason.

    Raises:
        CheckError: As `check_server`, and an account without an agent is not an error.
        MalformedIdentifierError: The client or the server is malformed.
    """
    reasons = Reasons(policy or Policy())
    sources = {"payments": payments, "analysis": analysis}
    if isinstance(client, str) and is_account(client):
        account: str | None = checksummed(client)
        moment = moment_of(connection, chain_id, at_block, history=history, **sources)
        party = find_account(connection, moment, account or "")
    else:
        party = find_agent(
            connection, client, lambda chain: moment_of(connection, chain, at_block, history=history, **sources)
        )
        moment, account = party.moment, party.facts.wallet or party.facts.owner
    identity = party.identity if party is not None else _identity_of(connection, moment, for_server)
    kinds = {} if identity is None else registries(moment, identity)
    asker = None if for_server is None or identity is None else asker_of(connection, moment, identity, for_server)
    accounts = frozenset(() if account is None else {account}) | (frozenset() if party is None else party.facts.holders)
    figures: dict[str, Any] = {}
    stored = FoundFindings() if findings is None else findings(connection, moment, sorted(accounts))
    agent = None if party is None else (party.identity, party.agent_id)
    analysis_used = None if findings is None else stored.analysis
    backing = backing_of(connection, moment, agent, CLIENT, reasons.policy, None, analysis_used)
    analysis_figures = judge_findings(reasons, stored, backing)
    others: Sequence[Any] = ()
    if party is None:
        reasons.add(Code.NO_AGENT, f"The account {account} has no agent, so servers cannot rate it.")
    else:
        judge_age(reasons, moment, party.facts)
        others = _judge_agent(connection, reasons, party, kinds, asker, figures, backing)
    if asker is not None:
        _judge_relation(reasons, asker, accounts, party)
    record = None if buyers is None or account is None else buyers(connection, moment, account)
    if party is None and account is not None and tier_proof is None:
        figures |= _judge_account_age(connection, reasons, moment, kinds, account, record)
    figures["given"] = _judge_given(reasons, given_by(connection, moment, list(kinds), accounts, _MOST_GIVEN))
    figures["buyer"] = _judge_buyer(reasons, record, tier_proof)
    figures |= analysis_figures
    return reasons.check(
        CLIENT,
        moment,
        agent=None if party is None else party.name,
        account=account,
        figures=figures,
        untrusted={"lines": others} if others else {},
        payments=0 if record is None else record.newest,
        analysis=stored.analysis,
    )


def _judge_account_age(  # noqa: PLR0913, PLR0917  # parts of one check
    connection: Connection,
    reasons: Reasons,
    moment: Moment,
    kinds: Mapping[str, str],
    account: str,
    record: BuyerRecord | None,
) -> dict[str, Any]:
    """Add the reason about the age of an account without an agent: the days since its first feedback or payment."""
    seen: list[tuple[int, EventEvidence | None]] = []
    parameters = {**moment.bounds, "account": account, **spread("registry", list(kinds), len(kinds))}
    rows = first_given(len(kinds)).records(connection, parameters) if kinds else []
    rows.sort(key=attrgetter("kind"))
    seen += [(row.block_time, evidence_of("NewFeedback", row)) for row in rows]  # so are both events called in Solidity
    if record is not None and record.first_at is not None:
        seen.append((record.first_at, record.first))
    first_at, event = min(seen, key=itemgetter(0), default=(None, None))
    age, asked = 0 if first_at is None else moment.days_since(first_at), reasons.policy.minimum_age_days
    if age < asked:
        since = "was never seen" if first_at is None else f"was first seen {days(age)} ago"
        reasons.add(Code.TOO_YOUNG, f"The account {since}; the policy asks for {days(asked)}.", event)
    return {"age_days": None if first_at is None else age, "first_seen": event}


def _judge_agent(  # noqa: PLR0913, PLR0917  # parts of one check
    connection: Connection,
    reasons: Reasons,
    party: Party,
    kinds: Mapping[str, str],
    asker: Asker | None,
    figures: dict[str, Any],
    backing: Backing,
) -> Sequence[Any]:
    """Add the reasons about a client that is an agent; return the lines of its ratings with tags of strangers."""
    moment, policy = party.moment, reasons.policy
    own = frozenset(party.facts.accounts)
    ratings = Ratings(connection, moment, kinds, party.agent_id)
    question = Question(moment, party.identity, kinds, party.facts, CLIENT, "", own, policy, asker, ratings)
    ours = None if asker is None else _rating_by(connection, moment, kinds, party.agent_id, asker)
    if ours is not None:
        evidence = evidence_of("ClientRated", ours)
        if ours.rating < policy.minimum_rating:
            reasons.add(
                Code.LOW_RATING_BY_US,
                f"Your rating of the client is {ours.rating}; the policy asks for {policy.minimum_rating}.",
                evidence,
            )
        else:
            reasons.add(Code.RATED_BY_US, f"Your rating of the client is {ours.rating}.", evidence)
    judgement = judge(connection, question)
    judge_ratings(reasons, judgement, backing)
    known, others = split_lines(lines(ratings), policy.tag)
    figures |= agent_figures(moment, party.facts)
    figures |= {
        "rating": rating_figures(judgement.counted, ""),
        "standing": judge_standing(reasons, backing),
        "rating_by_us": None if ours is None else ours.rating,
        "rated_by": _raters(connection, moment, kinds, party.agent_id),
        "lines": known,
    }
    return others


def _rating_by(connection: Connection, moment: Moment, kinds: Mapping[str, str], client_id: int, asker: Asker) -> Any:
    """Return the asker's own rating of a client; None if it gave none."""
    if asker.agent_id is None:
        return None
    parameters = {**moment.bounds, "agent_id": client_id, "rater_0": asker.agent_id}
    rows = newest_about(CLIENT, len(kinds), 1, 1).records(
        connection, parameters | spread("registry", list(kinds), len(kinds))
    )
    return next(iter(rows), None)


def _raters(connection: Connection, moment: Moment, kinds: Mapping[str, str], client_id: int) -> list[dict[str, Any]]:
    """Return the newest ratings by servers."""
    parameters = {**moment.bounds, "agent_id": client_id}
    rows = newest_about(CLIENT, len(kinds), 0, _MOST_NAMED).records(
        connection, parameters | spread("registry", list(kinds), len(kinds))
    )
    return [
        {"server": f"{moment.chain_id}:{row.server_id}", "rating": row.rating, "event": evidence_of("ClientRated", row)}
        for row in rows
    ]


def _judge_relation(reasons: Reasons, asker: Asker, accounts: frozenset[str], party: Party | None) -> None:
    """Add a reason if the client and the server that asks are or were of one side."""
    sides = [facts for facts in (asker.facts, None if party is None else party.facts) if facts is not None]
    of_server = set(asker.accounts) | (set() if asker.facts is None else asker.facts.accounts)
    shared = sorted(of_server & (accounts | (set() if party is None else party.facts.accounts)))
    if shared:
        reasons.add(
            Code.RELATED,
            f"The client and the server have or had the account {shared[0]} in common.",
            *(facts.account_events.get(shared[0]) for facts in sides),
        )


def _judge_given(reasons: Reasons, rows: Sequence[Any]) -> dict[str, Any]:
    """Add the reasons about the feedback that the client gave, and return its figures."""
    shares = []
    for row in rows:
        scale = scale_of_tag(row.tag1)
        if scale is not None and row.value_decimals <= DECIMALS and not row.is_revoked:
            shares.append((share_of_scale(int(row.value), row.value_decimals, scale), row))
    kinds = Counter("lowest" if share == 0 else "highest" if share == SHARES else "between" for share, _ in shares)
    subjects = {int(row.agent_id) for _, row in shares}
    evidence = [evidence_of("NewFeedback", row) for _, row in shares[:_SHOWN]]
    if len(subjects) >= _FEW_GIVEN and kinds["lowest"] == len(shares):
        reasons.add(
            Code.ONLY_LOWEST, f"All {len(shares)} feedbacks that the client gave have the lowest value.", *evidence
        )
    if len(subjects) >= _FEW_GIVEN and kinds["highest"] == len(shares):
        reasons.add(
            Code.ONLY_HIGHEST, f"All {len(shares)} feedbacks that the client gave have the highest value.", *evidence
        )
    revoked = sum(bool(row.is_revoked) for row in rows)
    return {
        "count": len(rows),
        "is_cut": len(rows) == _MOST_GIVEN,
        "agents": len({int(row.agent_id) for row in rows}),
        "revoked": revoked,
        "lowest": kinds["lowest"],
        "highest": kinds["highest"],
    }


def _judge_buyer(reasons: Reasons, record: BuyerRecord | None, tier_proof: ProvenTier | None) -> dict[str, Any] | None:
    """Add the reasons about the buyer's record and its proven tier, and return the record's figures."""
    if tier_proof is not None:
        reasons.add(
            Code.TIER_PROVEN,
            f"The buyer behind the account proved privately, for day {tier_proof.epoch}, that it is at least "
            f"{tier_proof.tier}.",
        )
    minimum = reasons.policy.minimum_buyer_score
    if record is None:
        return None
    if minimum is not None and record.score < minimum:
        reasons.add(
            Code.LOW_BUYER_SCORE,
            f"The buyer's score is {record.score}; the policy asks for {minimum}.",
            *record.evidence,
        )
    return {"score": record.score, "payments": record.payments}


def _identity_of(connection: Connection, moment: Moment, server: str | int | None) -> str | None:
    """Return the identity registry of the server that asks about an account; else the first one of the chain."""
    if server is not None and not is_account(server):
        return find_agent(connection, server, lambda _: moment).identity
    return next(iter(identity_registries(moment)), None)
