"""`make packages`: prints the size of each package of `bilateral/` against its limit in `toolchain/budget.toml`.

It also counts the words of the pages that people write: README.md and docs/*.md, without what a command writes.

A code line holds code: no blank line, comment or docstring. `bilateral/client/sync` is generated and not counted.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Table

from scripts._build import ROOT
from scripts._imports import PACKAGE, imports, modules, room
from scripts.site_pages import GENERATED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

BUDGET: Final = ROOT / "toolchain" / "budget.toml"
_GENERATED: Final = PACKAGE / "client" / "sync"
_OUTSIDE: Final = ("bench", "scripts")
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES: Final = (ast.Module, ast.ClassDef, *_FUNCTIONS)
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_WRITTEN: Final = re.compile(r"<!-- [^>]*\b(?:written by|make) .*?<!-- end\b[^>]*-->", re.DOTALL)
"""A block that a command writes."""

_NO_CODE: Final = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


@dataclass
class Size:
    """The size of some modules, in lines.

    Attributes:
        files: The number of modules.
        physical: Their lines, blank ones included.
        code: Lines with code.
        docstrings: Lines of docstrings.
        private: Lines of docstrings of private functions.
        imports: Lines of imports.
        words: The words that names are made of, by their number.
    """

    files: int = 0
    physical: int = 0
    code: int = 0
    docstrings: int = 0
    private: int = 0
    imports: int = 0
    words: Counter[str] = field(default_factory=Counter)

    def add(self, text: str) -> None:
        """Add the source of a module."""
        nodes = list(ast.walk(ast.parse(text)))
        documented = dict(_documented(nodes))
        code = {
            line
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type not in _NO_CODE
            for line in range(token.start[0], token.end[0] + 1)
        }
        lines = text.split("\n")
        self.files += 1
        self.physical += len(lines)
        self.code += sum(bool(line <= len(lines) and lines[line - 1].strip()) for line in code - documented.keys())
        self.docstrings += len(documented)
        self.private += sum(documented.values())
        imported = (node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
        self.imports += sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in imported)
        self.words.update(word.lower() for name in _names(nodes) for word in _WORD.findall(name))


def _names(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the names that a module defines or assigns."""
    for node in nodes:
        if isinstance(node, (ast.ClassDef, *_FUNCTIONS)):
            yield node.name
        if isinstance(node, _FUNCTIONS):
            yield from (argument.arg for argument in (*node.args.args, *node.args.kwonlyargs))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


@dataclass
class Sizes:
    """The sizes of the project.

    Attributes:
        whole: The size of `bilateral/`.
        packages: The sizes of its packages, and of the folders beside it with a limit.
    """

    whole: Size = field(default_factory=Size)
    packages: dict[str, Size] = field(default_factory=lambda: defaultdict(Size))


def measure() -> Sizes:
    """Measure the sources of the project."""
    sizes = Sizes()
    for path in _sources(PACKAGE):
        text = path.read_text(encoding="utf-8")
        parts = path.relative_to(ROOT).parts
        sizes.packages["/".join(parts[:2]) if len(parts) > 2 else parts[0]].add(text)  # noqa: PLR2004  # a package's
    for size in sizes.packages.values():
        for name, value in vars(size).items():
            setattr(sizes.whole, name, getattr(sizes.whole, name) + value)
    for folder in _OUTSIDE:
        for path in _sources(ROOT / folder):
            sizes.packages[folder].add(path.read_text(encoding="utf-8"))
    return sizes


def prose() -> dict[str, int]:
    """Count the words of README.md and of the pages of docs/, without pages and blocks that a command writes."""
    pages = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in pages}
    return {name: len(_WRITTEN.sub("", text).split()) for name, text in texts.items() if name not in GENERATED}


def _sources(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*.py")) if not path.is_relative_to(_GENERATED))


def _documented(nodes: list[ast.AST]) -> Iterator[tuple[int, bool]]:
    """Yield the lines of docstrings, those of constants included, and True for those of a private function."""
    for scope in nodes:
        for statement in scope.body if isinstance(scope, _SCOPES) else ():
            if (
                isinstance(statement, ast.Expr)
                and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)
            ):
                is_private = isinstance(scope, _FUNCTIONS) and scope.name.startswith("_")
                for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1):
                    yield line, is_private


def excesses(sizes: Sizes, budget: Mapping[str, dict[str, Any]]) -> list[str]:
    """Compare sizes with the budget.

    Args:
        sizes: The sizes.
        budget: The tables of `toolchain/budget.toml`.

    Returns:
        A sentence for each limit that is exceeded, and for each package without one.
    """
    whole, limits = sizes.whole, budget["rooms"] | budget["outside"]
    figures = {
        "code": whole.code,
        "physical": whole.physical,
        "files": whole.files,
        "doc": round(100 * whole.docstrings / whole.code),
        "private": whole.private,
        "imports": round(100 * whole.imports / whole.code),
        "names": round(1e5 * sum(whole.words[word] for word in budget["names"]["odd"]) / whole.words.total()),
    }
    over = [
        f"bilateral/ has {figures[name]:,} for {name!r}, and its limit is {limit:,}"
        for name, limit in budget["whole"].items()
        if figures[name] > limit
    ]
    for name, size in sizes.packages.items():
        if name not in limits:
            over.append(f"{name} has no limit")
        elif size.code > limits[name]:
            over.append(f"{name} has {size.code:,} lines of code, and its limit is {limits[name]:,}")
    return over


def table(sizes: Sizes, limits: Mapping[str, int]) -> Table:
    """Return a row for each package: its files, code lines, limit, docstrings, and the rooms that it imports."""
    imported: dict[str, Counter[str]] = defaultdict(Counter)
    for arrow in imports(modules(PACKAGE)):
        if room(arrow.importer) != room(arrow.imported):
            imported[f"bilateral/{room(arrow.importer)}"][room(arrow.imported)] += 1
    result = Table(box=None, pad_edge=False)
    result.add_column("package")
    for title in ("files", "code", "limit", "docstrings"):
        result.add_column(title, justify="right")
    result.add_column("imports")
    for name, size in sorted(sizes.packages.items(), key=lambda item: -item[1].code):
        counts = [str(size.files), f"{size.code:,}", f"{limits.get(name, 0):,}", f"{size.docstrings:,}"]
        result.add_row(name, *counts, ", ".join(sorted(imported[name])) or "-")
    return result


def main() -> None:
    """Print the table, and what exceeds the budget."""
    parser = argparse.ArgumentParser(prog="python -m scripts.packages", description=__doc__)
    parser.add_argument("--check", action="store_true", help="Print no table, and fail if a limit is exceeded.")
    is_check = parser.parse_args().check
    sizes, words, budget = measure(), sum(prose().values()), tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    if not is_check:
        Console(width=180).print(table(sizes, budget["rooms"] | budget["outside"]))
        print(f"\nwords of README.md and docs/, without what commands write: {words:,}")
    over = excesses(sizes, budget)
    if words > (limit := budget["prose"]["words"]):
        over.append(f"README.md and docs/ have {words:,} words by hand, and their limit is {limit:,}")
    if over:
        sys.exit("\n".join([*over, "Make it smaller, or raise the limit in toolchain/budget.toml and say why."]))


if __name__ == "__main__":
    main()
