"""Agents as raters, and watchtowers: patterns of the best practices, by the client."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from eth_account import Account

from bilateral.client import Client, Rater, Signal, week_of
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import (
    BatchInterruptedError,
    InvalidArgumentError,
    MissingSignerError,
    NodeError,
    UnrepresentableValueError,
)
from bilateral.core.values import MEASURED_TAGS, FeedbackValue
from bilateral.documents import RegistrationFile
from tests.sdk.client.helpers import nonce_of, overtaken_by
from tests.sdk.client.unreliable import answers, refuses, times

pytestmark = pytest.mark.one_client

WEEK = "2026-W47"


def test_a_rater_is_resolved_to_its_agent(connect, newcomer, agent):
    client = connect(newcomer)
    file = RegistrationFile.new("Rater", "Rates", "https://rater.example/i.png")
    rater = client.register_agent(file=file).wait().agent
    wallet = Account.create()
    client.set_agent_wallet(rater, wallet.address, new_wallet_signer=wallet).wait()
    feedback = client.give_feedback(agent, 1).wait()
    for address in (feedback.id.client, wallet.address.lower()):
        entry = client.resolve_rater(address)
        assert (entry.agent.id, entry.name, entry.image) == (rater, "Rater", "https://rater.example/i.png")
    assert client.resolve_rater(wallet.address, load_file=False).name is None


def test_a_rater_without_an_agent_is_an_address(connect, reviewer):
    address = Account.create().address
    rater = connect().resolve_rater(address)
    assert rater == Rater(address, None)
    assert (rater.name, rater.image) == (None, None)


def test_a_registry_without_a_directory_is_searched_for_wallets(connect, node, register, newcomer):
    first, second = register(newcomer), register(newcomer)
    formerly = Account.create()
    client = connect(newcomer)
    client.set_agent_wallet(first, formerly.address, new_wallet_signer=formerly).wait()
    client.unset_agent_wallet(first).wait()
    node.interference["eth_call"] = without_directory
    searching = connect(to=node.url)
    agent = searching.resolve_rater(newcomer.address).agent
    assert (agent.id, agent.domain) == (second, "")
    assert searching.resolve_rater(formerly.address).agent is None


def without_directory(parameters, forward):
    """The node of a registry that has neither `agentOf` nor `getAgent`."""
    is_of_directory = parameters[0]["data"][:10] in ("0x2de5aaf7", "0xac3c0e30")
    return refuses("execution reverted", 3, "0x")(parameters, forward) if is_of_directory else forward()


@pytest.fixture
def signals(register):
    """A week's measurements of two agents."""
    first, second = register(), register()
    return [
        Signal(first, "reachable", True, "https://a.example"),
        Signal(first, "uptime", "99.77"),
        Signal(second, "successRate", 89),
        Signal(second, "responseTime", Decimal(560)),
    ]


def test_signals_are_published(connect, newcomer, signals):
    client = connect(newcomer)
    batch = client.publish_signals(signals, WEEK)
    assert batch.already_published == ()
    entries = batch.wait()
    assert [(entry.id.agent, entry.tag1, entry.tag2, entry.value) for entry in entries] == [
        (signal.agent_id, signal.tag, WEEK, Decimal(value))
        for signal, value in zip(signals, ("1", "99.77", "89", "560"), strict=True)
    ]
    assert entries[0].event.endpoint == "https://a.example"


def test_signals_are_published_once_a_period(connect, newcomer, signals, web3):
    connect(newcomer).publish_signals(signals, WEEK).wait()
    before = nonce_of(web3, newcomer)
    again = connect(newcomer).publish_signals(signals, WEEK)
    assert (again.handles, again.already_published) == ((), tuple(signals))
    assert again.wait() == []
    assert nonce_of(web3, newcomer) == before
    assert len(connect(newcomer).publish_signals(signals, "2026-W48").handles) == len(signals)


