"""A first run of a watchtower tells who is alive, and the index learns it."""

from __future__ import annotations

import json

import pytest

from bilateral.index.measurements.tables import endpoint_state
from tests.commands import run_here
from tests.index.conftest import CHAIN_ID
from tests.watchtower.killed import serving


@pytest.mark.one_engine
def test_a_first_run_shows_who_is_alive_and_tells_the_index(measured, tmp_path):
    store = ("--store", f"sqlite:///{tmp_path / 'watchtower.sqlite'}")
    places = ("--database", measured.engine.url.render_as_string(hide_password=False), *store)
    with serving() as (port, requests):
        measured.agent(1, ("web", f"http://127.0.0.1:{port}/"))
        measured.agent(2, ("web", "http://127.0.0.1:9/"))
        options = ("--once", "--allow-private", "--contact", "https://operator.example", *places)
        code, table, notes = run_here("watchtower", "run", *options)
        agent = run_here("watchtower", "probe", f"{CHAIN_ID}:1", *options[1:4], *places[:2], "--json")
    assert code == 0
    assert "127.0.0.1:9" in table
    assert "alive now: 1 of 2 agents, on 1 of 2 hosts" in notes
    assert [path for _, path in requests] == ["/robots.txt", "/", "/"]
    assert [probe["outcome"] for probe in json.loads(agent[1])] == ["up"]
    assert {row["state"] for row in measured.rows(endpoint_state)} == {"up"}
    assert run_here("watchtower", "status", *store)[1] == table
