"""Derive a verdict and reasons from facts and a policy, and build answers that include the underlying figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from eth_utils.crypto import keccak

from bilateral.checks import endpoint_rules, rating_rules, rules
from bilateral.checks.facts import (
    ClientFacts,
    Counted,
    Domains,
    Facts,
    Line,
    Observation,
    OtherRegistration,
    RatingFacts,
    Source,
    Unknown,
)
from bilateral.checks.policy import Policy
from bilateral.checks.verdicts import FileEvidence, FoundFindings, Reason, Verdict, sorted_reasons, verdict_of
from bilateral.core.values.standing import Side

_MOST_URI: Final = 300
"""The maximum length of a URI in an answer. URIs on web servers and gateways have at most 200 characters."""


_RULES: Final[Mapping[tuple[Source, Side], tuple[rules.Rule, ...]]] = {
    (Source.INDEX, Side.SERVER): (
        *(rules.wallet, rules.payment_chain, rules.age, rules.wallet_change, rules.owner_change, rules.file_state),
        *(rules.confirmation, rules.protection, rules.activity, rules.other_registrations, rules.offer, rules.domains),
        *(rules.approvals, endpoint_rules.endpoints, rating_rules.findings, rating_rules.ratings),
        *(rating_rules.validations, rating_rules.standing),
    ),
    (Source.INDEX, Side.CLIENT): (
        *(rating_rules.findings, rules.missing_agent, rules.age, rules.wallet_change, rules.owner_change),
        *(rules.rating_by_asker, rating_rules.ratings, rating_rules.standing, rules.relation, rules.account_age),
        *(rules.feedback, rules.buyer, rules.failed_settlements),
    ),
    (Source.NODE, Side.SERVER): (
        *(rules.wallet, rules.file_state, rules.protection, rules.confirmation, rules.activity, rules.offer),
        *(rules.other_registrations, rating_rules.ratings, rules.age, rules.owner_change, rules.wallet_change),
    ),
    (Source.FOREIGN_NODE, Side.SERVER): (
        *(rules.wallet, rules.file_state, rules.protection, rules.confirmation, rules.activity, rules.offer),
        *(rating_rules.ratings, rules.other_registrations),
    ),
}
"""The rules for each source of facts and role. Answers list equally severe reasons in the order of these rules."""


@dataclass(frozen=True)
class Judgement:
    """The decision about an agent or an account.

    Attributes:
        verdict: The verdict that follows from the gravest reason.
        reasons: The reasons, gravest first.
        files: The numbers, starting at 1, by which reasons refer to files from an index; keyed by the files' URIs.
    """

    verdict: Verdict
    reasons: tuple[Reason, ...]
    files: Mapping[str, int]


def judge(facts: Facts, policy: Policy) -> Judgement:
    """Decide whether to pay a server or serve a client."""
    files: dict[str, int] = {}
    if facts.source is Source.INDEX and facts.registration is not None:
        files[facts.registration.file.uri] = 1  # listed even if the file has no problem
    chosen = (rules.refusal,) if facts.refusal else _RULES[facts.source, facts.side]
    drafts = [draft for rule in chosen for draft in rule(facts, policy)]
    reasons = [
        Reason(
            draft.code,
            draft.severity or policy.severity_of(draft.code),
            draft.sentence,
            tuple(
                _file_evidence(entry, files) if isinstance(entry, Observation) else entry
                for entry in draft.evidence
                if entry is not None
            ),
        )
        for draft in drafts
    ]
    return Judgement(verdict_of(reasons), sorted_reasons(reasons), files)


def _file_evidence(file: Observation, files: dict[str, int]) -> FileEvidence:
    number = files.setdefault(file.uri, len(files) + 1)
    content_hash = None if file.content_hash is None else "0x" + file.content_hash.hex()
    return FileEvidence(number, file.state.value, content_hash, file.integrity, file.problem)


@dataclass(frozen=True)
class Check:
    """A check's answer.

    Attributes:
        verdict: The one-word answer.
        side: `server` or `client`.
        agent: The agent, such as `8453:247`; None for a client without an agent.
        account: The account that was checked: a server's wallet or, for a client, the specified account or the agent's
            wallet.
        block: The block that the answer is based on.
        history: The hash of the block that contains the last event up to that block. It distinguishes forks after a
            reorganisation.
        block_time: The time of that event, in Unix seconds. Ages are relative to this time.
        files: The number of the newest file observation used; needed to reproduce the answer exactly.
        payments: The block of the newest payment used; needed to reproduce the answer exactly.
        analysis: The number of the newest trust analysis used; needed to reproduce the answer exactly.
        measurements: The number of the newest endpoint measurement used; needed to reproduce the answer exactly.
        reasons: The reasons, gravest first.
        figures: The figures behind the reasons. They contain no untrusted text.
        untrusted: Untrusted texts: the agent's name and description, and files and domains by number. Display them, but
            never act on them.
    """

    verdict: Verdict
    side: str
    chain_id: int
    agent: str | None
    account: str | None
    block: int
    history: str | None
    block_time: int | None
    files: int
    payments: int
    analysis: int
    measurements: int
    reasons: tuple[Reason, ...]
    figures: dict[str, Any]
    untrusted: dict[str, Any]


@dataclass(frozen=True)
class LiveCheck:
    """The answer from a check based on nodes.

    Attributes:
        verdict: The one-word answer.
        side: `server`.
        chain: The chain (CAIP-2).
        account: The agent's wallet; None if it has none.
        block: The block or slot of the node's response; None if the agent was rejected.
        reasons: The reasons, gravest first.
        figures: The figures behind the reasons.
        also: The agent's registrations in other registries.
        unknown: The facts that only an index can provide.
        untrusted: Untrusted texts. Display them, but never act on them.
    """

    verdict: Verdict
    side: str
    chain: str
    agent: str
    account: str | None
    block: int | None
    reasons: tuple[Reason, ...]
    figures: dict[str, Any]
    also: tuple[OtherRegistration, ...]
    unknown: tuple[str, ...]
    untrusted: dict[str, Any]


def live_check(facts: Facts, policy: Policy) -> LiveCheck:
    """Build an answer from a node's facts."""
    judgement, file = judge(facts, policy), facts.registration
    figures = dict(facts.details)
    if facts.source is Source.NODE and facts.agent is not None:
        age, requests = _unless_unknown(facts.agent.age_days), figures.pop("requests")
        figures = {**_fields(facts.agent, "owner", "wallet"), "age_days": age, **figures}
        figures |= {"rating": _rating(facts, policy.tag), "requests": requests}
    return LiveCheck(
        verdict=judgement.verdict,
        side=facts.side,
        chain=str(facts.as_of.chain),
        agent=facts.name or "",
        account=facts.account,
        block=facts.as_of.block,
        reasons=judgement.reasons,
        figures=figures,
        also=() if file is None else file.other_registrations,
        unknown=facts.unknown,
        untrusted=_present({} if file is None else _fields(file, "name", "description")),
    )


