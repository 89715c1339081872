"""Processes share kept answers and reservations by a database, SQLite or PostgreSQL."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from fastapi import FastAPI
from flask import Flask
from sqlalchemy import create_engine, text
from x402 import x402ResourceServer, x402ResourceServerSync

from bilateral.core.errors import InvalidArgumentError
from bilateral.dev.servers import serving
from bilateral.x402 import Reputation8004ResourceServerExtension, declare_8004_reputation
from bilateral.x402.proof.answers import PaidAnswer
from bilateral.x402.proof.errors import TooManyPaymentsError
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.stores import StoredAnswers, StoredReservations
from bilateral.x402.server.wsgi import protect_flask
from tests.postgres import running_postgres
from tests.x402.test_reservations import GONE, Clock, answer
from tests.x402.world import SIGNING_KEY, payment_for, proof, refusal, resource_server, route, serving_wsgi

KEYS = [number.to_bytes(32) for number in range(5)]


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """The URL of a PostgreSQL server."""
    with running_postgres() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The URL of a database without our rows."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'answers.sqlite'}"
        return
    server_url = request.getfixturevalue("postgres")
    yield server_url
    engine = create_engine(server_url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE IF EXISTS x402_kept_answer, x402_reserved_payment"))
    engine.dispose()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def open_store(url, clock):
    """Opens a store of a class, as each process does."""
    opened = []

    def make(kind, **settings):
        opened.append(kind(url, clock=clock, **settings))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


def kept(size=10):
    return PaidAnswer(
        b"r" * 32, 200, ((b"payment-response", b"proof"), (b"x", b"\xe6")), bytes(range(256)) + b"a" * size
    )


def test_answer_is_found_by_another_process_for_its_time(open_store, clock):
    writer, reader = (open_store(StoredAnswers, seconds=10) for _ in range(2))
    writer.keep(KEYS[0], kept())
    clock.now = 9.99
    assert reader.find(KEYS[0]) == kept()
    assert reader.find(KEYS[1]) is None
    clock.now = 10
    assert reader.find(KEYS[0]) is None


def test_answer_is_replaced(open_store):
    store = open_store(StoredAnswers)
    store.keep(KEYS[0], kept(1))
    store.keep(KEYS[0], kept(2))
    assert store.find(KEYS[0]) == kept(2)


def test_oldest_answers_go_first_and_expired_ones_before(open_store, clock):
    store = open_store(StoredAnswers, max_bytes=1200, seconds=10)
    for number in range(4):
        clock.now = number
        store.keep(KEYS[number], answer(200, b"r" * 32))
    assert [store.find(key) is not None for key in KEYS] == [False, False, True, True, False]
    clock.now = 13
    store.keep(KEYS[4], answer(200, b"r" * 32))
    assert [store.find(key) is not None for key in KEYS] == [False, False, False, False, True]


def test_of_a_large_answer_only_the_proof_is_kept(open_store):
    store = open_store(StoredAnswers)
    store.keep(KEYS[0], answer(1024 * 1024, b"r" * 32))
    store.keep(KEYS[1], answer(1024 * 1024 + 1, b"r" * 32))
    assert store.find(KEYS[0]) == answer(1024 * 1024, b"r" * 32)
    assert store.find(KEYS[1]) == PaidAnswer(b"r" * 32, *GONE)


def test_authorization_is_reserved_once_among_processes(open_store, clock):
    first, second = (open_store(StoredReservations, seconds=10) for _ in range(2))
    holder, stranger = object(), object()
    assert first.take(KEYS[0], holder)
    assert not second.take(KEYS[0], stranger)
    assert first.take(KEYS[0], holder)
    second.release(KEYS[0], stranger)
    first.release(KEYS[0], stranger)
    assert not second.take(KEYS[0], stranger)
    first.release(KEYS[0], holder)
    assert second.take(KEYS[0], stranger)
    first.release(KEYS[0], holder)
    assert not first.take(KEYS[0], holder)
    clock.now = 10
    assert first.take(KEYS[0], holder)


def test_reservations_are_limited(open_store):
    store, other = (open_store(StoredReservations, limit=2, seconds=10) for _ in range(2))
    assert [store.take(key, key) for key in KEYS[:2]] == [True, True]
    with pytest.raises(TooManyPaymentsError, match="2 payments are in progress"):
        other.take(KEYS[2], KEYS[2])
    store.release(KEYS[0], KEYS[0])
    assert other.take(KEYS[2], KEYS[2])


def test_settled_payments_do_not_count_and_are_remembered_by_all_processes(open_store, clock):
    store, other = (open_store(StoredReservations, limit=1, seconds=10) for _ in range(2))
    for key in KEYS[:3]:
        assert store.take(key, key)
        other.settle(key, key)
        with pytest.raises(TooManyPaymentsError):
            other.take(KEYS[3], KEYS[3])
        store.settle(key, key)
        store.release(key, key)
    assert not any(other.take(key, object()) for key in KEYS[:3])
    clock.now = 10
    assert other.take(KEYS[0], KEYS[0])


def test_simultaneous_requests_of_processes_reserve_once(open_store):
    stores = [open_store(StoredReservations) for _ in range(4)]
    start = threading.Barrier(8)

    def take(number):
        start.wait()
        return stores[number % 4].take(KEYS[0], object())

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(take, range(8))) == [False] * 7 + [True]


@pytest.mark.parametrize("kind", [StoredAnswers, StoredReservations])
def test_other_databases_are_refused(kind):
    with pytest.raises(InvalidArgumentError, match="sqlite or postgresql"):
        kind("mysql://localhost/answers")


@pytest.fixture
def workers(url, facilitator, token, seller, agent, deployment):
    """Two servers of one service, an ASGI and a WSGI application, with common stores; their URLs and runs."""
    runs, hold = [], threading.Event()
    hold.set()
    routes = {"* /*": route(token.address, seller.address, declare_8004_reputation(agent, deployment))}

    def forecast():
        runs.append(1)
        hold.wait(120)
        return {"weather": "snow"}

    stores = [StoredAnswers(url), StoredReservations(url), StoredAnswers(url), StoredReservations(url)]
    app, flask = FastAPI(), Flask("shop")
    app.get("/weather")(forecast)
    flask.get("/weather")(forecast)
    extensions = [Reputation8004ResourceServerExtension(SIGNING_KEY, reservations=store) for store in stores[1::2]]
    server = resource_server(x402ResourceServer, facilitator, extensions[0])
    app.add_middleware(ReputationMiddleware, routes=routes, server=server, answers=stores[0])
    protect_flask(flask, routes, resource_server(x402ResourceServerSync, facilitator, extensions[1]), answers=stores[2])
    with serving(app) as first, serving_wsgi(flask) as second:
        yield first, second, runs, hold, stores
    for store in stores:
        store.close()


def test_lost_answer_is_fetched_from_another_process(workers, buyer):
    first, second, runs, *_ = workers
    headers = payment_for(first + "/weather", buyer, identifier="a-secret-of-16-or-more")
    original, again = (httpx.get(url + "/weather", headers=headers, timeout=120) for url in (first, second))
    assert (again.status_code, again.content, proof(again)) == (200, original.content, proof(original))
    assert runs == [1]


def test_one_authorization_sent_to_two_processes_runs_the_application_once(workers, buyer):
    first, second, runs, hold, _ = workers
    hold.clear()
    headers = payment_for(first + "/weather", buyer)
    with ThreadPoolExecutor(2) as pool:
        pending = pool.submit(httpx.get, first + "/weather", headers=headers, timeout=120)
        while not runs:
            assert not pending.done()
            time.sleep(0.01)
        refused = httpx.get(second + "/weather", headers=headers, timeout=120)
        hold.set()
        assert pending.result().status_code == 200
    assert (refused.status_code, refusal(refused)) == (402, "payment_in_progress")
    assert runs == [1]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_store_of_answers_that_fails_takes_no_answer_away(workers, buyer):
    first, second, _, _, stores = workers
    with stores[0]._engine.begin() as connection:
        connection.execute(text("DROP TABLE x402_kept_answer"))
    for url in (first, second):
        headers = payment_for(url + "/weather", buyer, identifier="a-secret-of-16-or-more")
        response = httpx.get(url + "/weather", headers=headers, timeout=120)
        assert response.status_code == 200
        assert proof(response)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_store_of_reservations_that_fails_takes_no_money(workers, buyer, token):
    first, second, runs, _, stores = workers
    with stores[1]._engine.begin() as connection:
        connection.execute(text("DROP TABLE x402_reserved_payment"))
    for url in (first, second):
        response = httpx.get(url + "/weather", headers=payment_for(url + "/weather", buyer), timeout=120)
        assert (response.status_code, refusal(response)) == (402, "reservations_unavailable")
    assert (runs, token.functions.balanceOf(buyer.address).call()) == ([], 10**9)
