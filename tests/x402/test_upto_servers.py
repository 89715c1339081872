"""A metered server charges at most the ceiling, signs the payment that was made, and declares free answers."""

from __future__ import annotations

import asyncio
from queue import Queue

import pytest
from x402 import x402FacilitatorSync, x402ResourceServer
from x402.http import decode_payment_required_header
from x402.mechanisms.evm.exact import register_exact_evm_facilitator
from x402.mechanisms.evm.signers import FacilitatorWeb3Signer
from x402.mechanisms.evm.upto import UptoEvmFacilitatorScheme, UptoEvmServerScheme
from x402.schemas import PaymentAbortedError, ResourceConfig, SettleResponse

from bilateral.core.errors import InvalidArgumentError
from bilateral.dev.servers import facilitator_app_of, serving
from bilateral.x402 import (
    BlindTerms,
    Reputation8004ResourceServerExtension,
    ReputationDraftResourceServerExtension,
    declare_8004_reputation,
    declare_reputation_draft,
)
from bilateral.x402.server.a2a import paid_exchange
from bilateral.x402.server.exchange import CURRENT, Exchange
from tests.permit2 import FACILITATOR
from tests.x402.metered import CEILING, PRICE, paying_by_all
from tests.x402.permit2_shops import FRAMEWORKS, IDENTIFIER, options, permit2_shop, problem_of
from tests.x402.test_unsettled_answers import mine  # noqa: F401  # a fixture
from tests.x402.world import NETWORK, SIGNING_KEY, ask_price, assert_proves, resource_server, settled

WHOLE = 10**9


@pytest.fixture(scope="module")
def priced(payment_chain, seller):
    return options(payment_chain.token, seller.address)


@pytest.fixture(scope="module")
def declared(agent, deployment):
    return declare_8004_reputation(agent, deployment)


@pytest.fixture(scope="module")
def generous(agent, deployment):
    """A declaration that allows to charge nothing."""
    return declare_8004_reputation(agent, deployment, free_answers=True)


@pytest.fixture(scope="module", params=FRAMEWORKS)
def open_shop(request, every_facilitator_url, priced, declared):
    with permit2_shop(request.param, every_facilitator_url, priced, declared) as shop:
        yield shop


@pytest.fixture
def shop(open_shop):
    open_shop.runs.clear()
    return open_shop


@pytest.fixture
def payer(payment_chain):
    """Has tokens that Permit2 may move."""
    return payment_chain.buyer()


@pytest.mark.parametrize(("charge", "paid"), [("1234", 1234), ("40%", 2000), ("1", 1), (str(CEILING), CEILING)])
def test_answer_names_the_transaction_that_moved_the_charged_amount(shop, payment_chain, payer, charge, paid):
    response = shop.get(f"/metered?charge={charge.replace('%', '%25')}", shop.pay("/metered", payer))
    assert response.status_code == 200, response.text
    assert_proves(response, response.content)
    assert settled(response)["amount"] == str(paid)
    assert payment_chain.balance(payer.address) == WHOLE - paid


