"""Discounts and feedback by a service for buyers, from the command line, on real payments."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count
from types import SimpleNamespace

import ape
import httpx
import pytest

from bilateral.api.settings import ApiSettings
from bilateral.buyers.policies import BuyerSettings
from bilateral.core.contracts import Deployment
from bilateral.index.log.database import open_database
from bilateral.index.operating.settings import ChainSettings
from bilateral.index.operating.worker import Worker
from bilateral.index.payments.terms import PaymentTerms
from scripts._payments import sign_payment
from simulation.serving import serve_in_thread
from tests.api.world import served

DOLLAR = 1_000_000
INCENTIVES = {"enabled": True, "discounts": {"verified": 4, "trusted": 25}}
NUMBERS = count(10_000)


@pytest.fixture
def pay(token, deployer, buyer_registry, client, owner, other_client):
    """Settles payments of the client to the owner's agent, and returns the last transaction's hash."""

    def run(times, dollars):
        token.mint(client, times * dollars * DOLLAR, sender=deployer)
        for _ in range(times):
            terms = (client, owner.address, dollars * DOLLAR, next(NUMBERS))
            payment = sign_payment(token, ape.chain.chain_id, *terms)
            done = buyer_registry.settle(*payment.settled_in(token, in_parts=True), sender=other_client)
        return done.txn_hash

    return run


@pytest.fixture
def market(tmp_path, identity, reputation, token, agent, pay):
    """A service whose index knows three payments of ten dollars."""
    transaction = pay(3, 10)
    database = f"sqlite:///{tmp_path / 'index.sqlite'}"
    deployment = Deployment(ape.chain.chain_id, identity=identity.address, reputation=reputation.address)
    engine = open_database(database)
    chain = ChainSettings((ape.chain.provider.uri,), (deployment,), payments=PaymentTerms({token.address: 6}))
    Worker(engine, chain, stop=threading.Event()).run(until_head=True)
    engine.dispose()
    seller = f"eip155:{ape.chain.chain_id}:{identity.address}#{agent}"
    buyers = BuyerSettings(disputes=True)
    with served(ApiSettings(database=database, rate=None, max_silence=10**9, buyers=buyers)) as url:
        yield SimpleNamespace(url=url, seller=seller, transaction=transaction)


@pytest.fixture
def give(done, market, client, owner):
    """Gives feedback on the client, as the agent's owner."""

    def run(*options, key=owner, **settings):
        terms = {"--score": 90, "--transaction": market.transaction, "--seller": market.seller, "--service": market.url}
        arguments = [argument for pair in terms.items() for argument in pair]
        return done("buyer", "feedback", client, *arguments, *options, key=key, **settings)

    return run


@pytest.fixture
def incentives(tmp_path):
    """The file of a seller's policy."""
    path = tmp_path / "agent-buyer-incentives.json"
    path.write_text(json.dumps({"type": "…", "buyerIncentives": INCENTIVES}))
    return path


def test_a_service_is_asked_for_a_discount(done, market, client):
    shown = done("buyer", "discount", client, "--seller", market.seller, "--service", market.url)
    assert (shown["buyerTier"], shown["sellerGlobalId"]) == ("verified", market.seller)
    assert shown["discount"]["code"] == "not_offered"
    provider = {"BILATERAL_BUYER_SERVICE": f"{market.url}/api/buyer/"}
    assert done("buyer", "discount", client, "--seller", market.seller, **provider) == shown


@pytest.fixture
def paid(market):
    """The options of a message about the last payment."""
    return ("--transaction", market.transaction, "--seller", market.seller, "--service", market.url)


