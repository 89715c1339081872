"""Finds anvil, starts a local chain with it, and always stops it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from bilateral.core.errors import FormattedError

LISTENING = "Listening on "

_PLACES: Final = (Path("node_modules", ".bin", "anvil"), Path("~", ".foundry", "bin", "anvil"))
"""The folders where npm and Foundry's installer put anvil, in case it is not on the `PATH`."""

INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Interrupted(BaseException):
    """A signal asked this process to exit."""

    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.signal = number


class AnvilMissingError(FormattedError):
    """The program `anvil` is not installed."""

    reason = "anvil_missing"
    template = (
        "anvil, which runs the local chain, is missing: install it with `npm install @foundry-rs/anvil@1.7.1`, "
        "or pass its path with --anvil"
    )


class AnvilEndedError(FormattedError, RuntimeError):
    """Anvil exited before it was ready.

    Attributes:
        code: Anvil's exit code.
    """

    reason = "anvil_ended"
    template = "anvil exited before it was ready, with exit code {code}"
    code: int


def find_anvil(program: Path | None = None) -> Path:
    """Return the path of anvil: on the `PATH`, in `node_modules`, or where Foundry's installer puts it."""
    on_path = shutil.which("anvil" if program is None else program)
    if on_path is not None:
        return Path(on_path)
    places = [place.expanduser() for place in _PLACES if program is None]
    place = next((place for place in places if os.access(place, os.X_OK)), None)
    if place is None:
        raise AnvilMissingError
    return place.resolve()


@contextmanager
def running_anvil(program: Path, *options: str, port: int = 0, states: int = 256) -> Iterator[str]:
    """Run anvil, and yield its URL.

    A signal that would end this process stops anvil first, even while anvil is being started. Anvil is stopped even if
    this process receives SIGKILL, which cannot be handled.
    """
    with _delayed_interruptions() as release:
        anvil = subprocess.Popen(  # noqa: S603  # anvil
            [program, "--port", str(port), *options],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | {"ANVIL_STATES": str(states)},
        )
        try:
            with ended_after_us(anvil):
                release()
                address = next((line for line in anvil.stdout or () if line.startswith(LISTENING)), None)
                if address is None:
                    raise AnvilEndedError(anvil.wait())
                # Anvil logs every request; a pipe that nobody empties would block it.
                threading.Thread(target=anvil.communicate, daemon=True).start()
                yield f"http://{address.removeprefix(LISTENING).strip()}"
        finally:
            anvil.terminate()
            try:
                anvil.wait(timeout=5)
            except subprocess.TimeoutExpired:
                anvil.kill()
                anvil.wait()


@contextmanager
def ended_after_us(process: subprocess.Popen[str]) -> Iterator[None]:
    """End a child process if this process is killed: a helper shell does so once its input pipe closes."""
    command = ["sh", "-c", "read -r _; kill $0", str(process.pid)]
    watcher = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603  # ours
    try:
        yield
    finally:
        watcher.kill()
        watcher.communicate()


@contextmanager
def _delayed_interruptions() -> Iterator[Release]:
    """Convert signals to `Interrupted`, deferred until the yielded `Release` is called."""
    if threading.current_thread() is not threading.main_thread():  # signals arrive in the main thread only
        yield Release()
        return
    release = Release()
    previous = {number: signal.signal(number, release.handle) for number in INTERRUPTIONS}
    try:
        yield release
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class Release:
    """Lets deferred and later signals through once called."""

    def __init__(self) -> None:
        self._open = False
        self._pending: int | None = None

    def __call__(self) -> None:
        """Let signals through, starting with any deferred signal."""
        self._open = True
        if self._pending is not None:
            raise Interrupted(self._pending)

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Raise `Interrupted` for a signal, or defer the signal until interruptions are let through."""
        if self._open:
            self._open = False  # one is enough: a second one must not interrupt the clean-up
            raise Interrupted(number)
        self._pending = number
