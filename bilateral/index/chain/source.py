"""A chain as one endpoint shows it: headers and logs, checked as far as one endpoint can be checked."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import count, pairwise
from typing import TYPE_CHECKING, Final

from bilateral.errors import MalformedNodeAnswerError, NodeError, NodeTimeoutError
from bilateral.index.chain.endpoint import Endpoint, HeaderEntry
from bilateral.index.chain.logs import BlockLogs, LogEntry, bytes_of, grouped
from bilateral.index.chain.quantities import quantity, word
from bilateral.index.chain.ranges import RangeSize
from bilateral.index.chain.refusals import advice_on
from bilateral.index.errors import EndpointLiesError, EndpointRefusesError
from bilateral.index.tables.batches import Block
from bilateral.node.ranges import Reaction, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MOST_BLOCKS: Final = 10_000
"""The most blocks to ask for at once: what most public endpoints allow."""

FIRST_BLOCKS: Final = 20
"""The blocks to ask for first, to learn how many logs they hold."""

HEADERS_AT_ONCE: Final = 100
"""The headers to ask for in one batch, as many calls as the SDK puts into its first."""

_USUAL_DATA: Final = 1_000
"""The characters of a usual log's data, as endpoints write them."""

_LOSS_SECONDS_KEPT: Final = 30 * 24 * 3600
"""Seconds for which an endpoint that left out logs is read twice."""

_WAITS: Final = (0.5, 1.0, 2.0, 4.0, 8.0)  # 15.5 s in all; then the pool turns to another endpoint
_LONGEST_WAIT: Final = 60.0
"""Seconds to wait for an endpoint that asks for it. One that asks for more is left alone, see `Pool.bench`."""


@dataclass(frozen=True, slots=True)
class Header:
    """A block's header.

    Attributes:
        block: The block.
        parent_hash: The hash of the block before it.
        bloom: Its filter of addresses and topics of logs; None if the node does not give it.
    """

    block: Block
    parent_hash: bytes
    bloom: bytes | None


