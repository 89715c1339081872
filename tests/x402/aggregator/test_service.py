"""An aggregator takes valid feedback once a payment, whatever its sentiment, and brings it on chain."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from eth_utils import keccak

from bilateral.documents import FeedbackFile
from bilateral.x402.aggregator.records import tally_feedback
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError
from bilateral.x402.aggregator.service import Aggregator
from bilateral.x402.aggregator.tables import State
from tests.sdk.servers import HttpServer, respond
from tests.waiting import until
from tests.x402.aggregator.world import log_of


def refused(aggregator, content):
    with pytest.raises(FeedbackRefusedError) as refusal:
        aggregator.submit(content)
    return refusal.value


def test_feedback_goes_on_chain_at_the_sponsors_cost(web3, any_engine, settings_with, review, values_of, sponsor):
    counts = Counter()
    observe = lambda name, amount: counts.update({name: amount})  # noqa: E731
    with Aggregator(any_engine, settings_with(), observe=observe) as aggregator:
        asked = review(value=7)
        before = web3.eth.get_balance(sponsor.address), web3.eth.get_balance(asked.reviewer.address)
        taken, is_new = aggregator.submit(asked.content)
        assert is_new
        taken = until(lambda: aggregator.read(taken.id), lambda sponsored: not sponsored.is_waiting)
        done = until(lambda: aggregator.read(taken.id), lambda sponsored: sponsored.state is State.CONFIRMED)
    assert values_of(asked.reviewer) == [7]
    assert done.transaction == taken.transaction
    receipt = web3.eth.get_transaction_receipt(done.transaction)
    assert (receipt["from"], receipt["blockNumber"], receipt["gasUsed"]) == (
        sponsor.address,
        done.block_number,
        done.gas_used,
    )
    assert before[0] - web3.eth.get_balance(sponsor.address) == done.cost
    assert before[1] == web3.eth.get_balance(asked.reviewer.address)
    assert (done.proof, done.file) == ("unbound", "unchecked")
    assert counts["gas_wei"] == done.cost
    assert aggregator.spent_today(aggregator.settings.chains[0]) == done.cost


def test_all_sentiments_are_taken(engine, aggregator, review, values_of):
    asked = [review(value=value) for value in (0, 1, 50, 99, 100)]
    taken = [aggregator.submit(review.content)[0] for review in asked]
    for sponsored in taken:
        until(lambda number=sponsored.id: aggregator.read(number), lambda read: read.state is State.CONFIRMED)
    assert [values_of(review.reviewer) for review in asked] == [[0], [1], [50], [99], [100]]
    assert sorted(entry.value for entry in log_of(engine)) == [0, 1, 50, 99, 100]
    with engine.connect() as connection:
        tally = {tally.band: tally.accepted for tally in tally_feedback(connection) if tally.accepted}
    assert tally == {0: {"confirmed": 2}, 5: {"confirmed": 1}, 9: {"confirmed": 2}}


def test_same_message_again_gets_the_same_transaction(aggregator, review, values_of):
    asked = review()
    first, is_new = aggregator.submit(asked.content)
    first = until(lambda: aggregator.read(first.id), lambda sponsored: not sponsored.is_waiting)
    again, is_new_again = aggregator.submit(asked.content)
    assert (is_new, is_new_again) == (True, False)
    assert (again.id, again.transaction) == (first.id, first.transaction)
    until(lambda: aggregator.read(first.id), lambda sponsored: sponsored.state is State.CONFIRMED)
    assert aggregator.submit(asked.bound().content)[0].id == first.id
    assert values_of(asked.reviewer) == [95]


def test_twenty_at_once_give_one_transaction(web3, any_engine, settings_with, review, values_of, sponsor):
    asked = review()
    with Aggregator(any_engine, settings_with()) as aggregator:
        with ThreadPoolExecutor(20) as pool:
            submitted = list(pool.map(aggregator.submit, [asked.content] * 20))
        assert len({taken.id for taken, _ in submitted}) == 1
        assert [is_new for _, is_new in submitted].count(True) == 1
        until(lambda: aggregator.read(submitted[0][0].id), lambda sponsored: sponsored.state is State.CONFIRMED)
    assert web3.eth.get_transaction_count(sponsor.address) == 1
    assert values_of(asked.reviewer) == [95]


def test_message_that_went_on_chain_while_it_was_checked_again_is_known(any_engine, settings_with, review, values_of):
    asked = review()
    content = FeedbackFile.of(asked.file()).to_bytes()
    taken = []

    def answer(handler):  # the check of the second request loads the file; the first request goes on chain meanwhile
        if not taken:
            taken.append(None)
            taken[0] = worker.submit(asked.content)[0]
            until(lambda: worker.read(taken[0].id), lambda sponsored: sponsored.state is State.CONFIRMED)
        respond(handler, content)

    with HttpServer() as host, Aggregator(any_engine, settings_with()) as worker:
        host.routes["/feedback.json"] = answer
        asked = asked.but(uri=f"{host.url}/feedback.json", hash=keccak(content))
        second = Aggregator(any_engine, settings_with())
        again, is_new = second.submit(asked.content)
        second.close()
    assert (again.id, is_new) == (taken[0].id, False)
    assert values_of(asked.reviewer) == [95]


def test_another_feedback_for_the_payment_is_refused(aggregator, review, values_of):
    asked = review()
    taken, _ = aggregator.submit(asked.content)
    until(lambda: aggregator.read(taken.id), lambda sponsored: sponsored.state is State.CONFIRMED)
    refusal = refused(aggregator, asked.but(value=1, index=2).content)
    assert (refusal.code, refusal.status) == (Code.DUPLICATE_TASK_REF, 409)
    at_once = refused(aggregator, asked.but(value=2).content)  # signed before the first one took its index
    assert (at_once.code, at_once.status) == (Code.DUPLICATE_TASK_REF, 409)
    assert values_of(asked.reviewer) == [95]


def test_each_payment_allows_a_feedback(aggregator, review, values_of):
    first = review()
    taken, _ = aggregator.submit(first.content)
    until(lambda: aggregator.read(taken.id), lambda sponsored: sponsored.state is State.CONFIRMED)
    second = review(first.reviewer, value=20)
    taken, _ = aggregator.submit(second.content)
    until(lambda: aggregator.read(taken.id), lambda sponsored: sponsored.state is State.CONFIRMED)
    assert values_of(first.reviewer) == [95, 20]


def test_second_feedback_waits_for_the_first(idle, review):
    first = review()
    idle.submit(first.content)
    refusal = refused(idle, review(first.reviewer).content)
    assert (refusal.code, refusal.status, refusal.retry_seconds) == (Code.PENDING_FEEDBACK, 409, 5)


def test_bodies_bind_the_proof(aggregator, review):
    assert aggregator.submit(review().bound().content)[0].proof == "bound"


def test_feedback_file_is_checked(aggregator, review):
    assert aggregator.submit(review().with_file().content)[0].file == "checked"


def test_feedback_file_that_cannot_be_loaded_is_left_unchecked(aggregator, review):
    asked = review(uri="https://127.0.0.1:9/feedback.json", hash=bytes(31) + b"\1")
    assert aggregator.submit(asked.content)[0].file == "unchecked"
