"""Judgements: the first opinion of each rater about each subject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from bilateral.trust.features.context import Context
from bilateral.trust.tables.arrays import (
    Flags,
    Floats,
    Groups,
    Ints,
    contained_pairs,
    distinct_keys,
    group_sums,
    lexical_order,
    pairs,
)
from bilateral.trust.tables.opinions import Kind

_HIGH: Final = 60.0
"""The minimum percentage at which an opinion is favourable."""


@dataclass(frozen=True)
class Judgements:
    """The first opinion of each rater-subject pair, as parallel arrays sorted by subject and time.

    Attributes:
        rows: The positions of the judgements among the opinions.
        rater: The account that judges.
        rated: The account responsible for the subject.
        kind: The kind of opinion.
        height: How far the percentage is above the mean of all opinions of its kind.
        praise: Marks the favourable judgements.
        praised: The positions of the favourable judgements. Selecting by position takes a fifth as long as by mask.
        traced: Marks the judgements whose two accounts are also connected as client and server by other rows: payments,
            or ratings in return.
        distance: How far the percentage is above other raters' opinions about the subject; for a validation, also above
            clients' opinions.
        validated: The positions of the validations.
        by_rater, by_rated: The judgements, grouped by rater and by responsible account.
        by_praised: The favourable judgements, grouped by responsible account.
        in_turn: The order of the judgements by rater and time.
        by_payer, by_seller: The purchases, grouped by payer and by the agent's owner.
    """

    rows: Ints
    rater: Ints
    rated: Ints
    subject: Ints
    kind: Ints
    height: Floats
    praise: Flags
    praised: Ints
    traced: Flags
    distance: Floats
    validated: Ints
    by_rater: Groups
    by_rated: Groups
    by_praised: Groups
    in_turn: Ints
    by_payer: Groups
    by_seller: Groups

    @classmethod
    def of(cls, context: Context) -> Judgements:
        """Collect the judgements in a context."""
        ledger, opinions = context.ledger, context.ledger.opinions
        rows = context.pair[np.isfinite(opinions.percent[context.pair])]
        rows = np.sort(rows[opinions.kind[rows] != Kind.CONSTANT_TAG])
        rater, subject, kind = opinions.rater[rows], opinions.subject[rows], opinions.kind[rows]
        rated, percent = ledger.subject_account[subject].astype(np.int32), opinions.percent[rows]
        usual, praise = context.mean[kind], percent >= _HIGH
        praised = np.flatnonzero(praise)
        payer, agent = context.purchases.client, context.purchases.agent
        seller = ledger.owner[agent] if len(agent) else agent
        rest = Groups.by(subject, ledger.subjects).except_own(percent, usual)
        distance = np.asarray(percent - rest, np.float32)
        height, validated = np.asarray(percent - usual, np.float32), np.flatnonzero(kind == Kind.VALIDATION)
        distance[validated] = validated_distance(ledger.subject_agent, subject, validated, height)
        return cls(
            rows=rows,
            rater=rater,
            rated=rated,
            subject=subject,
            kind=kind,
            height=height,
            praise=praise,
            praised=praised,
            traced=_traces(rater, rated, kind, pairs(seller, payer, ledger.accounts), ledger.accounts),
            distance=distance,
            validated=validated,
            by_rater=Groups.by(rater, ledger.accounts),
            by_rated=Groups.by(rated, ledger.accounts),
            by_praised=Groups.by(rated[praised], ledger.accounts),
            in_turn=lexical_order(opinions.ts[rows], rater),
            by_payer=Groups.by(payer, ledger.accounts),
            by_seller=Groups.by(seller, ledger.accounts),
        )


def validated_distance(
    agent: Ints, subject: Ints, validated: Ints, height: Floats, weight: Floats | None = None
) -> Floats:
    """Return how far validations are above the (optionally weighted) mean of other opinions about the agent."""
    judged, feedback = subject[validated], agent[subject[validated]]  # the subject of feedback has its agent's number
    concerned = np.zeros(len(agent), bool)
    concerned[judged] = concerned[feedback] = True
    rows = np.flatnonzero(concerned[subject])
    weights = np.ones(len(rows)) if weight is None else weight[rows]
    total, count = (group_sums(v, subject[rows], len(agent)) for v in (weights * height[rows], weights))
    own = 1.0 if weight is None else weight[validated]
    rest = total[judged] + total[feedback] - own * height[validated]
    return np.asarray(height[validated] - rest / (count[judged] + count[feedback] - own + 1), np.float32)


def _traces(rater: Ints, rated: Ints, kind: Ints, paid: Ints, size: int) -> Flags:
    """Mark opinions for which another row has the same client and server, and all opinions by or about validators."""
    served = distinct_keys(paid)
    feedback, answer = kind == Kind.FEEDBACK, kind == Kind.CLIENT_RATING
    server, client = np.where(answer, rater, rated), np.where(answer, rated, rater)
    answered = distinct_keys(pairs(rater[answer], rated[answer], size))
    both = feedback & contained_pairs(server, client, answered, size)
    answered_pairs = distinct_keys(pairs(server[both], client[both], size))
    is_served = contained_pairs(server, client, served, size) | both
    is_served |= answer & contained_pairs(server, client, answered_pairs, size)
    traced: Flags = is_served | ~(feedback | answer)
    return traced
