"""Rules about agents and clients. Each rule yields the reasons that certain facts imply. See also `rating_rules`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from bilateral.checks.facts import Change, Domain, Facts, FileState, Observation, Source, Unknown
from bilateral.checks.policy import Policy
from bilateral.checks.verdicts import DAY, Code, EventEvidence, Severity
from bilateral.core.identifiers.caip import family_of

_MOST_REVIEWERS: Final = 10
"""The maximum number of reviewers in an answer, because nobody would read more."""

_MOST_CLAIMS: Final = 5
"""The maximum number of claimed foreign-chain registrations in an answer from an index."""

_EXAMPLES: Final = 3  # examples per reason; enough to understand it
_FEW_FEEDBACKS: Final = 5
"""The minimum number of agents that a client must have rated before its feedback is judged."""

_HASH_PROBLEMS: Final = frozenset({"hash_mismatch", "cid_mismatch"})

_CAUSES: Final = {
    "host_not_found": "its host does not exist",
    "connection_refused": "its host refuses connections",
    "document_timeout": "it was not received in time",
    "certificate_expired": "its host's certificate has expired",
    "certificate_name": "its host's certificate is for a different host",
    "certificate_self_signed": "its host's certificate is self-signed",
    "certificate_authority": "its host's certificate is from an unknown authority",
}
"""Why a file could not be fetched, by error code. Other errors are not shown, because they may quote the server."""


@dataclass(frozen=True)
class Draft:
    """A reason, before the policy weighs it.

    Attributes:
        sentence: The reason as a sentence, without untrusted text.
        evidence: The events and files that the reason is based on. Entries that are None are dropped.
        severity: The reason's severity; None to use the policy's.
    """

    code: Code
    sentence: str
    evidence: tuple[EventEvidence | Observation | None, ...] = ()
    severity: Severity | None = None


Drafts: TypeAlias = Iterator[Draft]
Rule: TypeAlias = Callable[[Facts, Policy], Drafts]


def refusal(facts: Facts, _: Policy) -> Drafts:
    """Yield a reason if the registry has disowned the agent."""
    if facts.refusal is not None:
        yield Draft(*facts.refusal)


def wallet(facts: Facts, _: Policy) -> Drafts:
    """Yield reasons about the account that would receive a payment."""
    agent, payment, is_foreign = facts.agent, facts.payment, facts.source is Source.FOREIGN_NODE
    if agent is None:
        return
    if agent.wallet is None:
        where = " on this chain" if is_foreign else ""
        sentence = f"The agent has no wallet{where}, so no payment can be made to it."
        yield Draft(Code.NO_WALLET, sentence, (agent.wallet_event,))
    elif payment is not None and payment.pay_to != agent.wallet:
        whose = "the wallet" if is_foreign else "the agent's wallet"
        sentence = f"The payment would go to {payment.pay_to[:64]}; {whose} is {agent.wallet}."
        yield Draft(Code.PAY_TO_DIFFERS, sentence, (agent.wallet_event or agent.registered,))
    if agent.wallet is not None and not agent.is_wallet_proven:
        yield Draft(Code.WALLET_UNPROVEN, "The holder set the wallet, but there is no proof that the wallet agreed.")


def payment_chain(facts: Facts, _: Policy) -> Drafts:
    """Yield a reason if the payment is on a chain other than the agent's."""
    agent, payment, chain = facts.agent, facts.payment, facts.as_of.chain
    if agent is not None and payment is not None and payment.chain_id not in (None, chain):
        yield Draft(
            Code.OTHER_CHAIN,
            f"The payment is on chain {payment.chain_id}, but the wallet was proven only on chain {chain}. "
            "There, the same address may be a contract that belongs to someone else.",
            (agent.wallet_event or agent.registered,),
        )


def age(facts: Facts, policy: Policy) -> Drafts:
    """Yield a reason if an agent is younger than the policy requires, or if its age cannot be determined."""
    agent, minimum = facts.agent, days(policy.minimum_age_days)
    if agent is None:
        return
    if not isinstance(agent.age_days, Unknown):
        if agent.age_days < policy.minimum_age_days:
            sentence = f"The agent is {days(agent.age_days)} old; the policy requires {minimum}."
            yield Draft(Code.TOO_YOUNG, sentence, (agent.registered,))
    elif agent.existed is False:
        yield Draft(Code.TOO_YOUNG, f"The agent did not exist {minimum} ago; the policy requires that it did.")
    elif isinstance(agent.existed, Unknown):
        yield Draft(Code.TOO_YOUNG, f"There is no evidence that the agent is {minimum} old, as the policy requires.")


