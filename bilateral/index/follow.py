"""Follow one chain: read blocks in order, notice reorganisations, and store both exactly.

A step takes one range of blocks. Deep in the chain the range is as long as the endpoint allows, and is taken only if
its end, and the block before it, still have the hashes that they had. Near the head every header is read: each must
follow the one before it, from the cursor on, and every log must be of one of them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from bilateral.errors import (
    MalformedNodeAnswerError,
    NodeError,
    NodeTimeoutError,
    NodeUnreachableError,
)
from bilateral.index.ahead import Ahead
from bilateral.index.collection import collection_paused
from bilateral.index.errors import (
    ChainChangedError,
    CursorMovedError,
    EndpointLiesError,
    EndpointRefusesError,
)
from bilateral.index.extraction import Extraction
from bilateral.index.store import JOURNAL_BLOCKS, Batch, Block, ChainStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bilateral.contracts import Registry
    from bilateral.index.logs import BlockLogs
    from bilateral.index.pool import Pool
    from bilateral.index.source import Header, Source

ENDPOINT_FAILURES: Final = (
    NodeError,
    NodeUnreachableError,
    NodeTimeoutError,
    MalformedNodeAnswerError,
    EndpointRefusesError,
    EndpointLiesError,
)
"""Errors after which another endpoint may do better."""

_MOST_CHANGES: Final = 3
_SAMPLE: Final = 4
_MAX_LOGS: Final = 10_000
"""Logs to store in one transaction, but for those of one block."""


class Outcome(StrEnum):
    """The outcome of one step."""

    ADVANCED = "advanced"
    """Blocks were added."""

    ROLLED_BACK = "rolled_back"
    """Blocks of a former branch were removed."""

    WAITED = "waited"
    """Nothing is new."""


@dataclass(frozen=True)
class Step:
    """One step, for progress and logs.

    Attributes:
        outcome: Its outcome.
        block: The cursor after it.
        head: The head of the chain, as far as it is known.
        events: The number of logs that were stored, or removed.
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
    """Follows one chain, one step after the other.

    Args:
        store: The chain's rows.
        pool: The chain's endpoints.
        registries: The registry at each address, in checksum form.
        first_block: The first block to index.
    """

    def __init__(self, store: ChainStore, pool: Pool, registries: Mapping[str, Registry], first_block: int) -> None:
        """See the class."""
        self._store = store
        self._pool = pool
        self._extraction = Extraction(store.chain_id, registries)
        self._first_block = first_block
        self._ahead: Ahead[tuple[Block, list[BlockLogs], int]] = Ahead()

    def step(self) -> Step:
        """Take one step: store the next blocks, or remove those that a reorganisation replaced.

        An endpoint that fails or contradicts itself is benched, and the step is tried with the next one.

        Returns:
            The step.

        Raises:
            NoEndpointError: No endpoint is usable now; try again later.
        """
        changes = 0
        while True:
            source = self._pool.choose()
            try:
                with collection_paused():
                    step = self._step(source)
            except CursorMovedError:
                continue  # another worker was faster: go on from its cursor
            except ChainChangedError as problem:
                changes += 1
                if changes >= _MOST_CHANGES:
                    self._pool.bench(source, problem)
            except ENDPOINT_FAILURES as problem:
                self._pool.bench(source, problem)
            else:
                self._pool.succeeded(source)
                return step

    def _step(self, source: Source) -> Step:
        """Take one step with one endpoint."""
        head = self._pool.head(source)
        cursor = self._store.cursor() or self._begin(source)
        if not self._is_canonical(source, cursor, head):
            self._confirm_reorganization(source, cursor, head)
            return self._roll_back(source, cursor, head)
        if cursor.number >= head:
            return Step(Outcome.WAITED, cursor.number, head, 0, source.name)
        events = 0
        for batch in self._read(source, cursor, head):
            self._store.append(cursor, batch)
            cursor, events = batch.end, events + batch.count
        return Step(Outcome.ADVANCED, cursor.number, head, events, source.name)

    def _begin(self, source: Source) -> Block:
        """Set the cursor before the first block."""
        if self._first_block == 0:
            self._store.begin(Block(-1, bytes(32), 0))
            return Block(-1, bytes(32), 0)
        header = source.header(self._first_block - 1)
        if header is None:
            raise MalformedNodeAnswerError(f"{source.name} lacks block {self._first_block - 1}")
        self._store.begin(header.block)
        return header.block

    def _read(self, source: Source, cursor: Block, head: int) -> Iterator[Batch]:
        """Read the next range of blocks, check it, and yield it in batches."""
        first = cursor.number + 1
        dense_from = head - JOURNAL_BLOCKS + 1
        if first >= dense_from:
            end, logs, known = self._read_dense(source, cursor, head)
        else:
            end, logs, known = self._read_sparse(source, cursor, dense_from - 1)
        self._add_times(source, logs, known)
        finalized = self._pool.finalized(source)
        for part, last in _parts(logs, end):
            kept = [block for number, block in known.items() if first <= number <= last]
            yield Batch(known[last], self._extraction.rows(part), kept, head, finalized)
            first = last + 1

    def _read_sparse(self, source: Source, cursor: Block, last: int) -> tuple[int, list[BlockLogs], dict[int, Block]]:
        """Read blocks deep in the chain, as many as the endpoint gives at once.

        A later block has the same hash before and after, so no block of the range was replaced while it was read. The
        headers of a sample of blocks are compared with their logs.
        """
        first = cursor.number + 1
        before, logs, end = self._ahead.take((source.name, first)) or self._fetch(source, first, last)
        by_number = {block.number: block for block in logs}
        parts = {last for _, last in _parts(logs, end)}  # they become checkpoints
        sample = _sample(sorted(by_number), first, end) | parts
        numbers = sorted({*sample, before.number, *([cursor.number] if cursor.number >= 0 else [])})
        headers = {header.block.number: header for header in source.headers_of(numbers)}
        for known in (before, cursor):
            if known.number >= 0 and headers[known.number].block.hash != known.hash:
                raise ChainChangedError(source.name, f"block {known.number} was replaced")
        for number in sample:
            self._check_block(source, headers[number], by_number.get(number))
        if source.loses_logs:
            self._look_twice(source, logs, first, end)
        if end < last:
            self._ahead.start((source.name, end + 1), lambda: self._fetch(source, end + 1, last))
        return end, logs, {number: headers[number].block for number in parts}

    def _fetch(self, source: Source, first: int, last: int) -> tuple[Block, list[BlockLogs], int]:
        """Return a later block as it is before the logs are read, the logs, and their last block."""
        before = source.headers_of([last])[0].block
        logs, end = source.logs(first, last)
        return before, logs, end

    def _read_dense(self, source: Source, cursor: Block, head: int) -> tuple[int, list[BlockLogs], dict[int, Block]]:
        """Read blocks near the head, with every header. The last one must be the same before and after."""
        first = cursor.number + 1
        last = min(head, first + source.size.blocks - 1)
        self._ahead.take(None)
        headers = source.headers(first, last)
        logs, end = source.logs(first, last)
        after = source.header(last)
        if after is None or after.block.hash != headers[-1].block.hash:
            raise ChainChangedError(source.name, f"block {last} was replaced")
        headers = headers[: end - first + 1]
        if cursor.number >= 0 and headers[0].parent_hash != cursor.hash:
            raise ChainChangedError(source.name, f"block {first} does not follow block {cursor.number}")
        by_number = {block.number: block for block in logs}
        for header in headers:
            self._check_block(source, header, by_number.get(header.block.number))
        return end, logs, {header.block.number: header.block for header in headers}

    def _check_block(self, source: Source, header: Header, logs: BlockLogs | None) -> None:
        """Check the logs of one block against its header; look again where they seem to lack something."""
        if logs is not None:
            _require_of_block(source, header.block, logs)
        if source.lacks(header, logs.addresses() if logs else ()):
            self._look_twice(source, [logs] if logs else [], header.block.number, header.block.number)

    def _look_twice(self, source: Source, logs: Sequence[BlockLogs], first: int, last: int) -> None:
        """Read a range again, from another endpoint if there is one, and compare.

        Raises:
            EndpointLiesError: The endpoint left out logs.
            ChainChangedError: The two differ in another way.
        """
        while first <= last:
            second = self._pool.second(source)
            try:
                again, end = second.logs(first, last)
                self._compare(source, second, [block for block in logs if first <= block.number <= end], again)
            except ENDPOINT_FAILURES as problem:
                if second is source or (isinstance(problem, EndpointLiesError) and problem.endpoint == source.name):
                    raise
                self._pool.bench(second, problem)
            else:
                first = end + 1

    def _compare(self, source: Source, second: Source, logs: Sequence[BlockLogs], again: Sequence[BlockLogs]) -> None:
        """Compare the logs of a range as two endpoints give them, or one at two times.

        Raises:
            EndpointLiesError: One of them left out logs.
            ChainChangedError: The two differ in another way.
        """
        given, found = ({log for block in blocks for log in block.contents()} for blocks in (logs, again))
        for liar, lost in ((source, found - given), (second, given - found)):
            if lost and (given < found or found < given):
                liar.loses_logs = True
                numbers = sorted(it[0] for it in lost)
                raise EndpointLiesError(
                    liar.name, f"it left out {len(lost)} logs of blocks {numbers[0]} to {numbers[-1]}"
                )
        if given != found:
            raise ChainChangedError(source.name, f"{second.name} has other logs")

    def _add_times(self, source: Source, logs: Sequence[BlockLogs], known: Mapping[int, Block]) -> None:
        """Give blocks their times, where the node did not say them beside the logs."""
        for block in logs:
            if block.time is None and block.number in known:
                block.time = known[block.number].time
        without = {block.number: block for block in logs if block.time is None}
        for header in source.headers_of(sorted(without)):
            block = without[header.block.number]
            _require_of_block(source, header.block, block)
            block.time = header.block.time

    def _roll_back(self, source: Source, cursor: Block, head: int) -> Step:
        """Remove the blocks that are not in the chain any more."""
        self._pool.require_chain(source)
        target = self._fork(source, cursor, head)
        self._store.roll_back(cursor, target)
        return Step(Outcome.ROLLED_BACK, target.number, head, 0, source.name, cursor.number - target.number)

    def _confirm_reorganization(self, source: Source, cursor: Block, head: int) -> None:
        """Ask another endpoint before blocks are removed.

        Raises:
            EndpointLiesError: The other one still has the cursor's block, and is not behind.
        """
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
            raise EndpointLiesError(
                source.name, f"with head {head} it lacks block {cursor.number} as {other.name} has it"
            )

    def _is_canonical(self, source: Source, block: Block, head: int) -> bool:
        """Check that the chain still holds a block."""
        if block.number < 0:
            return True
        header = source.header(block.number) if block.number <= head else None
        return header is not None and header.block.hash == block.hash

    def _fork(self, source: Source, cursor: Block, head: int) -> Block:
        """Return the latest block with a known hash that is still in the chain."""
        known = self._store.checkpoints(cursor.number)

        gone, step = -1, 1  # known[gone] is not in the chain; blocks before a canonical one are canonical too
        while (at := min(gone + step, len(known) - 1)) > gone:
            if self._is_canonical(source, known[at], head):
                break
            gone, step = at, 2 * step
        else:
            raise EndpointLiesError(source.name, "it has none of the blocks that are indexed, not even the first")
        kept = at
        while kept - gone > 1:
            middle = (kept + gone) // 2
            gone, kept = (gone, middle) if self._is_canonical(source, known[middle], head) else (middle, kept)
        header = source.header(known[kept].number) if known[kept].number >= 0 else None
        return known[kept] if header is None else header.block


def _require_of_block(source: Source, block: Block, logs: BlockLogs) -> None:
    """Check that logs are of a block, not of another one with its number."""
    if logs.hash != block.hash:
        raise EndpointLiesError(source.name, f"the logs of block {block.number} are of another block")


def _sample(numbers: Sequence[int], first: int, last: int) -> set[int]:
    """Choose blocks to check: some of those with logs, and some of all."""
    count = min(_SAMPLE, len(numbers))
    return {*random.sample(numbers, count), *(random.randint(first, last) for _ in range(_SAMPLE))}  # noqa: S311


def _parts(logs: Sequence[BlockLogs], end: int) -> Iterator[tuple[Sequence[BlockLogs], int]]:
    """Split a range so that one transaction does not store too many logs.

    Args:
        logs: The logs of the range.
        end: Its last block.

    Yields:
        The logs of each part, and its last block: parts end where blocks end.
    """
    start = size = 0
    for at, block in enumerate(logs):
        if size and size + len(block.entries) > _MAX_LOGS:
            yield logs[start:at], logs[at - 1].number
            start, size = at, 0
        size += len(block.entries)
    yield logs[start:], end
