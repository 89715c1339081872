"""Readers of a coordinator get the answers of an index in one database. Each chain is on a server of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import create_engine, make_url, select
from sqlalchemy.dialects.postgresql import dialect
from sqlalchemy.exc import DBAPIError

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.events import NewFeedback
from bilateral.index.errors import DatabaseUnavailableError, MisplacedChainError, OlderSchemaError, ShardError
from bilateral.index.log import revisions
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Block
from bilateral.index.log.database import named_database_errors, upgrade
from bilateral.index.log.places import Placed
from bilateral.index.log.store import ChainStore
from bilateral.index.operating.settings import Shard, databases_of
from bilateral.index.projections import PROJECTIONS
from bilateral.index.reading.statistics import count_by_day
from bilateral.index.shards.coordinator import places, update_shards
from bilateral.index.shards.moving import move_chain, upgrade_shards
from bilateral.index.standing.opinions import COUNT
from tests.api.world import CHAIN_ID
from tests.commands import run_here
from tests.index.shards.world import (
    BY_CHAIN,
    LOCAL,
    OTHER_CHAIN,
    PATHS,
    QUERIES,
    cut_off,
    index_both,
    killed,
    plan_of,
    rolled_back,
    rows_of_chain,
    server_program,
    written,
)
from tests.index.test_commands import bilateral
from tests.postgres import administer


@pytest.mark.parametrize("path", PATHS)
def test_answer_is_that_of_one_database(apis, path):
    ours, theirs = (client.get(f"/v1/{path}") for client in apis)
    assert (ours.status_code, theirs.status_code) == (200, 200), (ours.text, theirs.text)
    assert LOCAL.sub(rb"\1", ours.content) == LOCAL.sub(rb"\1", theirs.content)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("of_chain", [f"/{OTHER_CHAIN}", ""])
def test_answer_to_graphql_is_that_of_one_database(apis, query, of_chain):
    ours, theirs = (client.post(f"/graphql{of_chain}", json={"query": query}).json() for client in apis)
    assert ours == theirs
    assert "errors" not in ours


def test_feed_tells_the_changes_of_each_chain_in_their_order(apis):
    ours, theirs = (client.get("/v1/changes?since=0&limit=1000").json()["items"] for client in apis)
    for items in (ours, theirs):
        steps = [int(item.pop("id").split(".")[0]) for item in items]
        assert steps == sorted(steps)
    # A file that is late is news twice, so only the subjects of such news are compared.
    news = [
        {(item["chain"], item["kind"], *item["agents"]) for item in items if item["event"] is None}
        for items in (ours, theirs)
    ]
    assert news[0] == news[1] != set()
    for number in (CHAIN_ID, OTHER_CHAIN):
        of_ours, of_theirs = ([item for item in items if item["chain"] == number] for items in (ours, theirs))
        # Files come in the order in which their servers answered.
        events = [item for item in of_ours if item["event"] is not None]
        assert events == [item for item in of_theirs if item["event"] is not None]
        assert len(events) > 20


@pytest.mark.parametrize(
    ("statement", "pushed"),
    [
        ("SELECT * FROM summary WHERE chain_id = 31338 AND side = 'server' AND mean > 5", "(mean > "),
        ("SELECT * FROM feedback WHERE chain_id = 31338 AND agent_id = 1", "FROM served.feedback_31338 WHERE"),
        (
            "SELECT uri, tag FROM agent JOIN summary USING (chain_id, agent_id) WHERE chain_id = 31338 AND side = 'x'",
            "INNER JOIN",
        ),
    ],
)
def test_question_about_one_chain_is_one_statement_on_its_shard(settings, statement, pushed):
    plan = plan_of(settings.database, statement)
    remote = [line for line in plan.splitlines() if "Remote SQL" in line]
    assert len(remote) == 1
    assert pushed in remote[0]
    assert "31337" not in plan


BY_DAY = count_by_day(schema.EVENT_TABLES[NewFeedback], OTHER_CHAIN)
ALL = COUNT.format(table="new_feedback").replace(":chain_id", str(OTHER_CHAIN)).replace(":last", "100")


@pytest.mark.parametrize(
    "statement", [str(BY_DAY.compile(dialect=dialect(), compile_kwargs={"literal_binds": True})), ALL]
)
def test_shard_counts_the_events_of_its_chain_itself(settings, statement):
    administer(settings.shards["b"].url, "ANALYZE new_feedback")
    administer(settings.database, "ALTER SERVER b OPTIONS (ADD fdw_tuple_cost '10')")  # as if there were many rows
    plan = plan_of(settings.database, statement)
    administer(settings.database, "ALTER SERVER b OPTIONS (DROP fdw_tuple_cost)")
    assert "Relations: Aggregate on (sharded.new_feedback_31338 new_feedback)" in plan
    assert "31337" not in plan


def test_question_about_all_chains_asks_the_shards_at_once(settings):
    plan = plan_of(settings.database, "SELECT chain_id, count(*) FROM new_feedback GROUP BY chain_id")
    assert plan.count("Async Foreign Scan") == 2


@contextmanager
def asking(client, path):
    """Ask a service again and again meanwhile, and yield the list of its answers."""
    answers, is_over = [], threading.Event()

    def ask():
        while not is_over.is_set():
            answers.append(client.get(path))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield answers
    finally:
        is_over.set()
        thread.join()


def test_chain_moves_to_another_shard_and_back_while_readers_read(apis, settings):
    client, (a, b) = apis[0], settings.shards.values()
    paths = ("agents/31338:1", "changes?since=0&limit=1000", "search/agents?q=weather")

    def answer(path):
        return LOCAL.sub(rb"\1", client.get(f"/v1/{path}").content)  # each shard read the files at a time of its own

    before = [answer(path) for path in paths]
    together = {"a": Shard(url=a.url, chains=[CHAIN_ID, OTHER_CHAIN]), "b": Shard(url=b.url)}
    with asking(client, f"/v1/{paths[0]}") as answers:
        for shards, place in ((together, "a"), (settings.shards, "b")):
            told = client.get(f"/v1/{paths[1]}").json()["items"]
            placed = move_chain(settings.database, shards, OTHER_CHAIN)
            assert Placed(OTHER_CHAIN, place, "ab".index(place) + 1) in placed
            assert [answer(path) for path in paths[::2]] == before[::2]
            assert client.get(f"/v1/{paths[1]}").json()["items"] == told
            assert rows_of_chain(shards["ba"["ab".index(place)]].url) == {}
            index_both(replace(settings, shards=shards), settings.database)  # its worker goes on there
            assert answer(paths[0]) == before[0]
            assert client.get(f"/v1/{paths[1]}").json()["items"][: len(told)] == told  # and files that were due
    assert {LOCAL.sub(rb"\1", told.content) for told in answers} == {before[0]}
    assert len(answers) > 10


@pytest.mark.nightly
def test_move_that_breaks_off_loses_nothing_and_is_begun_again(apis, settings):
    (a, b), client = settings.shards.values(), apis[0]
    paths = [*BY_CHAIN[OTHER_CHAIN][:3], "/v1/changes?since=0&limit=5"]

    def answers():
        return [LOCAL.sub(rb"\1", client.get(path).content) for path in paths]

    before = answers()
    together = {"a": Shard(url=a.url, chains=[CHAIN_ID, OTHER_CHAIN]), "b": Shard(url=b.url)}
    for table, url, condition, place in (
        ("agent", a.url, "application_name = ''", "b"),  # the copy
        ("registry", settings.database, "state = 'idle in transaction'", "b"),  # the copy is there, and nobody reads it
        ("registry", b.url, "state = 'idle in transaction' AND query LIKE '%FOR UPDATE'", "a"),  # old rows stay
    ):

        def break_off(name, table=table, url=url, condition=condition):
            if name == table:
                cut_off(url, condition)

        with pytest.raises((DatabaseUnavailableError, DBAPIError)):
            move_chain(settings.database, together, OTHER_CHAIN, break_off)
        with create_engine(settings.database).connect() as connection:
            assert places(connection)[1].shard == place
        assert answers() == before
    assert rows_of_chain(b.url)
    update_shards(settings.database, together)
    assert rows_of_chain(b.url) == {}
    move_chain(settings.database, settings.shards, OTHER_CHAIN)
    assert answers() == before


def test_shard_is_restored_from_its_backup_and_tells_later_changes_again(apis, settings, whole, servers, tmp_path):
    """Two rollbacks, before and after the backup is restored, are told as one database tells them."""
    shard = settings.shards["b"]
    plain = replace(settings, database=whole, shards={})

    def cursors():
        return [page.get("/v1/changes?since=0&limit=1000").json()["cursor"] for page in apis]

    def told_since(cursors):
        sides = zip(apis, cursors, strict=True)
        pages = [page.get(f"/v1/changes?since={cursor}&limit=1000").json()["items"] for page, cursor in sides]
        return [[{**item, "id": None, "retracts": None} for item in items if item["event"]] for items in pages]

    index_both(plain, whole)
    backup = tmp_path / "backup.dump"
    server_program("pg_dump", "--format", "custom", "--file", backup, "--dbname", shard.url)
    for is_restored in (False, True):
        if is_restored:
            administer(servers.urls[1], "DROP DATABASE shard_1 WITH (FORCE)")
            administer(servers.urls[1], "CREATE DATABASE shard_1")
            server_program("pg_restore", "--dbname", shard.url, backup)
            index_both(settings, settings.database)
        since = cursors()
        for url in (shard.url, whole):
            rolled_back(url)
        queries = [{"query": query} for query in QUERIES[:3]]
        ours, theirs = ([page.post(f"/graphql/{OTHER_CHAIN}", json=query).json() for query in queries] for page in apis)
        assert ours == theirs
        index_both(settings, settings.database)
        index_both(plain, whole)
        ours, theirs = told_since(since)
        assert ours == theirs
        assert len(ours) > 10
        ours, theirs = (LOCAL.sub(b"", page.get("/v1/agents/31338:1").content) for page in apis)
        assert ours == theirs


@pytest.mark.parametrize(
    ("shards", "problem"),
    [
        ({"a": ("sqlite:///x", [1])}, "database.shards.a.url is not PostgreSQL"),
        ({"a": ("postgresql://h/c", [1])}, "database.shards.a.url is also the database of database.url"),
        (
            {"a": ("postgresql://h/a", [1]), "b": ("postgresql://h/a", [2])},
            "is also the database of database.shards.a.url",
        ),
        ({"a": ("postgresql://h/a", [1]), "b": ("postgresql://h/b", [1])}, "b.chains: chain 1 is also on shard a"),
        ({"A B": ("postgresql://h/a", [1])}, "database.shards.A B"),
    ],
)
def test_wrong_shard_is_named(shards, problem):
    named = {name: {"url": url, "chains": chains} for name, (url, chains) in shards.items()}
    with pytest.raises(InvalidArgumentError, match=re.escape(problem)):
        databases_of({"url": "postgresql://h/c", "shards": named})


def refused(settings, changed=None, database=None):
    """Return the message of the error that ends an update of the coordinator."""
    with pytest.raises(ShardError) as caught:
        update_shards(database or settings.database, {**settings.shards, **(changed or {})})
    return str(caught.value)


def test_server_that_is_not_what_the_settings_say_is_refused_in_one_line(settings, servers, whole):
    (a, b), moves = settings.shards.values(), "run `bilateral index move --chain-id 31338`"
    assert refused(settings, database=whole) == (
        "the coordinator: database.url has tables for chain 31337: use an empty database, and make this one a shard"
    )
    third = servers.database(1, "third")
    assert refused(settings, {"c": Shard(url=settings.database)}) == (
        "shard c: the database is that of a coordinator: specify the database of a shard"
    )
    assert refused(settings, {"c": Shard(url=whole)}) == (
        "shard c: database.shards.c.chains omits the stored chain 31337: add it"
    )
    assert refused(settings, {"a": Shard(url=third, chains=a.chains)}) == (
        "shard a: the shard's database has changed: correct database.shards.a.url"
    )
    assert refused(settings, {"b": Shard(url=b.url)}) == ("shard b: the settings omit the shard's chain 31338: add it")
    elsewhere = {"a": Shard(url=a.url, chains=[CHAIN_ID, OTHER_CHAIN]), "b": Shard(url=b.url)}
    assert refused(settings, elsewhere) == f"shard b: it contains chain 31338, which the settings assign to a: {moves}"
    other = servers.database(0, "other_coordinator")
    assert refused(settings, database=other) == (
        "shard a: another coordinator reads it: use that one as database.url, or pass --adopt if it is gone"
    )
    with pytest.raises(ShardError, match="another coordinator reads it: use that one as"):
        index_both(settings, other)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("postgresql://nobody.invalid/x", "shard a: the database server did not respond: start it, or correct"),
        ("postgresql://127.0.0.1:9/x", "shard a: the database server did not respond: start it, or correct"),
        (None, "shard a: the server has no such database: create it with CREATE DATABASE, or correct the URL"),
    ],
)
def test_shard_that_cannot_be_opened_is_named_in_one_line(settings, servers, url, problem):
    missing = make_url(servers.urls[1]).set(database="missing").render_as_string(hide_password=False)
    with pytest.raises(DatabaseUnavailableError) as caught:
        update_shards(settings.database, {"a": Shard(url=url or missing, chains=[CHAIN_ID])})
    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)


def test_server_without_postgres_fdw_cannot_be_a_coordinator(settings, fresh_postgres):
    with pytest.raises(DatabaseUnavailableError) as caught, named_database_errors():
        update_shards(fresh_postgres, settings.shards)
    assert str(caught.value).startswith(
        "the coordinator's server lacks postgres_fdw: install PostgreSQL's contrib package"
    )


STAMP = "UPDATE alembic_version SET version_num = '{}'"

NEXT_MIGRATION = """
from alembic import op

