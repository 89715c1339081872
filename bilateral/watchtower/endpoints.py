"""Endpoints: their states, which no single failure changes, and their turns."""

from dataclasses import dataclass, field
from typing import Any, Final

from bilateral.index.measurements.values import REACHABLE, Change, Outcome, Target
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.politeness import Host
from bilateral.watchtower.totals import DAY, HOUR

_FLAPPING_CHANGES: Final = 4
"""The number of changes within a day from which an endpoint is flapping, which is reported once, not at each change."""

_FIRST_FAILURES: Final = 3
_LONG_DOWN: Final = 14 * DAY
_RARELY: Final = frozenset({Outcome.DOWN, Outcome.UNFIT, Outcome.UNKNOWN})


@dataclass
class Condition:
    """What is stored about an endpoint. Values are replaced, never modified, so a copy remains unchanged.

    Attributes:
        state: The published state; None before the first result that counts.
        code: The reason for the last result that counts.
        since: The Unix time of the last state change.
        failures: The number of consecutive failed probes.
        suspect_at: The Unix time of the first of them; None if the last probe did not fail.
        measured: The state apart from flapping.
        flips: The Unix times of the last changes between reachable and down.
        was_alive: True if it was ever reachable.
        probed_at: The Unix time of the last probe that measured something.
        milliseconds: The time to the first byte of the last response.
        round: The Unix time at which the last round began; None before the first.
        rounds: The number of rounds from one probe to the next.
        next_at: The Unix time of the next turn.
        deep_at: The Unix time of the last deep probe; None if the next one is deep.
        facts: The facts that earlier probes have read.
        drift: What is retained of earlier reads, to confirm changes.
    """

    state: Outcome | None = None
    code: str | None = None
    since: int | None = None
    failures: int = 0
    suspect_at: int | None = None
    measured: Outcome | None = None
    flips: list[int] = field(default_factory=list)
    was_alive: bool = False
    probed_at: int | None = None
    milliseconds: int | None = None
    round: int | None = None
    rounds: int = 1
    next_at: float = 0.0
    deep_at: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    drift: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Restore the outcomes of a stored condition."""
        self.state, self.measured = (value and Outcome(value) for value in (self.state, self.measured))

    def observe(self, endpoint_id: bytes, outcome: Outcome, code: str, at: int, attempts: int = 1) -> Change | None:
        """Record a round's result, and return the change that it confirms.

        One failed round only raises a suspicion. Two in a row, each with a retry, mean that the endpoint has been down
        since the first failure. So do three in a row without retries, if it was never reachable: many endpoints never
        are, and each retry is an additional request. A success ends both immediately.
        """
        since = at
        if outcome is Outcome.UNKNOWN and code != Code.OPTED_OUT:
            return None
        if outcome is Outcome.DOWN:
            self.failures += attempts
            since = at if self.suspect_at is None else self.suspect_at
            is_suspect, self.suspect_at = self.suspect_at is not None, since
            if not is_suspect or (not self.was_alive and self.failures < _FIRST_FAILURES):
                return None
        else:
            self.failures, self.suspect_at = 0, None
        self.was_alive = self.was_alive or outcome in REACHABLE
        is_flip = self.measured is not None and (self.measured in REACHABLE) != (outcome in REACHABLE)
        self.flips = [flip for flip in [*self.flips, *([at] if is_flip else [])] if at - flip < DAY]
        self.measured = outcome
        if len(self.flips) >= _FLAPPING_CHANGES:
            outcome, code = Outcome.DEGRADED, Code.FLAPPING
        is_changed = outcome is not self.state or (code == Code.FLAPPING) != (self.code == Code.FLAPPING)
        old, self.state, self.code = self.state, outcome, str(code)
        if not is_changed:
            return None
        self.since = since
        return Change(endpoint_id, since, "state", old, outcome, self.code)

    def rounds_to_next(self, at: float, interval: int, *, is_active: bool = True) -> int:
        """Return the number of rounds until an endpoint's next probe: the longer it is down, the rarer its probes."""
        if self.state is Outcome.DOWN and self.was_alive:
            down_seconds = 0 if self.since is None else at - self.since
            seconds = 0 if down_seconds <= DAY else HOUR if down_seconds <= _LONG_DOWN else 6 * HOUR
        else:  # one that never was alive, cannot be probed or asked not to be
            seconds = DAY if self.state in _RARELY else 0
        return max(1, (seconds if is_active else DAY) // interval)


@dataclass(eq=False)
class Endpoint:
    """An endpoint and, during a run, its turn.

    Attributes:
        host: Its host, during a run.
        due: Its next turn, in the run's time.
        failed: The first probe of the round, if it failed and a retry follows.
        was_retried: True if the last round had a retry.
        has_turn: True if a turn of its address is reserved for it.
    """

    number: int
    target: Target
    condition: Condition
    host: Host = field(init=False)
    due: float = 0.0
    failed: Probe | None = None
    was_retried: bool = False
    has_turn: bool = False

    @property
    def may_retry(self) -> bool:
        """True if a failure is retried in the same round: for an endpoint that has been reachable and is not down yet.

        A round after one with a retry has none, unless it is decisive: otherwise a bad endpoint would get twice the
            requests.
        """
        condition = self.condition
        is_open = condition.suspect_at is not None or not self.was_retried
        return self.failed is None and condition.was_alive and condition.state is not Outcome.DOWN and is_open


def phase(endpoint_id: bytes, seconds: float) -> float:
    """Return the part of a period in which an endpoint has its turn, so that not all are due at the same time."""
    return seconds * int.from_bytes(endpoint_id[:4]) / 2**32


def next_due(endpoint_id: bytes, after: float, seconds: int) -> float:
    """Return the first turn of an endpoint after a time, if it has one in each period."""
    part = phase(endpoint_id, seconds)
    return ((after - part) // seconds + 1) * seconds + part
