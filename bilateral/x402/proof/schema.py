"""The JSON Schema that a server sends beside its declaration, word for word as in the specification."""

from __future__ import annotations

from typing import Any, Final


def _schema(agent_fields: tuple[str, ...], uris: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the schema of a declaration: agents with these fields, and these URIs beside them."""
    agent = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in agent_fields},
        "required": list(agent_fields),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
            "registrations": {"type": "array", "minItems": 1, "items": agent},
            **{name: {"type": "string", "format": "uri"} for name in uris},
        },
        "required": ["version", "registrations"],
    }


reputation_8004_schema: Final = _schema(
    ("agentRegistry", "agentId", "reputationRegistry"), uris=("endpoint", "feedbackAggregator")
)
reputation_draft_schema: Final = _schema(("agentRegistry", "agentId"))
"""The schema of the upstream draft `reputation`."""
