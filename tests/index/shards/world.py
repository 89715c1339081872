"""The world of `tests.api.world` as two chains: on two servers behind a coordinator, and in one database."""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from sqlalchemy import create_engine, make_url, text

from bilateral.index.databases import Shard
from bilateral.index.settings import ChainSettings, FileSettings, IndexSettings
from bilateral.index.shards.process import follow
from bilateral.index.shards.servers import update_shards
from bilateral.index.store.database import open_database
from tests.api.world import CHAIN_ID
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
        yield IndexSettings(chains, poll_seconds=0.05, files=files)


def index_both(settings, database):
    """Index both chains into one database, or through a coordinator into their shards."""
    engine = open_database(database)
    try:
        assert follow(engine, settings, stop=threading.Event(), until_head=True)
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
    """Kill a server without a word, and start it again at the end."""
    process = server.get_postmaster_info().process
    os.kill(process.pid, signal.SIGQUIT)
    process.wait(60)
    yield
    assert dead_servers()
