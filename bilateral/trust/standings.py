"""Standings: the one figure that everything takes which ranks, gates or decides.

An agent has a standing as a server and one as a client. It exists from the first rating. Without an analysis it counts
distinct raters, and those who paid most, and `basis` says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bilateral.trust.arrays import Flags, Floats, Ints, distinct_keys, group_sums, pairs
from bilateral.trust.context import RECORDED
from bilateral.trust.evidence import Stayed
from bilateral.trust.opinions import Kind
from bilateral.trust.scores import Status as ScoreStatus
from bilateral.trust.standing import Basis, Status
from bilateral.trust.standing_rows import Evidence, Figures, named_findings, standing_rows
from bilateral.trust.trials import waiting
from bilateral.values.bounds import QUANTILE
from bilateral.values.standing import LEAST

if TYPE_CHECKING:
    import pyarrow as pa

    from bilateral.trust.context import Context
    from bilateral.trust.engine import Engine
    from bilateral.trust.ledger import Ledger

_UNPAID: Final = 0.2
"""The weight of a rater who did not pay, without an analysis, if payments are known. `scores` gives empty accounts as
much."""


def standings(engine: Engine) -> pa.Table:
    """Return the standings of all agents after an analysis: as servers, and as clients those that are rated.

    Args:
        engine: A fitted engine.

    Returns:
        A table with the columns of `SCHEMA`.
    """
    ledger, scores, suspicion = engine.context_.ledger, engine.scores_, engine.suspicion_
    hand = hands(engine.context_)
    opinions = ledger.opinions
    usable = np.isfinite(opinions.percent) & (suspicion.row < 0.5) & ~suspicion.flagged[opinions.rater]  # noqa: PLR2004
    held = suspicion.withheld
    contested = scores.status == str(ScoreStatus.CONTESTED)
    status = np.select(
        [held, contested, scores.abstain], [str(Status.HELD_BACK), str(Status.CONTESTED), str(Status.THIN)], "ok"
    ).astype(object)
    figures = Figures(
        score=scores.score,
        lower=scores.lower,
        upper=scores.high,
        effective=scores.effective,
        raters=scores.raters,
        removed=scores.removed,
        status=status,
    )
    stayed = Stayed.of(ledger, hand, returned(engine))
    rows = np.flatnonzero(usable & (opinions.rater != ledger.subject_account[opinions.subject]))
    evidence = Evidence.of(ledger, rows, hand, stayed, engine.context_.kin.born)
    waits = {agent: [reason] for agent, reason in waiting(engine.context_, evidence.servers, stayed).items()}
    return standing_rows(ledger, figures, Basis.ANALYSIS, evidence, waits | named_findings(engine, held))


def hands(context: Context) -> Ints:
    """Return the hand that each account belongs to, as the number of one of its accounts.

    Args:
        context: The ledger and what detectors share.
    """
    kin = context.kin
    alone = np.where(kin.acknowledged, kin.root, np.arange(context.ledger.accounts))
    return np.asarray(np.where(kin.collector >= 0, kin.collector, alone))


def returned(engine: Engine) -> Flags:
    """Mark the payments whose money returned, by the detectors that look for it.

    Args:
        engine: A fitted engine.
    """
    marked = np.zeros(len(engine.context_.ledger.payer), bool)
    for detector in engine.detectors:
        marked |= getattr(detector, "returned_", marked)
    return marked


def standings_of_ratings(ledger: Ledger) -> pa.Table:
    """Return the standings of all agents without an analysis: distinct raters count, and those who paid most.

    Nobody is held back by it. Its order withstands repetition, and where payments are known also empty accounts.

    Args:
        ledger: The coded tables, of `bilateral.trust.coding.coded`.

    Returns:
        A table with the columns of `SCHEMA`.
    """
    opinions, size = ledger.opinions, ledger.subjects
    own = ledger.subject_account[opinions.subject] == opinions.rater if len(opinions) else np.zeros(0, bool)
    rows = np.flatnonzero(np.isfinite(opinions.percent) & (opinions.kind != Kind.CONSTANT_TAG) & ~own)
    keys, pair = np.unique(pairs(opinions.subject[rows], opinions.rater[rows], ledger.accounts), return_inverse=True)
    mean = group_sums(opinions.percent[rows], pair, len(keys)) / np.maximum(np.bincount(pair, minlength=len(keys)), 1)
    subject, rater = keys // max(ledger.accounts, 1), keys % max(ledger.accounts, 1)
    weight = _weights_by_payment(ledger, subject, rater)
    effective = group_sums(weight, subject, size)
    share = group_sums(weight * mean, subject, size) / np.maximum(effective, 1e-9)
    lower, upper = _interval(share / 100, effective)
    raters = np.bincount(subject, minlength=size)
    figures = Figures(
        score=share,
        lower=lower,
        upper=upper,
        effective=effective,
        raters=raters,
        removed=np.zeros(size),
        status=np.where(effective < LEAST, str(Status.THIN), str(Status.OK)).astype(object),
    )
    hand = np.arange(ledger.accounts)
    stayed = Stayed.of(ledger, hand, np.zeros(len(ledger.payer), bool))
    born = np.full(ledger.accounts, np.inf)
    np.minimum.at(born, opinions.rater, opinions.ts)
    return standing_rows(ledger, figures, Basis.RATINGS, Evidence.of(ledger, rows, hand, stayed, born), {})


def _weights_by_payment(ledger: Ledger, subject: Ints, rater: Ints) -> Floats:
    """Return the weight of each rater of a subject: less if it did not pay, where payments are known."""
    paid = (ledger.payer >= 0) & (ledger.paid_agent >= 0) & (ledger.amount > 0)
    bought = distinct_keys(pairs(ledger.paid_agent[paid], ledger.payer[paid], ledger.accounts))
    agent = ledger.subject_agent[subject] if len(subject) else subject
    is_server = ledger.subject_kind[subject] == Kind.FEEDBACK if len(subject) else np.zeros(0, bool)
    has_paid = np.isin(pairs(np.maximum(agent, 0), rater, ledger.accounts), bought) & is_server
    if not is_server.any() or has_paid[is_server].mean() < RECORDED:
        return np.ones(len(subject))
    return np.where(has_paid | ~is_server, 1.0, _UNPAID)


def _interval(share: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Return Wilson's bounds in percent, as `bilateral.values.bounds` has them, for counts that need not be whole."""
    count, squared = np.maximum(count, 1e-9), QUANTILE**2
    centre = share + squared / (2 * count)
    spread = QUANTILE * np.sqrt((share * (1 - share) + squared / (4 * count)) / count)
    lower, upper = ((centre + sign * spread) / (1 + squared / count) * 100 for sign in (-1, 1))
    return np.clip(lower, 0.0, 100.0), np.clip(upper, 0.0, 100.0)