class Source:
    """A chain as one endpoint shows it.

    Args:
        endpoint: The endpoint.
        addresses: The registries whose logs are wanted, in checksum form.
        wait: Waits some seconds; returns False to give up, as at the end of the process.

    Attributes:
        size: The number of blocks to ask for.
        lost_logs_at: The time at which the endpoint left out logs last, in Unix seconds; None if it never did.
    """

    def __init__(
        self, endpoint: Endpoint, addresses: Sequence[str], wait: Callable[[float], bool] | None = None
    ) -> None:
        self.endpoint = endpoint
        self.size = RangeSize(MOST_BLOCKS, first=FIRST_BLOCKS)
        self.lost_logs_at: int | None = None
        self._addresses = list(addresses)
        self._wait = wait or _sleep

    @property
    def name(self) -> str:
        """The endpoint's host."""
        return self.endpoint.name

    @property
    def key(self) -> str:
        """The endpoint's name in the database, which tells two URLs of one host apart and shows neither."""
        return self.endpoint.key

    @property
    def loses_logs(self) -> bool:
        """True if the endpoint left out logs in the last 30 days. Then its ranges are read twice."""
        return self.lost_logs_at is not None and time.time() - self.lost_logs_at < _LOSS_SECONDS_KEPT

    def chain_id(self) -> int:
        """Return the chain's id."""
        return quantity(self.endpoint.request("eth_chainId", (), str))

    def head(self) -> int:
        """Return the number of the last block."""
        return quantity(self.endpoint.request("eth_blockNumber", (), str))

    def has_code(self, address: str, block: int) -> bool:
        """Check that there is a contract at an address after a block. Old blocks need a node that keeps old states."""
        return self.endpoint.request("eth_getCode", (address, hex(block)), str) not in ("0x", "0x0", "")

    def header(self, block: int | str) -> Header | None:
        """Return the header of a block.

        Args:
            block: Its number, or a tag such as `finalized`.

        Returns:
            The header; None if the endpoint does not have the block.
        """
        name = hex(block) if isinstance(block, int) else block
        response = self.endpoint.request("eth_getBlockByNumber", (name, False), HeaderEntry | None)  # type: ignore[arg-type]
        header = None if response is None else _header(response)
        if header is not None and isinstance(block, int):
            self._require_number(block, header)
        return header

    def headers(self, first: int, last: int) -> list[Header]:
        """Return the headers of a range of blocks, each linked to the one before it by its parent's hash.

        Raises:
            MalformedNodeAnswerError: A block is missing.
            EndpointLiesError: The blocks do not form a chain: a reorganisation is under way, or the endpoint lies.
        """
        headers = self.headers_of(range(first, last + 1))
        for before, after in pairwise(headers):
            if after.parent_hash != before.block.hash:
                raise EndpointLiesError(
                    self.name, f"block {after.block.number} does not follow block {before.block.number}"
                )
        return headers

    def headers_of(self, numbers: Sequence[int]) -> list[Header]:
        """Return the headers of some blocks.

        Raises:
            MalformedNodeAnswerError: A block is missing.
            EndpointLiesError: A header is of another block.
        """
        headers: list[Header] = []
        for start in range(0, len(numbers), HEADERS_AT_ONCE):
            headers += self._headers_at_once(numbers[start : start + HEADERS_AT_ONCE])
        for number, header in zip(numbers, headers, strict=True):
            self._require_number(number, header)
        return headers

    def _require_number(self, number: int, header: Header) -> None:
        """Refuse a header of a block that was not asked for."""
        if header.block.number != number:
            raise EndpointLiesError(self.name, f"asked for block {number}, it answers with block {header.block.number}")

    def logs(self, first: int, last: int) -> tuple[list[BlockLogs], int]:
        """Return the registries' logs from the beginning of a range of blocks, as many blocks as the endpoint gives.

        Args:
            first: The first block.
            last: The last block that is wanted.

        Returns:
            The blocks with logs, in their order, and the last block of the part of the range that they are complete
            for.

        Raises:
            EndpointRefusesError: The endpoint refuses a single block, or for a reason that asking differently does not
                change.
            EndpointLiesError: It answers with logs that were not asked for.
        """
        waits = iter(_WAITS)
        for refusals in count():
            end = min(last, first + self.size.blocks - 1)
            try:
                logs = self._logs_at_once(first, end)
            except (NodeError, NodeTimeoutError, MalformedNodeAnswerError) as error:
                last = self._react(error, first, end, refusals, waits) or last
            else:
                self.size.accepted(end - first + 1, _weight(logs))
                return logs, end
        raise AssertionError  # `count` does not end

    def _react(self, error: Exception, first: int, last: int, refusals: int, waits: Iterator[float]) -> int | None:
        """React to a refusal: shrink the range, wait, or give up.

        Returns:
            The chain's last block, if the refusal means that the range ends after it.
        """
        asked = last - first + 1
        if isinstance(error, MalformedNodeAnswerError):  # an answer over the limit on its size, or cut off
            if asked == 1:
                raise error
            self.size.refused(asked, None)
            return None
        assert isinstance(error, NodeError | NodeTimeoutError)  # noqa: S101  # as the caller catches
        verdict = judge(error, first, last)
        reaction = verdict.reaction
        if verdict.repeats is not None and refusals >= verdict.repeats:
            reaction = verdict.otherwise
        if reaction is Reaction.SPLIT and asked > 1:
            self.size.refused(asked, verdict.blocks, limits_blocks=verdict.limits_blocks)
            return None
        if reaction is Reaction.HEAD and refusals < len(_WAITS) and first <= (head := self.head()):
            return head
        seconds = next(waits, None) if reaction in (Reaction.WAIT, Reaction.SPLIT) else None
        asked_for = error.wait_seconds if isinstance(error, NodeError) else None
        if seconds is not None and (asked_for or 0) <= _LONGEST_WAIT and self._wait(max(seconds, asked_for or 0)):
            return None
        is_rate = reaction is Reaction.WAIT or asked_for is not None
        words = str(error).removesuffix(".")
        advice = advice_on(words, is_rate=is_rate, is_one_block=reaction is Reaction.SPLIT)
        is_final = not is_rate and isinstance(error, NodeError)
        raise EndpointRefusesError(
            self.name, first, last, words, advice, wait_seconds=asked_for, is_final=is_final
        ) from error

    def _logs_at_once(self, first: int, last: int) -> list[BlockLogs]:
        """Ask for the logs of a range by one call."""
        query: dict[str, object] = {"address": self._addresses, "fromBlock": hex(first), "toBlock": hex(last)}
        entries = self.endpoint.request("eth_getLogs", (query,), list[LogEntry])
        return grouped(self.name, entries, self._addresses, first, last)

    def _headers_at_once(self, numbers: Sequence[int]) -> list[Header]:
        """Ask for headers by a batch; one by one where the endpoint refuses batches."""
        calls = [(hex(number), False) for number in numbers]
        kind = HeaderEntry | None
        entries: list[HeaderEntry | None] = self.endpoint.each("eth_getBlockByNumber", calls, kind)  # type: ignore[arg-type]
        if any(entry is None for entry in entries):
            raise MalformedNodeAnswerError(f"{self.name} lacks a block of {numbers[0]} to {numbers[-1]}")
        return [_header(entry) for entry in entries if entry is not None]


def _weight(logs: Sequence[BlockLogs]) -> int:
    """Return the number of logs, or that of usual logs with as much data if the logs have more data than usual."""
    return max(
        sum(len(block.entries) for block in logs),
        sum([len(entry.data) for block in logs for entry in block.entries]) // _USUAL_DATA,
    )


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return True


def _header(entry: HeaderEntry) -> Header:
    block = Block(quantity(entry.number), word(entry.hash), quantity(entry.timestamp))
    return Header(block, word(entry.parentHash), bytes_of(entry.logsBloom) if entry.logsBloom else None)
