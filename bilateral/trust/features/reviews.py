"""Reviewed cases: appeals and confirmations. They override findings, and inform findings about related accounts."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.trust.tables.arrays import Ints


@dataclass(frozen=True)
class Case:
    """One reviewed account.

    Attributes:
        account: The address.
        guilty: True if found guilty.
        reason: The reviewers' reason.
    """

    account: str
    guilty: bool
    reason: str

    @property
    def verdict(self) -> str:
        """The one-word verdict."""
        return _VERDICTS[0] if self.guilty else _VERDICTS[1]


@dataclass(frozen=True)
class Reviews:
    """Reviewed cases, at most one per account.

    Attributes:
        cases: The cases by address.
    """

    cases: Mapping[str, Case]

    @classmethod
    def read(cls, path: Path) -> Reviews:
        """Read a JSON list of objects with `account`, `verdict` (`guilty` or `innocent`) and `reason`."""
        try:
            entries = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise InvalidArgumentError(f"reviews in {quoted(str(path))} are not readable JSON: {error}") from None
        if not isinstance(entries, list):
            raise InvalidArgumentError(f"reviews in {quoted(str(path))} are not a list: write a JSON list of objects")
        return cls.of(entries)

    @classmethod
    def of(cls, entries: list[dict[str, str]]) -> Reviews:
        """Validate a list of entries, and return its cases."""
        cases: dict[str, Case] = {}
        for entry in entries:
            if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in _FIELDS):
                raise InvalidArgumentError("a review must have account, verdict and reason, all of them strings")
            account, verdict = entry["account"].lower(), entry["verdict"]
            if verdict not in _VERDICTS:
                raise InvalidArgumentError(f"verdict {quoted(verdict)} is invalid: write guilty or innocent")
            if account in cases:
                raise InvalidArgumentError(f"account {quoted(account)} is reviewed twice: remove one of the reviews")
            cases[account] = Case(account, verdict == "guilty", entry["reason"])
        return cls(cases)

    def verdicts(self, addresses: pa.Array) -> dict[int, bool]:
        """Return the verdicts by account number, without accounts that occur in no table (see `absent`)."""
        places = places_of(addresses, list(self.cases))
        present = addresses.take(pa.array(places)).to_pylist()
        return {int(place): self.cases[name.lower()].guilty for place, name in zip(places, present, strict=True)}

    def absent(self, addresses: pa.Array) -> tuple[str, ...]:
        """Return the reviewed accounts that occur in no table, in lower case. Their cases have no effect."""
        places = places_of(addresses, list(self.cases))
        occurring = frozenset(pc.utf8_lower(addresses.take(pa.array(places))).to_pylist())
        return tuple(account for account in self.cases if account not in occurring)


def absent_message(accounts: Collection[str]) -> str:
    """Return a sentence about reviewed accounts that occur in no table, for the author of the cases."""
    listed = sorted(accounts)
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return (
        f"the cases of {len(listed)} reviewed account{'s' if len(listed) > 1 else ''} change nothing, because no table "
        f"has the address: {', '.join(quoted(account) for account in listed[:_LISTED])}{more}"
    )


def places_of(addresses: pa.Array, accounts: Sequence[str]) -> Ints:
    """Return the numbers of the accounts with the given addresses, ignoring case."""
    if not accounts:
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.asarray(pc.is_in(pc.utf8_lower(addresses), pa.array(accounts, pa.string()))))


_FIELDS = ("account", "verdict", "reason")
_VERDICTS = ("guilty", "innocent")
_LISTED = 10
"""The maximum number of accounts that a note lists, so that it fits on a few lines of a terminal."""


def labels(verdicts: dict[int, bool], size: int) -> np.ndarray:
    """Return verdicts as an array: 1 for guilty, 0 for innocent, -1 for accounts without a case."""
    out = np.full(size, -1, np.int64)
    for account, guilty in verdicts.items():
        out[account] = int(guilty)
    return out