def test_signals_of_two_endpoints_of_an_agent_do_not_collide(connect, newcomer, agent):
    first, second = (Signal(agent, "uptime", value, f"https://{value}.example") for value in (90, 80))
    client = connect(newcomer)
    client.publish_signals([first], WEEK).wait()
    batch = client.publish_signals([second, first], WEEK)
    assert batch.already_published == (first,)
    assert [(entry.value, entry.event.endpoint) for entry in batch.wait()] == [(80, "https://80.example")]
    assert client.publish_signals([first, second], WEEK).handles == ()
    with pytest.raises(
        InvalidArgumentError, match=r'two signals with the tag uptime for agent .* at "https://80\.example"'
    ):
        client.publish_signals([second, second], WEEK)


def test_all_measured_tags_are_published_with_their_evidence(connect, newcomer, agent):
    link = {"feedback_uri": "ipfs://bafy", "feedback_hash": b"7" * 32}
    week = [Signal(agent, tag, 1, **link) for tag in MEASURED_TAGS]
    entries = connect(newcomer).publish_signals(week, WEEK).wait()
    assert [(entry.tag1, entry.event.uri, entry.event.hash) for entry in entries] == [
        (tag, "ipfs://bafy", b"7" * 32) for tag in MEASURED_TAGS
    ]


def test_a_signal_costs_few_requests_beside_its_transaction(connect, node, newcomer, register):
    week = [Signal(agent, tag, 1) for agent in [register() for _ in range(20)] for tag in ("uptime", "reachable")]
    client = connect(newcomer, to=node.url)
    client.get_deployment()
    node.round_trips = 0
    batch = client.publish_signals(week, WEEK)
    sent = node.methods.count("eth_sendRawTransaction")
    assert sent == len(week)
    assert (node.round_trips - sent) / sent <= 0.2
    batch.wait()
    node.round_trips = 0
    assert connect(newcomer, to=node.url).publish_signals(week, WEEK).handles == ()
    assert node.round_trips <= 8


def test_another_watchtowers_signals_are_its_own(connect, newcomer, reviewer, signals):
    connect(reviewer).publish_signals(signals, WEEK).wait()
    assert len(connect(newcomer).publish_signals(signals, WEEK).handles) == len(signals)


def test_a_run_that_was_cut_off_is_completed(connect, node, newcomer, signals):
    sent = []

    def crash(parameters, forward):
        if len(sent) == 2:
            return refuses("the pool is full")(parameters, forward)
        sent.append(forward()["result"])
        return {"result": sent[-1]}

    node.interference["eth_sendRawTransaction"] = crash
    with pytest.raises(BatchInterruptedError) as caught:
        connect(newcomer, to=node.url).publish_signals(signals, WEEK)
    assert caught.value.hashes == tuple(sent)
    assert caught.value.missing == 2
    client = connect(newcomer)
    batch = client.publish_signals(signals, WEEK)
    assert batch.already_published == tuple(signals[:2])
    assert [(entry.id.agent, entry.tag1) for entry in batch.wait()] == [
        (signal.agent_id, signal.tag) for signal in signals[2:]
    ]
    for agent in {signal.agent_id for signal in signals}:
        assert len(client.read_all_feedback(agent)) == 2


def test_signals_on_their_way_are_waited_for(connect, newcomer, signals, web3):
    client = connect(newcomer)
    web3.provider.make_request("anvil_setAutomine", [False])
    try:
        client.publish_signals(signals, WEEK)
        with ThreadPoolExecutor() as pool:
            running = pool.submit(connect(newcomer).publish_signals, signals, WEEK)
            with pytest.raises(TimeoutError):
                running.result(0.3)
            web3.provider.make_request("anvil_mine", [])
            assert running.result(10).handles == ()
    finally:
        web3.provider.make_request("anvil_setAutomine", [True])
    assert {len(client.read_all_feedback(signal.agent_id)) for signal in signals} == {2}


def test_two_runs_at_once_publish_each_signal_once(rpc, deployment, newcomer, signals):
    def run(_):
        with Client(rpc, signer=newcomer, deployment=deployment, poll_interval=0.02) as client:
            return client.publish_signals(signals, WEEK).wait()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(run, range(3)))
    with Client(rpc, deployment=deployment) as client:
        for agent in {signal.agent_id for signal in signals}:
            assert len(client.read_all_feedback(agent)) == 2


