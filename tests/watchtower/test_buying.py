"""Paid probes: what is never paid, and a budget that holds whatever happens."""

from __future__ import annotations

import base64
import json
import multiprocessing
import random
from dataclasses import replace

import pytest
from eth_account import Account

from bilateral.documents.http import Network
from bilateral.index.measurements.values import Protocol, Target
from bilateral.watchtower.buying import Budget, Buyer, Purchase
from bilateral.watchtower.store import open_store
from tests.sdk.servers import HttpServer, respond

NETWORK, DOLLAR, OTHER = "eip155:8453", "0x" + "dd" * 20, "0x" + "ee" * 20
KEY = f"exact {NETWORK} {DOLLAR}"
NOON = 1_764_000_000 // 86_400 * 86_400 + 43_200


def option(amount=1000, **changes):
    terms = {"scheme": "exact", "network": NETWORK, "asset": DOLLAR, "amount": str(amount), "payTo": "0x" + "aa" * 20}
    return {**terms, "maxTimeoutSeconds": 60, "extra": {"name": "Dollar", "version": "2"}, **changes}


class Seller:
    """A server that sells, and what it was paid."""

    def __init__(self):
        self.server = HttpServer()
        self.options, self.status, self.payments = [option()], 200, []
        self.server.routes["/paid"] = self._answer

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *_):
        self.server.__exit__()

    def _answer(self, handler):
        header = handler.headers.get("PAYMENT-SIGNATURE")
        if header is None:
            resource = {"url": "https://seller.example", "description": "", "mimeType": "application/json"}
            message = {"x402Version": 2, "resource": resource, "accepts": self.options}
            offer = base64.b64encode(json.dumps(message).encode()).decode()
            respond(handler, b"{}", status=402, Payment_Required=offer)
            return
        self.payments.append(json.loads(base64.b64decode(header))["payload"]["authorization"])
        respond(handler, b"{}", status=self.status, Content_Type="application/json")

    @property
    def received(self):
        """The amounts of all payments that could be taken."""
        return sum(int(value) for value in {entry["nonce"]: entry["value"] for entry in self.payments}.values())

    def target(self, *agents):
        """The endpoint, as some agents list it."""
        listing = tuple(f"8453:{agent}" for agent in agents or (1,))
        return Target(Protocol.X402, f"{self.server.url}/paid", "localhost", listing, is_paid=True)


@pytest.fixture
def seller():
    with Seller() as seller:
        yield seller


@pytest.fixture
def buyer(tmp_path):
    engine = open_store(f"sqlite:///{tmp_path / 'watchtower.sqlite'}").engine
    budget = Budget({(NETWORK, DOLLAR): 6})
    yield Buyer(engine, Account.create(), budget, lambda *_: False, Network(allow_private=True), clock=lambda: NOON)
    engine.dispose()


FACTS = {"method": "GET", "price": {KEY: "1000"}}


def test_a_seller_that_delivers_is_paid_what_it_asked(buyer, seller):
    assert buyer.buy(seller.target(), FACTS) is Purchase.DELIVERED
    (payment,) = seller.payments
    assert (payment["value"], payment["to"].lower()) == ("1000", "0x" + "aa" * 20)
    assert payment["from"] == buyer.signer.address


@pytest.mark.parametrize(
    ("options", "price", "outcome"),
    [
        ([option(10**9)], "1000000000", Purchase.TOO_EXPENSIVE),
        ([option(50_001)], "50001", Purchase.TOO_EXPENSIVE),
        ([option(asset=OTHER)], "1000", Purchase.UNKNOWN_TOKEN),
        ([option(network="eip155:1")], "1000", Purchase.UNKNOWN_TOKEN),
        ([option(scheme="upto")], "1000", Purchase.UNKNOWN_TOKEN),
        ([option(extra={"assetTransferMethod": "permit2"})], "1000", Purchase.UNKNOWN_TOKEN),
        ([option(1001)], "1000", Purchase.PRICE_RAISED),
        ([option()], None, Purchase.PRICE_RAISED),
        ([], "1000", Purchase.NO_OFFER),
        ([option(payTo="nobody")], "1000", Purchase.NO_OFFER),
        ([option(extra={})], "1000", Purchase.NO_OFFER),
    ],
)
def test_nothing_is_paid_on_other_terms(buyer, seller, options, price, outcome):
    seller.options = options
    facts = FACTS | {"price": {} if price is None else {KEY: price}}
    assert buyer.buy(seller.target(), facts) is outcome
    assert seller.payments == []


