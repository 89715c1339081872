"""The exchange of measurements between vantages: files with hours and changes, signed like webhooks (RFC 9421).

A file's first line contains the signed headers, the other lines the content, so that a server can send both. Endpoint
ids are hashes, and therefore the same for all.
"""

import json
from typing import Any, Final

import httpx
from http_message_signatures import HTTPMessageSigner, HTTPMessageVerifier, MappingKeyResolver, algorithms
from http_message_signatures.exceptions import HTTPMessageSignaturesException
from joserfc.jwk import OKPKey
from sqlalchemy import select

from bilateral.core.errors import InvalidArgumentError
from bilateral.index.log.dialects import insert_new
from bilateral.watchtower.periods import Period
from bilateral.watchtower.store import Store, upsert
from bilateral.watchtower.tables import change, endpoint, hour

TAG: Final = "bilateral-vantage"
"""The signatures' tag, so that no other signature by the same key is mistaken for one of these."""

_COVERED: Final = ("content-type", "vantage")
_SIGNED: Final = ("Content-Type", "Vantage", "Content-Digest", "Signature-Input", "Signature")
_HOUR: Final = ("start", "scheduled", "answered", "counts", "codes", "latencies")
_CHANGE: Final = ("at", "kind", "old", "new", "code")


def export_vantage(store: Store, period: Period, vantage: str, key: OKPKey) -> bytes:
    """Return what a vantage measured in a period, as a signed file."""
    hours = (row for row in store.measured(hour, period.first, period.end) if row.vantage == vantage)
    is_recent = (change.c.kind == "state") | (change.c.at >= period.first)
    changes = store.changes(change.c.vantage == vantage, change.c.at < period.end, is_recent)
    lines = [
        {"endpoint": row.endpoint_id.hex(), **{name: getattr(row, name) for name in names}}
        for rows, names in ((hours, _HOUR), (changes, _CHANGE))
        for row in rows
    ]
    content = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
    request, key_id, private = _message(vantage, content), key.thumbprint(), key.private_key
    keys = MappingKeyResolver(public_keys={}, private_keys={key_id: private})  # type: ignore[dict-item]
    signer = HTTPMessageSigner(signature_algorithm=algorithms.ED25519, key_resolver=keys)
    signer.sign(request, key_id=key_id, label="vantage", tag=TAG, covered_component_ids=_COVERED, body=content)
    return json.dumps({name: request.headers[name] for name in _SIGNED}).encode() + b"\n" + content


def merge(store: Store, file: bytes, vantage: str, key: OKPKey) -> int:
    """Add what another vantage measured. Files may come in any order and more than once.

    Args:
        file: The signed file.
        vantage: The name of the vantage that the file must come from.
        key: That vantage's public key.

    Returns:
        The number of hours in it for endpoints that are also listed here.

    Raises:
        InvalidArgumentError: The file has no valid signature by the vantage, or is malformed.
    """
    headers, _, content = file.partition(b"\n")
    try:
        signed = {str(name): str(value) for name, value in json.loads(headers).items()}
        request = _message(vantage, content, signed)
        keys = MappingKeyResolver(public_keys={key.thumbprint(): key.public_key}, private_keys={})  # type: ignore[dict-item]
        verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=keys)
        verifier.verify(request, max_age=None, expect_tag=TAG, require_components=_COVERED, body=content)
        if request.headers["Vantage"] != vantage:
            raise InvalidArgumentError(
                f"the file is from the vantage point {request.headers['Vantage']!r}, not {vantage!r}"
            )
    except (HTTPMessageSignaturesException, ValueError, AttributeError) as problem:
        raise InvalidArgumentError(f"the file is not signed by the vantage point {vantage!r}: {problem}") from None
    try:
        return _add(store, vantage, [json.loads(line) for line in content.splitlines()])
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise InvalidArgumentError(f"the file from the vantage point {vantage!r} is malformed: {problem!r}") from None


def _message(vantage: str, content: bytes, headers: dict[str, str] | None = None) -> httpx.Request:
    headers = headers or {"Content-Type": "application/x-ndjson", "Vantage": vantage}
    return httpx.Request("POST", "https://watchtower.invalid/", headers=headers, content=content)


def _add(store: Store, vantage: str, lines: list[dict[str, Any]]) -> int:
    with store.engine.begin() as connection:
        keys = connection.execute(select(*endpoint.c["endpoint_id", "number"]))
        numbers = {endpoint_id.hex(): number for endpoint_id, number in keys}
        listed = [line for line in lines if line["endpoint"] in numbers]
        hours = [_hour(vantage, numbers[line["endpoint"]], line) for line in listed if "start" in line]
        upsert(connection, hour, hours, growing="scheduled")  # of two files the later one has more of the last hour
        changes = [
            {"vantage": vantage, "endpoint_id": bytes.fromhex(line["endpoint"])}
            | {name: line[name] for name in _CHANGE}
            for line in listed
            if "kind" in line
        ]
        insert_new(connection, change, changes)
    return len(hours)


def _hour(vantage: str, number: int, line: dict[str, Any]) -> dict[str, Any]:
    values = {name: int(line[name]) for name in ("start", "scheduled", "answered")}
    counts = {name: {str(key): int(count) for key, count in line[name].items()} for name in _HOUR[3:]}
    least = min((count for entry in counts.values() for count in entry.values()), default=0)
    if least < 0 or sum(counts["counts"].values()) > values["scheduled"]:
        raise ValueError("the file lists more results than probes for an hour")
    return {"vantage": vantage, "endpoint": number, **values, **counts}
