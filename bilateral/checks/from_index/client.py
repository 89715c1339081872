"""Should I serve this client? The facts that an index has of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, Final

from sqlalchemy import Connection

from bilateral.checks.facts import AccountAge, ClientFacts, Facts, FeedbackSummary, RatingBy, RatingFacts, Source
from bilateral.checks.from_index.as_of_block import (
    AsOfBlock,
    BuyerRecords,
    Findings,
    as_of_block,
    evidence_of,
    identity_registries,
    registries,
)
from bilateral.checks.from_index.entries import feedback_by, first_feedback, newest_about
from bilateral.checks.from_index.raters import Question, counted_ratings
from bilateral.checks.from_index.ratings import analysed
from bilateral.checks.from_index.subjects import Asker, Subject, asker_of, find_account, find_agent
from bilateral.checks.judge import Check, check
from bilateral.checks.policy import Policy, is_account
from bilateral.checks.verdicts import BuyerRecord, EventEvidence, ProvenTier
from bilateral.core.identifiers import AgentId, GlobalAgentId, checksummed
from bilateral.core.values.bounds import SHARES, scale_of_tag, share_of_scale
from bilateral.core.values.standing import Side
from bilateral.index.ratings.tables import DECIMALS
from bilateral.index.reading.prepared import spread

_MOST_FEEDBACKS: Final = 1_000
"""Newest ratings that are looked at: a client may have given millions."""

_MOST_LISTED: Final = 20  # ratings; an answer with more is read by nobody
_EXAMPLES: Final = 3  # enough to follow a reason


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
    policy = policy or Policy()

    def as_of_chain(chain: int | None) -> AsOfBlock:
        return as_of_block(connection, chain, at_block, history=history, payments=payments, analysis=analysis)

    subject: Subject | None
    if isinstance(client, str) and is_account(client):
        account: str | None = checksummed(client)
        as_of = as_of_chain(chain_id)
        subject = find_account(as_of, account or "")
    else:
        subject = find_agent(client, as_of_chain)
        as_of, account = subject.as_of, subject.history.wallet or subject.history.owner
    identity = subject.identity if subject is not None else _identity_of(as_of, for_server)
    kinds = {} if identity is None else registries(as_of, identity)
    asker = None if for_server is None or identity is None else asker_of(as_of, identity, for_server)
    accounts = frozenset(() if account is None else {account})
    if subject is not None:
        accounts |= subject.history.holders
    stored, standing, lack = analysed(findings, as_of, subject, Side.CLIENT, accounts)
    by_asker: tuple[RatingBy, ...] = ()
    rated_by: tuple[RatingBy, ...] = ()
    ratings = RatingFacts()
    if subject is not None:
        if asker is not None and asker.agent_id is not None:
            by_asker = _newest_ratings(subject, [asker.agent_id], 1)
        ratings = counted_ratings(Question(subject, Side.CLIENT, "", subject.history.accounts, policy, asker))
        rated_by = _newest_ratings(subject, [], _MOST_LISTED)
    shared, shared_events = (None, ()) if asker is None else _shared_account(asker, accounts, subject)
    record = None if buyers is None or account is None else buyers(connection, as_of, account)
    has_own_age = subject is None and account is not None and tier_proof is None
    facts = Facts(
        source=Source.INDEX,
        side=Side.CLIENT,
        as_of=as_of.stamp(payments=0 if record is None else record.newest, analysis=stored.analysis),
        name=None if subject is None else subject.name,
        account=account,
        agent=None if subject is None else subject.history.facts(as_of),
        ratings=ratings,
        findings=stored,
        standing=standing,
        analysis_lack=lack,
        client=ClientFacts(
            rating_by_asker=next(iter(by_asker), None),
            rated_by=rated_by,
            shared_account=shared,
            shared_events=shared_events,
            account_age=_account_age(as_of, kinds, account or "", record) if has_own_age else None,
            feedback=_summary(feedback_by(as_of, list(kinds), accounts, _MOST_FEEDBACKS)),
            record=record,
            tier_proof=tier_proof,
        ),
    )
    return check(facts, policy)


def _account_age(as_of: AsOfBlock, kinds: Mapping[str, str], account: str, record: BuyerRecord | None) -> AccountAge:
    parameters = {**as_of.bounds, "account": account, **spread("registry", list(kinds), len(kinds))}
    rows = first_feedback(len(kinds)).records(as_of.connection, parameters) if kinds else []
    rows.sort(key=attrgetter("kind"))
    # Both events of feedback are called NewFeedback in Solidity.
    first: list[tuple[int, EventEvidence | None]] = [(row.block_time, evidence_of("NewFeedback", row)) for row in rows]
    if record is not None and record.first_at is not None:
        first.append((record.first_at, record.first))
    first_at, event = min(first, key=itemgetter(0), default=(None, None))
    return AccountAge(None if first_at is None else as_of.days_since(first_at), event)


def _newest_ratings(subject: Subject, raters: list[int], limit: int) -> tuple[RatingBy, ...]:
    statement = newest_about(Side.CLIENT, len(subject.kinds), len(raters), limit)
    rows = statement.records(subject.as_of.connection, subject.parameters | spread("rater", raters, len(raters)))
    return tuple(
        RatingBy(f"{subject.as_of.chain_id}:{row.server_id}", row.rating, evidence_of("ClientRated", row))
        for row in rows
    )


def _shared_account(
    asker: Asker, accounts: frozenset[str], subject: Subject | None
) -> tuple[str | None, tuple[EventEvidence, ...]]:
    """Return an account that the client and the server that asks have or had in common, and the events that say so."""
    histories = [asker.history, None if subject is None else subject.history]
    agents = [history for history in histories if history is not None]
    of_server = asker.accounts if asker.history is None else asker.accounts | asker.history.accounts
    of_client = accounts if subject is None else accounts | subject.history.accounts
    shared = min(of_server & of_client, default=None)
    events = () if shared is None else tuple(agent.account_events.get(shared) for agent in agents)
    return shared, tuple(event for event in events if event is not None)


def _summary(rows: Sequence[Any]) -> FeedbackSummary:
    shares = []
    for row in rows:
        scale = scale_of_tag(row.tag1)
        if scale is not None and row.value_decimals <= DECIMALS and not row.is_revoked:
            shares.append((share_of_scale(int(row.value), row.value_decimals, scale), row))
    by_share = Counter(share for share, _ in shares)
    return FeedbackSummary(
        count=len(rows),
        is_cut=len(rows) == _MOST_FEEDBACKS,
        agents=len({int(row.agent_id) for row in rows}),
        revoked=sum(bool(row.is_revoked) for row in rows),
        scaled=len(shares),
        scaled_agents=len({int(row.agent_id) for _, row in shares}),
        lowest=by_share[0],
        highest=by_share[SHARES],
        evidence=tuple(evidence_of("NewFeedback", row) for _, row in shares[:_EXAMPLES]),
    )


def _identity_of(as_of: AsOfBlock, server: str | int | None) -> str | None:
    """Return the identity registry of the server that asks about an account; else the first one of the chain."""
    if server is not None and not is_account(server):
        return find_agent(server, lambda _: as_of).identity
    return next(iter(identity_registries(as_of)), None)
