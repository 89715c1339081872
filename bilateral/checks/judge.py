"""The judge: a verdict and its reasons, from facts and a policy alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bilateral.checks import rating_rules, rules
from bilateral.checks.facts import Facts, Observation, Source
from bilateral.checks.policy import Policy
from bilateral.checks.verdicts import FileEvidence, Reason, Verdict, sorted_reasons, verdict_of
from bilateral.core.values.standing import Side

_RULES: Final[Mapping[tuple[Source, Side], tuple[rules.Rule, ...]]] = {
    (Source.INDEX, Side.SERVER): (
        *(rules.wallet, rules.payment_chain, rules.age, rules.wallet_change, rules.owner_change, rules.file_state),
        *(rules.confirmation, rules.protection, rules.activity, rules.other_registrations, rules.offer, rules.domains),
        *(rules.approvals, rating_rules.findings, rating_rules.ratings, rating_rules.validations),
        rating_rules.standing,
    ),
    (Source.INDEX, Side.CLIENT): (
        *(rating_rules.findings, rules.missing_agent, rules.age, rules.wallet_change, rules.owner_change),
        *(rules.rating_by_asker, rating_rules.ratings, rating_rules.standing, rules.relation, rules.account_age),
        *(rules.feedback, rules.buyer),
    ),
    (Source.NODE, Side.SERVER): (
        *(rules.wallet, rules.file_state, rules.protection, rules.confirmation, rules.activity, rules.offer),
        *(rules.other_registrations, rating_rules.ratings, rules.age, rules.owner_change, rules.wallet_change),
    ),
    (Source.SOLANA, Side.SERVER): (
        *(rules.wallet, rules.file_state, rules.protection, rules.confirmation, rules.activity, rules.offer),
        *(rating_rules.ratings, rules.other_registrations),
    ),
}
"""The rules for the facts of each source, in the order in which its answers list reasons of one severity."""


@dataclass(frozen=True)
class Judgement:
    """The decision about an agent or an account.

    Attributes:
        verdict: The verdict, that of the gravest reason.
        reasons: The reasons, the gravest first.
        files: The number by which reasons name each file of an index, by URI. The first is 1.
    """

    verdict: Verdict
    reasons: tuple[Reason, ...]
    files: Mapping[str, int]


def judge(facts: Facts, policy: Policy) -> Judgement:
    """Decide about a server or a client."""
    files: dict[str, int] = {}
    if facts.source is Source.INDEX and facts.registration is not None:
        files[facts.registration.file.uri] = 1  # the answer names it also if nothing is wrong with it
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
    """Return a file as evidence, without its URI."""
    number = files.setdefault(file.uri, len(files) + 1)
    content_hash = None if file.content_hash is None else "0x" + file.content_hash.hex()
    return FileEvidence(number, file.state.value, content_hash, file.integrity, file.problem)
