"""Findings: claims about accounts, each with its members, its statistic and the rows on which it is based."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import numpy as np

from bilateral.trust.tables.arrays import Floats, Ints
from bilateral.trust.tables.ledger import Ledger


class Part(StrEnum):
    """An account's role in a finding."""

    ACTOR = "actor"
    """The account wrote the rows in the finding."""
    BENEFICIARY = "beneficiary"
    """The account gains from the rows, and evidence ties it to an actor."""
    SUBJECT = "subject"
    """The rows are about the account. It may be unaware of them, so a finding never counts against it."""


class Basis(StrEnum):
    """The kind of evidence on which a finding is based. Different kinds of evidence are independent of each other."""

    CONTROL = "common control"
    """The accounts were created or funded by one party, or send their money to one party."""
    MONEY = "money"
    """Payments come back, or gifts exceed their receiver's payments."""
    OPINIONS = "opinions"
    """The opinions themselves: who else shares them, and how young, unpaid and far from other opinions they are."""
    ANSWERS = "answers"
    """Ratings that respond to criticism."""
    REVIEWS = "reviews"
    """Reviewers' verdicts on related accounts."""


@dataclass(frozen=True)
class Finding:
    """One claim by one detector.

    Attributes:
        detector: The name of the detector.
        statistic: The name of the statistic, with its actual and expected values.
        q_value: The p-value, corrected for all tests by the detector.
        actors: The accounts that acted, by number.
        beneficiaries: The accounts that gain and are tied to an actor.
        subjects: The accounts that the rows are about.
        tied: The accounts that other accounts tied to an actor, but that did not act themselves. They are ranked but
            never flagged.
        opinions: The positions of the opinions on which the finding is based.
        payments: The positions of the payments on which the finding is based.
        transfers: The positions in the ledger of the transfers on which the finding is based.
        sentence: The claim in one plain sentence.
        weight: A factor for the finding's strength, from 0 to 1: how well the claim distinguishes fraud from chance.
        basis: The kind of evidence.
        is_fact: True if the rows themselves prove the claim, so no other evidence is needed.
        passive: The roles whose accounts may have been drawn into the finding by others, through unsolicited money or
            association.
        confidence: For each actor, the probability that the actor belongs to the finding.
    """

    detector: str
    statistic: str
    q_value: float
    actors: Ints
    sentence: str
    beneficiaries: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    subjects: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    tied: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    opinions: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    payments: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    transfers: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    weight: float = 1.0
    basis: Basis = Basis.OPINIONS
    is_fact: bool = False
    passive: frozenset[Part] = frozenset()
    confidence: Floats | None = None

    @property
    def strength(self) -> float:
        """The negative base-10 logarithm of the corrected p-value, at most 12, times the weight."""
        return float(min(-np.log10(max(self.q_value, 1e-12)), 12.0)) * self.weight

    def identifier(self, addresses: list[str], rows: Mapping[str, Iterable[object]]) -> str:
        """Return an id that depends only on the finding: the detector's name and a digest of members and rows."""
        digest = hashlib.sha256("|".join([self.detector, *sorted(addresses)]).encode())
        for table, names in sorted(rows.items()):
            digest.update("|".join(["", table, *sorted(map(str, names))]).encode())
        return f"{self.detector}-{digest.hexdigest()[:10]}"


def describe_money(ledger: Ledger, finding: Finding) -> str:
    """Return the sentences about a finding's payments and transfers; empty if there are none."""
    paid, moved = finding.payments.astype(np.int64), finding.transfers.astype(np.int64)
    payments, transfers = (
        (ledger.amount, ledger.paid_at, ledger.payer, ledger.payee),
        (ledger.sent, ledger.sent_at, ledger.src, ledger.dst),
    )
    sentences = [_sentence_of(ledger, "paid", "", [column[paid] for column in payments])]
    for place, coin in enumerate(("", *(f" {symbol}" for symbol in ledger.coins)), start=-1):
        sent = moved[ledger.coin[moved] == place]
        sentences.append(_sentence_of(ledger, "transferred", coin, [column[sent] for column in transfers]))
    return " ".join(sentence for sentence in sentences if sentence)


def sums_by_coin(ledger: Ledger, transfers: Ints) -> dict[str | None, float]:
    """Return the sum of some transfers by coin; None stands for the unit of payments."""
    coins = ledger.coin[transfers]
    return {
        None if place < 0 else ledger.coins[place]: float(ledger.sent[transfers[coins == place]].sum())
        for place in np.unique(coins).tolist()
    }


def _sentence_of(ledger: Ledger, verb: str, unit: str, moves: list[Any]) -> str:
    """Return one sentence about movements of money: their amounts, times, senders and receivers."""
    amount, times, *ends = moves
    if not len(amount):
        return ""
    sender, receiver = (_name_of(ledger, accounts) for accounts in ends)
    first, last = (datetime.fromtimestamp(float(ts), UTC).date().isoformat() for ts in (times.min(), times.max()))
    when = f"on {first}" if first == last else f"from {first} to {last}"
    number = f" in {len(amount)} steps" if len(amount) > 1 else ""
    return f"{sender} {verb} {amount.sum():.6g}{unit} to {receiver}{number} {when}."


def _name_of(ledger: Ledger, accounts: Ints) -> str:
    present = np.unique(accounts[accounts >= 0])
    if len(present) == 1:
        return str(ledger.addresses[int(present[0])].as_py())
    return f"{len(present)} accounts"
