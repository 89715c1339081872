"""Rows that watchtowers record."""

from __future__ import annotations

from bilateral.index.measurements.values import Outcome, Target


def endpoint_id(protocol, url):
    """Return the id of an endpoint."""
    return Target(protocol, url, host="").endpoint_id


def state_row(  # one a column
    key, vantage, state, code, since, probed_at, failures=0, milliseconds=None
):
    """Return the current state of an endpoint."""
    names = ("endpoint_id", "vantage", "state", "code", "since", "probed_at", "failures", "milliseconds")
    return dict(zip(names, (key, vantage, state, code, since, probed_at, failures, milliseconds), strict=True))


def day_row(key, day, vantage, scheduled, counts, *latencies):
    """Return what a vantage measured of an endpoint on a day."""
    median, p95 = latencies or (None, None)
    outcomes = {outcome: counts.get(outcome, 0) for outcome in Outcome}
    place = {"endpoint_id": key, "day": day, "vantage": vantage, "scheduled": scheduled}
    return {**place, **outcomes, "median_ms": median, "p95_ms": p95}
