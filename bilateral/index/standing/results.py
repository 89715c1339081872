"""Replace and read an analysis's results in the index's database."""

import json
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from sqlalchemy import Connection, RowMapping, Table, delete, func, insert, select

from bilateral.core.values.standing import Status
from bilateral.index.changes.projection import Note
from bilateral.index.changes.tables import ChangeKind
from bilateral.index.log import tables as events
from bilateral.index.log.dialects import in_parts
from bilateral.index.standing import tables as schema
from bilateral.index.standing.opinions import Place
from bilateral.index.standing.queries import note
from bilateral.index.standing.tables import AnalysisKey, Part
from bilateral.trust.results import NO_SIGNS, Results
from bilateral.trust.standing.standings import SCHEMA

_AT_ONCE: Final = 5_000  # rows per insert: a few megabytes of Python objects

_NAMES: Final = {
    "account": "address",
    "is_flagged": "threshold_flag",
    "abstains": "abstain",
    "lower_bound": "lower",
    "upper_bound": "upper",
    "finding_id": "finding",
    "table_name": "table",
}
"""The names that some of the index's columns have in results."""

_TYPES: Final = {float: pa.float64(), int: pa.int64(), bool: pa.bool_(), str: pa.string()}


def _columns(table: Table, *names: str) -> dict[str, pa.DataType]:
    """Return a table's columns, renamed as in results."""
    return {_NAMES.get(name, name): _TYPES[table.c[name].type.python_type] for name in names}


_MEMBERS: Final = {Part.ACTOR: "actors", Part.BENEFICIARY: "beneficiaries", Part.SUBJECT: "subjects"}
_SUBJECTS: Final = {
    "agents": ("server", "agent_id", pa.int64()),
    "clients": ("client", "address", pa.string()),
    "validators": ("validator", "agent_id", pa.int64()),
    "buyers": ("buyer", "address", pa.string()),
}
"""The side of each score table in results, and the column that identifies the rated subject."""

_SCORE: Final = _columns(
    schema.trust_score, "score", "low", "high", "lower_bound", "raters", "effective", "removed", "abstains", "status"
)
_ADDRESS: Final = _columns(schema.suspicion, "account", "suspicion", "cluster", "is_flagged")
_FINDING: Final = {
    **_columns(schema.finding, "finding_id", "detector", "q_value", "strength", "statistic", "sentence"),
    **dict.fromkeys(_MEMBERS.values(), pa.list_(pa.string())),
}


def stored_results(connection: Connection, key: AnalysisKey) -> Results:
    """Return an analysis's stored results.

    They lack evidence by feedback, buyers' payments, reasons for reviewed cases, signs, and accounts that neither acted
    nor appear in a finding. Evidence rows are identified by table, block and log.
    """
    accounts, scores, rows = (
        _stored(connection, table, key) for table in (schema.suspicion, schema.trust_score, schema.finding_row)
    )
    for row in rows:
        row["row"] = f"block {row['block_number']}" + ("" if row["log_index"] is None else f", log {row['log_index']}")
    trusted = [row for row in accounts if row["trust"] is not None]
    return Results(
        addresses=_addresses(accounts),
        **{name: _scores_of(scores, *subjects) for name, subjects in _SUBJECTS.items()},
        findings=_stored_findings(connection, key),
        rows=_table(rows, {"finding": pa.string(), "table": pa.string(), "row": pa.string()}),
        evidence=_table([], {"address": pa.string()}),
        trust=_table(trusted, {"address": pa.string(), "trust": pa.float64()}),
        cases=_table([], {"account": pa.string()}),
        signs=NO_SIGNS,
        standings=pa.Table.from_pylist(_stored(connection, schema.standing, key), SCHEMA),
    )


def _stored(connection: Connection, table: Table, key: AnalysisKey) -> list[dict[str, Any]]:
    """Return an analysis's rows in the order of the table's key, with the column names used in results."""
    rows = connection.execute(select(table).where(key.of(table)).order_by(*table.primary_key)).mappings()
    return [{_NAMES.get(column, column): value for column, value in row.items()} for row in rows]