def test_a_run_that_loses_a_race_leaves_the_signals_to_the_other(connect, node, newcomer, signals):
    def overtaken(_, forward):
        connect(newcomer).publish_signals(signals[2::-1], WEEK).wait()
        return forward()

    node.interference["eth_sendRawTransaction"] = times(1, overtaken)
    batch = connect(newcomer, to=node.url).publish_signals(signals, WEEK)
    assert batch.already_published == tuple(signals[:3])
    assert [entry.tag1 for entry in batch.wait()] == ["responseTime"]
    assert {len(connect().read_all_feedback(signal.agent_id)) for signal in signals} == {2}


def test_two_runs_that_send_the_same_transactions_send_them_once(connect, node, newcomer, signals):
    def overtaken(_, forward):
        connect(newcomer).publish_signals(signals, WEEK).wait()
        return forward()

    node.interference["eth_sendRawTransaction"] = times(1, overtaken)
    batch = connect(newcomer, to=node.url).publish_signals(signals, WEEK)
    batch.wait()
    assert {len(connect().read_all_feedback(signal.agent_id)) for signal in signals} == {2}


def test_a_race_that_is_always_lost_is_given_up(connect, node, newcomer, signals, web3):
    node.interference["eth_sendRawTransaction"] = overtaken_by(web3, newcomer)
    with pytest.raises(BatchInterruptedError, match="another program") as caught:
        connect(newcomer, to=node.url).publish_signals(signals, WEEK)
    assert (caught.value.hashes, caught.value.missing, caught.value.__cause__) == ((), 4, None)


@pytest.mark.sample(1)
@pytest.mark.parametrize("published", [0, 1])
def test_a_node_that_fails_after_a_lost_race_is_told_with_what_was_sent(
    connect, node, newcomer, signals, web3, published
):
    for handle in connect(newcomer).publish_signals(signals[:published], WEEK).handles:
        handle.wait()
    sent = []

    def lost(parameters, forward):
        if len(sent) == 2:
            node.interference["eth_feeHistory"] = lambda *_: 500
            return overtaken_by(web3, newcomer)(parameters, forward)
        sent.append(forward()["result"])
        return {"result": sent[-1]}

    node.interference["eth_sendRawTransaction"] = lost
    with pytest.raises(BatchInterruptedError) as caught:
        connect(newcomer, to=node.url).publish_signals(signals, WEEK)
    assert (caught.value.hashes, caught.value.missing) == (tuple(sent), 2 - published)


def put_behind(node, web3, method):
    """Another node behind the same name answers a method: it does not know the last block yet."""
    last = web3.eth.block_number

    def before(parameters, forward):
        *rest, block = parameters
        if block == "latest":
            return web3.provider.make_request(method, [*rest, hex(last - 1)])
        is_known = block == "pending" or int(block, 16) < last
        return forward() if is_known else refuses("header not found")(parameters, forward)

    node.interference[method] = before


@pytest.mark.parametrize("method", ["eth_call", "eth_getTransactionCount"])
def test_nothing_is_published_twice_where_one_of_two_nodes_is_behind(
    connect, node, newcomer, signals, web3, impatient, method
):
    connect(newcomer).publish_signals(signals, WEEK).wait()
    put_behind(node, web3, method)
    before = nonce_of(web3, newcomer)
    with pytest.raises(NodeError, match="header not found"):
        connect(newcomer, to=node.url).publish_signals(signals, WEEK)
    assert nonce_of(web3, newcomer) == before


@pytest.mark.parametrize("method", ["eth_call", "eth_getTransactionCount"])
def test_a_node_that_is_behind_is_waited_for(connect, node, newcomer, signals, web3, method):
    connect(newcomer).publish_signals(signals[:3], WEEK).wait()
    put_behind(node, web3, method)
    node.interference[method] = times(4, node.interference[method])
    batch = connect(newcomer, to=node.url).publish_signals(signals, WEEK)
    assert batch.already_published == tuple(signals[:3])
    assert [entry.tag1 for entry in batch.wait()] == ["responseTime"]


