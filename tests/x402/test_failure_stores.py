"""Failed settlements are remembered within limits: in memory, in SQLite and in PostgreSQL."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine, text

from bilateral.core.values.failures import FailureCount, FailureReason
from bilateral.x402.proof.failures import FailureProof
from bilateral.x402.server.failures import FailedSettlement, FailedSettlements
from bilateral.x402.server.stored_failures import StoredFailures
from tests.postgres import running_postgres
from tests.waiting import until
from tests.x402.test_reservations import Clock

NETWORK, PAYER, OTHER = "eip155:8453", "0x" + "A1" * 20, "0x" + "B2" * 20
BALANCE, ALLOWANCE = FailureReason.INSUFFICIENT_BALANCE, FailureReason.INSUFFICIENT_ALLOWANCE


@pytest.fixture(scope="module")
def postgres():
    with running_postgres() as url:
        yield url


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def open_store(request, tmp_path, clock):
    """Opens a store, as each process does; the one in memory is one for all."""
    if request.param == "memory":
        made = []

        def in_memory(**settings):
            made.append(made[0] if made else FailedSettlements(clock=clock, **settings))
            return made[-1]

        yield in_memory
        return
    is_file = request.param == "sqlite"
    url = f"sqlite:///{tmp_path / 'failures.sqlite'}" if is_file else request.getfixturevalue("postgres")
    opened = []

    def make(**settings):
        opened.append(StoredFailures(url, clock=clock, **settings))
        return opened[-1]

    yield make
    for store in opened:
        store.close()
    if not is_file:
        engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
        with engine.begin() as connection:
            connection.execute(text("DROP TABLE IF EXISTS x402_failed_settlement"))
        engine.dispose()


def failure(number, payer=PAYER, *, at=0.0, network=NETWORK, reason=BALANCE, **changes):
    payment = {"accepted": {"asset": OTHER, "amount": str(2**200)}, "payload": {"signature": "0xff"}}
    terms = bytes([number]) * 32, network, payer, at, "transaction_failed", payment, 2**200
    return FailedSettlement(*terms, "GET", "/weather?city=%C3%85", reason=reason, **changes)


def test_failure_is_read_by_another_process_as_it_was_written(open_store):
    written = failure(255, settlement={"transaction": "0x12"}, proof=FailureProof(BALANCE, 9, 7))
    open_store().add(written)
    assert open_store().list(NETWORK, PAYER) == [written]


def test_failures_are_counted_for_each_payer_and_network(open_store):
    store = open_store()
    for made in (
        failure(1, at=1.0),
        failure(2, at=2.0, reason=ALLOWANCE),
        failure(3, OTHER, at=3.0),
        failure(4, at=4.0, network="eip155:1"),
    ):
        store.add(made)
    assert store.count(NETWORK, PAYER) == FailureCount(2, 2.0, {BALANCE: 1, ALLOWANCE: 1})
    assert store.count(NETWORK, OTHER).number == 1
    assert store.count("eip155:10", PAYER) == FailureCount()


def test_authorization_counts_once_and_by_its_newest_failure(open_store):
    store = open_store()
    store.add(failure(1, at=1.0))
    store.add(failure(1, at=2.0, reason=ALLOWANCE))
    assert store.count(NETWORK, PAYER) == FailureCount(1, 2.0, {ALLOWANCE: 1})


def test_settled_payment_is_forgotten_and_no_other_one(open_store):
    store, other = open_store(), open_store()
    store.add(failure(1))
    store.add(failure(2))
    other.settled(failure(1).key)
    other.settled(failure(9).key)
    until(lambda: store.list(NETWORK, PAYER), lambda left: left == [failure(2)])


def test_oldest_failures_are_forgotten_first(open_store):
    store = open_store(limit=2)
    for number in (1, 2, 3):
        store.add(failure(number, at=float(number)))
    assert [made.at for made in store.list(NETWORK, PAYER)] == [2.0, 3.0]


def test_failure_is_forgotten_after_its_time(open_store, clock):
    store = open_store(seconds=10)
    store.add(failure(1, at=0.0))
    store.add(failure(2, at=5.0))
    clock.now = 9.99
    assert store.count(NETWORK, PAYER).number == 2
    clock.now = 10
    assert store.list(NETWORK, PAYER) == [failure(2, at=5.0)]
    store.add(failure(3, OTHER, at=10.0))
    assert store.count(NETWORK, OTHER).number == 1


def test_store_in_memory_holds_nothing_of_what_it_forgot():
    store = FailedSettlements(limit=3)
    for number in range(50):
        store.add(failure(number, f"0x{number:040x}", at=1e12))
    assert len(store._failures) == 3
