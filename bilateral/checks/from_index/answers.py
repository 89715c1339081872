"""Collect facts from an index for two questions: should I pay this server, and should I serve this client?"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any, Final

from sqlalchemy import Connection, bindparam, exists, false, select, union_all

from bilateral.checks import facts
from bilateral.checks.errors import HistoryTooLongError
from bilateral.checks.from_index import as_of_block as chains
from bilateral.checks.from_index.entries import feedback_by, first_feedback, newest_about
from bilateral.checks.from_index.files import registered_domain, registration_of
from bilateral.checks.from_index.raters import Question, counted_ratings
from bilateral.checks.from_index.ratings import analysed, measurements_of, validations
from bilateral.checks.from_index.subjects import Asker, Subject, asker_of, find_account, find_agent
from bilateral.checks.judge import Check, check
from bilateral.checks.policy import Policy, is_account
from bilateral.checks.verdicts import BuyerRecord, EventEvidence, ProvenTier
from bilateral.core import events
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AgentId, GlobalAgentId, checksummed
from bilateral.core.values.bounds import SHARES, scale_of_tag, share_of_scale
from bilateral.core.values.failures import FailureCount
from bilateral.core.values.standing import Side
from bilateral.index.log.dialects import newest_first
from bilateral.index.log.tables import EVENT_TABLES
from bilateral.index.ratings.tables import DECIMALS
from bilateral.index.reading.prepared import Prepared, at_most, one_of, spread

MOST_APPROVALS: Final = 20_000
"""The maximum number of approvals of each kind to read: for the agent itself, and for all agents of its owner."""

_NOBODY: Final = "0x" + "00" * 20

_MOST_FEEDBACKS: Final = 1_000
"""The maximum number of a client's newest ratings to read: a client may have given millions."""

_MOST_LISTED: Final = 20  # ratings in an answer; nobody reads more
_EXAMPLES: Final = 3  # events per reason; enough to understand it


def check_server(  # noqa: PLR0913  # the seams are separate on purpose
    connection: Connection,
    agent_id: str | int | AgentId | GlobalAgentId,
    *,
    payment: facts.Payment | None = None,
    amount: Decimal | None = None,
    policy: Policy | None = None,
    for_client: str | int | None = None,
    at_block: int | None = None,
    history: bytes | None = None,
    files: int | None = None,
    analysis: int | None = None,
    measurements: int | None = None,
    findings: chains.Findings | None = None,
) -> Check:
    """Answer the question: should I pay this server?

    Args:
        connection: A connection from `snapshot`.
        agent_id: The server, in any published form: `8453:247`, `eip155:8453:0x…#247`, or 247 if there is only one
            chain.
        payment: The payment that the server requests; None to skip the related rules.
        amount: The amount that the server requests, in whole payment tokens, to compare with the evidence about the
            server.
        policy: The policy; if omitted, the default policy.
        for_client: The client that requests the check (an account or an agent), used by policies with `own_experience`.
        at_block: The block as of which to check; by default, the last indexed block.
        history: The `history` from an earlier answer. The check is rejected if the index is now on a different fork.
        files: The `files` from an earlier answer, to reproduce it exactly.
        analysis: The `analysis` from an earlier answer, to reproduce it exactly.
        measurements: The `measurements` from an earlier answer, to reproduce it exactly.
        findings: A source of trust analysis findings.

    Raises:
        InvalidArgumentError: The amount is negative or not a number.
        UnknownAgentError: The agent does not exist at the block.
        UnknownChainError: The index does not follow the agent's chain.
        UnknownRegistryError: The index does not follow the agent's identity registry.
        BlockNotHeldError: The block is not indexed.
        OtherHistoryError: A reorganisation replaced the earlier answer's history.
        FileNotHeldError: The version of a file at that block was replaced.
        FindingsNotHeldError: The trust analysis as of that block was replaced.
        HistoryTooLongError: The check would have to read more individual events than the limit allows.
        MalformedIdentifierError: The agent or an account is malformed.
    """
    if amount is not None and not (amount.is_finite() and amount >= 0):
        raise InvalidArgumentError(f"amount {amount} must be a non-negative number of payment token units, such as 0.5")
    policy = policy or Policy()
    sources = {"files": files, "analysis": analysis, "measurements": measurements}
    subject = find_agent(
        agent_id, lambda chain: chains.as_of_block(connection, chain, at_block, history=history, **sources)
    )
    if payment is not None:
        payment = replace(payment, pay_to=checksummed(payment.pay_to))
    as_of, agent = subject.as_of, subject.history
    texts = _texts(subject)
    uri, uri_event = _newest(texts, events.Registered, events.URIUpdated)
    registration, of_services, proof = registration_of(subject, uri) if uri else (None, (), 0)
    domains = _domains(subject, texts, of_services)
    approvals = _approvals(texts)
    asker = None if for_client is None else asker_of(as_of, subject.identity, for_client)
    own = agent.accounts.union(approval.account for approval in approvals)
    ratings = counted_ratings(Question(subject, Side.SERVER, policy.tag, own, policy, asker))
    stored, standing, lack = analysed(findings, as_of, subject, Side.SERVER, agent.holders)
    used = [None if registration is None else registration.file, *(domain.file for domain in domains.domains)]
    newest_file = max(proof, *(0 if file is None else file.number for file in used))
    measured = measurements_of(subject, registration, policy.watchtowers)
    newest_measurement = 0 if measured is None else measured.newest
    server_facts = facts.Facts(
        source=facts.Source.INDEX,
        side=Side.SERVER,
        as_of=as_of.stamp(files=newest_file, analysis=stored.analysis, measurements=newest_measurement),
        name=subject.name,
        account=agent.wallet,
        agent=agent.facts(as_of),
        payment=payment,
        amount=amount,
        registration=registration,
        uri_event=uri_event,
        domains=domains,
        approvals=tuple(approval for approval in approvals if approval.account not in agent.accounts),
        ratings=ratings,
        findings=stored,
        standing=standing,
        analysis_lack=lack,
        validations=validations(subject, policy.validators),
        measurements=measured,
    )
    return check(server_facts, policy)


