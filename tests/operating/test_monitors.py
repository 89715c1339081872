"""Alert rules and the board ask for figures that exist, and the manual explains each of them."""

from __future__ import annotations

import json
import re

import httpx
import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from bilateral.api.metrics import Metrics
from bilateral.index.log.database import open_database
from bilateral.index.operating.monitoring import monitored
from bilateral.index.reading.copies import Copies
from bilateral.index.reading.readers import Reader
from bilateral.watchtower.watching import Figures
from scripts._build import ROOT
from tests.watchtower.simulation import World, targets, tower_of

FOLDER = ROOT / "operating" / "monitoring"
RULES = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
BOARD = json.loads((FOLDER / "board.json").read_text())
OTHERS = {"up", "node_filesystem_avail_bytes", "node_filesystem_size_bytes"}
"""Figures of Prometheus itself and of its node exporter."""


def names(text):
    """Return the names of figures, with the endings that Prometheus gives counters and histograms.

    The client library adds the time at which it began to count, which nobody asks for.
    """
    families = text_string_to_metric_families(text)
    endings = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"]}
    return {
        family.name + ending
        for family in families
        if not family.name.endswith("_created")
        for ending in endings.get(family.type, [""])
    }


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The names of all figures of the service, of the follower and of a watchtower."""
    url = f"sqlite:///{tmp_path_factory.mktemp('monitors') / 'index.sqlite'}"
    engine = open_database(url)
    reader = Reader(url)
    metrics = Metrics(reader, Copies(url, [], 60))
    metrics.observe("GET", "/v1/chains", 200, 0.01)
    with monitored(engine, "127.0.0.1", 0) as port:
        follower = httpx.get(f"http://127.0.0.1:{port}/metrics").text
    registry = CollectorRegistry()
    tower = tower_of(World(), tmp_path_factory.mktemp("tower") / "watchtower.sqlite", targets(1))
    tower.outcomes["web", "up"] = 1
    registry.register(Figures(tower))
    yield names(metrics.text().decode()) | names(follower) | names(generate_latest(registry).decode())
    reader.close()
    engine.dispose()


def figures(expression):
    """Return the figures that a query of Prometheus names."""
    return set(re.findall(r"\b(?:up(?=\{)|(?:bilateral|node)_\w+)", expression))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_asks_for_figures_that_exist(rule, shown):
    assert figures(rule["expr"])
    assert figures(rule["expr"]) <= shown | OTHERS


@pytest.mark.parametrize("panel", BOARD["panels"], ids=lambda panel: panel["title"])
def test_a_panel_of_the_board_asks_for_figures_that_exist(panel, shown):
    for target in panel["targets"]:
        assert figures(target["expr"])
        assert figures(target["expr"]) <= shown


def test_the_manual_says_what_to_do_for_each_alert_and_what_each_figure_means(shown):
    manual = (ROOT / "docs" / "operating.md").read_text()
    assert {rule["alert"] for rule in RULES} == set(
        re.findall(r"^### `((?:Bilateral|Watchtower)\w+)`", manual, re.MULTILINE)
    )
    figures_named = {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in shown}
    assert not {name for name in figures_named if f"`{name}`" not in manual and f"`{name}_total`" not in manual}


def test_compose_runs_each_target_of_prometheus_and_alerts_have_a_receiver():
    services = yaml.safe_load((ROOT / "operating/container/compose.yaml").read_text())["services"]
    prometheus = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    jobs = {job["job_name"]: job["static_configs"][0]["targets"] for job in prometheus["scrape_configs"]}
    (managers,) = prometheus["alerting"]["alertmanagers"]
    for target in [*managers["static_configs"][0]["targets"], *(target for job in jobs.values() for target in job)]:
        assert target.partition(":")[0] in services
    asked = set(re.findall(r'job=~?"([\w|]+)"', " ".join(rule["expr"] for rule in RULES)))
    assert {job for group in asked for job in group.split("|")} == set(jobs)
    notified = yaml.safe_load((FOLDER / "alertmanager.yml").read_text())
    secrets = services["alertmanager"]["secrets"]
    urls = [f"/run/secrets/{secret}" for secret in secrets]
    assert [hook["url_file"] for receiver in notified["receivers"] for hook in receiver["webhook_configs"]] == urls
    routes = [notified["route"], *notified["route"]["routes"]]
    assert {route["receiver"] for route in routes} == {receiver["name"] for receiver in notified["receivers"]}


def test_a_watchtower_without_a_line_is_reported_within_ninety_seconds(tmp_path):
    """It checks each 30 seconds, five silent hosts take 25, Prometheus asks and evaluates each 15."""
    world = World(references=lambda now: 0 if now > 60 else 5)
    tower = tower_of(world, tmp_path / "watchtower.sqlite", targets(3))
    world.run(tower, 60)
    world.run(tower, 30 + 25 + 1)
    (figure,) = [family for family in Figures(tower).collect() if family.name == "bilateral_watchtower_vantage_up"]
    (rule,) = [rule for rule in RULES if rule["alert"] == "WatchtowerBlind"]
    assert figure.samples[0].value == 0
    assert rule["expr"].endswith("== 0")
    assert "for" not in rule
    timing = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["global"]
    assert (timing["scrape_interval"], timing["evaluation_interval"]) == ("15s", "15s")