def _table(rows: list[dict[str, Any]], columns: Mapping[str, pa.DataType]) -> pa.Table:
    return pa.Table.from_pylist(rows, pa.schema(columns.items()))


def _addresses(rows: list[dict[str, Any]]) -> pa.Table:
    parts = [json.loads(row["parts"]) for row in rows]
    detectors = sorted({name for part in parts for name in part})
    absent = dict.fromkeys(detectors, 0.0)
    merged = [row | absent | part for row, part in zip(rows, parts, strict=True)]
    return _table(merged, _ADDRESS | dict.fromkeys(detectors, pa.float64()))


def _scores_of(rows: list[dict[str, Any]], side: str, name: str, kind: pa.DataType) -> pa.Table:
    convert = int if kind == pa.int64() else str
    chosen = [row | {name: convert(row["subject"])} for row in rows if row["side"] == side]
    return _table(chosen, {name: kind, **_SCORE})


def _stored_findings(connection: Connection, key: AnalysisKey) -> pa.Table:
    members: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in _stored(connection, schema.finding_member, key):
        members[row["finding"], row["part"]].append(row["address"])
    findings = _stored(connection, schema.finding, key)
    findings.sort(key=lambda row: (-row["strength"], row["finding"]))
    for row in findings:
        row.update({column: members[row["finding"], part.value] for part, column in _MEMBERS.items()})
    return _table(findings, _FINDING)


def replace_standings(
    connection: Connection, key: AnalysisKey, standings: pa.Table, block: int, seconds: float
) -> list[Note]:
    """Replace the standings of a registry's agents within the connection's transaction."""
    previous = _statuses(connection, key)
    connection.execute(delete(schema.standing).where(key.of(schema.standing)))
    ranked = (row | {"rank": None if row["status"] == Status.HELD_BACK else row["lower"]} for row in _each(standings))
    _insert(connection, schema.standing, key, ranked)
    note(connection, key, {"block_number": block, "made_at": int(time.time()), "seconds": round(seconds, 3)})
    current, thin, notes = _statuses(connection, key), Status.THIN.value, []
    for side, agent_id in sorted(previous.keys() | current):
        before, status = previous.get((side, agent_id), thin), current.get((side, agent_id), thin)
        if before != status:
            details = {"side": side, "former_status": before, "status": status}
            notes.append(Note(ChangeKind.VERDICT, key.identity_registry, agent_id, None, details))
    return notes


def _statuses(connection: Connection, key: AnalysisKey) -> dict[tuple[str, int], str]:
    """Return the status for each agent and side. `thin` is left out, because it is the default without a standing."""
    columns = schema.standing.c
    query = select(columns.side, columns.agent_id, columns.status)
    rows = connection.execute(query.where(key.of(schema.standing), columns.status != Status.THIN))
    return {(side, int(agent_id)): status for side, agent_id, status in rows}


def replace_results(
    connection: Connection,
    key: AnalysisKey,
    head: Mapping[str, Any],
    results: Results,
    places: Mapping[str, Sequence[Place]],
) -> list[Note]:
    """Replace an analysis's results within the connection's transaction.

    The inserts may take minutes, during which the index continues to store blocks. The block at which the results
    become visible is therefore read afterwards, and no further block is stored until the transaction ends.
    """
    previous, flagged = current_analysis(connection, key), _flagged(connection, key)
    for table in (*schema.RESULT_TABLES, schema.analysis):
        connection.execute(delete(table).where(key.of(table)))
    findings = results.findings.to_pylist()
    stored = _suspicions(results), _scores(results), findings, _members(results), _rows(results, places)
    for table, rows in zip(schema.RESULT_TABLES, stored, strict=True):
        _insert(connection, table, key, rows)
    connection.execute(insert(schema.analysis).values(**key.columns, **head, **_numbers(connection, key, previous)))
    current = _flagged(connection, key)
    return [
        Note(ChangeKind.FLAG, key.identity_registry, None, account, {"is_flagged": account in current})
        for account in sorted(flagged ^ current)
    ]


