"""The tables that an analysis returns, and the files that it writes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.trust.engine import Engine
from bilateral.trust.features.findings import Finding, describe_money
from bilateral.trust.scores.scores import Scores, buyer_scores
from bilateral.trust.tables.arrays import Ints, distinct_keys
from bilateral.trust.tables.opinions import SOURCES, Kind

_CLAIMED = 0.5
"""The minimum probability of being false for feedback to count as evidence."""


@dataclass(frozen=True)
class Results:
    """The results of an analysis.

    Attributes:
        addresses: One row per account: `suspicion`, `cluster`, `threshold_flag`, and each detector's share of the
            suspicion.
        agents: One row per agent as a server: `score`, `low`, `high`, `lower`, `raters`, `effective`, `removed`,
            `status`, `abstain`.
        clients: One row per rated client, by address, with the same columns.
        validators: One row per validator, with the same columns, and the mean distance between its responses and the
            scores.
        buyers: One row per account that paid: the same columns, based on ratings by servers that the account paid, and
            also payments, payees, volume, and the share of the volume that came back.
        findings: One row per finding: `finding`, `detector`, `q_value`, `strength`, `statistic`, `sentence`, members by
            role.
        rows: The rows on which each finding is based: `finding`, `table`, `row`.
        evidence: The false feedback by each flagged account, and about its agents: `address`, `feedback_id`, `finding`.
        trust: The trust that each account receives from the reader's list; empty without a list.
        cases: One row per case decided by reviewers: `account` in lower case, `verdict`, `reason`, and `occurs`, which
            is False for a case without effect, because no table contains the account.
        signs: The features that most affected the highest weak-sign ranks: `address`, `sign`, and `weight` as log odds.
            An index does not store them.
        standings: The standing of each agent on each side, with the columns of `standing.standings.SCHEMA`.
    """

    addresses: pa.Table
    agents: pa.Table
    clients: pa.Table
    validators: pa.Table
    buyers: pa.Table
    findings: pa.Table
    rows: pa.Table
    evidence: pa.Table
    trust: pa.Table
    cases: pa.Table
    signs: pa.Table
    standings: pa.Table

    def write(self, folder: Path) -> None:
        """Write one Parquet file per table. Earlier files are replaced once all new files are written."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=folder, prefix=".") as partial:
                files = {Path(partial, f"{field.name}.parquet"): getattr(self, field.name) for field in fields(self)}
                for file, table in files.items():
                    pq.write_table(table, file, compression="zstd")
                for file in files:
                    file.replace(folder / file.name)
        except OSError as error:
            raise InvalidArgumentError(f"results cannot be written to {quoted(str(folder))}: {error}") from None
        finally:
            with suppress(OSError):  # the folder already has results
                folder.rmdir()

    @classmethod
    def read(cls, folder: Path) -> Results:
        """Read the files that `write` wrote."""
        try:
            return cls(**{field.name: pq.read_table(folder / f"{field.name}.parquet") for field in fields(cls)})
        except (OSError, pa.ArrowException):
            raise InvalidArgumentError(
                f"{quoted(str(folder))} contains no results: run `bilateral trust analyse --tables DIR --out {folder}`"
            ) from None

    @classmethod
    def of(cls, engine: Engine, places: Mapping[str, Sequence[object]] | None = None) -> Results:
        """Collect the results of a fitted engine."""
        names = _identifiers(engine, places)
        return cls(
            addresses=_addresses(engine),
            agents=_subjects(engine, Kind.FEEDBACK),
            clients=_subjects(engine, Kind.CLIENT_RATING),
            validators=_validators(engine),
            buyers=_buyers(engine),
            findings=_findings(engine, names),
            rows=_rows(engine, names),
            evidence=_evidence(engine, names),
            trust=_trust(engine),
            cases=_cases(engine),
            signs=_signs(engine),
            standings=engine.standings(),
        )


def _identifiers(engine: Engine, places: Mapping[str, Sequence[object]] | None) -> list[str]:
    """Return the id of each finding, with a number appended to duplicates."""
    addresses = engine.context_.ledger.addresses
    occurrences: dict[str, int] = {}
    out = []
    for finding in engine.findings_:
        members = np.concatenate([finding.actors, finding.beneficiaries])
        rows = {
            table: [number if places is None else places[table][number] for number in numbers.tolist()]
            for table, numbers in _rows_of(engine, finding).items()
        }
        name = finding.identifier(addresses.take(pa.array(members)).to_pylist(), rows)
        occurrences[name] = occurrences.get(name, 0) + 1
        out.append(name if occurrences[name] == 1 else f"{name}-{occurrences[name]}")
    return out


def _addresses(engine: Engine) -> pa.Table:
    suspicion, addresses = engine.suspicion_, engine.context_.ledger.addresses
    columns: dict[str, Any] = {
        "address": addresses,
        "suspicion": suspicion.total,
        "cluster": _cluster_numbers(suspicion.cluster, addresses),
        "threshold_flag": suspicion.flagged,
    }
    for name, part in sorted(suspicion.parts.items()):
        columns[name.replace(" ", "_")] = part
    return pa.table(columns)


