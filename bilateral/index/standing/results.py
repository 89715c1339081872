"""The results of an analysis in the index's database: how they are replaced, read, and forgotten after a rollback."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from sqlalchemy import Connection, RowMapping, Table, delete, func, insert, select

from bilateral.index.changes.projection import Note
from bilateral.index.changes.tables import ChangeKind
from bilateral.index.log import tables as events
from bilateral.index.standing import tables as schema
from bilateral.index.standing.standings import stored_standings
from bilateral.index.standing.tables import AnalysisKey, Part
from bilateral.trust.results import NO_SIGNS, Results
from bilateral.trust.standing.standings import SCHEMA

if TYPE_CHECKING:
    import pyarrow as pa

    from bilateral.index.standing.opinions import Place
    from bilateral.trust.results import Results


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
    """
    accounts = _stored_rows(connection, schema.suspicion, key)
    scores = _stored_rows(connection, schema.trust_score, key)
    return Results(
        addresses=_accounts(accounts),
        agents=_stored_scores(scores, "server", "agent_id", pa.int64()),
        clients=_stored_scores(scores, "client", "address", pa.string()),
        validators=_stored_scores(scores, "validator", "agent_id", pa.int64()),
        buyers=_stored_scores(scores, "buyer", "address", pa.string()),
        findings=_stored_findings(connection, key),
        rows=_finding_rows(_stored_rows(connection, schema.finding_row, key)),
        evidence=pa.table({"address": pa.array([], pa.string())}),
        trust=_table(
            {"address": pa.string(), "trust": pa.float64()},
            [{"address": row["account"], "trust": row["trust"]} for row in accounts if row["trust"] is not None],
        ),
        cases=pa.table({"account": pa.array([], pa.string())}),
        signs=NO_SIGNS,
        standings=pa.Table.from_pylist(stored_standings(connection, key), SCHEMA),
    )


def _stored_rows(connection: Connection, table: Table, key: AnalysisKey) -> Sequence[RowMapping]:
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


def _stored_scores(rows: Sequence[RowMapping], side: str, name: str, kind: pa.DataType) -> pa.Table:
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


def _stored_findings(connection: Connection, key: AnalysisKey) -> pa.Table:
    """Return the findings, the strongest first, with their members by part."""
    members: dict[tuple[str, str], list[str]] = {}
    for row in _stored_rows(connection, schema.finding_member, key):
        members.setdefault((row["finding_id"], row["part"]), []).append(row["account"])
    findings = [{**row, "finding": row["finding_id"]} for row in _stored_rows(connection, schema.finding, key)]
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


_AT_ONCE: Final = 5_000  # rows of an insert: some megabytes of Python objects
_SCORED: Final = {"agents": "server", "clients": "client", "validators": "validator", "buyers": "buyer"}
"""The sides by the tables of results that hold their scores."""

_SUSPICION: Final = ("address", "suspicion", "cluster", "threshold_flag")
"""The columns of accounts beside those of the detectors."""


def replace_results(
    connection: Connection,
    key: AnalysisKey,
    head: Mapping[str, Any],
    results: Results,
    places: Mapping[str, Sequence[Place]],
) -> list[Note]:
    """Replace the results of an analysis, in the connection's transaction.

    The inserts may take minutes, in which the index continues. So the block at which the results become known is read
    after them. Until the end of the transaction no further block is stored.
    """
    previous, flagged = current_analysis(connection, key), _flagged(connection, key)
    for table in (*schema.RESULT_TABLES, schema.analysis):
        connection.execute(delete(table).where(key.of(table)))
    for table, rows in (
        (schema.suspicion, _suspicions(results)),
        (schema.trust_score, _scores(results)),
        (schema.finding, _findings(results)),
        (schema.finding_member, _members(results)),
        (schema.finding_row, _rows(results, places)),
    ):
        _insert(connection, table, key, rows)
    moment = _numbers(connection, key, previous)
    connection.execute(insert(schema.analysis).values(**key.columns, **head, **moment))
    current = _flagged(connection, key)
    return [
        Note(ChangeKind.FLAG, key.identity_registry, None, account, {"is_flagged": account in current})
        for account in sorted(flagged ^ current)
    ]


def _flagged(connection: Connection, key: AnalysisKey) -> set[str]:
    """Return the accounts that the stored analysis flags."""
    columns = schema.suspicion.c
    return set(
        connection.execute(select(columns.account).where(key.of(schema.suspicion), columns.is_flagged)).scalars()
    )


