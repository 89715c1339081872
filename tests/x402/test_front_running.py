"""Anybody may settle a payment of the scheme exact by Permit2: its buyer gets one answer for it, whoever settles."""

from __future__ import annotations

from threading import Barrier, Thread

import pytest
from x402 import x402FacilitatorSync
from x402.mechanisms.evm.exact import register_exact_evm_facilitator
from x402.mechanisms.evm.upto import UptoEvmFacilitatorScheme

from bilateral.dev.servers import _LocalSettlingSigner, facilitator_app_of, serving
from bilateral.x402 import Verifier, declare_8004_reputation
from bilateral.x402.server.stores import StoredReservations
from tests.permit2 import RELAYER
from tests.sdk.client.helpers import deploy
from tests.x402.conftest import account
from tests.x402.metered import PRICE
from tests.x402.permit2_shops import FRAMEWORKS, options, permit2_shop, problem_of
from tests.x402.world import NETWORK, assert_proves, settled

WHOLE = 10**9


@pytest.fixture(scope="module")
def world(payment_chain, seller, agent, deployment):
    """The arguments of shops."""
    return options(payment_chain.token, seller.address), declare_8004_reputation(agent, deployment)


@pytest.fixture(scope="module")
def settling_url(rpc, web3, project, deployment, token):
    """The URL of a facilitator whose signer knows a payment that somebody else settled."""
    operator = account(8)
    arguments = (deployment.identity, [token.address], operator.address, operator.address)
    registry = deploy(web3, project.BuyerReputationRegistry, *arguments)
    facilitator = x402FacilitatorSync()
    signer = _LocalSettlingSigner(operator.key.hex(), rpc, registry=registry)
    register_exact_evm_facilitator(facilitator, signer, NETWORK)
    facilitator.register([NETWORK], UptoEvmFacilitatorScheme(signer))
    with serving(facilitator_app_of(facilitator)) as url:
        yield url


@pytest.fixture
def stored(tmp_path):
    """Opens reservations that processes share."""
    opened = []

    def make():
        opened.append(StoredReservations(f"sqlite:///{tmp_path / 'reservations.sqlite'}"))
        return opened[-1]

    yield make
    for reservations in opened:
        reservations.close()


@pytest.fixture
def payer(payment_chain):
    """Has tokens that Permit2 may move."""
    return payment_chain.buyer()


@pytest.fixture
def signed():
    """What the last payment signed."""
    return {}


def remembering(signed):
    def remember(payload):
        signed.update(payload.payload)
        return payload

    return remember


def by_stranger(chain, signed):
    """Return what settles the payment that was signed last, and remembers the transaction."""

    def settle():
        if not chain.is_used(signed["permit2Authorization"]["from"], signed["permit2Authorization"]["nonce"]):
            signed["transaction"] = chain.settle(signed, sender=RELAYER)["transactionHash"]

    return settle


def through_contract(chain, signed):
    """Return the same for a settlement inside another contract's call."""

    def settle():
        signed["transaction"] = chain.multicall(chain.call(signed), sender=RELAYER)["transactionHash"]

    return settle


