"""Decisions about payments: a verdict for each ask, by the rows that were there at its time and by its amount."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bilateral.errors import InvalidArgumentError
from bilateral.text import quoted
from bilateral.trust.engine import Engine
from bilateral.trust.reading import cast
from bilateral.trust.standing import Side, Status
from bilateral.trust.standings import standings
from bilateral.trust.tables import Tables

if TYPE_CHECKING:
    from pathlib import Path

ASKS: Final = pa.schema(
    [
        ("ask_id", pa.int64()),
        ("asker", pa.string()),
        ("agent_id", pa.int64()),
        ("ts", pa.float64()),
        ("amount", pa.float64()),
    ]
)
"""The columns of asks: who asks about which agent, when (Unix seconds), and the amount at stake."""

ANSWERS: Final = pa.schema(
    [
        ("ask_id", pa.int64()),
        ("verdict", pa.string()),
        ("score", pa.float64()),
        ("lower", pa.float64()),
        ("status", pa.string()),
        ("reason", pa.string()),
    ]
)
"""The columns of answers. `score` is null without a rating; `status` is one of `standing.Status`, or `unknown`."""

NEWCOMER: Final = 1.0
"""The amount up to which an agent without evidence is accepted: newcomers must be tried to be known. It is about the
price of a usual purchase."""

LEAST_RATING: Final = 50.0
"""The rating below which buyers got less than half of their money's worth."""

_UNKNOWN: Final = "unknown"


def read_asks(path: Path) -> pa.Table:
    """Read asks.

    Args:
        path: A Parquet file with the columns of `ASKS`.

    Raises:
        InvalidArgumentError: The file is not such a table, a value is missing, or a time or amount is not finite.
    """
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InvalidArgumentError(f"{path.name} is not a Parquet table: {error}") from None
    columns = {}
    for field in ASKS:
        if field.name not in table.column_names:
            raise InvalidArgumentError(f"asks have no column {quoted(field.name)}: add it")
        values = cast(f"asks.{field.name}", table.column(field.name), field.type)
        if values.null_count:
            row = pc.index(pc.is_null(values), True).as_py() + 1
            raise InvalidArgumentError(f"asks.{field.name} is empty in row {row}: fill it in")
        columns[field.name] = values
    for name in ("ts", "amount"):
        numbers = columns[name].to_numpy()
        wrong = np.flatnonzero(~np.isfinite(numbers) | (numbers < 0))
        if len(wrong):
            raise InvalidArgumentError(
                f"asks.{name} has {numbers[wrong[0]]} in row {wrong[0] + 1}: write a finite number from 0"
            )
    return pa.table(columns)


def until(tables: Tables, ts: float) -> Tables:
    """Return the rows that were there at a time.

    Args:
        tables: The tables.
        ts: The time in Unix seconds; rows of this very time are there.
    """
    return Tables(**{field.name: _rows_until(getattr(tables, field.name), ts) for field in fields(tables)})


def _rows_until(table: pa.Table, ts: float) -> pa.Table:
    return table.filter(pc.less_equal(table.column("ts"), ts))