def _texts(subject: Subject) -> dict[str, list[Any]]:
    """Return the newest events that set an agent's URI and domain, and all approvals of accounts, by event class."""
    texts: dict[str, list[Any]] = defaultdict(list)
    values = {**subject.parameters, "limit": MOST_APPROVALS + 1}
    for row in _texts_statement(len(subject.kinds)).records(subject.as_of.connection, values):
        texts[row.event].append(row)
    return texts


@lru_cache
def _texts_statement(registries: int) -> Prepared:
    """Return the statement for `_texts`. Each approval states whether the account has given feedback."""
    parts = []
    for event, column in (
        (events.Registered, "agent_uri"),
        (events.URIUpdated, "new_uri"),
        (events.AgentRegistered, "agent_domain"),
        (events.AgentUpdated, "agent_domain"),
    ):
        table = EVENT_TABLES[event]
        newest = (
            select(
                *chains.place_of(table),
                chains.event_label(event),
                table.c[column].label("text"),
                false().label("is_reviewer"),
            )
            .where(chains.covering(table), table.c.registry == bindparam("identity"))
            .where(table.c.agent_id == bindparam("agent_id"))
            .order_by(*newest_first(table.c))
            .limit(at_most(1))
        )
        parts.append(select(newest.subquery()))
    single, of_all = EVENT_TABLES[events.Approval].c, EVENT_TABLES[events.ApprovalForAll].c
    of_agent = (single.agent_id == bindparam("agent_id"), single.account != _NOBODY)
    of_owner = (of_all.owner == bindparam("owner"), of_all.is_approved.is_(True))
    feedback = EVENT_TABLES[events.NewFeedback]
    is_reviewer = exists().where(chains.covering(feedback), one_of("registry", feedback.c.registry, registries))
    for approval, account, conditions in (
        (events.Approval, single.account, of_agent),
        (events.ApprovalForAll, of_all.operator, of_owner),
    ):
        table, gave = EVENT_TABLES[approval], is_reviewer.where(feedback.c.client_address == account)
        approved = (
            select(
                *chains.place_of(table), chains.event_label(approval), account.label("text"), gave.label("is_reviewer")
            )
            .where(chains.covering(table), table.c.registry == bindparam("identity"), *conditions)
            .limit(bindparam("limit"))
        )
        parts.append(select(approved.subquery()))
    return Prepared(union_all(*parts))


