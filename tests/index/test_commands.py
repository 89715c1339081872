"""`bilateral index …`, run as a person runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sqlalchemy import delete

from bilateral.core.contracts import Registry
from bilateral.index.agents import tables as agent_tables
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.log import tables as schema
from bilateral.index.log.database import open_database
from simulation.events import ADDRESSES
from tests.commands import run_here
from tests.index.proxy import Answer, Proxy, refusal

COMMAND = [str(Path(sys.executable).with_name("bilateral")), "index"]


def bilateral(*arguments):
    """Run a command of the index in this process; its exit code, its output and its messages."""
    return run_here("index", *arguments)


def in_a_process(*arguments):
    """Do the same in a process of its own."""
    command = [*COMMAND, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603  # ours
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def record(tmp_path):
    """A deployment record of the chain's registries."""
    path = tmp_path / "31337.json"
    contracts = {str(name): {"address": address, "block": 1} for name, address in ADDRESSES.items()}
    assert Registry.IDENTITY in contracts
    path.write_text(json.dumps({"chainId": 31337, "contracts": contracts}))
    return path


@pytest.fixture
def database(tmp_path):
    return f"sqlite:///{tmp_path / 'index.sqlite'}"


@pytest.fixture
def run(event_chain, record, database):
    """Run a command, and return its exit code, its output and its messages."""

    def run_command(*arguments, by=bilateral):
        options = {"--rpc-url": event_chain.url, "--deployment": record} if arguments[0] in ("run", "verify") else {}
        options_ = [entry for option in options.items() for entry in option]
        options_ += ["--no-files"] if arguments[0] == "run" else []
        return by(*arguments, *options_, "--database", database)

    return run_command


@pytest.fixture
def grown(event_chain, generator):
    for _ in range(20):
        event_chain.mine(generator.logs(5))
    return event_chain


def test_run_indexes_until_the_head_and_logs_a_line_a_step(run, grown):
    code, shown, told = run("run", "--until-head", "--json", by=in_a_process)
    assert code == 0
    (status,) = json.loads(shown)
    assert (status["chain_id"], status["block"], status["lag"]) == (31337, 20, 0)
    finalized = grown.rpc("eth_getBlockByNumber", "finalized", False)["number"]
    logs = grown.rpc("eth_getLogs", {"fromBlock": "0x0", "address": list(ADDRESSES.values())})
    assert (status["finalized"], status["event_rows"], status["reorganizations"]) == (int(finalized, 16), len(logs), 0)
    assert status["endpoint"] == Endpoint(grown.url).name
    assert "chain=31337 outcome=advanced block=20 head=20" in told


def test_run_goes_on_where_it_ended(run, grown, generator):
    run("run", "--until-head")
    grown.mine(generator.logs(5))
    _, shown, told = run("run", "--until-head", "--json")
    assert json.loads(shown)[0]["block"] == 21
    assert told.count("outcome=advanced") == 1


def test_status_shows_the_last_reorganisation(run, grown, generator):
    run("run", "--until-head")
    assert "last reorganization" not in run("status")[1]
    grown.rpc("anvil_rollback", 3)
    grown.mine(generator.logs(5))
    run("run", "--until-head")
    (status,) = json.loads(run("status", "--json")[1])
    assert (status["reorganizations"], status["last_reorganization_depth"]) == (1, 3)
    assert "last reorganization depth" in run("status")[1]


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_cleanly(grown, record, database, number):
    arguments = ["run", "--rpc-url", grown.url, "--deployment", record, "--database", database, "--no-files"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*COMMAND, *arguments], **pipes) as process:  # noqa: S603  # ours
        assert "outcome=advanced" in process.stderr.readline()
        process.send_signal(number)
        assert process.wait(timeout=120) == 128 + number


@pytest.mark.sample(1)
@pytest.mark.parametrize("method", ["eth_chainId", "eth_getLogs"])
def test_a_signal_ends_a_run_whose_node_does_not_answer(grown, record, database, method):
    asked, end = threading.Event(), threading.Event()

    def hang(_, result):
        asked.set()
        end.wait(300)
        return result

    with Proxy(grown.url, {method: hang}) as node:
        arguments = ["run", "--rpc-url", node.url, "--deployment", record, "--database", database, "--no-files"]
        with subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True) as process:  # noqa: S603  # ours
            assert asked.wait(120)
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=300) == 143
        assert len(node.asked(method)) == 1
        end.set()


def test_status_shows_a_block_whose_time_is_beyond_the_calendar(run, grown, database):
    run("run", "--until-head")
    with open_database(database).begin() as connection:
        connection.execute(schema.chain.update().values(block_time=2**62))  # as a node alone may say
    code, shown, _ = run("status", "--json")
    assert code == 0
    assert json.loads(shown)[0]["block_time"] == "9999-12-31T23:59:59Z"


