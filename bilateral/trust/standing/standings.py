"""Standings: the only figures on which agent rankings, access gates and payment decisions are based.

An agent has one standing as a server and one as a client, starting with the first analysis that includes it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bilateral.core.values.decision import TRIAL
from bilateral.core.values.standing import LEAST, OWNER_CHANGED, SHARED_TRIAL, Side, StandingReason, Status
from bilateral.trust.features.context import Context
from bilateral.trust.features.findings import Finding, sums_by_coin
from bilateral.trust.features.ties import roots
from bilateral.trust.scores.scores import Scores
from bilateral.trust.scores.scores import Status as ScoreStatus
from bilateral.trust.scores.suspicion import Suspicion
from bilateral.trust.standing.evidence import Stayed, costs_of_servers
from bilateral.trust.tables.arrays import Flags, Floats, Ints, first_of, spans
from bilateral.trust.tables.ledger import Ledger

_TURN: Final = 7 * 86_400.0
"""The duration of a new agent's trial. In `make market`, most new agents that sell at all are rated within a week; the
next agent is then tried immediately. With fourteen days, 0.8 % of good sellers would have to wait in a market without
attackers, because teams fund several agents."""

_OF_OWNER: Final = 4
"""The number of one owner's agents tried at once. Honest sellers have several agents: in `make
market`, one in ten has two to five."""


def waiting(context: Context, cost: Floats) -> dict[int, StandingReason]:
    """For each new agent that has to wait for its trial, return the reason."""
    ledger, root = context.ledger, _sources(context)
    now = max(ledger.opinions.ts.max(initial=0.0), ledger.paid_at.max(initial=0.0))
    # An earlier tenure that was tried counts as an agent, so transferring an agent gives no more trials than
    # registering new ones. Agents that an owner registered come before all agents that it received.
    was_tried = np.arange(ledger.agents) < ledger.current
    was_tried[ledger.paid_agent[ledger.paid_agent >= 0]] = True
    was_tried[ledger.opinions.subject[ledger.opinions.subject < ledger.agents]] = True
    new = np.flatnonzero((cost < TRIAL) & was_tried)
    new = new[np.lexsort((ledger.registered[new], ledger.is_received[new], root[ledger.owner[new]]))]
    owner = ledger.owner[new].astype(np.int64)
    spent = context.spending.usual * context.spending.evidence_of_client
    spenders = np.bincount(root[spent >= TRIAL], minlength=ledger.accounts)
    ahead = _ahead(root[owner], owner) // (1 + spenders[root[owner]])
    until = ledger.registered[new] + ahead * _TURN
    return {
        agent: StandingReason(SHARED_TRIAL, None, {"ahead": before, "until": int(end)})
        for agent, before, end in zip(new.tolist(), ahead.tolist(), until.tolist(), strict=True)
        if end > now and before and agent < ledger.current
    }


def _sources(context: Context) -> Ints:
    # The first sender is the source, unless the account received more from others before it registered an agent,
    # because anyone can be the first to send dust to a fresh account.
    ledger, ties = context.ledger, context.ties
    registers = np.full(ledger.accounts, np.inf)
    np.minimum.at(registers, *ledger.registrations)
    counts = (ledger.src >= 0) & (ledger.dst >= 0) & (ledger.src != ledger.dst)
    counts &= ledger.sent_at <= registers[np.maximum(ledger.dst, 0)]
    counts &= ledger.coin == ledger.coin[ledger.funding[np.maximum(ledger.dst, 0)]]  # only coins that are comparable
    source, target = ledger.src[counts], ledger.dst[counts]
    signed = np.where(ties.root[source] == ties.root[target], 1.0, -1.0) * ledger.sent[counts]
    is_main = np.bincount(target, weights=signed, minlength=ledger.accounts) >= 0
    return roots(np.where(is_main, ledger.funder, -1), ties.is_hub)


def _ahead(source: Ints, owner: Ints) -> Ints:
    """Return the number of trials that take place before each agent's own trial."""
    _, first, place = np.unique(owner, return_index=True, return_inverse=True)
    leads = np.zeros(len(owner), np.int64)
    leads[first] = 1
    count = np.cumsum(leads)
    starts = np.flatnonzero(first_of(source))
    of_source = np.repeat(count[starts], np.diff(np.append(starts, len(source))))
    order = np.argsort(place, kind="stable")
    own = np.empty(len(owner), np.int64)
    begins = np.flatnonzero(first_of(place[order]))
    own[order] = np.arange(len(owner)) - np.repeat(begins, np.diff(np.append(begins, len(owner))))
    return np.asarray(count[first][place] - of_source + own // _OF_OWNER)


SCHEMA: Final = pa.schema(
    [
        ("side", pa.string()),
        ("agent_id", pa.int64()),
        ("status", pa.string()),
        ("rating", pa.float64()),
        ("lower", pa.float64()),
        ("upper", pa.float64()),
        ("effective_raters", pa.float64()),
        ("raters", pa.int64()),
        ("payments", pa.int64()),
        ("paid", pa.float64()),
        ("first_at", pa.int64()),
        ("last_at", pa.int64()),
        ("evidence_cost", pa.float64()),
        ("reasons", pa.string()),
    ]
)
"""The columns for a table of standings: those of `Standing`, with the reasons as JSON."""

_MOST_REASONS: Final = 5
"""The maximum number of reasons in a standing, because nobody reads more. The findings contain all of them."""

_SEGMENT: Final = 2**17
"""The number of agents whose rows are created at a time; their reasons take up 100 MB."""


def standings(
    context: Context, findings: Sequence[Finding], suspicion: Suspicion, scores: Scores, returned: Flags
) -> pa.Table:
    """Return the standings of all agents after an analysis: as servers and, for those that are rated, as clients."""
    ledger, opinions, spending = context.ledger, context.ledger.opinions, context.spending
    withheld = suspicion.withheld
    status = np.select(
        [withheld, scores.status == str(ScoreStatus.CONTESTED), scores.abstain],
        [str(Status.HELD_BACK), str(Status.CONTESTED), str(Status.THIN)],
        "ok",
    ).astype(object)
    stayed = Stayed.of(ledger, spending.hand, returned)
    usable = np.isfinite(opinions.percent) & ~suspicion.flagged[opinions.rater]
    usable &= opinions.rater != ledger.subject_account[opinions.subject]
    # A burst of false praise makes honest opinions of the same hours suspicious, but their raters' money stays spent.
    costs = costs_of_servers(context, np.flatnonzero(usable)), spending.usual * spending.evidence_of_client
    rows = np.flatnonzero(usable & (suspicion.row < 0.5))  # noqa: PLR2004
    reasons = {agent: [reason] for agent, reason in waiting(context, costs[0]).items()}
    reasons |= _findings_against(ledger, findings, withheld)
    for agent, reason in _of_earlier_owners(ledger, scores, stayed).items():
        reasons.setdefault(agent, []).append(reason)
    return _table(ledger, scores, status, rows, stayed, costs, reasons)


def _table(  # noqa: PLR0913, PLR0917
    ledger: Ledger,
    scores: Scores,
    status: npt.NDArray[np.object_],
    rows: Ints,
    stayed: Stayed,
    costs: tuple[Floats, Floats],
    reasons_of: Mapping[int, list[StandingReason]],
) -> pa.Table:
    """Return all standings, as servers and as clients, built in batches."""
    agents, wallet = np.arange(ledger.current), ledger.wallet[: ledger.current].astype(np.int64)
    clients = ledger.agents + wallet  # client subjects come after agent subjects, one per account
    rated = np.flatnonzero(scores.raters[clients] > 0)
    sides = (
        (Side.SERVER, agents, agents, agents, _Paid.by(stayed.agent, stayed, ledger.agents), costs[0]),
        (
            *(Side.CLIENT, rated, clients[rated], wallet[rated]),
            *(_Paid.by(stayed.payer, stayed, ledger.accounts), costs[1]),
        ),
    )
    first, last = spans(ledger.opinions.ts[rows], ledger.opinions.subject[rows], ledger.subjects)
    parts = []
    for side, every_agent, every_subject, every_account, paid, cost in sides:
        for start in range(0, max(len(every_agent), 1), _SEGMENT):
            segment = slice(start, start + _SEGMENT)
            agent, subject, account = every_agent[segment], every_subject[segment], every_account[segment]
            begin, end = np.minimum(first[subject], paid.first[account]), np.maximum(last[subject], paid.last[account])
            is_rated = scores.raters[subject] > 0
            reasons = _reasons(scores, subject, paid.count[account], paid.amount[account], reasons_of)
            columns = {
                "side": pa.array([str(side)] * len(agent), pa.string()),
                "agent_id": ledger.agent_ids[agent],
                "status": pa.array(status[subject], pa.string()),
                "rating": pa.array(scores.score[subject], mask=~is_rated),
                "lower": scores.lower[subject],
                "upper": np.where(is_rated, scores.high[subject], 100.0),
                "effective_raters": np.minimum(scores.effective[subject], scores.raters[subject]),
                "raters": scores.raters[subject],
                "payments": paid.count[account],
                "paid": paid.amount[account],
                "first_at": _seconds(begin),
                "last_at": _seconds(end),
                "evidence_cost": cost[account],
                "reasons": pa.array([json.dumps(list(map(_plain, listed))) for listed in reasons], pa.string()),
            }
            parts.append(pa.table(columns).cast(SCHEMA))
    return pa.concat_tables(parts)


@dataclass(frozen=True)
class _Paid:
    """Each account's payments: their number, their sum, and the times of the first and last payments."""

    count: Ints
    amount: Floats
    first: Floats
    last: Floats

    @classmethod
    def by(cls, account: Ints, stayed: Stayed, size: int) -> Self:
        """Add up payments by account."""
        amount = np.bincount(account, weights=stayed.amount, minlength=size).astype(np.float64)
        return cls(np.bincount(account, minlength=size), amount, *spans(stayed.paid_at, account, size))


def _seconds(times: Floats) -> pa.Array:
    valid = np.isfinite(times)
    return pa.array(np.where(valid, times, 0).astype(np.int64), mask=~valid)


def _reasons(
    scores: Scores, place: Ints, count: Ints, paid: Floats, reasons_of: Mapping[int, list[StandingReason]]
) -> Iterator[list[StandingReason]]:
    """Yield the reasons for each subject's standing, most important first."""
    for subject, payments, amount in zip(place.tolist(), count.tolist(), paid.tolist(), strict=True):
        of_subject = list(reasons_of.get(subject, ()))
        raters, effective = int(scores.raters[subject]), float(scores.effective[subject])
        if scores.removed[subject] > 0:
            of_subject.append(StandingReason("false_raters", None, {"share": round(float(scores.removed[subject]), 3)}))
        if effective < LEAST:
            worth = {"raters": raters, "effective": round(min(effective, raters), 3)}
            of_subject.append(StandingReason("few_raters", None, worth))
        code = "paid" if payments else "no_payments"
        of_subject.append(StandingReason(code, round(amount, 6), {"payments": payments}))
        yield of_subject[:_MOST_REASONS]


def _of_earlier_owners(ledger: Ledger, scores: Scores, stayed: Stayed) -> dict[int, StandingReason]:
    """For each agent with evidence about an earlier owner, return the reason why this evidence does not count."""
    earlier = np.arange(ledger.current, ledger.agents)
    raters, payments = scores.raters[earlier], np.bincount(stayed.agent, minlength=ledger.agents)[earlier]
    paid = np.bincount(stayed.agent, weights=stayed.amount, minlength=ledger.agents)[earlier]
    agent = ledger.identity[earlier]
    sums = [np.bincount(agent, weights=values, minlength=ledger.current) for values in (raters, payments, paid)]
    return {
        place: StandingReason(
            OWNER_CHANGED,
            round(float(sums[2][place]), 6) if sums[1][place] else None,
            {"at": int(ledger.registered[place]), "raters": int(sums[0][place]), "payments": int(sums[1][place])},
        )
        for place in np.flatnonzero(sums[0] + sums[1]).tolist()
    }


def _findings_against(ledger: Ledger, findings: Sequence[Finding], withheld: Flags) -> dict[int, list[StandingReason]]:
    """Return the findings that count most against each subject that is held back, with the money in them."""
    subjects = np.flatnonzero(withheld)
    by_account: dict[int, list[int]] = {}
    for subject in subjects.tolist():
        by_account.setdefault(int(ledger.subject_account[subject]), []).append(subject)
    out: dict[int, list[StandingReason]] = {subject: [] for subject in subjects.tolist()}
    accounts = np.array(list(by_account), np.int64)
    for finding in findings:
        members = np.concatenate([finding.actors, finding.beneficiaries])
        subject_of = ledger.opinions.subject[finding.opinions]
        by_itself = [by_account[account] for account in np.unique(members[np.isin(members, accounts)]).tolist()]
        about = np.unique(subject_of[withheld[subject_of]]).tolist()
        concerned = {*about, *(subject for subjects in by_itself for subject in subjects)}
        if short := [subject for subject in concerned if len(out[subject]) < _MOST_REASONS - 2]:
            reason = _of_finding(ledger, finding)
            for subject in short:
                out[subject].append(reason)
    return out


def _of_finding(ledger: Ledger, finding: Finding) -> StandingReason:
    """Return a finding as a reason that states what was paid and returned, by whom, and when."""
    paid = round(float(ledger.amount[finding.payments].sum()), 6) if len(finding.payments) else None
    moved = sums_by_coin(ledger, finding.transfers)
    times = ledger.opinions.ts[finding.opinions]
    figures: dict[str, Any] = {
        "q_value": float(f"{finding.q_value:.3g}"),
        "accounts": len(np.unique(finding.actors)),
        "payments": len(finding.payments),
        "paid": paid or 0.0,
        "transfers": len(finding.transfers),
        "moved": round(moved.pop(None, 0.0), 6),
    }
    if moved:
        figures["coins"] = {coin: round(amount, 6) for coin, amount in moved.items()}
    if len(times):
        figures |= {"first_at": int(times.min()), "last_at": int(times.max())}
    return StandingReason(finding.detector.replace(" ", "_"), paid, figures)


def _plain(reason: StandingReason) -> dict[str, Any]:
    return {"code": reason.code, "amount": reason.amount, "figures": dict(reason.figures)}
