"""Records that the attestor vouches for: payments, feedback of sellers, reviews and disputes."""

from __future__ import annotations

import ape
import pytest
from eth_utils import keccak

from tests.buyers.conftest import BASE_CHAIN, attested_record, payment_word, settled_record, tx_hash
from tests.helpers import forked_to, logged

ATTESTOR = 0
MAX_AMOUNT = 2**56 - 1
WHOLE = 255
RECORD_SEED = keccak(text="BuyerAttestation.attested")[20:]
"""The lower part of the slot of each attested record. The upper part is the buyer's address."""

PAID_AT = 1_700_000_000
ONE = tx_hash("one")


def payments_of(registry, buyer):
    return attested_record(registry, buyer)[:4]


def votes_of(registry, buyer):
    record = attested_record(registry, buyer)
    return (record.feedback_sellers, record.feedback_sum)


def reviews_of(registry, buyer):
    record = attested_record(registry, buyer)
    return (record.reviews, record.review_sum, record.disputes)


def test_payment_is_recorded_at_the_time_of_the_block(registry, attestor, client):
    receipt = registry.recordPayment(client, 50_000, ONE, sender=attestor)
    time = receipt.timestamp
    assert payments_of(registry, client) == (1, 50_000, time, time)
    assert logged(receipt) == [("PaymentAttested", {"payment": payment_word(client, 50_000, time, WHOLE)})]


def test_payment_is_recorded_on_the_chain_of_the_registry(registry, attestor, client, chain):
    """After a split of the chain, the same hash names another transaction."""
    own_id = chain.chain_id
    registry.recordPayment(client, 50_000, ONE, sender=attestor)
    with ape.reverts(registry.PaymentAlreadyRecorded, chainId=own_id, txHash=ONE, position=WHOLE):
        registry.recordPayment.call(client, 50_000, ONE, sender=attestor)
    with forked_to(chain, own_id + 1):
        registry.recordPayment.call(client, 50_000, ONE, sender=attestor)


def test_attested_payment_leaves_the_settled_record_alone(registry, attestor, client):
    registry.recordPayment(client, 50_000, ONE, sender=attestor)
    assert settled_record(registry, client).payments == 0


def test_highest_amount_is_recorded_and_a_higher_one_refused(registry, attestor, client):
    registry.recordPayment(client, MAX_AMOUNT, ONE, sender=attestor)
    assert payments_of(registry, client)[1] == MAX_AMOUNT
    with ape.reverts(registry.PaymentTooHigh, amount=MAX_AMOUNT + 1, limit=MAX_AMOUNT):
        registry.recordPayment(client, MAX_AMOUNT + 1, tx_hash("two"), sender=attestor)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("recordPayment", ["client", 1, ONE]),
        ("recordFeedback", ["client", "owner", 1]),
        ("recordManyPayments", [BASE_CHAIN, []]),
        ("recordFeedbacks", [[]]),
        ("recordReviews", [[]]),
    ],
    ids=["recordPayment", "recordFeedback", "recordManyPayments", "recordFeedbacks", "recordReviews"],
)
def test_nobody_but_the_attestor_records(registry, client, owner, anchorer, method, arguments):
    users = {"client": client, "owner": owner}
    arguments = [users.get(argument, argument) if isinstance(argument, str) else argument for argument in arguments]
    for caller in (client, anchorer):
        with ape.reverts(registry.NotRoleHolder, role=ATTESTOR, caller=caller.address):
            getattr(registry, method)(*arguments, sender=caller)


def test_transaction_counts_once(registry, attestor, client, other_client, chain):
    registry.recordPayment(client, 1, ONE, sender=attestor)
    refusal = {"chainId": chain.chain_id, "txHash": ONE, "position": WHOLE}
    with ape.reverts(registry.PaymentAlreadyRecorded, **refusal):
        registry.recordPayment(other_client, 1, ONE, sender=attestor)
    assert payments_of(registry, other_client)[0] == 0


def test_same_transaction_hash_on_another_chain_is_another_payment(registry, attestor, client):
    registry.recordPayment(client, 1, ONE, sender=attestor)
    registry.recordManyPayments(BASE_CHAIN, [(ONE, payment_word(client, 1, PAID_AT, WHOLE))], sender=attestor)
    assert payments_of(registry, client)[0] == 2


