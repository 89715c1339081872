"""Rules about watchtower measurements. An unknown state never counts against an agent."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from bilateral.checks.endpoint_facts import REACHABLE, Drift, EndpointFacts, MeasurementFacts
from bilateral.checks.facts import Facts
from bilateral.checks.policy import Policy
from bilateral.checks.rules import Draft, Drafts, number_of
from bilateral.checks.verdicts import DAY, Code, Severity

_HOUR: Final = 3_600
_NEVER_ALIVE_SECONDS: Final = 7 * DAY
"""How long an agent may fail to respond to any probe before buyers should not pay it."""

_LARGE_RAISE: Final = Decimal("1.5")
"""The ratio of new to old price above which a buyer should review the price before paying again."""


def endpoints(facts: Facts, policy: Policy) -> Drafts:
    """Yield reasons that depend on whether the agent's endpoints respond."""
    measured = facts.measurements
    if measured is None:
        return
    limit = policy.maximum_measurement_age_hours
    is_fresh = measured.age_seconds is not None and measured.age_seconds <= limit * _HOUR
    probed = [entry for entry in measured.endpoints if entry.is_probed and entry.state != "unfit"]
    alive = [entry for entry in probed if is_fresh and entry.state in REACHABLE]
    if alive or (any(signal.is_reachable for signal in measured.signals)):
        yield from _of_alive(alive)
    elif is_fresh and probed and all(entry.state == "down" for entry in probed):
        yield _of_dead(facts, probed, measured)
    elif measured.signals:
        sentence = "A watchtower that you trust reported the agent as unreachable, and none reported it as reachable."
        yield Draft(Code.UNREACHABLE, sentence, tuple(signal.event for signal in measured.signals))
    else:
        yield Draft(Code.NOT_MEASURED, _why_not_measured(measured, is_fresh=is_fresh, hours=limit))
    for entry in probed:
        for drift in entry.drifts:
            if drift.age_seconds < policy.recent_days * DAY:
                yield from _of_drift(facts, entry, drift)


def _of_alive(alive: list[EndpointFacts]) -> Drafts:
    flapping = next((entry for entry in alive if entry.code == "flapping"), None)
    if flapping is not None and all(entry.code == "flapping" for entry in alive):
        sentence = f"The agent's {flapping.protocol} endpoint has been going up and down since {_time(flapping.since)}."
        yield Draft(Code.UNSTABLE, sentence)
    if any(entry.protocol == "x402" and entry.code == "free" for entry in alive):
        yield Draft(Code.FREE_OF_CHARGE, "The agent's x402 endpoint serves requests without payment.")


def _of_dead(facts: Facts, down: list[EndpointFacts], measured: MeasurementFacts) -> Draft:
    as_of = f"as of {_time(measured.measured_at)}"
    if any(entry.was_alive for entry in down):
        last = max(down, key=lambda entry: (entry.was_alive, entry.since or 0))
        which = (
            f"The agent's {last.protocol} endpoint has been"
            if len(down) == 1
            else f"All {len(down)} endpoints have been"
        )
        sentence = f"{which} down since {_time(last.since)} ({last.code}), {as_of}."
        return Draft(Code.UNREACHABLE, sentence)
    first = min(entry.first_at or 0 for entry in down)
    is_proven = (measured.measured_at or 0) - first >= _NEVER_ALIVE_SECONDS
    severity = Severity.DECLINE if is_proven and facts.payment is not None else None
    listed = number_of(len(down), "endpoint")
    sentence = f"The agent lists {listed}, and none has responded since the first probe on {_time(first)}, {as_of}."
    return Draft(Code.NEVER_ALIVE, sentence, severity=severity)


def _why_not_measured(measured: MeasurementFacts, *, is_fresh: bool, hours: int) -> str:
    if not measured.endpoints:
        return "The registration file lists no endpoint that a watchtower can probe."
    if not any(entry.is_probed for entry in measured.endpoints):
        return "The registration file asks watchtowers not to probe the agent."
    if not is_fresh and measured.measured_at is not None:
        return f"The last measurement is from {_time(measured.measured_at)}; the policy allows up to {hours} hours."
    return "Whether the agent responds is unknown, because no probe of its endpoints counts."


def _of_drift(facts: Facts, entry: EndpointFacts, drift: Drift) -> Drafts:
    where, when = f"of the agent's {entry.protocol} endpoint", f"on {_time(drift.at)}"
    if drift.kind == "price":
        is_raise = not drift.rotates and _is_large_raise(drift.old, drift.new)
        what = "was raised by more than half" if is_raise else "changed"
        severity = Severity.CAUTION if is_raise else None
        yield Draft(Code.PRICE_CHANGED, f"The price {where} {what} {when}.", severity=severity)
    elif drift.kind == "pay_to" and drift.rotates:
        yield Draft(Code.PAY_TO_ROTATES, f"Since {_time(drift.at)}, the payee {where} changes for each payment.")
    elif drift.kind == "pay_to":
        yield from _of_payee(facts, drift, f"The payee {where} changed {when}")
    elif drift.kind == "keys":
        yield Draft(Code.KEYS_CHANGED, f"The keys that sign the responses {where} changed {when}.")


def _of_payee(facts: Facts, drift: Drift, sentence: str) -> Drafts:
    wallet = None if facts.agent is None else facts.agent.wallet
    if wallet is not None and wallet.lower() in {text.lower() for text in _texts(drift.new)}:
        yield Draft(Code.PAY_TO_CHANGED, f"{sentence}, to the agent's wallet.", severity=Severity.NOTE)
        return
    differs = facts.payment is not None and facts.payment.pay_to != wallet
    severity = Severity.DECLINE if differs else None
    yield Draft(Code.PAY_TO_CHANGED, f"{sentence}, to an account that is not the agent's wallet.", severity=severity)


def _is_large_raise(old: Any, new: Any) -> bool:
    """Return True if a price in both values rose by more than half."""
    before, after = dict(_amounts(old)), dict(_amounts(new))
    return any(before[place] * _LARGE_RAISE < after[place] for place in before.keys() & after.keys())


def _amounts(value: Any, place: str = "") -> Iterator[tuple[str, Decimal]]:
    """Yield a value's amounts with their key paths, because prices are grouped by network and asset."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _amounts(part, f"{place}/{name}")
        return
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return
    if amount.is_finite():
        yield place, amount


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)
    elif isinstance(value, str):
        yield value


def _time(seconds: int | None) -> str:
    return datetime.fromtimestamp(seconds or 0, UTC).strftime("%Y-%m-%d %H:%M UTC")
