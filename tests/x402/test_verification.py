"""A proof is verified only if every check passed; each check fails for its own reason."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from x402 import x402Client, x402ClientSync

from bilateral.x402 import AsyncVerifier, CheckName, Ed25519Key, LostAnswerError, Outcome, Verifier, protect_client
from bilateral.x402.clients.httpx import verification_of as verification_of_httpx
from bilateral.x402.clients.httpx import verifying_sync_transport, verifying_transport
from bilateral.x402.clients.purchase import PaymentOutcome
from bilateral.x402.clients.requests import verification_of as verification_of_requests
from bilateral.x402.clients.requests import verifying_session
from bilateral.x402.clients.transports import paid_request
from bilateral.x402.proof import keys
from tests.sdk.servers import HttpServer
from tests.x402 import examples
from tests.x402.buying import BODY, OTHER_KEY, assert_only, buy, signed_anew, with_payment, with_settlement
from tests.x402.world import NETWORK, PRICE, SIGNING_KEY, paying_client, publish_odd, signer_entry


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_paid_answer_is_verified_over_httpx(shop, rpc, deployment, buyer, seller, agent, method):
    async def fetch():
        async with AsyncVerifier({rpc: deployment}) as verifier:
            client = protect_client(paying_client(buyer, x402Client), verifier)
            async with httpx.AsyncClient(transport=verifying_transport(client, verifier)) as http:
                path = "/weather?city=Bergen" if method == "GET" else "/echo"
                content = None if method == "GET" else BODY * 1000
                response = await http.request(method, shop + path, content=content)
                return response, response.content

    response, body = asyncio.run(fetch())
    verification = verification_of_httpx(response)
    assert verification.is_verified, verification.problems
    assert body == ('{"city":"Bergen","weather":"snø"}'.encode() if method == "GET" else BODY * 1000)
    payment = verification.payment
    assert (payment.payer, payment.payee, payment.amount) == (buyer.address, seller.address, PRICE)
    assert verification.registration.agent.agent == str(agent)
    assert verification.signer.public_key == SIGNING_KEY.public_key
    assert verification.request_target == f"{method} {shop}{'/weather?city=Bergen' if method == 'GET' else '/echo'}"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_paid_answer_is_verified_over_httpx_without_an_event_loop(shop, rpc, deployment, buyer, method):
    path, content = ("/weather?city=Bergen", None) if method == "GET" else ("/echo", BODY * 1000)
    with Verifier({rpc: deployment}) as verifier:
        client = protect_client(paying_client(buyer, x402ClientSync), verifier)
        with httpx.Client(transport=verifying_sync_transport(client, verifier)) as http:
            response = http.request(method, shop + path, content=content)
    verification = verification_of_httpx(response)
    assert verification.is_verified, verification.problems
    assert response.content == (content or '{"city":"Bergen","weather":"snø"}'.encode())
    assert verification.request_target == f"{method} {shop}{path}"


@pytest.mark.parametrize("size", [1, 1000])
def test_paid_answer_is_verified_over_requests(shop, rpc, deployment, buyer, size):
    with Verifier({rpc: deployment}) as verifier:
        client = protect_client(paying_client(buyer, x402ClientSync), verifier)
        with verifying_session(client, verifier) as session:
            response = session.post(shop + "/echo", data=BODY * size)
    verification = verification_of_requests(response)
    assert response.content == BODY * size
    assert verification.is_verified, verification.problems


def test_free_answer_has_no_verification(shop, rpc, deployment, buyer):
    async def fetch():
        async with AsyncVerifier({rpc: deployment}) as verifier:
            client = protect_client(paying_client(buyer, x402Client), verifier)
            with HttpServer() as server:
                server.routes["/free"] = b"free"
                async with httpx.AsyncClient(transport=verifying_transport(client, verifier)) as http:
                    return await http.get(server.url + "/free")

    assert verification_of_httpx(asyncio.run(fetch())) is None


def test_proof_is_verified_by_third_parties_later(verifier, bought):
    assert verifier.verify(bought).is_verified
    verification = verifier.verify(bought, historical=True)
    assert verification.is_verified, verification.problems
    assert verification.is_historical


@pytest.mark.parametrize("part", ["request", "response"])
def test_tampered_body_fails(verifier, bought, part):
    tampered = replace(bought, **{part: BODY + b"!"})
    assert_only(verifier.verify(tampered), CheckName.INTERACTION_HASH, problem="does not match these bodies")


def test_body_that_cannot_be_decoded_fails(verifier, bought):
    assert_only(verifier.verify(replace(bought, response=None)), CheckName.INTERACTION_HASH, problem="decoded")


def test_replayed_proof_of_another_payment_fails(verifier, bought, bought_before):
    replayed = with_settlement(bought, extensions=bought_before.settlement["extensions"])
    names = {check.name for check in verifier.verify(replayed).checks if check.outcome is Outcome.FAILED}
    assert names == {CheckName.TASK_REF, CheckName.INTERACTION_HASH, CheckName.PAYMENT}


def test_whole_settlement_of_another_payment_fails(verifier, bought, bought_before):
    """The server answers with the true settlement and proof of another client's payment."""
    replayed = signed_anew(replace(bought, settlement=bought_before.settlement))
    verification = verifier.verify(replayed)
    assert verification.outcome(CheckName.PAYMENT) is Outcome.FAILED
    assert verification.outcome(CheckName.SIGNATURE) is Outcome.PASSED
    assert "by this authorization" in verification.problems[0]


