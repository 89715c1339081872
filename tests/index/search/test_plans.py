"""Searches read the index of lower bounds, and on PostgreSQL only the summaries of the agents that have the words."""

from __future__ import annotations

from decimal import Decimal

import pytest
from sqlalchemy import event, func, insert, select, update

from bilateral.index.agents.tables import agent
from bilateral.index.files.tables import agent_file
from bilateral.index.search import plans as search_plans
from bilateral.index.search.filters import AgentSearch, Gate, Order
from bilateral.index.search.leaders import Board, leaderboard
from bilateral.index.search.matching import Term, matcher_of
from bilateral.index.search.queries import search_agents
from bilateral.index.standing.tables import standing_refresh

OTHER = 7_777
"""A chain without agents."""

GATES = {
    "minimum": Gate("starred", minimum=Decimal(1)),
    "lower bound": Gate("starred", lower_bound=Decimal(1)),
    "count": Gate("starred", count=2, maximum=Decimal(99)),
    "clients": Gate("starred", clients=2),
}


def keys(page):
    return [(item.chain_id, item.identity_registry, item.agent_id) for item in page.items]


@pytest.fixture
def let_walk(monkeypatch):
    """Let searches walk, among the agents of so many files."""

    def patch(listed):
        for name, most in (("FEW_FILES", 0), ("FEW_RATED", 0), ("MOST_LISTED", listed)):
            monkeypatch.setattr(search_plans, name, most)

    return patch


@pytest.fixture
def statements(world_engine):
    """The statements of a test, with their values."""
    seen = []

    def keep(_connection, _cursor, statement, values, *_):
        if not statement.startswith("EXPLAIN"):
            seen.append((statement, values))

    event.listen(world_engine, "before_cursor_execute", keep)
    yield seen
    event.remove(world_engine, "before_cursor_execute", keep)


def steps(connection, statements):
    """Return the steps of SQLite on summaries, apart from those that look up a whole key."""
    return [
        step
        for statement, values in list(statements)
        for *_, step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
        if step.split()[1] == "summary"
    ]


@pytest.mark.parametrize("world_engine", ["sqlite"], indirect=True)
@pytest.mark.parametrize("few", [2_000, 0], ids=["few", "many"])
@pytest.mark.parametrize("order", [None, Order.LOWER_BOUND, Order.MEAN], ids=str)
@pytest.mark.parametrize("gate", GATES.values(), ids=GATES.keys())
def test_sqlite_reads_summaries_by_their_lower_bounds(connection, statements, monkeypatch, gate, order, few):
    monkeypatch.setattr(search_plans, "FEW_RATED", few)
    assert search_agents(connection, AgentSearch(order=order, gates=(gate,))).items
    plan = steps(connection, statements)
    by_bound = "SEARCH summary USING COVERING INDEX summary_by_lower_bound (chain_id=? AND side=? AND tag=?"
    by_key = "SEARCH summary USING PRIMARY KEY (chain_id=? AND registry=? AND agent_id=? AND side=? AND tag=?)"
    assert {text.startswith(by_bound) or text == by_key for text in plan} == {True}
    assert any(text.startswith(by_bound) for text in plan)


@pytest.mark.parametrize("world_engine", ["sqlite"], indirect=True)
def test_sqlite_reads_leaders_by_their_lower_bounds(connection, statements):
    key = connection.execute(select(agent.c.chain_id, agent.c.identity_registry).limit(1)).one()._asdict()
    connection.execute(insert(standing_refresh).values(**key, block_number=1 << 40))
    statements.clear()
    assert leaderboard(connection, "starred", board=Board.LOWER_BOUND).items
    assert {step.split()[5] for step in steps(connection, statements)} == {"summary_by_lower_bound"}


