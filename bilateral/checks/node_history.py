"""The past of one agent as far as a node tells it within a number of requests: earlier owners and wallets, its age."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from eth_utils.crypto import keccak

from bilateral.checks.errors import CheckError
from bilateral.checks.verdicts import DAY
from bilateral.client.operations import registries
from bilateral.client.state import ClientState
from bilateral.core.contracts import Registry
from bilateral.core.contracts.logs import RawLog
from bilateral.core.contracts.reverts import ContractRevertError
from bilateral.core.errors import MalformedNodeAnswerError, NodeError, NodeTimeoutError, UnexpectedAnswerError
from bilateral.core.events import MetadataSet, Transfer
from bilateral.core.events.decoder import topic_of
from bilateral.node import answers
from bilateral.node.logs import LogFilter, RangeLimit, read_answer
from bilateral.node.steps import Batch, Failure, Operation, Rpc, advance

T = TypeVar("T")

_SAMPLE: Final = 10_000
"""Blocks over which the time of a block is measured: chains with a block in 0.25 s give 40 minutes."""

_LOG_REQUESTS: Final = 20
"""Requests for the logs of one kind. Nodes with a limit of 10,000 blocks tell 200,000 blocks by them."""

_UNREADABLE: Final = (NodeError, NodeTimeoutError, MalformedNodeAnswerError, UnexpectedAnswerError)
"""Errors by which nodes refuse a past state or a range of logs."""

_NOBODY: Final = bytes(32)


class RequestsSpentError(CheckError):
    """An answer takes more requests to the node than allowed."""

    reason = "requests_spent"

    def __init__(self, most: int) -> None:
        super().__init__(f"the node gives so little at once that {most} requests do not suffice: use an index")


@dataclass
class Budget:
    """The requests that a node may still be asked.

    Attributes:
        most: The number of requests allowed.
        spent: The number of requests so far. Each request of a batch counts.
    """

    most: int
    spent: int = 0

    def bounded(self, operation: Operation[T]) -> Operation[T]:
        """Run an operation within the budget."""
        answer: Any = None
        while True:
            try:
                step = advance(operation, answer)
            except StopIteration as end:
                result: T = end.value
                return result
            cost = len(step.requests) if isinstance(step, Batch) else int(isinstance(step, Rpc))
            if self.spent + cost > self.most:
                operation.close()
                raise RequestsSpentError(self.most)
            self.spent += cost
            try:
                answer = yield step
            except Exception as error:  # noqa: BLE001  # the operation decides about it
                answer = Failure(error)


@dataclass(frozen=True)
class Head:
    """The latest block, and the pace of the chain.

    Attributes:
        time: Its time, in Unix seconds.
        block_seconds: The mean seconds between two blocks.
    """

    number: int
    time: int
    block_seconds: float

    def before(self, days: int, first: int) -> int:
        """Return the block that was the latest some days ago, by the chain's pace, and not before `first`."""
        return max(first, self.number - int(days * DAY / self.block_seconds))

    def days_since(self, block: int) -> int:
        """Return the age of a block in whole days, by the chain's pace."""
        return int((self.number - block) * self.block_seconds // DAY)


@dataclass(frozen=True)
class Holders:
    """The owner and the wallet of an agent at a block.

    Attributes:
        exists: False if the agent was not registered then; None if the node does not know the state.
        owner: The owner; None if it is not known.
        wallet: The wallet; None if it is not known, or there was none.
    """

    block: int
    exists: bool | None
    owner: str | None = None
    wallet: str | None = None


@dataclass
class Past:
    """The events of an agent's token and wallet, the newest first, back to a block.

    Attributes:
        handovers: The blocks in which the token got another owner.
        registered: The block of the registration; None if the logs were not read so far back.
        wallet_changes: The blocks in which the wallet was set.
        handovers_from: The block from which handovers are known.
        wallets_from: The block from which changes of the wallet are known.
    """

    handovers_from: int
    wallets_from: int
    registered: int | None = None
    handovers: list[int] = field(default_factory=list)
    wallet_changes: list[int] = field(default_factory=list)


def read_head(first: int) -> Operation[Head]:
    """Read the latest block, and measure the chain's pace."""
    latest = answers.record((yield Rpc("eth_getBlockByNumber", ("latest", False))))
    number, time = answers.quantity(latest.get("number")), answers.quantity(latest.get("timestamp"))
    sample = max(first, number - _SAMPLE)
    if sample >= number:
        return Head(number, time, 1.0)
    try:
        before = answers.record((yield Rpc("eth_getBlockByNumber", (hex(sample), False))))
        seconds = (time - answers.quantity(before.get("timestamp"))) / (number - sample)
    except _UNREADABLE:
        return Head(number, time, 1.0)
    return Head(number, time, max(seconds, 0.01))


def read_holders(state: ClientState, agent_id: int, block: int) -> Operation[Holders]:
    """Read the owner and the wallet of an agent at a block, if the node knows the state of then."""
    try:
        (owner,) = yield from registries.call(state, Registry.IDENTITY, "ownerOf", agent_id, block=hex(block))
        (wallet,) = yield from registries.call(state, Registry.IDENTITY, "getAgentWallet", agent_id, block=hex(block))
    except ContractRevertError:
        return Holders(block, exists=False)
    except _UNREADABLE:
        return Holders(block, exists=None)
    return Holders(block, True, str(owner), str(wallet) if int(str(wallet), 16) else None)


def read_past(state: ClientState, agent_id: int, head: Head, first: int) -> Operation[Past]:
    """Read the events of an agent's token and wallet, as far back as some requests reach."""
    deployment = yield from registries.connect(state)
    place, agent = (deployment.identity,), registries.topic(agent_id)
    kind = "0x" + topic_of(Registry.IDENTITY, Transfer).hex()
    transfers, reached = yield from _newest(LogFilter(place, (kind, None, None, agent)), first, head.number, state)
    past = Past(reached, first)
    for log in transfers:
        if log.topics[1] == _NOBODY:
            past.registered, past.handovers_from = log.position.block_number, first
        else:
            past.handovers.append(log.position.block_number)
    kind = "0x" + topic_of(Registry.IDENTITY, MetadataSet).hex()
    key = "0x" + keccak(text="agentWallet").hex()
    start = first if past.registered is None else past.registered
    wallets, past.wallets_from = yield from _newest(LogFilter(place, (kind, agent, key)), start, head.number, state)
    if past.registered is not None and past.wallets_from <= past.registered:
        past.wallets_from = first  # no wallet is older than its agent
    past.wallet_changes = [log.position.block_number for log in wallets if log.position.block_number != past.registered]
    return past


def _newest(logs_of: LogFilter, first: int, last: int, state: ClientState) -> Operation[tuple[list[RawLog], int]]:
    """Read logs from the newest on, until the first block or the last of the requests.

    A log of a registration ends it, because a token has no earlier one.
    """
    limit: RangeLimit = state.log_range
    logs: list[RawLog] = []
    end = last
    for _ in range(_LOG_REQUESTS):
        if end < first:
            break
        start = first if limit.span is None else max(first, end - limit.span + 1)
        try:
            part = read_answer(logs_of, start, end, (yield Rpc("eth_getLogs", (logs_of.parameters(start, end),))))
        except _UNREADABLE as failure:
            if not limit.refused(failure, start, end):
                break
            continue
        limit.accepted()
        logs += reversed(part)
        end = start - 1
        if any(log.topics[1] == _NOBODY for log in part):
            break
    return logs, end + 1
