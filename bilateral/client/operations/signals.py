"""A watchtower's measurements, each published once per period (best practices, "Watchtower Monitoring").

The registry stores each signal's period as `tag2`, so one call per agent shows which of a period's signals are already
on chain. The signals' endpoints are read from events. Repeating an interrupted run completes it.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from bilateral.client.operations import confirmations, feedback, fees, reading, registries, transactions
from bilateral.client.results import FeedbackEntry
from bilateral.client.state import ClientState, Sent, Signal
from bilateral.core.contracts import Registry
from bilateral.core.errors import BatchInterruptedError, InvalidArgumentError, MalformedNodeAnswerError, NodeError
from bilateral.core.events import NewFeedback
from bilateral.core.events.decoder import topic_of
from bilateral.core.identifiers import AgentId, FeedbackId
from bilateral.core.text import quoted
from bilateral.core.values import MEASURED_TAGS, FeedbackValue, value_for_tag
from bilateral.node.logs import LogFilter, read_logs
from bilateral.node.steps import Exclusive, Operation, Pause, together

_Key: TypeAlias = "tuple[AgentId, str, str]"
"""A signal's agent, tag and endpoint."""

_FIRST_BLOCKS: Final = 10_000
"""How many of the latest blocks to search for events first, because an interrupted run is at most a few hours old."""

_ROUNDS: Final = 5
"""The maximum number of attempts while a parallel run uses the same key. Each attempt rechecks which signals are
missing."""

_SETTLING_SECONDS: Final = 120.0
"""The maximum time to wait for pending transactions: ten blocks on the slowest chain."""


@dataclass(frozen=True)
class Published:
    """The outcome of publishing the signals of a period.

    Attributes:
        sent: The signals that this run sent.
        already: The signals that were already on chain.
    """

    sent: tuple[Sent[FeedbackEntry], ...]
    already: tuple[Signal, ...]


@dataclass
class _Batch:
    """The progress of publishing the signals of a period.

    Attributes:
        requested: The signals to publish.
        present: The signals found on chain so far.
        sent: The signals that this run sent, regardless of their outcome.
    """

    requested: dict[_Key, Signal]
    present: set[_Key] = field(default_factory=set)
    sent: dict[_Key, Sent[FeedbackEntry]] = field(default_factory=dict)

    @property
    def hashes(self) -> tuple[str, ...]:
        """The hashes of the sent transactions."""
        return tuple(str(transaction.hash) for transaction in self.sent.values())

    def interrupted(self, why: str) -> BatchInterruptedError:
        """Return an error that reports which signals were sent before the interruption."""
        missing = self.requested.keys() - self.present - self.sent.keys()
        return BatchInterruptedError(self.hashes, len(missing), why)


def publish(state: ClientState, signals: Sequence[Signal], period: str) -> Operation[Published]:
    """See `Client.publish_signals`."""
    deployment = yield from registries.connect(state)
    registries.require_signer(state)
    if not period:
        raise InvalidArgumentError("pass the period, such as 2026-W47: signals are published once per period")
    requested: dict[_Key, Signal] = {}
    for signal in signals:
        if signal.tag not in MEASURED_TAGS:
            raise InvalidArgumentError(f"a signal's tag must be one of {', '.join(MEASURED_TAGS)}, not {signal.tag!r}")
        value = signal.value.human if isinstance(signal.value, FeedbackValue) else signal.value
        value_for_tag(signal.tag, value, period)  # raises an error if the value is not meaningful for its tag
        key = registries.agent_of(deployment, signal.agent_id), signal.tag, signal.endpoint
        if key in requested:
            place = f" at {quoted(signal.endpoint)}" if signal.endpoint else ""
            raise InvalidArgumentError(f"there are two signals with the tag {signal.tag} for agent {key[0]}{place}")
        requested[key] = signal
    batch = _Batch(requested)
    try:
        published: Published = yield Exclusive(_publish(state, batch, period))
    except BatchInterruptedError:
        raise
    except Exception as error:  # signers and providers may raise any exception
        if not batch.sent:
            raise
        raise batch.interrupted(str(error)) from error
    except BaseException as interruption:  # an interrupt or a cancelled task: re-raised, with all hashes
        if batch.sent:
            interruption.add_note(f"These transactions were sent: {', '.join(batch.hashes)}.")
        raise
    return published


