"""Registries that are added to an index: its tables become those of an index that began with all of them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from sqlalchemy import select

from bilateral.core.contracts import Registry
from bilateral.core.identifiers import checksummed
from bilateral.index.errors import DatabaseUnavailableError
from bilateral.index.log import tables as schema
from bilateral.index.log.database import open_database
from simulation.events import ADDRESSES, Generator
from tests.index.model import stored_tables
from tests.index.test_commands import bilateral

BEGUN, LATER = 2, 8
"""The first blocks of the registries of the start, and of those that are added."""

FURTHER = {
    ADDRESSES[kind]: checksummed("0x" + byte * 20)
    for kind, byte in ((Registry.IDENTITY, "1a"), (Registry.BIDIRECTIONAL, "2b"), (Registry.VALIDATION, "4d"))
}
"""Addresses of further registries, by those of the registries that emit the same events."""

EMPTY_BLOCKS = 200
"""Blocks after the events: more than the journal undoes, and more than the 64 that anvil does not call finalized."""


@pytest.fixture
def grown(request, event_chain, generator, emitter_code):
    """A chain on which further registries appear later. The parameter is the number of empty blocks at its end."""
    for address in FURTHER.values():
        event_chain.rpc("anvil_setCode", address, emitter_code)
    others = Generator(seed=5, hostile=0.05)
    for number in range(1, 21):
        logs = generator.logs(5)
        if number >= LATER:
            logs += [replace(log, address=FURTHER[log.address]) for log in others.logs(8) if log.address in FURTHER]
        event_chain.mine(logs)
    event_chain.rpc("anvil_mine", hex(getattr(request, "param", EMPTY_BLOCKS)))
    return event_chain


@pytest.fixture
def records(tmp_path):
    """The options that name the registries of the start, and those that name the further ones."""

    def write(name, places, block):
        contracts = {str(kind): {"address": address, "block": block} for kind, address in places.items()}
        (tmp_path / name).write_text(json.dumps({"chainId": 31337, "contracts": contracts}))
        return "--deployment", tmp_path / name

    further = {kind: FURTHER[address] for kind, address in ADDRESSES.items() if address in FURTHER}
    return (
        write("first.json", ADDRESSES, BEGUN),
        write("further.json", further, LATER),
        write("earlier.json", further, BEGUN - 1),
    )


@pytest.fixture
def run(grown, tmp_path):
    """Run the index to the head, into a database with a name, and return its exit code and its messages."""

    def run_command(name, *options):
        database = f"sqlite:///{tmp_path / name}"
        arguments = ("--rpc-url", grown.url, "--until-head", "--no-files", "--database", database)
        code, _, told = bilateral("run", *arguments, *options)
        return code, told

    return run_command


@pytest.fixture
def rows(tmp_path):
    """Return all rows of a database with a name, and the places and counts of its chain."""

    def read(name):
        engine, chain = open_database(f"sqlite:///{tmp_path / name}"), schema.chain.c
        places = chain.first_block, chain.block_number, chain.block_hash, chain.finalized_number
        with engine.connect() as connection:
            registered = {
                **stored_tables(engine),
                "registry": sorted(connection.execute(select(schema.registry)).all()),
                "chain": connection.execute(select(*places, chain.event_rows, chain.reorganizations)).all(),
            }
        engine.dispose()
        return registered

    return read


@pytest.mark.parametrize("grown", [1, EMPTY_BLOCKS], indirect=True)
def test_an_index_to_which_registries_are_added_equals_one_that_began_with_them(run, rows, records):
    first, further, _ = records
    assert run("added", *first)[0] == 0
    before = rows("added")
    code, told = run("added", *first, *further, "--add-registries")
    assert code == 0, told
    assert f"outcome=goes_back block={LATER} adds={min(FURTHER.values())}" in told
    assert run("fresh", *first, *further)[0] == 0
    assert rows("added") == rows("fresh")
    assert rows("added")["registered"] != before["registered"]
    assert rows("added")["summary"] != before["summary"]


def test_registries_are_refused_without_the_option_and_the_message_names_it(run, rows, records):
    first, further, _ = records
    assert run("index", *first)[0] == 0
    before = rows("index")
    code, told = run("index", *first, *further)
    assert code == 11
    assert f"it lacks {', '.join(sorted(FURTHER.values()))}. " in told
    assert "run with --add-registries to read them as well, use the same --deployment as before" in told
    assert rows("index") == before


def test_the_option_removes_no_registry(run, rows, records):
    first, further, _ = records
    assert run("index", *first)[0] == 0
    before = rows("index")
    code, told = run("index", *further, "--add-registries")
    assert code == 11
    assert f"it also has {min(ADDRESSES.values())}" in told
    assert "--add-registries" not in told
    assert rows("index") == before


def test_the_option_without_further_registries_changes_nothing(run, rows, records):
    first, _, _ = records
    assert run("index", *first, "--add-registries")[0] == 0
    before = rows("index")
    code, told = run("index", *first, "--add-registries")
    assert code == 0
    assert "outcome=" not in told
    assert rows("index") == before


def test_a_registry_before_the_first_block_is_refused_unless_that_block_is_named(run, rows, records):
    first, _, earlier = records
    assert run("index", *first)[0] == 0
    before = rows("index")
    code, told = run("index", *first, *earlier, "--add-registries")
    assert code == 11
    assert f"a registry to add was deployed in block {BEGUN - 1} or in an unknown block, but the database has" in told
    assert f"chain 31337 only from block {BEGUN}: pass --from-block {BEGUN} to omit earlier events" in told
    assert rows("index") == before
    assert run("index", *first, *earlier, "--add-registries", "--from-block", BEGUN)[0] == 0
    assert run("fresh", *first, *earlier, "--from-block", BEGUN)[0] == 0
    assert rows("index") == rows("fresh")


def test_a_run_that_ends_before_the_registries_are_stored_loses_nothing(run, rows, records, monkeypatch):
    first, further, _ = records
    assert run("index", *first)[0] == 0
    before = rows("index")

    def end(*_):
        raise DatabaseUnavailableError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("bilateral.index.operating.worker.record_registries", end)
        assert run("index", *first, *further, "--add-registries")[0] == 11
    assert rows("index")["chain"][0].block_number < LATER
    assert run("index", *first)[0] == 0
    assert rows("index") == before
    assert run("index", *first, *further, "--add-registries")[0] == 0
    assert run("fresh", *first, *further)[0] == 0
    assert rows("index") == rows("fresh")
