"""The state of an endpoint, which no single failure moves, and the time to its next probe."""

from dataclasses import dataclass, field
from typing import Any, Final, Self

from bilateral.index.measurements.values import REACHABLE, Change, Outcome
from bilateral.watchtower.outcomes import Code
from bilateral.watchtower.totals import DAY, HOUR

_FLAPPING_CHANGES: Final = 4
"""Changes within a day after which an endpoint flaps: that is told once, not at each change."""

_LONG_DOWN: Final = 14 * DAY


@dataclass
class Condition:
    """What is known of an endpoint.

    Attributes:
        state: The state that is published; None before the first result that counts.
        code: The reason of the last result that counts.
        since: The Unix time of the last change of the state.
        failures: The probes in a row that failed.
        suspect_at: The Unix time of the first of them; None if the last probe did not fail.
        measured: The state but for flapping.
        flips: The Unix times of the last changes from reachable to down or back.
        was_alive: True if it was ever reachable.
    """

    state: Outcome | None = None
    code: str | None = None
    since: int | None = None
    failures: int = 0
    suspect_at: int | None = None
    measured: Outcome | None = None
    flips: list[int] = field(default_factory=list)
    was_alive: bool = False

    @classmethod
    def of(cls, row: Any) -> Self:
        """Return the condition that `values` stored."""
        memory = row.memory or {}
        state, measured = (None if value is None else Outcome(value) for value in (row.state, memory.get("measured")))
        stored = (memory.get("suspect_at"), measured, memory.get("flips", []), memory.get("was_alive", False))
        return cls(state, row.code, row.since, row.failures, *stored)

    @property
    def values(self) -> dict[str, Any]:
        """The columns of the endpoint's row."""
        names = ("suspect_at", "measured", "flips", "was_alive")
        memory = {name: getattr(self, name) for name in names}
        columns = {name: getattr(self, name) for name in ("state", "code", "since", "failures")}
        return {**columns, "memory": memory}

    def observe(self, endpoint_id: bytes, outcome: Outcome, code: str, at: int, attempts: int = 1) -> Change | None:
        """Take the result of a round, and return the change that it confirms.

        A failed round only raises a suspicion. The second one in a row, each with a retry, means that the endpoint is
        down since the first failure. A success ends both at once.
        """
        since = at
        if outcome is Outcome.UNKNOWN and code != Code.OPTED_OUT:
            return None
        if outcome is Outcome.DOWN:
            self.failures += attempts
            if self.suspect_at is None:
                self.suspect_at = at
                return None
            since = self.suspect_at
        else:
            self.failures, self.suspect_at = 0, None
        self.was_alive = self.was_alive or outcome in REACHABLE
        if {self.measured in REACHABLE, outcome in REACHABLE} == {True, False} and self.measured is not None:
            self.flips.append(at)
        self.flips = [flip for flip in self.flips if at - flip < DAY]
        self.measured = outcome
        if len(self.flips) >= _FLAPPING_CHANGES:
            outcome, code = Outcome.DEGRADED, Code.FLAPPING
        is_changed = outcome is not self.state or (code == Code.FLAPPING) != (self.code == Code.FLAPPING)
        old, self.state, self.code = self.state, outcome, str(code)
        if not is_changed:
            return None
        self.since = since
        return Change(endpoint_id, since, "state", old, outcome, self.code)


def rounds_to_next(condition: Condition, at: int, interval: int, *, is_active: bool = True) -> int:
    """Return the rounds from a probe of an endpoint to the next: fewer the longer it is down."""
    if condition.state is Outcome.DOWN and condition.was_alive:
        down_seconds = 0 if condition.since is None else at - condition.since
        seconds = 0 if down_seconds <= DAY else HOUR if down_seconds <= _LONG_DOWN else 6 * HOUR
    else:  # one that never was alive, cannot be probed or asked not to be
        seconds = DAY if condition.state in _RARELY else 0
    return max(1, (seconds if is_active else DAY) // interval)


_RARELY: Final = frozenset({Outcome.DOWN, Outcome.UNFIT, Outcome.UNKNOWN})


def phase(endpoint_id: bytes, seconds: float) -> float:
    """Return the part of a period at which an endpoint has its turn, so that not all are due at once."""
    return seconds * int.from_bytes(endpoint_id[:4]) / 2**32


def next_due(endpoint_id: bytes, after: float, seconds: int) -> float:
    """Return the first turn of an endpoint after a time, if it has one in each period."""
    part = phase(endpoint_id, seconds)
    return ((after - part) // seconds + 1) * seconds + part
