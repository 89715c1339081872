"""The change feed over HTTP."""

from __future__ import annotations

import json
import threading
import time

import pytest

from bilateral.api import feed
from bilateral.api.routes import changes
from bilateral.index.changes.worker import FeedLimits, prune_feed
from bilateral.index.log.database import connect_engine
from tests.api.world import ALICE, FRANK

pytestmark = pytest.mark.one_engine


@pytest.fixture
def everything(api):
    """All changes of the world's index."""
    answer = api.get("/v1/changes", params={"since": "0", "limit": 1_000}).json()
    assert answer["is_end"]
    return answer["items"]


def test_the_feed_has_every_feedback_of_the_index_in_order(api, everything, api_world):
    ids = [tuple(map(int, change["id"].split("."))) for change in everything]
    assert ids == sorted(set(ids))
    listed = api.get("/v1/agents/31337:1/feedback", params={"limit": 1_000, "revoked": True}).json()["items"]
    told = [change for change in everything if change["kind"] == "feedback" and change["agents"] == ["31337:1"]]
    open_feedback = [change for change in told if change["registry"] == api_world.deployment.reputation]
    assert sorted((change["transaction"], change["log_index"]) for change in open_feedback) == sorted(
        (entry["transaction"], entry["log_index"]) for entry in listed
    )
    by_place = {(entry["transaction"], entry["log_index"]): entry for entry in listed}
    for change in open_feedback:
        entry = by_place[change["transaction"], change["log_index"]]
        for name in ("client", "feedback_index", "value", "tag1", "tag2", "endpoint", "hash"):
            assert change["details"][name] == entry[name]


def test_pages_and_json_lines_have_the_same_changes(api, everything):
    pages, cursor, is_end = [], "0", False
    while not is_end:
        lines = api.get("/v1/changes", params={"since": cursor, "limit": 7, "format": "jsonl"}).text.splitlines()
        *items, end = map(json.loads, lines)
        pages += items
        cursor, is_end = end["cursor"], end["is_end"]
    assert pages == everything


def test_filters_take_several_values(api, everything):
    params = {
        "since": "0",
        "limit": 1_000,
        "account": [ALICE.address.lower(), FRANK.address],
        "kind": ["feedback", "owner"],
    }
    answer = api.get("/v1/changes", params=params).json()["items"]
    assert answer == [
        change
        for change in everything
        if change["kind"] in ("feedback", "owner") and {ALICE.address, FRANK.address} & set(change["accounts"])
    ]
    tagged = api.get("/v1/changes", params={"since": "0", "tag": "uptime", "agent": "31337:2"}).json()["items"]
    assert tagged == [change for change in everything if "uptime" in change["tags"] and "31337:2" in change["agents"]]
    assert answer and tagged


def test_without_a_cursor_the_feed_begins_now(api, everything):
    answer = api.get("/v1/changes").json()
    assert (answer["items"], answer["is_end"]) == ([], True)
    assert int(answer["cursor"]) >= int(everything[-1]["id"].partition(".")[0])


def test_a_long_poll_without_changes_ends_with_its_time(api):
    began = time.monotonic()
    answer = api.get("/v1/changes", params={"wait": 0.7}).json()
    assert answer["items"] == []
    assert 0.7 <= time.monotonic() - began < 10


def events(response):
    """Yield the events of a stream as dictionaries."""
    event = {}
    for line in response.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        else:
            yield event
            event = {}


