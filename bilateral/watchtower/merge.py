"""The exchange of measurements between vantages: signed files with hours and changes.

A file's first line is a signed statement (JWS) of the vantage's name and the hash of the other lines. Endpoint ids are
hashes, and therefore the same for all vantages.
"""

import json
from hashlib import sha256
from typing import Any, Final

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey
from sqlalchemy import select

from bilateral.core.errors import InvalidArgumentError
from bilateral.index.log.dialects import insert_new, upsert
from bilateral.index.measurements.values import Outcome
from bilateral.watchtower.periods import Period
from bilateral.watchtower.store import OF_CHANGE, Store, change, endpoint, hour

_HEADER: Final = {"alg": "Ed25519", "typ": "bilateral-vantage"}
"""The type ensures that no other signature by the same key is mistaken for one of these."""


def export_vantage(store: Store, period: Period, vantage: str, key: OKPKey) -> bytes:
    """Return a vantage's measurements in a period as a signed file."""
    lines: list[dict[str, Any]] = [
        {"endpoint": endpoint_id.hex(), "start": start, "counts": counts}
        for start, endpoint_id, name, counts in store.hours(period.first, period.end)
        if name == vantage
    ]
    is_recent = (change.c.kind == "state") | (change.c.at >= period.first)
    lines += [
        {"endpoint": row.endpoint_id.hex(), **{name: getattr(row, name) for name in OF_CHANGE}}
        for row in store.changes(change.c.vantage == vantage, change.c.at < period.end, is_recent)
    ]
    content = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
    statement = jws.serialize_compact(_HEADER, _statement(vantage, content), key, algorithms=[_HEADER["alg"]])
    return statement.encode() + b"\n" + content


def merge(store: Store, file: bytes, vantage: str, key: OKPKey) -> int:
    """Add another vantage's measurements. Files may arrive in any order, and more than once.

    Args:
        file: The signed file.
        vantage: The name of the vantage that the file must come from.
        key: That vantage's public key.

    Returns:
        The number of hours in the file that belong to endpoints known to this watchtower.

    Raises:
        InvalidArgumentError: The file has no valid signature by the vantage, or is malformed.
    """
    statement, _, content = file.partition(b"\n")
    try:
        signed = jws.deserialize_compact(statement, key, algorithms=[_HEADER["alg"]])
        is_signed = signed.headers() == _HEADER and signed.payload == _statement(vantage, content)
    except (JoseError, ValueError):
        is_signed = False
    if not is_signed:
        raise InvalidArgumentError(f"the file is not signed by the vantage point {vantage!r}")
    try:
        return _add(store, vantage, [json.loads(line) for line in content.splitlines()])
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise InvalidArgumentError(f"the file from the vantage point {vantage!r} is malformed: {problem!r}") from None


def _statement(vantage: str, content: bytes) -> bytes:
    return json.dumps({"vantage": vantage, "sha256": sha256(content).hexdigest()}).encode()


def _add(store: Store, vantage: str, lines: list[dict[str, Any]]) -> int:
    with store.engine.begin() as connection:
        keys = connection.execute(select(endpoint.c.endpoint_id, endpoint.c.number))
        numbers = {endpoint_id.hex(): number for endpoint_id, number in keys}
        place, listed = {"vantage": vantage}, [line for line in lines if line["endpoint"] in numbers]
        hours = [
            place | {"endpoint": numbers[line["endpoint"]], "start": int(line["start"]), "counts": _counts(line)}
            for line in listed
            if "start" in line
        ]
        # Of two files, the later one has more of the last hour.
        scheduled = hour.c.counts["scheduled"].as_integer()
        upsert(connection, hour, hours, where=lambda new: new.counts["scheduled"].as_integer() > scheduled)
        changes = [
            place | {"endpoint_id": bytes.fromhex(line["endpoint"])} | {name: line[name] for name in OF_CHANGE}
            for line in listed
            if "kind" in line
        ]
        insert_new(connection, change, changes)
    return len(hours)


def _counts(line: dict[str, Any]) -> dict[str, int]:
    counts = {str(key): int(count) for key, count in line["counts"].items()}
    if min(counts.values()) < 0 or sum(counts.get(outcome, 0) for outcome in Outcome) > counts["scheduled"]:
        raise ValueError("the counts of an hour are negative or exceed its scheduled probes")
    return counts
