"""A chain whose registries emit generated events, and an empty index on each engine."""

from __future__ import annotations

import json
import shutil
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import make_url, text

from bilateral.core.contracts import Deployment
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.follow import Follower, Outcome
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.log.batches import Block
from bilateral.index.log.database import open_database
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PROJECTIONS
from scripts._anvil import running_anvil
from simulation.event_chain import OPTIONS, EventChain
from simulation.events import ADDRESSES, Generator
from tests.index.comparison import open_with_registries
from tests.index.proxy import Proxy
from tests.index.schemas import empty_schema, make_schema
from tests.postgres import administer, running_postgres, with_driver

CHAIN_ID = 31337
REGISTRIES = {address: registry for registry, address in ADDRESSES.items()}
DEPLOYMENT = Deployment.from_record(
    json.dumps(
        {"chainId": CHAIN_ID, "contracts": {str(name): {"address": address} for name, address in ADDRESSES.items()}}
    )
)
OWN_TABLES = pytest.mark.parametrize("database_url", ["sqlite", "own postgresql"], indirect=True)


@pytest.fixture(autouse=True)
def no_analysis(monkeypatch):
    """Leave analyses out of commands: each takes seconds, and few tests need one."""
    monkeypatch.setenv("BILATERAL_NO_ANALYSE", "1")


@pytest.fixture(scope="session")
def emitter_code(project):
    return project.MockLogEmitter.contract_type.runtime_bytecode.bytecode


@pytest.fixture(scope="session")
def emitting_node():
    """The URL of a node whose chain each test begins anew."""
    with running_anvil(*OPTIONS) as url:
        yield url


@pytest.fixture
def event_chain(emitting_node, emitter_code):
    """A chain without blocks: tests reorganise it."""
    httpx.post(
        emitting_node, json={"jsonrpc": "2.0", "id": 1, "method": "anvil_reset", "params": []}
    ).raise_for_status()
    return EventChain(emitting_node, emitter_code)


@pytest.fixture(scope="session")
def settled_chain(emitter_code):
    """A chain of 1,100 blocks that no test changes: 220 logs, every few blocks.

    Attributes `head` and `logs` hold its last block's number and all logs as the node reports them.
    """
    with running_anvil(*OPTIONS) as url:
        chain, events = EventChain(url, emitter_code), Generator(seed=2, hostile=0.02)
        for _ in range(55):
            chain.mine(events.logs(4)[:4])
            chain.rpc("anvil_mine", hex(19))
        chain.head = int(chain.rpc("eth_blockNumber"), 16)
        chain.logs = chain.rpc("eth_getLogs", {"fromBlock": "0x0", "address": list(REGISTRIES)})
        yield chain


@pytest.fixture
def proxy(settled_chain):
    """An endpoint of the settled chain that behaves as the test says."""
    with Proxy(settled_chain.url) as proxy:
        yield proxy


@pytest.fixture
def generator():
    return Generator(seed=1, hostile=0.05)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """The URL of a PostgreSQL server."""
    with running_postgres() as url:
        yield url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory):
    """The file of an index without rows. To copy it costs less than to make its tables."""
    path = tmp_path_factory.mktemp("template") / "index.sqlite"
    open_database(f"sqlite:///{path}").dispose()
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres):
    """The URL of a schema with the tables of an index."""
    url = make_schema(postgres, "emptied")
    open_database(url).dispose()
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request, tmp_path):
    """The URL of an index without rows, on each engine.

    A test that changes the tables or their version says `OWN_TABLES`: other tests share those of PostgreSQL.
    """
    if request.param == "own postgresql":
        yield request.getfixturevalue("fresh_postgres")
        return
    if request.param == "sqlite":
        path = tmp_path / "index.sqlite"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    url = request.getfixturevalue("postgres_template")
    yield url
    empty_schema(url)


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database_url(request, tmp_path):
    """The URL of a database without tables, on each engine."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'index.sqlite'}"
    return request.getfixturevalue("fresh_postgres")


@pytest.fixture
def fresh_postgres(postgres, tmp_path):
    schema = "".join(entry if entry.isalnum() else "_" for entry in tmp_path.name.lower())
    yield make_schema(postgres, schema)
    administer(postgres, f'DROP SCHEMA "{schema}" CASCADE')


@pytest.fixture
def engine(database_url):
    engine = open_with_registries(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def store(engine):
    return ChainStore(engine, CHAIN_ID, PROJECTIONS)


@pytest.fixture
def limited_url(database_url, engine, store):
    """The URL of the same database for a role that may have one connection, and that makes no tables."""
    store.begin(Block(-1, bytes(32), 0))
    role = f"one_{uuid4().hex}"
    with engine.begin() as connection:
        schema_name = connection.execute(text("SELECT current_schema()")).scalar_one()
        connection.exec_driver_sql(f"CREATE ROLE {role} LOGIN PASSWORD 'one' CONNECTION LIMIT 1")
        connection.exec_driver_sql(f'GRANT USAGE ON SCHEMA "{schema_name}" TO {role}')
        connection.exec_driver_sql(f'GRANT ALL ON ALL TABLES IN SCHEMA "{schema_name}" TO {role}')
    names = {"username": role, "password": "one"}
    yield make_url(with_driver(database_url)).set(**names).render_as_string(hide_password=False)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"DROP OWNED BY {role}")
        connection.exec_driver_sql(f"DROP ROLE {role}")


@pytest.fixture
def follow(store, event_chain):
    """Make a follower of the chain, through further URLs if they are given."""

    def make(*urls, **options):
        sources = [Source(Endpoint(url), list(REGISTRIES)) for url in urls or (event_chain.url,)]
        return Follower(store, Pool(CHAIN_ID, sources), REGISTRIES, first_block=0, **options)

    return make


@pytest.fixture
def catch_up(follow):
    """Follow the chain to its head, and return the steps that it took. Options are those of the follower."""
    follower = None

    def run(**options):
        nonlocal follower
        follower = follow(**options) if options else follower or follow()
        steps = []
        while not steps or steps[-1].outcome is not Outcome.WAITED:
            steps.append(follower.step())
        return steps

    return run
