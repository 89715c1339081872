"""The modules of the Python package, their imports, and the rule that says which room may import which."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PACKAGE = Path(__file__).parent.parent / "bilateral"

LEVELS = (
    {"core"},
    {"documents", "node", "trust"},
    {"client", "index", "solana"},
    {"checks", "buyers"},
    {"x402"},
    {"watchtower"},
    {"migrations"},
    {"api", "explorer"},
    {"dev"},
    {"cli"},
)
"""The rooms by level. A room imports rooms of lower levels, and never another room of its own level."""

NEIGHBOURS = {"api", "explorer"}
"""The exception: these two rooms of one level may import each other."""

PARTS = {
    "index": (
        *("errors", "log", "chain", "reading"),
        *("changes", "agents", "files", "ratings", "payments", "standing", "profiles", "search"),
        *("projections", "operating", "shards"),
    ),
    "x402": ("proof", "clients", "server", "aggregator"),
}
"""The parts of a room in order. A part imports only itself and those before it, so that a later one can be removed."""

FACADE = "bilateral"
"""The package itself. It exports names of many rooms, so no room may import it."""


@dataclass(frozen=True)
class Import:
    """One module's import of another module of the package.

    Attributes:
        importer: The importing module, as `bilateral.node.transport`.
        imported: The imported module.
        line: The line of the import.
    """

    importer: str
    imported: str
    line: int

    def __str__(self) -> str:
        """Return one line that names both modules."""
        return f"{self.importer}:{self.line} imports {self.imported}"


def modules(package: Path) -> dict[str, Path]:
    """Find the modules of a package.

    Args:
        package: The package's folder.

    Returns:
        The file of each module by the module's full name; a package's name stands for its `__init__.py`.
    """
    paths = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


def imports(paths: Mapping[str, Path]) -> Iterator[Import]:
    """Read the imports of modules by each other.

    Args:
        paths: The modules, from `modules`.

    Yields:
        Every import statement's targets, also those inside functions and under `TYPE_CHECKING`.

    Raises:
        ValueError: If an import is relative. The project imports by full names.
    """
    for name, path in paths.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            for target in _targets(node, name, paths):
                if target != name:
                    yield Import(name, target, node.lineno)  # type: ignore[attr-defined]


def _targets(node: ast.AST, importer: str, paths: Mapping[str, Path]) -> set[str]:
    """Return the modules of the package that a statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names if alias.name in paths}
    if not isinstance(node, ast.ImportFrom):
        return set()
    if node.level:
        raise ValueError(f"{importer}:{node.lineno} has a relative import: write the full name")
    if node.module not in paths:
        return set()
    submodules = {f"{node.module}.{alias.name}" for alias in node.names}
    return {name if name in paths else str(node.module) for name in submodules}


def room(module: str) -> str:
    """Return the room of a module, such as `node` for `bilateral.node.transport`.

    Args:
        module: The module's full name.
    """
    return [*module.split("."), FACADE][1]


def violation(statement: Import) -> str | None:
    """Judge one import by the rule of rooms.

    Args:
        statement: The import.

    Returns:
        A sentence that names the broken rule; None if the import is allowed.
    """
    importer, imported = room(statement.importer), room(statement.imported)
    if importer in {imported, FACADE}:
        return _broken_order(statement, imported)
    if imported == "index" and statement.imported.endswith(".projection"):
        return f"{statement}: a projection is reached by bilateral.index.projections alone"
    if imported == FACADE:
        return f"{statement}: import the module that defines the name, not the package that exports it"
    level = {name: number for number, names in enumerate(LEVELS) for name in names}
    for name in (importer, imported):
        if name not in level:
            return f"{statement}: the room {name!r} has no level: add it to LEVELS in scripts/_imports.py"
    if {importer, imported} == NEIGHBOURS or level[imported] < level[importer]:
        return None
    return f"{statement}: the room {importer!r} must not import the room {imported!r}"


def _broken_order(statement: Import, room_: str) -> str | None:
    """Judge an import inside a room by the order of its parts."""
    order = PARTS.get(room_, ())
    importer, imported = ([*name.split("."), "", ""][2] for name in (statement.importer, statement.imported))
    if importer in order and imported in order[order.index(importer) + 1 :]:
        return f"{statement}: {room_}/{importer} must not import {room_}/{imported}, which comes after it"
    if statement.importer.endswith(".queries") and statement.imported.endswith((".projection", ".worker")):
        return f"{statement}: queries import neither a projection nor a worker"
    return None


def circle(graph: Mapping[str, set[str]]) -> list[str] | None:
    """Find modules that import each other in a circle.

    Args:
        graph: The imported modules of each module.

    Returns:
        The modules of one circle, of which the first is also the last; None if there is no circle.
    """
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as failure:
        return list(failure.args[1])
    return None
