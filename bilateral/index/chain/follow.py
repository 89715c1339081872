"""Follow one chain: detect reorganisations, and store or remove blocks, step by step."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sqlalchemy.exc import DBAPIError

from bilateral.core.contracts import Registry
from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.core.interpreter import tuned_interpreter
from bilateral.index import errors
from bilateral.index.chain.checks import ENDPOINT_FAILURES
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.reading import Reader
from bilateral.index.chain.source import Source
from bilateral.index.log.background_writes import EventWrites
from bilateral.index.log.batches import Batch, Block, counted, stored_events
from bilateral.index.log.store import ChainStore

_MOST_CHANGES: Final = 3
"""The number of times that an endpoint may report a changed chain within one step before it is benched."""

ENOUGH_LOGS: Final = 50_000
_ENOUGH_BYTES: Final = 40 * 1024**2
"""The number of logs, and the size of their data in bytes, at which a transaction far from the head ends."""

_MOST_SECONDS: Final = 2.0
"""The number of seconds of reading after which logs are stored, however few they are."""


class Outcome(StrEnum):
    """The outcome of a step."""

    ADVANCED = "advanced"
    """Blocks were added."""

    ROLLED_BACK = "rolled_back"
    """Blocks of an abandoned branch were removed."""

    WAITED = "waited"
    """There were no new blocks."""


@dataclass(frozen=True)
class Step:
    """The result of one step, for progress reports and log messages.

    Attributes:
        block: The block at the cursor after the step.
        head: The chain's latest reported head.
        events: The number of logs that were stored or removed.
        endpoint: The host of the endpoint that was used.
        depth: The number of removed blocks.
    """

    outcome: Outcome
    block: int
    head: int
    events: int
    endpoint: str
    depth: int = 0


class Follower:
    """Follows one chain, step by step.

    Args:
        store: The chain's rows.
        pool: The chain's endpoints.
        registries: The registries, by checksummed address.
        first_block: The first block to index.
        enough: The number of logs after which a transaction ends. SQLite allows only one write transaction at a time,
            so writers in one process divide the default number among themselves to avoid long waits.
        trusts_reorganisation: True to remove finalized blocks on the evidence of a single endpoint.
    """

    def __init__(  # noqa: PLR0913  # two have defaults
        self,
        store: ChainStore,
        pool: Pool,
        registries: Mapping[str, Registry],
        first_block: int,
        *,
        enough: int = ENOUGH_LOGS,
        trusts_reorganisation: bool = False,
    ) -> None:
        self._store = store
        self._is_trusting = trusts_reorganisation
        self._pool = pool
        self._reader = Reader(pool, registries)
        self._first_block = first_block
        self._enough = enough
        self._recheck_ends: dict[Source, int] = {}
        self._disputed_cursor: Block | None = None
        self._claims: dict[str, int] = {}

    def step(self) -> Step:
        """Take one step: store the next blocks, or remove those that a reorganisation replaced.

        An endpoint that fails or contradicts itself is benched, and the step is retried with the next endpoint.
        """
        changes = 0
        while True:
            self._pool.compare_heads()
            source = self._pool.choose()
            try:
                with tuned_interpreter():
                    step = self._step(source)
            except errors.CursorMovedError:
                continue  # another worker was faster: continue from its cursor
            except errors.ChainChangedError as problem:
                changes += 1
                if changes >= _MOST_CHANGES:
                    self._pool.bench(source, problem)
            except ENDPOINT_FAILURES as problem:
                self._pool.bench(source, problem)
            else:
                self._pool.succeeded(source)
                return step

    def go_back(self, first: int) -> None:
        """Remove all blocks from a given number on, even finalized ones, so that the next steps read them again.

        The cursor moves to a block whose hash is stored, so that the next step can detect an earlier reorganisation.
        """
        while (cursor := self._store.cursor()) is not None and cursor.number >= first:
            source = self._pool.choose()
            try:
                checkpoint = next(iter(self._store.checkpoints(first)), None)
                target = self._before(source, self._first_block) if checkpoint is None else _timed(source, checkpoint)
                self._store.roll_back(cursor, target, is_reorganization=False)
            except errors.CursorMovedError:
                continue  # another worker was faster
            except ENDPOINT_FAILURES as problem:
                self._pool.bench(source, problem)

    def _step(self, source: Source) -> Step:
        cursor = self._store.cursor()  # read it before the head, which another worker may pass in the meantime
        head = self._pool.head(source)
        cursor = cursor or self._begin(source, head)
        if not self._is_canonical(source, cursor, head):
            self._confirm_reorganization(source, cursor, head)
            return self._roll_back(source, cursor, head)
        if (step := self._recheck(source, cursor, head)) is not None:
            return step
        if cursor.number >= head:
            self._store.note_head(cursor, head)
            return Step(Outcome.WAITED, cursor.number, head, 0, source.name)
        try:
            return self._advance(source, cursor, head)
        except ENDPOINT_FAILURES:
            self._store.note_head(cursor, head)
            raise

    def _recheck(self, source: Source, cursor: Block, head: int) -> Step | None:
        """Recheck a range of blocks that only a distrusted endpoint delivered; return None if no such range remains."""
        # If stored rows differ, the index returns to the block before them.
        for suspect in [other for other in self._pool.sources if other.loses_logs and other.alone_from is not None]:
            first, last = suspect.alone_from or 0, self._recheck_ends.setdefault(suspect, cursor.number)
            before, end = self._before(source, first), first - 1
            for batch in self._reader.read(source, before, min(last, cursor.number)) if first <= last else ():
                stored = stored_events(self._store.engine, self._store.chain_id, end + 1, batch.end.number)
                if counted(batch.rows) != stored:
                    self._pool.report(suspect.name, f"stored rows of blocks {end + 1} to {batch.end.number} are wrong")
                    self.go_back(end + 1)
                    suspect.alone_from = None
                    del self._recheck_ends[suspect]
                    now = self._store.cursor() or cursor
                    return Step(Outcome.ROLLED_BACK, now.number, head, 0, source.name, cursor.number - now.number)
                end = batch.end.number
                suspect.alone_from = end + 1
            if end >= min(last, cursor.number):
                suspect.alone_from = None
                del self._recheck_ends[suspect]
            return Step(Outcome.ADVANCED, cursor.number, head, 0, source.name)
        return None

    def _advance(self, source: Source, cursor: Block, head: int) -> Step:
        """Read ranges of blocks, and store them in one transaction to write each changed database page only once."""
        # If a range cannot be read, the ranges before it are still stored, unless a reorganisation also replaced them.
        # Batches whose transaction failed are no longer waiting, so their transaction is not retried.
        until, end, events = time.monotonic() + _MOST_SECONDS, cursor, 0
        waiting = _PendingBatches(self._store, cursor)
        try:
            while end.number < head and time.monotonic() < until and not self._is_enough(waiting):
                source.deliver(end.number + 1)  # before the endpoint proves false: earlier ranges count too
                for batch in self._reader.read(source, end, head):
                    if self._is_enough(waiting):
                        events += waiting.store()
                        waiting = _PendingBatches(self._store, end)
                    waiting.add(batch)
                    end = batch.end
            if waiting:
                events += waiting.store()
        except Exception as problem:
            if waiting and (not isinstance(problem, errors.ChainChangedError) or self._is_canonical(source, end, head)):
                with suppress(
                    errors.CursorMovedError, DBAPIError
                ):  # the next step reports this error again; raise the first failure
                    waiting.store()
            raise
        finally:
            waiting.drop()
        return Step(Outcome.ADVANCED, end.number, head, events, source.name)

    def _is_enough(self, waiting: _PendingBatches) -> bool:
        return waiting.count >= self._enough or waiting.size >= _ENOUGH_BYTES

    def _begin(self, source: Source, head: int) -> Block:
        if head < self._first_block - 1:
            raise errors.FirstBlockAheadError(self._pool.chain_id, self._first_block, head)
        before = self._before(source, self._first_block)
        self._reader.start(source, before, head)  # the node responds while PostgreSQL creates the chain's tables
        self._store.begin(before)
        return before

    def _roll_back(self, source: Source, cursor: Block, head: int) -> Step:
        self._pool.require_chain(source)
        target = self._fork(source, cursor, head)
        self._require_agreement(source, cursor, target)
        self._store.roll_back(cursor, target)
        return Step(Outcome.ROLLED_BACK, target.number, head, 0, source.name, cursor.number - target.number)

    def _require_agreement(self, source: Source, cursor: Block, target: Block) -> None:
        # An endpoint that lags far behind or lost its data has a shorter chain, so a second one must confirm.
        finalized = self._store.finalized()
        if self._is_trusting or finalized is None or target.number >= min(finalized, cursor.number):
            return
        if cursor != self._disputed_cursor:
            self._disputed_cursor, self._claims = cursor, {}
        if any(claimed <= target.number for key, claimed in self._claims.items() if key != source.key):
            return
        self._claims[source.key] = target.number
        raise errors.FinalizedBlockError(source.name, target.number, min(finalized, cursor.number))

    def _confirm_reorganization(self, source: Source, cursor: Block, head: int) -> None:
        other = self._pool.second(source)
        if other is source:
            return
        try:
            has_more = self._pool.head(other) >= max(head, cursor.number)
            header = other.header(cursor.number) if has_more else None
        except ENDPOINT_FAILURES as problem:
            self._pool.bench(other, problem)
            return
        if header is not None and header.block.hash == cursor.hash:
            contradiction = f"its head is {head}, but it lacks the block {cursor.number} that {other.name} has"
            raise errors.EndpointLiesError(source.name, contradiction, may_pass=True)

    def _is_canonical(self, source: Source, block: Block, head: int) -> bool:
        if block.number < 0:
            return True
        header = source.header(block.number)
        if header is None or header.block.hash != block.hash:
            return False
        if block.number > head:
            problem = f"its head moved back to {head}, but it still has block {block.number}"
            raise errors.EndpointLiesError(source.name, problem, may_pass=True)
        return True

    def _fork(self, source: Source, cursor: Block, head: int) -> Block:
        """Return the latest block whose stored hash is still in the chain, or the block before the first to index."""
        checkpoints = self._store.checkpoints(cursor.number)
        # `removed` is the index of a block that is not in the chain. The blocks before a canonical one are canonical.
        removed, step = -1, 1
        while (at := min(removed + step, len(checkpoints) - 1)) > removed:
            if self._is_canonical(source, checkpoints[at], head):
                break
            removed, step = at, 2 * step
        else:
            return self._before(source, self._first_block)
        canonical = bisect_left(
            checkpoints, True, removed + 1, at, key=lambda block: self._is_canonical(source, block, head)
        )
        return _timed(source, checkpoints[canonical])

    @staticmethod
    def _before(source: Source, number: int) -> Block:
        if number == 0:
            return Block(-1, bytes(32), 0)
        header = source.header(number - 1)
        if header is None:
            raise MalformedNodeAnswerError(f"{source.name} lacks block {number - 1}")
        return header.block


def _timed(source: Source, checkpoint: Block) -> Block:
    """Return a checkpoint with the time from its header, if the endpoint has that block."""
    header = source.header(checkpoint.number) if checkpoint.number >= 0 else None
    return checkpoint if header is None or header.block.hash != checkpoint.hash else header.block


class _PendingBatches:
    """Batches that wait to be stored in one transaction. On PostgreSQL, large ones are stored while reading continues.

    Args:
        store: The chain's rows.
        cursor: The cursor; the first batch begins after it.

    Attributes:
        count: The number of waiting logs.
        size: The approximate size of the waiting logs' data in memory, in bytes.
    """

    def __init__(self, store: ChainStore, cursor: Block) -> None:
        self._store = store
        self._cursor = cursor
        self._batches: list[Batch] = []
        self._writes: EventWrites | None = None
        self.count = 0
        self.size = 0

    def __bool__(self) -> bool:
        return bool(self._batches)

    def add(self, batch: Batch) -> None:
        """Add the next batch."""
        self._batches.append(batch)
        self.count += batch.count
        self.size += batch.size
        if self._writes is not None:
            self._writes.add(batch.rows)
            return
        try:
            self._writes = self._store.begin_early(self._cursor, self.count)
        except BaseException:
            self._batches = []
            raise
        if self._writes is not None:
            for pending in self._batches:
                self._writes.add(pending.rows)

    def store(self) -> int:
        """Store the batches, and return their number of logs."""
        batch = Batch.joined(self._batches)
        self._batches = []
        try:
            self._store.append(self._cursor, batch, self._writes)
        finally:
            self.drop()
        return batch.count

    def drop(self) -> None:
        """Discard the waiting batches, and stop the thread."""
        self._batches = []
        if self._writes is not None:
            self._writes.close()
            self._writes = None
