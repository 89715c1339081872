"""What watchtowers record stays, with the block that the index had reached, and reaches the change feed once."""

from __future__ import annotations

import json

from bilateral.index.changes.tables import ChangeKind, change_note
from bilateral.index.measurements.tables import endpoint_change, endpoint_day, endpoint_state
from bilateral.index.measurements.values import Change, Outcome
from tests.index.conftest import CHAIN_ID
from tests.index.measurements.conftest import KEY, MCP, NOON, current, state_change
from tests.index.measurements.rows import day_row

LATER = NOON + 60


def changes_of(measured):
    """Return the changes of endpoints, without the marks of the watchtower."""
    return [row for row in measured.rows(endpoint_change) if row["kind"] != "probed"]


def notes_of(measured):
    return [row for row in measured.rows(change_note) if row["kind"] == ChangeKind.ENDPOINT]


def test_first_state_is_a_change_that_the_feed_does_not_tell(measured):
    block = measured.agent(1, ("mcp", MCP))
    measured.record(currents=[current()])
    (change,) = changes_of(measured)
    assert (change["seen_block"], change["at"], change["old"], change["new"]) == (block, NOON, None, '"up"')
    assert notes_of(measured) == []


def test_change_is_told_once_to_each_agent_that_lists_the_endpoint(measured):
    measured.agent(1, ("mcp", MCP))
    block = measured.agent(2, ("mcp", MCP))
    down = state_change("up", "down", code="refused")
    for _ in range(2):
        measured.record(changes=[down], currents=[current(Outcome.DOWN, code="refused")])
    notes = notes_of(measured)
    assert [note["agent_id"] for note in notes] == [1, 2]
    details = {
        "protocol": "mcp",
        "url": MCP,
        "change": "state",
        "old": "up",
        "new": "down",
        "code": "refused",
        "at": NOON,
    }
    assert json.loads(notes[0]["details"]) == details
    assert [row["seen_block"] for row in changes_of(measured)] == [block]


def test_last_time_alive_survives_a_failure(measured):
    measured.agent(1, ("mcp", MCP))
    measured.record(currents=[current(), current(vantage="us-1")])
    measured.record(currents=[current(Outcome.DOWN, at=LATER, failures=2)])
    states = {row["vantage"]: row for row in measured.rows(endpoint_state)}
    assert {name: (row["state"], row["alive_at"]) for name, row in states.items()} == {
        "eu-1": ("down", NOON),
        "us-1": ("up", NOON),
    }
    assert (states["eu-1"]["probed_at"], states["eu-1"]["failures"]) == (LATER, 2)


def test_day_is_replaced_by_its_newer_figures(measured):
    measured.agent(1, ("mcp", MCP))
    for scheduled in (1, 96):
        measured.record(days=[day_row(KEY, 20_833, "eu-1", scheduled, {Outcome.UP: scheduled}, 40, 90)])
    (day,) = measured.rows(endpoint_day)
    assert (day["scheduled"], day["up"], day["down"], day["median_ms"], day["p95_ms"]) == (96, 96, 0, 40, 90)


def test_watchtower_says_once_an_hour_that_it_measures(measured):
    measured.agent(1, ("mcp", MCP))
    for seconds in (0, 900, 3_599, 3_600):
        measured.record(currents=[current(at=NOON + seconds)])
    marks = [row for row in measured.rows(endpoint_change) if row["kind"] == "probed"]
    assert [(row["at"], row["new"]) for row in marks] == [(NOON, None), (NOON + 3_600, None)]


def test_state_that_nobody_could_renew_for_two_days_is_unknown_until_a_probe_counts(measured):
    other = "https://other.example/mcp"
    measured.agent(1, ("mcp", MCP), ("mcp", other))
    measured.record(currents=[current(), current(url=other)])
    later = NOON + 2 * 86_400 + 1
    for at in (later, later + 3_600):
        measured.record(currents=[current(url=other, since=NOON, at=at)])
    measured.record(currents=[current(since=NOON, at=later + 7_200)])
    of_endpoint = [row for row in changes_of(measured) if bytes(row["endpoint_id"]) == KEY]
    assert [(row["at"], row["new"], row["code"]) for row in of_endpoint] == [
        (NOON, '"up"', "ok"),
        (later, '"unknown"', "stale"),
        (later + 7_200, '"up"', "ok"),
    ]
    assert notes_of(measured) == []


def test_endpoint_that_no_agent_lists_any_more_is_not_stored(measured):
    measured.agent(1, ("mcp", "https://other.example/"))
    measured.record(currents=[current()], changes=[state_change("up", "down")])
    assert measured.rows(endpoint_state) == measured.rows(endpoint_change) == []


def test_rollback_moves_changes_to_the_block_after_the_last_that_stays(measured):
    block = measured.agent(1, ("mcp", MCP))
    measured.agent(2, ("mcp", MCP))
    measured.record(changes=[Change(KEY, NOON, "price", "10000", "20000")])
    measured.story.roll_back(block)
    assert [(row["chain_id"], row["seen_block"]) for row in changes_of(measured)] == [(CHAIN_ID, block + 1)]
