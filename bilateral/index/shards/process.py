"""One process that follows chains into their shards, as others follow them into one database."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Final

from sqlalchemy import Engine, make_url

from bilateral.core.errors import BilateralError
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.errors import DatabaseUnavailableError, MisplacedChainError, ShardError
from bilateral.index.log.database import open_database
from bilateral.index.log.places import PARTS, has_schema
from bilateral.index.operating.process import follow_chains
from bilateral.index.operating.settings import ChainSettings, IndexSettings, Shard
from bilateral.index.operating.status import ChainStatus, ShardStatuses, chain_statuses
from bilateral.index.operating.worker import chain_id_of
from bilateral.index.shards.coordinator import identity_of, require_places
from bilateral.index.shards.numbering import keep_numbered, number_steps, release_restored
from bilateral.index.shards.served import require_claim
from bilateral.index.shards.servers import closing_engine, of_shard, opened_shards

_CONNECT_SECONDS: Final = 2
"""The seconds to connect to a shard, as the coordinator has: monitors wait ten by default."""


def statuses_of_shards(shards: Mapping[str, Shard]) -> ShardStatuses:
    """Ask all shards at once."""
    with ThreadPoolExecutor(len(shards)) as threads:
        answers = dict(zip(shards, threads.map(_statuses_of, shards, shards.values()), strict=True))
    failed = {name: answer for name, answer in answers.items() if isinstance(answer, BilateralError)}
    statuses = [status for answer in answers.values() if isinstance(answer, list) for status in answer]
    return ShardStatuses(
        sorted(statuses, key=lambda status: status.chain_id),
        sorted(chain_id for name in failed for chain_id in shards[name].chains),
        list(failed.values()),
    )


def _statuses_of(name: str, shard: Shard) -> list[ChainStatus] | BilateralError:
    """Return the status of a shard's chains, or the reason why it cannot be read."""
    url = make_url(shard.url)
    if "connect_timeout" not in url.query:
        url = url.update_query_dict({"connect_timeout": str(_CONNECT_SECONDS)})
    try:
        address = url.render_as_string(hide_password=False)
        with of_shard(name), closing_engine(open_database(address, creates=False)) as engine:
            return chain_statuses(engine)
    except BilateralError as problem:
        return problem


_LOGGER: Final = logging.getLogger("bilateral.index")

_SIGNAL_SECONDS: Final = 0.2
"""The seconds after which a waiting thread looks whether the process was stopped."""

_RETRY_SECONDS: Final = 1.0
"""The seconds between two tries to open a shard that does not answer: as readers look at it."""


def settings_of_shards(settings: IndexSettings) -> dict[str, IndexSettings]:
    """Return the settings of each shard that has chains to follow."""
    of_shards: dict[str, list[ChainSettings]] = {}
    for chain in settings.chains:
        of_shards.setdefault(shard_of(settings.shards, chain_of(chain)), []).append(chain)
    return {
        name: replace(settings, chains=tuple(chains), database=settings.shards[name].url, shards={})
        for name, chains in of_shards.items()
    }


def chain_of(chain: ChainSettings) -> int:
    """Return the id of a chain, by its deployments or else by its nodes."""
    named = {deployment.chain_id for deployment in chain.deployments}
    return named.pop() if named else chain_id_of([Endpoint(url) for url in chain.rpc_urls], ())


def shard_of(shards: Mapping[str, Shard], chain_id: int) -> str:
    """Return the name of the shard that has a chain."""
    for name, shard in shards.items():
        if chain_id in shard.chains:
            return name
    raise MisplacedChainError(chain_id, "has no shard: add it to database.shards.NAME.chains")


def require_coordinator(engine: Engine, settings: IndexSettings) -> str:
    """Refuse a database that does not read the shards of the settings."""
    with engine.connect() as connection:
        if not has_schema(connection, PARTS):
            raise ShardError("", "it reads no shards yet: run bilateral index shards")
        require_places(connection, settings.shards)
        return identity_of(connection)


