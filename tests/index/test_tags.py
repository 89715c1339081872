"""Tags of any length: 32 bytes of authorised feedback, and texts that are longer than a key of a table."""

from __future__ import annotations

import pytest

from bench.world.people import AUTHORIZED, REPUTATION
from bilateral.core.events import NewAuthorizedFeedback, NewFeedback
from bilateral.index.log.text import MAX_KEY_BYTES
from bilateral.index.ratings import authorized
from bilateral.index.ratings.authorized import authorized_feedback_of
from bilateral.index.reading.registries import agent_key, read_registries
from bilateral.index.search.feedback import FeedbackSearch, search_feedback
from bilateral.index.search.filters import AgentSearch, Gate
from bilateral.index.search.queries import search_agents
from tests.explorer.stored import NOTHING, Ledger, account

TAGS = (b"fast", b"fast\0\0x", b"fast\xff", b"fast\xfe", "fast\ufffd".encode(), b"x" * 32, b"", b"fast?", b"fast?")


@pytest.fixture
def scores_under(engine):
    """Finds the scores of the feedback with a tag. Each of `TAGS` has its own, from 1."""
    ledger = Ledger(8453)
    ledger.register(1, account("owner"), "")
    for score, raw in enumerate(TAGS, 1):
        padded = raw.ljust(32, b"\0")
        ledger.log(NewAuthorizedFeedback, AUTHORIZED, 1, account(str(score)), score, padded, NOTHING, "", NOTHING, None)
    ledger.store(engine)

    def find(tag):
        with engine.connect() as connection:
            key = agent_key(read_registries(connection), "8453:1")
            return {item.score for item in authorized_feedback_of(connection, key, tag=tag).items}

    return find


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        (None, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
        ("fast", {1}),
        ("fast\ufffd\ufffdx", {2}),  # zeros within a tag
        ("fast\ufffd", {3, 4, 5}),
        ("\ufffd", set()),
        ("x" * 32, {6}),
        ("x" * 33, set()),
        ("", {7}),
        ("fast?", {8, 9}),
        ("fast\ud800", set()),
        ("fast\0", set()),
        ("\0", set()),
    ],
    ids=[
        *("any", "plain", "zeros", "no text", "none", "longest", "too long", "empty", "question mark"),
        *("surrogate", "trailing zero", "zero"),
    ],
)
def test_feedback_with_a_tag_has_the_bytes_that_the_tag_stands_for(scores_under, tag, expected):
    assert scores_under(tag) == expected


@pytest.mark.parametrize(("most", "expected"), [(5, {4, 5}), (4, {5}), (3, set())])
def test_few_tags_are_compared_with_one_that_stands_for_several(scores_under, monkeypatch, most, expected):
    monkeypatch.setattr(authorized, "_MOST_TAGS", most)
    assert scores_under("fast\ufffd") == expected, "three others begin alike, and their bytes are lower"
    assert scores_under("fast") == {1}


def test_tag_is_searched_for_whatever_its_length(engine):
    tags = ["x" * MAX_KEY_BYTES, "x" * (MAX_KEY_BYTES + 1), "ü" * MAX_KEY_BYTES, "x" * MAX_KEY_BYTES + "y"]
    ledger = Ledger(8453)
    for agent, tag in enumerate(tags, 1):
        ledger.register(agent, account("owner"), "")
        ledger.log(NewFeedback, REPUTATION, agent, account("client"), 1, 80, 0, NOTHING, tag, "", "", "", NOTHING, None)
    ledger.store(engine)
    absent = [f"absent {number}" for number in range(199)]
    with engine.connect() as connection:
        for agent, tag in enumerate(tags, 1):
            gated = search_agents(connection, AgentSearch(gates=(Gate(tag=tag),)))
            feedback = search_feedback(connection, FeedbackSearch(8453, tags=(*absent, tag)))
            assert ([item.agent_id for item in gated.items], [item.agent_id for item in feedback.items]) == (
                [agent],
                [agent],
            )