def _newest(texts: Mapping[str, Sequence[Any]], *kinds: type[events.Event]) -> tuple[str, EventEvidence | None]:
    """Return the newest text set by the given kinds of events, with its event; an empty string and None if unset."""
    rows = [(row, event.abi_name) for event in kinds for row in texts.get(event.__name__, ())]
    row, name = max(rows, key=lambda named: (named[0].block_number, named[0].log_index), default=(None, ""))
    return ("", None) if row is None else (row.text, chains.evidence_of(name, row))


def _domains(
    subject: Subject, texts: Mapping[str, Sequence[Any]], of_services: tuple[facts.Domain, ...]
) -> facts.Domains:
    text, event = _newest(texts, events.AgentRegistered, events.AgentUpdated)
    registered = registered_domain(subject, text) if text else None
    is_apart = registered is not None and registered.host not in {service.host for service in of_services}
    further = (registered,) if registered is not None and is_apart else ()
    return facts.Domains((*of_services, *further), text, event, is_host=not text or registered is not None)


def _approvals(texts: Mapping[str, Sequence[Any]]) -> list[facts.Approval]:
    placed = []
    for event in (events.Approval, events.ApprovalForAll):
        rows = texts.get(event.__name__, ())
        if len(rows) > MOST_APPROVALS:
            raise HistoryTooLongError("approvals by one owner", MOST_APPROVALS)
        placed += [(row.block_number, row.log_index, row, event.abi_name) for row in rows]
    placed.sort(key=itemgetter(0, 1), reverse=True)
    approvals: dict[str, facts.Approval] = {}
    for _, _, row, name in placed:
        approvals.setdefault(row.text, facts.Approval(row.text, chains.evidence_of(name, row), bool(row.is_reviewer)))
    return list(approvals.values())


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
    findings: chains.Findings | None = None,
    buyers: chains.BuyerRecords | None = None,
    tier_proof: ProvenTier | None = None,
    failures: FailureCount | None = None,
) -> Check:
    """Answer the question: should I serve this client?

    Args:
        connection: A connection from `snapshot`.
        client: The client: an account, `0x…`, or an agent in any published form.
        for_server: The server that requests the check (an agent or its account). That server's own rating of the client
            counts most.
        policy: The policy; if omitted, the default policy.
        chain_id: The chain, if `client` is an account; if omitted, the only chain in the index.
        at_block: The block as of which to check; by default, the last indexed block.
        history: The `history` from an earlier answer. The check is rejected if the index is now on a different fork.
        payments: The `payments` from an earlier answer, to reproduce it exactly.
        analysis: The `analysis` from an earlier answer, to reproduce it exactly.
        findings: A source of trust analysis findings.
        buyers: A source of buyers' records.
        tier_proof: A tier that the client has proven privately and the caller has verified. The age of the client's
            account is then ignored, because the account may be new.
        failures: The client's failed settlements with the requesting server, which no index records.

    Raises:
        CheckError: As for `check_server`, except that an account without an agent is not an error.
        MalformedIdentifierError: The client or the server is malformed.
    """
    policy = policy or Policy()

    def as_of_chain(chain: int | None) -> chains.AsOfBlock:
        return chains.as_of_block(connection, chain, at_block, history=history, payments=payments, analysis=analysis)

    subject: Subject | None
    if isinstance(client, str) and is_account(client):
        account: str | None = checksummed(client)
        as_of = as_of_chain(chain_id)
        subject = find_account(as_of, account or "")
    else:
        subject = find_agent(client, as_of_chain)
        as_of, account = subject.as_of, subject.history.wallet or subject.history.owner
    identity = subject.identity if subject is not None else _identity_of(as_of, for_server)
    kinds = {} if identity is None else chains.registries(as_of, identity)
    asker = None if for_server is None or identity is None else asker_of(as_of, identity, for_server)
    accounts = frozenset(() if account is None else {account})
    if subject is not None:
        accounts |= subject.history.holders
    stored, standing, lack = analysed(findings, as_of, subject, Side.CLIENT, accounts)
    by_asker: tuple[facts.RatingBy, ...] = ()
    rated_by: tuple[facts.RatingBy, ...] = ()
    ratings = facts.RatingFacts()
    if subject is not None:
        if asker is not None and asker.agent_id is not None:
            by_asker = _newest_ratings(subject, [asker.agent_id], 1)
        ratings = counted_ratings(Question(subject, Side.CLIENT, "", subject.history.accounts, policy, asker))
        rated_by = _newest_ratings(subject, [], _MOST_LISTED)
    shared, shared_events = (None, ()) if asker is None else _shared_account(asker, accounts, subject)
    record = None if buyers is None or account is None else buyers(connection, as_of, account)
    has_own_age = subject is None and account is not None and tier_proof is None
    client_facts = facts.Facts(
        source=facts.Source.INDEX,
        side=Side.CLIENT,
        as_of=as_of.stamp(payments=0 if record is None else record.newest, analysis=stored.analysis),
        name=None if subject is None else subject.name,
        account=account,
        agent=None if subject is None else subject.history.facts(as_of),
        ratings=ratings,
        findings=stored,
        standing=standing,
        analysis_lack=lack,
        client=facts.ClientFacts(
            rating_by_asker=next(iter(by_asker), None),
            rated_by=rated_by,
            shared_account=shared,
            shared_events=shared_events,
            account_age=_account_age(as_of, kinds, account or "", record) if has_own_age else None,
            feedback=_summary(feedback_by(as_of, list(kinds), accounts, _MOST_FEEDBACKS)),
            record=record,
            tier_proof=tier_proof,
            failures=failures,
        ),
    )
    return check(client_facts, policy)


