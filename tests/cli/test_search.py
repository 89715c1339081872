"""`bilateral search`, on the index of a made-up world."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bench.world.build import build
from bench.world.people import World
from bilateral.cli.app import load
from bilateral.index.log.database import open_database
from bilateral.index.reading.readers import Reader
from bilateral.index.search.filters import AgentSearch
from bilateral.index.search.gate_texts import AgentQuestion
from bilateral.index.search.queries import search_agents

OF_AN_INDEX = [
    ["search"],
    ["check", "server", "1"],
    ["check", "client", "1"],
    ["watch", "agent", "1:1"],
    ["watch", "account", f"0x{'11' * 20}"],
    ["webhooks", "add", "https://hooks.example"],
    ["webhooks", "list"],
    ["webhooks", "remove", "wh_1"],
    ["index", "status"],
    ["index", "verify", "--rpc-url", "http://127.0.0.1:9"],
    ["index", "rebuild", "--chain-id", "1"],
    ["index", "analyse"],
    ["index", "prove-claims", "--solana-node", "http://127.0.0.1:9"],
    ["trust", "explain", "1"],
    ["buyer", "decide", "00", "--as", "upheld"],
    ["buyer", "remove", "00"],
    ["mcp"],
]
"""Commands that need an index, and make none."""


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('searched') / 'world.sqlite'}"
    engine = open_database(url)
    build(engine, World(agents=40, ratings=600, seed=3))
    engine.dispose()
    return url


@pytest.fixture(scope="module")
def everybody(database):
    """All agents as the query returns them, the last registered first."""
    reader = Reader(database)
    page = reader.read(search_agents, AgentSearch(), limit=1_000)
    reader.close()
    return page.items


@pytest.fixture
def run_search(done, database):
    """Run a search, and return the ids of the agents."""

    def run(*arguments):
        page = done("search", *arguments, "--limit", "1000", "--database", database)
        return [item["id"] for item in page["items"]]

    return run


def test_words_find_agents(run_search, everybody):
    named = next(item for item in everybody if item.name)
    word = named.name.split()[-1].lower()
    assert named.id in run_search(word)
    assert named.id in run_search(*named.name.split(), "--owner", named.owner, "--chain-id", "31337")
    assert run_search(word, "--owner", f"0x{'11' * 20}") == []


def test_every_gate_is_an_option(run_search, database, done):
    options = {
        "--tag": "starred",
        "--minimum": "10",
        "--maximum": "99",
        "--lower-bound": "1.5",
        "--count": "2",
        "--maximum-count": "1000",
        "--clients": "2",
    }
    gated = run_search(*(argument for pair in options.items() for argument in pair))
    assert gated
    text = ",".join(f"{name[2:].replace('-', '_')}={value}" for name, value in options.items())
    assert run_search("--gate", text) == gated
    assert set(run_search("--gate", text, "--gate", "side=client")) <= set(gated)
    (first,) = done("search", "--gate", text, "--limit", "1", "--database", database)["items"]
    assert (first["rating"]["tag"], first["rating"]["count"] >= 2) == ("starred", True)


def test_payments_and_reviewers_narrow_a_gate(run_search):
    claimed, matching = (set(run_search("--payment", name)) for name in ("claimed", "matching"))
    assert matching <= claimed
    assert run_search("--reviewer", f"0x{'11' * 20}") == []


def test_conditions_on_files_and_chain_are_options(run_search, everybody):
    for option, expected in (
        (("--active",), [entry for entry in everybody if entry.active]),
        (("--inactive",), [entry for entry in everybody if entry.active is False]),
        (("--x402",), [entry for entry in everybody if entry.x402_support]),
        (("--no-x402",), [entry for entry in everybody if entry.x402_support is False]),
        (
            ("--registered-from", everybody[0].registered_at),
            [entry for entry in everybody if entry.registered_at >= everybody[0].registered_at],
        ),
        (("--registered-to", everybody[0].registered_at), everybody),
        (("--updated-from", 0, "--updated-to", 1), []),
        (("--wallet", everybody[0].wallet), [entry for entry in everybody if entry.wallet == everybody[0].wallet]),
        (("--metadata", "region=eu"), [agent for agent in everybody if agent.agent_id % 20 == 10]),
        (("--metadata", "region"), [agent for agent in everybody if not agent.agent_id % 10]),
    ):
        assert set(run_search(*map(str, option))) == {entry.id for entry in expected}, option
    both = [set(run_search(name)) for name in ("--rated", "--not-rated")]
    assert both[0] | both[1] == {entry.id for entry in everybody}
    assert not both[0] & both[1]
    assert set(run_search("--service", "mcp", "--capability", "trust:reputation")) < set(run_search("--service", "mcp"))


def test_pages_follow_each_other(done, database, everybody):
    seen, cursor = [], []
    while cursor is not None:
        page = done("search", "--limit", "15", "--order", "registered", *cursor, "--database", database)
        seen += [item["id"] for item in page["items"]]
        cursor = None if page["next"] is None else ("--cursor", page["next"])
    assert sorted(seen) == sorted(entry.id for entry in everybody)


def test_people_see_a_table_and_where_it_goes_on(bilateral, database):
    ran = bilateral("search", "--tag", "starred", "--count", "2", "--limit", "3", "--database", database)
    assert ran.code == 0
    for title in ("agent", "self-declared name", "mean", "at least", "ratings", "raters", "31337:"):
        assert title in ran.out
    assert "more: --cursor " in ran.err
    nothing = bilateral("search", "--count", "100000", "--database", database)
    assert (nothing.code, nothing.out.strip()) == (0, "no agent meets all conditions")


def test_every_field_of_a_search_is_an_option():
    options = {parameter.name for parameter in load("search").params}
    assert AgentQuestion.model_fields.keys() <= options


def test_the_installed_command_answers(database, everybody):
    command = str(Path(sys.executable).with_name("bilateral"))
    ran = subprocess.run(  # noqa: S603  # ours
        [command, "search", "--limit", "2", "--database", database], capture_output=True, text=True, check=True
    )
    assert everybody[0].id in ran.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--minimum", "much"), 'minimum "much" is not a number'),
        (("--side", "buyer"), 'side "buyer" is unknown: choose server, client, validator'),
        (("--payment", "all"), 'payment "all" is unknown: choose claimed, matching'),
        (("--order", "price"), 'order "price" is unknown: choose standing'),
        (("--order", "mean"), "sorting by mean requires a gate"),
        (("--capability", "tool"), "a capability has a kind and a value"),
        (("--reviewer", "alice"), "is not an address"),
        (("--gate", "colour=red"), 'a gate has no field "colour"'),
        (("--cursor", "x"), "the cursor belongs to a different list"),
        (("…",), "no letter or digit"),
    ],
    ids=["number", "side", "payment", "order", "ungated", "capability", "reviewer", "gate", "cursor", "text"],
)
def test_an_invalid_option_is_refused(refused, database, options, message):
    assert message in refused(3, "search", *options, "--database", database)["message"]


@pytest.mark.parametrize("others", [(), ("nothing-like-it", "--chain-id", "31337")], ids=["alone", "beside another"])
def test_a_chain_that_is_not_indexed_is_refused(refused, database, others):
    problem = refused(11, "search", "--chain-id", "5", *others, "--database", database)
    assert problem["reason"] == "chain_not_indexed"
    assert problem["message"] == "chain 5 is not indexed: choose one of the indexed chains (31337)"


@pytest.mark.parametrize("arguments", OF_AN_INDEX, ids=" ".join)
def test_a_database_without_tables_is_refused_and_gets_none(refused, tmp_path, arguments):
    path = tmp_path / "x.sqlite"
    path.touch()
    assert refused(11, *arguments, "--database", f"sqlite:///{path}")["reason"] == "older_schema"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == []


@pytest.mark.parametrize("arguments", OF_AN_INDEX, ids=" ".join)
@pytest.mark.parametrize("url", ["sqlite:///{}", "sqlite:///file:{}?uri=true"], ids=["path", "URI"])
def test_a_database_that_does_not_exist_is_named_and_not_made(refused, tmp_path, arguments, url):
    path = tmp_path / "folder" / "mistyped.sqlite"
    problem = refused(11, *arguments, "--database", url.format(path))
    assert problem["reason"] == "database_unavailable"
    assert problem["message"] == f'the database "{path}" does not exist: create it with `bilateral index run`'
    assert list(tmp_path.iterdir()) == []


def test_the_default_database_is_not_made_by_commands_that_read(refused, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    path = tmp_path / "bilateral" / "index.sqlite"
    assert f'"{path}" does not exist' in refused(11, "index", "status")["message"]
    assert list(tmp_path.iterdir()) == []
