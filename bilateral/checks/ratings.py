"""Ratings of an agent as of a block: lines for people, and the raters that count.

At the head the derived tables answer, in a time that does not depend on the number of ratings. For an earlier block,
a limit of age, or proofs of payment, the events are read one by one, up to a limit. Both ways give the same integers.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sqlalchemy import bindparam, select

from bilateral.checks.entries import CLIENT, SERVER, VALIDATOR, Entry, Rater, entries
from bilateral.core.values.bounds import SHARES, lower_bound, scale_of_tag
from bilateral.index.log.lists import in_parts
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.tables import DECIMALS
from bilateral.index.reading.prepared import Prepared, one_of, size_for, spread

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Connection, Select, Table

    from bilateral.checks.as_of_block import Moment

MOST_LINES: Final = 20
"""Tags of one side that an answer lists."""

_HUNDREDTH: Final = Decimal("0.01")
_UNIT: Final = 10**DECIMALS  # the value 1 in the sums of the tables

Tallies: TypeAlias = "Mapping[Rater, tuple[int, int]]"
"""The number of entries of each rater, and the sum of their shares in millionths."""


@dataclass(frozen=True)
class Line:
    """The ratings of an agent with one tag, by everybody.

    Attributes:
        side: The agent's part: `server`, `client` or `validator`.
        tag: The tag, the word of a stranger.
        count: The number of ratings.
        raters: The number of different raters.
        mean: The mean of the values.
        rating: The mean of the raters' means, on the scale from 0 to 100; None for a tag without a scale.
        lower_bound: The lower confidence bound of `rating`; None for a tag without a scale.
    """

    registry: str
    side: str
    tag: str
    count: int
    raters: int
    mean: Decimal
    rating: Decimal | None
    lower_bound: Decimal | None


@dataclass(frozen=True)
class Counted:
    """The ratings that count under a policy.

    Attributes:
        count: The number of ratings.
        raters: The number of different raters.
        share_sum: The sum of the raters' mean shares, in millionths.
        own: The number of ratings by accounts of the agent's own side, which do not count.
        left_out: The number of ratings by raters that the policy does not trust.
    """

    count: int = 0
    raters: int = 0
    share_sum: int = 0
    own: int = 0
    left_out: int = 0

    @property
    def rating(self) -> Decimal | None:
        """The mean of the raters' means, 0 to 100, cut to hundredths; None without ratings."""
        return None if not self.raters else _percent(self.share_sum, self.raters)

    @property
    def lower_bound(self) -> Decimal | None:
        """The lower confidence bound of the rating; None without ratings."""
        return None if not self.raters else _rounded(lower_bound(self.share_sum, self.raters, (0, 100)))

    def is_below(self, minimum: Decimal) -> bool:
        """Return True if the rating, not rounded, is below a minimum."""
        return self.share_sum * 100 < minimum * self.raters * SHARES


@dataclass(frozen=True)
class Ratings:
    """The ratings of an agent, read once when they are asked for.

    Attributes:
        kinds: The registries of the agent's identity registry with their kinds.
    """

    connection: Connection
    moment: Moment
    kinds: Mapping[str, str]
    agent_id: int

    @cached_property
    def summaries(self) -> Sequence[Any]:
        """The sums by registry, side and tag, at the head."""
        addresses = list(self.kinds)
        parameters = {"chain_id": self.moment.chain_id, "agent_id": self.agent_id}
        statement = _summaries(len(addresses))
        return statement.records(self.connection, parameters | spread("registry", addresses, len(addresses)))

    @cached_property
    def entries(self) -> list[Entry]:
        """The ratings one by one. Many are refused with HistoryTooLongError."""
        return entries(self.connection, self.moment, self.kinds, self.agent_id)

    def entries_since(self, since: int | None) -> list[Entry]:
        """Return the ratings one by one, from a time on."""
        return [entry for entry in self.entries if since is None or entry.row.block_time >= since]


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
    """Return the statement that reads the entries of some accounts about an agent."""
    table = rating_tables.counterpart
    return Prepared(
        select(table.c.registry, table.c.account, table.c.count.label("number"), table.c.share_sum).where(
            table.c.chain_id == bindparam("chain_id"),
            one_of("registry", table.c.registry, registries),
            *(table.c[name] == bindparam(name) for name in ("agent_id", "side", "tag")),
            one_of("account", table.c.account, accounts),
        )
    )


def lines(ratings: Ratings) -> list[Line]:
    """Return the ratings of an agent by registry, side and tag, those with the most raters first.

    Raises:
        HistoryTooLongError: The block is an earlier one, and there are too many ratings.
    """
    lines: list[Line] = []
    if ratings.moment.is_head:
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
    return [line for side in (SERVER, CLIENT, VALIDATOR) for line in _of_side(lines, side)[:MOST_LINES]]


