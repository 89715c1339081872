"""The world of `tests.api.world` as two chains: on two servers behind a coordinator, and in one database."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import create_engine, func, make_url, select, text

from bilateral.index.changes.tables import TABLES as FEED_TABLES
from bilateral.index.files.worker import FileSettings
from bilateral.index.log.database import open_database
from bilateral.index.log.store import ChainStore
from bilateral.index.operating.settings import ChainSettings, IndexSettings, Shard
from bilateral.index.operating.worker import follow_chains
from bilateral.index.projections import PROJECTIONS
from bilateral.index.shards.coordinator import update_shards
from bilateral.index.shards.process import follow
from bilateral.index.shards.served import CHAIN_TABLES
from tests.api.world import BOB, CHAIN_ID, ERIN, FRANK
from tests.index.proxy import Proxy
from tests.postgres import (
    NEWER,
    administer,
    dead_servers,
    forget_power_cuts,
    running_server,
    server_folder,
    with_driver,
)

OTHER_CHAIN = 31338
"""The chain that has the same blocks: so agents of both shards name the same files."""

CONTRACTS = {
    "IdentityRegistry": "identity",
    "BidirectionalReputationRegistry": "reputation",
    "AuthorizedReputationRegistry": "authorized",
    "ValidationRegistry": "validation",
}
"""The fields of a deployment, by the names of its contracts."""


LOCAL = re.compile(rb'("(?:(?:checked|updated|found|changed|made|read|fetched)_at|files)": ?)[^,}]*')
"""The values in which two runs of an index differ: times of their own, and numbers of sights."""

PATHS = [
    *("chains", "statistics", "leaders?tag=starred", "leaders?tag=starred&chain=31338"),
    *("search/agents", "search/agents?q=weather", "search/agents?q=translates", "search/agents?chain=31338&q=weather"),
    *("search/agents?tag=starred", "search/agents?capability=mcp_tool:forecast", "search/agents?q=forecast+of+rain"),
    *("search/feedback?chain=31337", "search/feedback?chain=31338&tag=starred"),
    *(f"agents/{chain}:{agent}" for chain in (CHAIN_ID, OTHER_CHAIN) for agent in (1, 2, 7)),
    *(f"agents/{OTHER_CHAIN}:1/{part}" for part in ("feedback", "ratings", "validations", "neighbourhood", "atom")),
    *(f"accounts/{account.address}" for account in (BOB, ERIN, FRANK)),
    *(f"checks/server?agent={chain}:1" for chain in (CHAIN_ID, OTHER_CHAIN)),
    f"checks/client?client={ERIN.address}&chain={OTHER_CHAIN}",
]

OF_ONE_CHAIN = [
    *(f"/v1/agents/{{}}:1{part}" for part in ("", "/feedback", "/ratings", "/validations", "/neighbourhood", "/atom")),
    *("/v1/search/agents?chain={}&q=weather", "/v1/search/feedback?chain={}", "/v1/leaders?tag=starred&chain={}"),
    *("/v1/checks/server?agent={}:1", f"/v1/checks/client?client={ERIN.address}&chain={{}}"),
]
BY_CHAIN = {chain: [path.format(chain) for path in OF_ONE_CHAIN] for chain in (CHAIN_ID, OTHER_CHAIN)}
OF_ALL_CHAINS = ["/v1/chains", "/v1/search/agents?q=weather", f"/v1/accounts/{BOB.address}", "/v1/changes?since=0"]

QUERIES = [
    "{ agents(first: 100) { id owner agentWallet totalFeedback registrationFile { name mcpTools a2aSkills } } }",
    '{ agents(where: {registrationFile_: {name_contains: "Weather"}}, first: 5) { id feedback(first: 5) { value } } }',
    "{ feedbacks(orderBy: value, first: 1000) { id value isRevoked clientAddress agent { id } } }",
    "{ validations(orderBy: status) { id status response validatorAddress agent { owner } } }",
    "{ agentRegistrationFiles(first: 10) { id name active } }",
    f'{{ agent(id: "{OTHER_CHAIN}:1") {{ registrationFile {{ name }} feedback {{ value tag1 }} }} }}',
]


@dataclass(frozen=True)
class Servers:
    """Two servers.

    Attributes:
        urls: Their URLs.
        processes: The servers themselves.
    """

    urls: tuple[str, str]
    processes: tuple

    def database(self, number, name):
        """Make an empty database on a server, and return its URL."""
        administer(self.urls[number], f"CREATE DATABASE {name}")
        return make_url(self.urls[number]).set(database=name).render_as_string(hide_password=False)


@contextmanager
def running_servers():
    """Run both servers, and yield them."""
    with ExitStack() as stack:
        folder = stack.enter_context(server_folder())
        servers = [stack.enter_context(running_server(folder / name, package=NEWER)) for name in "ab"]
        urls = tuple(with_driver(server.get_uri()) for server in servers)
        for url in urls:
            forget_power_cuts(url)
        yield Servers(urls, tuple(servers))


@contextmanager
def two_chains(world):
    """Yield settings that follow the world as two chains, without databases."""
    other = replace(world.deployment, chain_id=OTHER_CHAIN)
    with Proxy(world.url, own={"eth_chainId": lambda _: hex(OTHER_CHAIN)}) as proxy:
        chains = (
            ChainSettings((world.url,), (world.deployment,), 0),
            ChainSettings((proxy.url,), (other,), 0),
        )
        files = FileSettings(workers=2, gateways=(world.gateway,), seconds=60.0, allow_private=True)
        yield IndexSettings(chains, poll_seconds=0.05, files=files, analyses=False)


def index_both(settings, database):
    """Index both chains into one database, or through a coordinator into their shards."""
    engine = open_database(database)
    try:
        way = follow if settings.shards else follow_chains
        assert way(engine, settings, stop=threading.Event(), until_head=True)
    finally:
        engine.dispose()


def written(folder, settings):
    """Write settings of two shards into a file, and return its path."""
    lines = ["poll_seconds = 0.05", "[database]", f'url = "{settings.database}"']
    for name, shard in settings.shards.items():
        lines += [f"[database.shards.{name}]", f'url = "{shard.url}"', f"chains = {shard.chains}"]
    lines += ["[files]", "allow_private = true", f"gateways = {list(settings.files.gateways)}"]
    for chain in settings.chains:
        (deployment,) = chain.deployments
        record = folder / f"{deployment.chain_id}.json"
        places = {name: {"address": getattr(deployment, field), "block": 0} for name, field in CONTRACTS.items()}
        record.write_text(json.dumps({"chainId": deployment.chain_id, "contracts": places}))
        lines += ["[[chain]]", f"rpc_urls = {list(chain.rpc_urls)}", f'deployments = ["{record.name}"]']
    path = folder / "index.toml"
    path.write_text("\n".join(lines))
    return path


def sharded(servers, settings, name=""):
    """Make a coordinator and a shard on each server, and return the settings."""
    urls = [servers.database(number, f"shard_{name}{number}") for number in range(2)]
    coordinator = servers.database(0, f"coordinator_{name}")
    chains = ([CHAIN_ID], [OTHER_CHAIN])
    shards = {label: Shard(url=url, chains=held) for label, url, held in zip("ab", urls, chains, strict=True)}
    update_shards(coordinator, shards)
    return replace(settings, database=coordinator, shards=shards)


def plan_of(url, statement):
    """Return the plan of a statement on the coordinator, as text."""
    engine = create_engine(url)
    with engine.connect() as connection:
        lines = connection.execute(text(f"EXPLAIN (VERBOSE, COSTS OFF) {statement}")).scalars().all()
    engine.dispose()
    return "\n".join(lines)


@contextmanager
def killed(server):
    """Kill a server without a word, and let it run again at the end."""
    process = server.get_postmaster_info().process
    os.kill(process.pid, signal.SIGQUIT)
    process.wait(60)
    yield
    dead_servers()


def server_program(name, *arguments):
    """Run a program of PostgreSQL's package. It takes URLs without the driver's name."""
    place = Path(NEWER.__file__).parent / "pginstall" / "bin" / name
    texts = [str(argument).replace("postgresql+psycopg:", "postgresql:") for argument in arguments]
    subprocess.run([place, *texts], check=True, capture_output=True, timeout=300)  # noqa: S603  # ours


def cut_off(url, condition):
    """End connections of a database from outside, as if the program was killed."""
    of_database = f"datname = current_database() AND pid <> pg_backend_pid() AND {condition}"
    administer(url, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {of_database}")  # noqa: S608  # ours


def rolled_back(url):
    """Roll the other chain back by ten blocks, as a worker does after a reorganisation."""
    engine = create_engine(url)
    store = ChainStore(engine, OTHER_CHAIN, PROJECTIONS)
    cursor = store.cursor()
    store.roll_back(cursor, store.checkpoints(cursor.number - 10)[0])
    engine.dispose()


def rows_of_chain(url):
    """Return the number of rows of the other chain in each table that has some."""
    engine, counts = create_engine(url), {}
    with engine.connect() as connection:
        for table in (*CHAIN_TABLES, *FEED_TABLES[:2]):
            query = select(func.count()).select_from(table).where(table.c.chain_id == OTHER_CHAIN)
            counts[table.name] = connection.execute(query).scalar_one()
    engine.dispose()
    return {name: count for name, count in counts.items() if count}