@pytest.mark.parametrize("answer", [refusal("api key missing"), Answer(502, b"no")], ids=["refuses", "fails"])
def test_verify_names_an_endpoint_that_gives_no_logs(run, grown, answer):
    run("run", "--until-head")
    with Proxy(grown.url, {"eth_getLogs": lambda *_: answer}) as node:
        code, _, told = run("verify", "--rpc-url", node.url)
    assert code == 5
    assert f"no endpoint is usable: {node.name}" in told
    assert "Traceback" not in told


def test_verify_finds_equal_rows_equal(run, grown):
    run("run", "--until-head")
    code, shown, _ = run("verify", "--json")
    assert code == 0
    parsed = json.loads(shown)
    (endpoint,) = parsed["endpoints"]
    assert parsed["is_equal"]
    assert endpoint["rows"] >= 100
    assert endpoint["missing"] == endpoint["stale"] == []


def test_verify_compares_with_each_endpoint(run, grown):
    run("run", "--until-head")
    with Proxy(grown.url) as losing:
        losing.rules["eth_getLogs"] = lambda _, __: []
        code, shown, _ = run("verify", "--json", "--rpc-url", losing.url)
    assert code == 1
    parsed = json.loads(shown)
    assert not parsed["is_equal"]
    by_endpoint = {endpoint["endpoint"]: bool(endpoint["stale"]) for endpoint in parsed["endpoints"]}
    assert by_endpoint == {Endpoint(losing.url).name: True, Endpoint(grown.url).name: False}


def test_verify_blames_an_endpoint_that_lacks_indexed_blocks_and_not_the_rows(run, grown):
    run("run", "--until-head")
    with Proxy(grown.url, {"eth_blockNumber": lambda *_: "0xa", "eth_getLogs": lambda *_: []}) as behind:
        code, shown, told = run("verify", "--json", "--rpc-url", behind.url)
    assert (code, shown) == (5, "")
    assert "the last block is 10, but block 20 is indexed" in told


def test_verify_names_a_missing_row(run, grown, database):
    run("run", "--until-head")
    table = schema.metadata.tables["registered"]
    with open_database(database).begin() as connection:
        connection.execute(delete(table).where(table.c.agent_id == 1))
    code, shown, _ = run("verify", "--json")
    assert code == 1
    assert json.loads(shown)["endpoints"][0]["missing"] == ["registered block 1 log 1"]


def test_rebuild_repairs_a_derived_table(run, grown, database):
    run("run", "--until-head")
    engine = open_database(database)
    with engine.begin() as connection:
        before = sorted(connection.execute(agent_tables.agent.select()).all())
        connection.execute(delete(agent_tables.agent))
    assert run("rebuild", "--chain-id", "31337")[0] == 0
    with engine.connect() as connection:
        assert sorted(connection.execute(agent_tables.agent.select()).all()) == before


def test_a_chain_that_the_index_lacks_is_named(database):
    open_database(database).dispose()
    code, _, told = bilateral("rebuild", "--chain-id", "5", "--database", database)
    assert code == 2
    assert "the database has no chain 5" in told


def test_several_chains_come_from_a_file(grown, record, database, tmp_path):
    path = tmp_path / "index.toml"
    chain = f'[[chain]]\nrpc_urls = ["{grown.url}"]\ndeployments = ["{record.name}"]\n'
    path.write_text(f'database = "{database}"\n{chain}')
    _, shown, _ = bilateral("run", "--settings", path, "--until-head", "--no-files", "--json")
    assert json.loads(shown)[0]["block"] == 20


def test_an_unknown_setting_is_named(grown, tmp_path):
    path = tmp_path / "index.toml"
    path.write_text('[[chain]]\nrpc_url = "http://localhost"\n')
    code, _, told = bilateral("run", "--settings", path)
    assert code == 3
    assert "chain.0.rpc_urls: Field required" in told


@pytest.mark.parametrize("command", [("run", "--until-head", "--max-wait", "0"), ("verify",)], ids=["run", "verify"])
def test_an_unreachable_node_is_named(record, database, command):
    open_database(database).dispose()
    arguments = (*command, "--rpc-url", "http://127.0.0.1:9", "--deployment", record, "--database", database)
    code, _, told = bilateral(*arguments)
    assert code == 5
    assert "127.0.0.1:9: the node cannot be reached" in told
    assert told.endswith("Check --rpc-url, or add another one.\n")


@pytest.mark.parametrize("command", [("status",), ("run", "--until-head")], ids=["status", "run"])
def test_a_newer_schema_is_refused(run, grown, database, command):
    run("run", "--until-head")
    with open_database(database).begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    code, _, told = run(*command)
    assert code == 11
    expected = f"the tables have version 9999, but this package only supports versions up to {schema.REVISION}: "
    assert f"{expected}upgrade it" in told


@pytest.mark.parametrize(("command", "way"), [("backfill", "bilateral index run"), ("plan", "docs/scale.md")])
def test_a_removed_command_is_refused_with_the_new_way(command, way):
    code, output, told = bilateral(command, "--rpc-url", "http://127.0.0.1:9")
    assert (code, output, told.count("\n")) == (2, "", 1)
    assert way in told