def tallies(  # noqa: PLR0913, PLR0917  # the coordinates of a summary
    connection: Connection,
    moment: Moment,
    kinds: Mapping[str, str],
    agent_id: int,
    side: str,
    tag: str,
    raters: Collection[str],
) -> dict[Rater, tuple[int, int]]:
    """Return the entries of some raters at the head.

    Args:
        moment: The moment, a head.
        kinds: The registries.
        side: Its part.
    """
    tallies: dict[Rater, tuple[int, int]] = {}
    addresses = list(kinds)
    parameters = {"chain_id": moment.chain_id, "agent_id": agent_id, "side": side, "tag": tag}
    parameters |= spread("registry", addresses, len(addresses))
    for part in in_parts(sorted(raters)):
        statement = _tallies(len(addresses), size := size_for(part))
        rows = statement.records(connection, parameters | spread("account", part, size))
        tallies |= {(row.registry, row.account): (row.number, row.share_sum) for row in rows}
    return tallies


def all_tallies(  # noqa: PLR0913, PLR0917  # the coordinates of a summary, and a limit
    connection: Connection, moment: Moment, kinds: Mapping[str, str], agent_id: int, side: str, tag: str, limit: int
) -> dict[Rater, tuple[int, int]] | None:
    """Return the entries of all raters at the head; None if there are more raters than the limit."""
    query = _of_subject(rating_tables.counterpart, moment, kinds, agent_id, side, tag).limit(limit + 1)
    rows = connection.execute(query).all()
    if len(rows) > limit:
        return None
    return {(row.registry, row.account): (row.number, row.share_sum) for row in rows}


def total(ratings: Ratings, side: str, tag: str) -> Counted:
    """Return the ratings by everybody at the head."""
    rows = [row for row in ratings.summaries if row.side == side and row.tag == tag]
    return Counted(
        sum(row.number for row in rows), sum(row.counterparts for row in rows), sum(row.share_sum for row in rows)
    )


def counted(by_rater: Tallies, total_of_all: Counted | None, own: Tallies, trusted: Collection[str] | None) -> Counted:
    """Return the ratings that count.

    Args:
        by_rater: The entries of trusted raters; of all raters, if `total_of_all` is None or nobody is trusted.
        total_of_all: The ratings by everybody; None if `by_rater` has all raters.
        own: The entries of the agent's own side.
        trusted: The trusted raters; None if all count.
    """
    own_count = sum(count for count, _ in own.values())
    if trusted is None and total_of_all is not None:
        return Counted(
            total_of_all.count - own_count,
            total_of_all.raters - len(own),
            total_of_all.share_sum - sum(shares // count for count, shares in own.values()),
            own_count,
        )
    kept = {
        rater: tally
        for rater, tally in by_rater.items()
        if rater not in own and (trusted is None or rater[1] in trusted)
    }
    count = sum(number for number, _ in kept.values())
    everybody = sum(number for number, _ in by_rater.values()) if total_of_all is None else total_of_all.count
    return Counted(
        count,
        len(kept),
        sum(shares // number for number, shares in kept.values()),
        own_count,
        everybody - own_count - count,
    )


def _of_subject(  # noqa: PLR0913, PLR0917  # the coordinates of a summary
    table: Table, moment: Moment, kinds: Mapping[str, str], agent_id: int, side: str, tag: str
) -> Select[Any]:
    """Return the query of the rows of a summary, or of its counterparts."""
    # A row has a method `count`, so the column takes another name.
    return select(table, table.c.count.label("number")).where(
        table.c.chain_id == moment.chain_id,
        table.c.registry.in_(list(kinds)),
        table.c.agent_id == agent_id,
        table.c.side == side,
        table.c.tag == tag,
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
        _percent(share_sum, raters) if has_scale else None,
        _rounded(lower_bound(share_sum, raters, (0, 100))) if has_scale else None,
    )


def _of_side(lines: Sequence[Line], side: str) -> list[Line]:
    return [line for line in lines if line.side == side]


def _percent(share_sum: int, raters: int) -> Decimal:
    """Return a mean share in percent, cut to hundredths."""
    return (Decimal(share_sum * 10_000 // (raters * SHARES)) / 100).quantize(_HUNDREDTH)


def _rounded(bound: float) -> Decimal:
    """Return a bound cut to hundredths: a bound is never rounded up."""
    return Decimal(repr(bound)).quantize(_HUNDREDTH, ROUND_FLOOR)