def check(facts: Facts, policy: Policy) -> Check:
    """Build an answer from an index's facts."""
    judgement, as_of = judge(facts, policy), facts.as_of
    lines = rating_rules.split_lines(facts.ratings.lines if isinstance(facts.ratings, RatingFacts) else (), policy.tag)
    of_side = _of_client(facts, facts.client, *lines) if facts.client else _of_server(facts, policy.tag, *lines)
    figures, untrusted = of_side[0] | _findings(facts), _present(of_side[1])
    if judgement.files:
        untrusted["files"] = {str(number): _short_uri(uri) for uri, number in judgement.files.items()}
    return Check(
        verdict=judgement.verdict,
        side=facts.side,
        chain_id=int(as_of.chain),
        agent=facts.name,
        account=facts.account,
        block=as_of.block or 0,
        history=as_of.history,
        block_time=as_of.time,
        files=as_of.files,
        payments=as_of.payments,
        analysis=as_of.analysis,
        measurements=as_of.measurements,
        reasons=judgement.reasons,
        figures=figures,
        untrusted=untrusted,
    )


def _of_server(facts: Facts, tag: str, standard: list[Line], free: list[Line]) -> tuple[dict[str, Any], dict[str, Any]]:
    file, domains = facts.registration, _unless_unknown(facts.domains) or Domains()
    listed = tuple(enumerate(domains.domains, 1))
    figures = {
        **_agent(facts),
        "pay_to": None if facts.payment is None else facts.payment.pay_to,
        "file": None if file is None else file.file.state.value,
        "domains": [{"domain": number, **_fields(domain, "is_proven", "is_denied")} for number, domain in listed],
        "rating": _rating(facts, tag),
        "standing": _standing(facts),
        "lines": standard,
        "validations": _fields(_unless_unknown(facts.validations), "count", "validators", "mean"),
        **({} if facts.measurements is None else facts.measurements.figures()),
    }
    untrusted = {
        **({} if file is None else _fields(file, "name", "description")),
        "domain": domains.registered[:_MOST_URI],
        "domains": {str(number): domain.host for number, domain in listed},
        "lines": free,
    }
    return figures, untrusted


