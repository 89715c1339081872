"""The aggregator over HTTP: a client pays, verifies, and gives feedback without ether; everybody reads the log."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bilateral.api.settings import ApiSettings
from bilateral.client import AsyncClient, Client
from bilateral.core.errors import InvalidArgumentError
from bilateral.index.log.database import open_database
from bilateral.x402 import (
    DuplicateFeedbackError,
    ReputationDraftResourceServerExtension,
    declare_8004_reputation,
    declare_reputation_draft,
)
from bilateral.x402.aggregator.client import (
    AggregatorFailedError,
    give_sponsored_feedback,
    give_sponsored_feedback_async,
)
from bilateral.x402.aggregator.messages import MAX_BODIES, Bodies
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError
from bilateral.x402.aggregator.settings import AggregatorSettings
from tests.api.world import served
from tests.waiting import until
from tests.x402.aggregator.world import Review
from tests.x402.buying import buy
from tests.x402.world import serving_wsgi

FEEDBACK = "/v1/aggregator/feedback"

SENT = ("submitted", "confirmed")
"""The states of feedback with a transaction. A chain that mines at once may confirm it before the answer."""


@pytest.fixture
def serve(sqlite_url, settings_with):
    """Serve an aggregator over HTTP, and yield a client of it."""

    @contextmanager
    def run(database=sqlite_url, **changes):
        open_database(database).dispose()
        api = ApiSettings(database=database, rate=None, aggregator=settings_with(**changes))
        with served(api) as url, httpx.Client(base_url=url, timeout=120) as client:
            yield client

    return run


@pytest.fixture
def http(serve):
    with serve() as client:
        yield client


@pytest.fixture(scope="module")
def quiet(tmp_path_factory, paid_by, enrich):
    """A client of an aggregator that takes nothing: one serves all tests of hostile questions."""
    database = f"sqlite:///{tmp_path_factory.mktemp('quiet') / 'index.sqlite'}"
    open_database(database).dispose()
    settings = AggregatorSettings((paid_by(enrich()),), allow_private=True)
    with (
        served(ApiSettings(database=database, rate=None, aggregator=settings)) as url,
        httpx.Client(base_url=url, timeout=120) as client,
    ):
        yield client


@pytest.fixture
def reviewer(rpc, deployment, loader, enrich, web3):
    """Pays for requests, and has no ether."""
    fresh = enrich()
    web3.provider.make_request("anvil_setBalance", [fresh.address, "0x0"])
    return fresh


@pytest.fixture
def registries(rpc, deployment, loader, reviewer):
    with Client(rpc, signer=reviewer, deployment=deployment, loader=loader, poll_interval=0.02) as client:
        yield client


def confirmed(http, number):
    return until(lambda: http.get(f"{FEEDBACK}/{number}").json(), lambda sponsored: sponsored["state"] == "confirmed")


def test_client_without_ether_pays_verifies_and_reviews(
    sell, agent, deployment, verifier, reviewer, registries, serve, fresh_postgres
):
    with serve(fresh_postgres) as http:
        url = str(http.base_url.join(FEEDBACK))
        with sell(declare_8004_reputation(agent, deployment, feedback_aggregator=url)) as shop:
            paid = buy(shop, reviewer)
        declared = paid.payment["extensions"]["8004-reputation"]["info"]["feedbackAggregator"]
        verification = verifier.verify(paid)
        taken = give_sponsored_feedback(
            registries, verification, 12, reviewer, aggregator=declared, send_bodies=True, http=http, comment="too warm"
        )
        assert taken.status in SENT
        assert (taken.proof, taken.is_new) == ("bound", True)
        entry = confirmed(http, taken.id)
        assert (entry["file"], entry["transaction"]) == ("checked", taken.transaction)
    (given_,) = registries.search_feedback(agent, reviewers=[reviewer.address], load_files=True)
    assert (given_.value, given_.file.comment) == (12, "too warm")
    with pytest.raises(DuplicateFeedbackError):
        give_sponsored_feedback(registries, verification, 1, reviewer, aggregator=declared)


def test_feedback_of_the_draft_is_sponsored(sell, agent, deployment, verifier, reviewer, registries, http):
    declared = declare_reputation_draft(agent, deployment)
    with sell(declared, kind=ReputationDraftResourceServerExtension) as shop:
        verification = verifier.verify(buy(shop, reviewer))
    taken = give_sponsored_feedback(registries, verification, 90, reviewer, aggregator=FEEDBACK, http=http)
    assert taken.proof == "bound"
    assert confirmed(http, taken.id)["file"] == "checked"


def test_feedback_is_given_without_blocking(rpc, deployment, shop, verifier, reviewer, http):
    verification = verifier.verify(buy(shop, reviewer))

    async def give():
        async with (
            AsyncClient(rpc, signer=reviewer, deployment=deployment, poll_interval=0.02) as client,
            httpx.AsyncClient(base_url=http.base_url, timeout=120) as asynchronous,
        ):
            return await give_sponsored_feedback_async(
                client, verification, 80, reviewer, aggregator=FEEDBACK, http=asynchronous
            )

    taken = asyncio.run(give())
    assert taken.status in SENT
    assert taken.proof == "unbound"
    confirmed(http, taken.id)


def test_refusal_reaches_the_client_with_its_code(serve, shop, verifier, reviewer, registries):
    verification = verifier.verify(buy(shop, reviewer))
    with serve(requires_bound_proof=True) as http, pytest.raises(FeedbackRefusedError) as refusal:
        give_sponsored_feedback(registries, verification, 80, reviewer, aggregator=FEEDBACK, http=http)
    assert refusal.value.code is Code.UNBOUND_PROOF


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"<html>", b'{"status":1}', b"x" * 10**6], ids=range(6))
def test_strange_answer_is_named(shop, verifier, reviewer, registries, body):
    verification = verifier.verify(buy(shop, reviewer))

    def answer(_, start):
        start("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    with serving_wsgi(answer) as url, httpx.Client() as http, pytest.raises(AggregatorFailedError):
        give_sponsored_feedback(registries, verification, 80, reviewer, aggregator=url, http=http)


def test_aggregator_without_https_is_not_used_by_default(shop, verifier, reviewer, registries):
    verification = verifier.verify(buy(shop, reviewer))
    with pytest.raises(InvalidArgumentError, match="not an https URL"):
        give_sponsored_feedback(registries, verification, 80, reviewer, aggregator="http://127.0.0.1/")


def test_statuses_tell_new_known_and_refused(http, review):
    asked = review()
    first = http.post(FEEDBACK, content=asked.content)
    assert first.status_code == 201
    assert first.json()["status"] in SENT
    again = http.post(FEEDBACK, content=asked.content)
    assert again.status_code == 200
    assert {**again.json(), "status": ""} == {**first.json(), "status": ""}
    assert first.headers["location"] == f"{FEEDBACK}/{first.json()['id']}"
    confirmed(http, first.json()["id"])
    other = http.post(FEEDBACK, content=asked.but(value=1, index=2).content)
    assert (other.status_code, other.json()["code"]) == (409, "DUPLICATE_TASK_REF")
    assert other.headers["content-type"] == "application/problem+json"
    assert other.json()["type"] == "urn:bilateral:problem:DUPLICATE_TASK_REF"


def test_answer_names_registry_transaction_and_file(http, review, deployment):
    answer = http.post(FEEDBACK, content=review().with_file().bound().content).json()
    assert answer == answer | {
        "settlementRegistry": f"eip155:31337:{deployment.reputation}",
        "proof": "bound",
        "file": "checked",
    }
    assert answer["txRef"].startswith("eip155:31337:0x")
    assert answer["feedbackURI"].startswith("data:")


def test_the_status_of_an_answer_tells_feedback_that_waits_for_a_transaction(serve, review, web3):
    asked = review()
    with serve(answer_seconds=0.01, lease_seconds=60.0) as http:
        answer = http.post(FEEDBACK, content=asked.content)
        assert answer.status_code == (202 if answer.json()["status"] == "queued" else 201)
        assert answer.json()["status"] in ("queued", *SENT)
        confirmed(http, answer.json()["id"])


def test_log_shows_all_feedback_page_by_page(http, review):
    asked = [review(value=value) for value in (90, 3, 55)]
    numbers = [http.post(FEEDBACK, content=review.content).json()["id"] for review in asked]
    first = http.get(FEEDBACK, params={"limit": 2}).json()
    assert [item["id"] for item in first["items"]] == numbers[:0:-1]
    later = http.post(FEEDBACK, content=review().content).json()["id"]
    rest = http.get(FEEDBACK, params={"limit": 2, "cursor": first["next"]}).json()
    assert ([item["id"] for item in rest["items"]], rest["next"]) == (numbers[:1], None)
    assert [item["value"] for item in first["items"] + rest["items"]] == [55, 3, 90]
    items = http.get(FEEDBACK, params={"client": asked[1].reviewer.address.lower()}).json()["items"]
    assert [item["id"] for item in items] == [numbers[1]]
    items = http.get(FEEDBACK, params={"task_ref": asked[2].task_ref, "agent": f"31337:{asked[2].agent.agent}"}).json()
    assert [item["id"] for item in items["items"]] == [numbers[2]]
    for number in (*numbers, later):
        confirmed(http, number)
    assert len(http.get(FEEDBACK, params={"state": "confirmed"}).json()["items"]) == 4
    assert http.get(FEEDBACK, params={"format": "csv"}).text.count("\n") >= 5


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{FEEDBACK}/999", 404),
        (f"{FEEDBACK}/{10**30}", 404),
        (f"{FEEDBACK}/x", 400),
        (f"{FEEDBACK}?agent=7", 400),
        (f"{FEEDBACK}?agent=x", 400),
        (f"{FEEDBACK}?client=x", 400),
        (f"{FEEDBACK}?task_ref=x", 400),
        (f"{FEEDBACK}?task_ref=solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:1", 400),
        (f"{FEEDBACK}?state=x", 400),
        (f"{FEEDBACK}?cursor=x", 400),
        (f"{FEEDBACK}?limit=0", 400),
    ],
)
def test_wrong_question_is_a_problem(quiet, path, status):
    assert quiet.get(path).status_code == status


def test_terms_and_tally_are_public(http, review, token, sponsor, deployment):
    number = http.post(FEEDBACK, content=review(value=5).content).json()["id"]
    entry = confirmed(http, number)
    assert http.post(FEEDBACK, content=b"{}").status_code == 422
    (terms,) = http.get("/v1/aggregator").json()
    assert terms == terms | {
        "network": "eip155:31337",
        "identity_registry": str(deployment.agent_registry),
        "account": sponsor.address,
        "tokens": {token.address: "1000"},
        "budget": str(10**18),
        "spent_today": entry["cost"],
    }
    tally = {entry["band"]: entry for entry in http.get("/v1/aggregator/tally").json()}
    assert tally[0]["accepted"] == {"confirmed": 1}
    assert tally[-1]["refused"] == {"INVALID_PAYLOAD": 1}


def test_figures_are_shown_to_monitors(http, review):
    number = http.post(FEEDBACK, content=review().content).json()["id"]
    entry = confirmed(http, number)
    http.post(FEEDBACK, content=b"{}")
    figures = dict(line.rsplit(" ", 1) for line in http.get("/metrics").text.splitlines() if line[0] != "#")
    shown = {name.removeprefix("bilateral_aggregator_"): float(value) for name, value in figures.items()}
    assert shown == shown | {
        "accepted_total": 1,
        "submitted_total": 1,
        "confirmed_total": 1,
        "failed_total": 0,
        'refused_total{code="INVALID_PAYLOAD"}': 1,
        'feedback{chain_id="31337",state="confirmed"}': 1,
        "gas_wei_total": float(entry["cost"]),
        'spent_today_wei{chain_id="31337"}': float(entry["cost"]),
        'budget_wei{chain_id="31337"}': 1e18,
        "working": 1,
    }


def test_service_without_an_aggregator_has_no_such_routes(sqlite_url):
    open_database(sqlite_url).dispose()
    with served(ApiSettings(database=sqlite_url, rate=None)) as url:
        assert httpx.get(url + FEEDBACK).status_code == 404
        assert httpx.post(url + FEEDBACK, content=b"{}").status_code == 404


def padded(review, size):
    """Return a message whose bodies have a size in all."""
    return json.dumps(review.but(bodies=Bodies(b"", b"x" * size)).object).encode()


def test_bodies_up_to_the_limit_are_read(http, review):
    asked = review()
    largest = http.post(FEEDBACK, content=padded(asked, MAX_BODIES)).json()
    assert largest["code"] == "INVALID_AGENT_SIGNATURE"
    larger = http.post(FEEDBACK, content=padded(asked, MAX_BODIES + 1))
    assert (larger.status_code, larger.json()["field"]) == (422, "bodies")
    assert http.post(FEEDBACK, content=b" " * 2 * MAX_BODIES).status_code == 413
    assert http.post("/v1/aggregator/other", content=b" " * (2**20 + 1)).status_code == 413


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def paths(value, path=()):
    """Yield the path of each field of a message."""
    if path:
        yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths(inner, (*path, name))


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_damaged_message_is_refused_or_taken_with_its_code(idle, damaged, data):
    message = json.loads(damaged)
    path = data.draw(st.sampled_from(sorted(paths(message))))
    place = message
    for name in path[:-1]:
        place = place[name]
    if data.draw(st.booleans()):
        del place[path[-1]]
    else:
        place[path[-1]] = data.draw(JSON)
    try:
        idle.submit(json.dumps(message).encode("utf-8", "surrogatepass"))
    except FeedbackRefusedError as refusal:
        assert refusal.code in Code


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_are_refused(idle, content):
    with pytest.raises(FeedbackRefusedError) as refusal:
        idle.submit(content)
    assert refusal.value.code is Code.INVALID_PAYLOAD


@pytest.fixture(scope="module")
def damaged(web3, token, enrich, seller, agent, deployment):
    return Review.paid(web3, token, enrich(), seller.address, 1000, deployment, agent, number=0).bound().content


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000], ids=["brackets", "objects"])
def test_deep_json_is_refused_before_it_is_parsed(quiet, content):
    answer = quiet.post(FEEDBACK, content=content)
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_body")


@pytest.mark.parametrize(
    "content",
    [
        b'{"interactionData":{},"interactionData":{}}',
        b"1e400",
        b"NaN",
        b'"\\ud800"',
        b"\xff\xfe",
        b"9" * 100_000,
    ],
    ids=["twice", "large", "nan", "surrogate", "utf-16", "digits"],
)
def test_hostile_json_is_refused(quiet, content):
    answer = quiet.post(FEEDBACK, content=content)
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_PAYLOAD")
