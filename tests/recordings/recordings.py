"""The recordings: what must stay as it is while modules move.

`python -m tests.recordings` writes them, and a test compares each with what the package says now. A commit that changes
a recording lists each difference and its reason. No recording names a module, a path, a port or the time of day.

Two more things are pinned elsewhere: the gas of every call by `bench/gas.json`, and the figures of the market by
`bench/market/figures.json`.
"""

from __future__ import annotations

from pathlib import Path

from tests.recordings import answers, interfaces

FOLDER = Path(__file__).parent

RECORDINGS = {
    "openapi.json": interfaces.openapi,
    "schema.graphql": interfaces.graphql,
    "mcp.json": interfaces.mcp,
    "commands.txt": interfaces.commands,
    "settings.txt": interfaces.settings,
    "metrics.txt": interfaces.metrics,
    "tables.sql": interfaces.tables,
    "checks.jsonl": answers.checks,
    "answers.json": answers.answers,
    "searches.sql": answers.searches,
    "changes.json": answers.changes,
    "replayed_chain.txt": answers.rows,
}
"""The function that makes each file's text."""