@pytest.mark.parametrize("bit", [8, 31, 32, 63, 64, 127, 128, 160, 255])
@pytest.mark.parametrize("part", ["chain", "hash"])
def test_every_bit_of_a_chains_id_and_of_a_hash_tells_payments_apart(registry, attestor, client, part, bit):
    word = payment_word(client, 1, PAID_AT, 3)
    other_hash = (int.from_bytes(ONE) ^ 1 << bit).to_bytes(32)
    other = (BASE_CHAIN ^ 1 << bit, ONE) if part == "chain" else (BASE_CHAIN, other_hash)
    registry.recordManyPayments(other[0], [(other[1], word)], sender=attestor)
    assert registry.hasPayment(other[1], 3, other[0])
    assert not registry.hasPayment(ONE, 3, BASE_CHAIN)
    registry.recordManyPayments(BASE_CHAIN, [(ONE, word)], sender=attestor)
    assert payments_of(registry, client)[0] == 2
    for chain_id, hashed in (other, (BASE_CHAIN, ONE)):
        with ape.reverts(registry.PaymentAlreadyRecorded, chainId=chain_id, txHash=hashed, position=3):
            registry.recordManyPayments(chain_id, [(hashed, word)], sender=attestor)


def test_payments_of_one_transaction_count_once_each(registry, attestor, client, other_client):
    batch = [(ONE, payment_word(client, 10, PAID_AT, 0)), (ONE, payment_word(other_client, 20, PAID_AT, 254))]
    registry.recordManyPayments(BASE_CHAIN, batch, sender=attestor)
    assert payments_of(registry, client) == (1, 10, PAID_AT, PAID_AT)
    assert payments_of(registry, other_client) == (1, 20, PAID_AT, PAID_AT)
    for position in (0, 254):
        with ape.reverts(registry.PaymentAlreadyRecorded, chainId=BASE_CHAIN, txHash=ONE, position=position):
            registry.recordManyPayments(
                BASE_CHAIN, [(ONE, payment_word(client, 10, PAID_AT, position))], sender=attestor
            )
    registry.recordManyPayments(BASE_CHAIN, [(ONE, payment_word(client, 10, PAID_AT, 1))], sender=attestor)


def test_whole_transaction_excludes_its_payments_and_they_exclude_it(registry, attestor, client):
    other = tx_hash("two")
    registry.recordManyPayments(BASE_CHAIN, [(ONE, payment_word(client, 1, PAID_AT, WHOLE))], sender=attestor)
    registry.recordManyPayments(BASE_CHAIN, [(other, payment_word(client, 1, PAID_AT, 7))], sender=attestor)
    for hashed, position in ((ONE, 0), (ONE, 254), (other, WHOLE)):
        with ape.reverts(registry.PaymentAlreadyRecorded, chainId=BASE_CHAIN, txHash=hashed, position=position):
            registry.recordManyPayments(
                BASE_CHAIN, [(hashed, payment_word(client, 1, PAID_AT, position))], sender=attestor
            )


def test_recorded_payments_are_found(registry, attestor, client):
    assert not registry.hasPayment(ONE, WHOLE, BASE_CHAIN)
    registry.recordManyPayments(BASE_CHAIN, [(ONE, payment_word(client, 1, PAID_AT, 3))], sender=attestor)
    assert [registry.hasPayment(ONE, position, BASE_CHAIN) for position in (2, 3, 4, WHOLE)] == [
        False, True, False, True,
    ]  # fmt: skip
    assert not registry.hasPayment(ONE, 3, 1)


def test_batch_records_every_payment_with_its_event(registry, attestor, client, other_client):
    words = [
        payment_word(client, 10, PAID_AT + 5, 0),
        payment_word(client, 20, PAID_AT, 0),
        payment_word(other_client, 30, PAID_AT + 9, 0),
        payment_word(client, 40, PAID_AT + 7, 0),
    ]
    batch = [(tx_hash(number), word) for number, word in enumerate(words)]
    receipt = registry.recordManyPayments(BASE_CHAIN, batch, sender=attestor)
    assert payments_of(registry, client) == (3, 70, PAID_AT, PAID_AT + 7)
    assert payments_of(registry, other_client) == (1, 30, PAID_AT + 9, PAID_AT + 9)
    assert logged(receipt) == [("PaymentAttested", {"payment": word}) for word in words]


