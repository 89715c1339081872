"""Every error, reason text and event that a registry can show to its users, from the compiler's syntax tree."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.conformance.assertions import reason_name

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]

REASONS = "RevertReasons"
"""The library whose constants are the reason texts."""


def _sources() -> dict[str, dict[str, str]]:
    """The project's sources but for the contracts that only tests deploy."""
    paths = (path.relative_to(ROOT) for path in sorted((ROOT / "contracts").rglob("*.sol")))
    return {
        path.as_posix(): {"content": (ROOT / path).read_text()}
        for path in paths
        if path.parts[1] not in {"mocks", ".cache"}
    }


def _syntax_trees(sources: dict[str, dict[str, str]]) -> dict[str, Any]:
    request = {
        "language": "Solidity",
        "sources": sources,
        "settings": {"outputSelection": {"*": {"": ["ast"]}}},
    }
    compiler = [ROOT / ".venv/bin/solc", "--standard-json", "--base-path", ".", "--include-path", "node_modules"]
    answer = json.loads(
        subprocess.run(  # noqa: S603  # the pinned compiler
            compiler, input=json.dumps(request), capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout
    )
    errors = [error["formattedMessage"] for error in answer.get("errors", []) if error["severity"] == "error"]
    if errors:
        raise RuntimeError("\n".join(errors))
    return {path: answer["sources"][path]["ast"] for path in answer["sources"]}


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        if "nodeType" in tree:
            yield tree
        for child in tree.values():
            yield from _nodes(child)
    elif isinstance(tree, list):
        for child in tree:
            yield from _nodes(child)


def _reasons(contract: dict[str, Any]) -> dict[str, str]:
    return {
        reason_name(node["value"]["value"]): f"{REASONS}.{node['name']}"
        for node in contract["nodes"]
        if node["nodeType"] == "VariableDeclaration"
    }


def declarations() -> dict[str, str]:
    """Return the errors, reason texts and events of the contracts.

    They are the declarations of the project's own sources, and the declarations of libraries that these sources use.
    A library's other declarations do not count. A declaration in several contracts counts once, so that a test of one
    contract is enough.

    Returns:
        A description of each declaration, by its name in `tests.conformance.assertions`.
    """
    sources = _sources()
    trees = _syntax_trees(sources)
    own = {path: list(_nodes(trees[path])) for path in sources}
    used = {
        node["referencedDeclaration"] for nodes in own.values() for node in nodes if "referencedDeclaration" in node
    }

    declared: dict[str, str] = {}
    for path, tree in trees.items():
        for node in own.get(path) or _nodes(tree):
            if path not in own and node.get("id") not in used:
                continue
            if node["nodeType"] == "ErrorDefinition":
                declared[f"error {node['errorSelector']}"] = f"error {node['name']} of {path}"
            elif node["nodeType"] == "EventDefinition":
                declared[f"event {node['eventSelector']}"] = f"event {node['name']} of {path}"
            elif node["nodeType"] == "ContractDefinition" and node["name"] == REASONS:
                declared |= _reasons(node)
    return declared
