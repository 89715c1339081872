"""The command line: `bilateral info`, and `bilateral account|agent|feedback|rate|validation|auth|signals …`."""

import signal
import sys
from io import TextIOWrapper

_NEEDED_BY_COMMANDS = ("typer", "rich")


def main() -> None:
    """Run the command line, and exit with one of the exit codes in docs/cli.md."""
    try:
        from bilateral.cli.app import app  # noqa: PLC0415  # so that an import of the package loads no command
        from bilateral.cli.errors import stop_by_signal  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED_BY_COMMANDS:
            raise
        sys.exit(f"error: {error.name} is not installed: run pip install 'bilateral[cli]'")
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop_by_signal)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # untrusted text may not fit a locale other than UTF-8
    app()
