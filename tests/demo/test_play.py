"""`make play` runs an economy that goes on, shows it, and leaves no process behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from scripts._build import ROOT

PLAY = [ROOT / ".venv" / "bin" / "ape", "run", "play", "--pause", "0.1"]
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
    found, left = set(), [pid]
    while left:
        children = parents.get(left.pop(), [])
        found.update(children)
        left += children
    return found


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def eventually(condition):
    until = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < until
        time.sleep(0.2)
    return found


@pytest.fixture
def play():
    process = subprocess.Popen(  # noqa: S603
        PLAY, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    )
    yield process
    process.kill()
    process.communicate()


def test_the_page_of_the_living_demo_changes_and_an_interruption_ends_all_of_it(play):
    url = next(found[0] for line in play.stdout if (found := re.search(r"http://\S+", line)))

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
    paid = eventually(lambda: [it for it in latest() if it["tag"] == "x402-resource-delivered"])
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
    left = descendants(play.pid)
    assert len(left) > 3
    play.send_signal(signal.SIGINT)
    rest, _ = play.communicate(timeout=PATIENCE)
    assert play.returncode == 0
    assert "the chain, the service and the economy have ended" in rest
    eventually(lambda: not any(map(is_running, left)))
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, timeout=5)
