"""`bilateral serve` as a process, as a person runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from bilateral.api.app import make_app
from bilateral.api.serve import _Follower
from bilateral.api.settings import ApiSettings, read_api_settings
from bilateral.core.errors import InvalidArgumentError
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from tests.api.world import ALICE, served
from tests.sdk.servers import HttpServer
from tests.waiting import wait_until

PATIENCE = 300
"""The seconds to wait for another process."""

COMMAND = [str(Path(sys.executable).with_name("bilateral")), "serve", "--port", "0"]


@contextmanager
def serving(*arguments):
    """Run the command, and yield the process and an HTTP client once it answers."""
    command = [*COMMAND, *map(str, arguments)]
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:  # noqa: S603  # ours
        try:
            told = ""
            while not (match := re.search(r"listening on (http://\S+)", told)):
                line = process.stderr.readline()
                assert line, f"the service ended: {told}"
                told += line
            with httpx.Client(base_url=match[1], timeout=60) as client:
                yield process, client
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # also the processes that it started


@pytest.fixture
def record(api_world, tmp_path):
    """The deployment record of the world."""
    deployment = api_world.deployment
    contracts = {
        "IdentityRegistry": deployment.identity,
        "BidirectionalReputationRegistry": deployment.reputation,
        "AuthorizedReputationRegistry": deployment.authorized,
        "ValidationRegistry": deployment.validation,
    }
    path = tmp_path / "31337.json"
    places = {name: {"address": address, "block": 1} for name, address in contracts.items()}
    path.write_text(json.dumps({"chainId": 31337, "contracts": places}))
    return path


def test_one_command_indexes_a_chain_and_serves_it(api_world, record, tmp_path):
    database = f"sqlite:///{tmp_path / 'index.sqlite'}"
    with serving("--rpc-url", api_world.url, "--deployment", record, "--database", database) as (process, client):
        wait_until(lambda: client.get("/v1/agents/31337:1").status_code == 200)
        assert client.get("/v1/agents/31337:1").json()["owner"] == ALICE.address
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == 0


def test_several_processes_serve_one_database_and_count_together(api_sqlite):
    with serving("--no-index", "--workers", "2", "--rate", "100000/second", "--database", api_sqlite) as (
        process,
        client,
    ):
        for _ in range(30):
            with httpx.Client(base_url=client.base_url, timeout=60) as other:  # a connection of its own
                assert other.get("/v1/chains").status_code == 200

        def counted():
            shown = client.get("/metrics").text
            return float(re.search(r'bilateral_http_requests_total{[^}]*route="/v1/chains"[^}]*} (\S+)', shown)[1])

        wait_until(lambda: counted() >= 30)  # a request is counted once it is answered
        assert counted() == 30
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 0


@pytest.mark.nightly
def test_an_index_that_fails_for_good_ends_the_service(record, tmp_path):
    database = f"sqlite:///{tmp_path / 'index.sqlite'}"
    with HttpServer() as node:
        node.routes["/"] = b'{"jsonrpc": "2.0", "id": 1, "result": "0x539"}'  # another chain
        arguments = ["--rpc-url", f"{node.url}/", "--deployment", record, "--database", database]
        ran = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE)  # noqa: S603
    assert ran.returncode == 8
    assert "the node serves chain 1337" in ran.stderr


def test_index_that_fails_for_good_stops_the_service_by_its_error(api_world, tmp_path):
    stopped = threading.Event()
    with HttpServer() as node:
        node.routes["/"] = b'{"jsonrpc": "2.0", "id": 1, "result": "0x539"}'  # another chain
        chain = ChainSettings((f"{node.url}/",), (api_world.deployment,))
        follower = _Follower(
            IndexSettings((chain,), f"sqlite:///{tmp_path / 'index.sqlite'}", analyses=False), stopped.set
        )
        follower.start()
        assert stopped.wait(PATIENCE)
        follower.end()
    assert "the node serves chain 1337" in str(follower.failure)


@pytest.mark.nightly
def test_words_of_a_hostile_node_are_safe_in_the_log_of_a_service_that_goes_on(record, tmp_path):
    words = "down\r\ntime=1 level=ERROR forged\x1b[2J\u202e"
    answer = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": words}}).encode()
    with HttpServer() as node:
        node.routes["/"] = answer
        database = f"sqlite:///{tmp_path / 'index.sqlite'}"
        with serving("--rpc-url", f"{node.url}/", "--deployment", record, "--database", database) as (process, client):
            assert client.get("/healthz").status_code == 200
            process.send_signal(signal.SIGTERM)
            told = process.communicate(timeout=PATIENCE)[1]
    assert all(line.isprintable() for line in told.split("\n"))
    assert not re.search("^time=1 ", told, re.MULTILINE)


def test_request_under_way_is_answered_before_the_service_ends(api_sqlite):
    with serving("--no-index", "--database", api_sqlite) as (process, client):
        url = httpx.URL(client.base_url)
        body = b'{"query": "{ _meta { deployment } }"}'
        head = f"POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
        with socket.create_connection((url.host, url.port), timeout=60) as connection:
            connection.sendall(head.encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 100")  # the service reads the body
            process.send_signal(signal.SIGTERM)
            wait_until(lambda: not accepts(url))
            connection.sendall(body)
            answer = b""
            while part := connection.recv(10_000):
                answer += part
        assert answer.startswith(b"HTTP/1.1 200") and b'"deployment":"bilateral-31337"' in answer
        assert process.wait(timeout=PATIENCE) == 0


def assert_lives_without_tables(client):
    """Check that a service without a database answers 503, and lives."""
    refused = client.get("/v1/agents/31337:1")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    assert refused.json()["detail"] == "the index has no tables of this version yet: try again later"
    assert client.get("/healthz").json() == {"status": "ok"}
    readiness = client.get("/readyz")
    assert (readiness.status_code, readiness.json()["ready"]) == (503, False)


@pytest.mark.nightly
@pytest.mark.parametrize("workers", [1, 2])
def test_service_waits_for_a_database_and_serves_once_a_follower_made_it(api_world, record, tmp_path, workers):
    database = f"sqlite:///{tmp_path / 'index.sqlite'}"
    with serving("--no-index", "--workers", workers, "--database", database) as (process, client):
        assert_lives_without_tables(client)
        assert not (tmp_path / "index.sqlite").exists()
        follower = [COMMAND[0], "index", "run", "--until-head", "--rpc-url", api_world.url, "--deployment", str(record)]
        subprocess.run([*follower, "--database", database], check=True, capture_output=True, timeout=PATIENCE)  # noqa: S603
        wait_until(lambda: client.get("/readyz").status_code == 200)
        wait_until(lambda: client.get("/v1/agents/31337:1").status_code == 200)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == 0


def test_service_answers_503_until_there_is_a_database(api_sqlite, tmp_path):
    path = tmp_path / "index.sqlite"
    settings = ApiSettings(database=f"sqlite:///{path}", rate=None)
    with served(settings, make=make_app) as url, httpx.Client(base_url=url, timeout=60) as client:
        assert_lives_without_tables(client)
        assert not path.exists()
        shutil.copy(api_sqlite.removeprefix("sqlite:///"), tmp_path / "copy")
        (tmp_path / "copy").rename(path)
        wait_until(lambda: client.get("/v1/agents/31337:1").status_code == 200)
        assert client.get("/readyz").json()["chains"]


def accepts(url):
    try:
        socket.create_connection((url.host, url.port), timeout=60).close()
    except ConnectionRefusedError:
        return False
    return True


def test_settings_come_from_the_file_of_the_index_and_options_count_more(tmp_path):
    path = tmp_path / "index.toml"
    api = 'port = 1\ntrusted_proxies = ["10.0.0.1"]\n'
    path.write_text(f'database = "sqlite:///x"\n[[chain]]\nrpc_urls = ["http://n"]\n[api]\n{api}')
    api_settings = read_api_settings(path, port=2, host=None)
    assert api_settings == ApiSettings(database="sqlite:///x", port=2, trusted_proxies=("10.0.0.1",))


@pytest.mark.parametrize("line", ["prot = 1", 'port = "many"', "workers = 0"])
def test_a_wrong_setting_in_the_file_is_named(tmp_path, line):
    path = tmp_path / "index.toml"
    path.write_text(f"[api]\n{line}\n")
    with pytest.raises(InvalidArgumentError, match=line.split()[0]):
        read_api_settings(path)


def test_a_rate_without_a_period_is_refused_in_words_of_its_own():
    with pytest.raises(
        InvalidArgumentError, match=r"^api: the rate '5/fortnight' is invalid: use a format such as 1200/minute$"
    ):
        read_api_settings(None, rate="5/fortnight")
