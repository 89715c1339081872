"""Opinions: the rows in which an account judges a subject, with values on a common scale."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bilateral.core.values import MEASURED_TAGS, STANDARD_TAGS
from bilateral.trust.tables.arrays import Flags, Floats, Ints, lexical_order
from bilateral.trust.tables.columns import distinct, positions
from bilateral.trust.tables.searches import first_equal


class Kind(IntEnum):
    """An opinion's kind. Each kind has its own subjects."""

    FEEDBACK = 0
    CLIENT_RATING = 1
    VALIDATOR_RATING = 2
    VALIDATION = 3
    CONSTANT_TAG = 4


KINDS: Final = len(Kind)


SOURCES: Final = ("feedback", "ratings", "ratings", "validations", "feedback")
"""The table that each kind of opinion comes from."""


@dataclass(frozen=True)
class Opinions:
    """Opinions as parallel arrays, sorted by subject and time.

    Attributes:
        rater: The account that judges.
        subject: The subject's number, unique across kinds.
        percent: The value on its tag's scale, from 0 to 100; nan if the tag has no quality scale.
        raw: The value as the rater entered it.
        tag: The code of the tag; -1 for tables other than feedback.
        ts: The time in Unix seconds.
        row: The row's id in its table; for validations, the position in the table.
        payment: The position of the payment that feedback refers to; -1 if it refers to none, -2 if the payment does
            not exist.
        is_sealed: Marks ratings of clients that were sealed before the server could see the clients' feedback.
    """

    rater: Ints
    subject: Ints
    kind: Ints
    percent: Floats
    raw: Floats
    tag: Ints
    ts: Floats
    row: Ints
    payment: Ints
    is_sealed: Flags

    def __len__(self) -> int:
        """Return the number of opinions."""
        return len(self.rater)

    @classmethod
    def empty(cls, size: int) -> Opinions:
        """Allocate arrays for opinions, without tags and payments."""
        return cls(
            rater=np.full(size, -1, np.int32),
            subject=np.full(size, -1, np.int32),
            kind=np.zeros(size, np.int8),
            percent=np.full(size, np.nan, np.float32),
            raw=np.zeros(size),
            tag=np.full(size, -1, np.int32),
            ts=np.zeros(size),
            row=np.zeros(size, np.int64),
            payment=np.full(size, -1, np.int32),
            is_sealed=np.zeros(size, np.bool_),
        )

    def put(self, start: int, **columns: Ints | Floats | Flags) -> None:
        """Write columns, starting at a position."""
        for name, column in columns.items():
            getattr(self, name)[start : start + len(column)] = column

    def sorted(self) -> Opinions:
        """Return the opinions of known raters about known subjects, in order. This empties the original."""
        order = np.flatnonzero((self.rater >= 0) & (self.subject >= 0))
        keys = [self.row, self.ts, self.subject]
        if len(order) < len(self):
            keys = [key[order] for key in keys]
        order = order[lexical_order(*keys)]
        del keys
        columns = vars(self)
        return Opinions(**{name: np.take(columns.pop(name), order) for name in list(columns)})


_CONSTANT_ROWS: Final = 50
"""The minimum number of opinions for inferring an unknown tag's range. Fewer opinions may be equal by chance."""


def scaled(raw: Floats, tag: Ints, texts: list[str]) -> tuple[Floats, Ints]:
    """Return values as percentages of their tag's scale, and the tags whose values are all the same."""
    percent = np.full(len(raw), np.nan, np.float32)
    constant = []
    if len(texts) > 0:
        order = lexical_order(tag)
        bounds = np.searchsorted(tag, np.arange(len(texts) + 1), sorter=order)
        for code, text in enumerate(texts):
            rows = order[bounds[code] : bounds[code + 1]]
            standard = STANDARD_TAGS.get(text)
            if standard is not None and standard.highest is not None and standard.lowest is not None:
                low, high = float(standard.lowest), float(standard.highest)
            elif text in MEASURED_TAGS:  # fewer milliseconds are better, and revenues do not measure quality
                continue
            elif len(rows) >= _CONSTANT_ROWS:
                low, high = np.quantile(raw[rows], [0.01, 0.99])
                if low == high:
                    constant.append(code)
                    continue
                if low >= 0 and high <= 100:  # noqa: PLR2004  # a percentage, as most tags of use are
                    low, high = 0.0, 100.0
            else:
                low, high = 0.0, 100.0
            percent[rows] = np.clip((raw[rows] - low) / (high - low), 0, 1) * 100
    return percent, np.array(constant, np.int64)


def proven(
    claimed: pa.ChunkedArray, transactions: pa.ChunkedArray, pays: tuple[Ints, Ints], says: tuple[Ints, Ints]
) -> Ints:
    """Return the position of the payment to which each feedback entry refers; -1 for none, -2 if it is missing.

    An empty string refers to no payment. If a transaction contains several payments, a payment by this client to this
    agent is preferred.
    """
    texts = distinct(claimed).drop_null()
    texts = texts.filter(pc.not_equal(texts, ""))  # many programs that write tables do not use null
    claim_codes, codes_of_payments = positions(claimed, texts), positions(transactions, texts)
    order = np.argsort(codes_of_payments, kind="stable")
    low, high = (np.searchsorted(codes_of_payments, claim_codes, side=side, sorter=order) for side in ("left", "right"))
    codes = np.where(claim_codes < 0, -1, -2).astype(np.int32)
    some = np.flatnonzero((claim_codes >= 0) & (high > low))
    codes[some] = order[low[some]]
    crowded = some[high[some] - low[some] > 1]
    places = np.flatnonzero(np.isin(codes_of_payments, claim_codes[crowded]))
    for columns in ((1,), (0,), (0, 1)):  # match the agent, then the payer, which says more, then both
        first = first_equal(
            [codes_of_payments[places], *(pays[column][places] for column in columns)],
            [claim_codes[crowded], *(says[column][crowded] for column in columns)],
        )
        codes[crowded[first >= 0]] = places[first[first >= 0]]
    return codes
