"""Read ranges of blocks from endpoints, check them, and split them into batches to store.

Far below the head, a range is as long as the endpoint allows. The range is accepted only if a later block and the block
before the range have the same hashes before and after reading. Near the head, every header is read, and each must link
to the previous one, starting at the cursor. The header of a block with logs is always read: it contains the block's
time, and shows whether the logs belong to the block.

A sample of the blocks is checked more thoroughly. After a failed check, everything that the endpoint returns is checked
for 30 days (`Source.loses_logs`).
"""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bilateral.core.contracts import Registry
from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.index.chain.checks import Checks, of_another_block, take_time
from bilateral.index.chain.extraction import Extraction
from bilateral.index.chain.headers import Header
from bilateral.index.chain.logs import BlockLogs
from bilateral.index.chain.pool import Ahead, Pool
from bilateral.index.chain.source import Source
from bilateral.index.errors import ChainChangedError, EndpointLiesError
from bilateral.index.log.batches import Batch, Block
from bilateral.index.log.store import JOURNAL_BLOCKS

_SAMPLE: Final = 4
"""The number of blocks per range deep in the chain whose filters are checked, in addition to blocks with logs."""

_ONE_OF: Final = 16
"""One range in this many is read twice and has a block compared with its receipts, because both are costly."""

_FEW_BLOCKS: Final = 8
"""The maximum length of a range near the head in which each block's filter is tested for every topic."""

_MAX_LOGS: Final = 10_000
"""The maximum number of logs per batch, unless a single block has more."""

_LONG_DATA: Final = 32_000
"""The maximum length of log data, in characters, that is assumed to use one byte of memory per character."""

_TIMES_IN_MEMORY: Final = 3
"""The memory use of log data longer than `_LONG_DATA`, as a multiple of its length."""


@dataclass(frozen=True)
class _Range:
    """The logs in a range of blocks, before they are checked.

    Attributes:
        logs: The blocks with logs.
        end: The last block of the range.
        parts: The blocks with logs, split into parts that can each be stored as one batch, with each part's last block.
        later: A later block, read before the logs; None if all headers are read.
        headers: The headers of all blocks of a range near the head; empty deep in the chain.
        mismatched: The numbers of blocks whose logs and header have different block hashes.
        doubtful: The numbers of blocks deep in the chain whose logs contradict other fields of the header.
    """

    logs: Sequence[BlockLogs]
    end: int
    parts: Sequence[tuple[list[BlockLogs], int]]
    later: Block | None = None
    headers: Sequence[Header] = ()
    mismatched: list[int] = field(default_factory=list)
    doubtful: list[int] = field(default_factory=list)

    def replace(self, block: BlockLogs | None) -> None:
        """Replace the logs of one block, unless the replacement is None."""
        if block is None:
            return
        part = next(logs for logs, last in self.parts if block.number <= last)
        part[:] = [other for other in part if other.number != block.number]
        if block.entries:
            part.append(block)
            part.sort(key=lambda of: of.number)


