"""Should I pay this server?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bilateral.checks.agents import approved_accounts, approved_reviewers, words_at
from bilateral.checks.as_of_block import moment_of, registries
from bilateral.checks.entries import SERVER
from bilateral.checks.files import newest_sight, registered_domain, registration_of
from bilateral.checks.newest_ratings import given_by
from bilateral.checks.policy import Policy
from bilateral.checks.providers import FoundFindings
from bilateral.checks.raters import Question, judge
from bilateral.checks.ratings import Ratings, lines
from bilateral.checks.reasons import MAX_SHOWN_URI, Reasons
from bilateral.checks.shared_reasons import (
    agent_figures,
    judge_age,
    judge_findings,
    judge_ratings,
    rating_figures,
    split_lines,
)
from bilateral.checks.stake import backing_of, judge_standing
from bilateral.checks.subjects import asker_of, find_agent
from bilateral.checks.validations import judge_validations
from bilateral.checks.verdicts import Code
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import checksummed
from bilateral.index.files.tables import State

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from sqlalchemy import Connection

    from bilateral.checks.agents import Words
    from bilateral.checks.files import Domain, RegistrationFacts
    from bilateral.checks.providers import Findings
    from bilateral.checks.seen_files import Sight
    from bilateral.checks.subjects import Party
    from bilateral.checks.verdicts import Check
    from bilateral.core.identifiers import AgentId, GlobalAgentId

_ONE_BY_ONE: Final = 8
"""Approved accounts up to which each is looked up by itself; of more, all reviewers are read at once."""

_MOST_REVIEWERS: Final = 10
"""Reviewers that an answer names: a reader follows no more."""

_MOST_CLAIMS: Final = 5
"""Claims of Solana that an answer checks: each is a question to the database."""

_HASH_REASONS: Final = frozenset({"hash_mismatch", "cid_mismatch"})


@dataclass(frozen=True)
class Payment:
    """A payment that a server asks for.

    Attributes:
        pay_to: The account that it would go to.
        chain_id: Its chain; None for the agent's chain.
    """

    pay_to: str
    chain_id: int | None = None


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
    reasons = Reasons(policy or Policy())
    party = find_agent(
        connection,
        agent_id,
        lambda chain: moment_of(connection, chain, at_block, history=history, files=files, analysis=analysis),
    )
    moment, identity, facts = party.moment, party.identity, party.facts
    kinds = registries(moment, identity)
    _judge_wallet(reasons, party, payment)
    judge_age(reasons, moment, facts)
    words = words_at(connection, moment, identity, facts)
    registration = _judge_file(connection, reasons, party, words, payment)
    domains, registered = _judge_domains(connection, reasons, party, words, registration)
    approved = _judge_approvals(connection, reasons, party, words, kinds)
    asker = None if for_client is None else asker_of(connection, moment, identity, for_client)
    own = frozenset(facts.accounts | approved)
    ratings = Ratings(connection, moment, kinds, party.agent_id)
    question = Question(moment, identity, kinds, facts, SERVER, reasons.policy.tag, own, reasons.policy, asker, ratings)
    judgement = judge(connection, question)
    stored = FoundFindings() if findings is None else findings(connection, moment, sorted(facts.holders))
    analysis_used = None if findings is None else stored.analysis
    agent = identity, party.agent_id
    backing = backing_of(connection, moment, agent, SERVER, reasons.policy, amount, analysis_used)
    named = judge_findings(reasons, stored, backing)
    by_tag = lines(ratings)
    judge_ratings(reasons, judgement, backing, by_tag)
    validations = judge_validations(connection, reasons, moment, kinds, party.agent_id)
    known, others = split_lines(by_tag, reasons.policy.tag)
    figures: dict[str, Any] = {
        **agent_figures(moment, facts),
        "pay_to": None if payment is None else checksummed(payment.pay_to),
        "file": None if registration is None else registration.sight.state.value,
        "domains": [
            {"domain": number, "is_proven": domain.is_proven, "is_denied": domain.is_denied}
            for number, domain in enumerate(domains, 1)
        ],
        "rating": rating_figures(judgement.counted, reasons.policy.tag),
        "standing": judge_standing(reasons, backing),
        "lines": known,
        "validations": validations,
        **named,
    }
    untrusted = {
        "name": registration and registration.name,
        "description": registration and registration.description,
        "domain": registered[:MAX_SHOWN_URI],
        "domains": {str(number): domain.host for number, domain in enumerate(domains, 1)},
        "lines": others,
    }
    return reasons.check(
        SERVER,
        moment,
        agent=party.name,
        account=facts.wallet,
        figures=figures,
        untrusted={name: value for name, value in untrusted.items() if value},
        files=newest_sight(registration, domains),
        analysis=stored.analysis,
    )


def _judge_wallet(reasons: Reasons, party: Party, payment: Payment | None) -> None:
    """Add the reasons about the account that a payment goes to."""
    facts = party.facts
    event = facts.wallet_event or facts.registered
    if facts.wallet is None:
        reasons.add(Code.NO_WALLET, "The agent has no wallet, so no payment can be for it.", facts.wallet_event)
    elif payment is not None and checksummed(payment.pay_to) != facts.wallet:
        reasons.add(
            Code.PAY_TO_DIFFERS,
            f"The payment would go to {checksummed(payment.pay_to)}; the agent's wallet is {facts.wallet}.",
            event,
        )
    if payment is not None and payment.chain_id not in (None, party.moment.chain_id):
        reasons.add(
            Code.OTHER_CHAIN,
            f"The payment is on chain {payment.chain_id}, and the wallet was proven on chain "
            f"{party.moment.chain_id} only. A contract may have the same address for another owner there.",
            event,
        )


def _judge_file(
    connection: Connection, reasons: Reasons, party: Party, words: Words, payment: Payment | None
) -> RegistrationFacts | None:
    """Add the reasons about the registration file, and return it."""
    uri, event = words.uri
    if not uri:
        reasons.add(Code.NO_FILE, "The agent names no registration file.", event)
        return None
    facts = registration_of(connection, party.moment, party.identity, party.agent_id, uri)
    reasons.number_of(facts.sight)  # the answer names it also if nothing is wrong with it
    if facts.sight.state is State.WAITING:
        reasons.add(Code.FILE_NOT_LOADED, "The index had not fetched the registration file by the block.", event)
        return facts
    sight = facts.sight
    if sight.reason in _HASH_REASONS:
        reasons.add(Code.FILE_HASH_DIFFERS, "The registration file has another hash than it must have.", sight)
    elif sight.state is State.MALFORMED:
        reasons.add(Code.FILE_MALFORMED, "The registration file is not a registration file.", sight)
    elif sight.reason is not None:
        reasons.add(Code.FILE_UNREACHABLE, "The registration file could not be fetched last time.", sight)
    if sight.state is State.LOADED:
        _judge_content(reasons, facts, payment)
    return facts


def _judge_content(reasons: Reasons, facts: RegistrationFacts, payment: Payment | None) -> None:
    """Add the reasons about what the registration file says."""
    evidence = facts.sight
    if facts.names_others and not facts.is_confirmed:
        reasons.add(Code.FILE_OF_OTHER_AGENT, "The registration file names other agents, and not this one.", evidence)
    elif not facts.is_confirmed:
        reasons.add(Code.FILE_UNCONFIRMED, "The registration file does not name the agent in return.", evidence)
    if facts.sight.integrity is None:
        reasons.add(Code.FILE_UNPROTECTED, "The registration file has no hash: its server can change it.", evidence)
    if facts.active is False:
        reasons.add(Code.INACTIVE, "The registration file says that the agent is not in use.", evidence)
    for agent in facts.on_solana[:_MOST_CLAIMS]:
        if str(agent) in facts.proven:
            sentence = f"The agent is also {agent} on Solana: both files name each other."
            reasons.add(Code.ALSO_PROVEN, sentence, evidence)
        else:
            sentence = f"The agent claims to be {agent} on Solana too, which a live check can prove."
            reasons.add(Code.ALSO_CLAIMED, sentence, evidence)
    if payment is not None and facts.x402_support is not True:
        reasons.add(
            Code.PAYMENT_NOT_OFFERED, "The registration file does not say that the agent takes x402 payments.", evidence
        )


def _judge_domains(
    connection: Connection, reasons: Reasons, party: Party, words: Words, registration: RegistrationFacts | None
) -> tuple[tuple[Domain, ...], str]:
    """Add the reasons about the agent's domains: those of its services, and its registered one.

    A domain whose file was not read is never proven.
    """
    place = connection, party.moment, party.identity, party.agent_id
    text, event = words.domain
    registered = registered_domain(*place, text) if text else None
    of_services = () if registration is None else registration.domains
    own = None if registration is None else registration.sight
    domains = [(service, "A service is at") for service in of_services]
    if registered is not None and registered.host not in {service.host for service in of_services}:
        domains.append((registered, "The agent is registered under"))
    if text and registered is None:
        sentence = "The agent is registered under a domain that is not the name of a host."
        reasons.add(Code.DOMAIN_UNPROVEN, sentence, event)
    elif not domains and reasons.policy.require_domain:
        reasons.add(Code.DOMAIN_UNPROVEN, "No https domain of the agent is known.", own)
    for number, (domain, where) in enumerate(domains, 1):
        _judge_domain(reasons, domain, f"{where} domain {number}", number, domain.sight or own)
    return tuple(domain for domain, _ in domains), text


def _judge_domain(reasons: Reasons, domain: Domain, where: str, number: int, evidence: Sight | None) -> None:
    """Add the reason that a domain makes. Its host may be a sentence, so reasons name it by its number."""
    if domain.is_proven:
        reasons.add(Code.DOMAIN_PROVEN, f"Domain {number} names the agent.", evidence)
    elif domain.is_denied:
        sentence = f"{where}, and this domain names other agents, but not this one."
        reasons.add(Code.DOMAIN_DENIED, sentence, evidence)
    elif domain.is_read:
        sentence = f"{where}, and this domain does not name the agent."
        reasons.add(Code.DOMAIN_UNPROVEN, sentence, evidence)
    else:
        sentence = f"{where}. This is not checked: the index has not read the domain's file."
        reasons.add(Code.DOMAIN_UNPROVEN, sentence, evidence)


def _judge_approvals(
    connection: Connection, reasons: Reasons, party: Party, words: Words, kinds: Mapping[str, str]
) -> set[str]:
    """Add the reasons about accounts that the owner approved, and return these accounts.

    An approved account cannot give feedback, so an approval can suppress a review (docs/security.md).
    """
    approved = approved_accounts(words)
    strangers = [(account, event) for account, event in approved if account not in party.facts.accounts]
    if len(strangers) > _ONE_BY_ONE:
        known = approved_reviewers(connection, party.moment, party.identity, party.facts, kinds)
        reviewers = [stranger for stranger in strangers if stranger[0] in known]
    else:
        reviewers = [
            stranger for stranger in strangers if given_by(connection, party.moment, list(kinds), [stranger[0]], 1)
        ]
    for account, event in reviewers[:_MOST_REVIEWERS]:
        reasons.add(
            Code.REVIEWER_APPROVED,
            f"The owner approved {account}, which reviews agents. An approved account cannot review this one.",
            event,
        )
    if more := reviewers[_MOST_REVIEWERS:]:
        reasons.add(
            Code.REVIEWER_APPROVED,
            f"The owner approved {len(more)} more account{'s' if len(more) > 1 else ''} that review agents.",
            *(event for _, event in more[:3]),
        )
    if strangers:
        count = len(strangers)
        reasons.add(
            Code.STRANGER_APPROVED,
            f"The owner approved {count} account{'s' if count > 1 else ''} that never owned the agent.",
            *(event for _, event in strangers[:3]),
        )
    return {account for account, _ in approved}
