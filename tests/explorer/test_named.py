"""Findings in words: accounts and agents by name, a strength, a strip of time; and agents side by side."""

from __future__ import annotations

import re

import httpx
import numpy as np
import pyarrow as pa
import pytest
from sqlalchemy import insert

from bilateral.api.settings import ApiSettings
from bilateral.explorer.charts import axis, interval, time_marks
from bilateral.index.log.database import open_database
from bilateral.index.standing.tables import standing, standing_refresh
from bilateral.trust.results import _cluster_numbers
from tests.api.world import served
from tests.explorer.html import Page
from tests.explorer.stored import CLIENT, IDENTITY, RIVAL, evidence_index


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """An HTTP client of the service over the index of evidence, with standings of two agents."""
    database = f"sqlite:///{tmp_path_factory.mktemp('named') / 'index.sqlite'}"
    evidence_index(database)
    engine = open_database(database)
    held = {
        "chain_id": 8453,
        "identity_registry": IDENTITY,
        "side": "server",
        "status": "ok",
        "upper_bound": 95.0,
        "effective_raters": 2.5,
        "raters": 4,
        "payments": 1,
        "paid": 1.5,
        "first_at": 1,
        "last_at": 2,
        "evidence_cost": 3.25,
        "reasons": "[]",
    }
    refresh = {"chain_id": 8453, "identity_registry": IDENTITY, "block_number": 1, "made_at": 3}
    with engine.begin() as connection:
        connection.execute(insert(standing_refresh), refresh)
        for agent_id, rating in ((1, 90.0), (2, 60.0)):
            row = {**held, "agent_id": agent_id, "rating": rating, "lower_bound": rating - 10}
            connection.execute(insert(standing), row)
    engine.dispose()
    settings = ApiSettings(database=database, rate=None, query_seconds=60.0, max_silence=10**9)
    with served(settings) as url, httpx.Client(base_url=url, timeout=60, headers={"Accept": "text/html"}) as client:
        yield client


def test_finding_names_accounts_agents_strength_and_time_and_leaves_figures_to_experts(site):
    answer = site.get("/base/findings/lockstep-1")
    shown = Page(answer.text)
    assert "Strong evidence." in shown.text
    assert re.search("Responsible: .*P\u0430ypa\u0406 Agent", shown.text)
    assert "Target (not blamed): Paypal Agent" in shown.text
    assert {"/base/1", "/base/2", f"/accounts/{CLIENT}"} <= set(shown.attributes("href"))
    assert 'aria-label="2 events from' in answer.text
    before, _, experts = answer.text.partition("Details")
    assert "False discovery rate" in experts
    assert "False discovery rate" not in before


@pytest.mark.parametrize("path", [f"/accounts/{CLIENT}", "/base/1", "/base/clusters/1", "/base/analysis"])
def test_findings_of_each_page_say_who_acted_about_whom_and_how_strong_they_are(site, path):
    answer = site.get(path)
    shown = Page(answer.text)
    assert re.search(r"2 accounts rated .*Paypal Agent.* together", shown.text)
    assert re.search(r"Strong evidence against 0x\w+…\w+ 0x\w+…\w+ ;", shown.text), "the subject is none of them"
    assert "target, not blamed: Paypal Agent" in shown.text
    assert {f"/accounts/{CLIENT}", f"/accounts/{RIVAL}"} <= set(shown.attributes("href"))
    assert 'aria-label="2 events from' in answer.text


def test_page_of_the_target_of_a_finding_says_that_it_is_not_blamed(site):
    own = {path: Page(site.get(path).text).text for path in ("/base/1", f"/accounts/{CLIENT}")}
    assert "Its own account is the target and is not blamed" in own["/base/1"]
    assert "This account acted" in own[f"/accounts/{CLIENT}"]


def test_two_agents_are_compared_on_one_axis_with_trust_and_payments(site):
    answer = site.get("/compare?first=base/1&second=base/2")
    shown = Page(answer.text)
    assert 'aria-label="Paypal Agent: 90; ' in answer.text
    assert answer.text.count('class="range s"') == 2
    assert "Paid $1.50 $1.50" in shown.text
    assert "Spent by its raters elsewhere $3.25 $3.25" in shown.text


def test_bar_of_a_rating_is_pale_over_its_interval_with_a_mark_at_the_rating():
    places = re.findall(r'<rect x="([\d.]+)"(?: y="2")? width="([\d.]+)"', interval(25.0, 50.0, 75.0, "s"))
    assert places == [("80.0", "160.0"), ("158.0", "4")]
    assert "M4.0 2v16M324.0 2v16" in time_marks([10, 20])
    assert "<script" not in axis([("<script>", "1", 0, 1, 2), ("b", "2", 0, 1, 2)], "s")


def test_number_of_a_cluster_stays_while_its_members_stay_whatever_the_labels_and_other_clusters_are():

    names = pa.array(["0xa", "0xb", "0xc", "0xd", "0xe"])
    first = _cluster_numbers(np.array([3, 3, -1, 0, 0]), names).to_pylist()
    again = _cluster_numbers(np.array([1, 1, 2, 2, 2]), names).to_pylist()
    assert first[0] == first[1] == again[0] == again[1]
    assert first[2] is None
    assert first[3] not in (again[3], first[0], None)
    assert max(number for number in first if number) < 2**48
