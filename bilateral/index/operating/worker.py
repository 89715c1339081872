"""The worker that follows one chain, and the index process, whose threads run a worker per chain and fetch files."""

import logging
import threading
import time
from bisect import bisect_left
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from sqlalchemy import Engine, update
from sqlalchemy.exc import DBAPIError

from bilateral.core import errors
from bilateral.core.contracts import Deployment, packaged_deployment
from bilateral.core.contracts.origin import Origin
from bilateral.core.text import printable
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.follow import ENOUGH_LOGS, Follower, Outcome, Step
from bilateral.index.chain.pool import Limits, Pool
from bilateral.index.chain.source import Source
from bilateral.index.changes.worker import keep_pruned
from bilateral.index.errors import EarlierRegistryError, FirstBlockAheadError, NoEndpointError
from bilateral.index.files.worker import FileWorkers
from bilateral.index.log import tables as schema
from bilateral.index.log.backoff import Backoff
from bilateral.index.log.database import is_lost, is_transient, passing_failure, unavailable
from bilateral.index.log.registries import added_registries, record_registries, registries_of, stored_first_block
from bilateral.index.log.store import ChainStore
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.index.payments.worker import PaymentFollower, PaymentStore
from bilateral.index.projections import PROJECTIONS, READERS

_LOGGER: Final = logging.getLogger("bilateral.index")
_RETRY_SECONDS: Final = 2.0
"""Seconds between checks for the first block to index if the chain has not reached it yet."""


