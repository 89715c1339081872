"""The sums of probes of an hour or a day, which merge exactly."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from bilateral.index.measurements.values import Day, Outcome

HOUR: Final = 3_600
"""The seconds of an hour; Unix time has no leap seconds."""

DAY: Final = 86_400

_BASE: Final = math.log(1.25)
_BUCKETS: Final = 46
"""Buckets of latency: each ends a quarter above the one before, the last at 28 seconds."""

_SEVEN_BITS: Final = 0x7F

Histogram = tuple[int, ...]
"""Answers by latency: bucket n holds those from 1.25^n milliseconds on. The last buckets are left out if empty."""


def histogram_of(latencies: Iterable[int]) -> Histogram:
    """Return the histogram of times in milliseconds."""
    counts = Counter(min(int(math.log(max(value, 1)) / _BASE + 1e-9), _BUCKETS - 1) for value in latencies)
    return tuple(counts[bucket] for bucket in range(max(counts, default=-1) + 1))


def add_histograms(*histograms: Histogram) -> Histogram:
    """Add histograms of the same or several vantages, hours and days."""
    length = max(map(len, histograms), default=0)
    return tuple(sum(one[at] for one in histograms if at < len(one)) for at in range(length))


def quantile(histogram: Histogram, part: float) -> int | None:
    """Return the latency that a part of the answers does not exceed, within 12.5 %; None without answers."""
    rank, count = math.ceil(part * sum(histogram)), 0
    for number, answers in enumerate(histogram):
        count += answers
        if count >= max(rank, 1):
            return int(1.25 ** (number + 0.5))
    return None


def packed(histogram: Histogram) -> bytes:
    """Encode a histogram as varints."""
    content = bytearray()
    for count in histogram:
        rest = count
        while rest > _SEVEN_BITS:
            content.append(rest & _SEVEN_BITS | 0x80)
            rest >>= 7
        content.append(rest)
    return bytes(content)


def unpacked(content: bytes | None) -> Histogram:
    """Decode a histogram."""
    counts, value, shift = [], 0, 0
    for byte in content or b"":
        value |= (byte & _SEVEN_BITS) << shift
        shift += 7
        if byte <= _SEVEN_BITS:
            counts.append(value)
            value = shift = 0
    return tuple(counts)


@dataclass(frozen=True)
class Totals:
    """What one vantage measured of an endpoint in an hour or a day.

    Attributes:
        start: The Unix time at which the hour or day begins.
        scheduled: The probes that were due, with those that the watchtower missed while it did not run.
        answered: The probes that count and got an answer.
        counts: The probes that ended with each outcome.
        histogram: The times to the first byte.
        codes: The codes of the day; none of an hour.
    """

    endpoint_id: bytes
    vantage: str
    start: int
    scheduled: int
    answered: int
    counts: Mapping[Outcome, int]
    histogram: Histogram = ()
    codes: tuple[str, ...] = ()

    @property
    def day(self) -> Day:
        """The form in which the index stores a day."""
        median, p95 = quantile(self.histogram, 0.5), quantile(self.histogram, 0.95)
        return Day(self.endpoint_id, self.start // DAY, self.vantage, self.scheduled, self.counts, median, p95)
