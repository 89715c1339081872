"""Files that may change: they are asked for changes only, and less often while they do not change."""

from __future__ import annotations

import pytest

from bilateral.documents import document_hash
from bilateral.index.changes.queries import FeedFilter, last_cursor, read_feed
from bilateral.index.files import tables as schema
from bilateral.index.log.database import snapshot
from tests.index.files.conftest import feedback_given, registered, registration, uri_updated
from tests.sdk.servers import respond

HOUR = 3600


class Versioned:
    """A file with an ETag, a time, or neither, that answers requests for changes."""

    def __init__(self, content, **marks):
        self.content, self.marks, self.answers = content, marks, []

    def __call__(self, handler):
        asked = {"ETag": handler.headers["If-None-Match"], "Last_Modified": handler.headers["If-Modified-Since"]}
        is_known = bool(self.marks) and all(asked[name] == mark for name, mark in self.marks.items())
        self.answers.append(304 if is_known else 200)
        respond(handler, b"" if is_known else self.content, self.answers[-1], **self.marks)


@pytest.fixture
def refreshed(story, server):
    """Register an agent with a versioned file, and load it once."""

    def make(content, **marks):
        server.routes["/agent.json"] = versioned = Versioned(content, **marks)
        story.block(*registered(f"{server.url}/agent.json"))
        story.settle()
        return versioned

    return make


DATE = "Sun, 22 Nov 2026 06:00:00 GMT"


def serve(story, server, marks):
    """Register an agent for each of some marks of files, and load their files."""
    files = [Versioned(registration(), **mark) for mark in marks]
    for number, versioned in enumerate(files, 1):
        server.routes[f"/{number}"] = versioned
        story.block(*registered(f"{server.url}/{number}", agent_id=number))
    story.settle()
    return files


def test_a_file_with_marks_is_not_sent_again_while_it_does_not_change(story, server):
    marks = [{"ETag": '"v1"'}, {"ETag": 'W/"v1"'}, {"Last_Modified": DATE}, {"ETag": '"v1"', "Last_Modified": DATE}]
    files = serve(story, server, marks)
    before = story.rows(schema.file)
    story.clock.pass_(1.2 * HOUR)
    story.settle()
    assert [versioned.answers for versioned in files] == [[200, 304]] * 4
    for former, row in zip(before, story.rows(schema.file), strict=True):
        assert [row[name] for name in ("file_id", "content_hash", "changed_at", "state")] == [
            former[name] for name in ("file_id", "content_hash", "changed_at", "state")
        ]
        assert row["checked_at"] > former["checked_at"]


def test_a_changed_file_replaces_all_that_the_former_one_said(story, refreshed):
    former = registration(name="Old", services=[{"name": "MCP", "endpoint": "https://a.example", "mcpTools": ["t"]}])
    versioned = refreshed(former, ETag='"v1"')
    versioned.content, versioned.marks = registration(name="New"), {"ETag": '"v2"'}
    story.clock.pass_(24 * HOUR)
    story.settle()
    row = story.file()
    assert (row["content_hash"], row["etag"]) == (document_hash(registration(name="New")), '"v2"')
    assert [row["name"] for row in story.rows(schema.registration_file)] == ["New"]
    assert story.rows(schema.registration_service) == story.rows(schema.registration_capability) == []
    assert len(story.rows(schema.file_content)) == 1


def test_a_content_that_another_file_has_too_is_kept(story, server, refreshed):
    versioned = refreshed(registration(), ETag='"v1"')
    server.routes["/other.json"] = registration()
    story.block(*registered(f"{server.url}/other.json", agent_id=2))
    story.settle()
    versioned.content, versioned.marks = registration(name="New"), {"ETag": '"v2"'}
    story.clock.pass_(24 * HOUR)
    story.settle()
    assert sorted(entry["name"] for entry in story.query("SELECT name FROM agent_registration")) == ["Agent", "New"]