class Worker:
    """Follows one chain.

    Args:
        poll_seconds: The number of seconds between checks for a new block.
        max_wait: The number of seconds without success after which a run to the chain's head fails.

    Raises:
        NoEndpointError: No endpoint reports the id of its chain.
        UnknownDeploymentError: No deployment was passed, and the package contains none for the chain.
        WrongChainError: A deployment is for a different chain.
        OtherRegistriesError: The chain is in the database with other registries, and adding registries is not enabled.
        EarlierRegistryError: A registry to be added was deployed before the chain's first block in the database.
        OtherFirstBlockError: The chain's first block in the database differs from the one in the settings.
        DeploymentRecordError: An address book does not contain the chain.
    """

    def __init__(  # noqa: PLR0913  # all but two have defaults
        self,
        engine: Engine,
        settings: ChainSettings,
        *,
        stop: threading.Event,
        poll_seconds: float = 1.0,
        enough: int = ENOUGH_LOGS,
        max_wait: float = IndexSettings.max_wait,
    ) -> None:
        endpoints = [Endpoint(url) for url in settings.rpc_urls]
        self.chain_id = chain_id_of(endpoints, settings.deployments)
        stored_first = stored_first_block(engine, self.chain_id, settings.from_block)
        deployments = deployments_of(settings, self.chain_id)
        registries = registries_of(deployments)
        added = set()
        if stored_first is not None:
            added = added_registries(engine, self.chain_id, registries, may_add=settings.adds_registries)

        def wait(seconds: float) -> bool:
            return not stop.wait(seconds)

        sources = [Source(endpoint, list(registries), wait=wait) for endpoint in endpoints]
        report = partial(_LOGGER.warning, "chain=%d endpoint=%s benched=%r", self.chain_id)
        self._pool = Pool(self.chain_id, sources, report)
        first = settings.from_block
        if first is None:
            first = min(deployment.first_block for deployment in deployments) or first_block_of(self._pool, deployments)
        self._stop = stop
        self._max_wait = max_wait
        self._poll_seconds = poll_seconds
        store = ChainStore(engine, self.chain_id, PROJECTIONS)
        self._engine = engine
        self._limits = Limits(engine, self.chain_id, sources)
        trusts = settings.trusts_reorganisation
        begin = first if stored_first is None else stored_first
        self._follower = Follower(store, self._pool, registries, begin, enough=enough, trusts_reorganisation=trusts)
        if added:
            self._go_back(added, deployments, begin, is_cut=settings.from_block is not None)
        record_registries(engine, self.chain_id, deployments, first)  # last, so that an earlier restart goes back again
        cursor = store.cursor()
        self._before = begin - 1 if cursor is None else cursor.number
        self._payments: PaymentFollower | None = None
        if settings.payments is not None:
            rows = PaymentStore(engine, self.chain_id, settings.payments)
            rows.begin(first)
            self._payments = PaymentFollower(rows, self._pool, wait)
        self._endpoint = ""
        self._is_ahead_logged = False
        self._is_last_try = False

    def run(self, *, until_head: bool = False) -> None:
        """Follow the chain until the worker is stopped."""
        began, indexed = time.monotonic(), 0
        before = self._before
        retry = Backoff(self._stop, self._max_wait if until_head else None, self._report_failure)
        while not self._stop.is_set():
            step = self._try_step(retry, until_head=until_head)
            if step is None:
                continue
            if step.outcome is Outcome.WAITED:
                if not until_head:
                    self._stop.wait(self._poll_seconds)
                elif not self._pool.compare_heads_now():
                    return
                continue
            indexed += max(0, step.block - before)
            before = step.block
            rate = indexed / max(time.monotonic() - began, 1e-9)
            left = (step.head - step.block) / rate if rate and step.head > step.block else None
            _LOGGER.info(
                "chain=%d outcome=%s block=%d head=%d events=%d depth=%d endpoint=%s rate=%.1f left=%s",
                *(self.chain_id, step.outcome, step.block, step.head, step.events, step.depth, step.endpoint, rate),
                "?" if left is None and step.block < step.head else f"{left or 0:.0f}s",
            )

    def _go_back(self, added: Collection[str], deployments: Sequence[Deployment], begin: int, *, is_cut: bool) -> None:
        """Remove the blocks that may contain events from registries to add, so that they are read again."""
        theirs = [deployment for deployment in deployments if not registries_of([deployment]).keys().isdisjoint(added)]
        first = min(deployment.first_block or first_block_of(self._pool, [deployment]) for deployment in theirs)
        if first < begin and not is_cut:
            raise EarlierRegistryError(self.chain_id, first, begin)
        block = max(first, begin)
        _LOGGER.info("chain=%d outcome=goes_back block=%d adds=%s", self.chain_id, block, ",".join(sorted(added)))
        self._follower.go_back(block)

    def _try_step(self, retry: Backoff, *, until_head: bool) -> Step | None:
        try:
            self._limits.store()  # even if the step failed
            step = self._follower.step()
            if step.outcome is Outcome.WAITED and self._payments is not None and self._payments.step():
                return None  # index first, so that the index stays near the head
            self._limits.store()
            self._note_success(step.endpoint)
        except NoEndpointError as problem:
            if until_head and problem.is_final:
                raise
            if retry.is_over and not self._is_last_try:
                self._is_last_try = True  # benched endpoints have not been used for some time
                self._pool.release()
            else:
                retry.wait(problem)
        except FirstBlockAheadError as problem:
            self._wait_for_first_block(problem, until_head=until_head)
        except DBAPIError as problem:
            if is_lost(problem):
                retry.wait(unavailable(problem))
            elif not is_transient(problem):
                raise unavailable(problem) from None
        else:
            retry.succeeded()
            self._is_last_try = False
            return step
        return None

    def _wait_for_first_block(self, problem: FirstBlockAheadError, *, until_head: bool) -> None:
        """Bench lagging endpoints or, if there are none, wait for the first block (an error if `until_head`)."""
        if self._pool.compare_heads_now():
            return
        if until_head:
            raise problem
        if not self._is_ahead_logged:
            _LOGGER.warning("chain=%d outcome=waited problem=%r", self.chain_id, str(problem))
            self._is_ahead_logged = True
        self._stop.wait(_RETRY_SECONDS)

    def _note_success(self, endpoint: str) -> None:
        if endpoint != self._endpoint:
            self._note(endpoint=endpoint, problem=None)
            self._endpoint = endpoint

    def _note(self, **values: str | None) -> None:
        table = schema.chain
        with self._engine.begin() as connection:
            connection.execute(update(table).where(table.c.chain_id == self.chain_id).values(**values))

    def _report_failure(self, problem: str) -> None:
        """Log that the worker is waiting because no endpoint or database is available, and store the reason."""
        _LOGGER.warning("chain=%d outcome=waits problem=%r", self.chain_id, problem)
        self._endpoint = ""  # so that the next step records that the problem is over
        with suppress(DBAPIError):  # the database may be the problem
            self._note(problem=printable(problem))


