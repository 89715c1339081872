"""`make sync-client`: generates the blocking client from the asynchronous one."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

from scripts._build import ROOT
from scripts._files import write_atomically

SOURCES = ROOT / "bilateral" / "client" / "aio"
TARGETS = ROOT / "bilateral" / "client" / "sync"
BY_HAND = ("__init__.py",)

_HEADER = "# Generated from bilateral/client/aio by `make sync-client`. Change that, not this.\n"

_NAMES = {"aio": "sync", "__aenter__": "__enter__", "__aexit__": "__exit__"}
_WORDS = {"async", "await"}
_IN_TEXT = (
    (r"\bAsync(?=[A-Z])", ""),
    (r"\bawait ", ""),
    ("Tasks of one event loop may share", "Threads may share"),
)


def generated(source: str) -> str:
    """Return the blocking form of a source file.

    Args:
        source: The file's text.

    Returns:
        The same without `async` and `await`, with the blocking names, in the project's format.
    """
    lines = source.splitlines(keepends=True)
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(source).readline))):
        text = _replaced(token)
        if text != token.string:
            (first, start), (last, end) = token.start, token.end
            rest = lines[last - 1][end:]
            rest = rest.lstrip(" ") if not text else rest
            lines[first - 1 : last] = (lines[first - 1][:start] + text + rest).splitlines(keepends=True)
    text = _ruff("check", "--quiet", "--fix-only", "--select", "I", "-", text=_HEADER + "".join(lines))
    return _ruff("format", "-", text=text)


def _replaced(token: tokenize.TokenInfo) -> str:
    """Return the blocking form of a token."""
    if token.type == tokenize.NAME:
        if token.string in _WORDS:
            return ""
        return _NAMES.get(token.string, re.sub(r"^Async(?=[A-Z])", "", token.string))
    text = token.string
    if token.type in (tokenize.STRING, tokenize.COMMENT):
        for pattern, replacement in _IN_TEXT:
            text = re.sub(pattern, replacement, text)
    return text


def _ruff(*arguments: str, text: str) -> str:
    """Run ruff on a source text, and return its output."""
    command = [str(Path(sys.executable).with_name("ruff")), *arguments]
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)  # noqa: S603
    return str(done.stdout)


def generated_files() -> dict[str, str]:
    """Return all generated files by name."""
    return {
        path.name: generated(path.read_text(encoding="utf-8"))
        for path in sorted(SOURCES.glob("*.py"))
        if path.name not in BY_HAND
    }


def main() -> None:
    """Write the generated files."""
    for name, text in generated_files().items():
        write_atomically(TARGETS / name, text)


if __name__ == "__main__":
    main()
