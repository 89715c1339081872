"""The stored results of an analysis, in the form in which the engine returns them, to be explained."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from sqlalchemy import Connection, RowMapping, Table, select

from bilateral.index.standing import tables as schema
from bilateral.index.standing.standings import stored_standings
from bilateral.index.standing.tables import AnalysisKey, Part
from bilateral.trust.results import NO_SIGNS, Results
from bilateral.trust.standing import SCHEMA

_SCORE: Final = {
    "score": pa.float64(),
    "low": pa.float64(),
    "high": pa.float64(),
    "lower": pa.float64(),
    "raters": pa.int64(),
    "effective": pa.float64(),
    "removed": pa.float64(),
    "abstain": pa.bool_(),
    "status": pa.string(),
}
_FINDING: Final = {
    "finding": pa.string(),
    "detector": pa.string(),
    "q_value": pa.float64(),
    "strength": pa.float64(),
    "statistic": pa.string(),
    "sentence": pa.string(),
}
_MEMBERS: Final = {Part.ACTOR: "actors", Part.BENEFICIARY: "beneficiaries", Part.SUBJECT: "subjects"}


def stored_results(connection: Connection, key: AnalysisKey) -> Results:
    """Return the stored results of an analysis.

    Accounts that neither acted nor have part in a finding are not stored, nor is evidence by feedback, nor what buyers
    paid, nor the reasons of cases, nor signs. The rows of findings are named by table, block and log.

    Args:
        connection: The index's database.
        key: The analysis.
    """
    accounts = _rows(connection, schema.suspicion, key)
    scores = _rows(connection, schema.trust_score, key)
    return Results(
        addresses=_accounts(accounts),
        agents=_scores(scores, "server", "agent_id", pa.int64()),
        clients=_scores(scores, "client", "address", pa.string()),
        validators=_scores(scores, "validator", "agent_id", pa.int64()),
        buyers=_scores(scores, "buyer", "address", pa.string()),
        findings=_findings(connection, key),
        rows=_finding_rows(_rows(connection, schema.finding_row, key)),
        evidence=pa.table({"address": pa.array([], pa.string())}),
        trust=_table(
            {"address": pa.string(), "trust": pa.float64()},
            [{"address": row["account"], "trust": row["trust"]} for row in accounts if row["trust"] is not None],
        ),
        cases=pa.table({"account": pa.array([], pa.string())}),
        signs=NO_SIGNS,
        standings=pa.Table.from_pylist(stored_standings(connection, key), SCHEMA),
    )


def _rows(connection: Connection, table: Table, key: AnalysisKey) -> Sequence[RowMapping]:
    """Return the rows of an analysis in a table, in the order of its key."""
    return connection.execute(select(table).where(key.of(table)).order_by(*table.primary_key)).mappings().all()


def _table(columns: Mapping[str, pa.DataType], rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in columns.items()})


def _accounts(rows: Sequence[RowMapping]) -> pa.Table:
    """Return accounts with the part of each detector in their suspicion."""
    parts = [json.loads(row["parts"]) for row in rows]
    detectors = sorted({name for part in parts for name in part})
    return pa.table(
        {
            "address": pa.array([row["account"] for row in rows], pa.string()),
            "suspicion": pa.array([row["suspicion"] for row in rows], pa.float64()),
            "cluster": pa.array([row["cluster"] for row in rows], pa.int64()),
            "threshold_flag": pa.array([row["is_flagged"] for row in rows], pa.bool_()),
            **{name: pa.array([part.get(name, 0.0) for part in parts], pa.float64()) for name in detectors},
        }
    )


def _scores(rows: Sequence[RowMapping], side: str, name: str, kind: pa.DataType) -> pa.Table:
    """Return the scores of one side, by a column that names the subject."""
    chosen = [
        {
            **row,
            name: int(row["subject"]) if kind == pa.int64() else row["subject"],
            "lower": row["lower_bound"],
            "abstain": row["abstains"],
        }
        for row in rows
        if row["side"] == side
    ]
    return _table({name: kind, **_SCORE}, chosen)


def _findings(connection: Connection, key: AnalysisKey) -> pa.Table:
    """Return the findings, the strongest first, with their members by part."""
    members: dict[tuple[str, str], list[str]] = {}
    for row in _rows(connection, schema.finding_member, key):
        members.setdefault((row["finding_id"], row["part"]), []).append(row["account"])
    findings = [{**row, "finding": row["finding_id"]} for row in _rows(connection, schema.finding, key)]
    findings.sort(key=lambda row: (-row["strength"], row["finding"]))
    table = _table(_FINDING, findings)
    for part, column in _MEMBERS.items():
        lists = [members.get((row["finding"], part.value), []) for row in findings]
        table = table.append_column(column, pa.array(lists, pa.list_(pa.string())))
    return table


def _finding_rows(rows: Sequence[RowMapping]) -> pa.Table:
    """Return the rows that findings rest on, by table and place in the chain."""
    named = [
        {
            "finding": row["finding_id"],
            "table": row["table_name"],
            "row": f"block {row['block_number']}" + ("" if row["log_index"] is None else f", log {row['log_index']}"),
        }
        for row in rows
    ]
    return _table({"finding": pa.string(), "table": pa.string(), "row": pa.string()}, named)