def wallet_change(facts: Facts, policy: Policy) -> Drafts:
    """Yield a reason if the wallet changed recently."""
    agent = facts.agent
    if agent is not None and (change := _recent(agent.wallet_change, policy)) is not None:
        sentence = f"The agent's wallet changed {_when(change, policy)}, to {agent.wallet}."
        yield Draft(Code.WALLET_CHANGED, sentence, (change.event,))


def owner_change(facts: Facts, policy: Policy) -> Drafts:
    """Yield a reason if the owner changed recently."""
    agent = facts.agent
    if agent is not None and (change := _recent(agent.owner_change, policy)) is not None:
        sentence = f"The agent was transferred {_when(change, policy)}, to {agent.owner}. "
        yield Draft(Code.OWNER_CHANGED, f"{sentence}Its earlier ratings belong to a previous owner.", (change.event,))


def _recent(change: Change | Unknown | None, policy: Policy) -> Change | None:
    if change is None or isinstance(change, Unknown):
        return None
    is_recent = change.seconds is None or change.seconds < policy.recent_days * DAY
    return change if is_recent else None


def _when(change: Change, policy: Policy) -> str:
    if change.seconds is None:
        return f"in the last {days(policy.recent_days)}"
    return f"{days(max(0, change.seconds) // DAY)} ago"


def file_state(facts: Facts, _: Policy) -> Drafts:
    """Yield reasons if the agent has no registration file, or if the file could not be read."""
    if facts.registration is None:
        yield Draft(Code.NO_FILE, "The agent has no registration file.", (facts.uri_event,))
        return
    file, evidence = facts.registration.file, _file_evidence(facts)
    if file.state is FileState.WAITING:
        sentence = "The index had not yet fetched the registration file at that block."
        if facts.source is not Source.INDEX:
            sentence = "This machine could not fetch the registration file, through no fault of the file's host."
        yield Draft(Code.FILE_NOT_LOADED, sentence, (facts.uri_event,))
    elif file.problem in _HASH_PROBLEMS:
        sentence = "The registration file's hash does not match the expected one."
        yield Draft(Code.FILE_HASH_DIFFERS, sentence, evidence)
    elif file.state is FileState.MALFORMED:
        yield Draft(Code.FILE_MALFORMED, "The file at the agent's URI is not a registration file.", evidence)
    elif file.problem is not None:
        when = " last time" if facts.source is Source.INDEX else ""
        cause = f": {_CAUSES[file.problem]}" if file.problem in _CAUSES else ""
        yield Draft(Code.FILE_UNREACHABLE, f"The registration file could not be fetched{when}{cause}.", evidence)


def _file_evidence(facts: Facts) -> tuple[Observation, ...]:
    """Return the registration file if it comes from an index, because only such files have numbers in the answer."""
    return () if facts.registration is None or facts.source is not Source.INDEX else (facts.registration.file,)


def confirmation(facts: Facts, _: Policy) -> Drafts:
    """Yield reasons that depend on whether the registration file refers back to the agent."""
    registration, evidence = facts.registration, _file_evidence(facts)
    if registration is None or registration.file.state is not FileState.LOADED or registration.is_confirmed:
        return
    if registration.names_agents:
        sentence = "The registration file lists other agents, but not this one."
        yield Draft(Code.FILE_OF_OTHER_AGENT, sentence, evidence)
    else:
        sentence = "The registration file does not list this agent."
        yield Draft(Code.FILE_UNCONFIRMED, sentence, evidence)


def protection(facts: Facts, _: Policy) -> Drafts:
    """Yield a reason if no hash protects the registration file against changes by the server that hosts it."""
    registration = facts.registration
    if registration is not None and registration.file.state is FileState.LOADED and registration.file.integrity is None:
        sentence = "No hash protects the registration file, so its server can change it."
        yield Draft(Code.FILE_UNPROTECTED, sentence, _file_evidence(facts))