def test_empty_batch_changes_nothing(registry, attestor):
    assert logged(registry.recordManyPayments(BASE_CHAIN, [], sender=attestor)) == []


def test_batch_with_a_refused_payment_records_none(registry, attestor, client):
    batch = [(tx_hash(number), payment_word(client, 1, PAID_AT, 0)) for number in (1, 2, 1)]
    with ape.reverts(registry.PaymentAlreadyRecorded, chainId=BASE_CHAIN, txHash=tx_hash(1), position=0):
        registry.recordManyPayments(BASE_CHAIN, batch, sender=attestor)
    assert payments_of(registry, client)[0] == 0


@pytest.mark.parametrize("late", [0, 1])
def test_payment_of_the_future_is_refused(registry, attestor, client, chain, late):
    time = chain.pending_timestamp + 100
    chain.pending_timestamp = time
    batch = [(ONE, payment_word(client, 1, time + late, 0))]
    if late:
        with ape.reverts(registry.PaymentTimeOutOfRange, paidAt=time + 1, time=time):
            registry.recordManyPayments(BASE_CHAIN, batch, sender=attestor)
    else:
        registry.recordManyPayments(BASE_CHAIN, batch, sender=attestor)
        assert payments_of(registry, client)[2] == time


def test_payment_without_a_time_is_refused(registry, attestor, client, chain):
    time = chain.pending_timestamp + 100
    chain.pending_timestamp = time
    with ape.reverts(registry.PaymentTimeOutOfRange, paidAt=0, time=time):
        registry.recordManyPayments(BASE_CHAIN, [(ONE, payment_word(client, 1, 0, 0))], sender=attestor)


def test_attested_volume_stays_at_its_highest_value(registry, attestor, client):
    batch = [(tx_hash(number), payment_word(client, MAX_AMOUNT, PAID_AT, 0)) for number in range(257)]
    registry.recordManyPayments(BASE_CHAIN, batch, sender=attestor)
    assert payments_of(registry, client)[:2] == (257, 2**64 - 1)


def test_feedback_is_one_vote_a_seller(registry, attestor, client, owner, other_owner):
    receipt = registry.recordFeedback(client, owner, 90, sender=attestor)
    assert logged(receipt) == [("FeedbackAttested", {"buyer": client.address, "seller": owner.address, "score": 90})]
    registry.recordFeedback(client, other_owner, 0, sender=attestor)
    assert votes_of(registry, client) == (2, 90)
    registry.recordFeedback(client, owner, 40, sender=attestor)
    assert votes_of(registry, client) == (2, 40)
    assert tuple(registry.getBuyerFeedback(client, owner)) == (True, 40)
    assert tuple(registry.getBuyerFeedback(client, other_owner)) == (True, 0)
    assert tuple(registry.getBuyerFeedback(other_owner, client)) == (False, 0)


@pytest.mark.parametrize("score", [-128, -1, 101, 127])
def test_vote_out_of_range_is_refused(registry, attestor, client, owner, score):
    with ape.reverts(registry.ScoreOutOfRange, score=score, limit=100):
        registry.recordFeedback(client, owner, score, sender=attestor)


@pytest.mark.parametrize("score", [0, 100])
def test_vote_at_a_limit_is_recorded(registry, attestor, client, owner, score):
    registry.recordFeedback(client, owner, score, sender=attestor)
    assert votes_of(registry, client) == (1, score)


def test_feedback_on_oneself_is_refused(registry, attestor, client):
    with ape.reverts(registry.FeedbackOnSelf, account=client.address):
        registry.recordFeedback(client, client, 50, sender=attestor)


