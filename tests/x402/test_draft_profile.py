"""Servers may declare the upstream draft `reputation`, alone or beside the specification; clients verify either."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import Response
from flask import Flask
from x402 import x402ClientSync, x402ResourceServer, x402ResourceServerSync
from x402.http.clients.requests import x402_requests

from bilateral.core.errors import InvalidArgumentError
from bilateral.dev.servers import serving
from bilateral.x402 import (
    PROFILE_8004,
    PROFILE_DRAFT,
    CheckName,
    Ed25519Key,
    InvalidMessageError,
    Outcome,
    Reputation8004ResourceServerExtension,
    ReputationDraftResourceServerExtension,
    ReputationInfo,
    SettlementReceipt,
    declare_8004_reputation,
    declare_reputation_draft,
    protect_client,
)
from bilateral.x402.clients.requests import verification_of, verifying_session
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.exchange import Reservations
from bilateral.x402.server.stores import StoredReservations
from bilateral.x402.server.wsgi import protect_flask
from tests.x402 import examples
from tests.x402.buying import OTHER_KEY, assert_only, buy
from tests.x402.examples import changed
from tests.x402.world import (
    NETWORK,
    SIGNING_KEY,
    paying_client,
    payment_for,
    refusal,
    resource_server,
    route,
    serving_wsgi,
    settled,
    signer_entry,
)

BODY = b"snow in Oslo"
EXTENSIONS = (Reputation8004ResourceServerExtension, ReputationDraftResourceServerExtension)


@pytest.fixture(scope="module")
def declared(agent, deployment):
    """Both declarations by key."""
    return {**declare_8004_reputation(agent, deployment), **declare_reputation_draft(agent, deployment)}


@pytest.fixture(scope="module")
def open_draft(facilitator, token, seller):
    """Opens a server with declarations and extensions, and returns its URL and the extensions."""
    running = []

    def make(declared, extensions, **extra):
        app = FastAPI()

        @app.get("/weather")
        def weather(city: str = "Oslo"):
            return {"city": city}

        @app.post("/echo")
        async def echo(request: Request):
            return Response(await request.body())

        server = resource_server(x402ResourceServer, facilitator, extensions[0])
        for extension in extensions[1:]:
            server.register_extension(extension)
        routes = {"* /*": route(token.address, seller.address, declared, **extra)}
        app.add_middleware(ReputationMiddleware, routes=routes, server=server)
        context = serving(app)
        running.append(context)
        return context.__enter__()

    yield make
    for context in running:
        context.__exit__(None, None, None)


@pytest.fixture(scope="module")
def draft_shop(open_draft, declared):
    """A server that declares the draft alone."""
    extension = ReputationDraftResourceServerExtension(SIGNING_KEY, feedback_endpoint="https://feedback.example/")
    return open_draft({"reputation": declared["reputation"]}, [extension])


@pytest.fixture(scope="module")
def both_shop(open_draft, declared):
    """A server that declares both."""
    return open_draft(declared, [kind(SIGNING_KEY) for kind in EXTENSIONS])


@pytest.fixture(scope="module")
def bought(draft_shop, enrich):
    return buy(draft_shop, enrich())


def statement_of(paid):
    receipt = SettlementReceipt.of(paid.settlement, "reputation")
    return PROFILE_DRAFT.statement_of(receipt.interaction)


def signed_anew(paid, key=SIGNING_KEY, **changes):
    """Return a paid request whose statement another key signed, with some fields changed afterwards."""
    statement = statement_of(paid)
    written = PROFILE_DRAFT.statement_object(replace(statement, signature=key.sign(statement.interaction_hash)))
    return replace(paid, settlement={**paid.settlement, "extensions": {"reputation": written | changes}})


@pytest.mark.parametrize("path", ["/weather?city=Troms%C3%B8", "/weather", "/weather?"])
def test_answer_is_verified_with_path_and_query(draft_shop, rpc, deployment, verifier, buyer, path):
    client = protect_client(paying_client(buyer, x402ClientSync), verifier)
    with verifying_session(client, verifier) as session:
        verification = verification_of(session.get(draft_shop + path))
    assert verification.is_verified, verification.problems
    assert verification.profile == "reputation"
    assert verification.interaction.feedback_endpoint == "https://feedback.example/"
    assert verification.interaction.public_key.hex() == SIGNING_KEY.public_key


def test_body_and_target_are_signed(verifier, bought):
    assert verifier.verify(bought).is_verified
    assert verifier.verify(bought, historical=True).is_verified
    tampered = replace(bought, response=BODY + b"!")
    assert_only(verifier.verify(tampered), CheckName.INTERACTION_HASH)


def test_other_question_than_was_asked_is_noticed(verifier, draft_shop, buyer):
    paid = buy(draft_shop, buyer, "/weather?city=Oslo", "GET", None)
    assert verifier.verify(paid).is_verified
    other = replace(paid, target=paid.target.replace("Oslo", "Bergen"))
    assert_only(verifier.verify(other), CheckName.INTERACTION_HASH)


@pytest.mark.parametrize(
    ("changes", "failed", "problem"),
    [
        ({"agentSignerPublicKey": "0x" + OTHER_KEY.public_key}, "signature", "specifies a different key"),
        ({"dataHash": "0x" + "12" * 32}, "interaction_hash", "does not match these bodies"),
        ({"agentId": "999"}, "agent", "is for agent 999"),
        ({"agentRegistry": f"{NETWORK}:0x{'12' * 20}"}, "agent", "the statement is for agent"),
    ],
    ids=["key", "hash", "agent", "registry"],
)
def test_false_field_of_a_statement_is_noticed(verifier, bought, changes, failed, problem):
    assert_only(verifier.verify(signed_anew(bought, **changes)), CheckName(failed), problem=problem)


def test_key_that_is_not_listed_fails(verifier, bought):
    assert_only(verifier.verify(signed_anew(bought, OTHER_KEY)), CheckName.SIGNATURE)


def test_compressed_key_may_be_named(verifier, bought):
    compressed = ("03" if int(SIGNING_KEY.public_key[-1], 16) % 2 else "02") + SIGNING_KEY.public_key[2:66]
    assert verifier.verify(signed_anew(bought, agentSignerPublicKey="0x" + compressed)).is_verified


def test_seed_key_of_solana_signs_too(open_draft, publish, verifier, enrich, register, seller, deployment):
    key, own = Ed25519Key(bytes(range(5, 37))), register(seller)
    publish(own, signer_entry(key))
    url = open_draft(declare_reputation_draft(own, deployment), [ReputationDraftResourceServerExtension(key)])
    paid = buy(url, enrich())
    assert verifier.verify(paid).is_verified
    assert statement_of(paid).algorithm == "ed25519"


@pytest.mark.parametrize("flow", [{}, {"paymentFlow": "upfront"}], ids=["usual", "upfront"])
def test_server_may_sign_in_both_profiles(open_draft, declared, verifier, buyer, flow):
    extensions = [kind(SIGNING_KEY) for kind in EXTENSIONS]
    paid = buy(open_draft(declared, extensions, **flow), buyer)
    verification = verifier.verify(paid)
    assert verification.is_verified, verification.problems
    assert verification.profile == "8004-reputation"
    written = paid.settlement["extensions"]
    alone = replace(paid, settlement={**paid.settlement, "extensions": {"reputation": written["reputation"]}})
    verification = verifier.verify(alone)
    assert verification.is_verified, verification.problems
    assert verification.profile == "reputation"
    assert [extension.signed_responses for extension in extensions] == [1, 1]


@pytest.mark.parametrize("is_stored", [False, True], ids=["in memory", "in a database"])
def test_both_profiles_reserve_a_payment_in_one_store(open_draft, declared, verifier, buyer, tmp_path, is_stored):
    shared = StoredReservations(f"sqlite:///{tmp_path / 'reservations.sqlite'}") if is_stored else Reservations()
    url = open_draft(declared, [kind(SIGNING_KEY, reservations=shared) for kind in EXTENSIONS])
    assert verifier.verify(buy(url, buyer)).is_verified
    headers = payment_for(url + "/weather", buyer)
    assert [httpx.get(url + "/weather", headers=headers).status_code for _ in range(2)] == [200, 402]


def test_answer_of_both_profiles_is_fetched_again(both_shop, buyer):
    headers = payment_for(both_shop + "/weather", buyer, identifier="a-secret-of-16-or-more")
    first, again = (httpx.get(both_shop + "/weather", headers=headers) for _ in range(2))
    assert (again.status_code, settled(again)) == (200, settled(first))


def test_headers_of_both_profiles_stay_below_six_kilobytes(open_draft, agent, deployment, buyer):
    """They name agents on two chains."""
    solana = ReputationInfo.of(examples.MULTI_CHAIN_INFO).registrations[1]
    declare = (declare_8004_reputation, declare_reputation_draft)
    declared = {key: value for entry in declare for key, value in entry(agent, deployment, solana).items()}
    url = open_draft(declared, [kind(SIGNING_KEY) for kind in EXTENSIONS]) + "/weather"
    unpaid = httpx.get(url)
    paid = httpx.get(url, headers=payment_for(url, buyer))
    assert settled(paid)["extensions"].keys() == {"8004-reputation", "reputation"}
    for response in (unpaid, paid):
        assert sum(len(name) + len(value) + 4 for name, value in response.headers.raw) < 6144


def test_draft_is_signed_by_flask_too(facilitator, token, seller, declared, verifier, buyer):
    app = Flask("shop")

    @app.get("/weather/<city>")
    def weather(city):
        return city

    server = resource_server(x402ResourceServerSync, facilitator, ReputationDraftResourceServerExtension(SIGNING_KEY))
    draft = {"reputation": declared["reputation"]}
    protect_flask(app, {"* /*": route(token.address, seller.address, draft)}, server)
    with serving_wsgi(app) as url:
        paid = buy(url, buyer, "/weather/Troms%C3%B8?units=metric&a=b%20c", "GET", None)
    verification = verifier.verify(paid)
    assert verification.is_verified, verification.problems


def test_route_whose_profile_is_not_registered_is_refused(token, seller, declared):
    server = x402ResourceServer([]).register_extension(Reputation8004ResourceServerExtension(SIGNING_KEY))
    routes = {"GET /": route(token.address, seller.address, declared)}
    with pytest.raises(InvalidArgumentError, match="declares reputation: register the extension"):
        ReputationMiddleware(FastAPI(), routes=routes, server=server)


def test_malformed_feedback_endpoint_is_refused():
    with pytest.raises(InvalidMessageError, match="feedbackEndpoint"):
        ReputationDraftResourceServerExtension(SIGNING_KEY, feedback_endpoint="feedback")


def test_nothing_is_signed_for_a_compromised_server_of_the_draft(sell, declared, verifier, buyer, stranger):
    with sell({"reputation": declared["reputation"]}, pay_to=stranger.address, kind=EXTENSIONS[1]) as url:
        client = protect_client(paying_client(buyer), verifier)
        with pytest.raises(Exception, match="payment_address_mismatch"):
            x402_requests(client).get(url + "/weather")


def test_claim_beside_the_draft_is_read(draft_shop, buyer, deployment):
    def claim(payload):
        payload.extensions["reputation"]["info"] |= {"clientAgentId": "7"}
        return payload

    response = httpx.get(draft_shop + "/weather", headers=payment_for(draft_shop + "/weather", buyer, change=claim))
    assert (response.status_code, refusal(response)) == (402, "invalid_client_agent: clientAgentRegistry")


def test_declaration_that_is_checked_is_that_of_the_statement(verifier, bought):
    stripped = replace(bought, payment=changed(bought.payment, ["extensions", "reputation"], None))
    assert verifier.verify(stripped).outcome(CheckName.AGENT) is Outcome.FAILED


def test_profiles_have_hashes_of_their_own():
    assert PROFILE_8004.hashes("task", b"", "/", b"") != PROFILE_DRAFT.hashes("task", b"", "/", b"")