def require_rows(engine: Engine) -> None:
    """Refuse a coordinator where a command writes the tables of chains."""
    with engine.connect() as connection:
        if has_schema(connection, PARTS):
            raise ShardError("", "it holds no rows of chains: pass --settings without --database to work on each shard")


class _Openings:
    """Opens shards, and may wait for those that do not answer while another one does.

    Args:
        waits: True to wait.
    """

    def __init__(self, shards: Mapping[str, Shard], *, waits: bool) -> None:
        self._shards = shards
        self._waits = waits
        self._down: set[str] = set()

    def open(self, stack: ExitStack, name: str, end: threading.Event) -> Engine | None:
        """Open a shard until the end of a stack. Return None if the process ends before it answers."""
        while True:
            try:
                return stack.enter_context(opened_shards({name: self._shards[name]}))[name]
            except DatabaseUnavailableError as problem:
                self._note(name, problem)
                if not self._waits or len(self._down) == len(self._shards):
                    raise
            if end.wait(_RETRY_SECONDS):
                return None

    def _note(self, name: str, problem: DatabaseUnavailableError) -> None:
        if name not in self._down:
            _LOGGER.warning("outcome=waits problem=%r", str(problem))
        self._down.add(name)


def _on_each_shard(
    settings: IndexSettings, stop: threading.Event, work: Callable[..., bool], *, until_head: bool
) -> bool:
    """Do the work of a process on each shard at once, and wait for all."""
    by_shard = settings_of_shards(settings)
    ends = {name: threading.Event() for name in by_shard}  # the end of one shard's work is not that of the others
    openings = _Openings({name: settings.shards[name] for name in by_shard}, waits=not until_head)
    is_done: dict[str, bool] = dict.fromkeys(by_shard, False)
    failures: list[Exception] = []

    def run(name: str) -> None:
        try:
            with ExitStack() as stack:
                if (engine := openings.open(stack, name, ends[name])) is not None:
                    is_done[name] = work(engine, by_shard[name], stop=ends[name], until_head=until_head)
        except Exception as failure:  # noqa: BLE001  # it is raised when all have ended
            failures.append(failure)
            if not until_head:
                stop.set()

    threads = [threading.Thread(target=partial(run, name), daemon=True) for name in by_shard]
    for thread in threads:
        thread.start()
    _wait(threads, stop, ends.values())
    if failures:
        raise failures[0]
    return all(is_done.values())


def _wait(threads: Iterable[threading.Thread], stop: threading.Event, ends: Collection[threading.Event]) -> None:
    """Wait for the end of threads, and end all once the process is stopped."""
    for thread in threads:
        while thread.is_alive():
            thread.join(_SIGNAL_SECONDS)
            if stop.is_set():
                for end in ends:
                    end.set()


def follow(engine: Engine, settings: IndexSettings, *, stop: threading.Event, until_head: bool = False) -> bool:
    """Follow chains into one database, or into the shards that the settings name. See `follow_chains`."""
    into = follow_shards if settings.shards else follow_chains
    return into(engine, settings, stop=stop, until_head=until_head)


def follow_shards(engine: Engine, settings: IndexSettings, *, stop: threading.Event, until_head: bool = False) -> bool:
    """Follow chains into their shards until the process is stopped. See `follow_chains` for the errors.

    A shard that does not answer at the start is opened once it does, and the others are followed meanwhile.
    """
    identity = require_coordinator(engine, settings)
    shards: dict[str | None, str] = {shard.url: name for name, shard in settings.shards.items()}

    def work(on_shard: Engine, of_shard: IndexSettings, **options: Any) -> bool:
        name = shards[of_shard.database]
        with on_shard.connect() as connection:
            require_claim(connection, identity, name)
        release_restored(engine, settings.shards[name].chains)
        return follow_chains(on_shard, of_shard, **options)

    over = threading.Event()
    numbering = threading.Thread(target=keep_numbered, args=(engine, over), name="numbering", daemon=True)
    numbering.start()
    try:
        return _on_each_shard(settings, stop, work, until_head=until_head)
    finally:
        over.set()
        numbering.join()
        number_steps(engine)
