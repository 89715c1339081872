"""References through reorganisations: no file is shown for an event that is gone, and none is missed."""

from __future__ import annotations

import random
import threading
import time

from sqlalchemy import select

from bilateral.index.files import schema
from bilateral.index.files.references import NAMED, ReferenceScan, collect
from bilateral.index.schema import EVENT_TABLES
from bilateral.index.status import chain_statuses
from tests.index.conftest import CHAIN_ID
from tests.index.files.conftest import feedback_given, registered, registration, uri_updated


def named_by_events(story):
    """Return the place and URI of every event that names a file."""
    found = []
    with story.engine.connect() as connection:
        for event, (kind, column, _) in NAMED.items():
            table = EVENT_TABLES[event]
            rows = connection.execute(select(table)).mappings()
            found += [(it["block_number"], it["log_index"], kind, it[column]) for it in rows if it[column]]
    return sorted(found)


def named_by_references(story):
    """Return the same of every reference."""
    rows = story.query("SELECT block_number, log_index, kind, uri FROM referenced_file")
    return sorted(tuple(row.values()) for row in rows)


def test_a_removed_block_takes_its_references_with_it_and_the_former_file_counts_again(story, server):
    server.routes["/old"], server.routes["/new"] = registration(name="Old"), registration(name="New")
    story.block(*registered(f"{server.url}/old"))
    story.block(uri_updated(f"{server.url}/new"))
    story.settle()
    assert [it["name"] for it in story.query("SELECT name FROM agent_registration")] == ["New"]
    assert len(server.requests) == 1
    story.roll_back(1)
    story.clock.now = time.time() + 1
    story.settle()
    assert [it["name"] for it in story.query("SELECT name FROM agent_registration")] == ["Old"]
    assert named_by_references(story) == named_by_events(story)


def test_another_event_in_the_same_place_of_another_branch_names_its_own_file(story, server):
    story.block(feedback_given(f"{server.url}/one"))
    story.scan_all()
    story.roll_back(0)
    story.block(feedback_given(f"{server.url}/two"))
    story.scan_all()
    assert [it[-1] for it in named_by_references(story)] == [f"{server.url}/two"]


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
    assert [it["name"] for it in story.rows(schema.registration_file)] == ["Kept"]
    assert [it["uri"] for it in story.rows(schema.file)] == [f"{server.url}/kept"]
    assert len(story.rows(schema.file_content)) == 1
    assert story.rows(schema.abandoned_file) == []


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
    assert [it["name"] for it in story.query("SELECT name FROM agent_registration")] == ["Agent"]


def test_a_scan_that_a_rollback_overtook_stores_nothing(story, server, monkeypatch):
    story.block(feedback_given(f"{server.url}/one"))
    decoded = ReferenceScan._decoded

    def overtaken(scan, found):
        story.roll_back(0)
        monkeypatch.undo()
        return decoded(scan, found)

    monkeypatch.setattr(ReferenceScan, "_decoded", overtaken)
    story.scan.step()
    assert story.rows(schema.file_reference) == story.rows(schema.file) == []


def test_scans_and_rollbacks_in_any_order_leave_exactly_the_references_of_the_events(story, loader):
    choices = random.Random(5)  # noqa: S311  # reproducible, not secret
    stop = threading.Event()
    other = ReferenceScan(story.engine, CHAIN_ID, loader, clock=story.clock)

    def scan():
        while not stop.is_set():
            if other.step() is None:
                stop.wait(0.001)

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
