"""No single failure takes an endpoint down, and one that flaps is reported once."""

from __future__ import annotations

import json
from itertools import pairwise

from bilateral.index.measurements.values import Change, Outcome
from bilateral.watchtower.endpoints import Condition, next_due
from bilateral.watchtower.outcomes import Code

DAY = 86_400
ROUND = 900
KEY = bytes(32)


def observed(*outcomes, condition=None):
    """Return the condition after rounds with these outcomes, and the changes."""
    condition = condition or Condition()
    changes = [
        condition.observe(KEY, outcome, str(Code.OK), number * ROUND, attempts=2)
        for number, outcome in enumerate(outcomes)
    ]
    return condition, [change for change in changes if change is not None]


def test_a_failed_round_raises_only_a_suspicion():
    condition, changes = observed(Outcome.UP, Outcome.DOWN)
    assert [change.new for change in changes] == ["up"]
    assert condition.state is Outcome.UP
    assert condition.suspect_at == ROUND


def test_two_failed_rounds_are_down_since_the_first_failure():
    condition, changes = observed(Outcome.UP, Outcome.DOWN, Outcome.DOWN)
    assert changes[-1] == Change(KEY, ROUND, "state", "up", "down", "ok")
    assert condition.since == ROUND
    assert condition.failures == 4


def test_an_endpoint_that_never_answered_is_down_after_three_rounds_without_retries():
    condition = Condition()
    outcomes = [condition.observe(KEY, Outcome.DOWN, "refused", number * ROUND) for number in range(3)]
    assert outcomes == [None, None, Change(KEY, 0, "state", None, "down", "refused")]


def test_a_success_between_two_failures_clears_the_suspicion():
    _, changes = observed(Outcome.UP, Outcome.DOWN, Outcome.GATED, Outcome.DOWN, Outcome.UP)
    assert [change.new for change in changes] == ["up", "gated", "up"]


def test_what_was_not_measured_changes_nothing():
    condition, changes = observed(Outcome.UP, Outcome.DOWN, *[Outcome.UNKNOWN] * 9)
    assert len(changes) == 1
    assert condition.state is Outcome.UP


def test_an_endpoint_that_flaps_is_reported_once():
    down_and_up = [Outcome.DOWN, Outcome.DOWN, Outcome.UP]
    condition, changes = observed(Outcome.UP, *down_and_up * 10)
    assert [change.new for change in changes] == ["up", "down", "up", "down", "degraded"]
    assert condition.code == "flapping"


def test_an_endpoint_that_no_longer_flaps_has_its_own_state_again():
    condition, _ = observed(Outcome.UP, *[Outcome.DOWN, Outcome.DOWN, Outcome.UP] * 3)
    change = condition.observe(KEY, Outcome.UP, "ok", 2 * DAY)
    assert (change.old, change.new, change.code) == ("degraded", "up", "ok")


def test_a_stored_condition_goes_on_where_it_was():
    condition, _ = observed(Outcome.UP, Outcome.DOWN)
    again = Condition(**json.loads(json.dumps(vars(condition))))
    assert again == condition
    assert observed(Outcome.DOWN, condition=again)[1][0].new == "down"


def test_the_longer_it_is_down_the_fewer_probes_it_gets():
    condition = Condition(state=Outcome.DOWN, since=0, was_alive=True)
    rounds = [condition.rounds_to_next(days * DAY, ROUND) for days in (1, 2, 14, 15)]
    assert rounds == [1, 4, 4, 24]
    assert Condition(state=Outcome.DOWN, since=0).rounds_to_next(DAY, ROUND) == 96
    assert Condition(state=Outcome.UP).rounds_to_next(DAY, ROUND) == 1
    assert Condition(state=Outcome.UP).rounds_to_next(DAY, ROUND, is_active=False) == 96


def test_turns_of_an_endpoint_are_one_period_apart_and_those_of_others_are_spread():
    first = next_due(KEY, 1000.0, ROUND)
    assert next_due(KEY, first, ROUND) == first + ROUND
    parts = sorted(next_due(bytes([number]) + bytes(31), 0.0, ROUND) for number in range(256))
    assert max(later - earlier for earlier, later in pairwise(parts)) < 4
