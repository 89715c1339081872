"""Agents whose registration files list endpoints, in an index on each engine, and a watchtower's results."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

from bilateral.index.measurements.recording import record
from bilateral.index.measurements.targets import normalized
from bilateral.index.measurements.values import Change, Outcome, Protocol
from tests.index.files.conftest import loader, registered, story  # noqa: F401  # fixtures
from tests.index.measurements.rows import endpoint_id, state_row
from tests.sdk.servers import gateway, server  # noqa: F401  # fixtures

NOON = 1_800_000_000
MCP = "https://seller.example/mcp"
KEY = endpoint_id(Protocol.MCP, MCP)


def data_uri(*services, **fields):
    """Return the data URI of a registration file with services: pairs of name and endpoint, or whole objects."""
    listed = [entry if isinstance(entry, dict) else {"name": entry[0], "endpoint": entry[1]} for entry in services]
    content = json.dumps({"name": "Agent", "description": "It works.", "services": listed, **fields})
    return f"data:application/json;base64,{b64encode(content.encode()).decode()}"


def current(state=Outcome.UP, *, url=MCP, protocol=Protocol.MCP, at=NOON, vantage="eu-1", **fields):
    """Return the state of an endpoint."""
    values = {"code": "ok", "since": at, "probed_at": at, **fields}
    return state_row(endpoint_id(protocol, normalized(url)[0]), vantage, state, **values)


def state_change(old, new, *, at=NOON, code="ok", key=KEY):
    return Change(key, at, "state", old, new, code)


class Measured:
    """An index, and what a watchtower recorded in it."""

    def __init__(self, story):  # noqa: F811
        self.story, self.engine = story, story.engine

    def agent(self, agent_id, *services, **fields):
        """Register an agent whose file lists services."""
        block = self.story.block(*registered(data_uri(*services, **fields), agent_id))
        self.story.settle()
        return block

    def record(self, **measured):
        record(self.engine, **measured)

    def rows(self, table):
        return [dict(row) for row in self.story.rows(table)]


@pytest.fixture
def measured(story):  # noqa: F811
    return Measured(story)
