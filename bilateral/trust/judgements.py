"""Judgements: the first opinion of each rater about each subject, and values gathered by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bilateral.trust.arrays import Flags, Floats, Ints, contained_pairs, distinct_keys, group_counts, group_sums, pairs
from bilateral.trust.opinions import Kind

if TYPE_CHECKING:
    from bilateral.trust.context import Context
    from bilateral.trust.ledger import Ledger

_HIGH: Final = 60.0
"""The percentage from which an opinion is favourable."""


@dataclass(frozen=True)
class Judgements:
    """The first opinion of each pair of rater and subject, as parallel arrays sorted by subject and time.

    Attributes:
        rows: Their positions among the opinions.
        rater: The account that judges.
        rated: The account that answers for the subject.
        subject: The subject.
        kind: The kind of opinion.
        height: The percentage above the mean of its kind.
        praise: Marks the favourable ones.
        traced: Marks those whose two accounts other rows join as client and server: payments, or answers.
        distance: The percentage above what others say about the subject.
        served: The pairs of server and client of payments, as `pairs` joins them, ascending.
    """

    rows: Ints
    rater: Ints
    rated: Ints
    subject: Ints
    kind: Ints
    height: Floats
    praise: Flags
    traced: Flags
    distance: Floats
    served: Ints

    @classmethod
    def of(cls, context: Context) -> Judgements:
        """Collect the judgements of a context.

        Args:
            context: The ledger and what detectors share.
        """
        ledger, opinions = context.ledger, context.ledger.opinions
        rows = context.pair[np.isfinite(opinions.percent[context.pair])]
        rows = np.sort(rows[opinions.kind[rows] != Kind.CONSTANT_TAG])
        rater, subject, kind = opinions.rater[rows], opinions.subject[rows], opinions.kind[rows]
        rated, percent = ledger.subject_account[subject].astype(np.int32), opinions.percent[rows]
        usual = context.mean[kind]
        client, server = clients_and_servers(ledger)
        served = distinct_keys(pairs(server, client, ledger.accounts))
        return cls(
            rows=rows,
            rater=rater,
            rated=rated,
            subject=subject,
            kind=kind,
            height=single(percent - usual),
            praise=percent >= _HIGH,
            traced=_traces(ledger, rater, rated, kind, served),
            distance=single(percent - except_own(percent, subject, ledger.subjects, usual)),
            served=served,
        )


def clients_and_servers(ledger: Ledger) -> tuple[Ints, Ints]:
    """Return the payer and the owner of the agent of each payment for a known agent.

    Args:
        ledger: The coded tables.
    """
    paid = (ledger.payer >= 0) & (ledger.paid_agent >= 0)
    agent = ledger.paid_agent[paid]
    return ledger.payer[paid], ledger.owner[agent] if len(agent) else agent


def senders_and_receivers(context: Context) -> tuple[Ints, Ints]:
    """Return the sender and the receiver of each transfer in which no hub takes part.

    Args:
        context: The ledger and what detectors share.
    """
    ledger, hub = context.ledger, context.kin.is_hub
    inside = (ledger.src >= 0) & (ledger.dst >= 0) & (ledger.src != ledger.dst)
    inside &= ~hub[np.maximum(ledger.src, 0)] & ~hub[np.maximum(ledger.dst, 0)]
    return ledger.src[inside], ledger.dst[inside]


def except_own(values: Floats, groups: Ints, size: int, prior: Floats | float) -> Floats:
    """Return the mean of the other values of each row's group, drawn towards a prior by one value.

    Args:
        values: One value a row.
        groups: The group of each row.
        size: The number of groups.
        prior: The prior.
    """
    out = group_sums(values, groups, size)[groups]
    out -= values
    out += prior
    out /= group_counts(groups, size)[groups]
    return out


def mean_by(values: Floats | Flags, groups: Ints, size: int) -> Floats:
    """Return the mean of values by group; nan for a group without any.

    Args:
        values: One value a row.
        groups: The group of each row.
        size: The number of groups.
    """
    count = group_counts(groups, size)
    return np.where(count > 0, group_sums(values, groups, size) / np.maximum(count, 1), np.nan)


def top_by(values: Floats | Flags, groups: Ints, size: int) -> Floats:
    """Return the largest value by group; nan for a group without any.

    Args:
        values: One value a row.
        groups: The group of each row.
        size: The number of groups.
    """
    out = np.full(size, -np.inf, np.float32)
    np.maximum.at(out, groups, single(values))
    out[np.isneginf(out)] = np.nan
    return out


def single(values: Floats | Flags) -> Floats:
    """Return values in single precision.

    Args:
        values: The values.
    """
    return np.asarray(values, np.float32)


def _traces(ledger: Ledger, rater: Ints, rated: Ints, kind: Ints, served: Ints) -> Flags:
    """Mark the opinions with another row of the same client and server. Validations have no such rows."""
    size = ledger.accounts
    feedback, answer = kind == Kind.FEEDBACK, kind == Kind.CLIENT_RATING
    server, client = np.where(answer, rater, rated), np.where(answer, rated, rater)
    answered = distinct_keys(pairs(rater[answer], rated[answer], size))
    both = feedback & contained_pairs(server, client, answered, size)
    asked = distinct_keys(pairs(server[both], client[both], size))
    is_served = contained_pairs(server, client, served, size) | both
    is_served |= answer & contained_pairs(server, client, asked, size)
    traced: Flags = is_served | ~(feedback | answer)
    return traced
