"""Many writes at once: simulated together, sent in order, and never half without saying so."""

from __future__ import annotations

import asyncio

import pytest
from eth_account import Account

from bilateral.client import AsyncClient, Client
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import BatchInterruptedError, InsufficientFundsError, NotSentError
from bilateral.documents import FolderStore
from tests.sdk.client.helpers import nonce_of
from tests.sdk.client.unreliable import refuses, times


@pytest.fixture
def blocking(rpc, deployment, loader):
    """Makes clients that block."""
    clients = []

    def make(signer, to=rpc, **settings):
        clients.append(Client(to, signer=signer, deployment=deployment, loader=loader, poll_interval=0.02, **settings))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def test_a_batch_sends_its_writes_in_order(blocking, newcomer, agent):
    client = blocking(newcomer)
    with client.batch() as batch:
        handles = [batch.give_feedback(agent, value) for value in range(120)]
        assert handles[0].hash is None
    assert [handle.transaction["nonce"] for handle in handles] == list(range(120))
    assert [handle.wait().value for handle in handles] == list(range(120))


def test_a_batch_takes_few_requests(blocking, node, newcomer, agent):
    with blocking(newcomer, node.url).batch() as batch:
        for value in range(40):
            batch.give_feedback(agent, value)
    assert node.round_trips <= 12


def test_an_asynchronous_batch_does_the_same(rpc, deployment, newcomer, agent):
    async def run():
        async with AsyncClient(rpc, signer=newcomer, deployment=deployment, poll_interval=0.02) as client:
            async with client.batch() as batch:
                handles = [await batch.give_feedback(agent, value) for value in range(3)]
            return [(await handle.wait()).value for handle in handles]

    assert asyncio.run(run()) == [0, 1, 2]


def test_a_batch_in_which_one_write_would_revert_sends_nothing(blocking, owner, agent, register, web3):
    before = nonce_of(web3, owner)
    batch = blocking(owner).batch()
    handles = [batch.set_metadata(agent, "key", b"1"), batch.give_feedback(agent, 1)]
    with pytest.raises(ContractRevertError) as caught:
        batch.send()
    assert caught.value.reason == "self_feedback"
    assert ([handle.hash for handle in handles], nonce_of(web3, owner)) == ([None, None], before)


def test_a_batch_that_costs_too_much_together_sends_nothing(blocking, web3, agent):
    nearly = Account.create()
    client = blocking(nearly)
    web3.provider.make_request("anvil_setBalance", [nearly.address, hex(10**18)])
    tried = blocking(nearly, dry_run=True).give_feedback(agent, 1).transaction
    web3.provider.make_request("anvil_setBalance", [nearly.address, hex(tried["gas"] * tried["maxFeePerGas"] * 3 // 2)])
    batch = client.batch()
    for value in (1, 2):
        batch.give_feedback(agent, value)
    with pytest.raises(InsufficientFundsError):
        batch.send()
    assert nonce_of(web3, nearly) == 0


def test_a_batch_that_stops_in_the_middle_says_what_was_sent(blocking, node, newcomer, agent, held, web3):
    node.interference["eth_sendRawTransaction"] = times(
        2, lambda _, forward: forward(), refuses("tx fee exceeds the configured cap")
    )
    client = blocking(newcomer, node.url)
    batch = client.batch()
    handles = [batch.give_feedback(agent, value) for value in range(4)]
    with pytest.raises(BatchInterruptedError, match="the configured cap") as caught:
        batch.send()
    assert caught.value.hashes == tuple(handle.hash for handle in handles[:2])
    assert (caught.value.missing, [handle.hash for handle in handles[2:]]) == (2, [None, None])
    del node.interference["eth_sendRawTransaction"]
    with client.batch() as rest:
        again = [rest.give_feedback(agent, value) for value in (2, 3)]
    assert [handle.transaction["nonce"] for handle in again] == [2, 3]
    held()
    assert [handle.wait().value for handle in (*handles[:2], *again)] == [0, 1, 2, 3]


def test_an_exception_in_the_context_sends_nothing(blocking, newcomer, agent, web3):
    with pytest.raises(ZeroDivisionError), blocking(newcomer).batch() as batch:
        batch.give_feedback(agent, 1)
        _ = 1 / 0
    assert nonce_of(web3, newcomer) == 0


def test_a_handle_of_a_batch_that_was_not_sent_says_so(blocking, newcomer, agent):
    handle = blocking(newcomer).batch().give_feedback(agent, 1)
    assert "not sent" in repr(handle)
    with pytest.raises(NotSentError, match="the batch has not been sent yet"):
        handle.wait()


def test_a_dry_run_of_a_batch_shows_its_transactions(blocking, newcomer, agent, web3):
    with blocking(newcomer, dry_run=True).batch() as batch:
        handles = [batch.give_feedback(agent, value) for value in (1, 2)]
    assert [handle.transaction["nonce"] for handle in handles] == [0, 1]
    assert ([handle.hash for handle in handles], nonce_of(web3, newcomer)) == ([None, None], 0)


def test_an_empty_batch_sends_nothing(blocking, newcomer):
    assert blocking(newcomer).batch().send() == ()


def test_a_batch_stores_the_documents_of_its_writes(blocking, newcomer, agent, tmp_path):
    store = FolderStore(tmp_path, "https://files.example/")
    with blocking(newcomer, store=store).batch() as batch:
        handle = batch.append_response(*_given(blocking, newcomer, agent), response="Thank you")
    (stored,) = tmp_path.iterdir()
    assert handle.wait().uri == f"https://files.example/{stored.name}"


def _given(blocking, client, agent):
    """The agent, client and index of a feedback."""
    feedback = blocking(client).give_feedback(agent, 1).wait()
    return agent, feedback.id.client, feedback.id.index
