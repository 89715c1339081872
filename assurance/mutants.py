"""The mutants of the contracts: each changes one line or one statement, as a mistake might.

They come from universalmutator, from removing statements that span lines, and from swapping consecutive statements.
Changes that visibly change nothing are left out.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import re
from dataclasses import dataclass
from pathlib import Path

from universalmutator.mutator import mutants_regexp

ROOT = Path(__file__).parents[1]

RULES = ["universal.rules", "c_like.rules", "solidity.rules"]

IGNORED = [r"^\s*(//|\*|import |pragma |using |\}|/\*|assembly )", r"^\s*(abstract )?(contract|library|interface) "]
"""Lines without code that runs, which no rule changes: comments, imports, declarations, the `assembly` annotation."""

GROSS = {"selfdestruct(msg.sender);", "revert();", "break;", "continue;"}
"""Replacements that any test notices. They would only flatter the tests."""

HEADERS = ("function ", "modifier ", "constructor(", "mapping(", ") ")
"""Beginnings of lines that declare and do not run."""

NONSENSE = re.compile(r"[A-Za-z_](-1|\(\d+[-+]\d+\))|[=<>!]{3}|><|=<|\+[/%*]")
"""Invalid code that rules generate from types, names with digits, and operators of two characters."""

UNTIL_EQUAL = re.compile(r"(for \(uint256 (\w+) = 0; \2) != (?=[\w.]+; \+\+\2\) )")
"""A loop that counts from zero up to its bound by ones. With `<` instead of `!=` it behaves the same."""

ASSIGNED = re.compile(r"([\w.]+(?:\[[^=]*\])?) (?:[-+*/|&^]|<<|>>)?= ")
"""The target of an assignment."""

TYPES = re.compile(r"\b(u?int|bytes)\d*\b")


@dataclass(frozen=True)
class Mutant:
    """A changed contract.

    Attributes:
        path: The source, relative to the project.
        line: The first line that is changed.
        before: The original lines.
        after: The replacement.
    """

    path: str
    line: int
    before: str
    after: str

    @property
    def source(self) -> str:
        """The source as it is."""
        return (ROOT / self.path).read_text()

    @property
    def changed(self) -> str:
        """The source with the change."""
        lines = self.source.splitlines(keepends=True)
        lines[self.line - 1 : self.line - 1 + self.before.count("\n")] = [self.after]
        return "".join(lines)

    @property
    def identifier(self) -> str:
        """An identifier of the mutant and of its source's version."""
        return hashlib.sha256(f"{self.path}\0{self.changed}".encode()).hexdigest()[:16]

    def order(self, seed: int) -> tuple[bool, str]:
        """Return the sort key of the mutant in a sample.

        It depends on the change alone, not on what else there is to change. The removals of events come first: they
        are few, and easily overlooked.
        """
        change = f"{seed}\0{self.path}\0{self.before}\0{self.after}"
        return not self.removes_event, hashlib.sha256(change.encode()).hexdigest()

    @property
    def removes_event(self) -> bool:
        """True if the change removes an event."""
        is_removal = not self.after.strip() or self.after.lstrip().startswith(("/*", "//"))
        return is_removal and self.before.lstrip().startswith("emit ")

    @property
    def place(self) -> str:
        """The file and the line of the change."""
        return f"{self.path}:{self.line}"

    def __str__(self) -> str:
        """Show the change."""
        shown = [f"  - {line.strip()}" for line in self.before.splitlines()]
        shown += [f"  + {line.strip()}" for line in self.after.splitlines()]
        return "\n".join([self.place, *shown])


def sample(paths: list[str], seed: int) -> list[Mutant]:
    """Return the mutants of some contracts that may compile, in the order of the seed.

    Args:
        paths: The contracts.
        seed: Decides the order, see `Mutant.order`.
    """
    mutants = (mutant for path in paths for mutant in mutants_of(path))
    return sorted(filter(_may_compile, mutants), key=lambda mutant: mutant.order(seed))


def mutants_of(path: str) -> list[Mutant]:
    """Return all mutants of a source.

    Args:
        path: The source, relative to the project.

    Returns:
        The mutants, none twice.
    """
    lines = (ROOT / path).read_text().splitlines(keepends=True)
    with contextlib.redirect_stdout(io.StringIO()):
        changes = mutants_regexp(lines, RULES, ignorePatterns=IGNORED)
    mutants = [
        Mutant(path, line, lines[line - 1], after)
        for line, after, *_ in changes
        if after.strip().rpartition("\n")[2].strip() not in GROSS
    ]
    mutants += [Mutant(path, *change) for change in _removals(lines) + _swaps(lines)]
    return list(dict.fromkeys(m for m in mutants if "".join(m.before.split()) != "".join(m.after.split())))


def _swaps(lines: list[str]) -> list[tuple[int, str, str]]:
    """Return the swaps of two consecutive statements of one line each."""
    swaps = []
    for number, (first, second) in enumerate(itertools.pairwise(lines), start=1):
        indents = {len(line) - len(line.lstrip()) for line in (first, second)}
        are_statements = all(re.search(r"^\s.*;\s*(//.*)?$", line) for line in (first, second))
        if are_statements and len(indents) == 1 and first != second and _depend(first, second):
            swaps.append((number, first + second, second + first))
    return swaps


def _depend(first: str, second: str) -> bool:
    """Return True if one statement assigns a value that the other mentions, or if neither only assigns."""
    assigned = [ASSIGNED.findall(statement) for statement in (first, second)]
    is_mentioned = any(name in second for name in assigned[0]) or any(name in first for name in assigned[1])
    return is_mentioned or not any(assigned)


def _removals(lines: list[str]) -> list[tuple[int, str, str]]:
    """Return the removals of statements that span lines; universalmutator removes single lines."""
    removals = []
    for number, first in enumerate(lines, start=1):
        if re.match(r"\s+(emit )?[\w.]+\($", first):
            end = next(n for n in range(number, len(lines)) if lines[n].startswith(first[: -len(first.lstrip())] + ")"))
            removals.append((number, "".join(lines[number - 1 : end + 1]), ""))
    return removals


def _may_compile(mutant: Mutant) -> bool:
    """Return False for changes that cannot compile or change nothing, as most of the general rules' do."""
    before, after = mutant.before, mutant.after
    return (
        not before.lstrip().startswith(HEADERS)
        and all(before.count(bracket) == after.count(bracket) for bracket in "()[]{}")
        and (NONSENSE.search(before) is not None or NONSENSE.search(after) is None)
        and TYPES.sub("", before) != TYPES.sub("", after)
        and UNTIL_EQUAL.sub(r"\1 < ", before) != UNTIL_EQUAL.sub(r"\1 < ", after)
        and not (after.lstrip().startswith("/*") and before.rstrip().endswith(","))
    )
