"""Should I pay this server? The facts that an index has of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import Connection, bindparam, select

from bilateral.checks.answers import check
from bilateral.checks.facts import Approval, Domain, Domains, Facts, Payment, Source, ValidationFacts
from bilateral.checks.from_index.agents import Texts, approved_accounts, approved_reviewers, texts_at
from bilateral.checks.from_index.as_of_block import (
    VALIDATION,
    as_of_block,
    covering,
    evidence_of,
)
from bilateral.checks.from_index.files import registered_domain, registration_of
from bilateral.checks.from_index.raters import Question, counted_ratings
from bilateral.checks.from_index.stored import standing_of
from bilateral.checks.from_index.subjects import Subject, asker_of, find_agent
from bilateral.checks.policy import Policy
from bilateral.checks.providers import Findings, FoundFindings
from bilateral.checks.verdicts import Check, EventEvidence
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.events import ValidationResponse
from bilateral.core.identifiers import AgentId, GlobalAgentId, checksummed
from bilateral.core.values.standing import Side
from bilateral.index.log import tables as schema
from bilateral.index.log.unindexed import newest_first
from bilateral.index.reading.prepared import Prepared, at_most, one_of, size_for, spread

_MOST_ANSWERS: Final = 1_000
"""The newest answers that are looked at: anybody may ask a validator for any number."""

_EXAMPLES: Final = 3  # examples are enough to follow a reason
_ANSWERS: Final = schema.EVENT_TABLES[ValidationResponse]


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
    return check(server_facts(subject, policy, payment, amount, for_client, findings), policy)


def server_facts(  # noqa: PLR0913, PLR0917  # the parts of a question
    subject: Subject,
    policy: Policy,
    payment: Payment | None,
    amount: Decimal | None,
    for_client: str | int | None,
    findings: Findings | None,
) -> Facts:
    """Read the facts about a server. The payment is to an account in checksum form."""
    as_of, agent = subject.as_of, subject.history
    texts = texts_at(as_of, subject.identity, agent)
    uri, uri_event = texts.uri
    registration, of_services, proof = registration_of(subject, uri) if uri else (None, (), 0)
    domains = _domains(subject, texts, of_services)
    approved = approved_accounts(texts)
    approvals = _approvals(subject, approved)
    asker = None if for_client is None else asker_of(as_of, subject.identity, for_client)
    own = agent.accounts | {account for account, _ in approved}
    ratings = counted_ratings(Question(subject, Side.SERVER, policy.tag, own, policy, asker))
    account_findings = FoundFindings() if findings is None else findings(as_of.connection, as_of, sorted(agent.holders))
    standing, lack = standing_of(subject, as_of, Side.SERVER, None if findings is None else account_findings.analysis)
    used = [None if registration is None else registration.file, *(domain.file for domain in domains.domains)]
    return Facts(
        source=Source.INDEX,
        side=Side.SERVER,
        as_of=as_of.stamp(
            files=max(proof, *(0 if file is None else file.number for file in used)), analysis=account_findings.analysis
        ),
        name=subject.name,
        account=agent.wallet,
        agent=agent.facts(as_of),
        payment=payment,
        amount=amount,
        registration=registration,
        uri_event=uri_event,
        domains=domains,
        approvals=approvals,
        ratings=ratings,
        findings=account_findings,
        standing=standing,
        analysis_lack=lack,
        validations=_validations(subject, policy.validators),
    )


def _domains(subject: Subject, texts: Texts, of_services: tuple[Domain, ...]) -> Domains:
    """Return the agent's domains: those of its services, and its registered one."""
    text, event = texts.domain
    registered = registered_domain(subject, text) if text else None
    is_apart = registered is not None and registered.host not in {service.host for service in of_services}
    further = (registered,) if registered is not None and is_apart else ()
    return Domains((*of_services, *further), text, event, is_host=not text or registered is not None)


def _approvals(subject: Subject, approved: Sequence[tuple[str, EventEvidence]]) -> tuple[Approval, ...]:
    """Return the approved accounts that never owned the agent."""
    strangers = [(account, event) for account, event in approved if account not in subject.history.accounts]
    if not strangers:
        return ()
    reviewers = approved_reviewers(subject.as_of, subject.identity, subject.history, subject.kinds)
    return tuple(Approval(account, event, account in reviewers) for account, event in strangers)


def _validations(subject: Subject, validators: Collection[str]) -> ValidationFacts:
    """Return the validations of an agent by some validators, or by all if none is named.

    The last answer to each request counts. The newest thousand answers are read.
    """
    as_of, agent_id = subject.as_of, subject.history.agent_id
    addresses = [address for address, kind in subject.kinds.items() if kind == VALIDATION]
    ordered = sorted(validators)
    parameters = {**as_of.bounds, "agent_id": agent_id, **spread("registry", addresses, len(addresses))}
    parameters |= spread("validator", ordered, size_for(ordered))
    statement = _newest_answers(len(addresses), size_for(ordered) if ordered else 0)
    last: dict[tuple[str, bytes], Any] = {}
    for row in statement.records(as_of.connection, parameters) if addresses else ():
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
    """Return the statement that reads the newest answers in some registries, by some validators; 0 for all."""
    answers = _ANSWERS.c
    names = ("registry", "block_number", "log_index", "transaction_hash", "request_hash", "response")
    query = (
        select(*(answers[name] for name in names), answers.validator_address)
        .where(covering(_ANSWERS), one_of("registry", answers.registry, registries))
        .where(answers.agent_id == bindparam("agent_id"))
        .order_by(*newest_first(answers))
        .limit(at_most(_MOST_ANSWERS))
    )
    if validators:
        query = query.where(one_of("validator", answers.validator_address, validators))
    return Prepared(query)