def test_a_file_is_asked_for_less_often_while_it_does_not_change(story, refreshed):
    versioned = refreshed(registration())  # without marks: it is sent each time
    waits = []
    for _ in range(7):
        waits.append(story.file()["next_at"] - story.clock.now)
        story.clock.now = story.file()["next_at"]
        story.settle()
    for wait, hours in zip(waits, (1, 2, 4, 8, 16, 24, 24), strict=True):
        assert 0.89 * hours * HOUR < wait < 1.11 * hours * HOUR
    versioned.content = registration(name="New")
    story.clock.now = story.file()["next_at"]
    story.settle()
    assert story.file()["next_at"] - story.clock.now < 1.11 * HOUR


def test_a_file_whose_hash_is_on_chain_is_never_asked_for_again(story, server):
    server.routes["/f"] = b"{}"
    story.block(feedback_given(f"{server.url}/f", document_hash(b"{}")))
    story.settle()
    story.clock.pass_(1000 * HOUR)
    story.settle()
    assert len(server.requests) == 1


def test_a_file_that_its_agent_left_is_not_asked_for_any_more_until_it_comes_back(story, server, refreshed):
    versioned = refreshed(registration())
    server.routes["/new.json"] = registration(name="New")
    story.block(uri_updated(f"{server.url}/new.json"))
    story.settle()
    story.clock.pass_(1.2 * HOUR)
    story.settle()
    assert versioned.answers == [200]
    story.block(uri_updated(f"{server.url}/agent.json"))
    story.settle()
    assert versioned.answers == [200, 200]
    assert [entry["name"] for entry in story.query("SELECT name FROM agent_registration")] == ["Agent"]


def test_an_agent_that_names_its_file_again_has_it_loaded_at_once(story, server, refreshed):
    versioned = refreshed(registration())
    versioned.content = registration(name="New")
    story.block(uri_updated(f"{server.url}/agent.json"))
    story.settle()
    assert [entry["name"] for entry in story.query("SELECT name FROM agent_registration")] == ["New"]


def test_malformed_marks_are_not_sent_back(story, server):
    etags = ("unquoted", '"' + "x" * 300 + '"', '"a\tb"')
    marks = [*({"ETag": etag} for etag in etags), {"Last_Modified": "<script>"}, {"Last_Modified": "x" * 100}]
    serve(story, server, marks)
    story.clock.pass_(1.2 * HOUR)
    story.settle()
    assert len(server.requests) == 10
    for _, _, headers in server.requests:
        assert not {"If-None-Match", "If-Modified-Since"} & headers.keys()
    assert {row["state"] for row in story.rows(schema.file)} == {"loaded"}


def test_a_server_that_calls_an_unknown_file_unchanged_fails(story, server):
    server.routes["/a"] = lambda handler: respond(handler, b"", 304)
    story.block(*registered(f"{server.url}/a"))
    story.settle()
    assert (story.file()["state"], story.file()["reason"]) == ("failed", "unreachable_document")


def test_the_change_feed_tells_each_agent_of_a_file_that_its_content_changed(story, refreshed, server):
    versioned = refreshed(registration(name="Old"), ETag='"v1"')
    story.block(*registered(f"{server.url}/agent.json", agent_id=2))
    story.settle()
    with snapshot(story.engine) as connection:
        before = last_cursor(connection)
    versioned.content, versioned.marks = registration(name="New"), {"ETag": '"v2"'}
    story.clock.pass_(24 * HOUR)
    story.settle()
    with snapshot(story.engine) as connection:
        changes = read_feed(connection, before, FeedFilter()).items
    assert [change.agents for change in changes] == [("31337:1",), ("31337:2",)]
    assert all(change.kind == "file" and change.event is None for change in changes)
    assert changes[0].details["content_hash"] == f"0x{story.file()['content_hash'].hex()}"
    assert (changes[0].details["file"], changes[0].details["state"]) == ("registration", "loaded")