revision, down_revision = "9.9", "{}"


def upgrade():
    op.create_index("chain_by_head", "chain", ["head_number"])
"""


@pytest.fixture
def next_version(apis, settings, monkeypatch, tmp_path):  # services open the tables before
    """The present version and that of a later package, whose migration adds an index. It is undone in the end."""
    old = schema.REVISION
    migrations = shutil.copytree(revisions._MIGRATIONS, tmp_path / "migrations")
    (migrations / "versions" / "9999_next.py").write_text(NEXT_MIGRATION.format(schema.REVISION))
    monkeypatch.setattr(revisions, "_MIGRATIONS", migrations)
    monkeypatch.setattr(schema, "REVISIONS", (*schema.REVISIONS, "9.9"))
    monkeypatch.setattr(schema, "REVISION", "9.9")
    yield old, "9.9"
    for url in (settings.database, *(shard.url for shard in settings.shards.values())):
        administer(url, "DROP INDEX IF EXISTS chain_by_head, plain.chain_by_head")
        administer(url, STAMP.format(old))


def test_shard_of_another_schema_is_refused_until_all_servers_are_migrated(apis, settings, next_version):
    client, b = apis[0], settings.shards["b"].url
    before, (old, new) = client.get("/v1/agents/31338:1").content, next_version
    with pytest.raises(OlderSchemaError):
        update_shards(settings.database, settings.shards)
    administer(settings.database, STAMP.format(new))
    assert refused(settings) == (
        f"shard a: the tables have version {old}, but this package needs {new}: run `bilateral index schema --settings`"
    )
    administer(settings.database, STAMP.format(old))
    with pytest.raises(ShardError, match="shard b: all servers must be migrated together"):
        upgrade(b)
    with asking(client, "/v1/agents/31338:1") as answers:
        migrated = upgrade_shards(settings.database, settings.shards)
    assert [(server.server, server.before, server.version) for server in migrated] == [
        (name, old, new) for name in ("a", "b", "coordinator")
    ]
    assert client.get("/v1/agents/31338:1").content == before
    told = {(answer.status_code, answer.content) for answer in answers if answer.status_code != 503}
    assert told == {(200, before)}  # never an answer that lacks rows


def test_commands_work_on_each_shard(settings, servers, tmp_path):
    path = written(tmp_path, settings)

    def rows_of(*arguments):
        code, out, told = bilateral(*arguments, "--settings", path, "--json")
        assert code == 0, told
        return json.loads(out)

    assert [(row["chain_id"], row["shard"]) for row in rows_of("shards")] == [(31337, "a"), (31338, "b")]
    for command in (["status"], ["run", "--until-head", "--no-files"], ["analyse"]):
        assert [row["chain_id"] for row in rows_of(*command)] == [31337, 31338]
    verified = rows_of("verify")
    assert verified["is_equal"]
    assert [node["chain_id"] for node in verified["endpoints"]] == [31337, 31338]
    rows_of("rebuild", "--chain-id", "31338")
    with killed(servers.processes[1]):
        code, out, told = bilateral("status", "--settings", path, "--json")
        assert (code, [row["chain_id"] for row in json.loads(out)]) == (11, [31337])
        assert "shard b: the database server did not respond" in told


@pytest.mark.parametrize("command", [["analyse"], ["prove-claims", "--solana-node", "http://127.0.0.1:1"]])
def test_command_that_writes_rows_of_chains_refuses_the_coordinator(settings, command):
    code, _, told = bilateral(*command, "--database", settings.database)
    assert (code, told.count("\n")) == (11, 1)
    assert "the coordinator: it stores no chain data: pass --settings" in told


def test_service_follows_the_chains_into_their_shards(settings, tmp_path):
    engines = [create_engine(shard.url) for shard in settings.shards.values()]
    for shard in settings.shards.values():
        administer(shard.url, "UPDATE chain SET updated_at = 0")
    is_over = threading.Event()

    def end_once_both_are_followed():
        while not is_over.wait(0.05):
            with ExitStack() as stack:
                looks = [
                    stack.enter_context(engine.connect()).execute(select(schema.chain.c.updated_at))
                    for engine in engines
                ]
                if all(look.scalar_one() for look in looks):
                    os.kill(os.getpid(), signal.SIGTERM)
                    return

    ending = threading.Thread(target=end_once_both_are_followed)
    ending.start()
    code, _, told = run_here("serve", "--settings", written(tmp_path, settings), "--port", 0, "--no-analyse")
    is_over.set()
    ending.join()
    assert (code, "listening on" in told) == (0, True), told


@pytest.mark.parametrize(("place", "problem"), [("a", "is not on this shard"), ("", "is written on its shard")])
def test_worker_does_not_write_a_chain_where_readers_would_not_see_it(settings, place, problem):
    engine = create_engine(settings.shards[place].url if place else settings.database)
    with pytest.raises(MisplacedChainError, match=problem):
        ChainStore(engine, OTHER_CHAIN, PROJECTIONS).begin(Block(6, bytes(32), 0))
    engine.dispose()
