"""Tags of any length: 32 bytes of authorised feedback, and texts that are longer than a key of a table."""

from __future__ import annotations

import pytest

from bench.world.people import AUTHORIZED, REPUTATION
from bilateral.events import NewAuthorizedFeedback, NewFeedback
from bilateral.index.queries.authorized import authorized_feedback_of
from bilateral.index.queries.registries import agent_key, read_registries
from bilateral.index.queries.search import search_agents
from bilateral.index.queries.search_feedback import FeedbackSearch, search_feedback
from bilateral.index.queries.search_filters import AgentSearch, Gate
from bilateral.index.text import MAX_KEY_BYTES
from tests.explorer.stored import NOTHING, Ledger, account

TAGS = (b"fast", b"fast\0\0x", b"fast\xff", b"fast\xfe", "fast\ufffd".encode(), b"x" * 32, b"")


@pytest.mark.parametrize(
    ("tag", "found"),
    [
        (None, {1, 2, 3, 4, 5, 6, 7}),
        ("fast", {1}),
        ("fast\ufffd\ufffdx", {2}),  # zeros within a tag
        ("fast\ufffd", {3, 4, 5}),
        ("\ufffd", set()),
        ("x" * 32, {6}),
        ("x" * 33, set()),
        ("", {7}),
    ],
    ids=["any", "plain", "zeros", "no text", "none", "longest", "too long", "empty"],
)
def test_feedback_with_a_tag_has_the_bytes_that_the_tag_stands_for(engine, tag, found):
    ledger = Ledger(8453)
    ledger.register(1, account("owner"), "")
    for score, raw in enumerate(TAGS, 1):
        padded = raw.ljust(32, b"\0")
        ledger.log(NewAuthorizedFeedback, AUTHORIZED, 1, account(str(score)), score, padded, NOTHING, "", NOTHING, None)
    ledger.store(engine)
    with engine.connect() as connection:
        key = agent_key(read_registries(connection), "8453:1")
        assert {it.score for it in authorized_feedback_of(connection, key, tag=tag).items} == found


def test_tag_is_searched_for_whatever_its_length(engine):
    tags = ["x" * MAX_KEY_BYTES, "x" * (MAX_KEY_BYTES + 1), "ü" * MAX_KEY_BYTES, "x" * MAX_KEY_BYTES + "y"]
    ledger = Ledger(8453)
    for agent, tag in enumerate(tags, 1):
        ledger.register(agent, account("owner"), "")
        ledger.log(NewFeedback, REPUTATION, agent, account("client"), 1, 80, 0, NOTHING, tag, "", "", "", NOTHING, None)
    ledger.store(engine)
    absent = [f"absent {it}" for it in range(199)]
    with engine.connect() as connection:
        for agent, tag in enumerate(tags, 1):
            gated = search_agents(connection, AgentSearch(gates=(Gate(tag=tag),)))
            given = search_feedback(connection, FeedbackSearch(8453, tags=(*absent, tag)))
            assert ([it.agent_id for it in gated.items], [it.agent_id for it in given.items]) == ([agent], [agent])