def _numbers(connection: Connection, key: AnalysisKey, former: Mapping[str, Any] | None) -> dict[str, int]:
    """Return the number of a new analysis, and the last indexed block at which it becomes known.

    Both stand beside those of the first analysis of the registry: before that one, nothing was known. Until the end of
    the transaction no block is stored.
    """
    table, chain = schema.analysis, events.chain
    query = select(chain.c.block_number).where(chain.c.chain_id == key.chain_id).with_for_update()
    seen = connection.execute(query).scalar_one()
    number = connection.execute(select(func.coalesce(func.max(table.c.run), 0))).scalar_one() + 1
    number = max(number, ((former or {}).get("run") or 0) + 1)
    now = {"run": number, "seen_block": seen}
    if former is None:
        return {**now, "first_run": number, "first_seen_block": now["seen_block"]}
    first_seen = former["block_number"] if former["first_seen_block"] is None else former["first_seen_block"]
    return {**now, "first_run": former["first_run"] or 0, "first_seen_block": first_seen}


def current_analysis(connection: Connection, key: AnalysisKey) -> Mapping[str, Any] | None:
    """Return the row of the last analysis; None if there is none. `is_exact` is False after a reorganisation."""
    row = connection.execute(select(schema.analysis).where(key.of(schema.analysis))).mappings().first()
    return None if row is None else dict(row)


def _insert(connection: Connection, table: Table, key: AnalysisKey, rows: Iterator[dict[str, Any]]) -> None:
    """Insert rows of an analysis, some thousands at once."""
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(key.columns | row)
        if len(batch) == _AT_ONCE:
            connection.execute(insert(table), batch)
            batch = []
    if batch:
        connection.execute(insert(table), batch)


def _each(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table. Some thousands at once are Python's objects, which take many times the memory."""
    for batch in table.to_batches(max_chunksize=_AT_ONCE):
        yield from batch.to_pylist()


def _number(value: float | None) -> float | None:
    """Return a number that databases and JSON can hold: no NaN, no infinity."""
    return value if value is not None and math.isfinite(value) else None


def _suspicions(results: Results) -> Iterator[dict[str, Any]]:
    """Yield the rows of `suspicion`: accounts that the analysis ranks or acquits, and those with a cluster or trust."""
    trust = dict(zip(results.trust["address"].to_pylist(), results.trust["trust"].to_pylist(), strict=True))
    for row in _each(results.addresses):
        account, amount, cluster, is_flagged = (row.pop(name) for name in _SUSPICION)
        parts = {name: part for name, part in row.items() if part > 0}
        if amount > 0 or parts or cluster is not None or is_flagged or account in trust:
            yield {
                "account": account,
                "suspicion": amount,
                "cluster": cluster,
                "is_flagged": is_flagged,
                "trust": trust.get(account),
                "parts": json.dumps(parts),
            }


def _scores(results: Results) -> Iterator[dict[str, Any]]:
    """Yield the rows of `trust_score`: agents by their id, clients and buyers by their account."""
    for name, side in _SCORED.items():
        for row in _each(getattr(results, name)):
            yield {
                "side": side,
                "subject": str(row["address"] if "address" in row else row["agent_id"]),
                "score": _number(row["score"]),
                "low": _number(row["low"]),
                "high": _number(row["high"]),
                "lower_bound": _number(row["lower"]),
                "raters": row["raters"],
                "effective": min(_number(row["effective"]) or 0.0, row["raters"]),
                "removed": _number(row["removed"]) or 0.0,
                "status": row["status"],
                "abstains": row["abstain"],
            }


def _findings(results: Results) -> Iterator[dict[str, Any]]:
    """Yield the rows of `finding`."""
    for row in results.findings.to_pylist():
        yield {
            "finding_id": row["finding"],
            **{name: row[name] for name in ("detector", "q_value", "strength", "statistic", "sentence")},
        }


def _members(results: Results) -> Iterator[dict[str, Any]]:
    """Yield the rows of `finding_member`."""
    for row in results.findings.to_pylist():
        for part in Part:
            for account in sorted(set(row["beneficiaries" if part is Part.BENEFICIARY else f"{part}s"])):
                yield {"finding_id": row["finding"], "part": part.value, "account": account}


def _rows(results: Results, places: Mapping[str, Sequence[Place]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of `finding_row`: the events that the rows of a finding were made from."""
    columns = (results.rows[name].to_pylist() for name in ("finding", "table", "row"))
    for position, (finding, table, row) in enumerate(zip(*columns, strict=True)):
        event, block_number, log_index, transaction_hash = places[table][row]
        yield {
            "finding_id": finding,
            "position": position,
            "table_name": event,
            "block_number": block_number,
            "log_index": log_index,
            "transaction_hash": transaction_hash,
        }
