"""Read ranges of blocks from endpoints, checked, and in batches that can be stored.

Deep in the chain a range is as long as the endpoint allows, and is taken only if its end, and the block before it,
still have the hashes that they had. Near the head every header is read: each must follow the one before it, from the
cursor on, and every log must be of one of them.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bilateral.errors import MalformedNodeAnswerError
from bilateral.errors.client import NODE_FAILURES
from bilateral.index.chain.bloom import Announcements, is_sparse
from bilateral.index.chain.extraction import Extraction
from bilateral.index.chain.prefetch import Ahead
from bilateral.index.chain.receipts import logs_by_receipts
from bilateral.index.errors import (
    ChainChangedError,
    EndpointLiesError,
    EndpointRefusesError,
    FinalizedBlockError,
    MissingLogsError,
)
from bilateral.index.store.chain_store import JOURNAL_BLOCKS
from bilateral.index.tables.batches import Batch, Block

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bilateral.contracts import Registry
    from bilateral.index.chain.logs import BlockLogs
    from bilateral.index.chain.pool import Pool
    from bilateral.index.chain.source import Header, Source

ENDPOINT_FAILURES: Final = (
    *NODE_FAILURES,
    EndpointRefusesError,
    EndpointLiesError,
    FinalizedBlockError,
    MissingLogsError,
)
"""Errors after which another endpoint may do better."""

_SAMPLE: Final = 4
"""Blocks of a range that another endpoint is asked for: some with logs, and as many at random."""

_RANGES_A_SAMPLE: Final = 16
"""One range of so many is compared: a second look costs a call for each block."""

_FEW_BLOCKS: Final = 8
"""Blocks of a short range near the head: there each filter is asked for each topic. A second look is a call a block."""

_MAX_LOGS: Final = 10_000
"""Logs of one batch, but for those of one block."""

_LONG_DATA: Final = 32_000
"""The characters of a log's data up to which it counts as the endpoint writes it."""

_TIMES_IN_MEMORY: Final = 3
"""The memory of a long log, as a multiple of its data."""


@dataclass(frozen=True)
class _Range:
    """The logs of a range of blocks, still to be checked.

    Attributes:
        logs: The blocks with logs.
        end: The last block of the range.
        parts: The blocks with logs, in parts that can be stored at once, with the last block of each.
        later: A later block, as it was before the logs were read; None if all headers are read.
        headers: The headers of all blocks of a range near the head; empty deep in the chain.
    """

    logs: Sequence[BlockLogs]
    end: int
    parts: Sequence[tuple[list[BlockLogs], int]]
    later: Block | None = None
    headers: Sequence[Header] = ()

    def replace(self, block: BlockLogs) -> None:
        """Replace what the endpoint gave of one block."""
        part = next(logs for logs, last in self.parts if block.number <= last)
        part[:] = sorted([*(known for known in part if known.number != block.number), block], key=lambda of: of.number)


