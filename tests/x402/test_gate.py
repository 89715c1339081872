"""A server declines clients that it has rated badly, before they pay, and rates those that it served."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing, contextmanager, nullcontext

import httpx
import pytest
from fastapi import Depends, HTTPException
from sqlalchemy import text, update
from x402.http.clients.requests import x402_requests

from bilateral.checks import Code, Policy, Severity
from bilateral.client import Client
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.events import ClientRated
from bilateral.core.identifiers import GlobalAgentId
from bilateral.core.values.failures import FailureReason
from bilateral.index.errors import DatabaseUnavailableError
from bilateral.index.log.database import open_database
from bilateral.index.log.tables import EVENT_TABLES
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.index.operating.worker import follow_chains
from bilateral.index.reading.readers import Reader
from bilateral.index.standing.analysis import Refresher
from bilateral.index.standing.tables import standing
from bilateral.x402 import AsyncVerifier, PaymentRefusedError, VerifiedClient, declare_8004_reputation, protect_client
from bilateral.x402.proof.types import ClientAgent
from bilateral.x402.server.exchange import CURRENT, Exchange
from bilateral.x402.server.failures import FailedSettlement, FailedSettlements
from bilateral.x402.server.gate import rate_after_settlement, rate_client, reputable_client
from tests.sdk.client.helpers import CHAIN_ID, plain, transact
from tests.waiting import until
from tests.x402 import examples
from tests.x402.world import NETWORK, paying_client, payment_for, settled


@pytest.fixture(scope="module")
def server(sell, register, seller, publish, deployment, rpc, selling_client):
    """A gated server: its agent's id, its URL, and the standing of each client that it served."""
    agent_id, served = register(seller), []
    selling_client.set_primary_agent(agent_id).wait()
    publish(agent_id)
    verifier = AsyncVerifier({rpc: deployment})

    def route(path, **settings):
        gate = Depends(reputable_client(verifier, server_agent=agent_id, minimum=70, **settings))

        def make(app):
            @app.get(path)
            async def gated(standing: VerifiedClient | None = gate):
                served.append(standing)
                return {"rating": standing.rating if standing else None}

        return make

    def add(app):
        route("/gated")(app)
        route("/strict", newcomers=False)(app)
        route("/open", anonymous=True)(app)
        gate = Depends(reputable_client(verifier, server_agent=agent_id, minimum=70))

        @app.get("/rated")
        def rated(standing: VerifiedClient = gate):
            rate_after_settlement(selling_client, standing, 93)
            return {"weather": "snow"}

        @app.get("/failed")
        async def failed(standing: VerifiedClient = gate):
            rate_after_settlement(selling_client, standing, 93)
            raise HTTPException(404, "no such city")

    with sell(declare_8004_reputation(agent_id, deployment), register=add) as url:
        yield agent_id, url, served


@pytest.fixture
def client_agent(register, buyer, deployment):
    """An agent of the buyer's."""
    return GlobalAgentId(deployment.agent_registry, str(register(buyer)))


def pay(server, path, buyer, claim=None):
    _, url, _ = server

    def declare(payload):
        if claim is not None:
            payload.extensions["8004-reputation"]["info"] |= claim
        return payload

    return httpx.get(url + path, headers=payment_for(url + path, buyer, change=declare))


def claim_of(agent):
    return ClientAgent(agent).to_object()


def assert_declined(response, code, buyer, token):
    assert (response.status_code, response.json()["detail"]["error"]) == (403, code)
    assert token.functions.balanceOf(buyer.address).call() == 10**9


def test_client_is_served_rated_and_then_declined(server, selling_client, buyer, client_agent, token):
    _, _, served = server
    assert pay(server, "/gated", buyer, claim_of(client_agent)).json() == {"rating": None}
    assert served[-1] == VerifiedClient(client_agent, buyer.address, buyer.address, None)
    rate_client(selling_client, served[-1], 69).wait()
    paid = token.functions.balanceOf(buyer.address).call()
    response = pay(server, "/gated", buyer, claim_of(client_agent))
    assert (response.status_code, response.json()["detail"]) == (
        403,
        {"error": "low_rating", "reason": "the rating 69 is below the minimum 70"},
    )
    assert token.functions.balanceOf(buyer.address).call() == paid


def test_client_is_rated_once_its_payment_is_settled(server, selling_client, web3, buyer, client_agent):
    agent_id, _, _ = server
    response = pay(server, "/rated", buyer, claim_of(client_agent))
    assert response.json() == {"weather": "snow"}
    rating = until(
        lambda: selling_client.get_client_rating(client_agent, agent_id).rating, lambda value: value is not None
    )
    assert rating == 93
    paid = web3.eth.get_transaction_receipt(settled(response)["transaction"])["blockNumber"]
    assert web3.eth.block_number > paid


