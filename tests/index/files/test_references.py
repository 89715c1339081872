"""References through reorganisations: no file is shown for an event that is gone, and none is missed."""

from __future__ import annotations

import base64
import json
import random
import threading
import time
from contextlib import contextmanager

import pytest
from sqlalchemy import select
from sqlalchemy.event import listen, remove

from bilateral.core.contracts import Registry
from bilateral.index.files import observations
from bilateral.index.files import tables as schema
from bilateral.index.files.projection import collect
from bilateral.index.files.reading import domain_uri, file_id_of
from bilateral.index.files.rows import is_outdated
from bilateral.index.files.tables import Kind
from bilateral.index.files.worker import FILE_EVENTS, ReferenceScan
from bilateral.index.log.tables import EVENT_TABLES
from bilateral.index.operating.status import chain_statuses
from bilateral.index.projections import READERS
from simulation.events import encoded
from tests.index.conftest import CHAIN_ID
from tests.index.files.conftest import OWNER, feedback_given, registered, registration, uri_updated


def paid():
    """Return the URI of a feedback file that names a payment."""
    proof = {"fromAddress": OWNER, "toAddress": OWNER, "chainId": "1", "txHash": "0x" + "ab" * 32}
    return b"data:application/json;base64," + base64.b64encode(json.dumps({"proofOfPayment": proof}).encode())


def named_by_events(story):
    """Return the place and URI of every event that names a file."""
    references = []
    with story.engine.connect() as connection:
        for event, (kind, column, _) in FILE_EVENTS.items():
            table = EVENT_TABLES[event]
            rows = connection.execute(select(table)).mappings()
            references += [(row["block_number"], row["log_index"], kind, row[column]) for row in rows if row[column]]
    return sorted(references)


def named_by_references(story):
    """Return the same of every reference."""
    rows = story.query("SELECT block_number, log_index, kind, uri FROM referenced_file")
    return sorted(tuple(row.values()) for row in rows)


def test_a_removed_block_takes_its_references_with_it_and_the_former_file_counts_again(story, server):
    server.routes["/old"], server.routes["/new"] = registration(name="Old"), registration(name="New")
    story.block(*registered(f"{server.url}/old"))
    story.block(uri_updated(f"{server.url}/new"))
    story.settle()
    assert [entry["name"] for entry in story.query("SELECT name FROM agent_registration")] == ["New"]
    assert len(server.requests) == 1
    story.roll_back(1)
    story.clock.now = time.time() + 1
    story.settle()
    assert [entry["name"] for entry in story.query("SELECT name FROM agent_registration")] == ["Old"]
    assert named_by_references(story) == named_by_events(story)


def test_another_event_in_the_same_place_of_another_branch_names_its_own_file(story, server):
    story.block(feedback_given(f"{server.url}/one"))
    story.scan_all()
    story.roll_back(0)
    story.block(feedback_given(f"{server.url}/two"))
    story.scan_all()
    assert [entry[-1] for entry in named_by_references(story)] == [f"{server.url}/two"]


def test_a_registration_is_not_shown_for_a_newer_uri_that_is_not_scanned_yet(story, server):
    server.routes["/old"] = registration()
    story.block(*registered(f"{server.url}/old"))
    story.settle()
    story.block(uri_updated(f"{server.url}/new"))
    assert story.query("SELECT * FROM agent_registration") == []


def test_files_that_no_event_names_are_collected_with_what_they_said(story, server):
    server.routes["/kept"], server.routes["/gone"] = registration(name="Kept"), registration(name="Gone")
    story.block(*registered(f"{server.url}/kept"))
    story.block(*registered(f"{server.url}/gone", agent_id=2))
    story.settle()
    story.roll_back(1)
    assert collect(story.engine) == 0  # the event may come back
    assert collect(story.engine, before=2**40) == 1
    assert [row["name"] for row in story.rows(schema.registration_file)] == ["Kept"]
    assert [row["uri"] for row in story.rows(schema.file)] == [f"{server.url}/kept"]
    assert len(story.rows(schema.file_content)) == 1
    assert story.rows(schema.abandoned_file) == []