def test_key_that_is_not_listed_fails(verifier, bought):
    forged = signed_anew(bought, OTHER_KEY)
    assert_only(verifier.verify(forged), CheckName.SIGNATURE, problem="Signature verification failed")


def test_transaction_that_does_not_exist_fails(verifier, bought):
    unknown = "0x" + "ab" * 32
    forged = signed_anew(with_settlement(bought, transaction=unknown), taskRef=f"{NETWORK}:{unknown}")
    verification = verifier.verify(forged)
    assert "not in any block" in verification.problems[0]
    assert verification.outcome(CheckName.PAYMENT) is Outcome.FAILED
    assert verification.outcome(CheckName.PAY_TO) is Outcome.UNCHECKED


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (("accepted", "amount"), str(PRICE + 1), "1000 was signed, but 1001 was agreed"),
        (("accepted", "amount"), str(PRICE - 1), "1000 was signed, but 999 was agreed"),
        (("accepted", "payTo"), "0x" + "12" * 20, "was agreed"),
        (("accepted", "asset"), "0x" + "12" * 20, "by this authorization"),
        (("payload", "authorization", "nonce"), "0x" + "12" * 32, "by this authorization"),
        (("payload", "authorization", "from"), "0x" + "12" * 20, "by this authorization"),
        (
            ("payload", "authorization"),
            None,
            "the payment contains none of the parts authorization and permit2Authorization",
        ),
        (("payload",), None, "the payment contains none of the parts authorization and permit2Authorization"),
        (("accepted", "amount"), "many", "'many' is not a number"),
        (("accepted", "amount"), "0", "the price must not be 0"),
    ],
)
def test_payment_on_other_terms_fails(verifier, bought, path, value, problem):
    verification = verifier.verify(with_payment(bought, *path, value=value))
    assert verification.outcome(CheckName.PAYMENT) is Outcome.FAILED
    assert problem in verification.problems[0]


def test_payment_with_too_few_confirmations_fails(rpc, deployment, web3, shop, enrich):
    with Verifier({rpc: deployment}, confirmations=3, receipt_seconds=0.5) as verifier:
        paid = buy(shop, enrich())
        verification = verifier.verify(paid)
        assert "1 of 3 confirmations" in verification.problems[0]
        web3.provider.make_request("anvil_mine", ["0x2"])
        assert verifier.verify(paid).is_verified


