"""`make async-client`: derives the methods of `AsyncClient` from those of `Client`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from scripts._build import ROOT
from scripts._files import write_atomically

SOURCES = ROOT / "bilateral" / "client" / "shell"
TARGETS = ROOT / "bilateral" / "client" / "async_shell"
BY_HAND = ("__init__.py", "base.py")

_HEADER = "# Derived from bilateral/client/shell by `make async-client`. Change that, not this.\n"

_SUBSTITUTIONS = (
    (r"bilateral\.client\.shell\b", "bilateral.client.async_shell"),
    (r"\b(Client|Shell|Handle|SignalBatch|\w+Methods)\b", r"Async\1"),
    (r"^    def ", "    async def "),
    (r"return self\._", "return await self._"),
    (r"`handle\.wait\(\)`", "`await handle.wait()`"),
    (r"Threads may share", "Tasks of one event loop may share"),
)


def derived(source: str) -> str:
    """The asynchronous form of a source file.

    Args:
        source: The file's text.

    Returns:
        The same with other names, `async` and `await`, in the project's format.
    """
    for pattern, replacement in _SUBSTITUTIONS:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    source = _ruff("check", "--quiet", "--fix-only", "--select", "I", "-", text=_HEADER + source)
    return _ruff("format", "-", text=source)


def _ruff(*arguments: str, text: str) -> str:
    """What ruff makes of a source text."""
    command = [str(Path(sys.executable).with_name("ruff")), *arguments]
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)  # noqa: S603
    return str(done.stdout)


def derived_files() -> dict[str, str]:
    """All derived files by name."""
    return {
        path.name: derived(path.read_text(encoding="utf-8"))
        for path in sorted(SOURCES.glob("*.py"))
        if path.name not in BY_HAND
    }


def main() -> None:
    """Write the derived files."""
    for name, text in derived_files().items():
        write_atomically(TARGETS / name, text)


if __name__ == "__main__":
    main()
