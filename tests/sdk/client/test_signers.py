"""Signers that fail and tasks that are cancelled: what is raised is named, and what was sent is never lost."""

from __future__ import annotations

import asyncio
import re

import pytest

from bilateral.client import AsyncClient, Client, Signal
from bilateral.core.errors import BatchInterruptedError, MissingSignerError, SignerFailedError
from tests.sdk.client.helpers import overtaken_by
from tests.sdk.client.unreliable import answers

pytestmark = pytest.mark.one_client

WEEK = "2026-W47"


class FailingSigner:
    """An account that signs so many transactions, and then fails."""

    def __init__(self, account, failure, after=0):
        self.address = account.address
        self.hashes = []
        self._account, self._failure, self._left = account, failure, after

    def sign_transaction(self, transaction):
        if len(self.hashes) == self._left:
            raise self._failure
        signed = self._account.sign_transaction(transaction)
        self.hashes.append("0x" + bytes(signed.hash).hex())
        return signed

    def sign_message(self, _):
        raise self._failure


@pytest.fixture
def signals(register):
    """Three measurements of an agent."""
    agent = register()
    return [Signal(agent, "reachable", True), Signal(agent, "uptime", "99.77"), Signal(agent, "successRate", 89)]


@pytest.mark.parametrize(
    "write", [lambda value, agent: value.give_feedback(agent, 1), lambda value, agent: value.sign_feedback(agent, 1)]
)
def test_an_error_of_a_signer_is_named_without_its_text(connect, newcomer, agent, write):
    failure = ValueError("no such key: 0xabcd")
    with pytest.raises(SignerFailedError, match="ValueError") as caught:
        write(connect(FailingSigner(newcomer, failure)), agent)
    assert caught.value.__cause__ is failure
    assert "0xabcd" not in str(caught.value)


def test_an_error_of_the_package_that_a_signer_raises_passes(connect, newcomer, agent):
    with pytest.raises(MissingSignerError, match="it is locked"):
        connect(FailingSigner(newcomer, MissingSignerError("it is locked"))).give_feedback(agent, 1)


def test_an_invalid_signature_is_the_signers_failure(connect, newcomer, agent):
    signer = FailingSigner(newcomer, None)
    signer.sign_message = lambda _: "signed"
    with pytest.raises(SignerFailedError, match="AttributeError"):
        connect(signer).sign_feedback(agent, 1)


@pytest.mark.parametrize("failure", [ValueError("no"), OSError("unplugged"), MissingSignerError("it is locked")])
def test_a_signer_that_fails_in_a_batch_leaves_the_hashes_sent_before(connect, newcomer, signals, failure):
    signer = FailingSigner(newcomer, failure, after=2)
    with pytest.raises(BatchInterruptedError) as caught:
        connect(signer).publish_signals(signals, WEEK)
    assert (caught.value.hashes, caught.value.missing) == (tuple(signer.hashes), 1)
    assert failure in (caught.value.__cause__, caught.value.__cause__.__cause__)
    assert len(connect(newcomer).publish_signals(signals, WEEK).already_published) == 2


@pytest.mark.parametrize("connect", [Client], indirect=True)  # an event loop does not survive an interrupt
def test_an_interrupt_in_a_batch_passes_with_the_hashes_sent_before(connect, newcomer, signals):
    signer = FailingSigner(newcomer, KeyboardInterrupt(), after=2)
    with pytest.raises(KeyboardInterrupt) as caught:
        connect(signer).publish_signals(signals, WEEK)
    assert re.findall("0x[0-9a-f]{64}", " ".join(caught.value.__notes__)) == signer.hashes


@pytest.mark.parametrize("connect", [Client], indirect=True)
def test_an_interrupt_before_a_batch_has_nothing_to_tell(connect, newcomer, signals):
    with pytest.raises(KeyboardInterrupt) as caught:
        connect(FailingSigner(newcomer, KeyboardInterrupt())).publish_signals(signals, WEEK)
    assert not hasattr(caught.value, "__notes__")


def test_a_failure_of_another_kind_after_a_lost_race_is_told_with_what_was_sent(connect, node, newcomer, signals, web3):
    sent = []

    def lost(parameters, forward):
        if len(sent) == 2:
            node.interference["eth_estimateGas"] = answers("0x1g")
            return overtaken_by(web3, newcomer)(parameters, forward)
        sent.append(forward()["result"])
        return {"jsonrpc": "2.0", "id": 0, "result": sent[-1]}

    node.interference["eth_sendRawTransaction"] = lost
    with pytest.raises(BatchInterruptedError) as caught:
        connect(newcomer, to=node.url).publish_signals(signals, WEEK)
    assert (caught.value.hashes, caught.value.missing) == (tuple(sent), 1)


def test_a_cancelled_batch_leaves_the_hashes_sent_before(node, newcomer, deployment, signals):
    signer, sent = FailingSigner(newcomer, None, after=3), []

    def stall_at_the_third(_, forward):
        sent.append(forward()["result"])
        return {"jsonrpc": "2.0", "id": 0, "result": sent[-1]} if len(sent) < 3 else None

    async def run():
        async with AsyncClient(node.url, signer=signer, deployment=deployment) as client:
            publishing = asyncio.create_task(client.publish_signals(signals, WEEK))
            while len(sent) < 3:
                await asyncio.sleep(0.01)
            publishing.cancel()
            await publishing

    node.interference["eth_sendRawTransaction"] = stall_at_the_third
    with pytest.raises(asyncio.CancelledError) as caught:
        asyncio.run(run())
    assert sorted(re.findall("0x[0-9a-f]{64}", " ".join(caught.value.__notes__))) == sorted(signer.hashes)


def test_a_timeout_of_a_write_has_its_hash(node, newcomer, agent, deployment):
    async def run():
        async with AsyncClient(node.url, signer=newcomer, deployment=deployment) as client:
            writing = asyncio.create_task(client.give_feedback(agent, 1))
            while "eth_sendRawTransaction" not in node.methods:
                await asyncio.sleep(0.01)
            await asyncio.wait_for(writing, 0.05)

    node.interference["eth_sendRawTransaction"] = lambda _, forward: forward() and None
    with pytest.raises(TimeoutError) as caught:
        asyncio.run(run())
    (note,) = caught.value.__cause__.__notes__
    assert re.search("Transaction 0x[0-9a-f]{64} may have been sent", note)
