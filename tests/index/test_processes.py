"""One process for all chains, a process for each chain, and the progress that they tell."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import threading
import time

import pytest

from bilateral.core.contracts import Deployment, Registry
from bilateral.index.files.queue import FileQueue
from bilateral.index.files.worker import FileSettings, ReferenceScan
from bilateral.index.log.database import open_database
from bilateral.index.log.registries import registries_of
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.index.operating.worker import Worker, follow_chains
from scripts._anvil import running_anvil
from simulation.event_chain import OPTIONS, EventChain
from simulation.events import ADDRESSES, Generator
from tests.index.comparison import stored_keys
from tests.index.proxy import Answer, Proxy, first_times, range_of, refusal
from tests.index.test_commands import COMMAND, bilateral, database  # noqa: F401  # a fixture
from tests.postgres import running_server, server_folder, with_driver

CHAINS = (31337, 31338)


@pytest.fixture(scope="module")
def chains(emitter_code):
    """Two chains with some blocks each, by their ids."""
    with running_anvil(*OPTIONS) as first, running_anvil(*OPTIONS, "--chain-id", str(CHAINS[1])) as second:
        chains_of = {
            chain_id: EventChain(url, emitter_code) for chain_id, url in zip(CHAINS, (first, second), strict=True)
        }
        for seed, chain in enumerate(chains_of.values()):
            events = Generator(seed)
            for _ in range(10 + seed):
                chain.mine(events.logs(5))
        yield chains_of


@pytest.fixture
def records(tmp_path):
    """The deployment record of each chain."""
    stored = {}
    for chain_id in CHAINS:
        contracts = {str(name): {"address": address, "block": 1} for name, address in ADDRESSES.items()}
        stored[chain_id] = tmp_path / f"{chain_id}.json"
        stored[chain_id].write_text(json.dumps({"chainId": chain_id, "contracts": contracts}))
    return stored


def blocks(shown):
    return {status["chain_id"]: (status["block"], status["lag"]) for status in json.loads(shown)}


def test_one_process_follows_all_chains_of_a_file(chains, records, database, tmp_path):  # noqa: F811  # a fixture
    path = tmp_path / "index.toml"
    path.write_text(
        f'database = "{database}"\n'
        + "".join(
            f'[[chain]]\nrpc_urls = ["{chains[chain].url}"]\ndeployments = ["{records[chain].name}"]\n'
            for chain in CHAINS
        )
    )
    code, shown, told = bilateral("run", "--settings", path, "--until-head", "--no-files", "--json")
    assert code == 0
    assert blocks(shown) == {31337: (10, 0), 31338: (11, 0)}
    assert all(f"chain={chain_id} outcome=advanced" in told for chain_id in CHAINS)


@pytest.mark.one_engine
def test_a_process_for_each_chain_writes_into_one_database(chains, records, database_url):
    processes = []
    for chain_id, chain in chains.items():
        arguments = ["run", "--rpc-url", chain.url, "--deployment", records[chain_id], "--database", database_url]
        command = [*COMMAND, *map(str, arguments), "--until-head", "--no-files"]
        processes.append(subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE))  # noqa: S603  # ours
    for process in processes:
        _, told = process.communicate(timeout=300)
        assert process.returncode == 0, told
    _, shown, _ = bilateral("status", "--database", database_url, "--json")
    assert blocks(shown) == {31337: (10, 0), 31338: (11, 0)}


def test_one_dead_chain_does_not_keep_the_others_from_their_heads(chains, records, database, tmp_path):  # noqa: F811  # a fixture
    path = tmp_path / "index.toml"
    path.write_text(
        f'database = "{database}"\n[[chain]]\nrpc_urls = ["http://127.0.0.1:9"]\ndeployments = ["31338.json"]\n'
        f'[[chain]]\nrpc_urls = ["{chains[31337].url}"]\ndeployments = ["31337.json"]\n'
    )
    code, _, told = bilateral("run", "--settings", path, "--until-head", "--no-files", "--max-wait", "3")
    assert code == 5
    assert "127.0.0.1:9: the node cannot be reached" in told
    assert blocks(bilateral("status", "--database", database, "--json")[1]) == {31337: (10, 0)}


@pytest.mark.parametrize("status", [429, 504])
def test_a_chain_whose_endpoint_refuses_its_first_calls_is_followed(chains, records, database, status):  # noqa: F811  # a fixture
    with Proxy(chains[31337].url) as proxy:
        proxy.rules["eth_chainId"] = first_times(3, lambda *_: Answer(status, b"try again"))
        arguments = ["run", "--rpc-url", proxy.url, "--deployment", records[31337], "--database", database]
        code, shown, told = bilateral(*arguments, "--until-head", "--no-files", "--json")
    assert (code, blocks(shown)) == (0, {31337: (10, 0)}), told


def test_a_run_to_the_head_gives_up_after_its_longest_wait_and_tells_one_problem_once(chains, records, database):  # noqa: F811  # a fixture
    with Proxy(chains[31337].url) as proxy:
        proxy.rules["eth_getLogs"] = lambda _, logs: [log | {"blockHash": "0x" + "77" * 32} for log in logs]
        arguments = ["run", "--rpc-url", proxy.url, "--deployment", records[31337], "--database", database]
        code, _, told = bilateral(*arguments, "--until-head", "--no-files", "--max-wait", "8")
    assert code == 5
    assert told.count("outcome=waits") == 1
    assert "Traceback" not in told


def test_a_chain_that_meets_an_unknown_error_ends_the_run_with_it(settled_chain, engine, monkeypatch):
    def fail(worker, *, until_head):
        raise KeyError(worker.chain_id)

    monkeypatch.setattr(Worker, "run", fail)
    deployment = Deployment(31337, ADDRESSES[Registry.IDENTITY], ADDRESSES[Registry.BIDIRECTIONAL], first_block=1)
    settings = IndexSettings(
        (ChainSettings((settled_chain.url,), (deployment,)),), files=FileSettings(workers=0), analyses=False
    )
    with pytest.raises(KeyError, match="31337"):
        follow_chains(engine, settings, stop=threading.Event(), until_head=True)


@pytest.mark.parametrize("work", [(ReferenceScan, "step"), (FileQueue, "claim")], ids=["scan", "fetch"])
def test_a_thread_of_files_that_meets_an_unknown_error_ends_the_run_with_it(settled_chain, engine, monkeypatch, work):
    def fail(_):
        raise KeyError("unknown")

    monkeypatch.setattr(*work, fail)
    deployment = Deployment(31337, ADDRESSES[Registry.IDENTITY], ADDRESSES[Registry.BIDIRECTIONAL], first_block=1)
    settings = IndexSettings((ChainSettings((settled_chain.url,), (deployment,)),), analyses=False)
    with pytest.raises(KeyError, match="unknown"):
        follow_chains(engine, settings, stop=threading.Event(), until_head=True)


@pytest.mark.parametrize(
    ("chains", "file_threads", "enough"), [(1, 0, 50_000), (2, 0, 25_000), (1, 4, 25_000), (2, 4, 16_666)]
)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_writers_of_a_process_share_the_events_of_a_transaction(
    settled_chain, engine, monkeypatch, chains, file_threads, enough
):
    class Recording(Worker):
        def __init__(self, *arguments, enough, **options):
            limits.append(enough)
            super().__init__(*arguments, enough=enough, **options)

    limits = []
    monkeypatch.setattr("bilateral.index.operating.worker.Worker", Recording)
    deployment = Deployment(31337, ADDRESSES[Registry.IDENTITY], ADDRESSES[Registry.BIDIRECTIONAL], first_block=1_099)
    chain = ChainSettings((settled_chain.url,), (deployment,))
    settings = IndexSettings((chain,) * chains, files=FileSettings(workers=file_threads), analyses=False)
    follow_chains(engine, settings, stop=threading.Event(), until_head=True)
    assert limits == [enough] * chains


def test_progress_has_a_rate_and_the_time_left(settled_chain, proxy, engine, caplog):
    def few_blocks(parameters, result):
        first, last = range_of(parameters)
        return refusal("exceed maximum block range: 100", -32701) if last - first >= 100 else result

    proxy.rules["eth_getLogs"] = few_blocks
    deployment = Deployment(31337, ADDRESSES[Registry.IDENTITY], ADDRESSES[Registry.BIDIRECTIONAL], first_block=1)
    settings = ChainSettings((proxy.url,), (deployment,))
    with caplog.at_level(logging.INFO, "bilateral.index"):
        Worker(engine, settings, stop=threading.Event(), enough=1).run(until_head=True)  # each range is a step
    progress = [record.args for record in caplog.records if "rate=" in record.msg]
    assert len(progress) > 5
    assert progress[-1][2] == settled_chain.head
    assert progress[-1][-1] == "0s"
    for *_, block, head, _, _, _, rate, left in progress:
        assert rate > 0
        assert left == f"{(head - block) / rate:.0f}s"


def test_signal_before_the_head_is_told_by_the_exit_code(chains, records, database):  # noqa: F811  # a fixture
    asked = threading.Event()

    def fail(*_):
        asked.set()
        return Answer(502, b"bad gateway")

    with Proxy(chains[31337].url, {"eth_getLogs": fail}) as proxy:
        arguments = ["run", "--rpc-url", proxy.url, "--deployment", records[31337], "--database", database]
        command = [*COMMAND, *map(str, arguments), "--until-head", "--no-files"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  # ours
            assert asked.wait(120)
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=120)
    assert process.returncode == 143
    assert "Traceback" not in told


@pytest.mark.sample(2)
@pytest.mark.parametrize("seconds", [number * 0.2 for number in range(8)])
def test_signal_at_any_moment_of_the_start_shows_no_traceback(chains, records, database, seconds):  # noqa: F811  # a fixture
    arguments = ["run", "--rpc-url", chains[31337].url, "--deployment", records[31337], "--database", database]
    command = [*COMMAND, *map(str, arguments), "--no-files"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  # ours
        time.sleep(seconds)
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=120)
    assert process.returncode in (143, -signal.SIGTERM)  # Python itself ends so before the program begins
    assert "Traceback" not in told


@pytest.mark.nightly
def test_worker_goes_on_when_its_postgresql_is_back(settled_chain, proxy):
    deployment = Deployment(31337, ADDRESSES[Registry.IDENTITY], ADDRESSES[Registry.BIDIRECTIONAL], first_block=1)
    with server_folder() as folder, running_server(folder / "data") as server:
        engine, stop = open_database(with_driver(server.get_uri())), threading.Event()
        downs = []

        def go_down(_, result):
            if len(downs) < 2:  # while rows wait for their transaction
                os.kill(server.get_postmaster_info().pid, signal.SIGINT)
                server.get_postmaster_info().process.wait(60)
                downs.append(threading.Timer(1.0, server.ensure_postgres_running))
                downs[-1].start()
            return result

        proxy.rules["eth_getLogs"] = go_down
        chain = ChainSettings((proxy.url,), (deployment,))
        settings = IndexSettings((chain,), files=FileSettings(workers=1), analyses=False)
        assert follow_chains(engine, settings, stop=stop, until_head=True)
        assert len(downs) == 2
        addresses = {address.lower() for address in registries_of([deployment])}
        assert len(stored_keys(engine)) == sum(log["address"] in addresses for log in settled_chain.logs)
        engine.dispose()
