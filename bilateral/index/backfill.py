"""Helpers of a backfill: they read ranges of a chain's past, and the chain's worker stores them in their order."""

from __future__ import annotations

import logging
import time
from enum import Enum
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from sqlalchemy.exc import DBAPIError

from bilateral.core.interpreter import tuned_interpreter
from bilateral.index.chain.checks import ENDPOINT_FAILURES
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.follow import ENOUGH_LOGS
from bilateral.index.chain.limits import Limits
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.reading import Reader
from bilateral.index.chain.source import Source
from bilateral.index.errors import ChainChangedError, NoEndpointError, NotIndexedError
from bilateral.index.log.batches import Batch
from bilateral.index.log.database import passing_failure
from bilateral.index.log.patience import Patience
from bilateral.index.log.registries import added_registries, begun_block, registries_of
from bilateral.index.log.store import JOURNAL_BLOCKS, ChainStore
from bilateral.index.operating.worker import chain_id_of, deployments_of
from bilateral.index.projections import PROJECTIONS
from bilateral.index.store.backfill_ranges import BackfillRanges, Claim, RangeLostError

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from sqlalchemy import Engine

    from bilateral.index.log.batches import Block
    from bilateral.index.operating.settings import ChainSettings, IndexSettings

_LOGGER: Final = logging.getLogger("bilateral.index")

_GOOD_EVENTS: Final = 10_000
"""The events that a range should hold: five of them make a transaction of the worker."""

_GOOD_SECONDS: Final = 5.0
"""The seconds after which a range should be read: the worker may wait for it."""

_FASTEST_GROWTH: Final = 4  # an empty stretch says little about the next blocks
_MOST_BLOCKS: Final = 1_000_000  # a lost range is read again, so an empty one must not hold half a chain
_ENOUGH_BYTES: Final = 20 * 1024**2
"""Bytes of logs' data after which a range is stored in parts."""

_POLL_SECONDS: Final = 0.2
"""Seconds between two looks for blocks to read, while the worker stores ranges that wait."""


class NotBegunError(NotIndexedError):
    """No worker has begun the chain in this database, so that its first block is not known."""

    def __init__(self, chain_id: int) -> None:
        super().__init__("chain", chain_id)
        self.args = (f"chain {chain_id} is not in the database yet: start bilateral index run for it first",)


class OtherChainError(NotIndexedError):
    """A node has another block than the database, deep in the chain."""

    def __init__(self, chain_id: int, block: int, endpoint: str) -> None:
        super().__init__("chain", chain_id)
        self.args = (
            f"{endpoint} has another block {block} of chain {chain_id} than the database: name a node of the same "
            "chain, or another --database",
        )


class Progress(Enum):
    """The outcome of one step of a helper."""

    FILLED = "filled"
    WAITED = "waited"
    DONE = "done"


