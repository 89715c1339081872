"""The rule by which a subject is held back: listed apart, and not to be paid.

To rank somebody lower needs little. To hold somebody back needs evidence of two independent kinds, or very strong
evidence of one, and praise that the subject's own acts tie to it. Others cannot bring that about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bilateral.trust.suspicion import GUILTY

if TYPE_CHECKING:
    from bilateral.trust.arrays import Flags
    from bilateral.trust.engine import Engine

_KINDS: Final[dict[str, tuple[str, ...]]] = {
    "money": ("wash payments", "links"),
    "company": ("co-targeting", "blocks", "lockstep"),
    "values": ("values", "reliability", "retaliation"),
}
"""Detectors that rest on the same rows are one kind. Change points tell of time alone, and are left out."""

_OWN_ACTS: Final = ("wash payments", "links")
"""Detectors by which an account gains through an act of its own."""

_EACH: Final = 1.0
"""The digits of the false discovery rate that each of two kinds needs."""

_ALONE: Final = 4.0
"""The digits that one kind needs alone: one false subject among ten thousand that are so marked."""

_FALSE: Final = 0.3
"""The share of its raters that must be false for a subject to be held back by them."""


def held_back(engine: Engine) -> Flags:
    """Mark the subjects that are held back.

    Args:
        engine: A fitted engine.

    Returns:
        One mark a subject of the ledger.
    """
    found, ledger, scores = engine.suspicion_, engine.context_.ledger, engine.scores_
    digits = np.zeros((len(_KINDS), ledger.subjects))
    for finding in engine.findings_:
        kind = next((place for place, names in enumerate(_KINDS.values()) if finding.detector in names), None)
        if kind is not None and finding.strength >= _EACH:
            np.maximum.at(digits[kind], ledger.opinions.subject[finding.opinions], finding.strength)
    account = ledger.subject_account
    tied = np.max([found.parts[name] for name in _OWN_ACTS if name in found.parts] or [found.unranked], axis=0)
    digits.sort(axis=0)
    proven = (digits[-2] >= _EACH) | (tied[account] >= _ALONE)
    by_praise = found.flagged[account] & proven & (scores.removed >= _FALSE) & (scores.raters > 0)
    return np.asarray(by_praise | (found.unranked >= GUILTY)[account], bool)