class Reader:
    """Reads ranges of blocks.

    Args:
        pool: The chain's endpoints.
        registries: The registry at each address, in checksum form.
    """

    def __init__(self, pool: Pool, registries: Mapping[str, Registry]) -> None:
        self._pool = pool
        self._extraction = Extraction(pool.chain_id, registries)
        self._registries = registries
        self._announcements = Announcements(registries)
        self._ranges = 0
        self._ahead: Ahead[_Range] = Ahead()

    def start(self, source: Source, cursor: Block, head: int, last: int | None = None) -> None:
        """Begin to read the next range of blocks in a thread, unless that was begun. See `read`."""
        first = cursor.number + 1
        if first <= (head if last is None else last) and not self._ahead.is_under_way:
            self._ahead.start((source, first), lambda: self._fetch(source, first, head, last))

    def read(self, source: Source, cursor: Block, head: int, last: int | None = None) -> Iterator[Batch]:
        """Read the next range of blocks, check it, and yield it in batches.

        Args:
            source: The endpoint.
            cursor: The block before the range.
            head: The chain's last block.
            last: A block deep in the chain at which to end; None to read as far as the endpoint gives.

        Yields:
            Batches that follow each other.

        Raises:
            ChainChangedError: A block was replaced while the range was read.
            EndpointLiesError: The endpoint contradicts itself, or others.
            MalformedNodeAnswerError: An answer has another form, or a log cannot be decoded. Batches before it may
                have been yielded.
        """
        first, deep = cursor.number + 1, head - JOURNAL_BLOCKS
        try:
            prepared = self._ahead.take((source, first))
        except (MalformedNodeAnswerError, EndpointLiesError):  # or a reorganisation went on: a second read tells
            prepared = None
        if prepared is None or not (prepared.headers or (prepared.later is not None and prepared.later.number <= deep)):
            prepared = self._fetch(source, first, head, last)
        known = (
            self._check_dense(source, cursor, prepared)
            if prepared.headers
            else self._check_sparse(source, cursor, prepared)
        )
        self.start(source, known[prepared.end], head, last)
        finalized = self._pool.finalized(source)
        for logs, end in prepared.parts:  # the thread waits for the node meanwhile
            kept = [block for number, block in known.items() if first <= number <= end]
            # A log with malformed bytes fails here, and no second read tells: a reorganisation is not its cause.
            rows, size = self._extraction.rows(logs), _size(logs)
            for block in logs:
                block.entries.clear()  # the rows hold all of them: a transaction needs the memory
            yield Batch(known[end], rows, kept, head, finalized, size)
            first = end + 1

    def _fetch(self, source: Source, first: int, head: int, last: int | None) -> _Range:
        """Read the logs of blocks, as many as the endpoint gives at once."""
        deep = head - JOURNAL_BLOCKS if last is None else min(last, head - JOURNAL_BLOCKS)
        return self._fetch_sparse(source, first, deep) if first <= deep else self._fetch_dense(source, first, head)

    def _fetch_sparse(self, source: Source, first: int, last: int) -> _Range:
        """Read the logs of blocks deep in the chain, and before them the header of a later block."""
        later = source.headers_of([last])[0].block
        logs, end = source.logs(first, last)
        return _Range(logs, end, self._parts(source, logs, end), later)

    def _check_sparse(self, source: Source, cursor: Block, range_: _Range) -> dict[int, Block]:
        """Check a range deep in the chain, and return the blocks that become checkpoints.

        A later block has the same hash before and after, so no block of the range was replaced while it was read. The
        headers of a sample of blocks are compared with their logs. One range in sixteen is read from a second endpoint
        too, and each range of an endpoint that lost logs.
        """
        first = cursor.number + 1
        by_number = {block.number: block for block in range_.logs}
        ends = {end for _, end in range_.parts}
        sample = _sample(sorted(by_number), first, range_.end) | ends
        known = [block for block in (range_.later, cursor) if block is not None and block.number >= 0]
        numbers = sorted({*sample, *(block.number for block in known)})
        headers = {header.block.number: header for header in source.headers_of(numbers)}
        for block in known:
            if headers[block.number].block.hash != block.hash:
                raise ChainChangedError(source.name, f"block {block.number} was replaced")
        for number in sample:
            self._check_block(source, headers[number], by_number.get(number), range_)
        if source.loses_logs and self._pool.second(source) is source:  # nobody else tells
            for header in source.headers_of([at for at in range(first, range_.end + 1) if at not in sample]):
                self._check_block(source, header, by_number.get(header.block.number), range_)
        if source.loses_logs or self._is_sampled(source):
            self._look_twice(source, range_.logs, first, range_.end)
        return {number: headers[number].block for number in ends}

    def _parts(self, source: Source, logs: Sequence[BlockLogs], end: int) -> list[tuple[list[BlockLogs], int]]:
        """Return logs in parts, with the last block of each, and with the times of their blocks."""
        without = {block.number: block for block in logs if block.time is None}
        for header in source.headers_of(sorted(without)):
            block = without[header.block.number]
            _require_of_block(source, header.block, block)
            block.time = header.block.time
        return list(_split(logs, end))

    def _fetch_dense(self, source: Source, first: int, head: int) -> _Range:
        """Read the headers and the logs of blocks near the head."""
        headers = source.headers(first, min(head, first + source.size.blocks - 1))
        logs, end = source.logs(first, headers[-1].block.number)
        times = {header.block.number: header.block.time for header in headers}
        for block in logs:
            block.time = times[block.number]
        return _Range(logs, end, self._parts(source, logs, end), headers=headers)

    def _check_dense(self, source: Source, cursor: Block, range_: _Range) -> dict[int, Block]:
        """Check a range near the head, and return its blocks. The last one must be the same before and after."""
        first, last = cursor.number + 1, range_.headers[-1].block
        after = source.header(last.number)
        if after is None or after.block.hash != last.hash:
            raise ChainChangedError(source.name, f"block {last.number} was replaced")
        headers = range_.headers[: range_.end - first + 1]
        if cursor.number >= 0 and headers[0].parent_hash != cursor.hash:
            raise ChainChangedError(source.name, f"block {first} does not follow block {cursor.number}")
        by_number = {block.number: block for block in range_.logs}
        is_thorough = len(headers) <= _FEW_BLOCKS
        for header in headers:
            logs = by_number.get(header.block.number)
            self._check_block(source, header, logs, range_, is_thorough=is_thorough)
        return {header.block.number: header.block for header in headers}

    def _check_block(
        self, source: Source, header: Header, logs: BlockLogs | None, range_: _Range, *, is_thorough: bool = False
    ) -> None:
        """Check the logs of one block against its header; look again where they seem to lack something."""
        if logs is not None:
            _require_of_block(source, header.block, logs)
        if self._announcements.are_missing(header.bloom, logs, is_thorough=is_thorough):
            self._look_twice(source, [logs] if logs else [], header.block.number, header.block.number)
            if is_sparse(header.bloom):
                self._ask_receipts(source, header, logs, range_)

    def _ask_receipts(self, source: Source, header: Header, logs: BlockLogs | None, range_: _Range) -> None:
        """Take the logs of a block from its receipts, if the endpoint left out some.

        Raises:
            MissingLogsError: No endpoint gives complete receipts, and the filter hardly can announce by chance.
        """
        number = header.block.number
        witnesses = dict.fromkeys((source, self._pool.second(source, number)))
        complete = (logs_by_receipts(witness, header, self._registries) for witness in witnesses)
        whole = next((block for block in complete if block is not None), None)
        if whole is None:
            if self._announcements.are_proven(header.bloom, logs):
                raise MissingLogsError(source.name, number)
            return
        if set(whole.contents()) != set(logs.contents() if logs else ()):
            source.lost_logs_at = int(time.time())
            range_.replace(whole)

    def _is_sampled(self, source: Source) -> bool:
        """Choose the ranges deep in the chain that are read twice, if there is a second endpoint."""
        self._ranges += 1
        return self._ranges % _RANGES_A_SAMPLE == 1 and self._pool.second(source) is not source

    def _look_twice(self, source: Source, logs: Sequence[BlockLogs], first: int, last: int) -> None:
        """Read a range again, from another endpoint if there is one that has its last block, and compare.

        Raises:
            EndpointLiesError: The endpoint left out logs.
            ChainChangedError: The two differ in another way.
        """
        while first <= last:
            second = self._pool.second(source, last)
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
        before, after = ({log for block in blocks for log in block.contents()} for blocks in (logs, again))
        for liar, lost in ((source, after - before), (second, before - after)):
            if lost and (before < after or after < before):
                liar.lost_logs_at = int(time.time())
                numbers = sorted(entry[0] for entry in lost)
                raise EndpointLiesError(
                    liar.name, f"it left out {len(lost)} logs of blocks {numbers[0]} to {numbers[-1]}"
                )
        if before != after:
            raise ChainChangedError(source.name, f"{second.name} has other logs")


