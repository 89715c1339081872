"""The worker keeps to its budget, and brings feedback on chain through reorganisations, rivals and low fees."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from sqlalchemy import select

from bilateral.client import Client
from bilateral.core.contracts import Registry
from bilateral.core.contracts.codec import encode_call
from bilateral.x402.aggregator.queue import LeaseLostError
from bilateral.x402.aggregator.records import SECONDS_A_DAY, cost_of
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError
from bilateral.x402.aggregator.service import Aggregator
from bilateral.x402.aggregator.submitter import Submitter
from bilateral.x402.aggregator.tables import State, sponsor_day, sponsored_feedback, sponsored_transaction
from tests.sdk.client.helpers import send
from tests.waiting import until
from tests.x402.aggregator.world import log_of


class Clock:
    """A clock that a test sets."""

    def __init__(self, now=1_800_000_000.0):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def worker(engine, settings_with, clock):
    """Make a worker that a test steps, with the aggregator that feeds it."""
    made = []

    def make(engine=engine, **changes):
        settings = settings_with(**changes)
        aggregator = Aggregator(engine, settings, clock=clock)
        (chain,) = settings.chains
        client = Client(chain.rpc_url, signer=chain.signer, deployment=chain.deployment, max_cost=chain.max_cost)
        made.extend((aggregator, client))
        return aggregator, Submitter(engine, chain, settings, client, clock=clock)

    yield make
    for sponsored in made:
        sponsored.close()


@pytest.fixture
def waiting_blocks(web3):
    """Keep transactions out of blocks until the test mines one."""

    @contextmanager
    def hold():
        web3.provider.make_request("evm_setAutomine", [False])
        try:
            yield lambda: web3.provider.make_request("anvil_mine", ["0x1"])
        finally:
            web3.provider.make_request("anvil_dropAllTransactions", [])
            web3.provider.make_request("evm_setAutomine", [True])

    return hold


def step_and_wait(web3, submitter):
    """Take a step, and wait until what it sent is in a block: the node mines a moment after its answer."""
    submitter.step()
    until(lambda: int(web3.provider.make_request("txpool_status", [])["result"]["pending"], 16), lambda left: not left)


def state_of(aggregator, taken):
    return aggregator.read(taken.id).state


def cost_of_day(engine, clock):
    day = int(clock()) // SECONDS_A_DAY
    with engine.connect() as connection:
        return connection.execute(select(sponsor_day.c.cost).where(sponsor_day.c.day == day)).scalar_one()


def price(aggregator, asked):
    """Return the largest cost of a feedback. It holds until the next block."""
    (chain,) = aggregator._chains.values()
    return chain.client.runner.run(aggregator._check(chain.client, chain.settings, asked.message))[1]


def test_budget_is_kept_to_the_last_wei(any_engine, worker, review, clock):
    first, second, third = review(), review(), review()
    aggregator, _ = worker(any_engine)
    costs = [price(aggregator, asked) for asked in (first, second, third)]
    for asked, budget in ((first, costs[0] - 1), (first, 0)):
        short, _ = worker(any_engine, budget=budget)
        with pytest.raises(FeedbackRefusedError) as refusal:
            short.submit(asked.content)
        assert (refusal.value.code, refusal.value.status) == (Code.BUDGET_EXHAUSTED, 503)
        assert 0 < refusal.value.retry_seconds <= SECONDS_A_DAY
    enough, _ = worker(any_engine, budget=costs[0])
    assert enough.submit(first.content)[1]
    with pytest.raises(FeedbackRefusedError):
        worker(any_engine, budget=sum(costs[:2]) - 1)[0].submit(second.content)
    assert worker(any_engine, budget=sum(costs[:2]))[0].submit(second.content)[1]
    assert cost_of_day(any_engine, clock) == sum(costs[:2])
    clock.now += SECONDS_A_DAY
    assert worker(any_engine, budget=costs[2])[0].submit(third.content)[1]


def test_real_cost_frees_the_rest_of_the_budget(web3, engine, worker, review, clock):
    aggregator, submitter = worker()
    taken, _ = aggregator.submit(review().content)
    step_and_wait(web3, submitter)
    submitter.step()
    done = aggregator.read(taken.id)
    assert (done.state, cost_of_day(engine, clock)) == (State.CONFIRMED, done.cost)
    assert 0 < done.cost < taken.cost


def test_budget_that_falls_below_the_fees_delays_and_loses_nothing(web3, engine, worker, review, clock):
    aggregator, _ = worker()
    taken, _ = aggregator.submit(review().content)
    _, poor = worker(budget=taken.cost - 1)
    poor.step()
    assert (state_of(aggregator, taken), aggregator.read(taken.id).problem) == (
        State.QUEUED,
        "today's budget is spent",
    )
    clock.now += SECONDS_A_DAY
    poor.queue.release_lease()
    _, rich = worker()
    step_and_wait(web3, rich)
    rich.step()
    assert state_of(aggregator, taken) is State.CONFIRMED


def test_reorganised_feedback_comes_back(web3, worker, review, values_of, clock):
    aggregator, submitter = worker(confirmations=3)
    asked = review()
    web3.provider.make_request("anvil_mine", ["0x3"])
    taken, _ = aggregator.submit(asked.content)
    step_and_wait(web3, submitter)
    submitter.step()
    included = aggregator.read(taken.id)
    assert (included.state, values_of(asked.reviewer)) == (State.INCLUDED, [95])
    web3.provider.make_request("anvil_rollback", [1])
    assert values_of(asked.reviewer) == []
    submitter.step()
    assert state_of(aggregator, taken) is State.SENT
    step_and_wait(web3, submitter)
    submitter.step()
    assert state_of(aggregator, taken) is State.INCLUDED
    web3.provider.make_request("anvil_mine", ["0x3"])
    submitter.step()
    done = aggregator.read(taken.id)
    assert (done.state, done.transaction, values_of(asked.reviewer)) == (State.CONFIRMED, included.transaction, [95])


def test_low_fees_are_raised_and_one_of_both_is_mined(web3, engine, worker, review, values_of, clock, waiting_blocks):
    aggregator, submitter = worker(replace_seconds=60.0)
    asked = review()
    taken, _ = aggregator.submit(asked.content)
    with waiting_blocks() as mine:
        submitter.step()
        first = aggregator.read(taken.id).transaction
        clock.now += 61
        submitter.step()
        second = aggregator.read(taken.id).transaction
        assert first != second
        mine()
        submitter.step()
    with engine.connect() as connection:
        nonces = connection.execute(select(sponsored_transaction.c.nonce)).scalars().all()
    assert nonces == [0, 0]
    done = aggregator.read(taken.id)
    assert (done.state, done.transaction, values_of(asked.reviewer)) == (State.CONFIRMED, second, [95])


def test_nonce_that_another_program_used_is_replaced(web3, worker, review, values_of, clock, sponsor, waiting_blocks):
    aggregator, submitter = worker()
    asked = review()
    taken, _ = aggregator.submit(asked.content)
    with waiting_blocks():
        submitter.step()
        assert aggregator.read(taken.id).transaction is not None
    send(web3, sponsor, sponsor.address, "0x")
    for _ in range(6):
        clock.now += 20
        submitter.step()
    done = aggregator.read(taken.id)
    assert (done.state, values_of(asked.reviewer)) == (State.CONFIRMED, [95])
    assert web3.eth.get_transaction_count(sponsor.address) == 2


def test_feedback_whose_index_was_used_meanwhile_fails_and_can_be_sent_again(
    web3, rpc, deployment, worker, review, values_of, clock
):
    aggregator, submitter = worker()
    asked = review()
    taken, _ = aggregator.submit(asked.content)
    with Client(rpc, signer=asked.reviewer, deployment=deployment, poll_interval=0.02) as client:
        client.give_feedback(int(asked.agent.agent), 50, "starred").wait()
    submitter.step()
    failed = aggregator.read(taken.id)
    assert (failed.state, failed.cost) == (State.FAILED, 0)
    assert "UnexpectedFeedbackIndex" in failed.problem
    again, is_new = aggregator.submit(asked.but(index=2).content)
    assert is_new
    step_and_wait(web3, submitter)
    submitter.step()
    assert (state_of(aggregator, again), values_of(asked.reviewer)) == (State.CONFIRMED, [50, 95])


def test_refused_feedback_with_a_nonce_uses_it_up_by_an_empty_transaction(
    web3, rpc, deployment, worker, review, clock, sponsor, waiting_blocks
):
    aggregator, submitter = worker()
    asked = review()
    taken, _ = aggregator.submit(asked.content)
    with waiting_blocks():
        submitter.step()
    with Client(rpc, signer=asked.reviewer, deployment=deployment, poll_interval=0.02) as client:
        client.give_feedback(int(asked.agent.agent), 50, "starred").wait()
    clock.now += 61
    step_and_wait(web3, submitter)
    submitter.step()
    failed = aggregator.read(taken.id)
    assert (failed.state, failed.gas_used) == (State.FAILED, 21_000)
    assert "UnexpectedFeedbackIndex" in failed.problem
    assert web3.eth.get_transaction_count(sponsor.address) == 1


def test_transaction_that_reverts_in_its_block_fails_with_the_reason(web3, deployment, worker, review, waiting_blocks):
    aggregator, submitter = worker()
    asked = review()
    taken, _ = aggregator.submit(asked.content)
    with waiting_blocks() as mine:
        submitter.step()
        rival(web3, asked, deployment)
        mine()
    submitter.step()
    failed = aggregator.read(taken.id)
    assert failed.state is State.FAILED
    assert "UnexpectedFeedbackIndex" in failed.problem
    assert failed.gas_used > 21_000


def rival(web3, asked, deployment):
    """Give feedback directly, with a tip that brings it to the front of the block."""
    arguments = (int(asked.agent.agent), 50, 0, "starred", "", "", "", bytes(32))
    transaction = {
        "chainId": deployment.chain_id,
        "to": deployment.reputation,
        "data": "0x" + encode_call(Registry.REPUTATION, "giveFeedback", arguments).hex(),
        "gas": 500_000,
        "maxFeePerGas": 10**12,
        "maxPriorityFeePerGas": 10**11,
        "nonce": web3.eth.get_transaction_count(asked.reviewer.address),
    }
    web3.eth.send_raw_transaction(asked.reviewer.sign_transaction(transaction).raw_transaction)


def test_one_worker_has_the_lease_and_the_next_takes_it_over(web3, any_engine, worker, review, clock, values_of):
    aggregator, first = worker(any_engine)
    _, second = worker(any_engine)
    asked = review()
    assert first.queue.take_lease()
    taken, _ = aggregator.submit(asked.content)
    second.step()
    assert state_of(aggregator, taken) is State.QUEUED
    clock.now += 14.9
    second.step()
    assert state_of(aggregator, taken) is State.QUEUED
    clock.now += 0.2
    step_and_wait(web3, second)
    assert aggregator.read(taken.id).transaction is not None
    assert first.step()
    second.step()
    assert (state_of(aggregator, taken), values_of(asked.reviewer)) == (State.CONFIRMED, [95])


def test_worker_that_lost_its_lease_changes_nothing(engine, worker, review, clock):
    aggregator, first = worker()
    _, second = worker()
    taken, _ = aggregator.submit(review().content)
    assert first.queue.take_lease()
    (row,) = first.queue.due()
    clock.now += 60
    assert second.queue.take_lease()
    for change in (
        lambda: first.queue.assign_nonce(row, 0, 1),
        lambda: first.queue.postpone(row, 1, "late"),
        lambda: first.queue.finish(row, State.FAILED, cost=0),
    ):
        with pytest.raises(LeaseLostError):
            change()
    assert (state_of(aggregator, taken), aggregator.read(taken.id).problem) == (State.QUEUED, None)


def test_node_that_fails_loses_nothing(engine, worker, review, settings_with):
    aggregator, _ = worker()
    taken, _ = aggregator.submit(review().content)
    _, cut = worker(rpc_url="http://127.0.0.1:9")
    cut.step()
    waiting = aggregator.read(taken.id)
    assert (waiting.state, waiting.problem) == (State.QUEUED, "node_unreachable: it will be retried")
    cut.queue.release_lease()


def test_at_most_sixteen_transactions_wait_for_a_block(engine, web3, worker, review, sponsor, waiting_blocks):
    aggregator, submitter = worker()
    asked = [review() for _ in range(18)]
    for asked_one in asked:
        aggregator.submit(asked_one.content)
    with waiting_blocks() as mine:
        for _ in range(2):
            submitter.step()
        assert web3.eth.get_transaction_count(sponsor.address, "pending") == 16
        mine()
        for _ in range(2):
            submitter.step()
        mine()
        submitter.step()
    assert {sponsored.state for sponsored in log_of(engine)} == {State.CONFIRMED}


def test_twelve_reviewers_share_the_nonces_of_one_sponsor(web3, any_engine, settings_with, review, values_of, sponsor):
    asked = [review(value=value) for value in range(12)]
    with Aggregator(any_engine, settings_with()) as aggregator:
        for asked_one in asked:
            aggregator.submit(asked_one.content)
        done = until(
            lambda: log_of(any_engine), lambda all_: all(sponsored.state is State.CONFIRMED for sponsored in all_)
        )
    assert [values_of(review.reviewer) for review in asked] == [[value] for value in range(12)]
    assert web3.eth.get_transaction_count(sponsor.address) == len(done) == 12
    with any_engine.connect() as connection:
        nonces = connection.execute(select(sponsored_feedback.c.nonce)).scalars().all()
    assert sorted(nonces) == list(range(12))


@pytest.mark.parametrize(("of_first_layer", "cost"), [({}, 32), ({"l1Fee": None}, 32), ({"l1Fee": "0x5"}, 37)])
def test_cost_includes_the_fee_of_the_first_layer_where_the_node_reports_one(of_first_layer, cost):
    assert cost_of({"gasUsed": "0x10", "effectiveGasPrice": "0x2", **of_first_layer}) == cost