def test_batch_of_feedback_is_all_or_nothing(registry, attestor, client, owner, other_owner):
    receipt = registry.recordFeedbacks([(client, 80, owner), (client, 60, other_owner)], sender=attestor)
    assert logged(receipt) == [
        ("FeedbackAttested", {"buyer": client.address, "seller": owner.address, "score": 80}),
        ("FeedbackAttested", {"buyer": client.address, "seller": other_owner.address, "score": 60}),
    ]
    assert votes_of(registry, client) == (2, 140)
    with ape.reverts(registry.ScoreOutOfRange, score=101, limit=100):
        registry.recordFeedbacks([(client, 10, owner), (client, 101, other_owner)], sender=attestor)
    assert votes_of(registry, client) == (2, 140)


def test_record_is_full_after_65535_sellers(registry, chain, attestor, client, owner):
    """The record's word is written directly: as many votes cost four billion gas."""
    full = 65_535 << 200
    _store(chain, registry, client, full)
    with ape.reverts(registry.RecordIsFull, buyer=client.address, limit=65_535):
        registry.recordFeedback(client, owner, 100, sender=attestor)
    _store(chain, registry, client, full - (1 << 200))
    registry.recordFeedback(client, owner, 100, sender=attestor)
    assert votes_of(registry, client) == (65_535, 100)


def _store(chain, registry, buyer, word):
    """Write an attested record of a buyer."""
    slot = bytes.fromhex(buyer.address[2:]) + RECORD_SEED
    parameters = [registry.address, f"0x{slot.hex()}", f"0x{word.to_bytes(32).hex()}"]
    chain.provider.make_request("anvil_setStorageAt", parameters)


def test_payments_stay_at_their_highest_number(registry, chain, attestor, client):
    _store(chain, registry, client, 2**32 - 2)
    for number, expected in enumerate((2**32 - 1, 2**32 - 1)):
        registry.recordPayment(client, 1, tx_hash(number), sender=attestor)
        assert payments_of(registry, client)[:2] == (expected, number + 1)


def test_reviews_and_disputes_are_set_as_often_as_needed(registry, attestor, client, other_client, attest):
    attest(client)
    registry.recordFeedback(client, other_client, 33, sender=attestor)
    receipt = registry.recordReviews(
        [(client, 32, 2_320, 1), (other_client, 65_535, 6_553_500, 65_535)], sender=attestor
    )
    assert logged(receipt) == [
        ("ReviewsAttested", {"buyer": client.address, "reviews": 32, "reviewSum": 2_320, "disputes": 1}),
        (
            "ReviewsAttested",
            {"buyer": other_client.address, "reviews": 65_535, "reviewSum": 6_553_500, "disputes": 65_535},
        ),
    ]
    assert reviews_of(registry, client) == (32, 2_320, 1)
    assert reviews_of(registry, other_client) == (65_535, 6_553_500, 65_535)
    registry.recordReviews([(client, 1, 0, 0)], sender=attestor)
    assert reviews_of(registry, client) == (1, 0, 0)
    assert payments_of(registry, client)[:2] == (1, 1_000_000)
    assert votes_of(registry, client) == (1, 33)


def test_sum_of_reviews_is_at_most_100_each(registry, attestor, client):
    registry.recordReviews([(client, 3, 300, 0)], sender=attestor)
    with ape.reverts(registry.ReviewSumTooHigh, reviews=3, reviewSum=301):
        registry.recordReviews([(client, 3, 301, 0)], sender=attestor)


def test_records_have_slots_of_their_own(registry, chain, attestor, client):
    registry.recordPayment(client, 50_000, ONE, sender=attestor)
    slots = {
        "record": bytes.fromhex(client.address[2:]) + RECORD_SEED,
        "transaction": keccak((chain.chain_id ^ int.from_bytes(ONE)).to_bytes(32)),
    }
    stored = {
        name: int(chain.provider.make_request("eth_getStorageAt", [registry.address, f"0x{slot.hex()}", "latest"]), 16)
        for name, slot in slots.items()
    }
    assert (stored["record"] & 0xFFFFFFFF, stored["record"] >> 32 & 0xFFFFFFFFFFFFFFFF) == (1, 50_000)
    assert stored["transaction"] == 2**256 - 1
