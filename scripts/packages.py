"""`make packages`: prints the size of each package of `bilateral/` and the rooms that it imports."""

from __future__ import annotations

from collections import defaultdict

from rich.console import Console
from rich.table import Table

from scripts._imports import PACKAGE, imports, modules, room


def table() -> Table:
    """Measure the packages.

    Returns:
        A row for each package: its modules, its lines, its longest file with the number of lines, and its rooms' names.
    """
    paths = modules(PACKAGE)
    packages = defaultdict(list)
    for name, path in paths.items():
        packages[path.parent.relative_to(PACKAGE.parent).as_posix()].append(name)
    imported = defaultdict(set)
    for arrow in imports(paths):
        if room(arrow.importer) != room(arrow.imported):
            imported[paths[arrow.importer].parent.relative_to(PACKAGE.parent).as_posix()].add(room(arrow.imported))

    result = Table(box=None, pad_edge=False)
    for title, side in (("package", "left"), ("modules", "right"), ("lines", "right"), ("longest file", "left")):
        result.add_column(title, justify=side)  # type: ignore[arg-type]
    result.add_column("imports")
    for package, names in sorted(packages.items()):
        lines = {name: len(paths[name].read_text(encoding="utf-8").splitlines()) for name in names}
        longest = max(lines, key=lambda name: lines[name])
        result.add_row(
            package,
            str(len(names)),
            str(sum(lines.values())),
            f"{paths[longest].name} ({lines[longest]})",
            ", ".join(sorted(imported[package])) or "-",
        )
    return result


if __name__ == "__main__":
    Console(width=180).print(table())