def test_a_stream_goes_on_after_the_last_id_that_its_client_has(api, everything, monkeypatch):
    monkeypatch.setattr(changes, "STREAM_SECONDS", 0.0)
    headers = {"Last-Event-ID": everything[2]["id"]}
    with api.stream("GET", "/v1/changes?format=sse&since=0&limit=5", headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        stream = list(events(response))
    assert stream[0] == {"retry": "1000"}
    told = [event for event in stream if event.get("event") == "change"]
    assert [event["id"] for event in told] == [json.loads(event["data"])["id"] for event in told]
    assert [json.loads(event["data"]) for event in told] == everything[3:8]
    assert stream[-1] == {"id": everything[7]["id"]}


@pytest.mark.parametrize("last_id", ["no-cursor", "9" * 18, "7" * 200, "é".encode(), "3.4"])
def test_a_stream_with_an_unusable_last_id_begins_now_and_says_so(api, everything, monkeypatch, last_id):
    monkeypatch.setattr(changes, "STREAM_SECONDS", 0.0)
    with api.stream("GET", "/v1/changes?format=sse", headers={"Last-Event-ID": last_id}) as response:
        assert (response.status_code, response.headers["content-type"].split(";")[0]) == (200, "text/event-stream")
        _, reset, *rest = list(events(response))
    assert reset["event"] == "reset"
    told = json.loads(reset["data"])
    assert (told["code"], told["cursor"]) == ("invalid_cursor", reset["id"])
    assert int(reset["id"]) >= int(everything[-1]["id"].partition(".")[0])
    assert rest == [{"id": reset["id"]}]


def test_a_stream_whose_last_id_was_pruned_begins_now_and_says_so(api_with, copied_database, monkeypatch):
    monkeypatch.setattr(changes, "STREAM_SECONDS", 0.0)
    engine = connect_engine(copied_database)
    assert prune_feed(engine, FeedLimits(steps=2)) > 0
    engine.dispose()
    headers = {"Last-Event-ID": "1"}
    with (
        api_with(database=copied_database) as api,
        api.stream("GET", "/v1/changes?format=sse", headers=headers) as response,
    ):
        assert response.status_code == 200
        reset = list(events(response))[1]
    assert (reset["event"], json.loads(reset["data"])["code"]) == ("reset", "cursor_pruned")


@pytest.mark.parametrize("query", ["since=0", "since=0&format=jsonl", "since=0&wait=1", "since=0&format=sse"])
def test_a_cursor_older_than_the_feed_is_gone_and_the_answer_says_how_to_go_on(api_with, copied_database, query):
    engine = connect_engine(copied_database)
    assert prune_feed(engine, FeedLimits(steps=2)) > 0
    engine.dispose()
    with api_with(database=copied_database) as api:
        gone = api.get(f"/v1/changes?{query}")
        assert (gone.status_code, gone.json()["code"]) == (410, "cursor_pruned")
        way_on = "the cursor '0' is too old: the changes after it were pruned. Read the agents again, and continue at "
        detail = gone.json()["detail"]
        assert detail.startswith(way_on)
        assert api.get("/v1/changes", params={"since": detail.removeprefix(way_on)}).json()["items"]


@pytest.mark.parametrize(
    ("query", "status", "code", "detail"),
    [
        ("since=x", 400, "invalid_cursor", "the cursor 'x' is malformed"),
        ("since=999999999", 400, "invalid_cursor", "is past the end of the feed"),
        ("since=999999999&format=sse", 400, "invalid_cursor", "is past the end of the feed"),
        (f"since={'1' * 61}", 400, "invalid_argument", "query.since"),
        ("kind=gossip", 400, "invalid_argument", "query.kind.0"),
        ("agent=31337", 400, None, "31337"),
        ("agent=5:1", 404, None, "5"),
        ("account=0x12", 400, None, "0x12"),
        ("limit=0", 400, "invalid_argument", "query.limit"),
        ("limit=1001", 400, "invalid_argument", "query.limit"),
        ("wait=31", 400, "invalid_argument", "query.wait"),
        ("wait=1&format=sse", 400, "invalid_argument", "streams always wait"),
        ("format=csv", 400, "invalid_argument", "query.format"),
        ("&".join(["tag=a"] * 21), 400, "invalid_argument", "query.tag"),
        ("cursor=0", 400, "invalid_argument", 'no parameter "cursor"'),
        ("since=0&since=1", 400, "invalid_argument", "passed 2 times"),
    ],
)
def test_wrong_parameters_are_refused(api, query, status, code, detail):
    answer = api.get(f"/v1/changes?{query}")
    assert answer.status_code == status
    assert code in (None, answer.json()["code"])
    assert detail in answer.json()["detail"]


def test_an_address_may_let_a_few_requests_wait(api, monkeypatch):
    monkeypatch.setattr(feed, "MOST_OF_ADDRESS", 2)
    with api.stream("GET", "/v1/changes?format=sse"), api.stream("GET", "/v1/changes?format=sse"):
        refused = api.get("/v1/changes", params={"wait": 1})
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_waiting")
        assert refused.headers["retry-after"] == "10"
        assert "2 requests waiting for changes" in refused.json()["detail"]
        assert api.get("/v1/changes").status_code == 200
    deadline = time.monotonic() + 20
    while (answer := api.get("/v1/changes", params={"wait": 0.1})).status_code == 429:
        assert time.monotonic() < deadline, "the ended streams keep their places"
        threading.Event().wait(0.2)
    assert answer.status_code == 200
