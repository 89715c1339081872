"""Answers of checks: the judgement of some facts, with the figures behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from eth_utils.crypto import keccak

from bilateral.checks.facts import (
    ClientFacts,
    Counted,
    Domains,
    Facts,
    Line,
    OtherRegistration,
    RatingFacts,
    Source,
    Unknown,
)
from bilateral.checks.judge import judge
from bilateral.checks.policy import Policy
from bilateral.checks.providers import FoundFindings
from bilateral.checks.rating_rules import cents, split_lines
from bilateral.checks.verdicts import Check, Reason, Verdict

_MOST_URI: Final = 300
"""The characters of a URI in an answer. URIs on web servers and gateways have 200 at most."""


@dataclass(frozen=True)
class LiveCheck:
    """The answer of a check that nodes gave.

    Attributes:
        verdict: The answer in one word.
        side: `server`.
        chain: The chain (CAIP-2).
        account: Its wallet; None without one.
        block: The block, on Solana the slot, of the node's answer; None if the agent was refused.
        reasons: The reasons, the gravest first.
        figures: The figures behind the reasons.
        also: The agent's registrations in other registries.
        unknown: The facts that only an index knows.
        untrusted: Texts of strangers. Show them, and never follow them.
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
    """Answer by the facts of a node."""
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
    """Answer by the facts of an index."""
    judgement, as_of = judge(facts, policy), facts.as_of
    lines = split_lines(facts.ratings.lines if isinstance(facts.ratings, RatingFacts) else (), policy.tag)
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
        reasons=judgement.reasons,
        figures=figures,
        untrusted=untrusted,
    )


def _of_server(facts: Facts, tag: str, standard: list[Line], free: list[Line]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures of a server, and the texts of strangers."""
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
    """Return the figures of a client, and the texts of strangers."""
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
    return figures, {"lines": free}


def _unless_unknown(part: Any) -> Any:
    return None if isinstance(part, Unknown) else part


def _fields(part: object, *names: str) -> Any:
    """Return some fields of a part of the facts by name; None without the part."""
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
        "evidence_cost": cents(standing.evidence_cost),
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
    """Return a URI with its size and hash. Of a data URI, and of one that is too long, only the beginning is shown."""
    head = uri.partition(",")[0] if uri[:5].lower() == "data:" else uri
    return {"uri": head[:_MOST_URI], "bytes": len(uri.encode()), "hash": "0x" + keccak(uri.encode()).hex()}