def test_client_whose_payment_is_not_settled_is_not_rated(server, selling_client, buyer, client_agent, token):
    agent_id, _, _ = server
    assert pay(server, "/failed", buyer, claim_of(client_agent)).status_code == 404
    assert token.functions.balanceOf(buyer.address).call() == 10**9
    assert pay(server, "/gated", buyer, claim_of(client_agent)).json() == {"rating": None}
    assert selling_client.get_client_rating(client_agent, agent_id).rating is None


def test_failure_to_rate_is_logged(caplog):
    exchange = Exchange(is_settled=True)
    done = []
    exchange.afterwards += [lambda: 1 // 0, lambda: done.append(1)]
    exchange.run_afterwards()
    assert (done, "a task that followed a paid answer failed" in caplog.text) == ([1], True)


def test_client_is_rated_within_a_paid_request_alone(selling_client, buyer, client_agent):
    standing = VerifiedClient(client_agent, buyer.address, buyer.address, None)
    with pytest.raises(InvalidArgumentError, match="no paid request is in progress"):
        rate_after_settlement(selling_client, standing, 93)


@pytest.mark.parametrize(("rating", "problem"), [(-1, True), (0, False), (100, False), (101, True)])
def test_rating_after_settlement_is_within_its_range(selling_client, buyer, client_agent, rating, problem):
    standing = VerifiedClient(client_agent, buyer.address, buyer.address, None)
    exchange = Exchange()
    token = CURRENT.set(exchange)
    try:
        with pytest.raises(InvalidArgumentError, match="out of range") if problem else nullcontext():
            rate_after_settlement(selling_client, standing, rating)
    finally:
        CURRENT.reset(token)
    assert len(exchange.afterwards) == (not problem)


def test_client_at_the_minimum_is_served(server, selling_client, buyer, client_agent):
    agent_id, _, _ = server
    selling_client.rate_client(client_agent, 70, server_id=agent_id).wait()
    assert pay(server, "/strict", buyer, claim_of(client_agent)).json() == {"rating": 70}


def test_unrated_client_is_declined_where_newcomers_are(server, buyer, client_agent, token):
    assert_declined(pay(server, "/strict", buyer, claim_of(client_agent)), "unrated_client", buyer, token)


def test_anonymous_client_is_declined_or_served(server, buyer, token):
    assert_declined(pay(server, "/gated", buyer), "anonymous_client", buyer, token)
    assert pay(server, "/open", buyer).json() == {"rating": None}


def test_claim_to_be_anothers_agent_is_not_believed(server, buyer, register, stranger, deployment, token):
    other = GlobalAgentId(deployment.agent_registry, str(register(stranger)))
    assert_declined(pay(server, "/gated", buyer, claim_of(other)), "not_the_client_agent", buyer, token)


def test_claim_in_an_unknown_registry_is_not_believed(server, buyer, client_agent, token):
    fake = GlobalAgentId.parse(f"eip155:{CHAIN_ID}:{examples.IDENTITY}#{client_agent.agent}")
    assert_declined(pay(server, "/gated", buyer, claim_of(fake)), "unknown_registry", buyer, token)


def test_claim_on_an_unknown_chain_is_not_believed(server, buyer, token):
    claim = examples.CLIENT_PAYLOAD["8004-reputation"]
    assert_declined(pay(server, "/gated", buyer, claim), "unsupported_network", buyer, token)


def test_agent_that_does_not_exist_is_not_believed(server, buyer, deployment, token):
    claim = claim_of(GlobalAgentId(deployment.agent_registry, "999999"))
    assert_declined(pay(server, "/gated", buyer, claim), "cannot_check", buyer, token)


def test_malformed_claim_takes_no_money(server, buyer, token):
    response = pay(server, "/gated", buyer, {"clientAgentId": "7"})
    assert response.status_code == 402
    assert token.functions.balanceOf(buyer.address).call() == 10**9


def test_wallet_of_the_client_agent_may_pay(server, rpc, deployment, verifier, register, enrich):
    """The agent's wallet pays, as the specification asks, and another account owns the agent."""
    owner, wallet = enrich(), enrich()
    agent = GlobalAgentId(deployment.agent_registry, str(register(owner)))
    with Client(rpc, signer=owner, deployment=deployment, poll_interval=0.02) as client:
        client.set_agent_wallet(agent, wallet.address, new_wallet_signer=wallet).wait()
    agent_id, _, _ = server
    for payer in (owner, wallet):
        standing = verifier.check_client(ClientAgent(agent), payer.address.lower(), agent_id)
        assert (standing.owner, standing.rating) == (owner.address, None)
    with pytest.raises(PaymentRefusedError, match="not the wallet or owner"):
        verifier.check_client(ClientAgent(agent), agent.registry.address, agent_id)


def test_our_client_declares_its_agent(server, verifier, buyer, client_agent):
    _, url, served = server
    client = protect_client(paying_client(buyer), verifier, client_agent=client_agent)
    assert x402_requests(client).get(url + "/gated").status_code == 200
    assert served[-1].agent == client_agent


def test_literal_form_of_the_specification_is_accepted(server, buyer, client_agent):
    _, url, served = server

    def declare(payload):
        payload.extensions["8004-reputation"] = claim_of(client_agent)
        return payload

    response = httpx.get(url + "/gated", headers=payment_for(url + "/gated", buyer, change=declare))
    assert (response.status_code, served[-1].agent) == (200, client_agent)


@pytest.fixture(scope="module")
def wary(sell, register, seller, publish, deployment, rpc):
    """A gate that refuses payers with more than one failed settlement, but for one route that shows them alone."""
    agent_id, served, failures = register(seller), [], FailedSettlements()
    publish(agent_id)
    verifier = AsyncVerifier({rpc: deployment})

    def add(app):
        for path, limit in (("/wary", 1), ("/patient", None)):
            settings = {"failures": failures, "max_failed_settlements": limit, "anonymous": True}
            gate = Depends(reputable_client(verifier, server_agent=agent_id, minimum=70, **settings))

            @app.get(path)
            async def serve(standing: VerifiedClient | None = gate):
                served.append(standing)

    with sell(declare_8004_reputation(agent_id, deployment), register=add) as url:
        yield (agent_id, url, served), failures


def fail(failures, payer, number, network=NETWORK):
    for key in range(number):
        failures.add(
            FailedSettlement(
                f"{network} {payer.address} {key}".encode(),
                network,
                payer.address,
                time.time(),
                "insufficient_funds",
                {},
                1000,
                reason=FailureReason.INSUFFICIENT_BALANCE,
            )
        )


def test_standing_of_a_client_counts_its_failed_settlements(wary, buyer, client_agent):
    server, failures = wary
    fail(failures, buyer, 2)
    assert pay(server, "/patient", buyer, claim_of(client_agent)).status_code == 200
    assert server[2][-1].failures.reasons == {FailureReason.INSUFFICIENT_BALANCE: 2}


@pytest.mark.parametrize(("number", "is_declined"), [(1, False), (2, True)])
def test_payer_with_too_many_failed_settlements_is_declined_whoever_it_is(
    wary, buyer, client_agent, token, number, is_declined
):
    server, failures = wary
    fail(failures, buyer, number)
    fail(failures, buyer, 9, "eip155:1")
    for claim in (None, claim_of(client_agent)):
        if is_declined:
            assert_declined(pay(server, "/wary", buyer, claim), "failed_settlements", buyer, token)
        else:
            assert pay(server, "/wary", buyer, claim).status_code == 200


def test_failures_that_cannot_be_read_decline_where_they_have_a_limit(wary, buyer, client_agent, monkeypatch):
    server, failures = wary

    def count(*_):
        raise DatabaseUnavailableError("the disk is full")

    monkeypatch.setattr(failures, "count", count)
    declined = pay(server, "/wary", buyer, claim_of(client_agent))
    assert (declined.status_code, declined.json()["detail"]["error"]) == (403, "cannot_check")
    assert pay(server, "/patient", buyer, claim_of(client_agent)).status_code == 200
    assert server[2][-1].failures is None


def test_limit_of_failures_needs_what_counts_them(rpc, deployment):
    with pytest.raises(InvalidArgumentError, match="max_failed_settlements requires failures="):
        reputable_client(AsyncVerifier({rpc: deployment}), server_agent=1, minimum=70, max_failed_settlements=1)


@pytest.mark.parametrize(("number", "status"), [(0, 200), (1, 403)])
def test_check_of_an_index_weighs_failed_settlements(gated, index_now, buyer, client_agent, number, status):
    failures, (reader, _) = FailedSettlements(), index_now()
    fail(failures, buyer, number)
    policy = Policy(newcomers="accept", severities={Code.FAILED_SETTLEMENTS: Severity.DECLINE})
    with gated(reader, policy=policy, failures=failures) as (agent_id, url, _):
        response = pay((agent_id, url, []), "/gated", buyer, claim_of(client_agent))
    assert response.status_code == status, response.text
    if number:
        assert response.json()["detail"]["error"] == "failed_settlements"


@pytest.fixture(scope="module")
def index_now(rpc, deployment, tmp_path_factory):
    """Indexes the chain as it is now, and returns a reader of the index. A test that changes the index copies it."""
    folder, opened = tmp_path_factory.mktemp("index"), []
    url = f"sqlite:///{folder / 'index.sqlite'}"
    settings = IndexSettings((ChainSettings((rpc,), (deployment,), 0),), url, poll_seconds=0.05, analyses=False)

    def make(*, copied=False):
        engine = open_database(url)
        try:
            follow_chains(engine, settings, stop=threading.Event(), until_head=True)
        finally:
            engine.dispose()
        database = url
        if copied:  # with what is in the write-ahead log alone, while readers of former tests are open
            copy = folder / f"copy-{len(opened)}.sqlite"
            database = f"sqlite:///{copy}"
            with closing(sqlite3.connect(folder / "index.sqlite")) as connection:
                connection.execute("VACUUM INTO ?", (str(copy),))
        opened.append(Reader(database, seconds=30))
        return opened[-1], database

    yield make
    for reader in opened:
        reader.close()


class Counting(AsyncVerifier):
    """A verifier that notes the ratings that the gate knew before it asked the chain."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.known = []

    async def check_client(self, claim, payer, server_agent, *, indexed_rating=None):
        self.known.append(indexed_rating)
        return await super().check_client(claim, payer, server_agent, indexed_rating=indexed_rating)


@pytest.fixture
def gated(sell, register, seller, publish, deployment, rpc, selling_client):
    """Opens a server whose gate asks an index; its agent's id, its URL, and the ratings that the index knew."""
    agent_id = register(seller)
    selling_client.set_primary_agent(agent_id).wait()
    publish(agent_id)

    @contextmanager
    def make(index, **settings):
        verifier = Counting({rpc: deployment})
        gate = Depends(reputable_client(verifier, server_agent=agent_id, minimum=70, index=index, **settings))

        def add(app):
            @app.get("/gated")
            async def serve(standing: VerifiedClient | None = gate):
                make.served.append(standing)
                return {"rating": standing.rating}

        with sell(declare_8004_reputation(agent_id, deployment), register=add) as url:
            yield agent_id, url, verifier.known

    make.agent_id, make.served = agent_id, []
    return make


@pytest.mark.parametrize(("rating", "status"), [(69, 403), (70, 200)])
def test_rating_of_the_index_decides(gated, index_now, selling_client, buyer, client_agent, rating, status):
    selling_client.rate_client(client_agent, rating, server_id=gated.agent_id).wait()
    reader, _ = index_now()
    with gated(reader) as (agent_id, url, known):
        assert pay((agent_id, url, []), "/gated", buyer, claim_of(client_agent)).status_code == status
    assert known == [rating]


def test_chain_decides_where_the_index_lags(gated, index_now, selling_client, buyer, client_agent):
    reader, _ = index_now()
    selling_client.rate_client(client_agent, 5, server_id=gated.agent_id).wait()
    with gated(reader) as (agent_id, url, known):
        response = pay((agent_id, url, []), "/gated", buyer, claim_of(client_agent))
    assert (response.json()["detail"]["error"], known) == ("low_rating", [None])


def test_chain_decides_where_the_index_fails(gated, index_now, selling_client, buyer, client_agent):
    selling_client.rate_client(client_agent, 5, server_id=gated.agent_id).wait()
    reader, database = index_now(copied=True)
    engine = open_database(database)
    with engine.begin() as connection:
        connection.execute(text(f"DROP TABLE {EVENT_TABLES[ClientRated].name}"))
    engine.dispose()
    with gated(reader) as (agent_id, url, known):
        response = pay((agent_id, url, []), "/gated", buyer, claim_of(client_agent))
    assert (response.json()["detail"]["error"], known) == ("low_rating", [None])


def test_owner_is_read_from_the_chain_whatever_the_index_says(
    gated, index_now, selling_client, buyer, client_agent, web3, deployment, stranger
):
    selling_client.rate_client(client_agent, 100, server_id=gated.agent_id).wait()
    reader, _ = index_now()
    identity = plain(web3, "IdentityRegistry", deployment.identity)
    move = identity.functions.transferFrom(buyer.address, stranger.address, int(client_agent.agent))
    transact(web3, move, buyer)
    with gated(reader) as (agent_id, url, _):
        response = pay((agent_id, url, []), "/gated", buyer, claim_of(client_agent))
    assert response.json()["detail"]["error"] == "not_the_client_agent"


def test_index_of_another_chain_or_registry_knows_nothing(gated, index_now, buyer, client_agent):
    reader, _ = index_now()
    with gated(reader) as (agent_id, url, known):
        elsewhere = examples.CLIENT_PAYLOAD["8004-reputation"]
        response = pay((agent_id, url, []), "/gated", buyer, elsewhere)
        assert response.json()["detail"]["error"] == "unsupported_network"
        fake = GlobalAgentId.parse(f"eip155:{CHAIN_ID}:{examples.IDENTITY}#{client_agent.agent}")
        response = pay((agent_id, url, []), "/gated", buyer, claim_of(fake))
        assert response.json()["detail"]["error"] == "unknown_registry"
    assert known == [None, None]


def test_check_of_the_index_is_shown(gated, index_now, selling_client, buyer, client_agent):
    selling_client.rate_client(client_agent, 80, server_id=gated.agent_id).wait()
    reader, _ = index_now()
    with gated(reader) as (agent_id, url, _):
        assert pay((agent_id, url, []), "/gated", buyer, claim_of(client_agent)).status_code == 200
    (standing,) = gated.served
    assert standing.check.agent == f"{CHAIN_ID}:{client_agent.agent}"
    assert standing.check.figures["rating_by_us"] == 80
    assert Code.RATED_BY_US in {reason.code for reason in standing.check.reasons}


def test_client_that_the_analysis_holds_back_is_declined_without_a_policy(
    gated, index_now, rpc, selling_client, buyer, client_agent
):
    selling_client.rate_client(client_agent, 90, server_id=gated.agent_id).wait()
    reader, database = index_now(copied=True)
    engine = open_database(database)
    Refresher(engine, {CHAIN_ID: (rpc,)}).refresh()
    columns = standing.c
    of_client = (columns.side == "client") & (columns.agent_id == int(client_agent.agent))
    with engine.begin() as connection:
        changed = connection.execute(update(standing).where(of_client).values(status="held_back", rank=None))
    engine.dispose()
    assert changed.rowcount == 1
    with gated(reader) as server:
        response = pay((*server[:2], []), "/gated", buyer, claim_of(client_agent))
    assert (response.status_code, response.json()["detail"]["error"]) == (403, "held_back")


def test_policy_may_ask_for_more_than_the_servers_own_rating(gated, index_now, selling_client, buyer, client_agent):
    selling_client.rate_client(client_agent, 90, server_id=gated.agent_id).wait()
    reader, _ = index_now()
    with gated(reader, policy=Policy(minimum_age_days=1, severities={Code.TOO_YOUNG: Severity.DECLINE})) as server:
        response = pay((*server[:2], []), "/gated", buyer, claim_of(client_agent))
    assert (response.status_code, response.json()["detail"]["error"]) == (403, "too_young")
    assert "payment-response" not in response.headers


def test_rating_by_another_server_counts_under_a_policy_alone(
    gated, index_now, rpc, deployment, enrich, buyer, client_agent
):
    other = enrich()
    with Client(rpc, signer=other, deployment=deployment, poll_interval=0.02) as rater:
        rater.register_agent().wait()
        rater.rate_client(client_agent, 3).wait()
    reader, _ = index_now()
    with gated(reader) as server:
        assert pay((*server[:2], []), "/gated", buyer, claim_of(client_agent)).status_code == 200
    with gated(reader, policy=Policy(minimum_raters=1)) as server:
        response = pay((*server[:2], []), "/gated", buyer, claim_of(client_agent))
    assert response.json()["detail"]["error"] == "low_rating"


def test_policy_serves_nobody_whom_the_index_does_not_know(gated, index_now, register, deployment, buyer):
    reader, _ = index_now()
    newest = GlobalAgentId(deployment.agent_registry, str(register(buyer)))
    with gated(reader, policy=Policy()) as server:
        response = pay((*server[:2], []), "/gated", buyer, claim_of(newest))
    assert response.json()["detail"]["error"] == "cannot_check"
    with gated(reader) as server:
        assert pay((*server[:2], []), "/gated", buyer, claim_of(newest)).status_code == 200


@pytest.mark.parametrize("setting", [{"policy": Policy()}, {"buyers": lambda *_: None}], ids=["policy", "buyers"])
def test_settings_of_the_check_need_an_index(rpc, deployment, setting):
    with pytest.raises(InvalidArgumentError, match="pass index="):
        reputable_client(AsyncVerifier({rpc: deployment}), server_agent=1, minimum=70, **setting)
