"""A database keeps the first block of a chain, and one that the chain does not reach is named."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import select

from bilateral.index.log import tables as schema
from bilateral.index.log.database import open_database
from bilateral.index.operating.settings import ChainSettings
from bilateral.index.operating.worker import Worker
from tests.index.conftest import CHAIN_ID, DEPLOYMENT
from tests.index.proxy import Proxy
from tests.index.test_commands import bilateral, database, grown, record  # noqa: F401  # fixtures

FIRST = 10
HEAD = 20


@pytest.fixture
def run(grown, record, database):  # noqa: F811  # fixtures
    """Run the index up to the head, and return its exit code and its messages."""

    def run_command(*options, url=grown.url):
        arguments = ("--rpc-url", url, "--deployment", record, "--database", database)
        code, _, told = bilateral("run", *arguments, "--until-head", "--no-files", *options)
        return code, told

    return run_command


@pytest.fixture
def places(database):  # noqa: F811  # a fixture
    """Return the first and the last block of the index."""

    def read():
        engine = open_database(database)
        with engine.connect() as connection:
            row = connection.execute(select(schema.chain.c.first_block, schema.chain.c.block_number)).one_or_none()
        engine.dispose()
        return None if row is None else tuple(row)

    return read


@pytest.fixture
def settings(record, tmp_path):  # noqa: F811  # a fixture
    """A file of settings, with the first block of the chain."""

    def write(url, first):
        path = tmp_path / "index.toml"
        path.write_text(f'[[chain]]\nrpc_urls = ["{url}"]\ndeployments = ["{record.name}"]\nfrom_block = {first}\n')
        return path

    return write


@pytest.mark.parametrize(
    ("wanted", "change"),
    [(FIRST - 1, "9 to 9 would be missing"), (1, "1 to 9 would be missing"), (11, "10 to 10 would remain")],
)
@pytest.mark.parametrize("by", ["option", "file"])
def test_another_first_block_is_refused_before_any_work(run, places, settings, database, grown, wanted, change, by):  # noqa: F811  # fixtures
    assert run("--from-block", FIRST)[0] == 0
    with Proxy(grown.url) as node:
        if by == "option":
            code, told = run("--from-block", wanted, url=node.url)
        else:
            options = ("--settings", settings(node.url, wanted), "--database", database)
            code, _, told = bilateral("run", *options, "--until-head", "--no-files")
        assert {method for method, _ in node.calls} == {"eth_chainId"}
    assert code == 11
    assert (
        f"the database stores chain {CHAIN_ID} from block {FIRST}, but the first block was set to {wanted}: "
        f"blocks {change}. Omit --from-block (from_block in a file) to continue with this database, or choose "
        "a different --database"
    ) in told
    assert places() == (FIRST, HEAD)


def test_a_run_goes_on_with_the_same_first_block_or_without_one(run, places, grown, generator):  # noqa: F811  # a fixture
    for options in (("--from-block", FIRST), ("--from-block", FIRST), ()):
        assert run(*options)[0] == 0
        assert places() == (FIRST, int(grown.rpc("eth_blockNumber"), 16))
        grown.mine(generator.logs(5))


@pytest.mark.parametrize("by", ["option", "file"])
def test_a_first_block_beyond_the_head_ends_a_run_until_the_head(run, places, settings, database, grown, by):  # noqa: F811  # fixtures
    if by == "option":
        code, told = run("--from-block", HEAD + 2)
    else:
        options = ("--settings", settings(grown.url, HEAD + 2), "--database", database)
        code, _, told = bilateral("run", *options, "--until-head", "--no-files")
    assert code == 5
    assert (
        f"the last block of chain {CHAIN_ID} is {HEAD}, but the first block to index is {HEAD + 2}: pass an earlier "
        "--from-block, or run without --until-head to wait for it"
    ) in told
    assert "benched" not in told
    assert places() is None


def test_the_block_after_the_head_may_be_the_first(run, places):
    assert run("--from-block", HEAD + 1)[0] == 0
    assert places() == (HEAD + 1, HEAD)


def test_a_worker_waits_for_its_first_block_and_blames_no_endpoint(grown, generator, engine, store, caplog):  # noqa: F811  # a fixture
    stop, asked = threading.Event(), threading.Semaphore(0)
    with Proxy(grown.url, {"eth_blockNumber": lambda _, result: asked.release() or result}) as node:
        worker = Worker(engine, ChainSettings((node.url,), (DEPLOYMENT,), HEAD + 3), stop=stop, poll_seconds=0.05)
        thread = threading.Thread(target=worker.run)
        thread.start()
        for _ in range(2):
            assert asked.acquire(timeout=300)
        for _ in range(3):
            grown.mine(generator.logs(5))
        while store.cursor() is None or store.cursor().number < HEAD + 3:
            assert asked.acquire(timeout=300)
        stop.set()
        thread.join()
    (told,) = [entry.getMessage() for entry in caplog.records if entry.levelname == "WARNING"]
    assert f"the last block of chain {CHAIN_ID} is {HEAD}, but the first block to index is {HEAD + 3}" in told


def test_an_endpoint_far_behind_does_not_end_the_run_for_one_that_has_the_first_block(
    event_chain, generator, engine, store
):
    for _ in range(4):
        event_chain.mine(generator.logs(3))
        event_chain.rpc("evm_increaseTime", 60)
    with Proxy(event_chain.url, {"eth_blockNumber": lambda *_: "0x1"}) as stuck:
        settings = ChainSettings((stuck.url, event_chain.url), (DEPLOYMENT,), 3)
        Worker(engine, settings, stop=threading.Event()).run(until_head=True)
    assert store.cursor().number == 4
