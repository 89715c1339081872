"""`make lint`: finds sentences that are hard to read in docstrings, comments, messages, NatSpec and pages.

CONVENTIONS.md states the rule. The patterns here find its worst violations: sentences that start with What, Whether,
Where, That or How, and a few idioms that a reader must translate. A variable of Python is named for the value that it
holds; `NAMES` lists the names that say nothing.

    python -m scripts.plain_words            every tracked file
    python -m scripts.plain_words PATH…      these files only
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent
SUFFIXES = {".py", ".sol", ".md", ".j2"}

PATTERNS = {
    "starts with What, Whether, Where, That or How": re.compile(
        r"(?:\A|(?<=[.!?] ))(?:What|Whether|Where|That|How)\b(?![^.!?]*\?)"
    ),
    "says `is none`": re.compile(r"(?<!\b[Tt]here )\b(?:is|are) none\b"),
    "says `is no X`": re.compile(r"(?<!\b[Tt]here )\b(?:is|are) no (?!longer\b|more than\b|less than\b|one\b)[a-z]"),
    "says `to be had`": re.compile(r"\b(?:to be|be|can be|cannot be) had\b"),
    "says `what ails`": re.compile(r"\bails\b"),
    "says `of what`": re.compile(r"\b[Oo]f what\b"),
    "says `the one that`": re.compile(r"\bthe ones? (?:that|which|who)\b"),
    "says `in vain`": re.compile(r"\bin vain\b"),
    "says `nothing that`": re.compile(r"\b[Nn]othing (?:that|of it)\b"),
}
"""The patterns, by the description that a finding shows."""

NAMES = {"it", "found", "said", "given", "what", "one", "each"}
"""The names that say nothing about a variable's value."""

SENTENCE = 4
"""The words from which on a string other than a docstring counts as a sentence."""

CODE = re.compile(r"`[^`]*`|\"[^\"\n]*\"")
"""Quoted text in a sentence: names, and the words of others."""


@dataclass(frozen=True)
class Finding:
    """A sentence that is hard to read.

    Attributes:
        place: The file and line, as `README.md:7`.
        fault: The pattern's description.
        text: The matched words and their surroundings.
    """

    place: str
    fault: str
    text: str

    def __str__(self) -> str:
        """Return one line."""
        return f"{self.place}: {self.fault}: {self.text}"


@dataclass(frozen=True)
class Comment:
    """A comment on one line.

    Attributes:
        text: The comment without its marks.
        is_alone: False if code stands before it on the line.
    """

    text: str
    is_alone: bool


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a file that people read.

    Args:
        path: A Python, Solidity or Markdown file.

    Yields:
        The number of a paragraph's first line, and the paragraph on one line.
    """
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        blocks = _python_blocks(source, is_test=path.name.startswith("test_"))
    else:
        blocks = _solidity_blocks(source) if path.suffix == ".sol" else _markdown_blocks(source)
    for first, lines in blocks:
        yield from _paragraphs(first, lines)


def _paragraphs(first: int, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Join the lines of each paragraph, list item and described argument."""
    paragraph: list[str] = []
    start = first
    for number, line in enumerate([*lines, ""], start=first):
        text = re.sub(r"^@(?:(?:param|return|custom:\w+) \w+|\w+) ?", "\n", line.strip())
        text = re.sub(r"^(?:[-*] |\d+\. |> |#+ |[a-z_*]+(?: \([^)]*\))?: )", "\n", text)
        if paragraph and (not text or text.startswith("\n")):
            yield start, " ".join(paragraph)
            paragraph = []
        if text.strip():
            start = start if paragraph else number
            paragraph.append(text.strip())


