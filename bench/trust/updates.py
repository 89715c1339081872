"""`python -m bench.trust.updates 1000000`: the processor time of an analysis after 60 new rows, beside a whole one.

The rows are of all kinds, by known and by new accounts. An update has to find what a whole analysis finds: a difference
ends the run with an error.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from bench.trust.speed import feedback, tables
from bilateral.trust.engine import Engine
from bilateral.trust.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Callable

_ROWS: Final = 15
"""The rows of each of four tables: 60 together, as many as a block of a busy chain brings."""

_NEW: Final = 2**80
"""The first of the new accounts: no account of the market has so high a number."""


def later(size: int) -> Tables:
    """Return 60 rows that come after the market of `bench.trust.speed`: feedback, ratings, payments and transfers.

    Args:
        size: The number of its opinions.
    """
    place = np.arange(_ROWS)
    new = pa.array([f"0x{_NEW + number:040x}" for number in place.tolist()])
    known = pa.array([f"0x{number:040x}" for number in place.tolist()])
    agent, ts = place % 10 + 1, 1.79e9 + place
    return Tables.of(
        feedback=feedback(size + place, new, agent, np.full(_ROWS, 90.0), ts),
        ratings=pa.table(
            {
                "id": place,
                "kind": pa.array(["client"] * _ROWS),
                "client": known,
                "validator_id": pa.nulls(_ROWS, pa.int64()),
                "server_id": agent,
                "rating": np.full(_ROWS, 80.0),
                "ts": ts,
            }
        ),
        payments=pa.table(
            {
                "tx": pa.array([f"new {number}" for number in place.tolist()]),
                "payer": new,
                "payee": known,
                "agent_id": agent,
                "amount": np.ones(_ROWS),
                "ts": ts - 100,
            }
        ),
        transfers=pa.table({"src": known, "dst": new, "amount": np.ones(_ROWS), "ts": ts - 200}),
    )


def measured(size: int) -> tuple[float, float]:
    """Return the processor seconds of an update and of a whole analysis of the same rows.

    Args:
        size: The number of opinions before.

    Raises:
        ValueError: Their results differ.
    """
    before, rows = tables(size), later(size)
    engine, whole = Engine().fit(before), Engine()
    update = _processor(lambda: engine.update(rows))
    full = _processor(lambda: whole.fit(before.appended(rows)))
    if not is_equal(engine, whole):
        raise ValueError("an update and a whole analysis differ")
    return update, full


def is_equal(left: Engine, right: Engine) -> bool:
    """Compare findings, flags, suspicion and scores of two analyses.

    Args:
        left: A fitted engine.
        right: Another one.
    """
    first, second = (_results(engine) for engine in (left, right))
    return first[0] == second[0] and all(np.array_equal(*pair) for pair in zip(first[1], second[1], strict=True))


def _results(engine: Engine) -> tuple[list[tuple[object, ...]], list[np.ndarray]]:
    """Return the findings, and the flags, suspicion and scores."""
    findings: list[tuple[object, ...]] = [
        (part.detector, part.q_value, part.sentence, part.opinions.tolist()) for part in engine.findings_
    ]
    suspicion, scores = engine.suspicion_, engine.scores_
    return findings, [suspicion.flagged, suspicion.total, scores.score, scores.lower]


def _processor(run: Callable[[], object]) -> float:
    """Return the processor seconds of a call."""
    worked = time.process_time()
    run()
    return time.process_time() - worked


def main() -> None:
    """Measure, and print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("opinions", type=int, nargs="?", default=1_000_000, help="The number of opinions before.")
    update, full = measured(parser.parse_args().opinions)
    print(f"update {update:.1f} s of a processor, whole analysis {full:.1f} s")


if __name__ == "__main__":
    main()
