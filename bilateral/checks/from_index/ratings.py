"""The ratings, validations, trust analysis and watchtower measurements of an agent as of a block.

At the last indexed block (the head), the derived tables are used, so a check takes the same time for any number of
ratings. For an earlier block, or if the policy limits the age of ratings or requires payment proofs, events are read
individually, up to a limit. Both methods yield exactly the same numbers.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any, Final, TypeAlias

from sqlalchemy import and_, bindparam, exists, literal_column, select

from bilateral.checks.endpoint_facts import REACHABLE, Drift, EndpointFacts, MeasurementFacts, Signal
from bilateral.checks.facts import Counted, Line, RegistrationFacts, ValidationFacts, bound_percent, mean_percent
from bilateral.checks.from_index.as_of_block import (
    OPEN_REGISTRIES,
    VALIDATION,
    AsOfBlock,
    Findings,
    covering,
    evidence_of,
    place_of,
)
from bilateral.checks.from_index.entries import CLIENT, SERVER, VALIDATOR, Entry, Rater, entries, entry_tallies
from bilateral.checks.from_index.subjects import Subject
from bilateral.checks.verdicts import DAY, FoundFindings
from bilateral.core.events import FeedbackRevoked, NewFeedback, ValidationResponse
from bilateral.core.values.bounds import scale_of_tag
from bilateral.core.values.standing import Side, Standing
from bilateral.index.log.dialects import in_parts, newest_first, unindexed
from bilateral.index.log.tables import EVENT_TABLES
from bilateral.index.measurements.tables import NO_ENDPOINT, endpoint_change, registration_endpoint
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.tables import DECIMALS
from bilateral.index.reading.prepared import Prepared, at_most, one_of, size_for, spread
from bilateral.index.standing.queries import standings_states, stored_standing

MOST_LINES: Final = 20
"""The maximum number of tags per side that an answer lists."""

_MOST_ANSWERS: Final = 1_000
"""The maximum number of newest validation responses to read, because anyone can request any number of them."""

_EXAMPLES: Final = 3  # examples per reason; enough to understand it
_ANSWERS: Final = EVENT_TABLES[ValidationResponse]
_UNIT: Final = 10**DECIMALS  # the value 1 in the tables' sums

Tallies: TypeAlias = "Mapping[Rater, tuple[int, int]]"
"""Each rater's number of entries, and the sum of the entries' shares in millionths."""


@dataclass(frozen=True)
class Ratings:
    """An agent's ratings, read on first use and then cached."""

    subject: Subject

    @cached_property
    def summaries(self) -> Sequence[Any]:
        """The sums of ratings at the head, for each registry, side and tag."""
        return _summaries(len(self.subject.kinds)).records(self.subject.as_of.connection, self.subject.parameters)

    @cached_property
    def entries(self) -> list[Entry]:
        """The individual ratings. Raises HistoryTooLongError if there are too many."""
        return entries(self.subject.as_of, self.subject.kinds, self.subject.history.agent_id)

    def total(self, side: str, tag: str) -> Counted:
        """Return the sums of all raters' ratings at the head."""
        rows = [row for row in self.summaries if (row.side, row.tag) == (side, tag)]
        sums = zip(*((row.number, row.counterparts, row.share_sum) for row in rows), strict=True)
        return Counted(*map(sum, sums))

    def tallies(self, side: str, tag: str, raters: Collection[str]) -> dict[Rater, tuple[int, int]]:
        """Return the tallies of the specified raters at the head."""
        tallies = {}
        for part in in_parts(sorted(raters)):
            size = size_for(part)
            tallies.update(self._tallies(side, tag, size, spread("account", part, size)))
        return tallies

    def all_tallies(self, side: str, tag: str, limit: int) -> dict[Rater, tuple[int, int]] | None:
        """Return the tallies of all raters at the head; None if there are more raters than the limit."""
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
    # Row objects have a method `count`, so the column needs another name.
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
    """Return the statement that reads entries by the given number of accounts, up to a limit; 0 for all accounts."""
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
    """Return an agent's ratings for each registry, side and tag, starting with those by the most raters."""
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
    """Return the findings about accounts, the agent's standing, and the reason if no current analysis exists.

    A standing counts only if it comes from an analysis that applies to the block. Clients without ratings do not need a
    standing.
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
        return stored, None, "No trust analysis has included the agent yet."
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
    """Summarise an agent's validations by the given validators, or by all validators if none are given."""
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


_MOST_CHANGES: Final = 1_000
"""The maximum number of newest endpoint changes to read per agent. Five unstable endpoints cause fewer per year."""

_MOST_SIGNALS: Final = 200

_SIGNAL_SECONDS: Final = 98 * DAY
"""The maximum age of a signal. Watchtowers that publish only changes still repeat each signal after 13 weeks."""

