"""Read undecoded logs, selected by address, topics and block range."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from bilateral.core.contracts.logs import RawLog
from bilateral.core.errors import MalformedNodeAnswerError, NodeError, NodeTimeoutError
from bilateral.node import answers
from bilateral.node.ranges import Reaction, judge
from bilateral.node.steps import Operation, Rpc

Topic: TypeAlias = str | Sequence[str] | None
"""A filter for a topic: 0x and 64 digits; a list of topics, one of which must match; or None for any topic."""

_FIRST_SPAN: Final = 10_000
"""The maximum number of blocks to request after the first rejection. Most nodes that limit block ranges allow this
many."""

_SUCCESSES_TO_GROW: Final = 8
"""The number of consecutive successes after which a longer range is tried: not more often, because a rejection costs as
much as a response."""


@dataclass(frozen=True)
class LogFilter:
    """The logs to request.

    Attributes:
        addresses: The contracts, as 0x and 40 hexadecimal digits. Some nodes reject a filter without addresses.
        topics: The filters for the topics, in the order of their positions.
    """

    addresses: Sequence[str]
    topics: Sequence[Topic] = ()

    def parameters(self, first: int, last: int) -> dict[str, Any]:
        """Return the parameters for `eth_getLogs`."""
        address = self.addresses[0] if len(self.addresses) == 1 else list(self.addresses)
        return {"address": address, "topics": list(self.topics), "fromBlock": hex(first), "toBlock": hex(last)}


@dataclass
class RangeLimit:
    """The largest number of blocks per request that a node accepts, adjusted after each response or rejection.

    The whole range is requested first, because readers that use this class need only a few logs. The index reads the
    whole chain, so it uses a more precise limit (`bilateral.index.chain.source.RangeSize`).

    Attributes:
        span: The number of blocks to request next; None for the whole range.
        ceiling: The largest span worth trying; None before the first rejection.
    """

    span: int | None = None
    ceiling: int | None = None
    _successes: int = 0

    def accepted(self) -> None:
        """Record a successful request. After eight in a row, the span grows by a quarter, up to the ceiling."""
        self._successes += 1
        if self.span is not None and self.ceiling is not None and self._successes % _SUCCESSES_TO_GROW == 0:
            self.span = min(self.ceiling, self.span + max(1, self.span // 4))

    def refused(self, failure: Exception, first: int, last: int) -> bool:
        """Record a rejection, and return whether to try a shorter range."""
        self._successes, requested, limit_blocks = 0, last - first + 1, None
        if requested == 1:
            return False
        if isinstance(failure, NodeError | NodeTimeoutError):
            verdict = judge(failure, first, last)
            if verdict.reaction in (Reaction.STOP, Reaction.HEAD):
                return False
            limit_blocks = verdict.blocks
        span = limit_blocks or requested // 2
        self.span = span if self.ceiling is not None else min(span, _FIRST_SPAN)
        self.ceiling = min(self.ceiling or last - first, last - first)
        return True


def read_logs(
    query: LogFilter,
    first: int,
    last: int,
    *,
    limit: RangeLimit | None = None,
    is_last: Callable[[RawLog], bool] = lambda _: False,
) -> Operation[list[RawLog]]:
    """Read logs, oldest first. If the node rejects the whole range, read it in parts that the node accepts."""
    limit = RangeLimit() if limit is None else limit
    logs: list[RawLog] = []
    start = first
    while start <= last:
        end = last if limit.span is None else min(last, start + limit.span - 1)
        try:
            part = read_answer(query, start, end, (yield Rpc("eth_getLogs", (query.parameters(start, end),))))
        except (NodeError, NodeTimeoutError, MalformedNodeAnswerError) as failure:
            if not limit.refused(failure, start, end):
                raise
        else:
            limit.accepted()
            logs += part
            start = end + 1
            if any(map(is_last, part)):
                break
    return logs


def read_answer(query: LogFilter, first: int, last: int, answer: Any) -> list[RawLog]:
    """Validate and parse a node's response to `eth_getLogs`."""
    logs = [RawLog.from_json(item) for item in answers.records(answer)]
    addresses = {address.lower() for address in query.addresses}
    for log in logs:
        place = log.position
        if not first <= place.block_number <= last or (addresses and place.address.lower() not in addresses):
            answers.malformed("logs from the requested blocks and contracts")
        if not _matches(log.topics, query.topics):
            answers.malformed("logs with the requested topics")
    return sorted(logs, key=lambda log: (log.position.block_number, log.position.log_index))


def _matches(topics: tuple[bytes, ...], query: Sequence[Topic]) -> bool:
    for position, topic in enumerate(query):
        if topic is None:
            continue
        allowed = [topic] if isinstance(topic, str) else topic
        if position >= len(topics) or "0x" + topics[position].hex() not in [text.lower() for text in allowed]:
            return False
    return True