def test_show_and_discount_have_one_answer_and_name_its_sources(
    done, with_buyers, market, client, buyer_registry, attestor, incentives
):
    """The service does not count what the attestor says, and so the two sources differ."""
    for number in range(9):
        buyer_registry.recordPayment(client, 50 * DOLLAR, (1_000 + number).to_bytes(32), sender=attestor)
    buyer_registry.recordReviews([(client, 2, 130, 0)], sender=attestor)
    profile = httpx.get(f"{market.url}/api/buyer/{client.address}").json()
    reputation, service = profile["reputation"], {"BILATERAL_BUYER_SERVICE": market.url}
    by_service = [
        done("buyer", "show", client, **service),
        done("buyer", "show", client, **with_buyers, **service),
        done("buyer", "discount", client, "--incentives", incentives, **with_buyers, **service),
    ]
    assert {(entry["score"], entry["tier"]) for entry in by_service} == {(reputation["score"], "verified")}
    source = {
        "source": "service",
        "service": market.url,
        "scoring_policy": "brp-1.0",
        "as_of_block": profile["asOfBlock"],
    }
    assert [entry["sources"] for entry in by_service] == [[source]] * 3
    offered = done("buyer", "discount", client, "--seller", market.seller, **service)
    assert (offered["buyerScore"], offered["sources"][0]["source"]) == (reputation["score"], "service")

    on_chain = [
        done("buyer", "show", client, **with_buyers),
        done("buyer", "discount", client, "--incentives", incentives, **with_buyers),
    ]
    assert {entry["tier"] for entry in on_chain} == {"trusted"}
    assert on_chain[0]["score"] == on_chain[1]["score"]
    registry = f"eip155:{ape.chain.chain_id}:{buyer_registry.address}"
    assert {(entry["sources"][0]["source"], entry["sources"][0]["registry"]) for entry in on_chain} == {
        ("registry", registry)
    }


def test_policy_is_asked_of_a_service_alone(done, refused, with_buyers, market, client):
    strict = done("buyer", "show", client, "--policy", "independent-1.0", "--service", market.url)
    assert strict["reputation"]["scoringPolicy"] == "independent-1.0"
    error = refused(3, "buyer", "show", client, "--policy", "independent-1.0", **with_buyers)
    assert "--service" in error["message"]


def test_a_seller_publishes_a_service_with_its_policy(
    done, refused, market, client, owner, stranger, incentives, tmp_path
):
    details = tmp_path / "details.json"
    details.write_text(json.dumps({"serviceCategory": "audit", "x402Enabled": True}))
    options = ("--price", "0.05", "--incentives", incentives, "--details", details)
    terms = ("--seller", market.seller, "--service", market.url)
    taken = done("buyer", "publish", "audit", *options, *terms, key=owner)
    assert (taken["success"], taken["isNew"]) == (True, True)
    assert taken["warnings"] == ["trusted: 25 % exceeds the tier's maximum and is reduced to 10 %"]
    offered = done("buyer", "discount", client, *terms)
    assert (offered["originalPricing"], offered["discount"]["percentage"]) == ({"audit": 0.05}, 4)
    assert offered["discountedPricing"] == {"audit": 0.048}
    error = refused(4, "buyer", "publish", "audit", *terms, key=stranger)
    assert (error["reason"], error["arguments"]["code"]) == ("service_refused", "invalid_signature")
    for price in ("1_0", "-1", "cheap", "NaN"):
        assert "dollars" in refused(3, "buyer", "publish", "audit", f"--price={price}", *terms, key=owner)["message"]


def test_a_buyer_reviews_the_seller_and_it_counts(done, refused, market, paid, client, owner, stranger):
    options = ("--payee", owner, "--tag1", "quality", "--note", "good work", *paid)
    taken = done("buyer", "send-review", 80, *options, key=client)
    assert (taken["counted"], taken["isNew"]) == (True, True)
    assert not done("buyer", "send-review", 80, *options, key=client)["isNew"]
    metrics = httpx.get(f"{market.url}/api/buyer/{client.address}").json()["metrics"]
    assert (metrics["reviewsGiven"], metrics["avgReviewScore"]) == (1, 80)
    error = refused(4, "buyer", "send-review", 80, *options, key=stranger)
    assert error["arguments"]["code"] == "payment_not_found"
    assert "0..100" in refused(3, "buyer", "send-review", 101, *options, key=client)["message"]


