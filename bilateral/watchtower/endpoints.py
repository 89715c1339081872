"""Endpoints: their up or down state (which a single failure never changes), when they are due, and declared changes.

If backends differ, or if each payment has a new address, every read would show a change. A fact that keeps changing is
reported once, as rotating, and again only after it has been stable for days.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from bilateral.index.measurements.values import DAY, REACHABLE, Change, Outcome, Target
from bilateral.watchtower.outcomes import HOUR, Code, Probe, counted
from bilateral.watchtower.politeness import Host
from bilateral.watchtower.probes.asking import digest

_FLAPPING_CHANGES: Final = 4
"""The number of changes within a day from which an endpoint is flapping, which is reported once, not at each change."""

_FIRST_FAILURES: Final = 3
_LONG_DOWN: Final = 14 * DAY
_RARELY: Final = frozenset({Outcome.DOWN, Outcome.UNFIT, Outcome.UNKNOWN})

_COMPARED: Final = ("price", "pay_to", "networks", "keys", "tools", "card", "signature")
"""The facts that are compared, each separately."""

ROTATES: Final = "rotates"
"""The code of a change after which a fact is expected to differ at every read."""

_CONFIRM_SECONDS: Final = 60
"""Seconds between the two reads that confirm a change, so that both do not see one backend during a deployment."""

_RECENT: Final = 8
_MOST_VALUES: Final = 2
_MOST_SWITCHES: Final = 2
"""In eight reads, a true change has two values and one switch, and a single wrong response has two switches."""

_STABLE_READS: Final = 20
"""Equal reads after which a fact no longer rotates: five days. With two random backends, 20 in a row are rare."""


@dataclass
class Condition:
    """What is stored about an endpoint. Values are replaced, never modified in place, so copies do not change.

    Attributes:
        state: The published state; None before the first result that counts.
        code: The reason for the last result that counts.
        since: The Unix time of the last state change.
        failures: The number of consecutive failed probes.
        suspect_at: The Unix time of the first of these failures; None if the last probe did not fail.
        measured: The measured state, regardless of flapping.
        flips: The Unix times of the last changes between reachable and down.
        was_alive: True if the endpoint was ever reachable.
        probed_at: The Unix time of the last probe that measured something.
        milliseconds: The time to the first byte of the last response.
        round: The Unix time at which the last round began; None before the first round.
        rounds: The number of rounds from one probe to the next.
        next_at: The Unix time at which the endpoint is due next.
        deep_at: The Unix time of the last deep probe; None if the next probe is to be deep.
        facts: The facts that earlier probes have read.
        drift: The data retained from earlier reads in order to confirm changes.
        hour: The start of the last probe's hour, and the hour's counts.
        day: The start of the last probe's day, and the day's counts.
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
    hour: tuple[int, Counter[str]] = (0, Counter())
    day: tuple[int, Counter[str]] = (0, Counter())

    def __post_init__(self) -> None:
        """Restore the types of a stored condition."""
        self.state, self.measured = (value and Outcome(value) for value in (self.state, self.measured))
        self.hour, self.day = ((start, Counter(counts)) for start, counts in (self.hour, self.day))

    def observe(self, endpoint_id: bytes, outcome: Outcome, code: str, at: int, attempts: int = 1) -> Change | None:
        """Record a round's result, and return the state change that the result confirms, if any.

        One failed round only raises a suspicion. Two failed rounds in a row, each with a retry, mean that the endpoint
        has been down since the first failure. If it was never reachable, three without retries mean the same: many
        endpoints never are, and each retry is an additional request. A success ends suspicion and downtime.
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
        """Return the number of rounds until the next probe. Endpoints that stay down are probed less often."""
        if self.state is Outcome.DOWN and self.was_alive:
            down_seconds = 0 if self.since is None else at - self.since
            seconds = 0 if down_seconds <= DAY else HOUR if down_seconds <= _LONG_DOWN else 6 * HOUR
        else:  # it was never alive, cannot be probed, or opted out
            seconds = DAY if self.state in _RARELY else 0
        return max(1, (seconds if is_active else DAY) // interval)


@dataclass(eq=False)
class Endpoint:
    """An endpoint and, during a run, the progress of its probes.

    Attributes:
        host: The endpoint's host, during a run.
        due: The time at which the endpoint is due next, on the run's clock.
        failed: The first probe of the round, if it failed and a retry follows.
        was_retried: True if the last round had a retry.
    """

    number: int
    target: Target
    condition: Condition
    host: Host = field(init=False)
    due: float = 0.0
    failed: Probe | None = None
    was_retried: bool = False

    @property
    def may_retry(self) -> bool:
        """True if a failure is retried in the same round: only for endpoints that were reachable and are not down yet.

        The round after a round with a retry has no retry, unless it decides whether the endpoint is down. Otherwise, an
        unreliable endpoint would receive twice as many requests.
        """
        condition = self.condition
        is_open = condition.suspect_at is not None or not self.was_retried
        return self.failed is None and condition.was_alive and condition.state is not Outcome.DOWN and is_open

    def conclude(self, probe: Probe, at: int, *, scheduled: int = 1, is_deep: bool = False) -> list[Change]:
        """Record everything that a round's result shows, and return the changes that the result confirms.

        Args:
            scheduled: The number of probes that were due since the last probe.
        """
        key, condition, attempts = self.target.endpoint_id, self.condition, 1 if self.failed is None else 2
        self.was_retried, self.failed = self.failed is not None, None
        change = condition.observe(key, probe.outcome, probe.code, at, attempts)
        changes, counts = [] if change is None else [change], counted(probe, scheduled)
        condition.hour = _added(condition.hour, at - at % HOUR, counts)
        condition.day = _added(condition.day, at - at % DAY, counts)
        # Unreachable endpoints have facts too: the number of consecutive challenges.
        condition.facts = {**condition.facts, **probe.facts}
        if probe.outcome in REACHABLE:
            condition.milliseconds = probe.milliseconds
            if is_deep:
                condition.drift, drifts = compare(key, condition.drift, probe.facts, at)
                is_unconfirmed = any("differs_at" in entry for entry in condition.drift.values())
                condition.deep_at = None if is_unconfirmed else at
                changes += drifts
            elif change is not None:
                condition.deep_at = None
        if probe.outcome is not Outcome.UNKNOWN:
            condition.probed_at = at
        return changes


def _added(before: tuple[int, Counter[str]], start: int, counts: Counter[str]) -> tuple[int, Counter[str]]:
    is_same = 0 <= before[0] - start <= DAY  # if the clock steps back, the later period continues
    return (before[0], before[1] + counts) if is_same else (start, counts)


def phase(endpoint_id: bytes, seconds: float) -> float:
    """Return an endpoint's offset within a period, so that not all endpoints are due at the same time."""
    return seconds * int.from_bytes(endpoint_id[:4]) / 2**32


