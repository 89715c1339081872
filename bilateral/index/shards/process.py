"""A process that follows chains and stores each chain in its shard, instead of all chains in one database.

The process also numbers the steps of all shards' change feeds, which gives them a permanent order. Each shard numbers
its own steps. When the coordinator first sees a step, it assigns a second number to the step. The steps of each chain
remain in order. As in an index without shards, readers never see a step before one with a smaller number.
"""

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Final

from sqlalchemy import Engine, make_url, text
from sqlalchemy.exc import DBAPIError

from bilateral.core.errors import BilateralError
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.errors import DatabaseUnavailableError, MisplacedChainError, ShardError
from bilateral.index.log.database import open_database, unavailable
from bilateral.index.log.places import PARTS, has_schema
from bilateral.index.operating.settings import ChainSettings, IndexSettings, Shard
from bilateral.index.operating.status import ChainStatus, IndexStatus, chain_statuses
from bilateral.index.operating.worker import chain_id_of, follow_chains
from bilateral.index.shards import coordinator
from bilateral.index.shards.coordinator import of_shard
from bilateral.index.shards.served import require_claim

_CONNECT_SECONDS: Final = 2
"""The time limit in seconds for connecting to a shard. Monitoring systems wait ten by default."""


def statuses_of_shards(shards: Mapping[str, Shard]) -> IndexStatus:
    """Query the status of all shards concurrently."""
    with ThreadPoolExecutor(len(shards)) as threads:
        answers = dict(zip(shards, threads.map(_statuses_of, shards, shards.values()), strict=True))
    failed = {name: answer for name, answer in answers.items() if isinstance(answer, BilateralError)}
    statuses = [status for answer in answers.values() if isinstance(answer, list) for status in answer]
    return IndexStatus(
        sorted(statuses, key=lambda status: status.chain_id),
        sorted(chain_id for name in failed for chain_id in shards[name].chains),
        list(failed.values()),
    )


def _statuses_of(name: str, shard: Shard) -> list[ChainStatus] | BilateralError:
    url = make_url(shard.url)
    if "connect_timeout" not in url.query:
        url = url.update_query_dict({"connect_timeout": str(_CONNECT_SECONDS)})
    try:
        address = url.render_as_string(hide_password=False)
        with of_shard(name), coordinator.closing_engine(open_database(address, creates=False)) as engine:
            return chain_statuses(engine)
    except BilateralError as problem:
        return problem


_LOGGER: Final = logging.getLogger("bilateral.index")

_SIGNAL_SECONDS: Final = 0.2
"""The interval in seconds at which a waiting thread checks whether the process was stopped."""

_RETRY_SECONDS: Final = 1.0
"""Seconds between attempts to open a shard that is not responding, the same interval at which readers check it."""


def chain_of(chain: ChainSettings) -> int:
    """Return a chain's id from its deployments, or else from its nodes."""
    for deployment in chain.deployments:
        return deployment.chain_id
    return chain_id_of([Endpoint(url) for url in chain.rpc_urls], ())


def shard_of(shards: Mapping[str, Shard], chain_id: int) -> str:
    """Return the name of the shard on which the settings place a chain."""
    for name, shard in shards.items():
        if chain_id in shard.chains:
            return name
    raise MisplacedChainError(chain_id, "has no shard: add it to database.shards.NAME.chains")


def require_rows(engine: Engine) -> None:
    """Raise an error if the database is a coordinator, for commands that write to chains' tables."""
    with engine.connect() as connection:
        if has_schema(connection, PARTS):
            raise ShardError("", "it stores no chain data: pass --settings without --database to work on each shard")


def _settings_by_shard(settings: IndexSettings) -> dict[str, IndexSettings]:
    chains: dict[str, list[ChainSettings]] = defaultdict(list)
    for chain in settings.chains:
        chains[shard_of(settings.shards, chain_of(chain))].append(chain)
    return {
        name: replace(settings, chains=tuple(of_shard), database=settings.shards[name].url, shards={})
        for name, of_shard in chains.items()
    }


def _opened(
    stack: ExitStack, name: str, shards: Mapping[str, Shard], down: set[str], end: threading.Event
) -> Engine | None:
    """Open a shard. If only this shard is not responding, wait for it. Return None when the process ends."""
    while True:
        try:
            return stack.enter_context(coordinator.opened_shards({name: shards[name]}))[name]
        except DatabaseUnavailableError as problem:
            if name not in down:
                _LOGGER.warning("outcome=waits problem=%r", str(problem))
            down.add(name)
            if down.issuperset(shards):
                raise
        if end.wait(_RETRY_SECONDS):
            return None


def _on_each_shard(
    settings: IndexSettings, stop: threading.Event, work: Callable[..., bool], *, until_head: bool
) -> bool:
    """Run work on all shards concurrently, and wait until it has finished on each of them."""
    by_shard = _settings_by_shard(settings)
    ends = {name: threading.Event() for name in by_shard}  # one shard's work may end before the work of others
    failures: list[Exception] = []
    done, down = set[str](), set[str]()

    def run(name: str) -> None:
        try:
            shards = {other: settings.shards[other] for other in ([name] if until_head else by_shard)}
            with ExitStack() as stack:
                engine = _opened(stack, name, shards, down, ends[name])
                if engine is not None and work(name, engine, by_shard[name], stop=ends[name], until_head=until_head):
                    done.add(name)
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
    return done == by_shard.keys()


