"""`bilateral index analyse` and `bilateral trust explain`, run as a person runs them."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import time

import pytest

from bilateral.index.log.database import open_database
from tests.commands import run_here
from tests.index.analysis.conftest import KEY, index
from tests.index.test_commands import COMMAND, in_a_process


@pytest.fixture(scope="module")
def database(market, tmp_path_factory):
    """The indexed market, whose sources of funds are found and that is analysed."""
    url = f"sqlite:///{tmp_path_factory.mktemp('index') / 'index.sqlite'}"
    engine = open_database(url)
    index(engine, market.chain.url)
    engine.dispose()
    return url


@pytest.fixture(scope="module")
def analysis(database, market):
    return in_a_process("analyse", "--database", database, "--rpc-url", market.chain.url)


def open_once_read(fifo, process):
    """Open a FIFO as soon as a process reads it, and return the descriptor. To open it at once would wait for ever."""
    while process.poll() is None:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as problem:
            assert problem.errno == errno.ENXIO  # nobody reads yet
            time.sleep(0.01)
    raise AssertionError(f"the command ended with code {process.returncode}: {process.stderr.read()}")


@pytest.mark.sample(1)
@pytest.mark.parametrize("words", [("index", "analyse", "--database"), ("trust", "analyse", "--tables")], ids=" ".join)
def test_a_command_that_is_interrupted_while_it_reads_reviews_ends_with_code_130(words, tmp_path):
    cases = tmp_path / "cases.json"
    os.mkfifo(cases)
    place = str(tmp_path)
    if words[0] == "index":
        place = f"sqlite:///{tmp_path / 'index.sqlite'}"
        open_database(place).dispose()
    command = [COMMAND[0], *words, place, *(["--out", str(tmp_path)] if words[0] == "trust" else []), "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*command, "--reviews", str(cases)], **pipes)  # noqa: S603  # ours
    with process:
        try:
            writer = open_once_read(cases, process)
            process.send_signal(signal.SIGINT)
            shown, told = process.communicate(timeout=120)
            os.close(writer)
        finally:
            process.kill()
    assert (process.returncode, shown) == (130, "")
    assert json.loads(told)["reason"] == "interrupted"


def test_an_analysis_shows_its_progress(analysis):
    code, _, told = analysis
    assert code == 0
    assert "sources of funds: 40 of 61 accounts" in told


def test_an_analysis_shows_its_figures(analysis, database, market):
    code, shown, _ = run_here("index", "analyse", "--database", database, "--json")
    assert code == 0
    (summary,) = json.loads(shown)
    assert (summary["chain_id"], summary["identity_registry"]) == (31337, KEY.identity_registry)
    assert summary["flagged"] >= len(market.ring)


def test_a_case_of_an_account_that_does_not_occur_is_told(analysis, database, tmp_path):
    cases, absent = tmp_path / "cases.json", "0x" + "ab" * 20
    cases.write_text(json.dumps([{"account": absent, "verdict": "innocent", "reason": "A typo."}]))
    words = ("index", "analyse", "--database", database, "--reviews", cases)
    code, _, told = run_here(*words)
    assert code == 0
    assert f'no table has the address: "{absent}"' in " ".join(told.split())
    (summary,) = json.loads(run_here(*words, "--json")[1])
    assert summary["unknown_cases"] == [absent]


def test_a_stored_finding_is_explained(analysis, database, market):
    code, shown, _ = run_here("trust", "explain", market.ring[0], "--database", database, "--json")
    assert code == 0
    account = json.loads(shown)
    assert account["flagged"]
    code, shown, _ = run_here("trust", "explain", account["findings"][0], "--database", database, "--json")
    finding = json.loads(shown)
    assert market.ring[0] in finding["actors"]
    assert finding["rows"][0]["row"].startswith("block ")


def test_a_chain_that_is_not_indexed_is_refused(database):
    code, _, told = run_here("index", "analyse", "--database", database, "--chain-id", "1")
    assert code == 2
    assert "the index does not contain this chain" in told


def test_a_malformed_address_of_a_trusted_account_is_refused(database):
    code, _, told = run_here("index", "analyse", "--database", database, "--trust", "nobody")
    assert code == 3
    assert "nobody" in told