def next_due(endpoint_id: bytes, after: float, seconds: int) -> float:
    """Return the first time after a given one at which an endpoint is due, which it is once per period."""
    part = phase(endpoint_id, seconds)
    return ((after - part) // seconds + 1) * seconds + part


def compare(
    endpoint_id: bytes, memory: Mapping[str, Any], facts: Mapping[str, Any], at: int
) -> tuple[dict[str, Any], list[Change]]:
    """Compare a deep probe's facts with earlier ones.

    Args:
        memory: The memory returned by the last call; empty at first.
        at: The Unix time of the probe.

    Returns:
        The memory for the next call, and the changes that this probe confirms.
    """
    after, changes = dict(memory), []
    for kind in _COMPARED:
        if kind in facts:
            entry, value = memory.get(kind, {}), facts[kind]
            after[kind], change = _compared(entry, value, at)
            if change is not None:
                changes.append(Change(endpoint_id, change[0], kind, entry["value"], value, change[1]))
    return after, changes


def _compared(entry: Mapping[str, Any], value: Any, at: int) -> tuple[dict[str, Any], tuple[int, str | None] | None]:
    """Return a fact's memory after a read and, if the fact changed, since when and how."""
    fingerprint = digest(value)[:16]
    is_rotating = "rotates" in entry
    recent = [*entry.get("recent", ()), fingerprint][-(_STABLE_READS if is_rotating else _RECENT) :]
    new = {"value": value, "recent": recent}
    if not entry or (is_rotating and recent == [fingerprint] * _STABLE_READS):
        return {"value": value, "recent": [fingerprint]}, None
    if is_rotating:
        return {**entry, "recent": recent}, None
    switches = sum(first != second for first, second in pairwise(recent))
    if len(set(recent)) > _MOST_VALUES or switches > _MOST_SWITCHES:
        return new | {"rotates": at}, (at, ROTATES)
    if value == entry["value"]:
        return new, None
    since = entry.get("differs_at", at) if recent[-2] == fingerprint else at
    if at - since >= _CONFIRM_SECONDS:
        return new, (since, None)
    return {**entry, "recent": recent, "differs_at": since}, None
