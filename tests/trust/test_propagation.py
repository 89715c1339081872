"""Trust spreads from a reader's list only; suspicion spreads from reviewed cases only."""

from __future__ import annotations

import numpy as np
import pytest

from bilateral.core.errors import InvalidArgumentError
from bilateral.trust.detectors.reviewed import ReviewedGroups
from bilateral.trust.tables.propagation import EigenTrust, LabelSpreading
from tests.trust.conftest import names


def test_sybils_share_what_one_honest_account_gives_away():
    def gained(sybils):
        source = np.concatenate([[0, 1], np.repeat(2, sybils), np.arange(3, 3 + sybils)])
        target = np.concatenate([[1, 2], np.arange(3, 3 + sybils), np.repeat(2, sybils)])
        fit = EigenTrust().fit(source, target, np.ones(len(source)), np.array([0]), 3 + sybils)
        return fit.trust_[2:].sum()

    assert gained(100) == pytest.approx(gained(3), abs=1e-6)


def test_trust_sums_to_one_and_reaches_no_stranger():
    fit = EigenTrust().fit(np.array([0, 2]), np.array([1, 3]), np.ones(2), np.array([0]), 4)
    assert fit.trust_.sum() == pytest.approx(1)
    assert fit.reached_.tolist() == [True, True, False, False]


def test_an_empty_list_is_refused():
    with pytest.raises(InvalidArgumentError, match="the list of trusted accounts is empty"):
        EigenTrust().fit(np.array([0]), np.array([1]), np.ones(1), np.array([], np.int64), 2)


def test_labels_reach_their_own_component_only():
    left, right = np.array([0, 1, 3]), np.array([1, 2, 4])
    score = LabelSpreading().fit(left, right, np.ones(3), np.array([1, -1, -1, 0, -1])).score_
    assert score[1] > 0
    assert score[2] > 0
    assert score[4] < 0


def test_without_labels_nobody_is_suspect():
    assert not LabelSpreading().fit(np.array([0]), np.array([1]), np.ones(1), np.array([-1, -1])).score_.any()


@pytest.mark.parametrize(("guilty", "innocent", "doubt"), [(1, 0, 1 / 3), (4, 0, 1 / 6), (4, 4, 1 / 2)])
def test_kin_of_reviewed_accounts_are_suspected_as_far_as_the_cases_say(market, guilty, innocent, doubt):
    for number in range(12):
        market.transfer("boss", f"child{number}", 5.0, 100.0)
        market.feedback(f"child{number}", 1, 80)
    market.transfer("child11", "boss", 1.0, 9000.0)
    context = market.context()
    place = {address: number for number, address in enumerate(context.ledger.addresses.to_pylist())}
    verdicts = {place[f"child{number}"]: number < guilty for number in range(guilty + innocent)}
    findings = ReviewedGroups(verdicts).fit(context).findings_
    assert findings[0].q_value == pytest.approx(doubt)
    assert names(context, findings[0].actors) == {"child11"}
    assert len(findings[0].tied) == 11 - guilty - innocent
