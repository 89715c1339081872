"""Texts of queries: words in any script, misspelt ones, hostile ones, and the limits of every filter."""

from __future__ import annotations

from decimal import Decimal

import pytest
from sqlalchemy import select

from bilateral.core.errors import InvalidArgumentError
from bilateral.index.agents.tables import agent
from bilateral.index.reading.pages import InvalidCursorError
from bilateral.index.search.filters import (
    MAX_GATES,
    MAX_LISTED,
    MAX_QUERY_WORDS,
    MAX_TEXT,
    MAX_WORD,
    MAX_WORDS,
    AgentSearch,
    Capability,
    Gate,
    Order,
    Payment,
    Side,
    trigrams,
    words_of,
)
from bilateral.index.search.queries import search_agents

HOSTILE = {
    "FTS5 syntax": 'market" OR name_words : "a" NEAR(b c, 2) AND NOT d*',
    "a column of FTS5": "name_words : market",
    "tsquery syntax": "market & !b | (c <-> d):*A",
    "quotation marks": "\"'`\\''market",
    "SQL": "'; DROP TABLE agent; -- market",
    "NUL": "mar\0ket",
    "a lone surrogate": "market \ud800",
    "directions of writing": "\u202emarket\u202c",
    "percent and underscore": "%_market_%",
    "a null byte as text": "\\x00 market",
    "combining marks": "m" + "\u0301" * 500 + "arket",
    "a very long word": "m" * MAX_TEXT,
    "emoji among letters": "mar\U0001f600ket",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_only_words(connection, name):
    before = connection.execute(select(agent.c.agent_id)).all()
    search_agents(connection, AgentSearch(text=HOSTILE[name]))
    assert connection.execute(select(agent.c.agent_id)).all() == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Weather-Oracle_2", ["weather", "oracle", "2"]),
        ("Käse, CAFÉ! straße", ["kase", "cafe", "strasse"]),
        ("ﬁnance \uff12\uff14", ["finance", "24"]),
        ("天气 バ", ["天", "气", "ハ"]),
        ("прогноз погоды", ["прогноз", "погоды"]),
        ("a\0b", ["a", "b"]),
        ("…!?", []),
        (None, []),
    ],
    ids=["signs", "accents", "compatibility", "unspaced", "cyrillic", "NUL", "none", "missing"],
)
def test_words_of_any_script(text, words):
    assert words_of([text]) == words


def test_long_words_and_long_texts_are_cut():
    assert words_of(["x" * 100]) == ["x" * MAX_WORD]
    assert len(words_of([" ".join(map(str, range(MAX_WORDS + 5)))])) == MAX_WORDS


def test_trigrams_are_those_of_pg_trgm():
    assert trigrams("cat") == {"  c", " ca", "cat", "at "}


@pytest.mark.parametrize(
    ("conditions", "problem"),
    [
        ({"text": "a" * (MAX_TEXT + 1)}, "the text has 1001 characters, but at most 1000 are allowed"),
        ({"text": "a" * 100_000}, "the text has 100000 characters, but at most 1000 are allowed"),
        ({"text": "…"}, 'the text "…" has no letter or digit to search for'),
        (
            {"text": " ".join(map(str, range(MAX_QUERY_WORDS + 1)))},
            "the text has 17 words, but at most 16 are allowed",
        ),
        ({"owner": "0x12"}, 'owner "0x12" is not an address: expected 0x and 40 hexadecimal digits'),
        ({"wallet": "x" * 42}, f'wallet "{"x" * 42}" is not an address: expected 0x and 40 hexadecimal digits'),
        ({"chains": tuple(range(MAX_LISTED + 1))}, "the filter has 201 chains, but at most 200 are allowed"),
        ({"chains": (2**63,)}, "the time or chain id 9223372036854775808 is out of range 0..2^63-1"),
        ({"registered_from": -1}, "the time or chain id -1 is out of range 0..2^63-1"),
        ({"gates": (Gate(),) * (MAX_GATES + 1)}, "the search has 6 gates, but at most 5 are allowed"),
        ({"order": Order.MEAN}, "sorting by mean requires a gate: add a tag or another condition on ratings"),
        ({"order": Order.RELEVANCE}, "sorting by relevance requires a search query"),
    ],
    ids=[
        *("text", "long text", "no word", "words", "owner", "wallet", "chains", "chain", "time", "gates"),
        *("order of a gate", "order of a text"),
    ],
)
def test_a_condition_out_of_range_is_refused(conditions, problem):
    with pytest.raises(InvalidArgumentError) as raised:
        AgentSearch(**conditions)
    assert str(raised.value) == problem


@pytest.mark.parametrize(
    ("conditions", "problem"),
    [
        ({"minimum": Decimal("NaN")}, "minimum NaN is not a number"),
        ({"lower_bound": Decimal("1e400")}, "lower_bound 1E+400 is not a number"),
        ({"count": 0}, "count 0 is out of range 1..2^63-1"),
        ({"clients": 2**63}, "clients 9223372036854775808 is out of range 1..2^63-1"),
        ({"reviewers": ("nobody",)}, 'reviewer "nobody" is not an address: expected 0x and 40 hexadecimal digits'),
        (
            {"side": Side.CLIENT, "payment": Payment.CLAIMED},
            "payment only applies to feedback (side server), not to side client",
        ),
    ],
    ids=["minimum", "lower bound", "count", "clients", "reviewer", "payment"],
)
def test_a_gate_out_of_range_is_refused(conditions, problem):
    with pytest.raises(InvalidArgumentError) as raised:
        Gate(**conditions)
    assert str(raised.value) == problem


def test_the_last_values_in_range_are_searched_for(connection):
    longest = AgentSearch(
        text=" ".join("abcdefghijklmnop"),
        chains=tuple(range(1, MAX_LISTED + 1)),
        gates=(Gate(count=2**63 - 1),) * MAX_GATES,
    )
    assert search_agents(connection, longest, limit=1_000).items == ()
    assert search_agents(connection, AgentSearch(text="a" * MAX_TEXT)).items == ()


def test_the_limit_of_a_page_is_checked(connection):
    for limit in (0, 1_001):
        with pytest.raises(InvalidArgumentError, match=f"^limit {limit} is out of range 1..1000$"):
            search_agents(connection, AgentSearch(), limit=limit)


def test_a_cursor_is_of_one_search(connection):
    page = search_agents(connection, AgentSearch(), limit=1)
    for cursor in (page.next, "x", "", "é" * 10):
        with pytest.raises(InvalidCursorError):
            search_agents(connection, AgentSearch(rated=True), limit=1, cursor=cursor)


def test_a_reviewer_of_another_side_is_an_agent_by_any_id():
    gate = Gate(side=Side.CLIENT, reviewers=("7", "31337:7", "agent 8"))
    assert gate.reviewers == ("agent 7", "agent 8")


def test_hostile_values_of_filters_find_nothing(connection):
    value = "x' OR 1=1 --\0\ud800"
    for condition in (
        {"capabilities": ((Capability.MCP_TOOL, value),)},
        {"services": (value,)},
        {"metadata": ((value, b"\0"),)},
        {"gates": (Gate(value),)},
    ):
        assert search_agents(connection, AgentSearch(**condition)).items == ()
