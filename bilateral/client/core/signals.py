"""A watchtower's measurements, each published once a period (best practices, "Watchtower Monitoring").

The period is `tag2`, which the registry keeps in its state. So the chain itself says, to one call for each agent,
which signals of a period there are already. A run that was cut off is completed by running it again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from bilateral.client.core import answers, chain, feedback, reading, transactions
from bilateral.client.steps import Exclusive, Pause, Rpc
from bilateral.contracts import Registry
from bilateral.errors import BatchInterruptedError, InvalidArgumentError
from bilateral.values import FeedbackValue, value_for_tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilateral.client.core.transactions import Sent
    from bilateral.client.inputs import Signal
    from bilateral.client.results import FeedbackEntry
    from bilateral.client.session import Session
    from bilateral.client.steps import Operation
    from bilateral.identifiers import AgentId

SIGNAL_TAGS: Final = ("reachable", "uptime", "successRate", "responseTime")

_Key: TypeAlias = "tuple[AgentId, str]"

_ROUNDS: Final = 5
_SETTLING_SECONDS: Final = 120.0


@dataclass(frozen=True)
class Published:
    """What became of the signals of a period.

    Attributes:
        sent: Those that were sent now.
        already: Those that the chain had.
    """

    sent: tuple[Sent[FeedbackEntry], ...]
    already: tuple[Signal, ...]


def publish(session: Session, signals: Sequence[Signal], period: str) -> Operation[Published]:
    """See `Client.publish_signals`."""
    deployment = yield from chain.connect(session)
    chain.require_signer(session)
    if not period:
        raise InvalidArgumentError("name the period, such as 2026-W47: signals are published once a period")
    wanted: dict[_Key, Signal] = {}
    for signal in signals:
        if signal.tag not in SIGNAL_TAGS:
            raise InvalidArgumentError(f"a signal measures {', '.join(SIGNAL_TAGS)}, not {signal.tag!r}")
        value = signal.value.human if isinstance(signal.value, FeedbackValue) else signal.value
        value_for_tag(signal.tag, value, period)  # refuses what means nothing under its tag
        key = chain.agent_of(deployment, signal.agent), signal.tag
        if key in wanted:
            raise InvalidArgumentError(f"there are two signals {signal.tag} for agent {key[0]}")
        wanted[key] = signal
    sent: dict[_Key, Sent[FeedbackEntry]] = {}
    try:
        published: Published = yield Exclusive(_publish(session, wanted, period, sent))
    except BatchInterruptedError:
        raise
    except Exception as error:  # whatever a signer or a provider raises
        if not sent:
            raise
        raise _interrupted(sent, len(wanted) - len(sent), str(error)) from error
    except BaseException as interruption:  # an interrupt, or a task that is cancelled: it passes, with all hashes
        if sent:
            interruption.add_note(f"These transactions were sent: {', '.join(str(it.hash) for it in sent.values())}.")
        raise
    return published


def _publish(
    session: Session, wanted: dict[_Key, Signal], period: str, sent: dict[_Key, Sent[FeedbackEntry]]
) -> Operation[Published]:
    """Publish what is missing. Where another run with the same key takes a nonce, see again what is missing.

    The nonces are taken in order from one at which nothing was on its way, so of two runs at the same time only one
    can send each. What was sent is in `sent`, whatever happens.
    """
    for _ in range(_ROUNDS):
        nonce = yield from _settled_nonce(session, sent, len(wanted) - len(sent))
        present = yield from _present(session, dict.fromkeys(agent for agent, _ in wanted), period)
        missing = [key for key in wanted if key not in present]
        prepared = []
        for key in missing:
            prepared.append((yield from _prepare(session, key, wanted[key], period)))  # noqa: PERF401  # it yields
        already = tuple(signal for key, signal in wanted.items() if key in present and key not in sent)
        if session.dry_run:
            tried = [
                replace(each, transaction=each.transaction | {"nonce": nonce + number})
                for number, each in enumerate(prepared)
            ]
            return Published(tuple(tried), already)
        try:
            for number, (key, each) in enumerate(zip(missing, prepared, strict=True)):
                sent[key] = yield from transactions.send_with_nonce(session, each, nonce + number)
        except transactions.NonceTakenError:
            continue
        except Exception as error:  # whatever a signer or a provider raises
            raise _interrupted(sent, len([key for key in missing if key not in sent]), str(error)) from error
        return Published(tuple(sent.values()), already)
    raise _interrupted(sent, len([key for key in missing if key not in sent]), "another program has the same key")


def _settled_nonce(session: Session, sent: dict[_Key, Sent[FeedbackEntry]], unsent: int) -> Operation[int]:
    """The signer's next nonce, once nothing of the signer's is on its way any more."""
    end = time.monotonic() + _SETTLING_SECONDS
    while True:
        mined = answers.quantity((yield Rpc("eth_getTransactionCount", (chain.address_of(session), "latest"))))
        if mined >= (yield from transactions.next_nonce(session)):
            return mined
        if time.monotonic() >= end:
            raise _interrupted(sent, unsent, "earlier transactions of the signer are still on their way")
        yield Pause(session.poll_interval)


def _present(session: Session, agents: Iterable[AgentId], period: str) -> Operation[set[_Key]]:
    """The signals of the period that the chain has of the signer."""
    me = [chain.require_address(session)]
    found: set[_Key] = set()
    for agent in agents:
        entries = yield from reading.read_all(session, agent, me, reading.Selection(tag2=period))
        found |= {(agent, str(entry.tag1)) for entry in entries}
    return found


def _prepare(session: Session, key: _Key, signal: Signal, period: str) -> Operation[Sent[FeedbackEntry]]:
    """Make the transaction of a signal, and simulate it."""
    agent, _ = key
    arguments = yield from feedback.arguments_of(session, agent, _draft(signal, period))
    decode = feedback.given_decoder(agent)
    return (yield from transactions.prepare(session, Registry.REPUTATION, feedback.GIVE, arguments, decode))


def _draft(signal: Signal, period: str) -> feedback.Draft:
    """A signal as feedback."""
    return feedback.Draft(signal.value, signal.tag, period, signal.endpoint)


def _interrupted(sent: dict[_Key, Sent[FeedbackEntry]], missing: int, why: str) -> BatchInterruptedError:
    """The error that says how far the publishing came."""
    return BatchInterruptedError(tuple(str(it.hash) for it in sent.values()), missing, why)
