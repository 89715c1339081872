"""Reservations and kept answers hold what they promise, within their limits."""

from __future__ import annotations

import base64
import json
from threading import Thread

import pytest

from bilateral.x402.proof.answers import PaidAnswer, PaidAnswers, payment_of, request_of
from bilateral.x402.proof.errors import TooManyPaymentsError
from bilateral.x402.proof.payments import is_ambiguous, payer_of
from bilateral.x402.server.exchange import Reservations, payment_key

NETWORK, ASSET = "eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
AUTHORIZATION = {"from": "0xAb", "nonce": "0x12", "value": "1000"}


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_authorization_is_reserved_once_and_released_by_its_holder(clock):
    held, first, second = Reservations(clock=clock), object(), object()
    assert held.take(b"key", first)
    assert not held.take(b"key", second)
    assert held.take(b"key", first)
    held.release(b"key", second)
    assert not held.take(b"key", second)
    held.release(b"key", first)
    assert held.take(b"key", second)
    held.release(b"other", second)


def test_reservation_ends(clock):
    held = Reservations(seconds=10, clock=clock)
    assert held.take(b"key", object())
    clock.now = 9.99
    assert not held.take(b"key", object())
    clock.now = 10
    assert held.take(b"key", object())


def test_reservations_are_limited(clock):
    held = Reservations(limit=2, seconds=10, clock=clock)
    assert [held.take(key, key) for key in (b"1", b"2")] == [True, True]
    with pytest.raises(TooManyPaymentsError, match="2 payments are in progress"):
        held.take(b"3", b"3")
    held.release(b"1", b"1")
    assert held.take(b"3", object())


def test_settled_payment_is_remembered_for_its_time_or_until_newer_ones_replace_it(clock):
    held, stranger = Reservations(limit=1, seconds=10, clock=clock, settled_limit=2), object()
    for key in (b"1", b"2", b"3"):
        assert held.take(key, key)
        held.settle(key, stranger)
        with pytest.raises(TooManyPaymentsError):
            held.take(b"4", stranger)
        held.settle(key, key)
        held.release(key, key)
    assert [held.take(key, stranger) for key in (b"3", b"2", b"1")] == [False, False, True]
    clock.now = 10
    assert held.take(b"3", stranger)


