"""A Spark Connect server for tests: Sail with two workers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from tests.helpers import free_port

WORKERS = 2
"""The workers of the server. With one, no row would pass from a worker to another."""

START_SECONDS = 120
"""The time that a server has to start. It takes 15 seconds on a machine that is busy with a whole test run."""


@contextmanager
def running_sail(folder):
    """Run a server that keeps its checkpoints in a folder, and yield its URL.

    Args:
        folder: The folder.
    """
    port = free_port()
    settings = {
        "SAIL_MODE": "local-cluster",
        "SAIL_CLUSTER__WORKER_INITIAL_COUNT": str(WORKERS),
        "SAIL_CLUSTER__WORKER_MAX_COUNT": str(WORKERS),
        "SAIL_EXECUTION__CHECKPOINT__PATH": folder.as_uri(),
    }
    command = [str(Path(sys.executable).with_name("sail")), "spark", "server", "--ip", "127.0.0.1", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, env=os.environ | settings, stdout=log, stderr=log)  # noqa: S603
    try:
        _wait(server, port, folder / "log")
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def _wait(server, port, log):
    """Wait until the server accepts connections."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if server.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise RuntimeError(f"Sail did not start: {log.read_text()[-2000:]}")