def test_a_dispute_is_filed_answered_and_withdrawn(done, refused, market, paid, client, owner, stranger):
    filed = done("buyer", "dispute", client, "--reason", "charged back", *paid, key=owner)
    assert filed["isNew"]
    profile = f"{market.url}/api/buyer/{client.address}"
    assert httpx.get(profile).json()["metrics"]["disputeCount"] == 1
    asked = ("--chain-id", ape.chain.chain_id, "--service", market.url)
    (message,) = done("buyer", "messages", *asked, key=client)
    assert (message["kind"], message["text"]) == ("dispute", "charged back")
    assert done("buyer", "messages", *asked, key=stranger) == []
    answer = ("--text", "I paid twice", "--seller", market.seller, "--service", market.url)
    assert done("buyer", "reply", message["id"], *answer, key=client)["isNew"]
    (message,) = done("buyer", "messages", *asked, key=client)
    assert message["reply"] == "I paid twice"
    assert refused(4, "buyer", "reply", message["id"], *answer, key=stranger)["arguments"]["status"] == 401
    assert "64 hexadecimal" in refused(3, "buyer", "reply", "5c1f", *answer, key=client)["message"]
    done("buyer", "dispute", client, "--withdraw", *paid, key=owner)
    assert httpx.get(profile).json()["metrics"]["disputeCount"] == 0


@pytest.mark.parametrize(
    ("payments", "dollars", "tier", "percentage", "verdict"),
    [(2, 10, "new", "0", "tier_too_low"), (3, 10, "verified", "4", "granted")],
    ids=["new", "verified"],
)
def test_a_discount_is_worked_out_from_the_records_on_chain(
    done, with_buyers, client, pay, agent, incentives, payments, dollars, tier, percentage, verdict
):
    pay(payments, dollars)
    shown = done("buyer", "discount", client, "--incentives", incentives, **with_buyers)
    assert (shown["tier"], shown["percentage"], shown["verdict"]) == (tier, percentage, verdict)
    assert shown["score"] == done("buyer", "show", client, **with_buyers)["score"]
    assert shown["warnings"] == (
        [] if tier == "new" else ["trusted: 25 % exceeds the tier's maximum and is reduced to 10 %"]
    )


def test_policy_of_another_seller_is_loaded_by_its_url(done, refused, with_buyers, client, pay, agent, incentives):
    pay(3, 10)
    by_file = done("buyer", "discount", client, "--incentives", incentives, **with_buyers)
    document = b64encode(incentives.read_bytes()).decode()
    url = f"data:application/json;base64,{document}"
    assert done("buyer", "discount", client, "--incentives", url, **with_buyers) == by_file
    private = "http://127.0.0.1:1/.well-known/agent-buyer-incentives.json"
    error = refused(6, "buyer", "discount", client, "--incentives", private, **with_buyers)
    assert error["reason"] == "forbidden_address"


def test_both_records_count_for_a_discount(done, with_buyers, client, buyer_registry, attestor, pay, agent, incentives):
    pay(1, 10)
    for number in range(9):
        buyer_registry.recordPayment(client, 5 * DOLLAR, number.to_bytes(32), sender=attestor)
    buyer_registry.recordReviews([(client, 2, 130, 1)], sender=attestor)
    buyer_registry.recordFeedback(client, attestor, 80, sender=attestor)
    shown = done("buyer", "discount", client, "--incentives", incentives, **with_buyers)
    onchain = done("buyer", "show", client, **with_buyers)
    assert (shown["tier"], shown["percentage"]) == ("trusted", "10")
    assert (shown["tier"], shown["score"]) == (onchain["tier"], onchain["score"])


def test_a_seller_gives_feedback_and_it_counts(give, market, client):
    taken = give("--tag", "prompt-payment", "--tag", "polite", "--note", "paid at once")
    assert (taken["success"], taken["counted"], taken["isNew"]) == (True, True, True)
    again = give("--tag", "prompt-payment", "--tag", "polite", "--note", "paid at once")
    assert (again["feedbackId"], again["isNew"]) == (taken["feedbackId"], False)
    metrics = httpx.get(f"{market.url}/api/buyer/{client.address}").json()["metrics"]
    assert (metrics["sellerFeedbackCount"], metrics["avgSellerFeedback"]) == (1, 90)


def test_another_payment_of_the_transaction_is_named_by_its_log(refused, market, client, owner):
    terms = ("--score", 90, "--transaction", market.transaction, "--seller", market.seller, "--service", market.url)
    error = refused(4, "buyer", "feedback", client, *terms, "--log-index", 999, key=owner)
    assert (error["reason"], error["arguments"]["code"]) == ("service_refused", "payment_not_found")