def deployments_of(settings: ChainSettings, chain_id: int) -> tuple[Deployment, ...]:
    """Return a chain's deployments: those in the settings or, if the settings list none, the packaged ones."""
    if any(chain_id not in book for book in settings.books):
        raise errors.DeploymentRecordError(
            f"the address book has no chain {chain_id}: pass a --deployment with that chain's registries"
        )
    packaged = [packaged_deployment(chain_id, origin) for origin in Origin]
    configured = (*settings.deployments, *(book[chain_id] for book in settings.books))
    deployments = configured or tuple(deployment for deployment in packaged if deployment is not None)
    if not deployments:
        raise errors.UnknownDeploymentError(chain_id)
    for deployment in deployments:
        if deployment.chain_id != chain_id:
            raise errors.WrongChainError(deployment.chain_id, chain_id)
    return deployments


def first_block_of(pool: Pool, deployments: Sequence[Deployment]) -> int:
    """Find the block in which the first registry was deployed, by bisecting on whether there is code at the address."""
    addresses = [deployment.identity for deployment in deployments]
    problems: list[Exception] = []
    has_code = False
    for source in pool.usable():
        try:
            _require_code(source, addresses, head := source.head())
        except (*errors.NODE_FAILURES, errors.UnexpectedAnswerError) as problem:  # an endpoint may also lag far behind
            problems.append(problem)
            continue
        has_code = True
        try:
            return min(bisect_left(range(head), True, key=partial(source.has_code, address)) for address in addresses)
        except errors.NODE_FAILURES as problem:
            _LOGGER.warning("endpoint=%s first_block=0 problem=%r", source.name, str(problem))
    if has_code:
        return 0
    for failure in problems:
        if isinstance(failure, errors.UnexpectedAnswerError):
            raise failure
    raise NoEndpointError(pool.chain_id, "; ".join(map(str, problems)))


def _require_code(source: Source, addresses: Sequence[str], block: int) -> None:
    for address in addresses:
        if not source.has_code(address, block):
            raise errors.UnexpectedAnswerError(
                f"there is no contract at {address}, where an identity registry should be: check --rpc-url, or use "
                "a different --deployment"
            )


def chain_id_of(endpoints: Sequence[Endpoint], deployments: Sequence[Deployment]) -> int:
    """Return the chain id from the first endpoint on the deployments' chain or, without one, the first that responds.

    The pool checks that the other endpoints are on the same chain.
    """
    requested = {deployment.chain_id for deployment in deployments}
    problems: list[str] = []
    are_final = True
    answered: dict[str, int] = {}
    for endpoint in endpoints:
        try:
            chain_id = Source(endpoint, ()).chain_id()
        except errors.NODE_FAILURES as problem:
            problems.append(f"{endpoint.name}: {problem}")
            are_final &= getattr(problem, "is_final", False)
            continue
        if not requested or chain_id in requested:
            return chain_id
        answered[endpoint.name] = chain_id
    if answered and not problems:
        return next(iter(answered.values()))
    problems += [f"{name}: chain {number}" for name, number in answered.items()]
    raise NoEndpointError(None, "; ".join(problems), is_final=are_final)


