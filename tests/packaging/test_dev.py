"""`bilateral dev` from the installed wheel: a whole market outside of the checkout, which ends without a trace."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from bilateral.dev.anvil import AnvilMissingError, find_anvil
from bilateral.dev.world import write_environment
from scripts._anvil import ANVIL
from scripts._build import ROOT
from tests.packaging.fixtures import market_of, seconds_of


def is_listening(url):
    parts = urlsplit(url)
    with socket.socket() as probe:
        return probe.connect_ex((parts.hostname, parts.port)) == 0


@pytest.mark.nightly
def test_market_has_agents_token_and_a_paid_route_and_ends_clean(installed, tmp_path):
    with market_of(installed("all"), tmp_path) as market:
        assert set(market.variables) >= {"BILATERAL_DEPLOYMENT", "TOKEN", "BUYER_KEY", "SELLER_ADDRESS"}
        service, route = market.variables["SERVICE_URL"], market.variables["WEATHER_URL"]
        agents = httpx.get(f"{service}/v1/search/agents", params={"q": "weather"}).json()["items"]
        assert [agent["owner"] for agent in agents] == [market.variables["SELLER_ADDRESS"]]
        assert httpx.get(route).status_code == 402
        call = {"name": "check_service", "arguments": {"url": route}}
        accepted = {"Accept": "application/json, text/event-stream"}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        answer = httpx.post(f"{service}/mcp", json=message, headers=accepted, timeout=60).json()["result"]
        (price,) = answer["structuredContent"]["untrusted"]["price"]
        assert price["text"] == f"0.01 TUSD to {market.variables['SELLER_ADDRESS']}"
        findings = json.loads(market.run(f"bilateral x402 check {route} --json"))
        assert {finding["check"]: finding["code"] for finding in findings} == {"wallet": "", "keys": ""}
    assert market.code == 0
    urls = ("BILATERAL_RPC_URL", "FACILITATOR_URL", "SERVICE_URL", "WEATHER_URL")
    assert not [name for name in urls if is_listening(market.variables[name])]
    assert not (tmp_path / "bilateral-dev").exists()


@pytest.mark.nightly
def test_new_user_sees_who_is_alive_within_two_minutes_by_two_commands(installed, tmp_path):
    programs = installed("all")
    with market_of(programs, tmp_path) as market:
        began = time.monotonic()
        command = (
            "bilateral watchtower run --once --allow-private --contact https://a.example --store sqlite:///t.sqlite"
        )
        rows = json.loads(market.run(f'{command} --database "$SERVICE_DATABASE" --json'))
        seconds = seconds_of(programs) + market.seconds + time.monotonic() - began
        assert {row["protocol"]: row["state"] for row in rows} == {"x402": "up", "web": None}
        page = httpx.get(market.variables["SERVICE_URL"], headers={"Accept": "text/html"}).text
    assert "of 2 agents, on 1 host" in page
    shared = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # a new user has the machine to itself
    assert seconds <= 120 * shared, f"{seconds:.0f} s to install, start and measure"


@pytest.mark.nightly
def test_missing_anvil_is_explained_in_one_line(installed, tmp_path):
    command = [installed("all") / "bilateral", "dev"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        "error: anvil, which runs the local chain, is missing: install it with "
        "`npm install @foundry-rs/anvil@1.7.1`, or pass its path with --anvil\n"
    )


def test_taken_port_is_named_before_anything_starts(tmp_path):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", 8403))
        other.listen()
        command = [Path(sys.executable).with_name("bilateral"), "dev", "--anvil", ANVIL]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603
    assert ran.returncode == 2
    assert "is in use: stop the other program, or pass --any-ports" in ran.stderr
    assert not (tmp_path / "bilateral-dev").exists()


def test_anvil_of_npm_is_used_where_none_is_on_the_path(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AnvilMissingError):
        find_anvil()
    program = tmp_path / "node_modules" / ".bin" / "anvil"
    program.parent.mkdir(parents=True)
    program.symlink_to(ANVIL)
    assert find_anvil() == ANVIL.resolve()


@pytest.mark.parametrize(
    ("server", "code", "log"),
    [
        ("touch up; exec sleep 60", 0, ""),
        ("echo the port is in use >&2", 1, "the port is in use\n"),
        ("exec sleep 60", 1, ""),
    ],
    ids=["comes up", "dies", "never comes up"],
)
def test_shells_wait_for_what_they_start_and_show_its_log_if_it_does_not_come(tmp_path, server, code, log):
    write_environment(tmp_path / "environment.sh", {})
    script = f"""
        . ./environment.sh
        seq() {{ echo 1 2 3 4 5 6 7 8 9 10; }}  # tries
        sh -c '{server}' 2> server.log &
        wait_until server.log test -f up && code=0 || code=$?
        kill $! 2> kill.log
        exit $code
    """
    ran = subprocess.run(["bash", "-uc", script], cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603, S607
    failure = f"still failing: test -f up; end of server.log:\n{log}"
    assert (ran.returncode, ran.stdout) == (code, "")
    assert (failure in ran.stderr) == bool(code)


def test_no_page_waits_without_a_limit():
    pages = [
        ROOT / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "npm").glob("*.md"),
        *(ROOT / "examples").glob("*.*"),
    ]
    assert [page.name for page in pages if re.search(r"\b(?:until|while)\b.*;\s*do\b", page.read_text())] == []