def test_a_node_that_shows_the_next_blocks_state_for_a_moment_is_asked_again(connect, node, newcomer, signals, web3):
    client = connect(newcomer)
    client.publish_signals(signals, WEEK).wait()
    before, last = nonce_of(web3, newcomer), web3.eth.block_number
    node.interference["eth_blockNumber"] = times(1, answers(hex(last - 1)))
    node.interference["eth_getTransactionCount"] = times(1, answers(hex(before)))
    assert connect(newcomer, to=node.url).publish_signals(signals, WEEK).handles == ()
    assert nonce_of(web3, newcomer) == before


def test_transactions_that_stay_on_their_way_are_not_waited_for_forever(connect, newcomer, signals, web3, monkeypatch):
    monkeypatch.setattr("bilateral.client.operations.signals._SETTLING_SECONDS", 0.1)
    client = connect(newcomer)
    web3.provider.make_request("anvil_setAutomine", [False])
    try:
        client.give_feedback(signals[0].agent_id, 1)
        with pytest.raises(BatchInterruptedError, match="still pending") as caught:
            client.publish_signals(signals, WEEK)
        assert (caught.value.hashes, caught.value.missing) == ((), 4)
    finally:
        web3.provider.make_request("anvil_mine", [])
        web3.provider.make_request("anvil_setAutomine", [True])


def test_a_revoked_signal_is_published_anew(connect, newcomer, signals):
    client = connect(newcomer)
    first, *_ = client.publish_signals(signals, WEEK).wait()
    client.revoke_feedback(first.id).wait()
    batch = client.publish_signals(signals, WEEK)
    assert len(batch.already_published) == 3
    assert [(entry.id.agent, entry.tag1) for entry in batch.wait()] == [(signals[0].agent_id, "reachable")]


def test_all_signals_are_checked_before_the_first_is_sent(connect, newcomer, signals, register, web3):
    own = register(newcomer)
    for bad, error in (
        (Signal(signals[0].agent_id, "responseTime", -1), UnrepresentableValueError),
        (Signal(signals[0].agent_id, "starred", 1), InvalidArgumentError),
        (Signal(str(signals[0].agent_id), "reachable", False, "https://a.example"), InvalidArgumentError),
        (Signal(own, "reachable", True), ContractRevertError),
        (Signal(2**200, "reachable", True), ContractRevertError),
    ):
        before = nonce_of(web3, newcomer)
        with pytest.raises(error):
            connect(newcomer).publish_signals([*signals, bad], WEEK)
        assert nonce_of(web3, newcomer) == before


def test_a_period_is_named(connect, newcomer, signals):
    with pytest.raises(InvalidArgumentError, match="pass the period"):
        connect(newcomer).publish_signals(signals, "")
    assert week_of(datetime(2026, 11, 21, tzinfo=UTC)) == WEEK
    assert week_of(datetime(2027, 1, 1, tzinfo=UTC)) == "2026-W53"


def test_signals_need_a_signer(connect, signals):
    with pytest.raises(MissingSignerError):
        connect().publish_signals(signals, WEEK)


def test_signals_are_only_tried_by_a_client_that_only_tries(connect, newcomer, signals, web3):
    before = nonce_of(web3, newcomer)
    batch = connect(newcomer, dry_run=True).publish_signals(signals, WEEK)
    assert [handle.hash for handle in batch.handles] == [None] * 4
    assert [handle.transaction["nonce"] for handle in batch.handles] == [before, before + 1, before + 2, before + 3]
    assert nonce_of(web3, newcomer) == before


def test_a_signals_value_fits_its_tag_in_the_registrys_form_too(connect, newcomer, signals):
    agent = signals[0].agent_id
    for tag, value in (("reachable", FeedbackValue(2)), ("uptime", FeedbackValue(1001, 1))):
        with pytest.raises(UnrepresentableValueError, match=tag):
            connect(newcomer).publish_signals([Signal(agent, tag, value)], WEEK)
    (entry,) = connect(newcomer).publish_signals([Signal(agent, "reachable", FeedbackValue(1))], WEEK).wait()
    assert entry.value == 1
