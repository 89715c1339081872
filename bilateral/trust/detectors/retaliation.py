"""Retaliation: a server gives low ratings to clients who criticised it, although other servers rate them well.

Low ratings for bad clients are legitimate. Clients therefore count only if other servers rate them well, or if no other
server rates them and they paid somebody or judge several subjects. Otherwise, new accounts could slander a server and
then accuse it of retaliation. The share of critics that the server punishes is compared with the share of all clients
who get such low ratings. A rating that was sealed before the server could see the feedback cannot be a response to that
feedback, so it does not count as punishment. A finding states how many of the low ratings came within a day of the
client's feedback.
"""

from typing import Final

import numpy as np

from bilateral.trust.detectors.base import Detector
from bilateral.trust.features.context import THIN, Context
from bilateral.trust.features.findings import Basis, Finding
from bilateral.trust.features.significance import adjusted, share
from bilateral.trust.tables.arrays import Flags, Floats, Ints, distinct_keys, first_of, group_sums, pairs, unpaired
from bilateral.trust.tables.ledger import Ledger
from bilateral.trust.tables.opinions import Kind

_LOW: Final = 50.0
"""The percentage below which feedback is criticism: the middle of the scale."""

_PUNISHING: Final = 25.0
"""The percentage up to which a rating counts as punishment: the lowest quarter of the scale."""


ANSWER_SECONDS: Final = 86_400
"""The number of seconds within which a rating counts as a response: one day, as in the index's pages and lists."""

_TIME_BITS: Final = 32
"""The number of bits for a time in Unix seconds, sufficient until the year 2106."""


class Retaliation(Detector):
    """Tests how often a server punishes critics in good standing."""

    name = "retaliation"

    def __init__(self, level: float = 0.01) -> None:
        self.level = level

    def _find(self, context: Context) -> list[Finding]:
        ledger, opinions = context.ledger, context.ledger.opinions
        ratings = np.flatnonzero(opinions.kind == Kind.CLIENT_RATING)
        if not len(ratings):
            return []
        client, server = ledger.subject_account[opinions.subject[ratings]], opinions.rater[ratings]
        keys, pair = np.unique(pairs(server, client, ledger.accounts), return_inverse=True)
        rater, rated = unpaired(keys, ledger.accounts)
        standing = _mean_by_rest(pair, rated, opinions.percent[ratings], ledger.accounts)
        established = context.activity[rated] > THIN
        paying = np.zeros(ledger.accounts, bool)
        paying[opinions.rater[context.paid]] = True
        fair = np.where(np.isnan(standing), established | paying[rated], standing >= _LOW)
        critical = self._after_criticism(context.ledger, ratings, client) & ~opinions.is_sealed[ratings]
        low = opinions.percent[ratings] <= _PUNISHING
        base = float(np.clip((_any(low, pair) & fair).sum() / max(fair.sum(), 1), 0.005, 0.5))
        tried, punished = fair & _any(critical, pair), fair & _any(critical & low, pair)
        trials = np.bincount(rater[tried], minlength=ledger.accounts)
        hits = np.bincount(rater[punished], minlength=ledger.accounts)
        candidates = np.flatnonzero(hits > 1)
        q_values = adjusted(share(hits[candidates], trials[candidates], 2 * base), int((trials > 0).sum()))
        findings = []
        for place in np.flatnonzero(q_values < self.level):
            account = int(candidates[place])
            rows = ratings[critical & low & fair[pair] & (server == account)]
            soon = int(answers(ledger, rows).sum())
            findings.append(
                Finding(
                    detector=self.name,
                    statistic=(
                        f"{hits[account]} of {trials[account]} critics punished, {soon} ratings within a day; "
                        f"a share of {base:.1%} is usual"
                    ),
                    q_value=float(q_values[place]),
                    actors=np.array([account]),
                    subjects=np.unique(ledger.subject_account[opinions.subject[rows]]),
                    opinions=rows,
                    basis=Basis.ANSWERS,
                    sentence=(
                        f"Of {trials[account]} clients who had given low feedback before and whom other owners do not "
                        f"rate badly, the owner rated {hits[account]} low."
                    ),
                )
            )
        return findings

    def _after_criticism(self, ledger: Ledger, ratings: Ints, client: Ints) -> Flags:
        """Mark the ratings of clients who had previously given the server negative feedback."""
        opinions = ledger.opinions
        critics = np.flatnonzero((opinions.kind == Kind.FEEDBACK) & (opinions.percent < _LOW))
        owner = ledger.subject_account[opinions.subject[critics]]
        keys = pairs(opinions.rater[critics], owner, ledger.accounts)
        order = np.lexsort((opinions.ts[critics], keys))
        keys, times = keys[order], opinions.ts[critics][order]
        start = first_of(keys)
        keys, times = keys[start], times[start]
        queries = pairs(client, opinions.rater[ratings], ledger.accounts)
        if not len(keys):
            return np.zeros(len(ratings), bool)
        places = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
        after: Flags = (keys[places] == queries) & (times[places] <= opinions.ts[ratings])
        return after


def _any(marked: Flags, pair: Ints) -> Flags:
    """Mark the server-client pairs that have at least one marked rating."""
    return np.asarray(np.bincount(pair, weights=marked) > 0, np.bool_)


def _mean_by_rest(pair: Ints, rated: Ints, percent: Floats, size: int) -> Floats:
    """For each server-client pair, return the mean of other servers' ratings of the client; nan if there are none."""
    # All agents of one owner count as one server here. Otherwise, two agents of one owner could both give a critic low
    # ratings, each making the other's rating look justified.
    count = np.bincount(pair)
    total = group_sums(percent, pair, len(count))
    remaining = np.bincount(rated, weights=count, minlength=size)[rated] - count
    rest = group_sums(total, rated, size)[rated] - total
    return np.where(remaining > 0, rest / np.maximum(remaining, 1), np.nan)


def answers(ledger: Ledger, ratings: Ints) -> Flags:
    """Mark unsealed ratings that clients received within a day of giving feedback about an agent of the same owner."""
    opinions, size = ledger.opinions, ledger.accounts
    spoken = np.flatnonzero((opinions.kind == Kind.FEEDBACK) | (opinions.kind == Kind.CONSTANT_TAG))
    keys = pairs(opinions.rater[spoken], ledger.subject_account[opinions.subject[spoken]], size)
    answered_pairs = distinct_keys(keys)
    if not len(answered_pairs):
        return np.zeros(len(ratings), np.bool_)
    feedback_keys = np.sort(_keys_by_time(np.searchsorted(answered_pairs, keys), opinions.ts[spoken]))
    client = ledger.subject_account[opinions.subject[ratings]]
    queries = pairs(client, opinions.rater[ratings], size)
    places = np.minimum(np.searchsorted(answered_pairs, queries), len(answered_pairs) - 1)
    rated = _keys_by_time(places, opinions.ts[ratings])
    last = feedback_keys[np.maximum(np.searchsorted(feedback_keys, rated, side="right") - 1, 0)]
    is_soon = (last <= rated) & (last >= rated - ANSWER_SECONDS) & (last >> _TIME_BITS == places)
    marked: Flags = (answered_pairs[places] == queries) & is_soon & ~opinions.is_sealed[ratings]
    return marked


def _keys_by_time(places: Ints, times: Floats) -> Ints:
    """Return numbers that sort by position, then by time."""
    return (places.astype(np.int64) << _TIME_BITS) + times.astype(np.int64)
