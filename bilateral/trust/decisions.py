"""Payment decisions: whether to pay an agent a certain amount, based on the rows that existed at the time."""

from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.core.values.decision import TRIAL, Ground, Limit, limit_of
from bilateral.core.values.standing import Side, Standing
from bilateral.trust.engine import Engine
from bilateral.trust.tables.schema import Tables, cast, plain_texts

ASKS: Final = pa.schema(
    [
        ("ask_id", pa.int64()),
        ("asker", pa.string()),
        ("agent_id", pa.int64()),
        ("ts", pa.float64()),
        ("amount", pa.float64()),
    ]
)
"""The columns of the questions: who wants to pay which agent, when (Unix seconds), and how much."""

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
"""The columns of the answers. `score` is null for an unrated agent; `status` is a `standing.Status` or `unknown`."""

_UNKNOWN: Final = "unknown"


def read_asks(path: Path) -> pa.Table:
    """Read payment questions from a Parquet file."""
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InvalidArgumentError(f"{path.name} is not a Parquet table: {error}") from None
    columns = {}
    for field in ASKS:
        if field.name not in table.column_names:
            raise InvalidArgumentError(f"the table of payment requests has no column {quoted(field.name)}: add it")
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
                f"asks.{name} has {numbers[wrong[0]]} in row {wrong[0] + 1}: write a finite, non-negative number"
            )
    return pa.table(columns)


def until(tables: Tables, ts: float) -> Tables:
    """Return tables with only the rows up to a given time."""
    rows = {field.name: getattr(tables, field.name) for field in fields(tables)}
    rows = {name: table.filter(pc.less_equal(table.column("ts"), ts)) for name, table in rows.items()}
    return Tables(**rows | {"agents": _held_until(rows["agents"], ts)})


def _held_until(agents: pa.Table, ts: float) -> pa.Table:
    """Return agents with their owners and holders as of a given time."""
    if "holders" not in agents.column_names:
        return agents
    holders = agents["holders"].to_pylist()
    later = [row for row, periods in enumerate(holders) if periods and periods[-1]["since"] > ts]
    if not later:
        return agents
    columns = {name: values.to_pylist() for name, values in zip(agents.column_names, agents.columns, strict=True)}
    for row in later:
        periods = [period for period in holders[row] if period["since"] <= ts] or holders[row][:1]
        columns["holders"][row], columns["wallet"][row] = periods, None  # a handover resets the wallet
        columns["owner"][row] = periods[-1]["account"] or columns["owner"][row]
    return pa.table(columns, plain_texts(agents).schema)


def decide(tables: Tables, asks: pa.Table, analyses: int = 1) -> pa.Table:
    """Answer payment questions from the agents' standings, using only rows up to the time of each question.

    Questions asked between two analyses are answered from the earlier analysis, so an answer may miss the latest rows
    but never uses rows from after the question.
    """
    if analyses < 1:
        raise InvalidArgumentError(f"{analyses} analyses are too few: request at least 1")
    if not asks.num_rows:
        return ANSWERS.empty_table()
    ts = asks.column("ts").to_numpy()
    times = np.unique(ts)
    # Spread the analyses evenly over the distinct times of the questions, starting at the first.
    starts = times[np.unique(np.arange(min(analyses, len(times))) * len(times) // min(analyses, len(times)))]
    group = np.searchsorted(starts, ts, side="right") - 1
    parts, places = [], []
    for number, start in enumerate(starts.tolist()):
        chosen = np.flatnonzero(group == number)
        engine = Engine().fit(until(tables, start))
        parts.append(_answered(engine.standings(), asks.take(pa.array(chosen))))
        places.append(chosen)
    order = np.argsort(np.concatenate(places))
    return pa.concat_tables(parts).take(pa.array(order)).combine_chunks()


def _answered(table: pa.Table, asks: pa.Table) -> pa.Table:
    agent_ids = asks.column("agent_id")
    servers = table.filter(pc.equal(table.column("side"), str(Side.SERVER)))
    rows_of_agents = servers.filter(pc.is_in(servers.column("agent_id"), pc.unique(agent_ids)))
    standing_of = {row["agent_id"]: Standing.of(row) for row in rows_of_agents.to_pylist()}
    stakes = zip(agent_ids.to_pylist(), asks.column("amount").to_pylist(), strict=True)
    rows = [_answer(agent_id, standing_of.get(agent_id), amount) for agent_id, amount in stakes]
    answers = {name: [row[name] for row in rows] for name in ANSWERS.names if name != "ask_id"}
    return pa.table({"ask_id": asks.column("ask_id"), **answers}).cast(ANSWERS)


def _answer(agent_id: int, standing: Standing | None, amount: float) -> dict[str, Any]:
    if standing is None:
        reason = f"agent {agent_id} was not registered at the time"
        return {"verdict": "decline", "score": None, "lower": 0.0, "status": _UNKNOWN, "reason": reason}
    limit = limit_of(standing)
    is_accepted = not limit.refuses and limit.ground is not Ground.LOW_RATING and amount <= limit.amount
    return {
        "verdict": "decline" if limit.refuses else "accept" if is_accepted else "caution",
        "score": standing.rating,
        "lower": standing.lower,
        "status": str(standing.status),
        "reason": f"agent {agent_id} {_why(standing, limit, amount, is_accepted=is_accepted)}",
    }


def _why(standing: Standing, limit: Limit, amount: float, *, is_accepted: bool) -> str:
    if is_accepted and amount <= TRIAL:
        return f"may be tried for {amount:g}, up to {TRIAL:g}"
    verb = "suffices" if is_accepted else "does not suffice"
    return {
        Ground.HELD_BACK: "is held back because its ratings were made up",
        Ground.BAD: f"is rated at most {standing.upper:.0f} of 100",
        Ground.LOW_RATING: f"is rated {standing.rating or 0:.0f} of 100",
        Ground.CONTESTED: "is suspected of arranging false ratings (unproven)",
        Ground.SHARED_TRIAL: "is new, and another new agent with the same source of funds has to be tried first",
        Ground.EVIDENCE: f"has evidence{standing.since} that cost {standing.evidence_cost:.2f}, which {verb} for "
        f"{amount:g}",
    }[limit.ground]
