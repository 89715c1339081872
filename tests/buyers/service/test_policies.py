"""Shared funders, extreme reviewers, and payments on several chains, by each policy."""

from __future__ import annotations

from fractions import Fraction

import pytest
from sqlalchemy import delete, insert, select

from bilateral.buyers.metrics import MOST_FUNDED, Dealings, read_dealings
from bilateral.buyers.policies import BRP, INDEPENDENT, Reason, weigh
from bilateral.buyers.records import Standing, profile_of
from bilateral.buyers.score import score_of
from bilateral.core.identifiers import checksummed
from bilateral.core.payments.contracts import BATCH
from bilateral.index.errors import QueryTimeoutError
from bilateral.index.log.database import open_database
from bilateral.index.payments.tables import agent_account, payment, payment_cursor
from bilateral.index.reading.readers import Reader
from bilateral.index.standing.tables import funding
from tests.buyers.service.world import ALICE, BOB, CAROL, CHAIN, DAY, DOLLAR, OTHER_SELLER, SELLER, STRANGER
from tests.index.payments.world import IDENTITY

pytestmark = pytest.mark.one_engine


@pytest.fixture
def fund(buyers_database):
    """Store what an analysis finds about the funders of accounts; it is forgotten after the test."""
    engine = open_database(buyers_database)

    def store(funders):
        rows = [
            {"chain_id": CHAIN, "account": account, "state": "found", "source": source, "block_number": 1}
            for account, source in funders.items()
        ]
        with engine.begin() as connection:
            connection.execute(insert(funding), rows)

    yield store
    with engine.begin() as connection:
        connection.execute(delete(funding))
    engine.dispose()


def crowd(number):
    return {checksummed(f"0x{index:040x}"): STRANGER.address for index in range(1, number + 1)}


COMMON = {BOB.address: STRANGER.address, SELLER.address: STRANGER.address}


@pytest.mark.parametrize(
    ("funders", "is_tied"),
    [
        (COMMON, True),
        ({SELLER.address: BOB.address}, True),
        ({BOB.address: SELLER.address}, True),
        ({BOB.address: STRANGER.address}, False),
        ({BOB.address: STRANGER.address, SELLER.address: "0x" + "12" * 20}, False),
        ({**COMMON, **crowd(MOST_FUNDED - 2)}, True),
        ({**COMMON, **crowd(MOST_FUNDED - 1)}, False),
        ({SELLER.address: BOB.address, **dict.fromkeys(crowd(MOST_FUNDED), BOB.address)}, True),
        ({BOB.address: BATCH, SELLER.address: BATCH}, False),
    ],
    ids=[
        *("one funder", "the buyer funded the seller", "the seller funded the buyer", "one known funder"),
        *("two funders", "a funder of 100", "a funder of 101", "a buyer that funded 101", "the contract of channels"),
    ],
)
def test_seller_with_a_common_funder_counts_by_the_formula_alone(buyers, fund, funders, is_tied):
    fund(funders)
    plain, strict = (
        buyers.get(f"/api/buyer/{BOB.address}", params={"policy": policy}).json()
        for policy in ("brp-1.0", "independent-1.0")
    )
    assert plain["metrics"]["paymentCount"] == 2
    assert strict["metrics"]["paymentCount"] == (0 if is_tied else 2)
    assert ("shared_funder" in strict["reputation"]["reasons"]) is is_tied


@pytest.mark.parametrize(
    ("reviews", "is_flagged"),
    [([0] * 4, False), ([0] * 5, True), ([10] * 5, True), ([11] * 5, False), ([94] * 5, False), ([95] * 5, True)],
    ids=["four", "five", "10", "11", "94", "95"],
)
def test_extreme_reviewer_is_flagged(reviews, is_flagged):
    dealings = {("0x", 1): Dealings(payments=5, micros=1, reviews=reviews)}
    reputation = profile_of(Standing(CHAIN, BOB.address, weigh(BRP, dealings, 0), BRP, 1)).reputation
    assert (reputation.flags == ("extreme-reviews",)) is is_flagged