@pytest.mark.parametrize(
    ("settlement", "problem"),
    [
        (None, "the object is missing"),
        ({}, "success"),
        ({"success": False, "network": NETWORK, "transaction": "0x"}, "settlement failed"),
    ],
)
def test_answer_without_a_settlement_fails(verifier, bought, settlement, problem):
    verification = verifier.verify(replace(bought, settlement=settlement))
    assert verification.outcome(CheckName.SETTLEMENT) is Outcome.FAILED
    assert problem in verification.problems[0]
    assert not verification.is_verified


@pytest.mark.parametrize("extensions", [None, {}, {"8004-reputation": []}, {"8004-reputation": {"networkId": 7}}])
def test_answer_without_a_statement_fails(verifier, bought, extensions):
    verification = verifier.verify(with_settlement(bought, extensions=extensions))
    assert verification.outcome(CheckName.INTERACTION) is Outcome.FAILED
    assert verification.outcome(CheckName.SIGNATURE) is Outcome.UNCHECKED


def test_statement_of_another_agent_fails(verifier, bought):
    assert_only(verifier.verify(signed_anew(bought, agentId="999")), CheckName.AGENT, problem="is for agent 999")
    other = signed_anew(bought, agentRegistry=f"{NETWORK}:{examples.IDENTITY}")
    assert_only(verifier.verify(other), CheckName.AGENT, problem="the statement is for agent")


def test_settlement_on_another_network_fails(verifier, bought):
    verification = verifier.verify(with_settlement(bought, network="eip155:1"))
    failed = {check.name for check in verification.checks if check.outcome is Outcome.FAILED}
    assert failed == {CheckName.NETWORK, CheckName.TASK_REF}


@pytest.mark.parametrize("network", ["eip155:1", None])
def test_answer_on_an_unknown_network_is_unchecked(verifier, bought, network):
    verification = verifier.verify(with_payment(bought, "accepted", "network", value=network))
    assert {check.outcome for check in verification.checks} == {Outcome.UNCHECKED}
    assert len(verification.checks) == len(CheckName)
    assert not verification.is_verified


def test_node_that_fails_leaves_checks_undone(deployment, bought):
    with Verifier({"http://127.0.0.1:9": deployment}, request_timeout=2) as verifier:
        verification = verifier.verify(bought)
    assert verification.check(CheckName.PAYMENT).code == "cannot_check"
    undone = {check.name for check in verification.checks if check.outcome is Outcome.UNCHECKED}
    assert undone == {
        CheckName.PAYMENT,
        CheckName.PAY_TO,
        CheckName.REGISTRATION_FILE,
        CheckName.SIGNERS,
        CheckName.SIGNATURE,
    }


def seconds(**ago):
    return int((datetime.now(UTC) - timedelta(**ago)).timestamp())


@pytest.mark.parametrize(
    ("signers", "failed", "problem"),
    [
        ([signer_entry(OTHER_KEY)], CheckName.SIGNATURE, "Signature verification failed"),
        ([signer_entry(valid_until=1)], CheckName.SIGNERS, "No valid signers found"),
        ([signer_entry(valid_from=2**33)], CheckName.SIGNERS, "No valid signers found"),
        ([signer_entry()] * 65, CheckName.SIGNERS, "65 signers exceed the limit of 64"),
    ],
)
def test_key_that_is_not_valid_now_fails_now_but_not_for_the_past(verifier, own, publish, signers, failed, problem):
    agent_id, paid = own
    assert verifier.verify(paid).is_verified
    publish(agent_id, *signers)
    verification = verifier.verify(paid)
    assert verification.outcome(failed) is Outcome.FAILED
    assert problem in verification.problems[0]
    assert verifier.verify(paid, historical=True).is_verified


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nowhere", 404), ("DELETE", "/weather", 405)])
def test_error_of_the_server_leaves_the_payment_unknown_until_it_expires(
    shop, rpc, deployment, buyer, token, method, path, status
):
    before = token.functions.balanceOf(buyer.address).call()
    with Verifier({rpc: deployment}) as verifier:
        session = verifying_session(protect_client(paying_client(buyer, x402ClientSync), verifier), verifier)
        with pytest.raises(LostAnswerError) as caught:
            session.request(method, shop + path)
    assert (caught.value.status, caught.value.outcome) == (status, PaymentOutcome.UNKNOWN)
    assert token.functions.balanceOf(buyer.address).call() == before


