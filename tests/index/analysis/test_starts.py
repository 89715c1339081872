"""From the first answer of a new service on, the ring's agent is never listed above an honest one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.commands import run_here
from tests.explorer.html import Page
from tests.index.analysis.conftest import DEPLOYMENT, KEY
from tests.index.analysis.test_ring_in_all_answers import HONEST, RING

COMMAND = Path(sys.executable).with_name("bilateral")
SECONDS = 120
HIDES = """
import importlib.machinery as machinery

of_path = machinery.PathFinder.find_spec

def find_spec(name, path=None, target=None):
    return None if name in {"numpy", "scipy", "pyarrow"} else of_path(name, path, target)

machinery.PathFinder.find_spec = find_spec
"""
"""Hides packages from a program and its processes, as if they were not installed."""


def record_in(folder):
    """Write the deployment record of the market, and return its path."""
    contracts = {
        "IdentityRegistry": DEPLOYMENT.identity,
        "BidirectionalReputationRegistry": DEPLOYMENT.reputation,
        "AuthorizedReputationRegistry": DEPLOYMENT.authorized,
        "ValidationRegistry": DEPLOYMENT.validation,
    }
    entries = {name: {"address": address, "block": 1} for name, address in contracts.items()}
    record = folder / "record.json"
    record.write_text(json.dumps({"chainId": KEY.chain_id, "contracts": entries}))
    return record


@contextmanager
def service(market, folder, *options, **variables):
    """Run `bilateral serve` on a new database, and yield a client and the lines of its log."""
    environment = {name: value for name, value in os.environ.items() if name != "BILATERAL_NO_ANALYSE"} | variables
    words = ["serve", "--rpc-url", market.chain.url, "--deployment", record_in(folder), *options]
    words += ["--database", f"sqlite:///{folder / 'index.sqlite'}", "--port", "0"]
    process = subprocess.Popen(  # noqa: S603  # the command under test
        [COMMAND, *words], env=environment, stderr=subprocess.PIPE, text=True
    )
    log, urls = [], []

    def read():
        for line in process.stderr:
            log.append(line)
            urls.extend(re.findall(r"listening on (\S+)", line))

    threading.Thread(target=read, daemon=True).start()
    until = time.monotonic() + SECONDS
    while not urls:
        assert process.poll() is None, log
        assert time.monotonic() < until, log
        time.sleep(0.02)
    try:
        with httpx.Client(base_url=urls[0], timeout=SECONDS) as client:
            yield client, log
    finally:
        process.terminate()
        process.wait(SECONDS)


def looks(client, is_done):
    """Yield after each look until one is the last: all states that a visitor may meet."""
    until = time.monotonic() + SECONDS
    while True:
        is_last = is_done(client)
        yield
        if is_last:
            return
        assert time.monotonic() < until, client.get("/readyz").text
        time.sleep(0.1)


def is_analysed(client):
    problems = client.get("/readyz").json().get("problems", ["the service starts"])
    return not [problem for problem in problems if "lag" not in problem and "behind" not in problem]


def require_order(client, path):
    """Check that a list has no honest agent below the ring's."""
    answer = client.get(path)
    listed = [int(item["agent_id"]) for item in answer.json()["items"]] if answer.is_success else []
    if RING in listed:
        assert not HONEST & {*listed[listed.index(RING) :]}, (path, listed)
    return listed


def lists_everybody(client):
    return {*require_order(client, "/v1/search/agents?tag=starred")} >= HONEST | {RING}


def test_a_new_service_never_lists_the_ring_above_an_honest_agent(market, tmp_path):
    with service(market, tmp_path) as (client, log):
        for _ in looks(client, is_analysed):
            for path in ("/v1/leaders?tag=starred", "/v1/search/agents", "/v1/search/agents?tag=starred"):
                listed = require_order(client, path)
            check = client.get(f"/v1/checks/server?agent=31337:{RING}&amount=0.5")
            assert not check.is_success or check.json()["verdict"] != "accept"
            badge = client.get(f"/embed/31337/{RING}.svg")
            assert not badge.is_success or " of 100" not in badge.text
        assert {*listed} >= HONEST | {RING}
        assert client.get(f"/v1/agents/31337:{RING}/standing").json()["status"] == "held_back"
        assert not [line for line in log if "Traceback" in line]


def test_a_service_without_the_packages_of_the_analysis_says_so_once_and_on_its_pages(market, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HIDES)
    missing = "numpy, pyarrow, scipy must be installed: run pip install 'bilateral[index]'"

    def is_told(client):
        return missing in str(client.get("/readyz").json().get("problems"))

    with service(market, tmp_path, PYTHONPATH=str(tmp_path)) as (client, log):
        for _ in looks(client, is_told):
            require_order(client, "/v1/search/agents?tag=starred")
            assert require_order(client, "/v1/leaders?tag=starred") == []
        page = Page(client.get("/").text).text
        assert "Not analysed yet." in page
        assert "numpy, pyarrow, scipy must be installed" in page
        assert (
            [line for line in log if "numpy" in line]
            == [
                line
                for line in log
                if line.rstrip().endswith(f"nothing is ranked or rated without an analysis: {missing}")
            ]
            != []
        )
        assert sum("numpy" in line for line in log) == 1
        assert not [line for line in log if "Traceback" in line]


@pytest.mark.nightly
def test_a_service_that_is_told_not_to_analyse_ranks_nobody_and_is_ready(market, tmp_path):
    with service(market, tmp_path, "--no-analyse") as (client, _):
        for _ in looks(client, lists_everybody):
            assert require_order(client, "/v1/leaders?tag=starred") == []
        assert is_analysed(client)


@pytest.mark.parametrize(("options", "status"), [((), "current"), (("--no-analyse",), "missing")], ids=["on", "off"])
def test_a_follower_analyses_unless_it_is_told_not_to(market, tmp_path, monkeypatch, options, status):
    monkeypatch.delenv("BILATERAL_NO_ANALYSE")
    database = ("--database", f"sqlite:///{tmp_path / 'index.sqlite'}")
    node = ("--rpc-url", market.chain.url, "--deployment", record_in(tmp_path))
    code, out, told = run_here("index", "run", *node, *database, "--until-head", "--no-files", "--json", *options)
    assert code == 0, told
    (chain,) = json.loads(out)
    assert chain["standings"]["status"] == status
    assert ("not analysed yet" in run_here("index", "status", *database)[1]) is (status == "missing")