class Reader:
    """Reads ranges of blocks.

    Args:
        pool: The chain's endpoints.
        registries: The registries, by checksummed address.
    """

    def __init__(self, pool: Pool, registries: Mapping[str, Registry]) -> None:
        self._pool = pool
        self._extraction = Extraction(pool.chain_id, registries)
        self._checks = Checks(pool, registries)
        self._ranges = 0
        self._ahead: Ahead[_Range] = Ahead()

    def start(self, source: Source, cursor: Block, head: int) -> None:
        """Start reading the next range of blocks in a thread, unless a read is already under way. See `read`."""
        first = cursor.number + 1
        if first <= head and not self._ahead.is_under_way:
            self._ahead.start((source, first), lambda: self._fetch(source, first, head))

    def read(self, source: Source, cursor: Block, head: int) -> Iterator[Batch]:
        """Read the next range of blocks, check it, and yield it in batches."""
        first, deep = cursor.number + 1, head - JOURNAL_BLOCKS
        try:
            prepared = self._ahead.take((source, first))
        except (MalformedNodeAnswerError, EndpointLiesError) as problem:  # or a reorganisation, as a second read shows
            self._pool.note_lie(source, problem)
            prepared = None
        if prepared is None or not (prepared.headers or (prepared.later is not None and prepared.later.number <= deep)):
            prepared = self._fetch(source, first, head)
        check = self._check_dense if prepared.headers else self._check_sparse
        blocks = check(source, cursor, prepared)
        self.start(source, blocks[prepared.end], head)
        finalized = self._pool.finalized(source)
        for logs, end in prepared.parts:  # meanwhile, the thread waits for the node
            checkpoints = [block for number, block in blocks.items() if first <= number <= end]
            # A log with malformed bytes fails here. A reorganisation cannot be the cause, so no second read is needed.
            rows, size = self._extraction.rows(logs), _size(logs)
            for block in logs:
                block.entries.clear()  # the rows contain all of them, and the transaction needs the memory
            yield Batch(blocks[end], rows, checkpoints, head, finalized, size)
            first = end + 1

    def _fetch(self, source: Source, first: int, head: int) -> _Range:
        deep = head - JOURNAL_BLOCKS
        return self._fetch_sparse(source, first, deep) if first <= deep else self._fetch_dense(source, first, head)

    def _fetch_sparse(self, source: Source, first: int, last: int) -> _Range:
        """Read the logs and headers of blocks deep in the chain, after the header of a later block."""
        later = source.headers_of([last])[0].block
        logs, end = source.logs(first, last)
        range_ = _Range(logs, end, list(_split(logs, end)), later)
        for block, header in zip(logs, source.each_header([block.number for block in logs]), strict=True):
            if block.hash != header.block.hash:
                range_.mismatched.append(block.number)
            else:
                take_time(source, header, block)
                if self._checks.is_doubtful(header, block, is_thorough=False):
                    range_.doubtful.append(block.number)
        return range_

    def _check_sparse(self, source: Source, cursor: Block, range_: _Range) -> dict[int, Block]:
        """Check a range deep in the chain and return the blocks that become checkpoints."""
        # A later block has the same hash before and after reading, so no block in the range was replaced meanwhile. One
        # range in sixteen is also read from a second endpoint, and one of its blocks is compared with its receipts. If
        # the endpoint has returned false responses, everything is checked.
        first = cursor.number + 1
        by_number = {block.number: block for block in range_.logs}
        ends = {end for _, end in range_.parts}
        anchors = [block for block in (range_.later, cursor) if block is not None and block.number >= 0]
        headers = source.headers_of(sorted({*ends, *(block.number for block in anchors)}))
        hashes = {header.block.number: header.block for header in headers}
        for block in anchors:
            if hashes[block.number].hash != block.hash:
                raise ChainChangedError(source.name, f"block {block.number} was replaced")
        for number in range_.mismatched:
            raise of_another_block(source, number)
        self._ranges += 1
        is_sample, second = self._ranges % _ONE_OF == 1, self._pool.second(source)
        chosen = {*ends, *range_.doubtful, *(random.randint(first, range_.end) for _ in range(_SAMPLE))}  # noqa: S311
        proven = {random.choice(list(by_number))} if is_sample and by_number else set()  # noqa: S311
        if not source.loses_logs:
            self._check_blocks(source, range_, chosen, proven)
        if source.loses_logs:  # previously, or since one of these checks
            has_no_witness = second is source or second.loses_logs
            self._check_blocks(source, range_, range(first, range_.end + 1), by_number if has_no_witness else ())
        logs = range_.logs if second is source else _all_logs(range_)
        looks_twice = source.loses_logs or (is_sample and second is not source)
        if looks_twice and self._checks.look_twice(source, logs, first, range_.end):
            source.confirm()
        return {number: hashes[number] for number in ends}

    def _check_blocks(self, source: Source, range_: _Range, chosen: Collection[int], proven: Collection[int]) -> None:
        by_number = {block.number: block for block in _all_logs(range_)}
        for header in source.each_header(sorted({*chosen, *proven})):
            number = header.block.number
            checked = self._checks.check_block(source, header, by_number.get(number), is_proof_due=number in proven)
            range_.replace(checked)

    def _fetch_dense(self, source: Source, first: int, head: int) -> _Range:
        headers = source.headers(first, min(head, first + source.size.blocks - 1))
        logs, end = source.logs(first, headers[-1].block.number)
        for block in logs:
            header = headers[block.number - first]
            if block.hash == header.block.hash:
                take_time(source, header, block)
        return _Range(logs, end, list(_split(logs, end)), headers=headers)

    def _check_dense(self, source: Source, cursor: Block, range_: _Range) -> dict[int, Block]:
        """Check a range near the head, and return its blocks. The last block must not change during the read."""
        first, last = cursor.number + 1, range_.headers[-1].block
        after = source.header(last.number)
        if after is None or after.block.hash != last.hash:
            raise ChainChangedError(source.name, f"block {last.number} was replaced")
        headers = range_.headers[: range_.end - first + 1]
        if cursor.number >= 0 and headers[0].parent_hash != cursor.hash:
            raise ChainChangedError(source.name, f"block {first} does not follow block {cursor.number}")
        by_number = {block.number: block for block in range_.logs}
        is_thorough = len(headers) <= _FEW_BLOCKS
        disagreeing = () if source.loses_logs else self._checks.disagreeing(source, range_.logs)
        for header in headers:
            logs = by_number.get(header.block.number)
            is_due = logs is not None and (source.loses_logs or logs.number in disagreeing)
            range_.replace(self._checks.check_block(source, header, logs, is_thorough=is_thorough, is_proof_due=is_due))
        return {header.block.number: header.block for header in headers}


def _all_logs(range_: _Range) -> list[BlockLogs]:
    return [block for blocks, _ in range_.parts for block in blocks]


def _split(logs: Sequence[BlockLogs], end: int) -> Iterator[tuple[list[BlockLogs], int]]:
    """Split a range at block boundaries, so that no batch contains too many logs."""
    start = size = 0
    for at, block in enumerate(logs):
        if size and size + len(block.entries) > _MAX_LOGS:
            yield list(logs[start:at]), logs[at - 1].number
            start, size = at, 0
        size += len(block.entries)
    yield list(logs[start:]), end


def _size(logs: Sequence[BlockLogs]) -> int:
    # A short log counts with the size that the endpoint sent. The decoded texts of a long log, and the raw bytes of
    # invalid texts, remain in memory until the transaction ends.
    sizes = [len(entry.data) for block in logs for entry in block.entries]
    return sum(sizes) + (_TIMES_IN_MEMORY - 1) * sum([size for size in sizes if size > _LONG_DATA])
