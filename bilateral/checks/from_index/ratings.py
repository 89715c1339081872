"""Ratings and validations of an agent as of a block: lines for people, and the standing by a trust analysis.

At the head the derived tables answer, in a time that does not depend on the number of ratings. For an earlier block,
a limit of age, or proofs of payment, the events are read one by one, up to a limit. Both ways give the same integers.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any, Final, TypeAlias

from sqlalchemy import bindparam, select

from bilateral.checks.facts import Counted, Line, ValidationFacts, bound_percent, mean_percent
from bilateral.checks.from_index.as_of_block import VALIDATION, AsOfBlock, Findings, covering, evidence_of, place_of
from bilateral.checks.from_index.entries import CLIENT, SERVER, VALIDATOR, Entry, Rater, entries, entry_tallies
from bilateral.checks.from_index.subjects import Subject
from bilateral.checks.verdicts import FoundFindings
from bilateral.core.events import ValidationResponse
from bilateral.core.values.bounds import scale_of_tag
from bilateral.core.values.standing import Side, Standing
from bilateral.index.log.lists import in_parts
from bilateral.index.log.tables import EVENT_TABLES
from bilateral.index.log.unindexed import newest_first
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.tables import DECIMALS
from bilateral.index.reading.prepared import Prepared, at_most, one_of, size_for, spread
from bilateral.index.standing.queries import standings_states, stored_standing

MOST_LINES: Final = 20
"""Tags of one side that an answer lists."""

_MOST_ANSWERS: Final = 1_000
"""The newest answers that are looked at: anybody may ask a validator for any number."""

_EXAMPLES: Final = 3  # examples are enough to follow a reason
_ANSWERS: Final = EVENT_TABLES[ValidationResponse]
_UNIT: Final = 10**DECIMALS  # the value 1 in the sums of the tables

Tallies: TypeAlias = "Mapping[Rater, tuple[int, int]]"
"""The number of entries of each rater, and the sum of their shares in millionths."""


@dataclass(frozen=True)
class Ratings:
    """The ratings of an agent, read once when they are asked for."""

    subject: Subject

    @cached_property
    def summaries(self) -> Sequence[Any]:
        """The sums by registry, side and tag, at the head."""
        return _summaries(len(self.subject.kinds)).records(self.subject.as_of.connection, self.subject.parameters)

    @cached_property
    def entries(self) -> list[Entry]:
        """The ratings one by one. Many are refused with HistoryTooLongError."""
        return entries(self.subject.as_of, self.subject.kinds, self.subject.history.agent_id)

    def total(self, side: str, tag: str) -> Counted:
        """Return the ratings by everybody at the head."""
        rows = [row for row in self.summaries if (row.side, row.tag) == (side, tag)]
        sums = zip(*((row.number, row.counterparts, row.share_sum) for row in rows), strict=True)
        return Counted(*map(sum, sums))

    def tallies(self, side: str, tag: str, raters: Collection[str]) -> dict[Rater, tuple[int, int]]:
        """Return the entries of some raters at the head."""
        tallies = {}
        for part in in_parts(sorted(raters)):
            size = size_for(part)
            tallies.update(self._tallies(side, tag, size, spread("account", part, size)))
        return tallies

    def all_tallies(self, side: str, tag: str, limit: int) -> dict[Rater, tuple[int, int]] | None:
        """Return the entries of all raters at the head; None if there are more raters than the limit."""
        tallies = self._tallies(side, tag, 0, {"limit": limit + 1})
        return None if len(tallies) > limit else tallies

    def _tallies(self, side: str, tag: str, size: int, values: dict[str, Any]) -> dict[Rater, tuple[int, int]]:
        statement = _tallies(len(self.subject.kinds), size)
        values = {**self.subject.parameters, "side": side, "tag": tag, **values}
        rows = statement.records(self.subject.as_of.connection, values)
        return {(row.registry, row.account): (row.number, row.share_sum) for row in rows}


@lru_cache
def _summaries(registries: int) -> Prepared:
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
    if ratings.subject.as_of.is_head:
        lines = [
            _line(row.registry, row.side, row.tag, row.number, row.counterparts, row.value_sum, row.share_sum)
            for row in ratings.summaries
        ]
    else:
        lines = []
        by_key: dict[tuple[str, str, str], list[Entry]] = defaultdict(list)
        for entry in ratings.entries:
            by_key[entry.key].append(entry)
        for (registry, side, tag), entries in by_key.items():
            counted = Counted.of(entry_tallies(entries, side, tag))
            value_sum = sum(entry.value * 10 ** (DECIMALS - entry.decimals) for entry in entries)
            lines.append(_line(registry, side, tag, counted.count, counted.raters, value_sum, counted.share_sum))
    lines.sort(key=lambda line: (line.side, -line.raters, line.tag, line.registry))
    by_side = ([line for line in lines if line.side == side] for side in (SERVER, CLIENT, VALIDATOR))
    return tuple(line for of_side in by_side for line in of_side[:MOST_LINES])


def analysed(
    findings: Findings | None, as_of: AsOfBlock, subject: Subject | None, side: Side, accounts: Collection[str]
) -> tuple[FoundFindings, Standing | None, str | None]:
    """Return findings about accounts, the standing behind a decision, and why no current analysis stands behind it.

    A standing counts only with the analysis that counts at the block. Clients without ratings need none.
    """
    if findings is None:
        return FoundFindings(), None, None
    stored, standing = findings(as_of.connection, as_of, sorted(accounts)), None
    if not stored.analysis:
        return stored, None, "No trust analysis has weighed the ratings yet."
    if subject is not None:
        place = as_of.chain_id, subject.identity, subject.history.agent_id
        standing = stored_standing(as_of.connection, *place, side)
    if standing is None and side == Side.SERVER:
        return stored, None, "No trust analysis has seen the agent yet."
    if as_of.is_head and as_of.analysis is None:
        state = standings_states(as_of.connection, as_of.chain_id).get(as_of.chain_id)
        if state is not None and state.is_stale:
            return stored, standing, f"The last trust analysis is {(state.age or 0) / 60:.0f} minutes old."
    return stored, standing, None


def counted(by_rater: Tallies, total_of_all: Counted | None, own: Tallies, trusted: Collection[str] | None) -> Counted:
    """Return the ratings that count."""
    of_own, everybody = Counted.of(own), total_of_all or Counted.of(by_rater)
    if trusted is None and total_of_all is not None:
        return Counted(
            everybody.count - of_own.count,
            everybody.raters - of_own.raters,
            everybody.share_sum - of_own.share_sum,
            of_own.count,
        )
    counting = {
        rater: tally
        for rater, tally in by_rater.items()
        if rater not in own and (trusted is None or rater[1] in trusted)
    }
    result = Counted.of(counting)
    return replace(result, own=of_own.count, left_out=everybody.count - of_own.count - result.count)


def _line(  # noqa: PLR0913, PLR0917  # the sums of a summary
    registry: str, side: str, tag: str, count: int, raters: int, value_sum: int, share_sum: int
) -> Line:
    mean = Decimal(f"{int(value_sum) * 10_000 // (_UNIT * int(count))}e-4")  # exact for any number of digits
    rating = bound = None
    if scale_of_tag(tag) is not None:
        rating, bound = mean_percent(int(share_sum), int(raters)), bound_percent(int(share_sum), int(raters))
    return Line(registry, side, tag, int(count), int(raters), mean, rating, bound)


def validations(subject: Subject, validators: Collection[str]) -> ValidationFacts:
    """Return the validations of an agent by some validators, or by all if none is named."""
    addresses = [address for address, kind in subject.kinds.items() if kind == VALIDATION]
    ordered = sorted(validators)
    parameters = subject.parameters | spread("registry", addresses, len(addresses))
    parameters |= spread("validator", ordered, size_for(ordered))
    statement = _newest_answers(len(addresses), size_for(ordered) if ordered else 0)
    last: dict[tuple[str, bytes], Any] = {}
    for row in statement.records(subject.as_of.connection, parameters) if addresses else ():
        last.setdefault((row.registry, bytes(row.request_hash)), row)
    answers = list(last.values())
    return ValidationFacts(
        count=len(answers),
        validators=len({row.validator_address for row in answers}),
        mean=None if not answers else Decimal(sum(row.response for row in answers) * 100 // len(answers)) / 100,
        evidence=tuple(evidence_of("ValidationResponse", row) for row in answers[:_EXAMPLES]),
    )


@lru_cache
def _newest_answers(registries: int, validators: int) -> Prepared:
    answers = _ANSWERS.c
    query = (
        select(*place_of(_ANSWERS), answers.request_hash, answers.response, answers.validator_address)
        .where(covering(_ANSWERS), one_of("registry", answers.registry, registries))
        .where(answers.agent_id == bindparam("agent_id"))
        .order_by(*newest_first(answers))
        .limit(at_most(_MOST_ANSWERS))
    )
    if validators:
        query = query.where(one_of("validator", answers.validator_address, validators))
    return Prepared(query)
