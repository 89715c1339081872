"""Atom feeds of agents and accounts."""

from __future__ import annotations

from datetime import datetime
from xml.etree import ElementTree

import pytest

from tests.api.world import ERIN, FORMULA_TAG, FRANK

pytestmark = pytest.mark.one_engine

ATOM = {"atom": "http://www.w3.org/2005/Atom"}


def entries_of(answer):
    """Return the entries of a feed by title; a feed has what RFC 4287 asks for."""
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/atom+xml")
    feed = ElementTree.fromstring(answer.content)  # noqa: S314  # of this service
    assert all(feed.find(f"atom:{name}", ATOM) is not None for name in ("id", "title", "updated", "author/atom:name"))
    entries = feed.findall("atom:entry", ATOM)
    ids = [entry.findtext("atom:id", None, ATOM) for entry in entries]
    assert len(ids) == len(set(ids))
    times = [datetime.fromisoformat(entry.findtext("atom:updated", None, ATOM)) for entry in entries]
    assert times == sorted(times, reverse=True)
    assert len(feed.findall("atom:link[@rel='self']", ATOM)) == 1
    for entry in (feed, *entries):
        (link,) = entry.findall("atom:link[@rel='alternate']", ATOM)
        assert link.get("href").startswith("/")
    return {entry.findtext("atom:title", None, ATOM): entry for entry in entries}


def test_the_feed_of_an_agent_has_its_feedback_and_its_changes(api):
    entries = entries_of(api.get("/v1/agents/31337:1/atom"))
    assert any(title.startswith("Registered by 0x") for title in entries)
    assert "40 starred for 31337:1" in entries
    assert FRANK.address in entries["40 starred for 31337:1"].findtext("atom:content", None, ATOM)
    place = entries["40 starred for 31337:1"].find("atom:link", ATOM).get("href")
    assert "Rating 40" in api.get(place, headers={"Accept": "text/html"}).text


def test_the_feed_of_an_account_has_the_feedback_that_it_gave_and_a_strangers_text_stays_text(api, api_world):
    entries = entries_of(api.get(f"/v1/accounts/{ERIN.address.lower()}/atom"))
    assert f"1 {FORMULA_TAG} [U+000A]@x for 31337:{api_world.hostile}" in entries
    assert all(not len(child) for entry in entries.values() for child in entry)


def test_a_feed_that_did_not_change_is_not_sent_again(api):
    answer = api.get("/v1/agents/31337:1/atom")
    again = api.get("/v1/agents/31337:1/atom", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("path", "status"),
    [("agents/1", 400), ("agents/5:1", 404), ("accounts/0x12", 400), ("agents/31337:1/atom?x=1", 400)],
)
def test_wrong_names_are_refused(api, path, status):
    assert api.get(f"/v1/{path}{'' if '?' in path else '/atom'}").status_code == status
