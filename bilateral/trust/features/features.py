"""Features: numbers that measure what is odd about an account, each of which says little by itself.

An opinion is odd if no business between its two accounts is visible, if it differs widely from other opinions, if its
author is young, or if hardly anyone judges its subject. Each sign is measured for every opinion, and aggregated by the
opinion's author and by the account it is about. `bilateral.trust.features.signs` also considers neighbouring accounts.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from scipy import special

from bilateral.trust.features.context import Context
from bilateral.trust.features.judgements import Judgements
from bilateral.trust.features.money import walked
from bilateral.trust.features.significance import excess
from bilateral.trust.tables.arrays import (
    Flags,
    Floats,
    Groups,
    Ints,
    distinct_keys,
    first_of,
    group_sums,
    pairs,
    percentiles,
    segments,
    spans,
    unpaired,
)
from bilateral.trust.tables.opinions import Kind

_SPREAD: Final = 15.0
"""The standard deviation of an ordinary value, in points, as in the bias model."""

_NEVER: Final = 400 * 86400.0
"""The pause assigned to a subject's only opinion: longer than any meaningful pause."""

_CLUSTERING: Final = 6.0
"""The factor by which honest accounts share more subjects than by chance, because they have similar tastes."""

_UNREACHED: Final = -20.0
"""The trust of an account that no trust reaches, as a logarithm: below any value that `walked` returns."""

_FEW: Final = 3
"""The maximum number of subjects that a thin rater has rated."""

_GIVERS: Final = 12
"""The number of senders above which a receiver is a shop or otherwise busy, so that its senders are unrelated."""

_NEAREST: Final = 3
"""The number of opinions before, and after, each opinion with which it is compared."""

_BOTH_ENDS: Final = frozenset(
    {"distance", "distance at its time", "grounded distance", "height", "age", "novelty", "pause", "popularity"}
)

_OF_RATERS: Final = frozenset(
    {"distance at its time", "grounded distance", "paid together", "proof", "untraced", "silence", "price"}
)
"""The signs that say almost nothing about the rated account: only one in a thousand nodes of the trained trees used
their means. Strangers could control the values of the last two by choosing whom to praise."""


def features(context: Context, judgements: Judgements) -> Iterator[tuple[str, Floats]]:
    """Yield each feature's values for all accounts; nan where a value is unknown."""
    by_rater, by_rated = judgements.by_rater, judgements.by_rated
    yield "opinions", np.log1p(by_rater.count)
    yield "received", np.log1p(by_rated.count)
    for name, sign in _signs(context, judgements):
        values = np.asarray(sign, np.float32)
        yield f"mean {name} as rater", by_rater.mean(values)
        yield f"top {name} as rater", by_rater.top(values)
        if name in _BOTH_ENDS:
            yield f"least {name} as rater", by_rater.least(values)
        if name not in _OF_RATERS:
            yield f"mean {name} as rated", by_rated.mean(values)
            yield f"mean {name} of praise", judgements.by_praised.mean(values[judgements.praised])
    yield from _missing_traces(judgements)
    yield from _gaps(context, judgements)
    yield from _surprises(judgements)
    yield from _tails(judgements, _distance_at_its_time(context.mean, judgements))
    yield from _validations(judgements)
    yield from _business(context, judgements)
    yield from _spans(context)
    yield from _shared(context)
    yield from _partners(context)


def _signs(context: Context, judgements: Judgements) -> Iterator[tuple[str, Floats | Flags]]:
    opinions, rows = context.ledger.opinions, judgements.rows
    yield "distance", judgements.distance
    yield "height", judgements.height
    yield "distance at its time", _distance_at_its_time(context.mean, judgements)
    yield "grounded distance", _supported_distance(context, judgements)
    yield "untraced", ~judgements.traced
    yield from _money(context, judgements)
    yield "freshness", -np.log(np.maximum(context.freshness[rows], 1e-6))
    yield "risk", -np.log(np.maximum(context.risk[rows], 1e-6))
    yield "age", _hours(opinions.ts[rows] - context.ties.born[judgements.rater])
    yield "novelty", _hours(opinions.ts[rows] - _began(context)[judgements.subject])
    yield "popularity", np.log(np.maximum(context.judged, 1))[judgements.subject]
    yield "pause", _pauses(judgements.subject, opinions.ts[rows])
    yield "silence", _silence(context, judgements)
    yield "price", _prices(context, judgements)
    yield "proof", opinions.payment[rows] >= 0


def _began(context: Context) -> Floats:
    """Return the time at which each subject (an agent or an account) first appeared."""
    ledger = context.ledger
    agent = ledger.subject_agent
    registered = ledger.registered[np.maximum(agent, 0)] if ledger.agents else np.zeros(len(agent))
    return np.where(agent >= 0, registered, context.ties.born[ledger.subject_account])