def _cluster_numbers(labels: Ints, addresses: pa.Array) -> pa.Array:
    """Return each account's cluster number, a digest of the cluster's members, so that links remain valid."""
    # Numbers have 48 bits, because JSON readers may lose the precision of larger integers.
    numbers = np.zeros(len(labels), np.int64)
    for label in np.unique(labels[labels >= 0]).tolist():
        places = np.flatnonzero(labels == label)
        members = sorted(addresses.take(pa.array(places)).to_pylist())
        numbers[places] = int.from_bytes(hashlib.sha256("|".join(members).encode()).digest()[:6])
    return pa.array(numbers, mask=labels < 0)


def _subjects(engine: Engine, kind: Kind) -> pa.Table:
    """Return the scores of all subjects of a kind; for clients, only those that are rated."""
    ledger, scores = engine.context_.ledger, engine.scores_
    chosen = ledger.subject_kind == kind
    chosen &= scores.raters > 0 if kind == Kind.CLIENT_RATING else ledger.subject_agent < ledger.current
    places = np.flatnonzero(chosen)
    of_agent = ledger.subject_agent[places]
    identity = (
        {"address": ledger.addresses.take(pa.array(ledger.subject_account[places]))}
        if kind == Kind.CLIENT_RATING
        else {"agent_id": ledger.agent_ids[of_agent] if len(of_agent) else of_agent}
    )
    return pa.table({**identity, **_columns(scores, places)})


def _validators(engine: Engine) -> pa.Table:
    """Return the ratings of validators, and how far their responses are from the scores."""
    ledger, opinions = engine.context_.ledger, engine.context_.ledger.opinions
    table = _subjects(engine, Kind.VALIDATOR_RATING)
    rows = np.flatnonzero(opinions.kind == Kind.VALIDATION)
    agent = ledger.subject_agent[opinions.subject[rows]] if len(rows) else np.zeros(0, np.int64)
    server = engine.scores_
    usable = ~server.abstain[agent]
    distance = np.abs(opinions.percent[rows] - server.score[agent])
    owner = opinions.rater[rows]
    count = np.bincount(owner[usable], minlength=ledger.accounts)
    total = np.bincount(owner[usable], weights=distance[usable], minlength=ledger.accounts)
    mean = np.divide(total, count, out=np.full(ledger.accounts, np.nan), where=count > 0)
    owners = ledger.owner[: ledger.current]
    table = table.append_column("responses", pa.array(count[owners]))
    table = table.append_column("distance", pa.array(mean[owners], from_pandas=True))
    return table.filter(pa.array(ledger.is_validator[: ledger.current]))


def _buyers(engine: Engine) -> pa.Table:
    """Return each paying account's score from the servers that it paid, and a summary of its payments."""
    ledger = engine.context_.ledger
    inside = ledger.payer >= 0
    payer, payee = ledger.payer[inside].astype(np.int64), ledger.payee[inside].astype(np.int64)
    returned = engine.returned()
    count = np.bincount(payer, minlength=ledger.accounts)
    distinct = distinct_keys(payer * max(ledger.accounts, 1) + payee) // max(ledger.accounts, 1)
    volume = np.bincount(payer, weights=ledger.amount[inside], minlength=ledger.accounts)
    back = np.bincount(payer, weights=(ledger.amount * returned)[inside], minlength=ledger.accounts)
    places = np.flatnonzero(count)
    return pa.table(
        {
            "address": ledger.addresses.take(pa.array(places)),
            "payments": count[places],
            "payees": np.bincount(distinct, minlength=ledger.accounts)[places],
            "volume": volume[places],
            "returned": back[places] / np.maximum(volume[places], 1e-12),
            "flagged": engine.suspicion_.flagged[places],
            **_columns(buyer_scores(engine.context_, engine.suspicion_, returned), places + ledger.agents),
        }
    )


def _columns(scores: Scores, places: Ints) -> dict[str, Any]:
    return {
        **{
            name: getattr(scores, name)[places]
            for name in ("score", "low", "high", "lower", "raters", "effective", "removed", "abstain")
        },
        "status": pa.array(scores.status[places], pa.string()),
    }


def _findings(engine: Engine, names: list[str]) -> pa.Table:
    addresses = engine.context_.ledger.addresses

    def members(accounts: Ints) -> list[str]:
        return list(addresses.take(pa.array(accounts.astype(np.int64))).to_pylist())

    kinds = {"detector": pa.string(), "q_value": pa.float64(), "strength": pa.float64(), "statistic": pa.string()}
    findings, parts = engine.findings_, ("actors", "beneficiaries", "subjects")
    return pa.table(
        {
            "finding": pa.array(names, pa.string()),
            **{name: pa.array([getattr(finding, name) for finding in findings], kind) for name, kind in kinds.items()},
            "sentence": pa.array([_sentence(engine, finding) for finding in findings], pa.string()),
            **{
                part: pa.array([members(getattr(finding, part)) for finding in findings], pa.list_(pa.string()))
                for part in parts
            },
        }
    )


