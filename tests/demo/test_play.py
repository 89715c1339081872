"""`make play` runs a small economy, shows it, and leaves no process behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from scripts._build import ROOT
from scripts._demo import playing

PLAY = [ROOT / ".venv" / "bin" / "ape", "run", "play", "--pause", "0.1"]
POOR_ECONOMY = """
import logging, time
from contextlib import ExitStack
from ape.logging import logger
from rich.console import Console
from scripts._demo import living, playing
from scripts._demo.stage import Stage

logger.set_level(logging.CRITICAL)
with ExitStack() as stack:
    begin = str(int(time.time()) - living.DAYS * 86_400)
    stage = stack.enter_context(Stage.opened(Console(quiet=True), "--timestamp", begin))
    living._PAYMENTS = 3  # so that another buyer comes within these rounds
    economy = playing._economy(stack, stage)
    economy.begin()
    token, served = economy._market.token, []
    for _ in range(4):
        for account in {*economy._clients, *economy._ring, *(it.owner for it in economy._members.values())}:
            stage.ask("anvil_setBalance", account, "0x1")
        if economy._buyer:
            buyer = stage.account(economy._buyer)
            token.transfer(stage.account("deployer"), token.balanceOf(buyer), sender=buyer)
        before = token.balanceOf(stage.account("forecaster"))
        for _ in range(10):
            economy.live()
        served.append(token.balanceOf(stage.account("forecaster")) - before)
    print(economy.events, served, len({key for key, server in economy._rated if server == "forecaster"}))
"""
"""An economy in which everybody has spent all before each round of events."""

SLOW_CHAIN = """
import logging
from ape.logging import logger
from rich.console import Console
from scripts._demo.living import Economy
from scripts._demo.stage import Stage

logger.set_level(logging.CRITICAL)
with Stage.opened(Console(quiet=True)) as stage:
    economy = Economy(stage, None, None, "")
    stage.ask("evm_setIntervalMining", 1)
    first, second = (f"0x{number:040x}" for number in (0xA1, 0xA2))
    economy._fund(first, second, 10**18)
    print(int(stage.ask("eth_getBalance", second, "latest"), 16))
    economy._send(second, first, b"", 9 * 10**17)
"""
"""A chain that mines a block a second only, and money that its receiver spends at once."""

HONEST_AGENTS, RING_AGENT = range(2, 6), 7
"""The agents of the living demo, in the order in which it registers them after the forecaster."""

PATIENCE = 180
"""The seconds to wait for a change of the page."""


def descendants(pid):
    """Return the processes that a process started, and those that they started, also in other sessions."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    processes, left = set(), [pid]
    while left:
        children = parents.get(left.pop(), [])
        processes.update(children)
        left += children
    return processes


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def eventually(condition):
    until = time.monotonic() + PATIENCE
    while not (outcome := condition()):
        assert time.monotonic() < until
        time.sleep(0.2)
    return outcome


@pytest.fixture
def play():
    process = subprocess.Popen(  # noqa: S603
        PLAY, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    )
    yield process
    process.kill()
    process.communicate()


@pytest.mark.nightly
def test_the_economy_goes_on_after_everybody_has_spent_all():
    command = [sys.executable, "-c", POOR_ECONOMY]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout == "40 [2000, 2000, 2000, 2000] 3\n"


def test_money_is_mined_before_its_receiver_spends_it():
    run = subprocess.run([sys.executable, "-c", SLOW_CHAIN], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    assert (run.returncode, run.stdout) == (0, f"{10**18}\n"), run.stderr


@pytest.mark.parametrize(("events", "seconds"), [(600, 0.5), (601, 2.5)])
def test_the_economy_slows_down_after_its_first_minutes(monkeypatch, events, seconds):
    paused, happened = [], []
    monkeypatch.setattr(time, "sleep", paused.append)
    playing._live(SimpleNamespace(events=events, live=lambda: happened.append(1)), 0.5)
    assert (happened, paused) == ([1], [seconds])


@pytest.mark.nightly
def test_the_page_of_the_living_demo_changes_and_an_interruption_ends_all_of_it(play):
    url = next(match[0] for line in play.stdout if (match := re.search(r"http://\S+", line)))

    def read(path):
        """Return the content of a page; nothing while the service is too busy for it."""
        answer = httpx.get(f"{url}{path}", timeout=PATIENCE)
        assert answer.status_code in (200, 404, 503, 504)
        return answer.json() if answer.status_code == 200 else {}

    def latest():
        return read("/index.json").get("latest", [])

    first = eventually(latest)
    eventually(lambda: latest()[:1] not in ([], first[:1]))
    eventually(lambda: "Weather Oracle" in httpx.get(url, timeout=PATIENCE).text)  # files are fetched in their own time
    paid = eventually(lambda: [entry for entry in latest() if entry["tag"] == "x402-resource-delivered"])
    path = f"/31337/ratings/{paid[0]['block']}-{paid[0]['log_index']}"

    def proven():
        record = read(f"{path}.json")
        return record and record["evidence"][path]["payment"]["state"] == "proven" and record

    record = eventually(proven)  # the index learns a payment and a file in their own time
    assert record["feedback"]["value"]
    assert record["evidence"][path]["payment"]["payment"]["dollars"] == "0.001000"

    def attested():
        buyer = read(f"/accounts/{record['feedback']['client']}.json")
        return buyer and buyer["paid"] and buyer["buyers"] and buyer["buyers"][0]["payments"] >= len(buyer["paid"])

    eventually(attested)  # the buyer registry learns of a payment after it

    def rated_by_ten():
        standing = read(f"/v1/agents/31337:{RING_AGENT}/standing")
        return standing and standing["raters"] >= 10 and standing

    def verdicts():
        return [read(f"/v1/checks/server?agent=31337:{agent}&amount=0.5").get("verdict") for agent in HONEST_AGENTS]

    assert eventually(rated_by_ten)["status"] == "held_back"
    eventually(lambda: verdicts() == ["accept"] * len(HONEST_AGENTS))  # their files are fetched in their own time
    left = descendants(play.pid)
    assert len(left) > 3
    play.send_signal(signal.SIGINT)
    rest, _ = play.communicate(timeout=PATIENCE)
    assert play.returncode == 0
    assert "the chain, the service and the economy have ended" in rest
    eventually(lambda: not any(map(is_running, left)))
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, timeout=5)