def _account_age(
    as_of: chains.AsOfBlock, kinds: Mapping[str, str], account: str, record: BuyerRecord | None
) -> facts.AccountAge:
    parameters = {**as_of.bounds, "account": account, **spread("registry", list(kinds), len(kinds))}
    rows = first_feedback(len(kinds)).records(as_of.connection, parameters) if kinds else []
    rows.sort(key=attrgetter("kind"))
    # In Solidity, both kinds of feedback events are called NewFeedback.
    first: list[Any] = [(row.block_time, chains.evidence_of("NewFeedback", row)) for row in rows]
    if record is not None and record.first_at is not None:
        first.append((record.first_at, record.first))
    first_at, event = min(first, key=itemgetter(0), default=(None, None))
    return facts.AccountAge(None if first_at is None else as_of.days_since(first_at), event)


def _newest_ratings(subject: Subject, raters: list[int], limit: int) -> tuple[facts.RatingBy, ...]:
    statement = newest_about(Side.CLIENT, len(subject.kinds), len(raters), limit)
    rows = statement.records(subject.as_of.connection, subject.parameters | spread("rater", raters, len(raters)))
    return tuple(
        facts.RatingBy(f"{subject.as_of.chain_id}:{row.server_id}", row.rating, chains.evidence_of("ClientRated", row))
        for row in rows
    )


def _shared_account(
    asker: Asker, accounts: frozenset[str], subject: Subject | None
) -> tuple[str | None, tuple[EventEvidence, ...]]:
    """Return an account that the client and the requesting server have or had in common, and the related events."""
    agents = [side.history for side in (asker, subject) if side is not None and side.history is not None]
    of_server = asker.accounts if asker.history is None else asker.accounts | asker.history.accounts
    of_client = accounts if subject is None else accounts | subject.history.accounts
    shared = min(of_server & of_client, default=None)
    events = () if shared is None else tuple(agent.account_events.get(shared) for agent in agents)
    return shared, tuple(event for event in events if event is not None)


def _summary(rows: Sequence[Any]) -> facts.FeedbackSummary:
    shares = []
    for row in rows:
        scale = scale_of_tag(row.tag1)
        if scale is not None and row.value_decimals <= DECIMALS and not row.is_revoked:
            shares.append((share_of_scale(int(row.value), row.value_decimals, scale), row))
    by_share = Counter(share for share, _ in shares)
    return facts.FeedbackSummary(
        count=len(rows),
        is_cut=len(rows) == _MOST_FEEDBACKS,
        agents=len({int(row.agent_id) for row in rows}),
        revoked=sum(bool(row.is_revoked) for row in rows),
        scaled=len(shares),
        scaled_agents=len({int(row.agent_id) for _, row in shares}),
        lowest=by_share[0],
        highest=by_share[SHARES],
        evidence=tuple(chains.evidence_of("NewFeedback", row) for _, row in shares[:_EXAMPLES]),
    )


def _identity_of(as_of: chains.AsOfBlock, server: str | int | None) -> str | None:
    """Return the identity registry of the server that checks an account or, without a server, the chain's first."""
    if server is not None and not is_account(server):
        return find_agent(server, lambda _: as_of).identity
    return next(iter(chains.identity_registries(as_of)), None)
