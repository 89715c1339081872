"""The queue under several workers: leases, hosts and their turns, killed processes, and a real run."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

from bilateral.index.files import tables as schema
from bilateral.index.files.loading import Failed, load_file
from bilateral.index.files.queue import FileQueue
from bilateral.index.files.worker import FileSettings, FileWorkers
from bilateral.index.log.database import open_database
from bilateral.index.projections import READERS
from tests.index.conftest import CHAIN_ID
from tests.index.files.conftest import registered, registration, uri_updated
from tests.processes import CONTEXT

OFFLINE = Failed("unreachable_document", "it does not answer", is_of_host=True)


def register(story, *uris):
    """Register an agent for each URI, in one block, and scan it."""
    story.block(*(log for agent_id, uri in enumerate(uris, 1) for log in registered(uri, agent_id)))
    story.scan_all()


def test_a_leased_file_is_not_leased_again_before_its_lease_ends(story, server):
    server.routes["/a"] = registration()
    register(story, f"{server.url}/a")
    first = story.queue.claim()
    assert story.queue.claim() is None
    story.clock.pass_(59)
    assert story.queue.claim() is None
    story.clock.pass_(2)
    second = story.queue.claim()
    assert (second.file_id, second.uri) == (first.file_id, first.uri)
    assert second.token != first.token


def test_a_late_outcome_is_dropped_and_that_of_the_new_lease_counts(story, server):
    server.routes["/a"] = registration()
    register(story, f"{server.url}/a")
    late = story.queue.claim()
    story.clock.pass_(61)
    new = story.queue.claim()
    assert not story.queue.complete(late, OFFLINE)
    outcome = load_file(story.loader, new.kind, new.uri, new.expected_hash, new.validators, READERS)
    assert story.queue.complete(new, outcome)
    assert not story.queue.complete(new, OFFLINE)
    assert (story.file()["state"], story.file()["failures"]) == ("loaded", 0)


def test_a_file_that_kills_its_workers_is_leased_less_and_less_often(story, server):
    register(story, f"{server.url}/a")
    waits = []
    for _ in range(4):
        assert story.queue.claim() is not None
        waits.append(story.file()["next_at"] - story.clock.now)
        story.clock.now = story.file()["next_at"]
    assert waits == [60, 120, 240, 480]


def test_a_returned_lease_is_due_at_once(story, server):
    register(story, f"{server.url}/a")
    lease = story.queue.claim()
    story.queue.release([lease])
    assert story.queue.claim().file_id == lease.file_id


def test_four_files_of_one_host_are_leased_at_once_and_not_five(story):
    register(story, *(f"https://one.example/{number}" for number in range(6)))
    leases = [story.queue.claim() for _ in range(4)]
    assert all(leases)
    assert story.queue.claim() is None
    assert story.queue.complete(leases[0], Failed("unreachable_document", "status 404"))
    assert story.queue.claim() is not None
    assert story.queue.claim() is None


def test_hosts_take_turns(story):
    uris = [f"https://large.example/{number}" for number in range(50)]
    register(story, *uris, "https://b.example/1", "https://c.example/1")
    hosts = []
    for _ in range(4):
        hosts.append(story.queue.claim().host)
        story.clock.pass_(0.01)
    assert Counter(hosts) == {"large.example:443": 2, "b.example:443": 1, "c.example:443": 1}


def test_a_host_that_does_not_answer_is_left_alone_longer_each_time(story):
    register(story, *(f"https://down.example/{number}" for number in range(20)))
    pauses = []
    for _ in range(4):
        story.queue.complete(story.queue.claim(), OFFLINE)
        assert story.queue.claim() is None
        pauses.append(story.queue.seconds_to_next())
        story.clock.pass_(pauses[-1])
    assert pauses == [5, 10, 20, 40]
    story.queue.complete(story.queue.claim(), Failed("unreachable_document", "status 404"))
    assert story.queue.claim() is not None  # it answers again


def test_a_new_event_does_not_open_a_host_that_is_left_alone(story):
    register(story, "https://down.example/1")
    story.queue.complete(story.queue.claim(), OFFLINE)
    story.block(uri_updated("https://down.example/2"))
    story.scan_all()
    assert story.queue.claim() is None
    story.clock.pass_(5)
    assert story.queue.claim().uri == "https://down.example/2"


def drain(url, now, taken):
    """Lease files until none is due, as a worker does."""
    engine = open_database(url)
    queue = FileQueue(engine, clock=lambda: now)
    while (lease := queue.claim()) is not None:
        taken.append(lease.file_id)
        queue.complete(lease, Failed("unreachable_document", "status 404"))
    engine.dispose()


def test_several_workers_fetch_nothing_twice(story, database_url):
    register(story, *(f"https://{number % 7}.example/{number}" for number in range(60)))
    taken = []
    threads = [threading.Thread(target=drain, args=(database_url, story.clock.now, taken)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drain(database_url, story.clock.now, taken)  # a worker ends when others hold all that is due
    assert len(taken) == len(set(taken)) == 60


def work(url, port):
    """Fetch files in a process of its own, until it is killed."""
    engine = open_database(url)
    settings = FileSettings(workers=3, allow_private=True)
    stop = threading.Event()
    workers = FileWorkers(engine, settings, READERS, stop=stop, fail=lambda _: None)
    workers.add_chain(CHAIN_ID)
    workers.start()
    stop.wait()


@pytest.mark.one_engine
def test_files_of_a_killed_process_are_fetched_by_the_next_one(story, server, database_url):
    story.clock.now = time.time()
    asked, end = threading.Event(), threading.Event()

    def hang(_):
        asked.set()
        end.wait(300)

    server.routes["/hangs"] = hang
    register(story, f"{server.url}/hangs")
    process = CONTEXT.Process(target=work, args=(database_url, server.port))
    process.start()
    assert asked.wait(120)
    process.kill()
    process.join()
    end.set()
    assert story.file()["state"] == "waiting"
    server.routes["/hangs"] = registration()
    story.clock.now = time.time()
    assert story.queue.claim() is None
    story.clock.pass_(61)
    story.settle()
    assert (story.file()["state"], story.file()["attempts"]) == ("loaded", 0)


@pytest.fixture
def running(engine):
    """Start threads that fetch files, and end them."""
    stop, failures = threading.Event(), []
    workers = FileWorkers(engine, FileSettings(workers=3, allow_private=True), READERS, stop=stop, fail=failures.append)
    workers.add_chain(CHAIN_ID)
    yield workers, stop
    stop.set()
    workers.close()
    assert failures == []


def test_threads_fetch_all_files_and_tell_when_they_are_done(story, server, running):
    workers, _ = running
    for number in range(1, 13):
        server.routes[f"/{number}"] = registration(name=f"Agent {number}")
        story.block(*registered(f"{server.url}/{number}", agent_id=number))
    workers.start()
    workers.wait_until_done()
    assert len(story.query("SELECT * FROM agent_registration WHERE state = 'loaded'")) == 12
    assert Counter(path for _, path, _ in server.requests).most_common(1)[0][1] == 1


def test_threads_that_are_told_to_stop_return_the_leases_that_they_hold(story, server, running):
    workers, stop = running
    asked, end = threading.Event(), threading.Event()

    def hang(_):
        asked.set()
        end.wait(300)

    server.routes["/hangs"] = hang
    story.block(*registered(f"{server.url}/hangs"))
    workers.start()
    assert asked.wait(120)
    stop.set()
    began = time.monotonic()
    workers.close()
    end.set()
    assert time.monotonic() - began < 60
    row = story.file()
    assert (row["state"], row["lease"], row["attempts"]) == ("waiting", None, 0)
    assert row["next_at"] <= time.time()
    assert len(story.rows(schema.file_host)) == 1