def _require_of_block(source: Source, block: Block, logs: BlockLogs) -> None:
    """Refuse logs that are of another block with the number of a block, or that say another time than the block."""
    if logs.hash != block.hash:
        raise EndpointLiesError(source.name, f"the logs of block {block.number} are of another block")
    if logs.time not in (None, block.time):
        raise EndpointLiesError(source.name, f"the logs of block {block.number} say another time than the block")


def _sample(numbers: Sequence[int], first: int, last: int) -> set[int]:
    """Choose blocks to check: some of those with logs, and some of all."""
    count = min(_SAMPLE, len(numbers))
    return {*random.sample(numbers, count), *(random.randint(first, last) for _ in range(_SAMPLE))}  # noqa: S311


def _split(logs: Sequence[BlockLogs], end: int) -> Iterator[tuple[list[BlockLogs], int]]:
    """Split a range so that one batch does not hold too many logs.

    Args:
        logs: The logs of the range.
        end: Its last block.

    Yields:
        The logs of each part, and its last block: parts end where blocks end.
    """
    start = size = 0
    for at, block in enumerate(logs):
        if size and size + len(block.entries) > _MAX_LOGS:
            yield list(logs[start:at]), logs[at - 1].number
            start, size = at, 0
        size += len(block.entries)
    yield list(logs[start:]), end


def _size(logs: Sequence[BlockLogs]) -> int:
    """Return the bytes that the data of logs takes in memory, about.

    A short log counts as the endpoint writes it. The decoded texts of a long one, and their raw bytes if they are
    invalid, are held until the end of the transaction.
    """
    sizes = [len(entry.data) for block in logs for entry in block.entries]
    return sum(sizes) + (_TIMES_IN_MEMORY - 1) * sum([size for size in sizes if size > _LONG_DATA])
