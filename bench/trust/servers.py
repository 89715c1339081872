"""Spark Connect servers for tests and measurements: Sail, and Apache Spark. Each has two workers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil  # type: ignore[import-untyped]  # pgserver needs it

if TYPE_CHECKING:
    from collections.abc import Iterator

SPARK: Final = Path(__file__).parents[2] / ".cache" / "spark"
"""The folder of Apache Spark and Java, which `make spark` fills."""

_WORKERS: Final = 2
"""The workers of a server. With one, no row would pass from a worker to another."""

_START_SECONDS: Final = 300
"""The time that a server has to start. Sail takes 15 seconds on a busy machine. Spark took 15 to 302."""


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        url: Its URL.
        process: Its process.
    """

    url: str
    process: psutil.Process

    def workers(self) -> list[psutil.Process]:
        """Return the processes of its workers. Those of Sail are threads of its own."""
        return [
            child
            for child in self.process.children(recursive=True)
            if any("CoarseGrainedExecutorBackend" in argument for argument in child.cmdline())
        ]

    def memory(self) -> int:
        """Return the peak of memory of all its processes together, in bytes."""
        return sum(peak(process.pid) for process in (self.process, *self.workers()))


def peak(pid: int) -> int:
    """Return the peak of a process's memory since its start, in bytes. `getrusage` would begin with that of its parent.

    Args:
        pid: The number of the process.
    """
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


def processor(server: psutil.Process) -> float:
    """Return the processor seconds of a server: those of its processes that ended, too.

    Args:
        server: Its process.
    """
    spent = 0.0
    for process in (server, *server.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        spent += times.user + times.system + (times.children_user + times.children_system) * (process == server)
    return spent


@contextmanager
def running_sail(folder: Path, port: int, *, keeps: bool = True) -> Iterator[Server]:
    """Run Sail, with two workers that exchange plans and rows by messages, and yield it.

    Args:
        folder: The folder of its checkpoints and its log.
        port: A port that nobody uses.
        keeps: False for a server without a store for checkpoints.
    """
    settings = {
        "SAIL_MODE": "local-cluster",
        "SAIL_CLUSTER__WORKER_INITIAL_COUNT": str(_WORKERS),
        "SAIL_CLUSTER__WORKER_MAX_COUNT": str(_WORKERS),
        "SAIL_EXECUTION__CHECKPOINT__PATH": folder.as_uri() if keeps else "",
    }
    sail = str(Path(sys.executable).with_name("sail"))
    with _running(
        [sail, "spark", "server", "--ip", "127.0.0.1", "--port", str(port)], settings, folder, port
    ) as server:
        yield server


@contextmanager
def running_spark(folder: Path, port: int, memory: int = 1024) -> Iterator[Server]:
    """Run Apache Spark, with two workers that are processes, and yield it. `make spark` installs it.

    Args:
        folder: The folder of its checkpoints, its other files and its log.
        port: A port that nobody uses.
        memory: The memory of the server and of each worker, in MB.
    """
    options = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.driver.memory": f"{memory}m",
        "spark.executor.memory": f"{memory}m",
        "spark.checkpoint.dir": (folder / "checkpoints").as_uri(),
        "spark.cleaner.referenceTracking.cleanCheckpoints": "true",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.sql.shuffle.partitions": 2 * _WORKERS,
        "spark.sql.adaptive.coalescePartitions.enabled": "false",  # else one worker has all of few rows
        "spark.ui.enabled": "false",
    }
    command = [str(SPARK / "home" / "bin" / "spark-submit"), "--master", f"local-cluster[{_WORKERS},1,{memory}]"]
    for name, value in options.items():
        command += ["--conf", f"{name}={value}"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    settings = {
        "JAVA_HOME": str(SPARK / "java"),
        "SPARK_HOME": str(SPARK / "home"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_WORKER_DIR": str(folder / "work"),
    }
    with _running(command, settings, folder, port) as server:
        yield server


@contextmanager
def _running(command: list[str], settings: dict[str, str], folder: Path, port: int) -> Iterator[Server]:
    """Yield a server, and end it and its workers afterwards."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=os.environ | settings, stdout=log, stderr=log, cwd=folder)  # noqa: S603
    server = Server(f"sc://127.0.0.1:{port}", psutil.Process(process.pid))
    try:
        _wait(process, port, folder / "log")
        yield server
    finally:
        workers = server.workers() if process.poll() is None else []
        process.terminate()
        process.wait()
        psutil.wait_procs(workers)  # they end with their server


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until a server accepts connections."""
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise RuntimeError(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")