def decide(tables: Tables, asks: pa.Table, analyses: int = 1) -> pa.Table:
    """Answer asks by the standing of each agent, from rows up to the time of each ask.

    One analysis answers many asks: those from its time on until the next one. So an answer may ignore the latest rows,
    and never sees later ones.

    Args:
        tables: All tables.
        asks: The asks, of `read_asks`.
        analyses: The most analyses; with as many as there are times of asks, no answer ignores a row of its time.

    Returns:
        A table with the columns of `ANSWERS`, in the order of the asks.

    Raises:
        InvalidArgumentError: The number of analyses is below 1.
    """
    if analyses < 1:
        raise InvalidArgumentError(f"{analyses} analyses are too few: ask for at least 1")
    if not asks.num_rows:
        return ANSWERS.empty_table()
    ts = asks.column("ts").to_numpy()
    times = np.unique(ts)
    # Times of equal numbers of times apart; the first analysis is at the first ask, so that none is ahead of its ask.
    starts = times[np.unique(np.arange(min(analyses, len(times))) * len(times) // min(analyses, len(times)))]
    group = np.searchsorted(starts, ts, side="right") - 1
    parts, places = [], []
    for number, start in enumerate(starts.tolist()):
        chosen = np.flatnonzero(group == number)
        engine = Engine().fit(until(tables, start))
        parts.append(_answered(standings(engine), asks.take(pa.array(chosen))))
        places.append(chosen)
    order = np.argsort(np.concatenate(places))
    return pa.concat_tables(parts).take(pa.array(order)).combine_chunks()


def _answered(table: pa.Table, asks: pa.Table) -> pa.Table:
    """Return the answers to asks by the standings of one time."""
    servers = table.filter(pc.equal(table.column("side"), str(Side.SERVER)))
    ids = servers.column("agent_id").to_numpy()
    order = np.argsort(ids)
    asked, amount = asks.column("agent_id").to_numpy(), asks.column("amount").to_numpy()
    place = order[np.minimum(np.searchsorted(ids[order], asked), len(ids) - 1)] if len(ids) else np.zeros(0, int)
    known = ids[place] == asked if len(ids) else np.zeros(len(asked), bool)
    if not len(ids):
        place = np.zeros(len(asked), int)

    def column(name: str, missing: Any) -> np.ndarray[Any, Any]:
        values = np.array(servers.column(name).to_pylist() or [missing], object)
        return np.asarray(np.where(known, values[place], missing))

    status = column("status", _UNKNOWN)
    lower, upper = column("lower", 0.0).astype(float), column("upper", 100.0).astype(float)
    cost, raters = column("evidence_cost", 0.0).astype(float), column("raters", 0).astype(int)
    score = column("rating", None)
    rated = np.array([value is not None for value in score], bool)
    rating = np.where(rated, score, np.nan).astype(float)
    # A contested agent may be tried as a newcomer may: its owner could register a new one for less than a trial costs.
    # Sellers that send gifts at their launch are contested, too.
    contested = status == str(Status.CONTESTED)
    bound = np.where(status == str(Status.OK), np.maximum(cost, NEWCOMER), NEWCOMER)
    cases = [
        (status == _UNKNOWN, "decline", "is not registered at this time"),
        (status == str(Status.HELD_BACK), "decline", "is held back: its ratings were made up"),
        (rated & (raters > 1) & (upper < LEAST_RATING), "decline", "is rated at most {upper:.0f} of 100"),
        (rated & (rating < LEAST_RATING) & (status != str(Status.THIN)), "caution", "is rated {rating:.0f} of 100"),
        (contested & (amount > NEWCOMER), "caution", "is tied to false ratings by acts of its own"),
        (amount <= np.minimum(bound, NEWCOMER), "accept", "may be tried for {amount:g}, up to {newcomer:g}"),
        (amount <= bound, "accept", "has evidence that cost {cost:.2f}, more than the {amount:g} at stake"),
        (np.ones(len(asked), bool), "caution", "has evidence that cost {cost:.2f}, less than the {amount:g} at stake"),
    ]
    chosen = np.select([case[0] for case in cases], np.arange(len(cases)))
    reasons = [
        f"agent {agent} "
        + cases[number][2].format(upper=high, rating=mean, amount=stake, cost=spent, newcomer=NEWCOMER)
        for agent, number, high, mean, stake, spent in zip(asked, chosen, upper, rating, amount, cost, strict=True)
    ]
    return pa.table(
        {
            "ask_id": asks.column("ask_id"),
            "verdict": pa.array([cases[number][1] for number in chosen], pa.string()),
            "score": pa.array(rating, pa.float64(), mask=~rated),
            "lower": lower,
            "status": pa.array(status.tolist(), pa.string()),
            "reason": pa.array(reasons, pa.string()),
        }
    ).cast(ANSWERS)