def activity(facts: Facts, _: Policy) -> Drafts:
    """Yield a reason if the registration file declares that the agent is not in service."""
    if facts.registration is not None and facts.registration.active is False:
        yield Draft(Code.INACTIVE, "The registration file says that the agent is inactive.", _file_evidence(facts))


def offer(facts: Facts, _: Policy) -> Drafts:
    """Yield a reason if the registration file does not declare that the agent accepts x402 payments."""
    registration = facts.registration
    if facts.payment is None or registration is None or registration.file.state is not FileState.LOADED:
        return
    if registration.x402_support is not True and not isinstance(registration.x402_support, Unknown):
        sentence = "The registration file does not say that the agent accepts x402 payments."
        yield Draft(Code.PAYMENT_NOT_OFFERED, sentence, _file_evidence(facts))


def other_registrations(facts: Facts, _: Policy) -> Drafts:
    """Yield the agent's registrations in other registries. An index contains only those on foreign chains."""
    if facts.registration is None:
        return
    is_index, evidence = facts.source is Source.INDEX, _file_evidence(facts)
    listed = facts.registration.other_registrations
    for other in listed[:_MOST_CLAIMS] if is_index else listed:
        if other.proof == "both_ways":
            where = f" on {family_of(other.agent)}" if is_index else ""
            sentence = f"The agent is also {other.agent}{where}: both registration files list each other."
            yield Draft(Code.ALSO_PROVEN, sentence, evidence)
        elif is_index:
            sentence = f"The agent also claims to be {other.agent} on {family_of(other.agent)}, {other.problem}."
            yield Draft(Code.ALSO_CLAIMED, sentence, evidence)
        else:
            yield Draft(Code.ALSO_CLAIMED, f"The agent also claims to be {other.agent}: {other.problem}.")


def domains(facts: Facts, policy: Policy) -> Drafts:
    """Yield reasons about the agent's domains. A domain whose file was not read never counts as proven."""
    if isinstance(facts.domains, Unknown):
        return
    file = None if facts.registration is None else facts.registration.file
    if not facts.domains.is_host:
        sentence = "The agent is registered under a domain that is not a host name."
        yield Draft(Code.DOMAIN_UNPROVEN, sentence, (facts.domains.event,))
    elif not facts.domains.domains and policy.require_domain:
        yield Draft(Code.DOMAIN_UNPROVEN, "The agent has no known https domain.", (file,))
    for number, domain in enumerate(facts.domains.domains, 1):
        yield _of_domain(domain, number, (domain.file or file,))


def _of_domain(domain: Domain, number: int, evidence: tuple[Observation | None]) -> Draft:
    """Return the reason for a domain. It gives the domain's number, because a host name may read like a sentence."""
    where = f"{'The agent is registered under' if domain.is_registered else 'A service is at'} domain {number}"
    if domain.is_proven:
        return Draft(Code.DOMAIN_PROVEN, f"Domain {number} confirms the agent.", evidence)
    if domain.is_denied:
        sentence = f"{where}, but the domain lists other agents and not this one."
        return Draft(Code.DOMAIN_DENIED, sentence, evidence)
    if domain.is_read:
        return Draft(Code.DOMAIN_UNPROVEN, f"{where}, but the domain does not list the agent.", evidence)
    sentence = f"{where}. This is unconfirmed: the index has not read the domain's file."
    return Draft(Code.DOMAIN_UNPROVEN, sentence, evidence)


def approvals(facts: Facts, _: Policy) -> Drafts:
    """Yield reasons about the accounts that the owner approved.

    Approved accounts cannot give feedback, so an approval can suppress a review (docs/security.md).
    """
    if isinstance(facts.approvals, Unknown):
        return
    reviewers = [approval for approval in facts.approvals if approval.is_reviewer]
    for approval in reviewers[:_MOST_REVIEWERS]:
        yield Draft(
            Code.REVIEWER_APPROVED,
            f"The owner approved {approval.account}, which reviews agents. An approved account cannot review this one.",
            (approval.event,),
        )
    if more := reviewers[_MOST_REVIEWERS:]:
        sentence = f"The owner approved {number_of(len(more), 'more account')} that review agents."
        yield Draft(Code.REVIEWER_APPROVED, sentence, tuple(approval.event for approval in more[:_EXAMPLES]))
    if facts.approvals:
        sentence = f"The owner approved {number_of(len(facts.approvals), 'account')} that never owned the agent."
        yield Draft(Code.STRANGER_APPROVED, sentence, tuple(approval.event for approval in facts.approvals[:_EXAMPLES]))


