"""Should I pay this server? The facts that an index has of it."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection, bindparam, exists, false, select, union_all

from bilateral.checks.errors import HistoryTooLongError
from bilateral.checks.facts import Approval, Domain, Domains, Facts, Payment, Source, ValidationFacts
from bilateral.checks.from_index.as_of_block import (
    VALIDATION,
    Findings,
    as_of_block,
    covering,
    event_label,
    evidence_of,
    place_of,
)
from bilateral.checks.from_index.files import registered_domain, registration_of
from bilateral.checks.from_index.raters import Question, counted_ratings
from bilateral.checks.from_index.ratings import analysed
from bilateral.checks.from_index.subjects import Subject, asker_of, find_agent
from bilateral.checks.judge import Check, check
from bilateral.checks.policy import Policy
from bilateral.checks.verdicts import EventEvidence
from bilateral.core import events
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AgentId, GlobalAgentId, checksummed
from bilateral.core.values.standing import Side
from bilateral.index.log.tables import EVENT_TABLES
from bilateral.index.log.unindexed import newest_first
from bilateral.index.reading.prepared import Prepared, at_most, one_of, size_for, spread

MOST_APPROVALS: Final = 20_000
"""Approvals for one agent, and of one owner for all its agents, that one check reads."""

_MOST_ANSWERS: Final = 1_000
"""The newest answers that are looked at: anybody may ask a validator for any number."""

_EXAMPLES: Final = 3  # examples are enough to follow a reason
_NOBODY: Final = "0x" + "00" * 20
_ANSWERS: Final = EVENT_TABLES[events.ValidationResponse]


def check_server(  # noqa: PLR0913  # the seams are separate on purpose
    connection: Connection,
    agent_id: str | int | AgentId | GlobalAgentId,
    *,
    payment: Payment | None = None,
    amount: Decimal | None = None,
    policy: Policy | None = None,
    for_client: str | int | None = None,
    at_block: int | None = None,
    history: bytes | None = None,
    files: int | None = None,
    analysis: int | None = None,
    findings: Findings | None = None,
) -> Check:
    """Answer the question: should I pay this server?

    Args:
        connection: A connection of `snapshot`.
        agent_id: The server, in any published form: `8453:247`, `eip155:8453:0x…#247`, or 247 if there is one chain.
        payment: The payment that it asks for; None to leave out what concerns it.
        amount: The money that it asks for, in units of the payment token. The evidence is weighed against it.
        policy: The policy; the default one if left out.
        for_client: The client that asks, an account or an agent, for a policy with `own_experience`.
        at_block: The block; the last indexed one if left out.
        history: The `history` of an earlier answer, to refuse another fork.
        files: The `files` of an earlier answer, to repeat it to the letter.
        analysis: The `analysis` of an earlier answer, to the same end.
        findings: A source of findings of trust analysis.

    Raises:
        InvalidArgumentError: The amount is negative or no number.
        UnknownAgentError: There is no such agent at the block.
        UnknownChainError: The index does not follow its chain.
        UnknownRegistryError: The index does not follow its identity registry.
        BlockNotHeldError: The block is not indexed.
        OtherHistoryError: A reorganisation replaced the history of the earlier answer.
        FileNotHeldError: A file of then was replaced.
        FindingsNotHeldError: The trust analysis of then was replaced.
        HistoryTooLongError: More events have to be read one by one than a check reads.
        MalformedIdentifierError: The agent or an account is malformed.
    """
    if amount is not None and not (amount.is_finite() and amount >= 0):
        raise InvalidArgumentError(f"amount {amount} is not 0 or more: give units of the payment token, such as 0.5")
    policy = policy or Policy()
    subject = find_agent(
        agent_id,
        lambda chain: as_of_block(connection, chain, at_block, history=history, files=files, analysis=analysis),
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
    facts = Facts(
        source=Source.INDEX,
        side=Side.SERVER,
        as_of=as_of.stamp(files=newest_file, analysis=stored.analysis),
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
        validations=_validations(subject, policy.validators),
    )
    return check(facts, policy)


def _texts(subject: Subject) -> dict[str, list[Any]]:
    """Return the newest event of each kind that sets a text of an agent, and all that approve accounts for it."""
    texts: dict[str, list[Any]] = defaultdict(list)
    values = {**subject.parameters, "limit": MOST_APPROVALS + 1}
    for row in _texts_statement(len(subject.kinds)).records(subject.as_of.connection, values):
        texts[row.event].append(row)
    return texts


@lru_cache
def _texts_statement(registries: int) -> Prepared:
    """Return the statement of `_texts`. An approval tells whether the account gave feedback in some registries."""
    parts = []
    for event, column in (
        (events.Registered, "agent_uri"),
        (events.URIUpdated, "new_uri"),
        (events.AgentRegistered, "agent_domain"),
        (events.AgentUpdated, "agent_domain"),
    ):
        table = EVENT_TABLES[event]
        newest = (
            select(*place_of(table), event_label(event), table.c[column].label("text"), false().label("is_reviewer"))
            .where(covering(table), table.c.registry == bindparam("identity"))
            .where(table.c.agent_id == bindparam("agent_id"))
            .order_by(*newest_first(table.c))
            .limit(at_most(1))
        )
        parts.append(select(newest.subquery()))
    single, of_all = EVENT_TABLES[events.Approval].c, EVENT_TABLES[events.ApprovalForAll].c
    of_agent = (single.agent_id == bindparam("agent_id"), single.account != _NOBODY)
    of_owner = (of_all.owner == bindparam("owner"), of_all.is_approved.is_(True))
    feedback = EVENT_TABLES[events.NewFeedback]
    is_reviewer = exists().where(covering(feedback), one_of("registry", feedback.c.registry, registries))
    for approval, account, conditions in (
        (events.Approval, single.account, of_agent),
        (events.ApprovalForAll, of_all.operator, of_owner),
    ):
        table, gave = EVENT_TABLES[approval], is_reviewer.where(feedback.c.client_address == account)
        approved = (
            select(*place_of(table), event_label(approval), account.label("text"), gave.label("is_reviewer"))
            .where(covering(table), table.c.registry == bindparam("identity"), *conditions)
            .limit(bindparam("limit"))
        )
        parts.append(select(approved.subquery()))
    return Prepared(union_all(*parts))


def _newest(texts: Mapping[str, Sequence[Any]], *kinds: type[events.Event]) -> tuple[str, EventEvidence | None]:
    """Return the newest text of some events, and its event; an empty text without one."""
    rows = [(row, event.abi_name) for event in kinds for row in texts.get(event.__name__, ())]
    row, name = max(rows, key=lambda named: (named[0].block_number, named[0].log_index), default=(None, ""))
    return ("", None) if row is None else (row.text, evidence_of(name, row))


def _domains(subject: Subject, texts: Mapping[str, Sequence[Any]], of_services: tuple[Domain, ...]) -> Domains:
    text, event = _newest(texts, events.AgentRegistered, events.AgentUpdated)
    registered = registered_domain(subject, text) if text else None
    is_apart = registered is not None and registered.host not in {service.host for service in of_services}
    further = (registered,) if registered is not None and is_apart else ()
    return Domains((*of_services, *further), text, event, is_host=not text or registered is not None)


def _approvals(texts: Mapping[str, Sequence[Any]]) -> list[Approval]:
    placed = []
    for event in (events.Approval, events.ApprovalForAll):
        rows = texts.get(event.__name__, ())
        if len(rows) > MOST_APPROVALS:
            raise HistoryTooLongError("approvals of one owner", MOST_APPROVALS)
        placed += [(row.block_number, row.log_index, row, event.abi_name) for row in rows]
    placed.sort(key=itemgetter(0, 1), reverse=True)
    approvals: dict[str, Approval] = {}
    for _, _, row, name in placed:
        approvals.setdefault(row.text, Approval(row.text, evidence_of(name, row), bool(row.is_reviewer)))
    return list(approvals.values())


def _validations(subject: Subject, validators: Collection[str]) -> ValidationFacts:
    """Return the validations of an agent by some validators, or by all if none is named."""
    addresses = [address for address, kind in subject.kinds.items() if kind == VALIDATION]
    ordered = sorted(validators)
    parameters = subject.parameters | spread("registry", addresses, len(addresses))
    parameters |= spread("validator", ordered, size_for(ordered))
    statement = _newest_answers(len(addresses), size_for(ordered) if ordered else 0)
    last: dict[tuple[str, bytes], Any] = {}
    for row in statement.records(subject.as_of.connection, parameters) if addresses else ():
        last.setdefault((row.registry, bytes(row.request_hash)), row)
    answers = list(last.values())
    return ValidationFacts(
        count=len(answers),
        validators=len({row.validator_address for row in answers}),
        mean=None if not answers else Decimal(sum(row.response for row in answers) * 100 // len(answers)) / 100,
        evidence=tuple(evidence_of("ValidationResponse", row) for row in answers[:_EXAMPLES]),
    )


@lru_cache
def _newest_answers(registries: int, validators: int) -> Prepared:
    answers = _ANSWERS.c
    query = (
        select(*place_of(_ANSWERS), answers.request_hash, answers.response, answers.validator_address)
        .where(covering(_ANSWERS), one_of("registry", answers.registry, registries))
        .where(answers.agent_id == bindparam("agent_id"))
        .order_by(*newest_first(answers))
        .limit(at_most(_MOST_ANSWERS))
    )
    if validators:
        query = query.where(one_of("validator", answers.validator_address, validators))
    return Prepared(query)