def _hours(seconds: Floats) -> Floats:
    hours = np.maximum(seconds, 0)
    hours /= 3600
    return np.log1p(hours, out=hours)


def _supported_distance(context: Context, judgements: Judgements) -> Floats:
    """Return how far opinions are above those of other raters who paid or judge several subjects."""
    supported, usual = context.supported[judgements.rows], context.mean[judgements.kind]
    percent = judgements.height + usual
    rest = context.supported_sum[judgements.subject]
    rest -= percent * supported
    rest += usual
    del usual
    count = context.supported_count[judgements.subject]
    count -= supported
    count += 1
    rest /= count
    return np.subtract(percent, rest, out=rest)


def _distance_at_its_time(mean: Floats, judgements: Judgements) -> Floats:
    """Return how far opinions are above those nearest in time, because a subject's quality may change."""
    distance = np.empty(len(judgements.rows), np.float32)
    for segment in segments(judgements.subject):
        subject, usual = judgements.subject[segment], mean[judgements.kind[segment]]
        percent, place = np.asarray(judgements.height[segment] + usual, np.float64), np.arange(len(subject))
        total = np.concatenate([[0.0], np.cumsum(percent)])
        first = np.flatnonzero(first_of(subject))
        sizes = np.diff(first, append=len(subject))
        low = np.maximum(np.repeat(first, sizes), place - _NEAREST)
        high = np.minimum(np.repeat(first + sizes, sizes), place + _NEAREST + 1)
        distance[segment] = percent - (total[high] - total[low] - percent + usual) / (high - low)
    return distance


def _money(context: Context, judgements: Judgements) -> Iterator[tuple[str, Floats]]:
    """Yield how money moved between rater and rated account, and the client's other spending and trust."""
    # Net flow distinguishes bribes from cashback, and wash payments from refunds.
    pair, answers = context.pair_of[judgements.rows], judgements.kind == Kind.CLIENT_RATING
    client = np.where(answers, judgements.rated, judgements.rater)
    gave, got = context.gave[pair], context.got[pair]
    yield "money back", got / np.maximum(gave + got, 1e-12)
    retained = context.money.retained_money()
    sender, _, left = retained
    spent = group_sums(left, sender, context.ledger.accounts)
    usual = np.median(left) if len(left) else 1.0
    yield "spent elsewhere", np.log1p(np.maximum(spent[client] - np.maximum(gave - got, 0), 0) / usual)
    yield "paid together", _paid_together(context, judgements)
    yield "trust by money", np.nan_to_num(walked(context.ledger, retained), nan=_UNREACHED)[client]


def _paid_together(context: Context, judgements: Judgements) -> Floats:
    """For each positive opinion, return how unlikely it is that one sender paid so many who praise the subject."""
    # A broker pays for praise from a wallet that is not the subject's. Exchanges, the subject itself and accounts'
    # first funds do not count.
    money, size = context.money, context.ledger.accounts
    taker, giver = unpaired(money.keys[money.gifts > 0], size)
    start, stop = (np.searchsorted(taker, np.arange(size), side=side) for side in ("left", "right"))
    many = stop - start
    many[many > _GIVERS] = 0  # the receiver is a shop or a busy account
    clients = np.bincount(giver[many[taker] > 0], minlength=size) / max(int((many > 0).sum()), 1)
    out = np.zeros(len(judgements.rows), np.float32)
    for segment in segments(judgements.subject):
        rows = np.flatnonzero(judgements.praise[segment] & (many[judgements.rater[segment]] > 0)) + segment.start
        givers = many[judgements.rater[rows]]
        row = np.repeat(rows, givers)
        within = np.arange(len(row)) - np.repeat(np.cumsum(givers) - givers, givers)
        source = giver[start[judgements.rater[row]] + within]
        strange = source != judgements.rated[row]
        row, source = row[strange], source[strange]
        keys, place, count = np.unique(
            pairs(judgements.subject[row], source, size), return_inverse=True, return_counts=True
        )
        subject, payer = unpaired(keys, size)
        praises = np.bincount(judgements.subject[rows] - judgements.subject[segment.start])
        several = np.flatnonzero(count > 1)
        usual = _CLUSTERING * clients[payer[several]] * praises[subject[several] - judgements.subject[segment.start]]
        digits = np.zeros(len(keys), np.float32)
        digits[several] = -np.log10(excess(count[several], usual))
        np.maximum.at(out, row, digits[place])
    return out