def _wait(threads: Iterable[threading.Thread], stop: threading.Event, ends: Collection[threading.Event]) -> None:
    """Wait for threads to end, and stop all of them once the process is stopped."""
    for thread in threads:
        while thread.is_alive():
            thread.join(_SIGNAL_SECONDS)
            if stop.is_set():
                for end in ends:
                    end.set()


def follow(engine: Engine, settings: IndexSettings, *, stop: threading.Event, until_head: bool = False) -> bool:
    """Follow chains, and store them in the shards listed in the settings. See `follow_chains` for the errors.

    A shard that is not responding at the start is opened when it recovers; until then, only the other shards' chains
    are followed.
    """
    with engine.connect() as connection:
        if not has_schema(connection, PARTS):
            raise ShardError("", "this coordinator does not read any shards yet: run `bilateral index shards`")
        coordinator.require_places(connection, settings.shards)
        identity = coordinator.identity_of(connection)

    def work(name: str, on_shard: Engine, of_shard: IndexSettings, **options: Any) -> bool:
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


_SECONDS: Final = 0.5
"""Seconds between checks of the shards, the same interval at which workers check for blocks."""

_AT_ONCE: Final = 10_000  # steps per transaction: a megabyte

_LAST: Final = text("SELECT coalesce(max(shard_step), 0) FROM sharded.numbered_step WHERE chain_id = :chain")

_NUMBER: Final = text("""
    INSERT INTO sharded.numbered_step
      (step, kind, chain_id, first_block, last_block, removal, changes, made_at, shard_step)
    SELECT (SELECT coalesce(max(step), 0) FROM sharded.numbered_step) + row_number() OVER (ORDER BY step),
           kind, chain_id, first_block, last_block, removal, changes, made_at, step
    FROM (SELECT * FROM sharded.change_step WHERE chain_id = :chain AND step > :last ORDER BY step LIMIT :most) new
""")

_PRUNED: Final = text("""
    SELECT max(step) FROM sharded.numbered_step WHERE chain_id = :chain
    AND shard_step < (SELECT min(step) FROM sharded.change_step WHERE chain_id = :chain)
""")

_RESTORED: Final = text("""
    UPDATE sharded.numbered_step SET chain_id = 0, shard_step = -step WHERE chain_id = :chain
    AND shard_step > (SELECT max(step) FROM sharded.change_step WHERE chain_id = :chain)
""")
"""Detaches steps that a chain's shard lacks from the chain. Their numbers, which readers saw, are not reused."""

_COPY_REGISTRIES: Final = (
    text("DELETE FROM registry WHERE chain_id = :chain"),
    text("INSERT INTO registry SELECT * FROM sharded.registry WHERE chain_id = :chain"),
)
"""Copies a chain's registries, which a worker records before the chain's first step and before adding any."""


def number_steps(engine: Engine, failing: set[int] | None = None) -> None:
    """Number new steps on shards. If a shard is not responding, its steps are numbered later; this is logged once."""
    failing = set() if failing is None else failing
    with engine.connect() as connection:
        chains = [placed.chain_id for placed in coordinator.places(connection)]
    for chain_id in chains:
        try:
            while _number(engine, chain_id) == _AT_ONCE:
                pass
            failing.discard(chain_id)
        except DBAPIError as problem:
            if chain_id not in failing:
                _LOGGER.warning("chain=%d outcome=waits problem=%r", chain_id, str(unavailable(problem)))
            failing.add(chain_id)


def release_restored(engine: Engine, chains: Iterable[int]) -> None:
    """Prepare to number the steps of shards restored from a backup. Call this before the shards' workers start.

    A restored shard lost the steps added after the backup, and will give their numbers to other steps.
    """
    for chain_id in chains:
        with engine.begin() as connection:
            coordinator.hold_numbers(connection)
            connection.execute(_RESTORED, {"chain": chain_id})


def forget_pruned(engine: Engine) -> None:
    """Delete all steps up to the last pruned by a shard. Readers with an earlier cursor would otherwise miss steps."""
    with engine.begin() as connection:
        coordinator.hold_numbers(connection)
        pruned = [
            connection.execute(_PRUNED, {"chain": placed.chain_id}).scalar_one()
            for placed in coordinator.places(connection)
        ]
        forgotten = text("DELETE FROM sharded.numbered_step WHERE step <= :last")
        connection.execute(forgotten, {"last": max((step for step in pruned if step is not None), default=0)})


def keep_numbered(engine: Engine, stop: threading.Event, pruning_seconds: float = 60.0) -> None:
    """Number steps, and delete pruned steps, until the process ends."""
    looks, failing, is_logged = 0, set[int](), False
    while not stop.wait(_SECONDS):
        looks += 1
        try:
            number_steps(engine, failing)
            if looks * _SECONDS >= pruning_seconds:
                looks = 0
                forget_pruned(engine)
            is_logged = False
        except DBAPIError as problem:
            if not is_logged:
                _LOGGER.warning("outcome=waits problem=%r", str(unavailable(problem)))
            is_logged = True


def _number(engine: Engine, chain_id: int) -> int:
    """Number some of a chain's steps, and return the number of these steps."""
    with engine.begin() as connection:
        coordinator.hold_numbers(connection)
        last = connection.execute(_LAST, {"chain": chain_id}).scalar_one()
        count = connection.execute(_NUMBER, {"chain": chain_id, "last": last, "most": _AT_ONCE}).rowcount
        for statement in _COPY_REGISTRIES if count else ():
            connection.execute(statement, {"chain": chain_id})
    return count
