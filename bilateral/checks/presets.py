"""Policies with a name: what each of them asks beyond the defaults. `docs/checks.md` describes them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from bilateral.checks.verdicts import Code, Severity


class PolicyName(StrEnum):
    """The names of policies."""

    BALANCED = "balanced"
    """The defaults."""

    STRICT = "strict"
    """No trials: a rating that is high enough for sure, by several raters, whose evidence cost more than the stake."""

    OWN_LIST = "own-list"
    """Acceptance only of agents that the asker's own reviewers vouch for."""


_STRICT: Final = (
    *(Code.FEW_RATERS, Code.LOW_RATING, Code.OWN_RATINGS, Code.FILE_UNCONFIRMED, Code.FILE_UNREACHABLE),
    *(Code.WALLET_CHANGED, Code.OWNER_CHANGED, Code.REVIEWER_APPROVED, Code.RELATED, Code.CONTESTED),
    *(Code.UNCERTAIN_RATING, Code.STAKE_ABOVE_EVIDENCE),
)
"""The reasons that only ask for caution by default, and decline under the strict policy."""

_DECLINES_STRANGERS: Final = {"newcomers": "decline", "anonymous": "decline", "first_purchase": 0}

PRESETS: Final[Mapping[PolicyName, Mapping[str, Any]]] = {
    PolicyName.BALANCED: {},
    PolicyName.STRICT: {
        **_DECLINES_STRANGERS,
        "minimum_evidence": 1,
        "minimum_raters": 5,  # the fewest whose mean one false rater moves by at most a fifth of the scale
        "severities": dict.fromkeys(_STRICT, Severity.DECLINE),
    },
    PolicyName.OWN_LIST: {
        **_DECLINES_STRANGERS,
        "minimum_raters": 1,  # each of them was chosen by the asker, so that the word of one suffices
        "severities": {Code.UNCERTAIN_RATING: Severity.NOTE},
    },
}
"""The fields of each policy that differ from the defaults."""


def with_preset(fields: Any) -> Any:
    """Return the fields of a policy, with those of the policy that they name. Own fields count more.

    Args:
        fields: The fields by name, a name, or anything that is not a policy.
    """
    if isinstance(fields, str):
        fields = {"name": fields}
    named = fields.get("name") if isinstance(fields, Mapping) else None
    if not isinstance(named, str) or named not in PRESETS:
        return fields  # the caller learns by its validation
    preset = PRESETS[PolicyName(named)]
    merged = {**preset, **fields}
    if isinstance(own := fields.get("severities", {}), Mapping):
        merged["severities"] = {**preset.get("severities", {}), **own}
    return merged