REFUSED = {
    "nothing": ("/metered", "0", "nothing_charged"),
    "several zeros": ("/metered", "000", "nothing_charged"),
    "more than the ceiling": ("/metered", str(CEILING + 1), "settlement_exceeds_ceiling"),
    "no number": ("/metered", "abc", "settlement_amount_invalid"),
    "a negative number": ("/metered", "-1", "settlement_amount_invalid"),
    "more digits than a number of the chain": ("/metered", "9" * 5000, "settlement_amount_invalid"),
    "less than the price": ("/exact", str(PRICE - 1), "settlement_amount_mismatch"),
    "more than the price": ("/exact", str(PRICE + 1), "settlement_amount_mismatch"),
    "nothing of a price": ("/eip3009", "0", "settlement_amount_mismatch"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_amount_that_was_not_agreed_is_not_settled(shop, payment_chain, payer, case):
    """The authorization has run the application, and does not run it again."""
    path, charge, code = REFUSED[case]
    headers = shop.pay(path, payer)
    assert problem_of(shop.get(f"{path}?charge={charge}", headers)) == code
    assert problem_of(shop.get(f"{path}?charge={charge}", headers)) == "payment_in_progress"
    assert shop.runs == [path]
    assert payment_chain.balance(payer.address) == WHOLE
    assert shop.extension.unsigned_responses == 0


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_server_that_declares_free_answers_delivers_them_without_a_proof(
    framework, every_facilitator_url, priced, generous, payment_chain, payer
):
    alarms = []
    with permit2_shop(framework, every_facilitator_url, priced, generous, on_unsigned=alarms.append) as shop:
        price = decode_payment_required_header(ask_price(shop.url + "/metered").headers["payment-required"])
        assert price.extensions["8004-reputation"]["info"]["freeAnswers"] is True
        headers = shop.pay("/metered", payer, identifier=IDENTIFIER)
        response = shop.get("/metered?charge=0", headers)
        assert (response.status_code, response.json()) == (200, {"charge": "0"})
        settlement = settled(response)
        assert (settlement["success"], settlement["transaction"], settlement["amount"]) == (True, "", "0")
        assert "8004-reputation" not in (settlement.get("extensions") or {})
        assert shop.get("/metered?charge=0", headers).json() == {"charge": "0"}  # the answer is kept
        other = shop.pay("/metered", payer)
        assert shop.get("/metered?charge=0", other).status_code == 200
        assert problem_of(shop.get("/metered?charge=0", other)) == "payment_in_progress"
        assert shop.runs == ["/metered"] * 2
        assert (alarms, shop.extension.signed_responses, shop.extension.unsigned_responses) == ([], 0, 0)
    assert payment_chain.balance(payer.address) == WHOLE


def test_client_need_not_echo_any_field_of_a_declaration(agent, deployment):
    """The SDK refuses a payment whose echo lacks a field of the price, unless the extension lists that field."""
    links = {"endpoint": "https://agent.example/weather", "feedback_aggregator": "https://feedback.example/submit"}
    declared = declare_8004_reputation(agent, deployment, blind=BlindTerms(), free_answers=True, **links)
    extension = Reputation8004ResourceServerExtension(SIGNING_KEY)
    assert {*declared["8004-reputation"]["info"]} == {*extension.dynamic_info_fields}


def test_price_without_free_answers_does_not_mention_them(shop):
    price = decode_payment_required_header(ask_price(shop.url + "/metered").headers["payment-required"])
    assert "freeAnswers" not in price.extensions["8004-reputation"]["info"]


def test_draft_declares_no_free_answers(every_facilitator_url, priced, agent, deployment, payer):
    draft = declare_reputation_draft(agent, deployment)
    kind = ReputationDraftResourceServerExtension
    with permit2_shop("FastAPI", every_facilitator_url, priced, draft, kind=kind) as shop:
        headers = shop.pay("/metered", payer)
        assert problem_of(shop.get("/metered?charge=0", headers)) == "nothing_charged"
        headers = shop.pay("/metered", payer)
        assert shop.get("/metered?charge=7", headers).status_code == 200


def test_free_answer_counts_for_no_rating_and_runs_no_work_for_paid_answers(
    every_facilitator_url, priced, agent, deployment, payer
):
    class Sealer:
        sealed = 0

        def envelope(self, *_):
            self.sealed += 1

    sealer, done = Sealer(), Queue()
    blind = declare_8004_reputation(agent, deployment, free_answers=True, blind=BlindTerms())
    with permit2_shop("FastAPI", every_facilitator_url, priced, blind, blind=sealer) as shop:
        for charge, sealed in (("0", 0), ("1", 1)):
            shop.on_run = lambda charge=charge: CURRENT.get().afterwards.append(lambda: done.put(charge))
            assert shop.get(f"/metered?charge={charge}", shop.pay("/metered", payer)).status_code == 200
            assert sealer.sealed == sealed
        assert done.get(timeout=10) == "1"


class LyingFacilitator:
    """Says that it has settled, and names no transaction."""

    def __init__(self, inner):
        self._inner = inner

    def settle(self, _payload, requirements):
        return SettleResponse(success=True, transaction="", network=NETWORK, amount=requirements.amount)

    def __getattr__(self, name):
        return getattr(self._inner, name)


def facilitator_of(rpc, **patience):
    signer = FacilitatorWeb3Signer("0x" + FACILITATOR.key.hex(), rpc, **patience)
    facilitator = x402FacilitatorSync()
    register_exact_evm_facilitator(facilitator, signer, NETWORK)
    return facilitator.register([NETWORK], UptoEvmFacilitatorScheme(signer))


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("path", ["/exact", "/eip3009", "/metered"])
def test_settlement_without_a_transaction_is_never_signed_and_raises_an_alarm(
    framework, path, rpc, priced, generous, payer
):
    alarms = []
    with (
        serving(facilitator_app_of(LyingFacilitator(facilitator_of(rpc)))) as url,
        permit2_shop(framework, url, priced, generous, on_unsigned=alarms.append) as shop,
    ):
        response = shop.buy(path, payer)
        assert response.status_code == 200
        assert "8004-reputation" not in (settled(response).get("extensions") or {})
        assert (alarms, shop.extension.unsigned_responses) == (["InvalidArgumentError"], 1)


def test_signing_without_a_transaction_says_so(declared):
    extension = Reputation8004ResourceServerExtension(SIGNING_KEY)
    settlement = SettleResponse(success=True, transaction="", network=NETWORK)
    with pytest.raises(InvalidArgumentError, match="the settlement contains no transaction"):
        extension.sign(declared["8004-reputation"], settlement, Exchange(response=b"snow"))


class Restartable:
    """A facilitator that waits a moment for receipts, and forgets pending transactions when it starts again."""

    def __init__(self, rpc):
        self._rpc = rpc
        self.start_again()

    def start_again(self):
        self._inner = facilitator_of(self._rpc, confirmation_timeout_seconds=0.1)

    def __getattr__(self, name):
        return getattr(self._inner, name)


@pytest.fixture
def hasty(rpc):
    return Restartable(rpc)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("forgets", [False, True])
def test_answer_whose_settlement_was_pending_is_handed_over_for_its_first_amount(
    framework,
    forgets,
    hasty,
    priced,
    declared,
    verifier,
    payment_chain,
    payer,
    mine,  # noqa: F811
):
    with (
        serving(facilitator_app_of(hasty)) as url,
        permit2_shop(framework, url, priced, declared, verifier=verifier) as shop,
    ):
        headers = shop.pay("/metered", payer, identifier=IDENTIFIER)
        fetch = lambda: shop.get("/metered?charge=1234", headers)  # noqa: E731
        assert [problem_of(fetch()) for _ in range(2)] == ["settlement_pending"] * 2
        mine()
        if forgets:
            hasty.start_again()
        response = fetch()
        assert response.status_code == 200, response.text
        assert_proves(response, response.content)
        assert settled(response)["amount"] == "1234"
        assert shop.runs == ["/metered"]
    assert payment_chain.balance(payer.address) == WHOLE - 1234


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_pending_settlement_keeps_its_authorization(framework, hasty, priced, declared, payer, mine):  # noqa: F811
    with serving(facilitator_app_of(hasty)) as url, permit2_shop(framework, url, priced, declared) as shop:
        headers = shop.pay("/metered", payer)
        assert problem_of(shop.get("/metered?charge=1234", headers)) == "settlement_pending"
        assert problem_of(shop.get("/metered?charge=4000", headers)) == "payment_in_progress"
        assert shop.runs == ["/metered"]


def test_pending_settlement_is_not_retried_for_another_amount(
    hasty,
    payment_chain,
    seller,
    declared,
    payer,
    mine,  # noqa: F811
):
    """The facilitator would report the other amount as settled."""
    price = {"asset": payment_chain.token, "amount": str(CEILING), "extra": {"name": "Test Dollar", "version": "2"}}
    config = ResourceConfig(scheme="upto", network=NETWORK, pay_to=seller.address, price=price)

    async def talk(url):
        server = resource_server(x402ResourceServer, url, Reputation8004ResourceServerExtension(SIGNING_KEY))
        server.register(NETWORK, UptoEvmServerScheme()).initialize()
        (terms,) = server.build_payment_requirements(config)
        required = await server.create_payment_required_response([terms], extensions=declared)
        payment = paying_by_all(payer).create_payment_payload(required)
        charge = lambda amount: server.settle_payment(  # noqa: E731
            payment, terms.model_copy(update={"amount": amount}), declared_extensions=declared
        )
        with paid_exchange([{"kind": "text", "text": "Weather?"}]) as exchange:
            assert (await server.verify_payment(payment, terms, declared_extensions=declared)).is_valid
            exchange.answer([{"kind": "text", "text": "snow"}])
            assert (await charge("1234")).error_reason == "settlement_pending"
            with pytest.raises(PaymentAbortedError, match="settlement_amount_changed"):
                await charge("4000")
            mine()
            done = await charge("1234")
            assert (done.success, done.amount, exchange.is_signed) == (True, "1234", True)

    with serving(facilitator_app_of(hasty)) as url:
        asyncio.run(talk(url))
    assert payment_chain.balance(payer.address) == WHOLE - 1234


def test_free_answers_of_a_route_count_for_both_profiles(
    every_facilitator_url, priced, generous, agent, deployment, payer
):
    """Both sign what is paid for, and neither refuses or signs what is free."""
    both = {**generous, **declare_reputation_draft(agent, deployment)}
    draft = ReputationDraftResourceServerExtension(SIGNING_KEY)
    with permit2_shop("FastAPI", every_facilitator_url, priced, both, others=[draft]) as shop:
        free = shop.get("/metered?charge=0", shop.pay("/metered", payer))
        assert (free.status_code, settled(free).get("extensions")) == (200, None)
        paid = shop.get("/metered?charge=1", shop.pay("/metered", payer))
        assert {"8004-reputation", "reputation"} <= settled(paid)["extensions"].keys()
        assert [extension.unsigned_responses for extension in (shop.extension, draft)] == [0, 0]
