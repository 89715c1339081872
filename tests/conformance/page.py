"""Checks docs/conformance.md: every requirement has a row, and every named test exists and passes."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs/conformance.md"
REQUIREMENTS = Path(__file__).with_name("requirements.toml")

_TEST = re.compile(r"`(tests/[^`\s]+?\.py::[^`\s]+)`")
_MENTION = re.compile(r"tests/[^\s`|]*::[^\s`|,;)]*")
_SEPARATOR = re.compile(r"^\|[\s:|-]+\|$")
_IDS = re.compile(r"((?:[A-Z]{2}-[A-Z]*[\d.]+(?:, )?)+): ")


@dataclass(frozen=True)
class Row:
    """One row of a table of docs/conformance.md.

    Attributes:
        section: The `##` heading above it.
        clause: Its first cell.
        shown_by: Its last cell: tests, or the reason why there is none.
        line: Its line number.
    """

    section: str
    clause: str
    shown_by: str
    line: int

    @property
    def ids(self) -> list[str]:
        """The ids that the clause begins with, as in `FA-E4, FA-C4: expired authorisation`."""
        ids = _IDS.match(self.clause)
        return ids[1].split(", ") if ids else []

    @property
    def tests(self) -> list[str]:
        """The tests that the row names, as `path::name`."""
        return _TEST.findall(self.shown_by)


def rows(text: str) -> Iterator[Row]:
    """Read the rows of all tables.

    Args:
        text: The page.

    Yields:
        The rows without the tables' heads.
    """
    section = ""
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        if line.startswith("## "):
            section = line.removeprefix("## ").strip()
        is_head = number < len(lines) and _SEPARATOR.match(lines[number])
        if not line.startswith("|") or _SEPARATOR.match(line) or is_head:
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        yield Row(section, cells[0], cells[-1] if len(cells) > 1 else "", number)


def _missing_requirements(table: Sequence[Row], requirements: Mapping[str, Collection[str]]) -> Iterator[str]:
    for section, names in requirements.items():
        clauses = " | ".join(row.clause for row in table if row.section.startswith(section))
        for name in names:
            if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", clauses):
                yield f'no row for {name} under "{section}"'


def _unknown_ids(table: Sequence[Row], requirements: Mapping[str, Collection[str]]) -> Iterator[str]:
    for row in table:
        known = {name for section, names in requirements.items() if row.section.startswith(section) for name in names}
        for name in row.ids:
            if name not in known:
                yield f'line {row.line}: {name} is not a requirement of "{row.section}"'


def _unchecked_tests(text: str, table: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence for each test that is named outside the last cell of a row, or in another form."""
    checked = {row.line: row.tests for row in table}
    for number, line in enumerate(text.splitlines(), start=1):
        for test in (Counter(_MENTION.findall(line)) - Counter(checked.get(number, []))).elements():
            yield f"line {number}: {test} is named where it is not checked"


def gaps(text: str, requirements: Mapping[str, Collection[str]], outcomes: Mapping[str, set[str]]) -> list[str]:
    """Find the gaps of the page.

    Args:
        text: The page.
        requirements: The names that need a row, by the beginning of the `##` heading above it.
        outcomes: The outcome of every test of the run, by `path::name` without parameters.

    Returns:
        A sentence for each gap.
    """
    table = list(rows(text))
    missing = [
        *_missing_requirements(table, requirements),
        *_unknown_ids(table, requirements),
        *_unchecked_tests(text, table),
    ]
    for row in table:
        if not row.shown_by:
            missing.append(f'line {row.line}: "{row.clause}" has neither a test nor a reason')
        for test in row.tests:
            if test not in outcomes:
                missing.append(f"line {row.line}: there is no test {test}")
            elif outcomes[test] != {"passed"}:
                missing.append(f"line {row.line}: {test} did not pass")
    return missing


def judge(outcomes: Mapping[str, set[str]]) -> tuple[int, list[str]]:
    """Find the gaps of docs/conformance.md.

    Args:
        outcomes: The outcome of every test of the run, by `path::name` without parameters.

    Returns:
        The number of rows, and a sentence for each gap.
    """
    text = TABLE.read_text()
    return len(list(rows(text))), gaps(text, tomllib.loads(REQUIREMENTS.read_text()), outcomes)
