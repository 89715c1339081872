"""`python -m bench.trust.candidates`: the share of opinions that an engine would have to give out for detectors.

    python -m bench.trust.candidates --size 1000000 --data DATA

A detector could run in two steps: an engine proposes candidates, and arrays decide on these alone. This pays only if
few opinions are candidates. Three ways are measured, and none loses a finding. *Joins*: every opinion that a join or a
group ties to another one, or to money. *Trials*: the engine computes the p-values as well, and proposes what lies below
the detector's level before the correction for many tests. *Findings*: the engine does the whole test, and arrays
describe what was found. A share above a tenth is marked.

The worlds are those of `bench.trust.worlds`, the market of `bench.trust.speed`, the same with a flood of as many
opinions, and, with `--data`, Bitcoin-OTC and Bitcoin-Alpha as `make evaluate` describes them. Those have ratings alone.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from bench.trust import speed
from bench.trust.worlds.kinds import KINDS
from bilateral.trust.arrays import Flags, Floats, Ints, contained, group_counts, pairs
from bilateral.trust.coding import coded
from bilateral.trust.context import Context, edges_of
from bilateral.trust.detectors import base as detectors_base
from bilateral.trust.detectors import blocks, cotargeting, links, lockstep, retaliation, values, wash
from bilateral.trust.gifts import gifts_of
from bilateral.trust.kinship import FUNDER
from bilateral.trust.opinions import Kind
from bilateral.trust.sharing import sharing
from bilateral.trust.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARKED: Final = 0.1
"""The share of candidates that is marked. It is an assumption: arrays then hold ten times as many opinions."""

_NO_LIMIT: Final = 10**9

_CORRECTING: Final = (blocks, cotargeting, links, retaliation, values, wash, detectors_base)
"""The modules that correct p-values."""

_FEWEST: Final = 3
"""The fewest raters of a subject that `lockstep` tests. Of an owner it tests one more."""

_RARE: Final = 60
"""The raters up to which a subject is rare, as in `blocks`."""

_SMALL: Final = 6
"""The opinions up to which an account may be part of a cycle, as in `blocks`."""

_SPAM: Final = 300
"""The accounts of the flood that judge many subjects each."""


def joins(context: Context) -> dict[str, Flags]:
    """Mark the opinions that joins and groups propose to each detector.

    Args:
        context: The ledger and what detectors share.
    """
    return {
        "co-targeting": _meeting(context),
        "links": _linked(context),
        "wash payments": _washed(context),
        "blocks": _circles(context),
        "lockstep": _crowds(context),
        "retaliation": (context.ledger.opinions.kind == Kind.CLIENT_RATING) & (context.ledger.opinions.percent <= 25),  # noqa: PLR2004  # as it punishes
    }


def trials(context: Context) -> dict[str, Flags]:
    """Mark the opinions of each detector's tests whose p-value is below its level before the correction for many tests.

    Args:
        context: The ledger and what detectors share.
    """
    with ExitStack() as stack:
        for module in _CORRECTING:
            stack.enter_context(patch.object(module, "adjusted", _uncorrected))
        return findings(context)


def findings(context: Context) -> dict[str, Flags]:
    """Mark the opinions of each detector's findings, however many these are.

    Args:
        context: The ledger and what detectors share.
    """
    chosen = [
        cotargeting.CoTargeting(limit=_NO_LIMIT),
        links.Links(limit=_NO_LIMIT),
        wash.WashPayments(limit=_NO_LIMIT),
        blocks.Blocks(limit=_NO_LIMIT),
        lockstep.Lockstep(limit=_NO_LIMIT),
        retaliation.Retaliation(),
        values.Values(limit=_NO_LIMIT),
    ]
    out = {}
    for detector in chosen:
        marked = out[detector.name] = np.zeros(len(context.ledger.opinions), bool)
        for finding in detector.fit(context).findings_:
            marked[finding.opinions] = True
    return out


def _uncorrected(p_values: Floats, *_: Any, **__: Any) -> Floats:
    """Stand for `adjusted`."""
    return p_values


def _meeting(context: Context) -> Flags:
    """Mark the opinions of two or more members of a group about one subject."""
    ledger, opinions = context.ledger, context.ledger.opinions
    edges, out = edges_of(ledger, context.pair), np.zeros(len(opinions), bool)
    for grouping in context.kin.groupings:
        group = grouping.group
        if grouping.name == FUNDER:  # customers of an exchange
            group = np.where(context.kin.is_hub[np.maximum(ledger.funder, 0)], -1, group)
        cells = context.steps.cells(ledger, edges, group, grouping.size)
        own = group[opinions.rater]
        keys = pairs(opinions.subject, np.maximum(own, 0), grouping.size)
        out |= (own >= 0) & contained(keys, pairs(cells.subject, cells.group, grouping.size))
    return out


def _linked(context: Context) -> Flags:
    """Mark the opinions whose rater and rated have one owner, wallet, source of funds or operator, or sent money."""
    ledger, kin = context.ledger, context.kin
    rater, subject = ledger.opinions.rater.astype(np.int64), ledger.opinions.subject
    rated, agent = ledger.subject_account[subject].astype(np.int64), ledger.subject_agent[subject]
    wallet = np.where(agent >= 0, ledger.wallet[np.maximum(agent, 0)], rated)
    sent = gifts_of(ledger)
    gifts = pairs(ledger.src[sent], ledger.dst[sent], ledger.accounts)
    hub = kin.is_hub[rater] | kin.is_hub[rated]
    out: Flags = (rater == rated) | (rater == wallet)
    out |= (kin.root[rater] == kin.root[rated]) & ~hub
    for account in (rated, wallet):
        out |= contained(pairs(account, rater, ledger.accounts), gifts)
    operated: Flags = contained(pairs(np.maximum(agent, 0), rater, ledger.accounts), ledger.operated)
    return out | (operated & (agent >= 0))


def _washed(context: Context) -> Flags:
    """Mark the opinions about an agent of accounts with a payment to it whose money returns."""
    ledger, opinions = context.ledger, context.ledger.opinions
    returned = wash.WashPayments().fit(context).returned_
    known = np.unique(pairs(ledger.paid_agent[returned], ledger.payer[returned], ledger.accounts))
    agent = ledger.subject_agent[opinions.subject]
    return (agent >= 0) & contained(pairs(np.maximum(agent, 0), opinions.rater, ledger.accounts), known)


def _circles(context: Context) -> Flags:
    """Mark the opinions of accounts that share several rare subjects, judge each other, or may be part of a cycle."""
    ledger, opinions = context.ledger, context.ledger.opinions
    rows = context.pair[opinions.kind[context.pair] != Kind.CONSTANT_TAG]
    rater, subject = opinions.rater[rows], opinions.subject[rows]
    shared = sharing(rater, subject, (ledger.accounts, ledger.subjects), _RARE)
    member = np.zeros(ledger.accounts, bool)
    member[shared.left] = member[shared.right] = True
    feedback = opinions.kind[rows] == Kind.FEEDBACK
    rater, rated = rater[feedback], ledger.subject_account[subject[feedback]]
    forth = np.unique(pairs(rater, rated, ledger.accounts))
    member[rater[(rater != rated) & contained(pairs(rated, rater, ledger.accounts), forth)]] = True
    small = group_counts(rater, ledger.accounts), group_counts(rated, ledger.accounts)
    inside = np.logical_and.reduce([(count > 0) & (count <= _SMALL) for count in small])
    member[rater[inside[rater] & inside[rated]]] = True
    return member[opinions.rater]


def _crowds(context: Context) -> Flags:
    """Mark the opinions about subjects with several raters, or of owners with several."""
    ledger, opinions = context.ledger, context.ledger.opinions
    owner = ledger.subject_account[opinions.subject]
    of_owner = group_counts(owner[context.pair], ledger.accounts)[owner]
    crowd: Flags = (context.judged[opinions.subject] >= _FEWEST) | (of_owner > _FEWEST)
    return crowd


def flooded(tables: Tables) -> Tables:
    """Return tables with as many opinions again, of empty accounts: half about one agent, half about many.

    Args:
        tables: The tables.
    """
    count, agents = tables.feedback.num_rows, tables.agents.num_rows
    half, place = count // 2, np.arange(count)
    name = np.where(place < half, place, place % _SPAM + count)
    agent = np.where(place < half, 1, place % agents + 1)
    flood = speed.feedback(place + count, pa.array(_names(name)), agent, np.full(count, 100.0), 1.785e9 + place)
    return tables.appended(Tables.of(feedback=flood))


def _names(numbers: Ints) -> list[str]:
    """Return the addresses of the flood: none of the market begins so."""
    return [f"0xff{number:038x}" for number in numbers.tolist()]


def ratings(file: Path) -> Tables:
    """Return a market of traders who rate each other, from ratings of -10 to 10.

    Args:
        file: The file of SNAP: source, target, rating and time.
    """
    table = np.loadtxt(file, delimiter=",")
    source, target = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    traders = np.unique(np.concatenate([source, target]))
    owners = pa.array(_names(traders))
    return Tables.of(
        agents=pa.table(
            {
                "agent_id": traders,
                "owner": owners,
                "wallet": owners,
                "uri": pa.nulls(len(traders), pa.string()),
                "ts": np.full(len(traders), table[:, 3].min()),
                "is_validator": np.zeros(len(traders), bool),
            }
        ),
        feedback=speed.feedback(
            np.arange(len(table)), pa.array(_names(source)), target, (table[:, 2] + 10) * 5, table[:, 3]
        ),
    )


def markets(size: int, data: Path | None) -> Iterator[tuple[str, Callable[[], Tables]]]:
    """Yield the name of each market, and a function that makes its tables.

    Args:
        size: The opinions of the market of `bench.trust.speed`.
        data: The folder of real data; None to leave them out.
    """
    for kind, value in KINDS.items():
        yield f"world: {kind}", lambda value=value: value.world(value.seeds[0]).tables()[0]  # type: ignore[misc]
    yield f"market of {size:,}", lambda: speed.tables(size)
    yield f"market of {size // 2:,}, flooded by as many", lambda: flooded(speed.tables(size // 2))
    for name in ("otc", "alpha") if data is not None else ():
        file = Path(data or "") / "bitcoin" / f"soc-sign-bitcoin{name}.csv"
        yield f"Bitcoin-{name.upper() if name == 'otc' else name.title()}", lambda file=file: ratings(file)  # type: ignore[misc]


def main() -> None:
    """Measure, and print the shares of candidates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1_000_000, help="The opinions of the generated market.")
    parser.add_argument("--data", type=Path, help="The folder of real data.")
    options = parser.parse_args()
    console = Console(width=150)
    shown: dict[str, Table] = {}
    for name, made in markets(options.size, options.data):
        context = Context.of(coded(made()))
        for way in (joins, trials, findings):
            marked = way(context)
            table = shown.setdefault(way.__name__, Table(way.__name__, "opinions", *marked, "any", title="percent"))
            shares = [float(flags.mean()) for flags in (*marked.values(), np.logical_or.reduce(list(marked.values())))]
            table.add_row(name, f"{len(context.ledger.opinions):,}", *map(_told, shares))
    for table in shown.values():
        console.print(table)


def _told(share: float) -> str:
    """Return a share in percent, marked if it is too large."""
    return f"{100 * share:.1f}{'!' if share > MARKED else ''}"


if __name__ == "__main__":
    main()