def test_domain_of_a_removed_agent_stays_for_the_services_of_another(story):
    services = [{"name": "web", "endpoint": "https://a.example/web"}]
    content = base64.b64encode(registration(services=services))
    story.block(*registered(b"data:application/json;base64," + content))
    named = [(2, b"a.example"), (3, b"B.Example:444"), (4, b"a.example/x"), (5, b""), (6, b"user@a.example")]
    story.block(*(encoded(Registry.IDENTITY, "AgentRegistered", agent, domain, OWNER) for agent, domain in named))
    story.scan_all()

    def domains():
        return sorted(row["uri"] for row in story.rows(schema.file) if row["kind"] == "domain")

    a, b = (f"https://{host}/.well-known/agent-registration.json" for host in ("a.example", "b.example:444"))
    assert domains() == [a, b]
    assert [entry[-2:] for entry in named_by_references(story)[1:]] == [("domain", a), ("domain", b)]
    story.roll_back(1)
    assert collect(story.engine, before=2**40) == 1
    assert domains() == [a]


def test_a_domain_that_an_agent_left_counts_no_more_until_the_event_is_removed(story):
    story.block(encoded(Registry.IDENTITY, "AgentRegistered", 2, b"a.example", OWNER))
    story.block(encoded(Registry.IDENTITY, "AgentUpdated", 2, b"b.example", OWNER))
    story.scan_all()
    a, b = (file_id_of(Kind.DOMAIN, domain_uri(name), None) for name in ("a.example", "b.example"))

    def outdated():
        with story.engine.connect() as connection:
            return [is_outdated(connection, entry) for entry in (a, b)]

    assert outdated() == [True, False]
    with story.engine.begin() as connection:
        connection.execute(schema.file.update().values(next_at=2**40))
    story.roll_back(1)
    assert outdated() == [False, True]
    assert {row["file_id"]: row["next_at"] < 2**40 for row in story.rows(schema.file)} == {a: True, b: False}


def test_domain_that_an_agent_gave_up_is_fetched_no_more_until_the_event_is_removed(story):
    story.block(encoded(Registry.IDENTITY, "AgentRegistered", 2, b"a.example", OWNER))
    story.block(encoded(Registry.IDENTITY, "AgentUpdated", 2, b"", OWNER))
    story.scan_all()
    assert story.fetch() is None
    with story.engine.begin() as connection:
        assert is_outdated(connection, file_id_of(Kind.DOMAIN, domain_uri("a.example"), None))
    story.roll_back(1)
    lease = story.queue.claim()
    assert lease.uri == domain_uri("a.example")


