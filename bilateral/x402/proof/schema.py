"""The JSON Schema that a server sends beside its declaration, word for word as in the specification."""

from __future__ import annotations

from typing import Any, Final

reputation_8004_schema: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
        "registrations": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "agentRegistry": {"type": "string"},
                    "agentId": {"type": "string"},
                    "reputationRegistry": {"type": "string"},
                },
                "required": ["agentRegistry", "agentId", "reputationRegistry"],
            },
        },
        "endpoint": {"type": "string", "format": "uri"},
        "feedbackAggregator": {"type": "string", "format": "uri"},
    },
    "required": ["version", "registrations"],
}

reputation_draft_schema: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
        "registrations": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {"agentRegistry": {"type": "string"}, "agentId": {"type": "string"}},
                "required": ["agentRegistry", "agentId"],
            },
        },
    },
    "required": ["version", "registrations"],
}
"""The schema of the upstream draft `reputation`."""
