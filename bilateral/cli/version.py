"""The version of the package, and the commit from which it was built."""

import subprocess
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Final

_SHORT: Final = 12
"""The length of a displayed commit hash, which is enough to find the commit in any repository."""


def commit() -> str | None:
    """Return the commit of the sources, marked `-dirty` if they differ from it; None if it is unknown.

    Distributions contain the commit. In a checkout, git provides it.
    """
    written = files("bilateral") / "commit.txt"
    if written.is_file():
        return written.read_text(encoding="utf-8").strip()
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # git of the user
    except OSError:
        return None
    return run.stdout.strip() or None


def described() -> str:
    """Return the version with the commit, such as `0.1.0 (commit 0123456789ab)`."""
    revision = commit()
    if revision is None:
        return version("bilateral")
    digits, _, mark = revision.partition("-")
    return f"{version('bilateral')} (commit {digits[:_SHORT]}{f'-{mark}' if mark else ''})"
