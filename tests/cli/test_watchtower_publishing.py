"""A week of a watchtower from the command line: published, exported, shared and merged."""

from __future__ import annotations

import json

import pytest

from bilateral.api.webhooks import write_key
from bilateral.index.log.database import open_database
from bilateral.index.measurements.values import Outcome
from tests.explorer.stored import OWNER, Ledger
from tests.watchtower.weeks import WEEK, Week, target


@pytest.fixture
def week(tmp_path, agent):
    """A week in which the endpoint of an agent was up."""
    week = Week(tmp_path, target(1, f"31337:{agent}"))
    week.up(week.listed[0])
    return week


@pytest.fixture
def places(week, tmp_path):
    """The options that name the databases of the watchtower and the index."""
    ledger, index = Ledger(31337), f"sqlite:///{tmp_path / 'index.sqlite'}"
    engine = open_database(index)
    ledger.register(1, OWNER, {})
    ledger.store(engine)
    engine.dispose()
    return ["--store", str(week.store.engine.url), "--database", index]


@pytest.fixture
def store(tmp_path):
    """The options that name the store of evidence."""
    return ["--store-folder", tmp_path / "evidence", "--store-url", "https://tower.example"]


def test_a_week_is_published_once(done, client, places, store, reputation, agent, tmp_path):
    own = done("agent", "register", "data:,", key=client)["result"]["agent"]
    command = ("watchtower", "publish", own, "--period", WEEK.name, *places, *store)
    planned = done(*command, "--dry-run", key=client)
    assert (planned["measurements"], planned["due"]) == (1, {"reachable": 1, "ownerVerified": 1})
    assert reputation.getLastIndex(agent, client) == 0
    published = done(*command, key=client)
    assert (published["due"], len(published["sent"]), published["refused"]) == (2, 3, [])
    assert tuple(reputation.readFeedback(agent, client, 1))[2:4] == ("reachable", WEEK.name)
    assert done(*command, key=client)["sent"] == []
    exported = done("watchtower", "export", tmp_path / "week.ndjson", "--period", WEEK.name, *places)
    assert exported["root"] == published["root"]
    (line,) = (tmp_path / "week.ndjson").read_text().splitlines()
    assert json.loads(line)["uptime"][0] == "100.0"


def test_a_week_that_is_not_over_is_not_published(refused, client, places, store):
    error = refused(3, "watchtower", "publish", 1, "--period", "2999-W01", *places, *store, key=client)
    assert "an hour after it has ended" in error["message"]


def test_a_vantage_shares_what_it_measured(done, refused, week, places, tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    there = Week(folder, *week.listed)
    there.probe(there.listed[0], [Outcome.DOWN] * 10, vantage="us-1")
    private, public, file = (tmp_path / name for name in ("key.pem", "public.pem", "us-1.ndjson"))
    public.write_bytes(write_key(private).as_pem(private=False))
    elsewhere = ["--store", str(there.store.engine.url)]
    names = ["--period", WEEK.name, "--vantage", "us-1"]
    done("watchtower", "export", file, *names, "--key-file", private, *elsewhere)
    merging = ["watchtower", "merge", file, "--vantage", "us-1", "--public-key", public, *places[:2]]
    assert done(*merging)["hours"] == 3
    file.write_bytes(file.read_bytes().replace(b'"down":4', b'"up":4'))
    assert "not signed by the vantage" in refused(3, *merging)["message"]


@pytest.mark.parametrize("token", ["eip155:8453", "eip155:8453/0x00", "eip155:8453/0x00=six"])
def test_a_token_has_a_network_an_address_and_decimals(refused, client, places, token):
    error = refused(3, "watchtower", "buy", "--token", token, *places, key=client)
    assert "--token must have the form" in error["message"]


def test_a_buyer_without_sellers_buys_nothing(done, client, places):
    assert done("watchtower", "buy", "--token", "eip155:8453/0x00=6", *places, key=client) == []


def test_a_budget_is_a_number(refused, client, places):
    command = ["watchtower", "buy", "--token", "eip155:8453/0x00=6", "--day", "much", *places]
    assert "is not an amount in dollars" in refused(3, *command, key=client)["message"]