def _python_blocks(source: str, *, is_test: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield names of tests as sentences, docstrings, groups of comments and, outside tests, other strings of words."""
    nodes = _nodes(source)
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.lineno, [node.name.removeprefix("test_").replace("_", " ").capitalize()]
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            text = node.value
        else:
            continue
        if id(node) in docstrings or (not is_test and len(text.split()) >= SENTENCE):
            yield node.lineno, text.splitlines()
    if "#" not in source:  # the tokens take as long as the tree
        return
    comments = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            text = re.sub(r"^(?:noqa|type):.*?(?:  # ?|$)", "", token.string.lstrip("#").strip())
            comments[token.start[0]] = Comment(text, is_alone=token.line.lstrip().startswith("#"))
    yield from _groups(comments)


@lru_cache(maxsize=1)
def _nodes(source: str) -> list[ast.AST]:
    """Return the nodes of a Python file. Both searches want them, and to walk the tree is most of their work."""
    return list(ast.walk(ast.parse(source)))


def _solidity_blocks(source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the groups of comments of a Solidity file."""
    comments = {}
    for number, line in enumerate(source.splitlines(), start=1):
        if match := re.search(r"(?:^|[\s;{])(?:///?|/\*\*?|\*)\s(.*?)(?:\*/)?$", line):
            comments[number] = Comment(match[1], is_alone=line.lstrip().startswith(("/", "*")))
    yield from _groups(comments)


def _markdown_blocks(source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield a page without its code, with a paragraph for each cell of its tables."""
    is_code = False
    for number, line in enumerate(source.splitlines(), start=1):
        is_code ^= line.lstrip().startswith("```")
        if line.startswith("|"):
            for cell in line.strip("|").split("|"):
                yield number, [cell]
    lines = []
    for line in source.splitlines():
        is_fence = line.lstrip().startswith("```")
        is_code ^= is_fence
        lines.append("" if is_code or is_fence or line.startswith(("|", "    ")) else line)
    yield 1, lines


def _groups(comments: dict[int, Comment]) -> Iterator[tuple[int, list[str]]]:
    """Join the comments of consecutive lines, except those behind code."""
    group: list[str] = []
    start = 0
    for line, comment in sorted(comments.items()):
        continues = comment.is_alone and line - 1 in comments and comments[line - 1].is_alone
        if group and not continues:
            yield start, group
            group = []
        start = start if group else line
        group.append(comment.text)
    if group:
        yield start, group


def findings(path: Path, name: str) -> Iterator[Finding]:
    """Find the sentences of a file that are hard to read.

    Args:
        path: The file.
        name: The name that findings show.

    Yields:
        The findings, in the order of the patterns for each paragraph.
    """
    for line, text in texts(path):
        quoted = CODE.sub("`…`", text)
        for fault, pattern in PATTERNS.items():
            for match in pattern.finditer(quoted):
                yield Finding(f"{name}:{line}", fault, quoted[max(match.start() - 20, 0) : match.end() + 40])


def empty_names(path: Path, name: str) -> Iterator[Finding]:
    """Find the variables and arguments of a Python file whose name does not tell what they hold.

    Fields of classes are left out: they are part of published answers.

    Args:
        path: The file.
        name: The name that findings show.

    Yields:
        The findings, a line each.
    """
    nodes = _nodes(path.read_text(encoding="utf-8"))
    fields = {
        id(field.target)
        for node in nodes
        if isinstance(node, ast.ClassDef)
        for field in node.body
        if isinstance(field, ast.AnnAssign)
    }
    for node in nodes:
        if isinstance(node, ast.arg):
            variable = node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            variable = node.id
        else:
            continue
        if variable in NAMES:
            yield Finding(f"{name}:{node.lineno}", "names a variable without saying what it holds", f"`{variable}`")


def empty_template_names(path: Path, name: str) -> Iterator[Finding]:
    """Find the variables of loops and assignments in a template of a page, as `empty_names` does in Python.

    Args:
        path: The file.
        name: The name that findings show.

    Yields:
        The findings, a line each.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        for assigned in re.finditer(r"{%-? (?:for|set) ([\w, ]+?) (?:in|=) ", line):
            for variable in NAMES & set(re.split(r"\W+", assigned[1])):
                yield Finding(f"{name}:{number}", "names a variable without saying what it holds", f"`{variable}`")


def tracked_files() -> list[str]:
    """Return the paths of the tracked Python, Solidity, Markdown and template files, relative to the project."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    return [name for name in listed.stdout.splitlines() if Path(name).suffix in SUFFIXES and (ROOT / name).is_file()]


def main(arguments: list[str]) -> int:
    """Print the findings in the given files, or in all tracked ones.

    Args:
        arguments: Paths relative to the project.

    Returns:
        The exit code: 1 if there are findings.
    """
    names = arguments or tracked_files()
    searches = {".py": (findings, empty_names), ".j2": (empty_template_names,)}
    lines = [
        str(finding)
        for name in names
        for search in searches.get(Path(name).suffix, (findings,))
        for finding in search(ROOT / name, name)
    ]
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