@contextmanager
def plans(story, table):
    """Yield a list that gets, in the end, SQLite's plans of the queries within that name a table."""
    statements, statement_plans = [], []

    def note(_connection, _cursor, statement, parameters, *_):
        if table in statement and statement.startswith("SELECT"):
            statements.append((statement, parameters))

    listen(story.engine, "before_cursor_execute", note)
    yield statement_plans
    remove(story.engine, "before_cursor_execute", note)
    with story.engine.connect() as connection:
        for statement, parameters in statements:
            rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            statement_plans.append(" ".join(row[-1] for row in rows))


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # PostgreSQL plans by the number of rows
@pytest.mark.parametrize("index", ["file_reference_by_agent", "file_reference_of_domain"])
def test_files_of_one_agent_are_found_by_an_index(story, index):
    story.block(*registered("https://a.example/agent.json"))
    story.block(encoded(Registry.IDENTITY, "AgentRegistered", 2, b"a.example", OWNER))
    story.block(*registered("https://b.example/agent.json"))
    story.block(encoded(Registry.IDENTITY, "AgentUpdated", 2, b"b.example", OWNER))
    story.scan_all()
    with plans(story, "file_reference") as steps:
        with story.engine.connect() as connection:
            is_outdated(connection, file_id_of(Kind.DOMAIN, domain_uri("a.example"), None))
        story.roll_back(2)
    assert sum(f"USING INDEX {index} (chain_id=? AND registry=? AND agent_id=?" in entry for entry in steps) == 2, steps


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # see above
def test_chains_of_a_file_are_found_by_its_own_references(story):
    story.block(*registered(paid().decode()))
    with plans(story, "all_sights") as steps:
        story.scan_all()
    assert steps
    for plan in steps:
        assert plan.count("INDEX file_reference_by_file (file_id=?)") == 2, plan


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # see above
def test_agents_of_a_file_are_found_by_its_own_references(story):
    story.block(*registered(paid().decode()))
    story.scan_all()
    statements = []
    with story.engine.connect() as connection:
        driver = connection.connection.driver_connection
        driver.set_trace_callback(statements.append)
        observations._agents(connection, CHAIN_ID, bytes(32), Kind.DOMAIN)
        driver.set_trace_callback(None)
        selects = [statement for statement in statements if statement.startswith("SELECT")]
        assert len(selects) == 2
        for select_ in selects:
            plan = " ".join(row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {select_}"))
            assert "file_reference USING INDEX file_reference_by_file (file_id=?)" in plan, plan


def test_a_file_whose_event_came_back_is_not_collected_and_not_fetched_again(story, server):
    server.routes["/a"] = registration()
    story.block(*registered(f"{server.url}/a"))
    story.settle()
    story.roll_back(0)
    story.block()
    story.block(feedback_given(""))
    story.block(*registered(f"{server.url}/a"))
    story.scan_all()
    assert collect(story.engine, before=2**40) == 0
    assert [entry["name"] for entry in story.query("SELECT name FROM agent_registration")] == ["Agent"]


def test_a_scan_that_a_rollback_overtook_stores_nothing(story, server, monkeypatch):
    story.block(feedback_given(f"{server.url}/one"))
    decoded = ReferenceScan._decoded

    def overtaken(scan, references):
        story.roll_back(0)
        monkeypatch.undo()
        return decoded(scan, references)

    monkeypatch.setattr(ReferenceScan, "_decoded", overtaken)
    story.scan.step()
    assert story.rows(schema.file_reference) == story.rows(schema.file) == []


def test_scans_and_rollbacks_in_any_order_leave_exactly_the_references_of_the_events(story, loader):
    choices = random.Random(5)  # noqa: S311  # reproducible, not secret
    stop = threading.Event()
    other = ReferenceScan(story.engine, CHAIN_ID, loader, READERS, clock=story.clock)

    def scan():
        while not stop.is_set():
            if other.step() is None:
                stop.wait(0.01)

    thread = threading.Thread(target=scan)
    thread.start()
    try:
        for number in range(40):
            head = story.store.cursor().number
            if head > 3 and choices.random() < 0.3:
                story.roll_back(head - choices.randint(1, 3))
            else:
                story.block(
                    *(feedback_given(f"https://a.example/{number}/{at}") for at in range(choices.randint(0, 3)))
                )
            if choices.random() < 0.5:
                story.scan.step()
    finally:
        stop.set()
        thread.join()
    story.scan_all()
    assert named_by_references(story) == named_by_events(story)
    assert len(named_by_references(story)) > 10


def test_the_status_counts_the_files_of_each_chain(story, server):
    server.routes["/a"], server.routes["/b"] = registration(), b"[]"
    story.block(*registered(f"{server.url}/a"), *registered(f"{server.url}/b", agent_id=2))
    story.block(*registered(f"{server.url}/c", agent_id=3))
    story.settle()
    story.block(*registered(f"{server.url}/d", agent_id=4))
    story.scan_all()
    (status,) = chain_statuses(story.engine)
    counts = (status.files_loaded, status.files_malformed, status.files_failed, status.files_waiting)
    assert counts == (1, 1, 1, 1)


def test_the_status_shows_the_rate_and_the_time_left(story):
    def register(first, count):
        uris = (f"data:,{{}}{'%20' * number}" for number in range(first, first + count))
        story.block(*(log for at, uri in enumerate(uris) for log in registered(uri, agent_id=first + at)))

    def figures():
        (status,) = chain_statuses(story.engine)
        return status.files_loaded, status.files_waiting, status.files_per_second, status.files_seconds_left

    story.clock.now = time.time()
    register(1, 3)
    assert figures() == (0, 0, 0, 0)  # nothing scans the chain yet
    story.scan_all()
    loaded, waiting, rate, left = figures()
    assert (loaded, waiting, left) == (3, 0, 0)
    assert 0 < rate <= 3
    register(4, 90)
    loaded, waiting, rate, left = figures()
    assert (loaded, waiting, left) == (3, 90, round(90 / rate))
    story.scan_all()
    story.block(*registered("", agent_id=100), feedback_given(""))
    assert figures()[:2] == (93, 0)


def test_the_rate_is_zero_after_a_pause(story):
    story.clock.now = time.time() - 120
    story.block(*registered("data:,{}"))
    story.scan_all()
    story.block(*registered("data:,{ }", agent_id=2))
    (status,) = chain_statuses(story.engine)
    assert (status.files_waiting, status.files_per_second, status.files_seconds_left) == (1, 0, None)
