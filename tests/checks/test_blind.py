"""Every reader tells blind ratings from open ones, sealed pairs are shown, and a reorganisation takes all back."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from mcp import Client
from sqlalchemy import text

from bilateral.api.settings import ApiSettings
from bilateral.checks import Policy
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.values.summaries import Blind
from bilateral.index.profiles.queries import agent as read_agent
from bilateral.index.ratings.feedback import FeedbackFilter, feedback_of
from bilateral.index.ratings.queries import Direction, rating_at, ratings_of
from bilateral.index.ratings.sealed import SealState, sealed_pairs_of
from bilateral.index.reading.registries import agent_key, read_registries
from bilateral.index.search.feedback import FeedbackSearch, search_feedback
from bilateral.index.search.filters import AgentSearch, Gate, Side
from bilateral.index.search.queries import search_agents
from bilateral.index.standing.inputs import read_tables
from tests.api.world import served
from tests.checks.ledger import (
    CHAIN_ID,
    IDENTITY,
    account,
    client_rated,
    feedback,
    opened,
    registered,
    revoked,
    sealed,
)

pytestmark = pytest.mark.one_engine

OWNER, ALICE, BOB, CAROL = (account(0xA0 + number) for number in range(4))
SERVER, CLIENT, OTHER = 1, 2, 3
ONLY = Policy(blind="only", minimum_raters=1)


@pytest.fixture
def story(any_ledger):
    """A server with two open and two blind feedback, of which one is by `exchange`; and two pairs that stay sealed."""
    ledger = any_ledger
    ledger.block(registered(SERVER, OWNER), registered(CLIENT, ALICE), registered(OTHER, BOB), registered(4, CAROL))
    ledger.block(feedback(SERVER, ALICE, 90), feedback(SERVER, CAROL, 95))
    ledger.block(sealed(CLIENT, SERVER), sealed(OTHER, SERVER))
    ledger.first = ledger.block([feedback(SERVER, ALICE, 20, index=2), opened(CLIENT, SERVER, ALICE, 2)])
    ledger.second = ledger.block([client_rated(CLIENT, SERVER, 40), opened(CLIENT, SERVER, ALICE, 0)])
    ledger.block(sealed(SERVER, OTHER), [feedback(SERVER, CAROL, 30, index=2), feedback(SERVER, BOB, 99)])
    ledger.third = ledger.block(
        [client_rated(4, SERVER, 60), feedback(SERVER, CAROL, 10, index=3), opened(4, SERVER, CAROL, 3)],
        client_rated(SERVER, OTHER + 1, 50),
    )
    return ledger


def key_of(connection, agent=SERVER):
    return agent_key(read_registries(connection), f"{CHAIN_ID}:{agent}")


def counted(check):
    return check.figures["rating"]["count"], check.figures["rating"]["raters"]


def test_feedback_and_ratings_say_that_they_are_blind(story):
    with story.engine.connect() as connection:
        key = key_of(connection)
        feedback_rows = feedback_of(connection, key).items
        ratings_given = ratings_of(connection, key, Direction.GIVEN).items
        received = ratings_of(connection, key).items
        blind = feedback_of(connection, key, FeedbackFilter(blind=Blind.ONLY)).items
        rated = ratings_of(connection, key, Direction.GIVEN, sealed=Blind.ONLY).items
        second = rating_at(connection, CHAIN_ID, story.second, 0)
    assert {(entry.client, entry.feedback_index): entry.is_blind for entry in feedback_rows} == {
        (ALICE, 1): False,
        (CAROL, 1): False,
        (CAROL, 2): False,
        (BOB, 1): False,
        (ALICE, 2): True,
        (CAROL, 3): True,
    }
    assert [(entry.client, entry.feedback_index) for entry in blind] == [(CAROL, 3), (ALICE, 2)]
    assert [(entry.agent_id, entry.rating, entry.is_blind) for entry in ratings_given] == [
        (4, 60, True),
        (CLIENT, 40, True),
    ]
    assert [(entry.server_id, entry.is_blind) for entry in received] == [(4, False)]
    assert rated == ratings_given
    assert second == ratings_given[1]


def test_open_rating_within_a_day_after_the_clients_feedback_is_an_answer(any_ledger):
    ledger = any_ledger
    accounts = {agent: account(0xB0 + agent) for agent in range(2, 8)}
    in_time, late, rated_first, silent, blind, critic_of_another = accounts
    ledger.block(registered(SERVER, OWNER), *(registered(agent, owner) for agent, owner in accounts.items()))
    ledger.block(client_rated(rated_first, SERVER, 50), feedback(SERVER, accounts[rated_first], 9))
    ledger.block(feedback(SERVER, accounts[late], 9), feedback(silent, accounts[critic_of_another], 9))
    ledger.block(feedback(SERVER, accounts[in_time], 9), revoked(SERVER, accounts[in_time], 1))
    answered = ledger.block(
        *(client_rated(agent, SERVER, 10) for agent in (in_time, late, silent, critic_of_another)), hours=24
    )
    ledger.block(feedback(SERVER, accounts[blind], 9))
    ledger.block([client_rated(blind, SERVER, 30), opened(blind, SERVER, accounts[blind], 0)])
    with ledger.engine.connect() as connection:
        ratings = ratings_of(connection, key_of(connection), Direction.GIVEN).items
        (received,) = ratings_of(connection, key_of(connection, in_time)).items
        answer = rating_at(connection, CHAIN_ID, answered, 0)
    assert {entry.agent_id for entry in ratings} == set(accounts)
    assert {entry.agent_id for entry in ratings if entry.is_answer} == {in_time}
    assert answer == received


def test_sealed_pairs_are_shown_with_the_sides_that_opened(story):
    story.block([client_rated(OTHER, SERVER, 70), opened(OTHER, SERVER, BOB, 0)])
    with story.engine.connect() as connection:
        pairs = sealed_pairs_of(connection, key_of(connection)).items
        page = sealed_pairs_of(connection, key_of(connection), limit=2)
        rest = sealed_pairs_of(connection, key_of(connection), limit=2, cursor=page.next)
        withheld = sealed_pairs_of(connection, key_of(connection), SealState.WITHHELD).items
    assert [(entry.client_id, entry.server_id, entry.state, entry.missing) for entry in pairs] == [
        (SERVER, OTHER, "sealed", ("client", "server")),
        (OTHER, SERVER, "withheld", ("client",)),
        (CLIENT, SERVER, "opened", ()),
    ]
    assert pairs[2].feedback == f"{CHAIN_ID}:{SERVER}:{ALICE}:1"
    assert (page.items, rest.items) == (pairs[:2], pairs[2:])
    assert withheld == pairs[1:2]


def test_withheld_rating_counts_nowhere(story):
    """The pair of the server and the other agent is sealed, so neither has a rating by the other."""
    with story.engine.connect() as connection:
        assert ratings_of(connection, key_of(connection, OTHER)).items == ()
        assert connection.execute(text("SELECT count(*) FROM summary WHERE agent_id = 3")).scalar_one() == 0


def test_figures_of_blind_ratings_alone_rank_agents(story):
    gate = Gate(tag="starred", blind=Blind.ONLY)
    with story.engine.connect() as connection:
        (every,) = search_agents(connection, AgentSearch(gates=(Gate(tag="starred"),))).items
        (blind_only,) = search_agents(connection, AgentSearch(gates=(gate,))).items
        by_alice = Gate(tag="starred", blind=Blind.ONLY, reviewers=(ALICE,))
        (named,) = search_agents(connection, AgentSearch(gates=(by_alice,))).items
        clients = Gate(side=Side.CLIENT, tag="", blind=Blind.ONLY)
        rated = search_agents(connection, AgentSearch(gates=(clients,))).items
        wanted = FeedbackSearch(CHAIN_ID, blind=Blind.ONLY)
        listed = search_feedback(connection, wanted).items
        shown = read_agent(connection, key_of(connection))
    assert (every.rating.count, blind_only.rating.count, blind_only.rating.mean, named.rating.mean) == (
        6,
        2,
        15.0,
        20.0,
    )
    assert sorted(entry.agent_id for entry in rated) == [CLIENT, 4]
    assert [(entry.client, entry.feedback_index) for entry in listed] == [(CAROL, 3), (ALICE, 2)]
    assert [(entry.side, entry.count) for entry in shown.ratings] == [("server", 6), ("client", 1)]
    with pytest.raises(
        InvalidArgumentError, match="blind only applies to ratings of servers and clients, not of validators"
    ):
        Gate(side=Side.VALIDATOR, blind=Blind.ONLY)


@pytest.mark.parametrize("policy", [ONLY, ONLY.model_copy(update={"maximum_rating_age_days": 30})], ids=["now", "aged"])
def test_check_counts_blind_ratings_alone_if_its_policy_says_so(story, policy):
    assert counted(story.server(SERVER, policy=Policy(minimum_raters=1))) == (6, 3)
    check = story.server(SERVER, policy=policy)
    assert counted(check) == (2, 2)
    (reason,) = [entry for entry in check.reasons if entry.code.value == "low_rating"]
    assert {(entry.block, entry.log_index) for entry in reason.evidence} == {(story.first, 0), (story.third, 1)}
    assert counted(story.server(SERVER, policy=policy, at_block=story.second)) == (1, 1)
    assert counted(story.client(CLIENT, policy=policy)) == (1, 1)
    assert counted(story.client(OTHER, policy=policy)) == (0, 0)


def test_revocation_and_reorganisation_take_blind_ratings_back(story):
    story.block(revoked(SERVER, ALICE, 2))
    assert counted(story.server(SERVER, policy=ONLY))[0] == 1
    story.roll_back(story.third)
    assert counted(story.server(SERVER, policy=ONLY))[0] == 2
    story.roll_back(story.first - 1)
    assert counted(story.server(SERVER, policy=ONLY))[0] == 0
    with story.engine.connect() as connection:
        pairs = sealed_pairs_of(connection, key_of(connection)).items
    assert [(entry.client_id, entry.state) for entry in pairs] == [(OTHER, "sealed"), (CLIENT, "sealed")]
    story.block([feedback(SERVER, ALICE, 20, index=2), feedback(SERVER, BOB, 1), opened(CLIENT, SERVER, ALICE, 2)])
    assert counted(story.server(SERVER, policy=ONLY))[0] == 0, "an opening marks the log before it alone"


def test_trust_analysis_knows_which_ratings_were_blind(story):
    with story.engine.connect() as connection:
        tables = read_tables(connection, CHAIN_ID, IDENTITY).tables
    assert sorted(tables.feedback["value"].to_pylist()) == [10, 20, 30, 90, 95, 99], "blind praise can be a friend's"
    ratings = tables.ratings
    assert dict(zip(ratings["rating"].to_pylist(), ratings["blind"].to_pylist(), strict=True)) == {
        40.0: True,
        60.0: True,
        50.0: False,
    }


def test_policy_bounds_the_repeats_of_one_rater(any_ledger):
    """Ten praises and one complaint of a day count as their mean, as the first praise alone, or with the next day."""
    ledger = any_ledger
    ledger.block(registered(SERVER, OWNER))
    ledger.block(*(feedback(SERVER, ALICE, 100, index=number) for number in range(1, 11)))
    ledger.block(feedback(SERVER, ALICE, 34, index=11))
    ledger.block(feedback(SERVER, ALICE, 0, index=12), hours=24)

    def rating(**changes):
        check = ledger.server(SERVER, policy=Policy(minimum_raters=1, **changes))
        return counted(check), str(check.figures["rating"]["rating"])

    assert rating() == ((12, 1), "86.16")
    assert rating(maximum_repeats=1) == ((2, 1), "50.00")
    assert rating(maximum_repeats=10) == ((11, 1), "90.90")
    assert rating(maximum_repeats=1, repeat_days=3_650) == ((1, 1), "100.00")


async def sealed_pairs_for_a_model(url, agent):
    async with Client(f"{url}/mcp") as session:
        answer = await session.call_tool("get_ratings", {"agent": agent, "sealed": True})
    return json.loads(answer.content[0].text)["data"]


def test_service_shows_blind_ratings_and_sealed_pairs_over_http_and_on_pages(story):
    """Ask every interface of one service: lists, searches, checks, GraphQL and pages."""
    settings = ApiSettings(
        database=story.engine.url.render_as_string(hide_password=False), rate=None, max_silence=10**9
    )
    agent = f"{CHAIN_ID}:{SERVER}"
    with served(settings) as url, httpx.Client(base_url=url) as http:
        only = {"blind": "only"}
        counts = {
            f"/v1/agents/{agent}/feedback": 2,
            f"/v1/agents/{agent}/ratings?direction=given": 2,
            f"/v1/search/feedback?chain={CHAIN_ID}": 2,
            "/v1/search/agents?tag=starred": 1,
        }
        for path, count in counts.items():
            answer = http.get(path, params={**httpx.URL(path).params, **only})
            assert len(answer.json()["items"]) == count, path
        pairs = http.get(f"/v1/agents/{agent}/sealed-pairs", params={"state": "sealed"}).json()["items"]
        assert [entry["missing"] for entry in pairs] == [["client", "server"], ["client", "server"]]
        assert asyncio.run(sealed_pairs_for_a_model(url, agent)) == http.get(f"/v1/agents/{agent}/sealed-pairs").json()
        policy = {"agent": agent, "policy": {"blind": "only", "minimum_raters": 1}}
        assert http.post("/v1/checks/server", json=policy).json()["figures"]["rating"]["count"] == 2
        wrong = http.get(f"/v1/agents/{agent}/feedback", params={"blind": "no"})
        assert (wrong.status_code, "blind" in wrong.text) == (400, True)
        query = "{ feedbacks(where: {isBlind: true}) { feedbackIndex isBlind } }"
        feedbacks = http.post("/graphql", json={"query": query}).json()["data"]["feedbacks"]
        assert sorted(entry["feedbackIndex"] for entry in feedbacks) == ["2", "3"]
        page = http.get(f"/{CHAIN_ID}/{SERVER}", follow_redirects=True).text
        assert "Sealed ratings" in page
        assert page.count(">blind</small>") == 4
        listed = http.get(f"/{CHAIN_ID}/{SERVER}/ratings", params=only, follow_redirects=True).text
        assert listed.count(">blind</small>") == 2
        assert "that were sealed before either side saw the other’s" in listed  # noqa: RUF001  # as on the page
        page = http.get(f"/{CHAIN_ID}/ratings/{story.second}-0", follow_redirects=True).text
        assert "blind: sealed before either side saw" in page
