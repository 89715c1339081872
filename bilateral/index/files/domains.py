"""The files of domains, in the queue: registration files lead to them, not events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bilateral.index.files import tables as schema
from bilateral.index.files.hosts import well_known_uri
from bilateral.index.files.loading import Loaded, Outcome, host_of_file
from bilateral.index.files.tables import Kind, State


def domain_files(outcomes: Iterable[tuple[Kind, Outcome]], now: float) -> list[dict[str, Any]]:
    """Return the rows of the files of the domains that registration files name.

    Args:
        outcomes: Kinds of files, and the outcomes of their fetches. Only loaded registration files name domains.
        now: The time, in Unix seconds.

    Returns:
        The rows for `file`, by id.
    """
    parsed: dict[bytes, dict[str, Any]] = {}
    for kind, outcome in outcomes:
        if kind is not Kind.REGISTRATION or not isinstance(outcome, Loaded):
            continue
        for row in outcome.rows.get(schema.registration_domain, []):
            uri = well_known_uri(row["host"])
            parsed[row["file_id"]] = {
                **dict.fromkeys(schema.file.c.keys()),
                "file_id": row["file_id"],
                "kind": Kind.DOMAIN,
                "uri": uri,
                "host": host_of_file(uri),
                "state": State.WAITING,
                "found_at": int(now),
                "attempts": 0,
                "failures": 0,
                "refresh_seconds": 0,
                "next_at": now,
            }
    return [parsed[file_id] for file_id in sorted(parsed)]
