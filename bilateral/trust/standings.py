"""Standings: the one figure that everything takes which ranks, gates or decides.

An agent has a standing as a server and one as a client, from the first analysis that sees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bilateral.trust.arrays import Flags, Ints
from bilateral.trust.evidence import Stayed
from bilateral.trust.scores import Status as ScoreStatus
from bilateral.trust.standing import Status
from bilateral.trust.standing_rows import Evidence, Figures, named_findings, standing_rows
from bilateral.trust.trials import waiting

if TYPE_CHECKING:
    import pyarrow as pa

    from bilateral.trust.context import Context
    from bilateral.trust.engine import Engine


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
    return standing_rows(ledger, figures, evidence, waits | named_findings(engine, held))


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
