"""The study: its jobs, and the page that its figures make."""

from __future__ import annotations

import pytest

from bench.market import page, study
from bench.market.framing import GROUPS, KINDS
from bench.market.plans import STRATEGIES
from bench.market.policies import state
from bench.market.settings import GAS

WORDS = 1_500


def outcome(lost=0.02):
    row = {"lost": lost, "value": 30_000.0, "declined": 0.001, "served": 1.0, "profit": -0.5, "newcomers": 0.1}
    strategies = dict.fromkeys(STRATEGIES, (12, 300.0, 100.0, 50.0, 20.0))
    return row | {study.BEFORE: -0.6, "strategies": strategies, study.STRATEGIES_BEFORE: strategies}


def result(job):
    """Return a figure as a job returns it."""
    if job.part == "framed":
        return {"kind": job.arguments[1], **dict.fromkeys(GROUPS, 0.123)}
    if job.part == "sizes":
        names = ("opinions", "held", "held of the most paid", "held of good", "seconds")
        return dict.fromkeys(names, 123_456.0)
    if job.part == "checked":
        names = ("good accept", "good decline", "served", "cheated accept", "lost", "lost without", "asks", "cheats")
        return [{"policy": policy} | dict.fromkeys(names, 0.5) for policy in ("`balanced`", "`strict`", "`own-list`")]
    if job.part == "dead":
        row = dict.fromkeys(("lost", "served", "silent", "refused", "falsely"), 0.0123)
        return {"without": row, "with": row}
    return {"asks": 1.2, "evidence": {"ratio": 1.5}}.get(job.part, outcome())


@pytest.fixture
def figures():
    """Return figures of all parts."""
    out = {}
    for part, jobs in study.STEPS.items():
        out[part] = {}
        for job in jobs():
            out[part].setdefault(job.name, []).append(result(job))
    return out


def test_the_whole_page_has_at_most_1500_words(figures):
    assert len(page.text(figures).split()) <= WORDS


def test_a_page_without_figures_names_what_is_not_measured():
    text = page.text({})
    assert "| money lost to fraud, 0 seeds | not measured |" in text
    assert "## Slander" not in text


def test_the_worse_end_of_an_interval_decides():
    assert page.bar("lost", [0.01, 0.02, 0.03], 3, 2) == "| lost | 2.00 (4.48) | ≤ 3 %: **miss** | ≤ 2 %: **miss** |"
    assert page.bar("lost", [0.01], 3, 1) == "| lost | 1.00 | ≤ 3 %: pass | ≤ 1 %: pass |"


def test_the_price_of_good_service_is_no_profit():
    row = outcome() | {"strategies": {"exit scam": (1, 60.0, 99.0, 0.0, 100.0)}, study.STRATEGIES_BEFORE: {}}
    market, campaign, (profit,) = page.profits([row], "exit scam")
    assert (market, campaign, profit) == pytest.approx((49.5, 99.0, 0.0))


def test_dear_strategies_alone_count_as_the_best():
    row = outcome() | {
        "strategies": {"start anew": (50, 40.0, 80.0, 0.0, 0.0), "ring": (1, 50.0, 40.0, 0.0, 0.0)},
        study.STRATEGIES_BEFORE: {"start anew": (50, 40.0, 80.0, 0.0, 0.0), "ring": (1, 50.0, 40.0, 0.0, 0.0)},
    }
    assert page.best_strategy([row], by_campaign=False)[0] == "start anew"
    assert page.best_strategy([row], by_campaign=True) == ("ring", [pytest.approx(-0.2)])


def test_our_decisions_have_ten_seeds_on_both_chains():
    jobs = [job for job in study.STEPS["attacked"]() if job.name == study.WEIGHED]
    assert len(jobs) == 10
    assert {study.market_of(seed).gas for _, seed in (job.arguments for job in jobs)} == set(GAS)
    assert len(study.STEPS["framed"]()) == len(study.FRAMED) * len(KINDS)


def test_measures_are_taken_in_processes_and_recorded_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "FIGURES", tmp_path / "figures.json")
    monkeypatch.setitem(study.STEPS, "asks", lambda: [study.Job("asks", str(n), abs, (-n,)) for n in (3, 1, 2, 2)])
    told, figures = [], {}
    study.measure(study.STEPS["asks"](), figures, told.append)
    assert figures["asks"] == {"3": [3], "1": [1], "2": [2, 2]}
    assert study.recorded() == figures
    assert figures["states"] == {"asks": state()}
    assert len(told) == 4
    assert told[-1].startswith("4 of 4: asks, ")