class Helper:
    """Reads ranges of one chain's past.

    Args:
        settings: The chain's settings.
        stop: Set to make the helper give up its range.

    Raises:
        NoEndpointError: No endpoint says which chain it is of.
        NotBegunError: No worker has begun the chain in this database.
        OtherChainError: An endpoint has another block than the database.
        OtherRegistriesError, OtherFirstBlockError: The database has the chain with other settings.
        UnknownDeploymentError, DeploymentRecordError, WrongChainError: See `Worker`.
    """

    def __init__(self, engine: Engine, settings: ChainSettings, stop: threading.Event) -> None:
        endpoints = [Endpoint(url) for url in settings.rpc_urls]
        self.chain_id = chain_id_of(endpoints, settings.deployments)
        if begun_block(engine, self.chain_id, settings.from_block) is None:
            raise NotBegunError(self.chain_id)
        self._registries = registries_of(deployments_of(settings, self.chain_id))
        added_registries(engine, self.chain_id, self._registries, may_add=False)
        sources = [
            Source(endpoint, list(self._registries), wait=lambda seconds: not stop.wait(seconds))
            for endpoint in endpoints
        ]
        self._engine = engine
        self._stop = stop
        self._pool = Pool(self.chain_id, sources, self._report)
        self._limits = Limits(engine, self.chain_id, sources)
        self._reader = Reader(self._pool, self._registries)
        self._ranges = BackfillRanges(engine, self.chain_id, self._registries)
        self._holder = uuid4().hex
        self._blocks = min(_GOOD_EVENTS, *(source.size.blocks for source in sources))
        self._require_chain(self._pool.choose())

    def step(self) -> Progress:
        """Claim a range and read it.

        Raises:
            NoEndpointError: No endpoint is usable now; try again later.
            OtherRegistriesError: The worker of the chain has other registries now.
        """
        added_registries(self._engine, self.chain_id, self._registries, may_add=False)
        source = self._pool.choose()
        try:
            head = self._pool.head(source)
            finalized = self._pool.finalized(source)
            last = head - JOURNAL_BLOCKS if finalized is None else min(finalized, head - JOURNAL_BLOCKS)
            claim = self._ranges.claim(self._holder, last, self._blocks)
            if claim is None:
                return Progress.DONE if self._ranges.is_claimed(last) else Progress.WAITED
            with tuned_interpreter():
                self._read(source, claim, head)
        except RangeLostError:
            _LOGGER.warning("chain=%d outcome=lost", self.chain_id)  # the worker, or another helper, has its blocks
        except (ChainChangedError, *ENDPOINT_FAILURES) as problem:
            self._pool.bench(source, problem)
        else:
            self._pool.succeeded(source)
        self._limits.store()
        return Progress.FILLED

    def _read(self, source: Source, claim: Claim, head: int) -> None:
        """Read a range, and store it, in parts if it has many events."""
        began, events = time.monotonic(), 0
        rest: Claim | None = claim
        try:
            before = source.headers_of([claim.first - 1])[0].block
            for batch in self._parts(source, before, claim, head):
                assert rest is not None  # noqa: S101  # the last part ends the range
                events += batch.count
                rest, before = self._ranges.fill(self._holder, rest, before, batch), batch.end
        finally:
            if rest is not None:
                self._ranges.release(self._holder, rest)
        seconds, blocks = time.monotonic() - began, before.number - claim.first + 1
        self._learn(blocks, events, seconds)
        _LOGGER.info(
            "chain=%d outcome=filled first=%d block=%d events=%d rate=%.1f endpoint=%s",
            *(self.chain_id, claim.first, before.number, events, blocks / max(seconds, 1e-9), source.name),
        )

    def _parts(self, source: Source, before: Block, claim: Claim, head: int) -> Iterator[Batch]:
        """Yield the range in batches that can be stored; none after the process was told to stop."""
        waiting: list[Batch] = []
        end = before
        while end.number < claim.last and not self._stop.is_set():
            source.deliver(end.number + 1)
            for batch in self._reader.read(source, end, head, claim.last):
                waiting.append(batch)
                end = batch.end
            is_enough = sum(part.count for part in waiting) >= ENOUGH_LOGS
            if is_enough or sum(part.size for part in waiting) >= _ENOUGH_BYTES or end.number >= claim.last:
                yield Batch.joined(waiting)
                waiting, before = [], end
            else:
                self._ranges.renew(self._holder, Claim(before.number + 1, claim.last))

    def _learn(self, blocks: int, events: int, seconds: float) -> None:
        """Choose the size of the next range by the last one."""
        share = min(_GOOD_EVENTS / max(events, 1), _GOOD_SECONDS / max(seconds, 1e-9), _FASTEST_GROWTH)
        self._blocks = max(1, min(_MOST_BLOCKS, int(blocks * share)))

    def _require_chain(self, source: Source) -> None:
        """Compare a block that the database has with the endpoint's."""
        deep = self._pool.head(source) - JOURNAL_BLOCKS
        known = next(iter(ChainStore(self._engine, self.chain_id, PROJECTIONS).checkpoints(deep)), None)
        if known is None or known.number < 0:
            return
        header = source.header(known.number)
        if header is not None and header.block.hash != known.hash:
            raise OtherChainError(self.chain_id, known.number, source.name)

    def _report(self, endpoint: str, problem: str) -> None:
        """Log that an endpoint was benched."""
        _LOGGER.warning("chain=%d endpoint=%s benched=%r", self.chain_id, endpoint, problem)


def fill_chains(engine: Engine, settings: IndexSettings, *, stop: threading.Event) -> bool:
    """Help with the past of some chains until all of it is claimed, or the process is stopped.

    Args:
        settings: The chains.
        stop: Set to end the process. The range under way is given up.

    Returns:
        True if all blocks are claimed; False if it was told to stop before.

    Raises:
        BilateralError: See `Helper`.
        DatabaseUnavailableError: The database cannot be written.
    """
    patience = Patience(stop, settings.max_wait, lambda problem: _LOGGER.warning("outcome=waits problem=%r", problem))
    helpers: list[Helper] = []
    while not stop.is_set():
        try:
            helpers = helpers or [Helper(engine, chain, stop) for chain in settings.chains]
            steps = {helper: helper.step() for helper in helpers}
        except NoEndpointError as problem:
            patience.wait(problem)
        except DBAPIError as problem:
            patience.wait(passing_failure(problem))
        else:
            patience.succeeded()
            if all(step is Progress.DONE for step in steps.values()):
                return True
            if Progress.FILLED not in steps.values():
                stop.wait(_POLL_SECONDS)
    return False