def test_threads_reserve_once():
    held, taken = Reservations(), []
    threads = [Thread(target=lambda: taken.append(held.take(b"key", object()))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [False] * 19 + [True]


PAYER = "0x" + "ab" * 20
NONCES = {
    "authorization": (f"0x{'cd' * 31}00", [f"{'cd' * 31}00", f"0x{'CD' * 31}00", "cd " * 31, f"0x{'cd' * 31}"]),
    "permit2Authorization": ("1000", [" 1000", "01000", "1_000", "+1000", "0x3e8"]),
}


@pytest.mark.parametrize("name", NONCES)
def test_every_writing_of_an_authorization_has_one_key(name):
    """A facilitator takes them all for one, and settles one."""
    nonce, others = NONCES[name]
    key = payment_key(NETWORK, ASSET, {name: {"from": PAYER, "nonce": nonce}})
    for account in (PAYER, PAYER.upper().replace("0X", "0x"), PAYER[2:]):
        for other in (nonce, *others):
            assert payment_key(NETWORK, ASSET, {name: {"from": account, "nonce": other}}) == key
    for other in ("0x" + "ce" * 31, "1001", "?", ""):
        assert payment_key(NETWORK, ASSET, {name: {"from": PAYER, "nonce": other}}) != key


@pytest.mark.parametrize("name", NONCES)
@pytest.mark.parametrize("nonce", [1000, 1000.0, 1000.9, True, None, [], ...], ids=str)
def test_nonce_that_is_not_text_is_ambiguous(name, nonce):
    """A facilitator takes the whole part of a number, and an empty text for a nonce that is missing."""
    signed = {"from": PAYER} if nonce is ... else {"from": PAYER, "nonce": nonce}
    assert is_ambiguous({name: signed})
    assert is_ambiguous({name: {"from": nonce, "nonce": "1000"}})
    assert not is_ambiguous({name: {"from": PAYER, "nonce": "1000"}})


def test_payment_of_another_scheme_is_not_ambiguous():
    assert not is_ambiguous({"transaction": "AQ=="})


def test_payment_with_two_authorizations_is_of_nobody():
    signed = {"from": PAYER, "nonce": "0x12"}
    assert payer_of({"authorization": signed}) == payer_of({"permit2Authorization": signed}) is not None
    assert payer_of({"authorization": signed, "permit2Authorization": signed}) is None
    assert payer_of({"authorization": signed, "permit2Authorization": None}) is None


@pytest.mark.parametrize("name", ["authorization", "permit2Authorization"])
def test_copies_of_an_authorization_have_one_key(name):
    payload = {name: AUTHORIZATION, "signature": "0x11"}
    key = payment_key(NETWORK, ASSET, payload)
    assert key == payment_key(NETWORK, ASSET.lower(), {name: {**AUTHORIZATION, "from": "0xaB"}, "signature": "0x22"})
    assert key != payment_key(NETWORK, ASSET, {name: {**AUTHORIZATION, "nonce": "0x13"}})
    assert key != payment_key("eip155:1", ASSET, payload)
    has_nonce_of_its_own = name == "authorization"  # for each token; a nonce of Permit2 is one for all
    assert (key != payment_key(NETWORK, "0x12", payload)) is has_nonce_of_its_own


@pytest.mark.parametrize("payload", [{}, {"authorization": 7}, {"transaction": "AQ=="}, {"large": 2**60}])
def test_payment_of_another_scheme_has_a_key(payload):
    assert payment_key(NETWORK, ASSET, payload) == payment_key(NETWORK, ASSET, dict(payload))
    assert payment_key(NETWORK, ASSET, payload) != payment_key(NETWORK, ASSET, payload | {"more": 1})


def answer(size=10, request=b"request"):
    return PaidAnswer(request, 200, ((b"payment-response", b"proof"),), b"a" * size)


def test_answer_is_kept_for_its_time(clock):
    kept = PaidAnswers(seconds=10, clock=clock)
    kept.keep(b"payment", answer())
    clock.now = 9.99
    assert kept.find(b"payment") == answer()
    assert kept.find(b"other") is None
    clock.now = 10
    assert kept.find(b"payment") is None


def test_oldest_answers_go_first(clock):
    kept = PaidAnswers(max_bytes=1200, clock=clock)
    for number in range(4):
        kept.keep(bytes([number]), answer(200))
    assert [kept.find(bytes([number])) is not None for number in range(4)] == [False, False, True, True]
    kept.keep(b"\x03", answer(201))
    assert kept.find(b"\x03").body == b"a" * 201
    assert kept.find(b"\x02") is not None


GONE = (
    410,
    ((b"content-type", b"application/json"), (b"cache-control", b"no-store"), (b"payment-response", b"proof")),
    b'{"error": "answer_not_kept"}',
)


def test_of_a_large_answer_only_the_proof_is_kept(clock):
    kept = PaidAnswers(clock=clock)
    kept.keep(b"limit", answer(1024 * 1024))
    kept.keep(b"above", answer(1024 * 1024 + 1))
    assert kept.find(b"limit") == answer(1024 * 1024)
    assert kept.find(b"above") == PaidAnswer(b"request", *GONE)


def test_store_that_is_too_small_for_a_proof_keeps_nothing(clock):
    kept = PaidAnswers(max_bytes=100, clock=clock)
    kept.keep(b"payment", answer(101))
    assert kept.find(b"payment") is None


def header(message):
    return base64.b64encode(json.dumps(message).encode()).decode()


def test_payment_with_an_identifier_can_fetch_its_answer():
    message = {"extensions": {"payment-identifier": {"info": {"id": "0123456789abcdef"}}}}
    assert payment_of(header(message)) is not None
    assert payment_of(header(message | {"more": 1})) != payment_of(header(message))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "ÿ",
        header([]),
        header({}),
        header({"extensions": []}),
        header({"extensions": {"payment-identifier": {"info": {"id": "too short"}}}}),
        header({"extensions": {"payment-identifier": {"info": {"id": 7}}}}),
        header({"extensions": {"payment-identifier": "id"}}),
    ],
)
def test_payment_without_an_identifier_cannot(text):
    assert payment_of(text) is None


def test_requests_are_told_apart_by_method_target_and_body():
    requests = [
        request_of("GET", b"/a?b", b""),
        request_of("POST", b"/a?b", b""),
        request_of("GET", b"/a?c", b""),
        request_of("GET", b"/a?b", b"c"),
    ]
    assert len(set(requests)) == 4
