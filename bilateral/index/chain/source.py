"""A chain as reported by one endpoint: its headers and logs, and the checks for which this endpoint suffices."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count, pairwise
from typing import Final

from bilateral.core.errors import MalformedNodeAnswerError, NodeError, NodeTimeoutError
from bilateral.index.chain.endpoint import Endpoint, HeaderEntry
from bilateral.index.chain.headers import Header
from bilateral.index.chain.logs import BlockLogs, LogEntry, UnnumberedLogsError, grouped, quantity, small_quantity
from bilateral.index.chain.receipts import read_receipts
from bilateral.index.errors import EndpointLiesError, EndpointRefusesError
from bilateral.node.ranges import Reaction, judge

MOST_BLOCKS: Final = 10_000
"""The maximum number of blocks per request, which most public endpoints allow."""

FIRST_BLOCKS: Final = 20
"""The number of blocks in the first request, whose response shows how many logs blocks contain."""

_HEADERS_AT_ONCE: Final = 100
"""The number of headers to request per batch, the same as in the SDK's first batch."""

_USUAL_DATA: Final = 1_000
"""The length in characters of a typical log's data, as endpoints send it."""

_LOSS_SECONDS: Final = 30 * 24 * 3600
"""The number of seconds for which everything from an endpoint that omitted logs is read twice."""

_WAITS: Final = (0.5, 1.0, 2.0, 4.0, 8.0)  # 15.5 s in total; then the pool uses another endpoint
_LONGEST_WAIT: Final = 60.0
"""The longest requested wait, in seconds, that is accepted. Endpoints that request more are benched (`Pool.bench`)."""


_MANY_LOGS: Final = 10_000
"""The number of logs in a response above which fewer blocks are requested."""

_GOOD_LOGS: Final = 6_000
"""The number of logs to aim for in the second response, estimated from the first."""