def assert_delivers(response, signed):
    assert response.status_code == 200, response.text
    assert_proves(response, response.content)
    assert settled(response)["transaction"] == signed["transaction"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("settle", [by_stranger, through_contract])
def test_facilitator_reports_a_payment_that_somebody_else_settled_and_the_buyer_is_served_once(
    framework, settle, settling_url, world, payment_chain, payer, signed
):
    with permit2_shop(framework, settling_url, *world) as shop:
        shop.on_run = settle(payment_chain, signed)
        headers = shop.pay("/exact", payer, change=remembering(signed))
        assert_delivers(shop.get("/exact", headers), signed)
        assert problem_of(shop.get("/exact", headers)) == "payment_in_progress"
        assert shop.runs == ["/exact"]
    assert payment_chain.balance(payer.address) == WHOLE - PRICE


def test_facilitator_reports_such_a_payment_once_to_all_servers(settling_url, world, payment_chain, payer, signed):
    with (
        permit2_shop("FastAPI", settling_url, *world) as first,
        permit2_shop("FastAPI", settling_url, *world) as second,
    ):
        headers = first.pay("/exact", payer, change=remembering(signed))
        first.on_run = by_stranger(payment_chain, signed)
        assert_delivers(first.get("/exact", headers), signed)
        response = second.get("/exact", headers)
        assert (response.status_code, second.runs) == (402, ["/exact"])


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_server_with_shared_reservations_finds_the_settlement_and_delivers_once(
    framework, every_facilitator_url, world, verifier, stored, payment_chain, payer, signed
):
    with (
        permit2_shop(framework, every_facilitator_url, *world, verifier=verifier, reservations=stored()) as shop,
        permit2_shop(framework, every_facilitator_url, *world, reservations=stored()) as other,
    ):
        shop.on_run = by_stranger(payment_chain, signed)
        headers = shop.pay("/exact", payer, change=remembering(signed))
        assert_delivers(shop.get("/exact", headers), signed)
        assert problem_of(shop.get("/exact", headers)) == "nonce_used"
        assert problem_of(other.get("/exact", headers)) == "payment_in_progress"
        assert (shop.runs, other.runs) == (["/exact"], [])


@pytest.mark.parametrize("looks_up", [True, False])
def test_server_with_reservations_of_its_own_delivers_nothing_and_runs_no_second_time(
    looks_up, every_facilitator_url, world, verifier, payment_chain, payer, signed
):
    checks = {"verifier": verifier} if looks_up else {}
    with permit2_shop("FastAPI", every_facilitator_url, *world, **checks) as shop:
        shop.on_run = by_stranger(payment_chain, signed)
        headers = shop.pay("/exact", payer, change=remembering(signed), identifier="a-secret-of-16-or-more")
        assert problem_of(shop.get("/exact", headers)) == "transaction_failed"
        code = "nonce_used" if looks_up else "payment_in_progress"
        assert [problem_of(shop.get("/exact", headers)) for _ in range(2)] == [code] * 2
        assert shop.runs == ["/exact"]


def test_buyer_who_settles_its_own_payment_gets_no_answer_from_each_process(
    every_facilitator_url, world, verifier, payment_chain, payer, signed
):
    """All processes run the application before the settlement. Only one could know that it is the first."""
    settle, together, answers = by_stranger(payment_chain, signed), Barrier(2, timeout=60), []

    def on_run():
        if together.wait() == 0:
            settle()
        together.wait()

    shops = [permit2_shop("FastAPI", every_facilitator_url, *world, verifier=verifier) for _ in range(2)]
    with shops[0] as first, shops[1] as second:
        first.on_run = second.on_run = on_run
        headers = first.pay("/exact", payer, change=remembering(signed))
        fetch = lambda shop: answers.append(shop.get("/exact", headers))  # noqa: E731
        threads = [Thread(target=fetch, args=(shop,)) for shop in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [problem_of(answer) for answer in answers] == ["transaction_failed"] * 2


def test_payment_of_an_earlier_answer_buys_no_second_one_while_the_node_is_silent(
    every_facilitator_url, world, rpc, deployment, stored, tmp_path, payment_chain, payer
):
    """The reservation is forgotten, and nobody could tell before the application ran that the nonce is used."""

    class Node:
        is_silent = False

        def make_request(self, method, parameters):
            if self.is_silent:
                raise OSError("no answer")
            return {"result": payment_chain.rpc(method, *parameters)}

    node = Node()
    with (
        permit2_shop("FastAPI", every_facilitator_url, *world) as shop,
        Verifier({node: deployment}) as verifier,
        permit2_shop("FastAPI", every_facilitator_url, *world, verifier=verifier, reservations=stored()) as other,
    ):
        headers = shop.pay("/exact", payer)
        assert shop.get("/exact", headers).status_code == 200
        node.is_silent, other.on_run = True, lambda: setattr(node, "is_silent", False)
        assert problem_of(other.get("/exact", headers)) == "transaction_failed"
        assert other.runs == ["/exact"]


@pytest.mark.parametrize("looks_up", [True, False])
def test_authorization_that_failed_is_released_once_its_nonce_is_known_to_be_unused(
    looks_up, every_facilitator_url, world, verifier, payment_chain, payer
):
    checks = {"verifier": verifier} if looks_up else {}
    with permit2_shop("FastAPI", every_facilitator_url, *world, **checks) as shop:
        shop.on_run = lambda: payment_chain.approve(payer, amount=0)
        headers = shop.pay("/exact", payer)
        assert problem_of(shop.get("/exact", headers)) == "permit2_allowance_required"
        shop.on_run = lambda: None
        payment_chain.approve(payer)
        if looks_up:
            assert shop.get("/exact", headers).status_code == 200
            assert shop.runs == ["/exact"] * 2
        else:
            assert problem_of(shop.get("/exact", headers)) == "payment_in_progress"
            assert shop.runs == ["/exact"]
