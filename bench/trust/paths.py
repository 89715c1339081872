"""The time of a whole analysis of tables in a database: with its steps on arrays, and with them in the database."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import ibis

from bench.trust.speed import tables
from bilateral.trust.engine import Engine
from bilateral.trust.relational import Relational
from bilateral.trust.steps import ARRAYS, Steps
from bilateral.trust.tables import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES: Final = (20_000, 200_000, 1_000_000)

_STEPS: Final = ("first_transfers", "degrees", "cells", "trust")


class _Timed:
    """Steps that add up the seconds of a processor that they take. Those of the database's threads count, too."""

    def __init__(self, steps: Steps) -> None:
        self.seconds = 0.0
        for name in _STEPS:
            setattr(self, name, self._timed(getattr(steps, name)))

    def _timed(self, step: Any) -> Any:
        def run(*arguments: Any) -> Any:
            start = time.process_time()
            answer = step(*arguments)
            self.seconds += time.process_time() - start
            return answer

        return run


def paths(sizes: Sequence[int] = SIZES) -> dict[str, dict[str, dict[str, float]]]:
    """Return the seconds of an analysis with a list of one trusted account, and of its relational steps, by size.

    Args:
        sizes: The numbers of feedbacks.
    """
    out: dict[str, dict[str, dict[str, float]]] = {}
    for size in sizes:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "tables.duckdb"
            _store(file, size)
            for path in ("arrays", "database"):
                command = [sys.executable, "-m", "bench.trust.paths", str(file), path]
                told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()  # noqa: S603
                named = zip(("seconds", "processor", "steps"), map(float, told), strict=True)
                out.setdefault(str(size), {})[path] = dict(named)
    return out


def _store(file: Path, size: int) -> None:
    """Write the tables of a market into a file of DuckDB."""
    connection = ibis.duckdb.connect(file)
    made = tables(size)
    for name in COLUMNS:
        connection.create_table(name, getattr(made, name))
    connection.disconnect()


def _analyse(file: str, path: str) -> None:
    """Analyse a file, and print the seconds, those of a processor, and those of the steps."""
    database = Relational(ibis.duckdb.connect(file, read_only=True))
    start, worked = time.perf_counter(), time.process_time()
    timed: Any = _Timed(database if path == "database" else ARRAYS)
    held = database.tables()
    Engine(steps=timed).fit(held, trusted=[held.feedback["client"][0].as_py()])
    print(f"{time.perf_counter() - start:.2f} {time.process_time() - worked:.2f} {timed.seconds:.2f}")


if __name__ == "__main__":
    _analyse(*sys.argv[1:])
