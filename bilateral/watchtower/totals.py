"""The totals of an hour's or a day's probes, which merge exactly."""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, Self

from bilateral.index.measurements.values import REACHABLE, Outcome

HOUR: Final = 3_600
"""The number of seconds in an hour; Unix time has no leap seconds."""

DAY: Final = 86_400

_BASE: Final = math.log(1.25)
_BUCKETS: Final = 46
"""Latency buckets: each ends a quarter above the previous one, the last at 28 seconds."""

_UNCOUNTED: Final = frozenset({Outcome.UNKNOWN, Outcome.UNFIT})


@dataclass
class Totals:
    """One vantage's measurements of an endpoint in an hour or a day.

    Attributes:
        scheduled: The number of probes that were due, including those missed while the watchtower was not running.
        answered: The number of probes that count and got a response.
        counts: The number of probes with each outcome.
        codes: The number of probes with each code.
        latencies: The number of responses by the time to the first byte: bucket n, whose key is text as in JSON, counts
            those from 1.25^n milliseconds on.
    """

    scheduled: int = 0
    answered: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    latencies: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, row: Any) -> Self:
        """Return a row's totals."""
        return cls(row.scheduled, row.answered, Counter(row.counts), Counter(row.codes), Counter(row.latencies))

    def count(self, outcome: Outcome, code: str, milliseconds: int | None, scheduled: int = 1) -> None:
        """Add a probe, and those that were due since the previous one."""
        self.scheduled += scheduled
        self.counts[outcome] += 1
        self.codes[code] += 1
        if milliseconds is not None and outcome not in _UNCOUNTED:
            self.answered += 1
            bucket = int(math.log(max(milliseconds, 1)) / _BASE + 1e-9)
            self.latencies[str(min(bucket, _BUCKETS - 1))] += 1

    def add(self, other: "Totals") -> None:
        """Add totals from the same or another vantage, hour or day."""
        self.scheduled += other.scheduled
        self.answered += other.answered
        self.counts.update(other.counts)
        self.codes.update(other.codes)
        self.latencies.update(other.latencies)

    @property
    def reached(self) -> int:
        """The number of probes that reached the endpoint."""
        return sum(self.counts[outcome] for outcome in REACHABLE)

    @property
    def known(self) -> int:
        """The number of probes that say something about the endpoint."""
        return self.reached + self.counts[Outcome.DOWN]

    def quantile(self, part: float) -> int | None:
        """Return a quantile of the response latency, accurate to 12.5 %; None without responses."""
        rank, count = math.ceil(part * self.latencies.total()), 0
        for bucket in sorted(map(int, self.latencies)):
            count += self.latencies[str(bucket)]
            if count >= max(rank, 1):
                return int(1.25 ** (bucket + 0.5))
        return None