def test_vote_of_a_seller_is_the_exact_mean_of_its_scores():
    """A rounded mean would change scores that are close to a half."""
    dealings = {("0x", number): Dealings(payments=1, micros=1, votes=votes) for number, votes in enumerate(VOTES)}
    metrics = weigh(BRP, dealings, 0).metrics
    assert (metrics.feedback_sellers, metrics.feedback_sum) == (5, Fraction(175, 2) + 87 + Fraction(100 + 200 + 1, 3))


def test_exact_mean_decides_a_score_next_to_a_half():
    dealings = {("0x", 1): Dealings(payments=12, micros=50 * DOLLAR, reviews=[65], votes=[90, 85])}
    assert score_of(weigh(BRP, dealings, 53 * DAY).metrics) == 44  # 44.49; with a vote of 88 it would be 44.55


VOTES = ([90, 85], [87], [33, 33, 34], [66, 67, 67], [0, 0, 1])


@pytest.mark.parametrize(
    ("returned", "counted"),
    [(1, (3, 10 * DOLLAR - 1)), (5 * DOLLAR, (3, 5 * DOLLAR)), (9 * DOLLAR, (3, DOLLAR))],
    ids=["dust", "half", "nine tenths"],
)
def test_return_takes_what_it_returned_and_never_a_payment(returned, counted):
    dealings = {("0x", 1): Dealings(payments=3, micros=10 * DOLLAR, returned=returned)}
    weighed = weigh(INDEPENDENT, dealings, 0)
    assert (weighed.metrics.payments, weighed.metrics.volume) == counted
    assert weighed.reasons == (Reason.NO_REVIEWS, Reason.RETURNED_PAYMENTS)


def test_dust_does_not_erase_a_lone_payment():
    dealings = {("0x", 1): Dealings(payments=1, micros=5 * DOLLAR, returned=1)}
    assert weigh(INDEPENDENT, dealings, 0).metrics.payments == 1


@pytest.mark.parametrize("returned", [9 * DOLLAR + 1, 10 * DOLLAR, 11 * DOLLAR])
def test_seller_that_kept_less_than_a_tenth_was_not_paid(returned):
    dealings = {("0x", 1): Dealings(payments=3, micros=10 * DOLLAR, returned=returned)}
    weighed = weigh(INDEPENDENT, dealings, 0)
    assert (weighed.metrics.payments, weighed.metrics.volume, weighed.sellers) == (0, 0, 0)


@pytest.mark.parametrize(
    ("payments", "micros", "counted"),
    [
        (20, 200 * DOLLAR, (20, 200 * DOLLAR, False)),
        (21, 200 * DOLLAR, (20, 200 * DOLLAR, True)),
        (20, 200 * DOLLAR + 1, (20, 200 * DOLLAR, True)),
        (21, 200 * DOLLAR + 1, (20, 200 * DOLLAR, True)),
    ],
    ids=["at both limits", "a payment more", "a millionth more", "both more"],
)
def test_repeated_pair_counts_up_to_its_limits(payments, micros, counted):
    """The other seller is below both limits, and counts whole."""
    dealings = {("0x", 1): Dealings(payments=payments, micros=micros), ("0x", 2): Dealings(payments=1, micros=7)}
    weighed = weigh(INDEPENDENT, dealings, 0)
    is_repeated = Reason.REPEATED_PAIR in weighed.reasons
    assert (weighed.metrics.payments - 1, weighed.metrics.volume - 7, is_repeated) == counted
    plain = weigh(BRP, dealings, 0)
    assert (plain.metrics.payments, plain.metrics.volume) == (payments + 1, micros + 7)
    assert Reason.REPEATED_PAIR not in plain.reasons


@pytest.mark.parametrize(("policy", "points"), [(BRP, 27), (INDEPENDENT, 6)])
def test_a_thousand_tiny_payments_move_a_score_by_what_the_policy_gives_for_their_number(policy, points):
    """The protocol fixes 30 points for 100 payments. The other policy counts 20 of one seller, so 19 more than one."""
    own = {("0x", 1): Dealings(payments=10, micros=50 * DOLLAR)}
    one, many = (own | {("0x", 2): Dealings(payments=number, micros=1_000)} for number in (1, 1_000))
    scores = [score_of(weigh(policy, dealings, 0).metrics) for dealings in (one, many)]
    assert scores[1] - scores[0] == points


