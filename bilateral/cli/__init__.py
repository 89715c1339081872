"""The command line: `bilateral agent|feedback|rate|validation|auth|signals …`."""

from __future__ import annotations

import sys
from io import TextIOWrapper


def main() -> None:
    """Run the command line and end the process with the exit code that docs/cli.md lists."""
    from bilateral.cli.app import app  # noqa: PLC0415  # so that importing the package does not load the whole of it

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for what strangers write, where the locale is not UTF-8
    app()