_CHANGE: Final = endpoint_change.c
_ENDPOINT: Final = registration_endpoint.c
_IS_OF_ANSWER: Final = and_(
    _CHANGE.chain_id == bindparam("chain_id"),
    _CHANGE.seen_block <= bindparam("block"),
    unindexed(_CHANGE.change_id) <= bindparam("measurements"),
)
_MARK: Final = Prepared(
    select(_CHANGE.at, _CHANGE.change_id)
    .where(_IS_OF_ANSWER, _CHANGE.endpoint_id == bindparam("endpoint_id"))
    .order_by(_CHANGE.change_id.desc())
    .limit(at_most(1))
)
_CHANGES: Final = Prepared(
    select(_ENDPOINT.position, _ENDPOINT.protocol, _ENDPOINT.is_probed, *_CHANGE["change_id", "at", "kind"])
    .add_columns(*_CHANGE["old", "new", "code"])
    .select_from(
        registration_endpoint.outerjoin(
            endpoint_change, and_(_CHANGE.endpoint_id == _ENDPOINT.endpoint_id, _IS_OF_ANSWER)
        )
    )
    .where(_ENDPOINT.content_hash == bindparam("content_hash"))
    .order_by(_CHANGE.change_id.desc())
    .limit(at_most(_MOST_CHANGES))
)
_FEEDBACK, _REVOKED = EVENT_TABLES[NewFeedback], EVENT_TABLES[FeedbackRevoked]


def measurements_of(
    subject: Subject, registration: RegistrationFacts | None, watchtowers: Collection[str]
) -> MeasurementFacts | None:
    """Return the measurements for an agent's endpoints; None if neither the index nor the policy has a watchtower."""
    as_of = subject.as_of
    bounds = {**as_of.bounds, "measurements": as_of.newest_measurement}
    mark = _MARK.first(as_of.connection, {**bounds, "endpoint_id": NO_ENDPOINT})
    if mark is None and not watchtowers:
        return None
    at, newest = mark or (None, 0)
    content = None if registration is None else registration.file.content_hash
    rows = _CHANGES.records(as_of.connection, {**bounds, "content_hash": content}) if content else []
    return MeasurementFacts(
        measured_at=at,
        age_seconds=None if at is None else max(0, as_of.seconds_since(at)),
        endpoints=tuple(
            _endpoint(as_of, [row for row in rows if row.position == position])
            for position in sorted({row.position for row in rows})
        ),
        signals=_signals(subject, sorted(watchtowers)) if watchtowers else (),
        newest=max(newest, *(row.change_id or 0 for row in rows), 0),
    )


def _endpoint(as_of: AsOfBlock, rows: Sequence[Any]) -> EndpointFacts:
    """Build an endpoint from its changes, which are sorted from newest to oldest."""
    states = [(json.loads(row.new), row) for row in rows if row.kind == "state"]
    drifts: dict[str, Drift] = {}
    for row in rows:
        if row.kind not in {"state", None} and row.kind not in drifts:
            old, new = (None if text is None else json.loads(text) for text in (row.old, row.new))
            age = as_of.seconds_since(row.at)
            drifts[row.kind] = Drift(row.kind, row.at, age, old, new, rotates=row.code == "rotates")
    state, newest = states[0] if states else (None, None)
    return EndpointFacts(
        protocol=rows[0].protocol,
        state=state,
        code=None if newest is None else newest.code,
        since=None if newest is None else newest.at,
        first_at=states[-1][1].at if states else None,
        was_alive=any(state in REACHABLE for state, _ in states),
        is_probed=rows[0].is_probed,
        drifts=tuple(drifts.values()),
    )


def _signals(subject: Subject, watchtowers: Sequence[str]) -> tuple[Signal, ...]:
    """Return each watchtower's newest `reachable` signal for each endpoint."""
    addresses = [address for address, kind in subject.kinds.items() if kind in OPEN_REGISTRIES]
    size = size_for(watchtowers)
    values = {**subject.parameters, **spread("registry", addresses, len(addresses))}
    statement = _reachable(len(addresses), size)
    newest: dict[tuple[str, str], Any] = {}
    for row in statement.records(subject.as_of.connection, {**values, **spread("watchtower", watchtowers, size)}):
        if subject.as_of.seconds_since(row.block_time) <= _SIGNAL_SECONDS:
            newest.setdefault((row.client_address, row.endpoint), row)
    return tuple(Signal(int(row.value) > 0, evidence_of("NewFeedback", row)) for row in newest.values())


@lru_cache
def _reachable(registries: int, watchtowers: int) -> Prepared:
    given, revoked = _FEEDBACK.c, _REVOKED.c
    key = ("chain_id", "registry", "agent_id", "client_address", "feedback_index")
    is_revoked = exists().where(covering(_REVOKED), *(revoked[name] == given[name] for name in key))
    return Prepared(
        select(*place_of(_FEEDBACK), given.client_address, given.endpoint, given.value)
        .where(covering(_FEEDBACK), one_of("registry", given.registry, registries))
        .where(given.agent_id == bindparam("agent_id"), given.tag1 == literal_column("'reachable'"), ~is_revoked)
        .where(one_of("watchtower", given.client_address, watchtowers))
        .order_by(*newest_first(given))
        .limit(at_most(_MOST_SIGNALS))
    )