def test_review_of_a_shared_wallet_counts_for_the_agent_that_was_paid_first(buyers_database):
    """Agent 4 shares a wallet with agent 1, later with agent 2. Its review counts for one of them, always the same."""
    engine = open_database(buyers_database)
    with engine.connect() as connection:  # nothing is committed
        rows = connection.execute(select(payment).where(payment.c.payer == CAROL.address)).mappings().all()
        last = max(row["block_number"] for row in rows) + 1_000
        moved = {"chain_id": CHAIN, "identity_registry": IDENTITY, "agent_id": 4, "block_number": last, "log_index": 0}
        connection.execute(insert(agent_account).values(**moved, owner=SELLER.address, wallet=OTHER_SELLER.address))
        other = {**rows[0], "payee": OTHER_SELLER.address, "agent_id": 2, "block_number": last + 1}
        connection.execute(insert(payment).values(**other))
        first, until = (read_dealings(connection, CHAIN, CAROL.address, count) for count in (last + 1, last))
    engine.dispose()
    assert {agent: value.reviews for (_, agent), value in first.items()} == {1: [80], 2: []}
    assert {agent: value.reviews for (_, agent), value in until.items()} == {1: [80]}


def test_profile_whose_length_strangers_choose_is_not_read_in_the_event_loop(buyers_database):
    for is_brief in (False, True):
        reader = Reader(buyers_database, seconds=10, is_brief=is_brief)
        assert reader.read(read_dealings, CHAIN, ALICE.address)
        if is_brief:
            with pytest.raises(QueryTimeoutError):
                reader.read(read_dealings, CHAIN, CAROL.address)
        else:
            assert reader.read(read_dealings, CHAIN, CAROL.address)
        reader.close()


@pytest.fixture
def second_chain(buyers_database):
    """Payments of the same buyer to the same seller on another chain, which go after the test."""
    engine = open_database(buyers_database)
    with engine.begin() as connection:
        (first, *_) = connection.execute(select(payment).where(payment.c.payer == BOB.address)).mappings().all()
        earlier = {**first, "chain_id": 8453, "block_time": first["block_time"] - 10 * DAY}
        connection.execute(insert(payment).values(**earlier))
        cursor = connection.execute(select(payment_cursor)).mappings().one()
        connection.execute(insert(payment_cursor).values(**{**cursor, "chain_id": 8453}))
    yield earlier
    with engine.begin() as connection:
        for table in (payment, payment_cursor):
            connection.execute(delete(table).where(table.c.chain_id == 8453))
    engine.dispose()


@pytest.mark.parametrize("policy", ["brp-1.0", "independent-1.0"])
def test_all_chains_add_up(buyers, second_chain, policy):
    path = f"/api/buyer/{BOB.address}"
    answers = {
        chain: buyers.get(path, params={"chainId": chain, "policy": policy}).json() for chain in (CHAIN, 8453, "all")
    }
    counts = {chain: answer["metrics"]["paymentCount"] for chain, answer in answers.items()}
    assert counts == {CHAIN: 2, 8453: 1, "all": 3}
    assert answers["all"]["metrics"]["totalVolumeUsdc"] == 3 + second_chain["micros"] / 1_000_000
    assert answers["all"]["metrics"]["accountAgeDays"] == answers[8453]["metrics"]["accountAgeDays"]
    assert answers["all"]["metrics"]["distinctSellers"] == 2
    assert (answers["all"]["buyerId"], answers["all"]["asOfBlock"]) == (f"eip155:all:{BOB.address}", None)


@pytest.mark.parametrize(
    ("address", "parameters", "status", "code"),
    [
        (BOB.address, {"chainId": "some"}, 400, "invalid_argument"),
        (BOB.address, {"chainId": "all", "expand": "messages"}, 400, "invalid_argument"),
        (f"eip155:{CHAIN}:{BOB.address}", {"chainId": "all"}, 400, "invalid_argument"),
    ],
    ids=["another word", "with messages", "of an id with a chain"],
)
def test_all_chains_are_not_asked_for_like_this(buyers, address, parameters, status, code):
    response = buyers.get(f"/api/buyer/{address}", params=parameters)
    assert (response.status_code, response.json()["code"]) == (status, code)