def test_a_stranger_may_not_speak_for_a_seller(refused, market, client, owner, stranger):
    terms = ("--score", 0, "--transaction", market.transaction, "--seller", market.seller, "--service", market.url)
    error = refused(4, "buyer", "feedback", client, *terms, "--payee", owner, key=stranger)
    assert (error["reason"], error["arguments"]["status"]) == ("service_refused", 401)


def test_an_agent_of_a_registry_that_the_service_does_not_know_is_refused(refused, market, client):
    error = refused(4, "buyer", "discount", client, "--seller", AGENT, "--service", market.url)
    assert error["reason"] == "service_refused"


class Misbehaving(BaseHTTPRequestHandler):
    """Answers by the first part of the path."""

    answers = {"text": (200, b"hello"), "large": (200, b"{" + b" " * (1 << 20)), "bare": (500, b"{}")}  # noqa: RUF012

    def do_GET(self):
        status, body = self.answers[self.path.split("/")[1]]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Be silent."""


@pytest.fixture(scope="module")
def misbehaving():
    with serve_in_thread(HTTPServer(("127.0.0.1", 0), Misbehaving)) as url:
        yield url


@pytest.mark.parametrize(
    ("path", "code", "sentence"),
    [
        ("/text", 5, "the service's response (200) is invalid"),
        ("/large", 5, "the service's response exceeds the limit of 1048576 bytes"),
        ("/bare", 4, 'the service rejected the request with status 500: "without a reason"'),
    ],
    ids=["text", "large", "bare"],
)
def test_an_answer_of_another_kind_is_told_of(refused, misbehaving, client, path, code, sentence):
    url = misbehaving + path
    error = refused(code, "buyer", "discount", client, "--seller", "eip155:1:0x1#1", "--service", url)
    assert sentence in error["message"]


def test_a_service_that_does_not_answer_is_told_of(refused, client):
    error = refused(5, "buyer", "discount", client, "--seller", "1:1", "--service", "http://127.0.0.1:9")
    assert (error["reason"], "did not respond: ConnectError" in error["message"]) == ("service_failed", True)


AGENT = "eip155:1:0x8004A818BFB912233c491871b3d84c89A494BD9e#1"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--seller", AGENT], "both --service and --seller"),
        (["--seller", AGENT, "--service", "ftp://x"], '"ftp://x" is not the http or https URL of a service'),
        (
            ["--seller", AGENT, "--service", "https://x?y=1"],
            '"https://x?y=1" is not the http or https URL of a service',
        ),
        (["--seller", AGENT, "--incentives", "-"], "pass --incentives or --seller, not both"),
    ],
    ids=["no service", "scheme", "query", "both"],
)
def test_malformed_questions_are_refused(refused, client, options, sentence):
    assert sentence in refused(3, "buyer", "discount", client, *options)["message"]


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        ({"enabled": 1}, "buyerIncentives.enabled: "),
        ({"enabled": True, "discounts": {"trusted": 101}}, "buyerIncentives.discounts.trusted: "),
        ([], "buyerIncentives: "),
    ],
    ids=["not a truth value", "above 100", "list"],
)
def test_a_malformed_policy_is_refused(refused, client, policy, sentence):
    error = refused(3, "buyer", "discount", client, "--incentives", "-", stdin=json.dumps(policy))
    assert sentence in error["message"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"--score": 101}, "score 101 is out of range 0..100"),
        ({"--transaction": "0x12"}, "a transaction hash must have 32 bytes, not 1"),
        ({"--transaction": "12"}, "--transaction must be hexadecimal"),
        ({"--seller": "247"}, "247"),
    ],
    ids=["score", "short hash", "no hash", "agent"],
)
def test_malformed_feedback_is_refused(refused, client, owner, change, sentence):
    terms = {"--score": 1, "--transaction": "0x" + "07" * 32, "--seller": AGENT, "--service": "https://x"} | change
    arguments = [argument for pair in terms.items() for argument in pair]
    assert sentence in refused(3, "buyer", "feedback", client, *arguments, key=owner)["message"]