def _pauses(subject: Ints, ts: Floats) -> Floats:
    """Return the shorter pause to the previous and next opinion about the same subject, in hours on a log scale."""
    pause = np.full(len(ts), _NEVER)
    if len(ts) > 1:
        gap = np.where(np.diff(subject) == 0, np.diff(ts), _NEVER)
        pause[1:] = gap
        pause[:-1] = np.minimum(pause[:-1], gap)
    return _hours(pause)


def _silence(context: Context, judgements: Judgements) -> Floats:
    """Return the time since the rater's previous opinion, or its first appearance, in hours on a log scale."""
    # A sold account, or a rater asked for opinions, departs from the account's earlier habits.
    ts, rater = context.ledger.opinions.ts[judgements.rows], judgements.rater
    ordered = np.take(ts, judgements.in_turn)
    since = ordered - context.ties.born[np.take(rater, judgements.in_turn)]
    again = np.flatnonzero(~first_of(np.take(rater, judgements.in_turn)))
    since[again] = ordered[again] - ordered[again - 1]
    out = np.empty(len(ts))
    out[judgements.in_turn] = since
    return _hours(out)


def _prices(context: Context, judgements: Judgements) -> Floats:
    """Return what the client paid the server, in usual purchases on a log scale."""
    gave = context.gave[context.pair_of[judgements.rows]]
    return np.asarray(np.log1p(gave / max(context.spending.usual, 1e-12)), np.float32)


