"""Webhooks: signed, in order, until taken; a bad receiver harms nobody."""

from __future__ import annotations

import re
import threading
import time
from contextlib import contextmanager

import pytest
from joserfc.jwk import OKPKey

from bilateral.api import webhooks
from bilateral.api.webhooks import Deliverer, Signer, read_key, subscribe, write_key
from bilateral.core.errors import BilateralError, InvalidArgumentError
from bilateral.documents.http import Limits, Network
from bilateral.index.changes.queries import FeedFilter, parse_filter, read_feed
from bilateral.index.changes.webhooks import MOST_OF_OWNER, remove_webhook, stored_webhooks, take_lease, webhook_figures
from bilateral.index.changes.worker import FeedLimits, prune_feed
from bilateral.index.log.database import connect_engine, snapshot
from bilateral.index.reading.registries import read_registries
from tests.api.receivers import receiving
from tests.waiting import wait_until

pytestmark = pytest.mark.one_engine
WITHIN = Network(allow_private=True)
EVERYTHING = FeedFilter()


@pytest.fixture(scope="module")
def key():
    return OKPKey.generate_key("Ed25519")


@pytest.fixture
def engine(copied_database):
    engine = connect_engine(copied_database)
    yield engine
    engine.dispose()


@pytest.fixture
def receiver(key):
    with receiving(key) as receiver:
        yield receiver


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Let retries come at once, and attempts end soon."""
    monkeypatch.setattr(webhooks, "_LOOK_SECONDS", 0.02)
    monkeypatch.setattr(webhooks, "_FIRST_WAIT", 0)
    monkeypatch.setattr(webhooks, "_LIMITS", Limits(bytes=64 * 1024, seconds=1.0, redirects=0))


@pytest.fixture
def delivering_to(engine, key):
    """Run a process that delivers, meanwhile."""

    @contextmanager
    def run(network=WITHIN):
        stop = threading.Event()
        thread = threading.Thread(target=Deliverer(engine, Signer(key), stop, network).run)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    return run


def add(engine, url, owner="shop", since="0", **wanted):
    with engine.begin() as connection:
        filter_ = parse_filter(read_registries(connection), **wanted)
        return subscribe(connection, url, filter_, owner=owner, since=since, allow_private=True)


def only(engine):
    with engine.connect() as connection:
        (row,) = stored_webhooks(connection)
    return row


def everything(engine, wanted=EVERYTHING):
    with snapshot(engine) as connection:
        return [change.id for change in read_feed(connection, "0", wanted).items]


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1", "10.0.0.7", "169.254.169.254", "[::1]", "[::ffff:10.0.0.7]", "localhost", "a.localhost."],
)
def test_webhook_of_a_private_address_is_refused_when_it_is_added(engine, host):
    with pytest.raises(InvalidArgumentError, match="is not a public address"), engine.begin() as connection:
        subscribe(connection, f"https://{host}:8443/x", EVERYTHING, owner="shop")
    with engine.begin() as connection:
        assert subscribe(connection, "https://8.8.8.8/x", EVERYTHING, owner="shop")
        assert subscribe(connection, f"https://{host}/x", EVERYTHING, owner="shop", allow_private=True)


def test_each_change_arrives_once_in_order_and_signed(engine, receiver, delivering_to, monkeypatch):
    monkeypatch.setattr(webhooks, "_AT_ONCE", 7)
    add(engine, receiver.url)
    told = everything(engine)
    with delivering_to():
        wait_until(lambda: len(receiver.ids) >= len(told))
    assert receiver.ids == told
    assert len({body["delivery"] for body in receiver.deliveries}) == len(receiver.deliveries) > 3
    assert [body["since"] for body in receiver.deliveries[1:]] == [body["cursor"] for body in receiver.deliveries[:-1]]


def test_a_webhook_is_told_what_its_filter_lets_pass(engine, receiver, delivering_to):
    wanted = {"agents": ["31337:1"], "kinds": ["feedback", "revoked"]}
    add(engine, receiver.url, **wanted)
    with engine.connect() as connection:
        told = everything(engine, parse_filter(read_registries(connection), **wanted))
    with delivering_to():
        wait_until(lambda: len(receiver.ids) >= len(told))
    assert receiver.ids == told != everything(engine)


def test_a_delivery_that_fails_comes_again_with_the_same_id_and_changes_also_after_a_restart(
    engine, receiver, delivering_to, monkeypatch
):
    monkeypatch.setattr(webhooks, "_AT_ONCE", 5)
    add(engine, receiver.url)
    receiver.answer = lambda handler: handler.reply(500)
    with delivering_to():
        wait_until(lambda: len(receiver.deliveries) >= 2)
    row = only(engine)
    assert (row.since, row.delivered) == ("0", 0)
    assert row.failures >= 2
    assert "returned status 500" in row.problem
    monkeypatch.setattr(webhooks, "_AT_ONCE", 50)  # as if the feed had grown meanwhile
    receiver.answer = lambda handler: handler.reply(200)
    with delivering_to():
        wait_until(lambda: receiver.ids[-1] == everything(engine)[-1])
    same = [body for body in receiver.deliveries if body["since"] == "0"]
    assert len(same) >= 3
    assert all(body == same[0] for body in same)
    row = only(engine)
    assert (row.failures, row.problem, row.failing_since) == (0, None, None)


def hang(handler):
    time.sleep(3)


def trickle(handler):
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"x")
        time.sleep(0.2)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (hang, "1 second"),
        (trickle, "1 second"),
        (lambda handler: handler.reply(302, Location="http://127.0.0.1:1/"), "status 302"),
        (lambda handler: handler.reply(200, b"x" * 100_000), "65,536|65536"),
    ],
)
def test_a_bad_receiver_is_retried_and_others_of_its_owner_and_of_others_are_told_all(
    engine, receiver, delivering_to, key, answer, problem
):
    for _ in range(3):
        add(engine, receiver.url, owner="bad")
    receiver.answer = answer
    with receiving(key) as good:
        add(engine, good.url)
        told = everything(engine)
        with delivering_to():
            wait_until(lambda: len(good.ids) >= len(told))
            wait_until(lambda: figures(engine).failing == 3)
        assert good.ids == told
    with engine.connect() as connection:
        bad = [row for row in stored_webhooks(connection) if row.owner == "bad"]
    assert all(row.since == "0" for row in bad)
    assert all(re.search(problem, row.problem) for row in bad), bad[0].problem


def figures(engine):
    with engine.connect() as connection:
        return webhook_figures(connection)


def test_a_private_address_is_refused(engine, receiver, delivering_to):
    add(engine, receiver.url)
    with delivering_to(network=Network()):
        wait_until(lambda: only(engine).failures > 0)
    assert receiver.deliveries == []
    assert "127.0.0.1" in only(engine).problem


def test_a_receiver_that_is_gone_or_fails_for_days_is_given_up(engine, receiver, delivering_to, monkeypatch):
    add(engine, receiver.url)
    receiver.answer = lambda handler: handler.reply(410)
    with delivering_to():
        wait_until(lambda: only(engine).stopped_at is not None)
    assert len(receiver.deliveries) == 1
    gone = only(engine)
    with engine.begin() as connection:
        assert remove_webhook(connection, gone.id)
    add(engine, receiver.url)
    monkeypatch.setattr(webhooks, "_STOP_SECONDS", -1)
    receiver.answer = lambda handler: handler.reply(503)
    with delivering_to():
        wait_until(lambda: figures(engine).stopped == 1)
    assert (figures(engine).active, figures(engine).failing) == (0, 0)


def test_waits_grow_with_each_failure_and_a_receiver_may_ask_for_more(engine, receiver, delivering_to, monkeypatch):
    monkeypatch.setattr(webhooks, "_FIRST_WAIT", 5)
    add(engine, receiver.url)
    for headers, wait in (({}, 5), ({}, 10), ({"Retry_After": "100"}, 100), ({"Retry_After": "99999"}, 3_600)):
        receiver.answer = lambda handler, headers=headers: handler.reply(503, **headers)
        before = only(engine)
        began = int(time.time())
        with delivering_to():
            wait_until(lambda before=before: only(engine).failures > before.failures)
        assert 0 <= only(engine).next_at - began - wait <= 3
        with engine.begin() as connection:
            connection.exec_driver_sql("UPDATE webhook SET next_at = 0")


def test_one_process_delivers_and_another_one_when_it_is_gone(engine):
    with engine.begin() as connection:
        assert take_lease(connection, "a", 1_000)
        assert not take_lease(connection, "b", 1_030)
        assert take_lease(connection, "a", 1_020)
        assert not take_lease(connection, "b", 1_050)
        assert take_lease(connection, "b", 1_051)
        assert not take_lease(connection, "a", 1_052)


def test_a_webhook_behind_a_pruned_feed_goes_on_at_the_oldest_changes(engine, receiver, delivering_to):
    add(engine, receiver.url)
    told = everything(engine)
    prune_feed(engine, FeedLimits(steps=2))
    with delivering_to():
        wait_until(lambda: receiver.ids and receiver.ids[-1] == told[-1])
    assert 0 < len(receiver.ids) < len(told)
    assert receiver.deliveries[0]["since"] != "0"  # so a receiver sees that it missed some


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"url": "ftp://hooks.example/"}, "not an http or https URL"),
        ({"url": "http://hooks.example/"}, "is not an https URL"),
        ({"url": "https://user:pw@hooks.example/"}, "without a user"),
        ({"url": f"https://hooks.example/{'x' * 2_000}"}, "at most 2,000"),
        ({"owner": ""}, "owner: use 1 to 64"),
        ({"owner": "x" * 65}, "owner: use 1 to 64"),
        ({"since": "x"}, "is malformed"),
        ({"wanted": FeedFilter(tags=("a",) * 21)}, "tag: 21 values were passed, but at most 20 are allowed"),
    ],
)
def test_wrong_subscriptions_are_refused(engine, changes, message):
    options = {"url": "https://hooks.example/", "wanted": FeedFilter(), "owner": "shop"} | changes
    with engine.begin() as connection, pytest.raises(BilateralError, match=message):
        subscribe(connection, options.pop("url"), options.pop("wanted"), **options)


def test_an_owner_has_a_limited_number_of_webhooks(engine):
    for _ in range(MOST_OF_OWNER):
        add(engine, "https://hooks.example/")
    with pytest.raises(InvalidArgumentError, match='"shop" has 20 webhooks, but at most 20 are allowed'):
        add(engine, "https://hooks.example/")
    add(engine, "https://hooks.example/", owner="other")


def test_the_key_is_a_file_that_its_owner_alone_reads(tmp_path):
    path = tmp_path / "key.pem"
    key = write_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_key(path).thumbprint() == key.thumbprint()
    with pytest.raises(InvalidArgumentError, match="cannot be written"):
        write_key(path)
    path.chmod(0o644)
    with pytest.raises(InvalidArgumentError, match="is readable by other users: run `chmod 600"):
        read_key(path)
    for content in (b"", key.as_pem(private=False), OKPKey.generate_key("X25519").as_pem(private=True)):
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(InvalidArgumentError, match="is not an Ed25519 private key in PEM"):
            read_key(path)
