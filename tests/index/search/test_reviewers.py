"""Gates of reviewers: their ratings are found by the events that they gave, and not among all of a chain."""

from __future__ import annotations

import pytest
from sqlalchemy import event

from bilateral.index.search import plans as search_plans
from bilateral.index.search.filters import AgentSearch, Gate, Side
from bilateral.index.search.queries import search_agents

KEY = "chain_id=? AND registry=? AND agent_id=?"


@pytest.fixture
def plans(world_engine, connection):
    """The steps of SQLite on the table of counterparts and on events, for the statements of a test."""
    statements = []

    def keep(_connection, _cursor, statement, values, *_):
        if "counterpart" in statement and not statement.startswith("EXPLAIN"):
            statements.append((statement, values))

    event.listen(world_engine, "before_cursor_execute", keep)
    yield lambda: [
        step
        for statement, values in list(statements)
        for *_, step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
    ]
    event.remove(world_engine, "before_cursor_execute", keep)


@pytest.mark.parametrize("world_engine", ["sqlite"], indirect=True)  # PostgreSQL plans by statistics
@pytest.mark.parametrize("few", [2_000, 0], ids=["few", "many"])
@pytest.mark.parametrize("words", [None, "market"], ids=["no words", "words"])
@pytest.mark.parametrize("tag", [None, "starred"], ids=["any tag", "a tag"])
@pytest.mark.parametrize("side", list(Side))
def test_sqlite_finds_the_agents_that_reviewers_rated(connection, oracle, plans, monkeypatch, side, tag, words, few):
    monkeypatch.setattr(search_plans, "FEW_FILES", few)
    reviewers = sorted({entry.account for entry in oracle.given if entry.side == side})[:5]
    tag = "" if tag and side is not Side.SERVER else tag
    search_agents(connection, AgentSearch(text=words, gates=(Gate(tag, side, reviewers=tuple(reviewers)),)))
    steps = plans()
    of_counterparts = [step for step in steps if step.split()[1] == "counterpart"]
    assert of_counterparts
    assert all(step.startswith(f"SEARCH counterpart USING PRIMARY KEY ({KEY}") for step in of_counterparts)
    table, rater = ("new_feedback", "client_address") if side is Side.SERVER else (f"{side}_rated", "server_id")
    of_events = [step for step in steps if step.split()[1] == table]
    assert of_events
    assert all(f"{rater}=?" in step for step in of_events)


@pytest.mark.parametrize("side", [Side.CLIENT, Side.VALIDATOR])
@pytest.mark.parametrize(
    "text",
    [
        "agent ",
        "agent x",
        "agent -1",
        "agent 1.5",
        "agent \u0661",
        "agent \0",
        f"agent {'9' * 78}",
        f"agent {'9' * 5_000}",
    ],
    ids=["none", "letter", "negative", "fraction", "digit of another script", "NUL", "large", "very long"],
)
def test_a_malformed_reviewer_rated_nobody(connection, side, text):
    assert search_agents(connection, AgentSearch(gates=(Gate(side=side, reviewers=(text,)),))).items == ()


@pytest.mark.parametrize("side", [Side.CLIENT, Side.VALIDATOR])
def test_a_malformed_reviewer_does_not_hide_others(connection, oracle, side):
    rater = next(entry.account for entry in oracle.given if entry.side == side)
    search = AgentSearch(gates=(Gate(side=side, reviewers=("agent x", rater)),))
    agents = [
        (item.chain_id, item.identity_registry, item.agent_id) for item in search_agents(connection, search).items
    ]
    assert agents
    assert agents == oracle.search(search)[: len(agents)]
