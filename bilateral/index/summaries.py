"""Summaries of ratings by agent, side and tag, kept up to date event by event.

A summary is changed by adding or removing one entry, in time that does not depend on how many entries there are. All
sums are exact integers, so adding and removing in any order gives the same rows as computing them anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from bilateral.bounds import lower_bound, scale_of_tag, share_of_scale
from bilateral.events import (
    ClientRated,
    Event,
    FeedbackRevoked,
    NewAuthorizedFeedback,
    NewFeedback,
    ValidatorRated,
)
from bilateral.index import schema
from bilateral.index.derived import DerivedTable, Journal
from bilateral.index.text import key_text, storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Table

    from bilateral.index.rows import Row, Rows

_DECIMALS: Final = 18
_UNIT: Final = 10**_DECIMALS
_NO_SUMMARY: Final = (0, 0, 0, 0)
_FEEDBACK_COLUMNS: Final = ("chain_id", "registry", "agent_id", "client_address", "feedback_index")

_FeedbackKey: TypeAlias = tuple[str, int, str, int]
"""Registry, agent, client and index of a feedback."""


class Subject(NamedTuple):
    """The agent, side and tag that an entry is about: the key of a summary, without the chain.

    Attributes:
        registry: The registry that emitted the entry.
        agent_id: The rated agent.
        side: `server`, `client` or `validator`.
        tag: The tag, `tag1` of feedback, see `key_text`; empty for ratings, which have none.
    """

    registry: str
    agent_id: int
    side: str
    tag: str


class Entry(NamedTuple):
    """One entry of a summary.

    Attributes:
        subject: Its summary.
        counterpart: The address that gave it, or `agent <id>` of the agent that gave it.
        value: The integer of its value.
        decimals: The number of digits of the integer that stand behind the point.
    """

    subject: Subject
    counterpart: str
    value: int
    decimals: int


class SummaryTables:
    """The tables `summary` and `counterpart`, for one batch of events of one chain.

    Args:
        chain_id: The chain.
        journal: The journal of the batch.
    """

    def __init__(self, chain_id: int, journal: Journal) -> None:
        """See the class."""
        self._chain_id = chain_id
        self._summaries = DerivedTable(schema.summary, journal)
        self._counterparts = DerivedTable(schema.counterpart, journal)
        self._given: dict[_FeedbackKey, Entry] = {}
        self._entries: dict[int, Entry] = {}  # by the identity of the event, which the caller keeps

    def load(self, rows: Rows, events: Sequence[Event]) -> None:
        """Read the rows that some events may change, and the feedback that they revoke.

        Args:
            rows: The access to rows.
            events: All events of the batch.
        """
        entries: list[Entry] = []
        revoked: set[_FeedbackKey] = set()
        for event in events:
            if (entry := entry_of(event)) is not None:
                entries.append(entry)
                self._entries[id(event)] = entry
            elif isinstance(event, FeedbackRevoked):
                revoked.add(_feedback_key(event))
        if revoked:
            entries += self._load_given(rows, revoked, before=events[0].position.block_number)
        self._summaries.load(rows, {(self._chain_id, *entry.subject) for entry in entries})
        self._counterparts.load(rows, {(self._chain_id, *it.subject, it.counterpart) for it in entries})

    def apply(self, events: Iterable[Event]) -> None:
        """Apply events in their order. They are those that were given to `load`."""
        for event in events:
            if (entry := self._entries.get(id(event))) is not None:
                self._count(entry, 1)
                if isinstance(event, NewFeedback):
                    self._given[_feedback_key(event)] = entry
            elif isinstance(event, FeedbackRevoked) and (given := self._given.pop(_feedback_key(event), None)):
                self._count(given, -1)

    def write(self, rows: Rows) -> None:
        """Write what has changed."""
        self._summaries.write(rows)
        self._counterparts.write(rows)

    def _load_given(self, rows: Rows, keys: set[_FeedbackKey], before: int) -> list[Entry]:
        """Read feedback of earlier batches that a revocation would remove.

        A registry of the standard gives each index once, and revokes it once, afterwards. Others may do as they like:
        a revocation removes the latest feedback with its index, if that still counts.
        """
        wanted = [(self._chain_id, *key) for key in keys]
        given, revoked = schema.EVENT_TABLES[NewFeedback], schema.EVENT_TABLES[FeedbackRevoked]
        history = [(row[1:3], given, row) for row in rows.select(given, _FEEDBACK_COLUMNS, wanted)]
        history += [(row[1:3], revoked, row) for row in rows.select(revoked, _FEEDBACK_COLUMNS, wanted)]
        for (number, _), table, row in sorted(history, key=lambda it: it[0]):
            if number >= before:  # tables are rebuilt, and hold what comes later too
                break
            key = _key_in(table, row)
            if table is revoked:
                self._given.pop(key, None)
                continue
            found = dict(zip(table.c.keys(), row, strict=True))
            if found["value_decimals"] <= _DECIMALS:
                subject = Subject(key[0], key[1], "server", key_text(found["tag1"]))
                self._given[key] = Entry(subject, key[2], found["value"], found["value_decimals"])
        return list(self._given.values())

    def _count(self, entry: Entry, sign: int) -> None:
        """Add an entry (sign 1), or remove it (-1)."""
        subject = (self._chain_id, *entry.subject)
        scale = scale_of_tag(entry.subject.tag)
        share = 0 if scale is None else share_of_scale(entry.value, entry.decimals, scale)
        known = self._counterparts.get((*subject, entry.counterpart))
        count, shares = (0, 0) if known is None else known[-2:]
        new_count, new_shares = count + sign, shares + sign * share
        self._counterparts.set((*subject, entry.counterpart), (new_count, new_shares) if new_count else None)
        change = _mean(new_shares, new_count) - _mean(shares, count)
        row = self._summaries.get(subject)
        total, counterparts, value_sum, share_sum = _NO_SUMMARY if row is None else row[5:9]
        total += sign
        counterparts += (new_count > 0) - (count > 0)
        value_sum += sign * entry.value * 10 ** (_DECIMALS - entry.decimals)
        share_sum += change
        self._summaries.set(subject, _summary(total, counterparts, value_sum, share_sum, scale))


def entry_of(event: Event) -> Entry | None:
    """Return the entry that an event adds to a summary; None if it adds none.

    A feedback with more than 18 decimals, which no registry of the standard accepts, is left out.
    """
    address = event.position.address
    match event:
        case NewFeedback() if event.value_decimals <= _DECIMALS:
            subject = Subject(address, event.agent_id, "server", key_text(storable(event.tag1)))
            return Entry(subject, event.client_address, event.value, event.value_decimals)
        case NewAuthorizedFeedback():
            tag = event.tag1.rstrip(b"\0").decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
            return Entry(Subject(address, event.agent_id, "server", tag), event.client_address, event.score, 0)
        case ClientRated():
            return Entry(Subject(address, event.client_id, "client", ""), f"agent {event.server_id}", event.rating, 0)
        case ValidatorRated():
            subject = Subject(address, event.validator_id, "validator", "")
            return Entry(subject, f"agent {event.server_id}", event.rating, 0)
    return None


def _key_in(table: Table, row: Row) -> _FeedbackKey:
    """Return the feedback that a row is about."""
    names = list(table.c.keys())
    registry, agent_id, client, index = (row[names.index(name)] for name in _FEEDBACK_COLUMNS[1:])
    return registry, agent_id, client, index


def _feedback_key(event: NewFeedback | FeedbackRevoked) -> _FeedbackKey:
    """Return the registry, agent, client and index of a feedback."""
    return event.position.address, event.agent_id, event.client_address, event.feedback_index


def _mean(shares: int, count: int) -> int:
    """Return the mean share of one counterpart, cut to an integer; 0 for no entry."""
    return shares // count if count else 0


def _summary(
    count: int, counterparts: int, value_sum: int, share_sum: int, scale: tuple[int, int] | None
) -> Row | None:
    """Return the values of a summary's row; None without entries."""
    if not count:
        return None
    bound = None if scale is None else lower_bound(share_sum, counterparts, scale)
    return count, counterparts, value_sum, share_sum, value_sum / (_UNIT * count), bound