def test_the_cheapest_known_option_is_paid(buyer, seller):
    seller.options = [option(900), option(1, asset=OTHER), option(800)]
    assert buyer.buy(seller.target(), FACTS) is Purchase.DELIVERED
    assert [payment["value"] for payment in seller.payments] == ["800"]


def test_a_price_raised_after_it_was_checked_is_not_paid(buyer, seller):
    raised = replace(buyer, declines=lambda *_: seller.options.__setitem__(0, option(40_000)))
    raised.buy(seller.target(), FACTS)
    assert [payment["value"] for payment in seller.payments] == ["1000"]


def test_an_agent_that_a_check_declines_is_not_paid(buyer, seller):
    cautious = replace(buyer, declines=lambda agent, _: agent == "8453:2")
    assert cautious.buy(seller.target(1, 2), FACTS) is Purchase.DECLINED
    assert seller.payments == []


def test_an_agent_is_bought_from_once_a_week(buyer, seller):
    assert buyer.buy(seller.target(), FACTS) is Purchase.DELIVERED
    assert buyer.buy(seller.target(), FACTS) is Purchase.BOUGHT_BEFORE
    later = replace(buyer, clock=lambda: NOON + 7 * 86_400)
    assert later.buy(seller.target(), FACTS) is Purchase.DELIVERED


def test_a_seller_that_does_not_deliver_gets_a_second_chance_alone(buyer, seller):
    seller.status = 500
    outcomes = [buyer.buy(seller.target(), FACTS) for _ in range(3)]
    assert outcomes == [Purchase.NOT_DELIVERED, Purchase.NOT_DELIVERED, Purchase.BOUGHT_BEFORE]


def test_another_kind_of_goods_than_declared_is_told(buyer, seller):
    seller.options = [option()]
    original = seller._answer
    seller.server.routes["/paid"] = lambda handler: (
        respond(handler, b"<html>", Content_Type="text/html")
        if handler.headers.get("PAYMENT-SIGNATURE")
        else original(handler)
    )
    assert buyer.buy(seller.target(), FACTS) is Purchase.WRONG_TYPE


def test_a_day_has_a_budget(buyer, seller):
    small = replace(buyer, budget=replace(buyer.budget, micros_of_day=2_500))
    outcomes = [small.buy(seller.target(agent), FACTS) for agent in range(4)]
    assert outcomes == [Purchase.DELIVERED] * 2 + [Purchase.OVER_BUDGET] * 2
    tomorrow = replace(small, clock=lambda: NOON + 86_400)
    assert tomorrow.buy(seller.target(9), FACTS) is Purchase.DELIVERED


def shop(url, account, budget, target):
    engine = open_store(url).engine
    buyer = Buyer(engine, account, budget, lambda *_: False, Network(allow_private=True), clock=lambda: NOON)
    for agent in range(10_000):
        if buyer.buy(replace(target, agents=(f"8453:{agent}",)), FACTS) is Purchase.OVER_BUDGET:
            return


@pytest.mark.parametrize("kills", [5, pytest.param(200, marks=pytest.mark.nightly)], ids=["short", "nightly"])
def test_the_budget_holds_although_the_buyer_is_killed(buyer, seller, kills):
    budget = replace(buyer.budget, micros_of_day=kills * 10_000)
    chances = random.Random(kills)  # noqa: S311  # moments of kills
    processes = multiprocessing.get_context("fork")
    arguments = (str(buyer.engine.url), buyer.signer, budget, seller.target())
    for number in range(kills + 1):
        run = processes.Process(target=shop, args=arguments)
        run.start()
        run.join(60 if number == kills else chances.uniform(0.05, 0.3))
        run.kill()
        run.join()
    assert 0 < seller.received <= budget.micros_of_day
    assert len(seller.payments) == len({payment["nonce"] for payment in seller.payments})