def missing_agent(facts: Facts, _: Policy) -> Drafts:
    """Yield a reason if a client has no agent."""
    if facts.agent is None:
        yield Draft(Code.NO_AGENT, f"The account {facts.account} has no agent, so servers cannot rate it.")


def rating_by_asker(facts: Facts, policy: Policy) -> Drafts:
    """Yield reasons from the requesting server's rating of a client."""
    by_us = None if facts.client is None else facts.client.rating_by_asker
    if by_us is None:
        return
    sentence = f"Your rating of the client is {by_us.rating}"
    if by_us.rating < policy.minimum_rating:
        sentence = f"{sentence}; the policy requires {policy.minimum_rating}."
        yield Draft(Code.LOW_RATING_BY_US, sentence, (by_us.event,))
    else:
        yield Draft(Code.RATED_BY_US, f"{sentence}.", (by_us.event,))


def relation(facts: Facts, _: Policy) -> Drafts:
    """Yield a reason if the client and the requesting server have or had an account in common."""
    if facts.client is not None and facts.client.shared_account is not None:
        sentence = f"The client and the server have or had the account {facts.client.shared_account} in common."
        yield Draft(Code.RELATED, sentence, facts.client.shared_events)


def account_age(facts: Facts, policy: Policy) -> Drafts:
    """Yield reasons from the age of an account without an agent."""
    account = None if facts.client is None else facts.client.account_age
    if account is not None and (account.days or 0) < policy.minimum_age_days:
        since = "has never been seen" if account.days is None else f"was first seen {days(account.days)} ago"
        sentence = f"The account {since}; the policy requires an age of {days(policy.minimum_age_days)}."
        yield Draft(Code.TOO_YOUNG, sentence, (account.event,))


def feedback(facts: Facts, _: Policy) -> Drafts:
    """Yield reasons from the feedback that a client gave."""
    if facts.client is None or facts.client.feedback.scaled_agents < _FEW_FEEDBACKS:
        return
    summary = facts.client.feedback
    for code, count, value in (
        (Code.ONLY_LOWEST, summary.lowest, "lowest"),
        (Code.ONLY_HIGHEST, summary.highest, "highest"),
    ):
        if count == summary.scaled:
            sentence = f"All {summary.scaled} feedback entries that the client gave have the {value} value."
            yield Draft(code, sentence, summary.evidence)


def buyer(facts: Facts, policy: Policy) -> Drafts:
    """Yield reasons from the client's record as a buyer and its proven tier."""
    if facts.client is None:
        return
    record, proof, minimum = facts.client.record, facts.client.tier_proof, policy.minimum_buyer_score
    if proof is not None:
        sentence = "The buyer behind the account proved privately, for day "
        yield Draft(Code.TIER_PROVEN, f"{sentence}{proof.epoch}, that its tier is at least {proof.tier}.")
    if record is not None and minimum is not None and record.score < minimum:
        sentence = f"The buyer's score is {record.score}; the policy requires {minimum}."
        yield Draft(Code.LOW_BUYER_SCORE, sentence, record.evidence)


def failed_settlements(facts: Facts, _: Policy) -> Drafts:
    """Yield a reason if payments by the client failed after the requesting server had served it."""
    failures = None if facts.client is None else facts.client.failures
    if failures is None or failures.last_at is None:
        return
    why = ", ".join(f"{count} by {reason.replace('_', ' ')}" for reason, count in sorted(failures.reasons.items()))
    date = datetime.fromtimestamp(failures.last_at, UTC).date()
    sentence = f"{number_of(failures.number, 'payment')} to you failed after you had delivered the service"
    yield Draft(Code.FAILED_SETTLEMENTS, f"{sentence}, the last on {date}: {why}.")


def days(count: int) -> str:
    """Return a number of days as text."""
    return number_of(count, "day")


def number_of(count: int, noun: str) -> str:
    """Return a number of items as text."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