@pytest.mark.parametrize(("status", "unpaid"), [(404, 404), (499, None), (500, None), (504, None)])
def test_an_answer_that_may_still_be_settled_is_not_called_unpaid(status, unpaid):
    payment = {"PAYMENT-SIGNATURE": b64encode(b"{}").decode()}
    assert paid_request(payment, "GET /", {}, b"", {}, b"", status=status).unpaid_status == unpaid


def test_odd_optional_fields_leave_a_seller_verifiable_after_the_payment(verifier, own, selling_client):
    agent_id, paid = own
    publish_odd(selling_client, agent_id)
    verification = verifier.verify(paid)
    assert verification.is_verified, verification.problems


def test_last_of_64_keys_signs_and_is_found_by_one_recovery(verifier, own, publish, monkeypatch):
    agent_id, paid = own
    recovered = []
    recover = keys._recovered
    monkeypatch.setattr(keys, "_recovered", lambda *signed: recovered.append(signed) or recover(*signed))
    publish(agent_id, *[signer_entry(OTHER_KEY)] * 63, signer_entry())
    assert verifier.verify(paid).signer.public_key == SIGNING_KEY.public_key
    assert len(recovered) == 1


def test_rotated_keys_overlap(verifier, own, publish):
    agent_id, paid = own
    new = Ed25519Key(bytes(range(3, 35)))
    publish(agent_id, signer_entry(valid_until=seconds(hours=-24)), signer_entry(new))
    assert verifier.verify(paid).is_verified
    assert verifier.verify(signed_anew(paid, new)).signer.algorithm == "ed25519"


def test_wallet_that_changes_later_does_not_unmake_the_payment(verifier, own, selling_client):
    agent_id, paid = own
    selling_client.unset_agent_wallet(agent_id).wait()
    assert verifier.verify(paid).is_verified


@pytest.fixture
def served_file(own, selling_client, deployment):
    """Serves the agent's registration file from a web server, over http."""
    agent_id, paid = own
    file = selling_client.load_agent(agent_id).file.to_bytes()
    with HttpServer() as server:
        server.routes["/agent.json"] = file
        selling_client.set_agent_uri(agent_id, server.url + "/agent.json").wait()
        yield paid


def test_file_over_http_verifies_nothing(verifier, served_file):
    verification = verifier.verify(served_file)
    assert verification.outcome(CheckName.REGISTRATION_FILE) is Outcome.FAILED
    assert "use https, ipfs or data" in verification.problems[0]


@pytest.mark.parametrize(
    ("uri", "outcome", "problem"),
    [
        ("", Outcome.UNCHECKED, "cannot be loaded"),
        ("https://127.0.0.1:9/agent.json", Outcome.UNCHECKED, "cannot be loaded"),
        ("data:application/json,{}", Outcome.FAILED, "Agent not registered on this network"),
        ("data:application/json,[]", Outcome.FAILED, "malformed"),
        ("data:application/json," + "[" * 5000, Outcome.FAILED, "malformed"),
        ("data:application/json,%7B%22signers%22:[7]%7D", Outcome.FAILED, "malformed"),
    ],
)
def test_hostile_file_verifies_nothing(verifier, own, selling_client, uri, outcome, problem):
    agent_id, paid = own
    selling_client.set_agent_uri(agent_id, uri).wait()
    verification = verifier.verify(paid)
    assert verification.outcome(CheckName.REGISTRATION_FILE) is outcome
    assert problem in " ".join(verification.problems)


def test_guarded_loader_follows_no_uri_to_this_machine(rpc, deployment, own, selling_client):
    agent_id, paid = own
    selling_client.set_agent_uri(agent_id, "https://127.0.0.1:9/agent.json").wait()
    with Verifier({rpc: deployment}) as verifier:
        assert "not a public address" in " ".join(verifier.verify(paid).problems)
