"""Starts a local chain, stops it whatever happens, and restores its snapshots."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scripts._build import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from ape.api import TestProviderAPI
    from ape.managers.chain import ChainManager
    from ape.types import SnapshotID

ANVIL = ROOT / ".venv" / "bin" / "anvil"
LISTENING = "Listening on "
POOL_TIMEOUT = 60
"""Seconds in which anvil must mine the transactions of its pool."""

INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Interrupted(BaseException):
    """A signal asks this process to end.

    Attributes:
        signal: The signal.
    """

    def __init__(self, number: int) -> None:
        """Remember the signal.

        Args:
            number: Its number.
        """
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.signal = number


@contextmanager
def running_anvil(*options: str, states: int = 256) -> Iterator[str]:
    """Run anvil on a free port.

    A signal that would end this process ends anvil first, also if it comes while anvil is being started. After SIGKILL,
    which no process can handle, anvil is ended too.

    Args:
        *options: Further options of anvil, as `--chain-id`, `84532`.
        states: The number of blocks whose states it keeps, in memory.

    Yields:
        The URL of its RPC.

    Raises:
        Interrupted: When the process is asked to end.
    """
    with _interruptions_held_back() as release:
        anvil = subprocess.Popen(  # noqa: S603  # the pinned anvil
            [ANVIL, "--port", "0", *options],
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
                    raise RuntimeError(f"anvil ended before it was ready, with exit code {anvil.wait()}")
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


def restore(chain: ChainManager, snapshot: SnapshotID) -> None:
    """Restore a chain to a snapshot.

    Args:
        chain: The chain, run by anvil.
        snapshot: The snapshot.

    Raises:
        TimeoutError: If transactions stay in the pool.
    """
    await_empty_pool(chain.provider)
    chain.restore(snapshot)


def await_empty_pool(provider: TestProviderAPI) -> None:
    """Wait until no transaction is left in anvil's pool.

    A block can be seen a moment before its transactions leave the pool. A snapshot that is restored in that moment
    leaves them there: the next transaction with the same nonce is refused ("replacement transaction underpriced"), or
    is lost when they leave.

    Args:
        provider: The connection to anvil.

    Raises:
        TimeoutError: If transactions stay in the pool.
    """
    deadline = time.monotonic() + POOL_TIMEOUT
    while set(provider.make_request("txpool_status", []).values()) != {"0x0"}:
        if time.monotonic() > deadline:
            raise TimeoutError(f"anvil's pool is not empty after {POOL_TIMEOUT} seconds")
        time.sleep(0.001)


@contextmanager
def ended_after_us(process: subprocess.Popen[str]) -> Iterator[None]:
    """End a process when this one is killed: that breaks the pipe at which a shell waits."""
    command = ["sh", "-c", "read -r _; kill $0", str(process.pid)]
    watcher = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603  # ours
    try:
        yield
    finally:
        watcher.kill()
        watcher.communicate()


@contextmanager
def _interruptions_held_back() -> Iterator[Release]:
    """Turn signals into `Interrupted`, but only once released."""
    if threading.current_thread() is not threading.main_thread():  # signals arrive in the main thread only
        yield Release()
        return
    release = Release()
    former = {number: signal.signal(number, release.handle) for number in INTERRUPTIONS}
    try:
        yield release
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


class Release:
    """Lets interruptions through, once it is called."""

    def __init__(self) -> None:
        """Begin by holding them back."""
        self._open = False
        self._held: int | None = None

    def __call__(self) -> None:
        """Let signals through, first a signal that was held back.

        Raises:
            Interrupted: If one was held back.
        """
        self._open = True
        if self._held is not None:
            raise Interrupted(self._held)

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Take a signal.

        Args:
            number: The signal.

        Raises:
            Interrupted: If interruptions are let through.
        """
        if self._open:
            self._open = False  # one is enough: a second one must not interrupt the clean-up
            raise Interrupted(number)
        self._held = number