@pytest.mark.parametrize("world_engine", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("listed", "is_asked"), [(2_000, True), (0, False)], ids=["listed", "not listed"])
def test_postgresql_walks_among_the_agents_with_the_words(connection, oracle, statements, let_walk, listed, is_asked):
    let_walk(listed)
    (chain_id,) = {key[0] for key in oracle.agents}
    search = AgentSearch(text="market", chains=(OTHER, chain_id), gates=(Gate("starred"),))
    assert keys(search_agents(connection, search, limit=1_000)) == oracle.search(search) != []
    among = [values for statement, values in statements if "= ANY (" in statement]
    assert bool(among) is is_asked
    walked = {entry for values in among for entry in (OTHER, chain_id) if entry in values.values()}
    assert walked == ({chain_id} if is_asked else set())


@pytest.mark.parametrize("world_engine", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("looked_at", "walks"), [(0, False), (2_000, True)], ids=["none", "all"])
def test_postgresql_begins_with_the_files_unless_the_greatest_bounds_pass(
    connection, oracle, statements, monkeypatch, looked_at, walks
):
    search = AgentSearch(text="market", gates=(Gate("starred"),))
    files = select(func.count()).select_from(matcher_of(connection).documents([Term(("market",), True)]).subquery())
    monkeypatch.setattr(search_plans, "FEW_FILES", connection.execute(files).scalar_one())
    monkeypatch.setattr(search_plans, "FEW_RATED", 0)
    monkeypatch.setattr(search_plans, "MOST_SCANNED", looked_at)
    statements.clear()
    assert keys(search_agents(connection, search, limit=1_000)) == oracle.search(search) != []
    assert any("enable_sort" in statement for statement, _ in statements) is walks


@pytest.mark.parametrize("world_engine", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("times", "is_asked"), [(1, False), (100, True)], ids=["too many", "few"])
def test_agents_of_one_file_are_listed_up_to_a_limit(connection, statements, monkeypatch, let_walk, times, is_asked):
    search = AgentSearch(text="market", gates=(Gate("starred"),))
    (first,) = search_agents(connection, search, limit=1).items
    file = select(agent_file.c.file_id).where(agent_file.c.agent_id == first.agent_id)
    connection.execute(update(agent_file).values(file_id=file.scalar_subquery()))
    expected = keys(search_agents(connection, search, limit=1_000))
    files = matcher_of(connection).documents([Term(("market",), True)]).subquery()
    count = connection.execute(select(func.count()).select_from(files)).scalar_one()
    agents = connection.execute(select(func.count()).select_from(agent_file)).scalar_one()
    assert count < len(expected) < agents
    let_walk(count)
    monkeypatch.setattr(search_plans, "AGENTS_OF_FILE", times)
    statements.clear()
    assert keys(search_agents(connection, search, limit=1_000)) == expected
    assert any("= ANY (" in statement for statement, _ in statements) is is_asked


@pytest.mark.parametrize("world_engine", ["postgresql"], indirect=True)
def test_agents_with_many_words_are_listed_once(connection, oracle, statements, let_walk):
    let_walk(2_000)
    agent = max(oracle.agents.values(), key=lambda agent: len(agent.words))
    search = AgentSearch(text=" ".join(sorted(agent.words)[:6]), gates=(Gate("starred"),))
    agents = search_agents(connection, search, limit=1_000)
    assert keys(agents) == oracle.search(search)
    listings = [statement for statement, _ in statements if statement.startswith("SELECT agent_file.chain_id")]
    walks = [statement for statement, _ in statements if "= ANY (" in statement]
    assert len(walks) > len(listings) == 1


@pytest.mark.parametrize("world_engine", ["postgresql"], indirect=True)
def test_statistics_tell_common_words(connection):
    connection.exec_driver_sql("ANALYZE registration_words")
    matcher, common, rare = matcher_of(connection), [Term(("a",), True)], [Term(("zzzzzz",), False)]
    assert matcher.are_common(common, 5)
    assert not matcher.are_common(common, 1_000)
    assert not matcher.are_common(rare, 5)