def _sentence(engine: Engine, finding: Finding) -> str:
    return f"{finding.sentence} {describe_money(engine.context_.ledger, finding)}".rstrip()


def _rows_of(engine: Engine, finding: Finding) -> dict[str, Ints]:
    opinions, moved = engine.context_.ledger.opinions, engine.context_.ledger.moved
    kinds, rows = opinions.kind[finding.opinions], opinions.row[finding.opinions]
    out = {name: rows[np.isin(kinds, np.flatnonzero(np.array(SOURCES) == name))] for name in dict.fromkeys(SOURCES)}
    return out | {"payments": finding.payments, "transfers": moved[finding.transfers]}


def _rows(engine: Engine, names: list[str]) -> pa.Table:
    """Return the rows on which findings are based; payments and transfers are identified by their position."""
    finding: list[str] = []
    table: list[str] = []
    row: list[int] = []
    for name, reported in zip(names, engine.findings_, strict=True):
        for source, numbers in _rows_of(engine, reported).items():
            table += [source] * len(numbers)
            row += numbers.tolist()
        finding += [name] * (len(table) - len(finding))
    return pa.table(
        {
            "finding": pa.array(finding, pa.string()),
            "table": pa.array(table, pa.string()),
            "row": pa.array(row, pa.int64()),
        }
    )


def _evidence(engine: Engine, names: list[str]) -> pa.Table:
    """Return, for each flagged account, the false feedback on which its findings are based."""
    ledger, opinions, suspicion = engine.context_.ledger, engine.context_.ledger.opinions, engine.suspicion_
    finding_of: dict[tuple[int, int], str] = {}
    for name, finding in zip(names, engine.findings_, strict=True):
        rows = _claimed(engine, finding)
        rater, account = opinions.rater[rows], ledger.subject_account[opinions.subject[rows]]
        gains = np.isin(account, finding.beneficiaries) & suspicion.flagged[account]
        for place, row in enumerate(rows.tolist()):
            if suspicion.flagged[rater[place]]:
                finding_of.setdefault((int(rater[place]), row), name)
            if gains[place]:
                finding_of.setdefault((int(account[place]), row), name)
    accounts, places = [key[0] for key in finding_of], [key[1] for key in finding_of]
    return pa.table(
        {
            "address": ledger.addresses.take(pa.array(accounts, pa.int64())),
            "feedback_id": pa.array(opinions.row[np.array(places, np.int64)], pa.int64()),
            "finding": pa.array(list(finding_of.values()), pa.string()),
        }
    )


def _claimed(engine: Engine, finding: Finding) -> Ints:
    """Return the feedback in a finding that the engine considers false."""
    if finding.weight == 0:
        return np.zeros(0, np.int64)
    opinions = engine.context_.ledger.opinions
    rows = finding.opinions
    feedback = (opinions.kind[rows] == Kind.FEEDBACK) | (opinions.kind[rows] == Kind.CONSTANT_TAG)
    claimed: Ints = rows[feedback & (engine.suspicion_.row[rows] >= _CLAIMED)]
    return claimed


def _trust(engine: Engine) -> pa.Table:
    addresses = engine.context_.ledger.addresses
    if engine.trust_ is None:
        return pa.table({"address": pa.array([], pa.string()), "trust": pa.array([], pa.float64())})
    reached = np.flatnonzero(engine.trust_.reached_)
    return pa.table({"address": addresses.take(pa.array(reached)), "trust": engine.trust_.trust_[reached]})


def _cases(engine: Engine) -> pa.Table:
    cases = list(engine.reviews_.cases.values()) if engine.reviews_ is not None else []
    absent, texts = frozenset(engine.absent_cases()), ("account", "verdict", "reason")
    return pa.table(
        {
            **{name: pa.array([getattr(case, name) for case in cases], pa.string()) for name in texts},
            "occurs": pa.array([case.account not in absent for case in cases], pa.bool_()),
        }
    )


NO_SIGNS: Final = pa.schema([("address", pa.string()), ("sign", pa.string()), ("weight", pa.float64())]).empty_table()
"""An empty table of signs."""


def _signs(engine: Engine) -> pa.Table:
    """Return the features that most affected the highest ranks."""
    reasons, addresses = engine.suspicion_.reasons, engine.context_.ledger.addresses
    if reasons is None:
        return NO_SIGNS
    moved = reasons.moved()
    return pa.table(
        {
            "address": addresses.take(pa.array([row[0] for row in moved], pa.int64())),
            "sign": pa.array([row[1] for row in moved], pa.string()),
            "weight": pa.array([row[2] for row in moved], pa.float64()),
        }
    )
