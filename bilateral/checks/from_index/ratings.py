"""Ratings of an agent as of a block: lines for people, and the raters that count.

At the head the derived tables answer, in a time that does not depend on the number of ratings. For an earlier block,
a limit of age, or proofs of payment, the events are read one by one, up to a limit. Both ways give the same integers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any, Final, TypeAlias

from sqlalchemy import bindparam, select

from bilateral.checks.facts import Counted, Line, bound_percent, mean_percent
from bilateral.checks.from_index.as_of_block import AsOfBlock
from bilateral.checks.from_index.entries import CLIENT, SERVER, VALIDATOR, Entry, Rater, entries
from bilateral.core.values.bounds import scale_of_tag
from bilateral.index.log.lists import in_parts
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.tables import DECIMALS
from bilateral.index.reading.prepared import Prepared, one_of, size_for, spread

MOST_LINES: Final = 20
"""Tags of one side that an answer lists."""

_UNIT: Final = 10**DECIMALS  # the value 1 in the sums of the tables

Tallies: TypeAlias = "Mapping[Rater, tuple[int, int]]"
"""The number of entries of each rater, and the sum of their shares in millionths."""


@dataclass(frozen=True)
class Ratings:
    """The ratings of an agent, read once when they are asked for."""

    as_of: AsOfBlock
    kinds: Mapping[str, str]
    agent_id: int

    @cached_property
    def summaries(self) -> Sequence[Any]:
        """The sums by registry, side and tag, at the head."""
        return _summaries(len(self.kinds)).records(self.as_of.connection, self._parameters)

    @cached_property
    def entries(self) -> list[Entry]:
        """The ratings one by one. Many are refused with HistoryTooLongError."""
        return entries(self.as_of, self.kinds, self.agent_id)

    @property
    def _parameters(self) -> dict[str, Any]:
        parameters = {"chain_id": self.as_of.chain_id, "agent_id": self.agent_id}
        return parameters | spread("registry", list(self.kinds), len(self.kinds))

    def total(self, side: str, tag: str) -> Counted:
        """Return the ratings by everybody at the head."""
        rows = [row for row in self.summaries if row.side == side and row.tag == tag]
        return Counted(
            sum(row.number for row in rows), sum(row.counterparts for row in rows), sum(row.share_sum for row in rows)
        )

    def tallies(self, side: str, tag: str, raters: Collection[str]) -> dict[Rater, tuple[int, int]]:
        """Return the entries of some raters at the head."""
        rows: list[Any] = []
        for part in in_parts(sorted(raters)):
            statement, parameters = _tallies(len(self.kinds), size := size_for(part)), spread("account", part, size)
            rows += statement.records(self.as_of.connection, self._parameters | parameters | {"side": side, "tag": tag})
        return {(row.registry, row.account): (row.number, row.share_sum) for row in rows}

    def all_tallies(self, side: str, tag: str, limit: int) -> dict[Rater, tuple[int, int]] | None:
        """Return the entries of all raters at the head; None if there are more raters than the limit."""
        parameters = self._parameters | {"side": side, "tag": tag, "limit": limit + 1}
        rows = _tallies(len(self.kinds), 0).records(self.as_of.connection, parameters)
        if len(rows) > limit:
            return None
        return {(row.registry, row.account): (row.number, row.share_sum) for row in rows}


@lru_cache
def _summaries(registries: int) -> Prepared:
    """Return the statement that reads the sums of an agent in some registries."""
    table = rating_tables.summary
    # A row has a method `count`, so the column takes another name.
    columns = (table.c.registry, table.c.side, table.c.tag, table.c.count.label("number"))
    return Prepared(
        select(*columns, table.c.counterparts, table.c.value_sum, table.c.share_sum).where(
            table.c.chain_id == bindparam("chain_id"),
            one_of("registry", table.c.registry, registries),
            table.c.agent_id == bindparam("agent_id"),
        )
    )


@lru_cache
def _tallies(registries: int, accounts: int) -> Prepared:
    """Return the statement that reads the entries of some accounts about an agent; 0 for all, up to a limit."""
    table = rating_tables.counterpart
    query = select(table.c.registry, table.c.account, table.c.count.label("number"), table.c.share_sum).where(
        table.c.chain_id == bindparam("chain_id"),
        one_of("registry", table.c.registry, registries),
        *(table.c[name] == bindparam(name) for name in ("agent_id", "side", "tag")),
    )
    return Prepared(
        query.where(one_of("account", table.c.account, accounts)) if accounts else query.limit(bindparam("limit"))
    )


def lines(ratings: Ratings) -> tuple[Line, ...]:
    """Return the ratings of an agent by registry, side and tag, those with the most raters first."""
    lines: list[Line] = []
    if ratings.as_of.is_head:
        lines += [
            _line(row.registry, row.side, row.tag, (row.number, row.counterparts, row.value_sum, row.share_sum))
            for row in ratings.summaries
        ]
    else:
        sums: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0])
        raters: dict[tuple[str, str, str], dict[str, tuple[int, int]]] = defaultdict(dict)
        for entry in ratings.entries:
            key = entry.registry, entry.side, entry.tag
            sums[key][0] += 1
            sums[key][1] += entry.value * 10 ** (DECIMALS - entry.decimals)
            count, shares = raters[key].get(entry.rater, (0, 0))
            raters[key][entry.rater] = count + 1, shares + entry.share
        for key, (count, value_sum) in sums.items():
            share_sum = sum(shares // number for number, shares in raters[key].values())
            lines.append(_line(*key, (count, len(raters[key]), value_sum, share_sum)))
    lines.sort(key=lambda line: (line.side, -line.raters, line.tag, line.registry))
    by_side = ([line for line in lines if line.side == side] for side in (SERVER, CLIENT, VALIDATOR))
    return tuple(line for of_side in by_side for line in of_side[:MOST_LINES])


def counted(by_rater: Tallies, total_of_all: Counted | None, own: Tallies, trusted: Collection[str] | None) -> Counted:
    """Return the ratings that count."""
    own_count = sum(count for count, _ in own.values())
    if trusted is None and total_of_all is not None:
        return Counted(
            total_of_all.count - own_count,
            total_of_all.raters - len(own),
            total_of_all.share_sum - sum(shares // count for count, shares in own.values()),
            own_count,
        )
    counting = {
        rater: tally
        for rater, tally in by_rater.items()
        if rater not in own and (trusted is None or rater[1] in trusted)
    }
    count = sum(number for number, _ in counting.values())
    everybody = sum(number for number, _ in by_rater.values()) if total_of_all is None else total_of_all.count
    return Counted(
        count,
        len(counting),
        sum(shares // number for number, shares in counting.values()),
        own_count,
        everybody - own_count - count,
    )


def _line(registry: str, side: str, tag: str, sums: tuple[int, int, int, int]) -> Line:
    """Return the line of a summary's sums: count, raters, sum of values, sum of shares."""
    count, raters, value_sum, share_sum = (int(number) for number in sums)
    has_scale = scale_of_tag(tag) is not None
    return Line(
        registry,
        side,
        tag,
        count,
        raters,
        Decimal(f"{value_sum * 10_000 // (_UNIT * count)}e-4"),  # exact for any number of digits
        mean_percent(share_sum, raters) if has_scale else None,
        bound_percent(share_sum, raters) if has_scale else None,
    )
