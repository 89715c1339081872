"""The pages of trust analysis show the findings of a market with a ring, and lead to the events behind them."""

from __future__ import annotations

import pytest

from bilateral.explorer import rendering
from bilateral.explorer.analysis import analysis_page, finding_page
from bilateral.explorer.network import network_page
from bilateral.explorer.networks import account_path, rating_path
from bilateral.index.reading.registries import read_registries
from bilateral.index.standing.analysis import analyse
from tests.explorer.html import Page
from tests.index.analysis.conftest import KEY, collector

FRAME = rendering.Frame("/31337/analysis")


@pytest.fixture
def connection(indexed, market):
    """The analysed market."""
    collector(indexed, market.chain.url).collect()
    analyse(indexed, KEY)
    with indexed.connect() as connection:
        yield connection


def test_pages_of_the_analysis_show_the_ring_its_findings_and_their_events(connection, market):
    page = analysis_page(connection, KEY.chain_id, KEY.identity_registry)
    assert page.run.flagged >= len(market.ring)
    assert page.clusters[0].flagged >= len(market.ring)
    shown = Page(rendering.template("analysis")(FRAME, page))
    for entry in page.findings:
        assert entry.sentence in shown.text
        assert f"/31337/findings/{entry.id}" in shown.attributes("href")
    assert f"{page.run.flagged} flagged accounts" in shown.text
    assert f"{page.clusters[0].flagged} of {page.clusters[0].accounts} accounts flagged" in shown.text

    registries, named = read_registries(connection), set()
    for entry in page.findings:
        finding = finding_page(connection, registries, KEY.chain_id, KEY.identity_registry, entry.id)
        shown = Page(rendering.template("finding")(FRAME, finding))
        links = set(shown.attributes("href"))
        assert finding.evidence
        assert finding.detector.evades in shown.text
        assert {account_path(member.account) for member in finding.members} <= links
        events = {(row.block, row.log_index) for row in finding.evidence if row.log_index is not None}
        assert {rating_path(KEY.chain_id, *place) for place in events} <= links
        named |= {member.account for member in finding.members if member.part == "actor"}
    assert set(market.ring) <= named

    network = network_page(connection, registries, KEY.chain_id, 1_000)
    assert set(market.ring) <= {node.id for node in network.nodes if node.is_flagged}


def test_a_finding_that_does_not_exist_has_no_page(connection):
    registries = read_registries(connection)
    assert finding_page(connection, registries, KEY.chain_id, KEY.identity_registry, "none") is None
