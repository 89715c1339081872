"""Arguments of the wrong type are refused by name: no argument raises another library's error."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime

import pytest
from eth_account import Account

from bilateral.client import AsyncClient, Client, FeedbackAuthorization, ResponseLink, Signal, SignedFeedback, week_of
from bilateral.client.blind_vault import BlindVault
from bilateral.core.contracts.buyer_terms import (
    AttestedPayment,
    BuyerFeedback,
    BuyerReviews,
    BuyerRole,
    BuyerState,
    BuyerTier,
    PaymentRecord,
    SignedPayment,
    TierCredential,
)
from bilateral.core.errors import BilateralError, InvalidArgumentError
from bilateral.core.signatures import Feedback
from bilateral.core.signatures.blind_messages import RatingOpening, SignedEnvelope
from bilateral.core.signatures.blind_ratings import Pair, SealedRating
from bilateral.documents import Limits
from tests.sdk.client.helpers import Awaited

ADDRESS = "0x8004B663056A597Dffe9eCcC1965A193B7388713"
WORD = b"\x11" * 32
KEY = "0x" + "ab" * 32

ENVELOPE = SignedEnvelope(SealedRating(1, ADDRESS, 2, ADDRESS, WORD, WORD, 1), b"")

WRONG = {"None": None, "bool": True, "float": 1.5, "bytes": b"x", "Sequence": [], "object": object()}
"""Values, each by the word that allows it in an annotation."""

NEEDED = {
    "agent_id": 1,
    "client_id": 1,
    "validator_id": 1,
    "server_id": 1,
    "key": "colour",
    "value": "1",
    "new_wallet": ADDRESS,
    "new_owner": ADDRESS,
    "account": ADDRESS,
    "address": ADDRESS,
    "client_address": ADDRESS,
    "validator_address": ADDRESS,
    "domain": "agent.example",
    "score": 1,
    "rating": 1,
    "response": 100,
    "feedback_auth": b"",
    "client_ratings": {1: 1},
    "validator_ratings": {1: 1},
    "client_ids": [1],
    "request_hash": WORD,
    "digest": WORD,
    "transaction_hash": "0x" + "11" * 32,
    "through": datetime(2026, 11, 22, tzinfo=UTC),
    "signature": b"",
    "signed_feedback": SignedFeedback(Feedback(1, ADDRESS, 1, 1, 0, "", "", "", "", WORD, 1), b""),
    "signals_of_period": [],
    "period": "2026-W47",
    "buyer": ADDRESS,
    "seller": ADDRESS,
    "amount": 1,
    "payment": SignedPayment(ADDRESS, ADDRESS, 1, 0, 1, WORD, b"", ADDRESS),
    "chain_id": 1,
    "records": [PaymentRecord(WORD, AttestedPayment(ADDRESS, 1, 1, 0))],
    "feedback": BuyerFeedback(ADDRESS, ADDRESS, 1),
    "feedbacks": [BuyerFeedback(ADDRESS, ADDRESS, 1)],
    "reviews": [BuyerReviews(ADDRESS, 1, 1, 1)],
    "epoch": 1,
    "root": WORD,
    "role": BuyerRole.ATTESTOR,
    "nominee": ADDRESS,
    "buyer_state": BuyerState(ADDRESS, 1, 1, BuyerTier.NEW, *[0] * 9, WORD, 0),
    "proof": [WORD],
    "credential": TierCredential(ADDRESS, 1, 1, WORD, BuyerTier.NEW, WORD, WORD),
    "vault": BlindVault("never-made.sqlite"),
    "client": ADDRESS,
    "interaction": WORD,
    "offer": ENVELOPE,
    "envelope": ENVELOPE,
    "other": ENVELOPE,
    "envelopes": [ENVELOPE, ENVELOPE],
    "pair": Pair(WORD, 1, ADDRESS, 2, ADDRESS, WORD, 1, WORD, 1),
    "openings": [RatingOpening(1, WORD)],
    "policy": WORD,
    "roots": [1, 1, 1],
    "nullifier": 1,
    "points": [1] * 8,
    "minimum": BuyerTier.TRUSTED,
    "scope": WORD,
    "message": WORD,
}
"""An argument for each parameter without a default."""

METHODS = sorted(
    name
    for name, method in inspect.getmembers(Client, inspect.isfunction)
    if not name.startswith("_") and len(inspect.signature(method).parameters) > 1
)

only_the_blocking_client = pytest.mark.parametrize("connect", [Client], indirect=True)  # the other one is derived


@pytest.mark.sample(200)
@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("method", METHODS)
@only_the_blocking_client
def test_a_value_of_the_wrong_type_is_refused(connect, reviewer, method, kind):
    call = getattr(connect(reviewer, dry_run=True), method)
    parameters = inspect.signature(call).parameters.values()
    needed = {
        parameter.name: NEEDED[parameter.name]
        for parameter in parameters
        if parameter.default is inspect.Parameter.empty
    }
    for parameter in parameters:
        allowed = kind in parameter.annotation or ("HumanValue" in parameter.annotation and kind == "bool")
        try:
            call(**needed | {parameter.name: WRONG[kind]})
        except BilateralError:
            continue
        assert allowed, parameter.name


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("search_feedback", {"agent_ids": "12"}),
        ("search_feedback", {"agent_id": 1, "tags": "starred"}),
        ("search_feedback", {"agent_id": 1, "capabilities": "tools"}),
        ("search_feedback", {"agent_id": 1, "tags": [None]}),
        ("read_all_feedback", {"agent_id": 1, "reviewers": ADDRESS}),
        ("read_all_feedback", {"agent_id": 1, "reviewers": [None]}),
        ("get_client_ratings", {"client_ids": "12", "server_id": 1}),
        ("get_validation_summary", {"agent_id": 1, "validators": ADDRESS}),
        ("rate_clients", {"client_ratings": [(1, 5)]}),
        ("give_feedback", {"agent_id": 1, "value": 1, "feedback_file": {"text": "x"}}),
        ("give_feedback", {"agent_id": 1, "value": 1, "tag1": "\ud800"}),
        ("give_feedback", {"agent_id": 1, "value": 1, "feedback_uri": "x", "feedback_hash": 32}),
        ("append_response", {"agent_id": 1, "client_address": ADDRESS, "feedback_index": True, "response": "x"}),
        ("append_response", {"agent_id": 1, "client_address": ADDRESS, "feedback_index": 0, "response": {"hash": 32}}),
        ("revoke_feedback", {"agent_id": 1, "feedback_index": True}),
        ("authorize_feedback", {"agent_id": 1, "client_address": ADDRESS, "count": "3"}),
        ("authorize_feedback", {"agent_id": 1, "client_address": ADDRESS, "expiry": 5}),
        ("sign_feedback", {"agent_id": 1, "value": 1, "deadline": 5}),
        ("submit_signed_feedback", {"signed_feedback": "x"}),
        ("request_validation", {"agent_id": 1, "validator_address": ADDRESS, "document": "x"}),
        ("get_validation_status", {"request_hash": 32}),
        ("publish_signals", {"signals_of_period": None, "period": "p"}),
        ("register_agent", {"metadata": {"n": 5}}),
        ("register_agent", {"metadata": {"n": True}}),
        ("set_metadata", {"agent_id": 1, "key": "n", "value": [1, 2]}),
        ("set_metadata", {"agent_id": 1, "key": "n", "value": "\ud800"}),
        ("set_agent_wallet", {"agent_id": 1, "new_wallet": ADDRESS, "new_wallet_signer": KEY}),
    ],
)
def test_an_argument_that_would_mean_something_else_is_refused(connect, reviewer, method, arguments):
    with pytest.raises(InvalidArgumentError, match=r"\w+: expected .*, not ") as caught:
        getattr(connect(reviewer), method)(**arguments)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("text", ["0x12", "", "0x" + "zz" * 32, "0x" + "1 " * 32, "0x0x" + "11" * 31])
@only_the_blocking_client
def test_a_hash_has_32_bytes(connect, text):
    with pytest.raises(
        InvalidArgumentError, match=("the request's hash must be 32 bytes, or 0x and 64 hexadecimal digits")
    ):
        connect().get_validation_status(text)


def test_metadata_may_be_any_kind_of_bytes(connect, reviewer):
    handle = connect(reviewer).register_agent(metadata={"a": bytearray(b"\x01\x02"), "b": b"", "c": "ü"})
    assert handle.wait().metadata == (("a", b"\x01\x02"), ("b", b""), ("c", "ü".encode()))


@pytest.mark.parametrize(
    "make",
    [
        lambda: ResponseLink("x", 32),
        lambda: ResponseLink(None),
        lambda: Signal(None, "reachable", True),
        lambda: Signal(1, "uptime", None),
        lambda: SignedFeedback("x", b""),
        lambda: FeedbackAuthorization(None, b""),
        lambda: week_of("2026-11-21"),
        lambda: Limits(bytes="1"),
        lambda: Limits(seconds=None),
    ],
)
def test_arguments_of_the_wrong_types_are_refused(make):
    with pytest.raises(InvalidArgumentError, match="expected"):
        make()


@pytest.mark.parametrize(
    "settings",
    [
        {"rpc": None},
        {"rpc": 8545},
        {"signer": KEY},
        {"signer": Account},
        {"deployment": "deployments/1.json"},
        {"store": "x"},
        {"loader": "x"},
        {"dry_run": "no"},
        {"request_timeout": "1"},
        {"poll_interval": None},
    ],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_setting_of_the_wrong_type_is_refused_at_once_and_not_repeated(kind, settings):
    with pytest.raises(InvalidArgumentError, match=f"{next(iter(settings))}: expected") as caught:
        kind(**{"rpc": "http://127.0.0.1:1"} | settings)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["localhost:8545", "ftp://node.example", "", "ws://node.example/secret", "http://", "http://a:x", "http://a:0"],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_url_that_no_node_has_is_refused_at_once_and_not_repeated(kind, url):
    with pytest.raises(InvalidArgumentError, match=r"rpc must be an http or https URL") as caught:
        kind(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("setting", ["request_timeout", "poll_interval"])
@pytest.mark.parametrize("seconds", [-1, 0, 10**6, float("inf")])
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_time_that_nobody_can_wait_for_is_refused(kind, setting, seconds):
    with pytest.raises(InvalidArgumentError, match=f"{setting} must be a number of seconds above 0 and below 1000000"):
        kind("http://127.0.0.1:1", **{setting: seconds})


@pytest.mark.parametrize("arguments", [{"timeout": "5"}, {"timeout": float("nan")}, {"confirmations": 1.5}])
def test_a_handle_is_waited_for_in_numbers(connect, reviewer, agent, arguments):
    handle = connect(reviewer).give_feedback(agent, 1)
    with pytest.raises(InvalidArgumentError, match="expected"):
        handle.wait(**arguments)
    assert handle.wait().value == 1


def test_the_asynchronous_client_refuses_alike(rpc, reviewer, deployment):
    client = Awaited(rpc, signer=reviewer, deployment=deployment)
    for method in METHODS:
        required = list(inspect.signature(getattr(Client, method)).parameters)[1:]
        with pytest.raises(BilateralError):
            getattr(client, method)(**{name: NEEDED.get(name) for name in required} | {required[0]: object()})
    client.close()