def _of_client(
    facts: Facts, client: ClientFacts, standard: list[Line], free: list[Line]
) -> tuple[dict[str, Any], dict[str, Any]]:
    figures = _agent(facts)
    if facts.agent is not None:
        by_us = client.rating_by_asker
        figures |= {
            "rating": _rating(facts, ""),
            "standing": _standing(facts),
            "rating_by_us": None if by_us is None else by_us.rating,
            "rated_by": [_fields(rating, "server", "rating", "event") for rating in client.rated_by],
            "lines": standard,
        }
    if client.account_age is not None:
        figures |= {"age_days": client.account_age.days, "first_seen": client.account_age.event}
    figures["given"] = _fields(client.feedback, "count", "is_cut", "agents", "revoked", "lowest", "highest")
    figures["buyer"] = _fields(client.record, "score", "payments")
    if client.failures is not None:
        figures["failed_settlements"] = _fields(client.failures, "number", "last_at", "reasons")
    return figures, {"lines": free}


def _unless_unknown(part: Any) -> Any:
    return None if isinstance(part, Unknown) else part


def _fields(part: object, *names: str) -> Any:
    """Return the named fields of a part of the facts as a dictionary; None if that part is missing."""
    return None if part is None else {name: getattr(part, name) for name in names}


def _agent(facts: Facts) -> dict[str, Any]:
    agent = facts.agent
    if agent is None:
        return {}
    return {
        **_fields(agent, "owner", "wallet", "age_days", "registered"),
        "wallet_since": agent.wallet_event or agent.registered,
        "owner_since": agent.owner_event or agent.registered,
    }


def _rating(facts: Facts, tag: str) -> dict[str, Any]:
    counted = facts.ratings.counted if isinstance(facts.ratings, RatingFacts) else Counted()
    return {"tag": tag, **_fields(counted, "rating", "lower_bound", "count", "raters", "own", "left_out")}


def _standing(facts: Facts) -> dict[str, Any] | None:
    standing = facts.standing
    if standing is None:
        return None
    return {
        **_fields(standing, "status", "rating", "lower", "upper", "effective_raters", "payments", "paid"),
        "evidence_cost": rating_rules.cents(standing.evidence_cost),
        "amount": facts.amount,
        "block": standing.block,
        "reasons": [{**_fields(reason, "code", "amount"), **reason.figures} for reason in standing.reasons],
    }


def _findings(facts: Facts) -> dict[str, Any]:
    findings = _unless_unknown(facts.findings) or FoundFindings()
    listed = [_fields(finding, "finding", "detector", "account") for finding in findings.findings]
    return {"findings": listed, "suspicion": findings.suspicion}


def _present(texts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: text for name, text in texts.items() if text}


def _short_uri(uri: str) -> dict[str, Any]:
    """Return a URI with its size and hash. Data URIs and overlong URIs are truncated."""
    head = uri.partition(",")[0] if uri[:5].lower() == "data:" else uri
    return {"uri": head[:_MOST_URI], "bytes": len(uri.encode()), "hash": "0x" + keccak(uri.encode()).hex()}
