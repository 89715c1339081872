"""Changes in what endpoints declare: prices, payees, keys, tools and cards, reported once read twice.

With differing backends, or a new address for each payment, every read would show a change. A fact that keeps changing
is reported once, as rotating, and again only after it has been stable for days.
"""

import hashlib
import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from bilateral.index.measurements.values import Change

KINDS: Final = ("price", "pay_to", "networks", "keys", "tools", "card", "signature")
"""The facts that are compared, each separately."""

ROTATES: Final = "rotates"
"""The code of a change after which a fact is expected to differ at every read."""

CONFIRM_SECONDS: Final = 60
"""Seconds between the two reads that confirm a change, so that both do not see one backend during a deployment."""

_RECENT: Final = 8
_MOST_VALUES: Final = 2
_MOST_SWITCHES: Final = 2
"""In eight reads, a true change has two values and one switch, and a single wrong response has two switches."""

_STABLE_READS: Final = 20
"""Equal reads after which a fact no longer rotates: five days. With two random backends, 20 in a row are rare."""


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
    after = dict(memory)
    changes = []
    for kind in KINDS:
        if kind in facts:
            after[kind], change = _compared(dict(memory.get(kind) or {}), facts[kind], at)
            if change is not None:
                since, old, code = change
                changes.append(Change(endpoint_id, since, kind, old, facts[kind], code))
    return after, changes


def is_unconfirmed(memory: Mapping[str, Any]) -> bool:
    """Return whether one read of a fact differed, so that it should be read again soon."""
    return any("differs_at" in entry for entry in memory.values())


def _compared(
    entry: Mapping[str, Any], value: Any, at: int
) -> tuple[dict[str, Any], tuple[int, Any, str | None] | None]:
    """Return a fact's memory after a read and, if the fact changed, since when, from what and how."""
    digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
    recent = [*entry.get("recent", ()), digest][-(_STABLE_READS if "rotates" in entry else _RECENT) :]
    settled = {"value": value, "digest": digest, "recent": [digest]}
    if not entry or ("rotates" in entry and recent == [digest] * _STABLE_READS):
        return settled, None
    before: dict[str, Any] = {name: entry[name] for name in ("value", "digest")} | {"recent": recent}
    if "rotates" in entry:
        return before | {"rotates": entry["rotates"]}, None
    switches = sum(first != second for first, second in pairwise(recent))
    if len(set(recent)) > _MOST_VALUES or switches > _MOST_SWITCHES:
        return settled | {"recent": recent, "rotates": at}, (at, entry["value"], ROTATES)
    if digest == entry["digest"]:
        return before, None
    since = entry["differs_at"] if entry.get("differing") == digest else at
    if at - since >= CONFIRM_SECONDS:
        return settled | {"recent": recent}, (since, entry["value"], None)
    return before | {"differing": digest, "differs_at": since}, None