def _tails(judgements: Judgements, distance: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield how unlikely it is that so many opinions by an account are so far below, or above, other opinions."""
    # Fisher's sum over the ranks of its opinions in this market: one failed job is usual, and three are not.
    rater = np.take(judgements.rater, judgements.in_turn)
    again = np.flatnonzero(~first_of(rater))
    for name, values in (("below", distance), ("above", -distance)):
        rarity = -np.log(percentiles(values))
        total = judgements.by_rater.sums(rarity)
        tail = special.gammaincc(np.maximum(judgements.by_rater.count, 1), total)
        yield f"opinions {name} others", -np.log10(np.maximum(tail, 1e-30))
        rarity = np.take(rarity, judgements.in_turn)
        rarity[again] += rarity[again - 1]
        yield f"two opinions {name} others in turn", Groups.by(rater, len(total)).top(rarity)


def _validations(judgements: Judgements) -> Iterator[tuple[str, Floats]]:
    """Yield how far validations are above the opinions of clients and other validators about the agent."""
    chosen, size = judgements.validated, len(judgements.by_rater.count)
    for name, side in (("validator", judgements.rater), ("validated", judgements.rated)):
        yield f"mean distance as {name}", Groups.by(side[chosen], size).mean(judgements.distance[chosen])


def _missing_traces(judgements: Judgements) -> Iterator[tuple[str, Floats]]:
    """Yield how unlikely it is that so few opinions by and about an account follow visible business."""
    usable = (judgements.kind == Kind.FEEDBACK) | (judgements.kind == Kind.CLIENT_RATING)
    odd = usable & ~judgements.traced
    base = float(np.clip(odd.sum() / max(usable.sum(), 1), 0.02, 0.98)) if len(odd) else 0.5
    ratio = odd * np.log(1 / base) + (usable & ~odd) * np.log(0.25 / (1 - base))
    for name, groups in (("as rater", judgements.by_rater), ("as rated", judgements.by_rated)):
        yield f"untraced {name}", groups.sums(ratio)
        yield f"number untraced {name}", np.log1p(groups.sums(odd))


def _gaps(context: Context, judgements: Judgements) -> Iterator[tuple[str, Floats]]:
    """Yield how much opinions about an account differ: between odd and other raters, and overall."""
    percent, rated = judgements.height + context.mean[judgements.kind], judgements.by_rated
    for name, odd in (
        ("untraced", ~judgements.traced),
        ("thin", context.activity[judgements.rater] <= _FEW),
    ):
        marked = rated.sums(odd)
        rest = rated.count - marked
        total = rated.sums(percent * odd), rated.sums(percent * ~odd)
        with np.errstate(invalid="ignore"):  # one of the two groups may be empty
            gap = total[0] / marked - total[1] / rest
        score = gap / (_SPREAD * np.sqrt(1 / np.maximum(marked, 1) + 1 / np.maximum(rest, 1)))
        yield f"gap of {name}", score
        row = np.nan_to_num(score[judgements.rated] * (2.0 * odd - 1), nan=-9)
        yield f"gap of {name} as rater", judgements.by_rater.top(row)
    spread = _spread(percent, judgements.by_rated)
    yield "spread as rated", spread
    spread_of_rated = np.nan_to_num(spread[judgements.rated]) * judgements.praise
    yield "spread as rated, seen by raters", judgements.by_rater.top(spread_of_rated)
    yield "spread as rater", _spread(percent, judgements.by_rater)


def _surprises(judgements: Judgements) -> Iterator[tuple[str, Floats]]:
    """Yield how far an account's most negative opinion falls below its usual distance from other opinions."""
    surprise = judgements.distance - judgements.by_rater.except_own(judgements.distance, 0.0)
    yield "least surprise as rater", judgements.by_rater.least(surprise)


def _spread(percent: Floats, groups: Groups) -> Floats:
    middle = groups.mean(percent)
    variance = np.maximum(groups.mean(percent**2) - middle**2, 0)
    return np.where(groups.count > 1, np.sqrt(variance), np.nan)


def _business(context: Context, judgements: Judgements) -> Iterator[tuple[str, Floats]]:
    ledger = context.ledger
    size, feedback = ledger.accounts, judgements.kind == Kind.FEEDBACK
    pays, earns = judgements.by_payer.count, judgements.by_seller.count
    writes, gets = (np.bincount(side[feedback], minlength=size) for side in (judgements.rater, judgements.rated))
    rates, rated = (np.bincount(side[~feedback], minlength=size) for side in (judgements.rater, judgements.rated))
    for name, left, right in (
        ("payments to feedback as client", pays, writes),
        ("payments to feedback as server", earns, gets),
        ("ratings to feedback as client", rated, writes),
        ("ratings to feedback as server", rates, gets),
        ("ratings to payments as server", rates, earns),
        ("ratings to payments as client", rated, pays),
    ):
        yield name, np.where(left + right > 0, np.log((left + 0.5) / (right + 0.5)), np.nan)
    amount = np.log(np.maximum(context.purchases.amount, 1e-9))
    yield "amount as client", judgements.by_payer.mean(amount)
    yield "amount as server", judgements.by_seller.mean(amount)
    later = (ledger.src >= 0) & (ledger.dst >= 0) & (ledger.src != ledger.dst)
    later &= ledger.funder[np.maximum(ledger.dst, 0)] != ledger.src
    yield "transfers in", np.log1p(np.bincount(ledger.dst[later], minlength=size))
    yield "funds", np.log1p(np.bincount(ledger.funder[ledger.funder >= 0], minlength=size))
    funded = np.nan_to_num(ledger.funded_with)
    yield "funded with", np.where(funded > 0, np.log(np.maximum(funded, 1e-9)), np.nan)
    yield "funded by hub", np.where(ledger.funder >= 0, context.ties.is_hub[np.maximum(ledger.funder, 0)], np.nan)


def _spans(context: Context) -> Iterator[tuple[str, Floats]]:
    """Yield how long after its first appearance an account first acts, and how long it stays active."""
    # An account's age is left out, because it shows when the market grew rather than who attacks it.
    ledger, opinions = context.ledger, context.ledger.opinions
    size, born = ledger.accounts, context.ties.born
    paid = ledger.payer >= 0
    acts = np.concatenate([opinions.ts, ledger.paid_at[paid]])
    first, last = spans(acts, np.concatenate([opinions.rater, ledger.payer[paid]]), size)
    has_acted = np.isfinite(first)
    first, last = np.where(has_acted, first, np.nan), np.where(has_acted, last, np.nan)
    yield "first act", _hours(first - born)
    yield "span", _hours(last - first)


def _shared(context: Context) -> Iterator[tuple[str, Floats]]:
    """Yield how many other accounts share a wallet, a source of funds or a collector with an account."""
    ledger = context.ledger
    size = ledger.accounts
    is_paid = ledger.wallet >= 0
    key, owner = np.divmod(distinct_keys(pairs(ledger.wallet[is_paid], ledger.owner[is_paid], size)), max(size, 1))
    _, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
    out = np.zeros(size)
    np.maximum.at(out, owner, np.log(count[inverse]))
    yield "owners of one wallet", out
    for grouping in context.ties.groupings:
        inside = grouping.group >= 0
        count = np.bincount(grouping.group[inside], minlength=max(grouping.size, 1))
        yield f"size of {grouping.name}", np.where(inside, np.log(np.maximum(count[grouping.group], 1)), 0.0)


def _partners(context: Context) -> Iterator[tuple[str, Floats]]:
    """Yield how far the numbers of subjects that an account shares with other raters exceed chance."""
    size, shared = context.ledger.accounts, context.sharing
    digits = -np.log10(excess(shared.count, _CLUSTERING * shared.expected))
    top, number, most = np.zeros(size), np.zeros(size), np.zeros(size)
    for side in (shared.left, shared.right):
        np.maximum.at(top, side, digits)
        np.maximum.at(most, side, shared.count)
        number += np.bincount(side[digits > 2], minlength=size)  # noqa: PLR2004  # one in a hundred by chance
    yield "top shared", top
    yield "number shared", np.log1p(number)
    yield "most shared", np.log1p(most)
