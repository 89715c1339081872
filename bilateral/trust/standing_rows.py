"""Rows of standings: the figures of all subjects, their payments, times, costs and reasons, as one table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa

from bilateral.core.values.standing import LEAST
from bilateral.trust.amounts import sums_by_coin
from bilateral.trust.arrays import Flags, Floats, Ints
from bilateral.trust.copies import moved
from bilateral.trust.evidence import Stayed, costs_of_clients, costs_of_servers
from bilateral.trust.standing import SCHEMA, Reason, Side

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bilateral.trust.engine import Engine
    from bilateral.trust.findings import Finding
    from bilateral.trust.ledger import Ledger

_MOST_REASONS: Final = 5
"""The reasons of a standing, those that count most: more are not read, and the findings have all."""

_STRETCH: Final = 2**17
"""The agents whose rows are made at a time: 100 MB of reasons."""


@dataclass(frozen=True)
class Figures:
    """The figures of all subjects, as parallel arrays.

    Attributes:
        score: The rating.
        lower, upper: The values that it has at least and at most.
        effective: The ordinary raters that the evidence is worth. Those who paid may be worth more than one each.
        raters: The distinct raters.
        removed: The share of raters whose opinions are false.
        status: The status, as text.
    """

    score: Floats
    lower: Floats
    upper: Floats
    effective: Floats
    raters: Ints
    removed: Floats
    status: Any


@dataclass(frozen=True)
class Evidence:
    """The payments, times and costs behind standings.

    Attributes:
        rows: The positions of the opinions that count.
        stayed: The payments that stayed with their sellers.
        servers: The cost of each agent's ratings.
        clients: The cost of each account's ratings as a client.
    """

    rows: Ints
    stayed: Stayed
    servers: Floats
    clients: Floats

    @classmethod
    def of(cls, ledger: Ledger, rows: Ints, hand: Ints, stayed: Stayed, born: Floats) -> Self:
        """Work the costs out. The arguments are those of `costs_of_servers`."""
        servers = costs_of_servers(ledger, rows, hand, stayed, born)
        return cls(rows, stayed, servers, costs_of_clients(ledger, rows, stayed))


def standing_rows(ledger: Ledger, figures: Figures, evidence: Evidence, named: Mapping[int, list[Reason]]) -> pa.Table:
    """Return the standings of both sides.

    Args:
        ledger: The coded tables.
        figures: The figures of all subjects.
        evidence: The payments, times and costs behind them.
        named: The findings that hold subjects back, as reasons.
    """
    agents, wallet, stayed = np.arange(ledger.agents), ledger.wallet.astype(np.int64), evidence.stayed
    clients = ledger.agents + wallet  # the subjects of clients follow those of agents, an account each
    rated = np.flatnonzero(figures.raters[clients] > 0)
    sides = (
        (Side.SERVER, agents, agents, agents, _Paid.by(stayed.agent, stayed, ledger.agents), evidence.servers),
        (
            *(Side.CLIENT, rated, clients[rated], wallet[rated]),
            *(_Paid.by(stayed.payer, stayed, ledger.accounts), evidence.clients),
        ),
    )
    first, last = _times(ledger, evidence.rows)
    parts = []
    for side, every_agent, every_subject, every_party, paid, cost in sides:
        for start in range(0, max(len(every_agent), 1), _STRETCH):
            stretch = slice(start, start + _STRETCH)
            agent, subject, party = every_agent[stretch], every_subject[stretch], every_party[stretch]
            begin, end = np.minimum(first[subject], paid.first[party]), np.maximum(last[subject], paid.last[party])
            is_rated = figures.raters[subject] > 0
            reasons = _reasons(figures, subject, paid.count[party], paid.amount[party], named)
            columns = {
                "side": pa.array([str(side)] * len(agent), pa.string()),
                "agent_id": ledger.agent_ids[agent],
                "status": pa.array(figures.status[subject], pa.string()),
                "rating": pa.array(figures.score[subject], mask=~is_rated),
                "lower": np.where(is_rated, figures.lower[subject], 0.0),
                "upper": np.where(is_rated, figures.upper[subject], 100.0),
                "effective_raters": np.minimum(figures.effective[subject], figures.raters[subject]),
                "raters": figures.raters[subject],
                "payments": paid.count[party],
                "paid": paid.amount[party],
                "first_at": _seconds(begin),
                "last_at": _seconds(end),
                "evidence_cost": cost[party],
                "reasons": pa.array([json.dumps(list(map(_plain, listed))) for listed in reasons], pa.string()),
            }
            table = pa.table(columns).cast(SCHEMA)
            parts.append(pa.table([moved(column.combine_chunks()) for column in table.columns], SCHEMA))
    return pa.concat_tables(parts)


@dataclass(frozen=True)
class _Paid:
    """The payments of each party: their number, their sum, and the times of the first and the last one."""

    count: Ints
    amount: Floats
    first: Floats
    last: Floats

    @classmethod
    def by(cls, party: Ints, stayed: Stayed, size: int) -> Self:
        """Add payments up by a party."""
        first, last = np.full(size, np.inf), np.full(size, -np.inf)
        np.minimum.at(first, party, stayed.paid_at)
        np.maximum.at(last, party, stayed.paid_at)
        amount = np.bincount(party, weights=stayed.amount, minlength=size).astype(np.float64)
        return cls(np.bincount(party, minlength=size), amount, first, last)


def _times(ledger: Ledger, rows: Ints) -> tuple[Floats, Floats]:
    """Return the times of the first and the last opinion about each subject, of those that count."""
    first, last = np.full(ledger.subjects, np.inf), np.full(ledger.subjects, -np.inf)
    subject, times = ledger.opinions.subject[rows], ledger.opinions.ts[rows]
    np.minimum.at(first, subject, times)
    np.maximum.at(last, subject, times)
    return first, last


def _seconds(times: Floats) -> pa.Array:
    """Return times as whole seconds; null where there is none."""
    known = np.isfinite(times)
    return pa.array(np.where(known, times, 0).astype(np.int64), mask=~known)


def _reasons(
    figures: Figures, place: Ints, count: Ints, paid: Floats, named: Mapping[int, list[Reason]]
) -> Iterator[list[Reason]]:
    """Yield the reasons of some subjects, those that count most first."""
    for subject, payments, amount in zip(place.tolist(), count.tolist(), paid.tolist(), strict=True):
        of_subject = list(named.get(subject, ()))
        raters, effective = int(figures.raters[subject]), float(figures.effective[subject])
        if figures.removed[subject] > 0:
            of_subject.append(Reason("false_raters", None, {"share": round(float(figures.removed[subject]), 3)}))
        if effective < LEAST:
            of_subject.append(
                Reason("few_raters", None, {"raters": raters, "effective": round(min(effective, raters), 3)})
            )
        of_subject.append(Reason("paid" if payments else "no_payments", round(amount, 6), {"payments": payments}))
        yield of_subject[:_MOST_REASONS]


def named_findings(engine: Engine, held: Flags) -> dict[int, list[Reason]]:
    """Return the findings that count most against each subject that is held back, with the money in them.

    Args:
        engine: A fitted engine.
        held: Marks the subjects that are held back.
    """
    ledger = engine.context_.ledger
    subjects = np.flatnonzero(held)
    by_account: dict[int, list[int]] = {}
    for subject in subjects.tolist():
        by_account.setdefault(int(ledger.subject_account[subject]), []).append(subject)
    out: dict[int, list[Reason]] = {subject: [] for subject in subjects.tolist()}
    accounts = np.array(list(by_account), np.int64)
    for finding in engine.findings_:
        members = np.concatenate([finding.actors, finding.beneficiaries])
        concerned = ledger.opinions.subject[finding.opinions]
        by_itself = [by_account[account] for account in np.unique(members[np.isin(members, accounts)]).tolist()]
        about = np.unique(concerned[held[concerned]]).tolist()
        named = {*about, *(subject for subjects in by_itself for subject in subjects)}
        if wanting := [subject for subject in named if len(out[subject]) < _MOST_REASONS - 2]:
            reason = _of_finding(ledger, finding)
            for subject in wanting:
                out[subject].append(reason)
    return out


def _of_finding(ledger: Ledger, finding: Finding) -> Reason:
    """Return a finding as a reason: what was paid, what came back, by whom, and when."""
    paid = float(ledger.amount[finding.payments].sum()) if len(finding.payments) else 0.0
    moved = sums_by_coin(ledger, finding.transfers)
    times = ledger.opinions.ts[finding.opinions]
    figures: dict[str, Any] = {
        "q_value": float(f"{finding.q_value:.3g}"),
        "accounts": len(np.unique(finding.actors)),
        "payments": len(finding.payments),
        "paid": round(paid, 6),
        "transfers": len(finding.transfers),
        "moved": round(moved.pop(None, 0.0), 6),
    }
    if moved:
        figures["coins"] = {coin: round(amount, 6) for coin, amount in moved.items()}
    if len(times):
        figures |= {"first_at": int(times.min()), "last_at": int(times.max())}
    return Reason(finding.detector.replace(" ", "_"), round(paid, 6) if len(finding.payments) else None, figures)


def _plain(reason: Reason) -> dict[str, Any]:
    """Return a reason as JSON has it."""
    return {"code": reason.code, "amount": reason.amount, "figures": dict(reason.figures)}