_SIGNAL_SECONDS: Final = 0.2
"""The interval in seconds at which a waiting main thread checks for signals."""

_GRACE_SECONDS: Final = 5.0
"""Seconds that a step has to finish after the process is stopped. A step that takes longer is rolled back."""


def follow_chains(engine: Engine, settings: IndexSettings, *, stop: threading.Event, until_head: bool = False) -> bool:
    """Follow chains and fetch files, storing everything in one database, until the process is stopped."""
    return _Process(engine, settings, stop).follow(until_head=until_head)


class _Process:
    """The threads of one process."""

    def __init__(self, engine: Engine, settings: IndexSettings, stop: threading.Event) -> None:
        self._failures: list[Exception] = []  # the exceptions that ended threads, in order
        self._engine = engine
        self._settings = settings
        self._stop = stop
        self._files = FileWorkers(engine, settings.files, READERS, stop=stop, fail=self._fail)

    def follow(self, *, until_head: bool) -> bool:
        """Follow the chains and fetch files. Return True unless the process was stopped before it finished."""
        self._files.start()
        pruning = partial(keep_pruned, self._engine, self._settings.feed, self._stop)
        threading.Thread(target=pruning, name="pruning", daemon=True).start()
        urls = [chain.rpc_urls for chain in self._settings.chains]
        works = [projection.background(self._engine, urls) for projection in PROJECTIONS if self._settings.analyses]
        background = [work for work in works if work is not None]
        if not until_head:
            for work in background:
                work.start()
        self._wait([self._started(chain, until_head) for chain in self._settings.chains])
        self._files.wait_until_done()
        is_done = not self._stop.is_set()
        self._stop.set()
        for work in background:
            if until_head and is_done:
                work.refresh_once()
            work.end()
        self._files.close()
        if self._failures:
            raise self._failures[0]
        return is_done

    def _worker_of(self, chain: ChainSettings, until_head: bool) -> Worker | None:
        """Create a chain's worker, retrying while that fails. Return None when the process ends."""
        settings = self._settings
        writers = len(settings.chains) + (settings.files.workers > 0)
        options: dict[str, Any] = {"enough": max(1, ENOUGH_LOGS // writers), "max_wait": settings.max_wait}
        report = partial(_LOGGER.warning, "outcome=waits problem=%r")
        retry = Backoff(self._stop, settings.max_wait if until_head else None, report)
        while not self._stop.is_set():
            try:
                return Worker(self._engine, chain, stop=self._stop, poll_seconds=settings.poll_seconds, **options)
            except NoEndpointError as problem:
                if until_head and problem.is_final:
                    raise
                retry.wait(problem)
            except DBAPIError as problem:
                retry.wait(passing_failure(problem))
        return None

    def _fail(self, failure: Exception) -> None:
        self._failures.append(failure)
        self._stop.set()

    def _started(self, chain: ChainSettings, until_head: bool) -> threading.Thread:
        def run() -> None:
            try:
                if (worker := self._worker_of(chain, until_head)) is not None:
                    self._files.add_chain(worker.chain_id)
                    worker.run(until_head=until_head)
            except (NoEndpointError, FirstBlockAheadError) as failure:  # the other chains continue
                self._failures.append(failure)
                if len(self._settings.chains) > 1:
                    _LOGGER.warning("outcome=ended problem=%r", str(failure))
            except Exception as failure:  # noqa: BLE001  # it is raised when all threads have ended
                self._fail(failure)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def _wait(self, threads: Sequence[threading.Thread]) -> None:
        """Wait for threads to end. Once they are stopped, wait only briefly: a node may take minutes to respond."""
        end = None
        for thread in threads:
            while thread.is_alive() and (end is None or time.monotonic() < end):
                thread.join(_SIGNAL_SECONDS)  # an unlimited join would delay signals
                if end is None and self._stop.is_set():
                    end = time.monotonic() + _GRACE_SECONDS