def _publish(state: ClientState, batch: _Batch, period: str) -> Operation[Published]:
    """Publish the missing signals. If a parallel run with the same key takes a nonce, recheck which are missing."""
    # The nonces are used in order, starting after the last transaction, so of two simultaneous runs only one can send
    # each. `batch` records the progress, whatever happens.
    for _ in range(_ROUNDS):
        nonce = yield from _settled(state, batch, period)
        absent = {key: signal for key, signal in batch.requested.items() if key not in batch.present}
        prepared = yield from together([_prepare(state, key, signal, period) for key, signal in absent.items()])
        already = tuple(
            signal for key, signal in batch.requested.items() if key in batch.present and key not in batch.sent
        )
        if state.dry_run:
            tried = [
                replace(write, transaction=write.transaction | {"nonce": nonce + number})
                for number, write in enumerate(prepared)
            ]
            return Published(tuple(tried), already)
        if prepared:
            yield from transactions.require_balance(state, sum(fees.most(write.transaction) for write in prepared))
        try:
            for number, (key, write) in enumerate(zip(absent, prepared, strict=True)):
                batch.sent[key] = yield from transactions.send_with_nonce(state, write, nonce + number)
        except transactions.NonceUsedError:
            continue
        except Exception as error:  # signers and providers may raise any exception
            raise batch.interrupted(str(error)) from error
        return Published(tuple(batch.sent.values()), already)
    raise batch.interrupted("another program is using the same key")


def _settled(state: ClientState, batch: _Batch, period: str) -> Operation[int]:
    """Wait for the signer's pending transactions, record which signals are on chain, and return the next nonce."""
    # The nonce and the signals must be read at the same block. Of two nodes behind one host name, one may lag behind: a
    # nonce from one and signals from the other would cause all signals to be published again.
    started_at = time.monotonic()
    while True:
        block = hex((yield from registries.latest_block()))
        waited = time.monotonic() - started_at
        try:
            mined = yield from confirmations.transaction_count(state, block)
            if mined >= (yield from transactions.next_nonce(state)):
                batch.present = yield from _present(state, batch, period, block)
                # A node may briefly return the next block's state as this one's, as anvil does while it mines a block.
                if mined == (yield from confirmations.transaction_count(state, block)):
                    return mined
        except (NodeError, MalformedNodeAnswerError):  # the error from a node that does not have the block yet
            if waited >= confirmations.LAG_SECONDS:
                raise
        if waited >= _SETTLING_SECONDS:
            raise batch.interrupted("earlier transactions from the signer are still pending")
        yield Pause(state.poll_interval)


def _present(state: ClientState, batch: _Batch, period: str, block: str) -> Operation[set[_Key]]:
    """Return the period's signals that are on chain by the end of a block, reading all agents concurrently."""
    me = [registries.require_address(state)]
    selection = reading.Selection(tag2=period, block=block)
    agents = dict.fromkeys(agent for agent, *_ in batch.requested)
    by_agent = yield from together([reading.read_all(state, agent, me, selection) for agent in agents])
    tags = {entry.id: str(entry.tag1) for entries in by_agent for entry in entries}
    endpoints = yield from _endpoints(state, set(tags), int(block, 16))
    return {(id_.agent, tag, endpoints[id_]) for id_, tag in tags.items()}


def _endpoints(state: ClientState, unread: set[FeedbackId], last: int) -> Operation[dict[FeedbackId, str]]:
    """Return the endpoint of each of the signer's feedback entries, searching events backwards from a block."""
    deployment = yield from registries.connect(state)
    reputation = deployment.address_of(Registry.REPUTATION)
    topics = ["0x" + topic_of(Registry.REPUTATION, NewFeedback).hex(), None]
    query = LogFilter((reputation,), [*topics, registries.topic(registries.require_address(state))])
    endpoints: dict[FeedbackId, str] = {}
    span = _FIRST_BLOCKS
    while unread - endpoints.keys():
        first = max(deployment.first_block, last - span + 1)
        if first > last:
            raise MalformedNodeAnswerError("the node did not return the events for some signals in the registry")
        for raw in (yield from read_logs(query, first, last, limit=state.log_range)):
            event = registries.decode(Registry.REPUTATION, raw)
            if isinstance(event, NewFeedback):
                entry = feedback.read_feedback(deployment.chain_id, event)
                endpoints[entry.id] = str(event.endpoint)
        last, span = first - 1, span * 4
    return endpoints


def _prepare(state: ClientState, key: _Key, signal: Signal, period: str) -> Operation[Sent[FeedbackEntry]]:
    agent, *_ = key
    link = signal.feedback_uri, signal.feedback_hash
    arguments = yield from feedback.arguments_of(
        state, agent, feedback.Draft(signal.value, signal.tag, period, signal.endpoint, link=link)
    )
    decode = feedback.feedback_decoder(agent, registries.require_address(state))
    return (yield from transactions.prepare(state, Registry.REPUTATION, feedback.GIVE, arguments, decode))