def _flagged(connection: Connection, key: AnalysisKey) -> set[str]:
    columns = schema.suspicion.c
    query = select(columns.account).where(key.of(schema.suspicion), columns.is_flagged)
    return set(connection.execute(query).scalars())


def _numbers(connection: Connection, key: AnalysisKey, previous: RowMapping | None) -> dict[str, int]:
    """Return the number and visibility block of a new analysis, and those of the registry's first analysis."""
    table, chain = schema.analysis, events.chain
    # Because of the lock, no block is stored until the transaction ends.
    query = select(chain.c.block_number).where(chain.c.chain_id == key.chain_id).with_for_update()
    head = connection.execute(query).scalar_one()
    number = connection.execute(select(func.coalesce(func.max(table.c.run), 0))).scalar_one() + 1
    if previous is None:  # this is the first analysis
        return {"run": number, "seen_block": head, "first_run": number, "first_seen_block": head}
    first = {name: previous[name] for name in ("first_run", "first_seen_block")}
    return {"run": max(number, previous["run"] + 1), "seen_block": head, **first}


def current_analysis(connection: Connection, key: AnalysisKey) -> RowMapping | None:
    """Return the row of the last analysis; None if there is none. Its `is_exact` is False after a reorganisation."""
    return connection.execute(select(schema.analysis).where(key.of(schema.analysis))).mappings().first()


def _insert(connection: Connection, table: Table, key: AnalysisKey, rows: Iterable[Mapping[str, Any]]) -> None:
    names = {column: _NAMES.get(column, column) for column in table.c.keys()}  # noqa: SIM118  # a collection of columns
    for part in in_parts(rows, _AT_ONCE):
        values = [{column: row[name] for column, name in names.items() if name in row} for row in part]
        connection.execute(insert(table), [key.columns | row for row in values])


def _each(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield a table's rows, a few thousand at a time, because Python objects need many times as much memory."""
    for batch in table.to_batches(max_chunksize=_AT_ONCE):
        yield from batch.to_pylist()


def _finite(value: Any) -> Any:
    """Return a value that databases and JSON can represent, which is None for NaN and infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _suspicions(results: Results) -> Iterator[dict[str, Any]]:
    """Yield the accounts that the analysis ranks or clears, and those with a cluster or trust."""
    trust = dict(zip(results.trust["address"].to_pylist(), results.trust["trust"].to_pylist(), strict=True))
    for row in _each(results.addresses):
        parts = {name: part for name, part in row.items() if name not in _ADDRESS and part > 0}
        counts = row["suspicion"] > 0 or row["cluster"] is not None or row["threshold_flag"] or row["address"] in trust
        if counts or parts:
            yield row | {"trust": trust.get(row["address"]), "parts": json.dumps(parts)}


def _scores(results: Results) -> Iterator[dict[str, Any]]:
    for table, (side, name, _) in _SUBJECTS.items():
        for row in _each(getattr(results, table)):
            values = {column: _finite(row[column]) for column in _SCORE}
            values["effective"] = min(values["effective"] or 0.0, row["raters"])
            yield values | {"removed": values["removed"] or 0.0, "side": side, "subject": str(row[name])}


def _members(results: Results) -> Iterator[dict[str, Any]]:
    for row in results.findings.to_pylist():
        for part, column in _MEMBERS.items():
            for account in sorted(set(row[column])):
                yield {"finding": row["finding"], "part": part.value, "address": account}


def _rows(results: Results, places: Mapping[str, Sequence[Place]]) -> Iterator[dict[str, Any]]:
    columns = (results.rows[name].to_pylist() for name in ("finding", "table", "row"))
    for position, (finding, table, row) in enumerate(zip(*columns, strict=True)):
        event, block_number, log_index, hash_ = places[table][row]
        place = {"table": event, "block_number": block_number, "log_index": log_index, "transaction_hash": hash_}
        yield {"finding": finding, "position": position, **place}