class RangeSize:
    """The number of blocks to request from one endpoint, adapted to the endpoint's responses.

    The limit is found by bisection between an accepted and a rejected size. If the endpoint limits logs, the number of
    blocks that fit varies along the chain, so 25 % more are tried after eight accepted requests, up to a ceiling.

    Args:
        most: The maximum number of blocks to request.
        first: The number of blocks to request first, while the number of logs is unknown; `most` if omitted.

    Attributes:
        blocks: The number of blocks to request next.
        ceiling: The maximum number of blocks per request that the endpoint has stated; None if it has stated none.
        was_refused: True once the endpoint has rejected a range, so that its limit is worth storing.
    """

    _GROW_AFTER: Final = 8  # so that at most one request in nine tries a larger size
    _EXACT_ENOUGH: Final = 8  # bisection stops at an eighth, because each further step costs a rejection
    _FASTEST_GROWTH: Final = 16
    """The largest growth factor after blocks with many logs. It takes three steps from a few blocks to ten thousand."""

    def __init__(self, most: int, first: int | None = None) -> None:
        self._most = most
        self._is_first = first is not None
        self.ceiling: int | None = None
        self.blocks = min(most, first or most)
        self.was_refused = False
        self._accepted = 0
        self._refused: int | None = None
        self._answers = 0
        self._fitting: int | None = None
        self._last = 0

    def accepted(self, requested: int, logs: int) -> None:
        """Record that a request was accepted."""
        if logs > _MANY_LOGS:
            self.blocks = max(1, min(self.blocks, requested * _MANY_LOGS // logs))
            self._answers = 0
            return
        if requested < self.blocks:  # the end of the chain cut the range short, so this shows nothing
            return
        if self._is_first:
            self._is_first = False
            self._ask_for(max(requested, requested * _GOOD_LOGS // max(logs, 1)))
            return
        self._accepted, self._last = requested, logs
        self._answers += 1
        if 2 * logs >= _MANY_LOGS:
            return
        if self._fitting is not None and self._is_sparse(requested, logs):
            return
        if self._refused is not None and self._refused - requested > max(1, requested // self._EXACT_ENOUGH):
            self._ask_for((requested + self._refused) // 2)
        elif self._answers >= self._GROW_AFTER:
            self._answers, self._refused = 0, None
            self._ask_for(requested + max(1, requested // 4))

    def _is_sparse(self, requested: int, logs: int) -> bool:
        """If there were far fewer logs than the endpoint can return, request many more blocks, and return True."""
        self._fitting = max(self._fitting or 0, logs)
        if 2 * logs > self._fitting or self._fitting == 0:
            return False
        self._answers, self._refused = 0, None
        self._ask_for(requested * min(self._fitting // max(logs, 1), self._FASTEST_GROWTH))
        return True

    def refused(self, requested: int, limit: int | None, *, limits_blocks: bool = True) -> None:
        """Record that a request was rejected."""
        if not limits_blocks:
            self._fitting = self._last  # an earlier response may have had more blocks by chance
        self._answers, self._is_first, self.was_refused = 0, False, True
        if limit is not None and limit < requested:
            self.blocks = max(1, limit)
            self.ceiling = self.blocks if limits_blocks else self.ceiling
            self._refused = None
            return
        self._refused = requested
        self.blocks = self._accepted if requested // 2 < self._accepted < requested else max(1, requested // 2)
        self._accepted = 0

    def resume(self, blocks: int, ceiling: int | None) -> None:
        """Continue with a size that was stored earlier."""
        self.ceiling, self._is_first = ceiling, False
        self._ask_for(blocks)

    def _ask_for(self, blocks: int) -> None:
        self.blocks = min(blocks, self.ceiling or self._most, self._most)


class Source:
    """A chain as reported by one endpoint.

    Args:
        addresses: The registries whose logs are read, in checksum form.
        wait: Waits for the given number of seconds; returns False to give up, for example when the process ends.

    Attributes:
        name: The endpoint's host.
        key: The endpoint's name in the database, which distinguishes URLs on the same host without revealing them.
        size: The number of blocks to request.
        lost_logs_at: The Unix time at which the endpoint last omitted logs or contradicted itself or another endpoint;
            None if that never happened.
        is_disputed: True after another endpoint returned different logs for a block and neither could be shown to be
            right.
        alone_from: The first stored block that only this endpoint has delivered and no other has confirmed since; None
            if there is none.
    """

    def __init__(
        self, endpoint: Endpoint, addresses: Sequence[str], wait: Callable[[float], bool | None] | None = None
    ) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self.key = endpoint.key
        self.size = RangeSize(MOST_BLOCKS, first=FIRST_BLOCKS)
        self.lost_logs_at: int | None = None
        self.is_disputed = False
        self.alone_from: int | None = None
        self._addresses = list(addresses)
        self._wait = wait or time.sleep

    @property
    def loses_logs(self) -> bool:
        """True if the endpoint returned a false response in the last 30 days. If so, all its responses are checked."""
        return self.lost_logs_at is not None and time.time() - self.lost_logs_at < _LOSS_SECONDS

    def distrust(self) -> None:
        """Record that the endpoint returned a false response. From now on, all its responses are checked."""
        self.lost_logs_at = int(time.time())

    def deliver(self, first: int) -> None:
        """Record that blocks from a given number on come from this endpoint, unless all its responses are checked."""
        if self.alone_from is None and not self.loses_logs:
            self.alone_from = first

    def confirm(self) -> None:
        """Record that another endpoint returned the same logs for the latest range."""
        if not self.loses_logs:
            self.alone_from = None

    def chain_id(self) -> int:
        """Return the chain's id."""
        return quantity(self.endpoint.request("eth_chainId", (), str))

    def head(self) -> int:
        """Return the number of the last block."""
        return quantity(self.endpoint.request("eth_blockNumber", (), str))

    def has_code(self, address: str, block: int) -> bool:
        """Check that there is a contract at an address as of a block. Old blocks require an archive node."""
        return self.endpoint.request("eth_getCode", (address, hex(block)), str) not in ("0x", "0x0", "")

    def header(self, block: int | str) -> Header | None:
        """Return the header of a block."""
        name = hex(block) if isinstance(block, int) else block
        response = self.endpoint.request("eth_getBlockByNumber", (name, False), HeaderEntry | None)  # type: ignore[arg-type]
        header = None if response is None else Header.of(response)
        if header is not None and isinstance(block, int):
            self._require_number(block, header)
        return header

    def headers(self, first: int, last: int) -> list[Header]:
        """Return the headers of a range of blocks. Each header must contain the hash of the previous block."""
        headers = self.headers_of(range(first, last + 1))
        for before, after in pairwise(headers):
            if after.parent_hash != before.block.hash:
                problem = f"block {after.block.number} does not follow block {before.block.number}"
                raise EndpointLiesError(self.name, problem, may_pass=True)
        return headers

    def headers_of(self, numbers: Sequence[int]) -> list[Header]:
        """Return the headers of the given blocks."""
        return list(self.each_header(numbers))

    def each_header(self, numbers: Sequence[int]) -> Iterator[Header]:
        """Yield the headers of the given blocks, one batch at a time, because headers list all transactions."""
        kind = HeaderEntry | None
        for start in range(0, len(numbers), _HEADERS_AT_ONCE):
            part = numbers[start : start + _HEADERS_AT_ONCE]
            calls = [(hex(number), False) for number in part]
            entries: list[HeaderEntry | None] = self.endpoint.each("eth_getBlockByNumber", calls, kind)  # type: ignore[arg-type]
            for number, entry in zip(part, entries, strict=True):
                if entry is None:
                    raise MalformedNodeAnswerError(f"{self.name} lacks a block in the range {part[0]} to {part[-1]}")
                header = Header.of(entry)
                self._require_number(number, header)
                yield header

    def _require_number(self, number: int, header: Header) -> None:
        if header.block.number != number:
            raise EndpointLiesError(self.name, f"block {number} was requested, but {header.block.number} was returned")

    def logs(self, first: int, last: int) -> tuple[list[BlockLogs], int]:
        """Return the registries' logs for as many blocks as the endpoint allows, and the last of these blocks."""
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
        raise AssertionError  # unreachable, because `count` is endless

    def _react(
        self,
        error: NodeError | NodeTimeoutError | MalformedNodeAnswerError,
        first: int,
        last: int,
        refusals: int,
        waits: Iterator[float],
    ) -> int | None:
        """After a rejection, shrink the range, wait, or give up. Return the head if the range may extend beyond it."""
        requested = last - first + 1
        if isinstance(error, MalformedNodeAnswerError):  # the response was too large or truncated
            if requested == 1:
                raise error
            self.size.refused(requested, None)
            return None
        verdict = judge(error, first, last)
        is_repeated = verdict.repeats is not None and refusals >= verdict.repeats
        reaction = verdict.otherwise if is_repeated else verdict.reaction
        if reaction is Reaction.SPLIT and requested > 1:
            self.size.refused(requested, verdict.blocks, limits_blocks=verdict.limits_blocks)
            return None
        if reaction is Reaction.HEAD and refusals < len(_WAITS) and first <= (head := self.head()):
            return head
        seconds = next(waits, None) if reaction in (Reaction.WAIT, Reaction.SPLIT) else None
        retry_after = error.wait_seconds if isinstance(error, NodeError) else None
        pause = max(seconds or 0, retry_after or 0)
        if seconds is not None and (retry_after or 0) <= _LONGEST_WAIT and self._wait(pause) is not False:
            return None
        is_rate = reaction is Reaction.WAIT or retry_after is not None
        words = str(error).removesuffix(".")
        advice = _advice_on(words, is_rate=is_rate, is_one_block=reaction is Reaction.SPLIT)
        raise EndpointRefusesError(
            *(self.name, first, last, words, advice),
            wait_seconds=retry_after,
            is_final=not is_rate and isinstance(error, NodeError),
        ) from error

    def _logs_at_once(self, first: int, last: int) -> list[BlockLogs]:
        query: dict[str, object] = {"address": self._addresses, "fromBlock": hex(first), "toBlock": hex(last)}
        entries = self.endpoint.request("eth_getLogs", (query,), list[LogEntry])
        return self._grouped(entries, self._addresses, first, last)

    def _grouped(self, entries: list[LogEntry], contracts: Sequence[str], first: int, last: int) -> list[BlockLogs]:
        """Group logs by block with `grouped`. If their indices define no order, as on Hedera, use receipts instead."""
        numbered: set[int] = set()
        while True:
            try:
                return grouped(self.name, entries, contracts, first, last)
            except UnnumberedLogsError as problem:
                of_block = [entry for entry in entries if small_quantity(entry.blockNumber) == problem.block]
                receipts = read_receipts(self.endpoint, self.headers_of([problem.block])[0])
                if problem.block in numbered or receipts is None or not receipts.number(of_block):
                    text = (
                        f"the indices of the logs for block {problem.block} repeat or contradict the order of their "
                        "transactions, and the block's receipts do not determine it"
                    )
                    raise EndpointLiesError(self.name, text) from None
                numbered.add(problem.block)


def _weight(logs: Sequence[BlockLogs]) -> int:
    """Return the number of logs or, if they are longer than typical, of typical logs with the same total size."""
    return max(
        sum(len(block.entries) for block in logs),
        sum([len(entry.data) for block in logs for entry in block.entries]) // _USUAL_DATA,
    )


_ONE_BLOCK: Final = (
    "Even this one block exceeds its limit: add another --rpc-url, or use a larger plan from the provider"
)
_TOO_OFTEN: Final = "It allows fewer requests: wait, add another --rpc-url, or use a larger plan from the provider"
_UNKNOWN: Final = "This message is unknown to bilateral: add another --rpc-url, and report the message"
_ADVICE: Final = {
    "specify an address": "It only returns logs on a dedicated plan: add another --rpc-url, or use such a plan's URL",
    "archive requests require": "It only returns old blocks with a token: put the token into --rpc-url, or add another "
    "--rpc-url",
    r"filters\. the current limit": "It allows fewer addresses: pass fewer --deployment, or add another --rpc-url",
    "error code: 1010|forbidden|http status 403": "The provider's firewall blocks this program: add another --rpc-url, "
    "or ask the provider to allow it",
    r"unauthorized|api.?key|must be authenticated|http status 40[12]": "It requires a key: put the provider's key into "
    "--rpc-url, or add another --rpc-url",
    "method not found": "It does not return logs at all: add another --rpc-url",
}
"""Advice on rejections that neither a smaller range nor waiting can avoid, by the endpoint's message."""


def _advice_on(text: str, *, is_rate: bool, is_one_block: bool) -> str:
    if is_rate:
        return _TOO_OFTEN
    advice = next((advice for words, advice in _ADVICE.items() if re.search(words, text, re.IGNORECASE)), None)
    return advice or (_ONE_BLOCK if is_one_block else _UNKNOWN)
