"""Rating summaries by agent, side and tag, which are updated with each batch.

A batch of events changes each affected summary and counterpart once, in a time that does not depend on the number of
existing entries. All sums are exact integers, so adding and removing entries in any order yields the same rows as
recomputing them. A rollback subtracts the changes caused by the removed events, and needs no copy of previous rows.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import Final, TypeAlias

from sqlalchemy import Connection, Table, delete

from bilateral.core import events as kinds
from bilateral.core.values.bounds import lower_bound, scale_of_tag, share_of_scale, units_of
from bilateral.core.values.summaries import SEALED_SIDES
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import EventRows, stored_batches
from bilateral.index.log.journal import Writes
from bilateral.index.log.projection import Append, Progress, Projection, Removal
from bilateral.index.log.rows import Row, Rows, key_columns, picker, rows_of
from bilateral.index.log.text import key_text, padded_text
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.tables import DECIMALS, SUMMARY_TABLES

_UNITS: Final = [10 ** (DECIMALS - decimals) for decimals in range(DECIMALS + 1)]
_BLOCK: Final = 1
"""The position of the block number in a row. The log index follows it."""

_NOTHING: Final = (0, 0, 0)
"""A counterpart without entries: number of entries, sum of their shares of the scale, sum of their values."""

_FEEDBACK_KEY: Final = ("registry", "agent_id", "client_address", "feedback_index")

SUMMARY_EVENTS: Final = (
    *(kinds.NewFeedback, kinds.FeedbackRevoked, kinds.NewAuthorizedFeedback),
    *(kinds.ClientRated, kinds.ValidatorRated, kinds.RatingsOpened),
)
"""The events from which summaries are derived."""

_NEW, _REVOKED, _AUTHORIZED, _CLIENT, _VALIDATOR, _OPENED = (schema.EVENT_TABLES[event] for event in SUMMARY_EVENTS)
_pick_feedback: Final = {table: picker(table, *_FEEDBACK_KEY) for table in (_NEW, _REVOKED)}
_pick_entry = picker(_NEW, "registry", "agent_id", "tag1", "client_address", "value", "value_decimals")
_pick_authorized = picker(_AUTHORIZED, "registry", "agent_id", "tag1", "client_address", "score")
_pick_client = picker(_CLIENT, "registry", "client_id", "server_id", "rating")
_pick_opened = picker(_OPENED, "registry", "client_id", "server_id", "client", "feedback_index")
_pick_validator = picker(_VALIDATOR, "registry", "validator_id", "server_id", "rating")

SUMMARY_COLUMNS: Final = (
    *("block_number", "log_index", *_FEEDBACK_KEY, "tag1", "value", "value_decimals", "score"),
    *("client_id", "validator_id", "server_id", "rating", "client"),
)
"""The columns of the events from which summaries are derived."""

Subject: TypeAlias = tuple[str, int, str, str]
"""The key of a summary without the chain: registry, agent, side and tag."""

_Openings: TypeAlias = "dict[Row, Row]"
"""Openings of sealed ratings, by block and log index."""


@dataclass(slots=True)
class _Change:
    """The changes to a summary, and to each counterpart's number of entries, sum of shares and sum of values."""

    count: int = 0
    value_sum: int = 0
    counterparts: dict[str, tuple[int, int, int]] = field(default_factory=dict)


class Ratings(Projection):
    """Rating summaries, in total and for each counterpart."""

    name = "ratings"
    tables = derived = SUMMARY_TABLES
    reads = tuple(schema.EVENT_TABLES[event] for event in SUMMARY_EVENTS)

    def derive(self, step: Append) -> None:
        SummaryTables(step.chain_id, step.rows).derive(step.batch.rows)

    def undo(self, removal: Removal) -> Iterator[None]:
        # Process the latest blocks first, so that the tables only pass through states that the chain had.
        removed = removal.connection, removal.chain_id, SUMMARY_EVENTS, removal.target.number + 1
        for _, events in stored_batches(*removed, columns=SUMMARY_COLUMNS, latest_first=True):
            SummaryTables(removal.chain_id, removal.rows).derive(events, sign=-1)
        yield
        yield

    def rebuild(self, connection: Connection, chain_id: int, progress: Progress) -> None:
        for table in SUMMARY_TABLES:
            connection.execute(delete(table).where(table.c.chain_id == chain_id))
        for block, events in stored_batches(connection, chain_id, SUMMARY_EVENTS, columns=SUMMARY_COLUMNS):
            SummaryTables(chain_id, rows_of(connection)).derive(events)
            progress(block)


class SummaryTables:
    """The tables `summary` and `counterpart`, for one batch of events on one chain."""

    def __init__(self, chain_id: int, rows: Rows) -> None:
        self._chain_id = chain_id
        self._rows = rows
        self._changes: dict[Subject, _Change] = defaultdict(_Change)

    def derive(self, events: EventRows, sign: int = 1) -> None:
        """Update the tables with new events, or undo events that the event tables still contain."""
        opened = {row[_BLOCK : _BLOCK + 2]: _pick_opened(row) for row in events.get(_OPENED, ())}
        for row in events.get(_NEW, ()):
            if (entry := _pick_entry(row))[-1] <= DECIMALS:
                self._add_feedback(entry, sign, is_sealed=_opens_feedback(opened, row))
        for row in events.get(_AUTHORIZED, ()):
            registry, agent_id, raw_tag, client, score = _pick_authorized(row)
            self._add((registry, agent_id, "server", _text_of(raw_tag)), client, score, 0, sign)
        for table, pick, side in ((_CLIENT, _pick_client, "client"), (_VALIDATOR, _pick_validator, "validator")):
            for row in events.get(table, ()):
                registry, agent_id, server_id, rating = pick(row)
                is_sealed = side in SEALED_SIDES and _opens_rating(opened, row)
                for name in (side, SEALED_SIDES[side]) if is_sealed else (side,):
                    self._add((registry, agent_id, name, ""), f"agent {server_id}", rating, 0, sign)
        self._revoke(self._revoked(events), opened, -sign)
        self._write()

    def _add_feedback(self, entry: Row, sign: int, *, is_sealed: bool) -> None:
        registry, agent_id, tag, client, value, decimals = entry
        for side in ("server", SEALED_SIDES["server"]) if is_sealed else ("server",):
            self._add((registry, agent_id, side, key_text(tag)), client, value, decimals, sign)

    def _revoke(self, revoked: list[Row], opened: _Openings, sign: int) -> None:
        """Subtract revoked feedback, which this or an earlier batch added. Earlier openings are read from tables."""
        if not revoked:
            return
        places = [(self._chain_id, row[_BLOCK], row[_BLOCK + 1] + 1) for row in revoked]
        stored = self._rows.select(_OPENED, ("chain_id", "block_number", "log_index"), places)
        existing = {row[_BLOCK : _BLOCK + 2]: _pick_opened(row) for row in stored} | opened
        for row in revoked:
            self._add_feedback(_pick_entry(row), sign, is_sealed=_opens_feedback(existing, row))

    def _add(self, subject: Subject, account: str, value: int, decimals: int, sign: int) -> None:
        change = self._changes[subject]
        share, units = _share(subject[3], value, decimals)
        change.count += sign
        change.value_sum += sign * value * _UNITS[decimals]
        count, shares, sum_of_units = change.counterparts.get(account, _NOTHING)
        change.counterparts[account] = count + sign, shares + sign * share, sum_of_units + sign * units

    def _revoked(self, events: EventRows) -> list[Row]:
        """Return the rows of the feedback that is revoked by the given events."""
        # A standard registry assigns each index once, and revokes it at most once, afterwards. For other registries, a
        # revocation removes the latest feedback with its index, if that feedback still counts.
        of_batch = {table: events.get(table, ()) for table in (_NEW, _REVOKED)}
        keys = {_pick_feedback[_REVOKED](row) for row in of_batch[_REVOKED]}
        if not keys:
            return []
        first = min(rows[0][_BLOCK] for rows in of_batch.values() if rows)
        requested = [(self._chain_id, *key) for key in keys]
        history: list[tuple[Row, Table, Row]] = []
        for table, pick in _pick_feedback.items():
            # The tables may also contain the events of the batch, and later events.
            stored = self._rows.select(table, ("chain_id", *_FEEDBACK_KEY), requested)
            relevant = [row for row in stored if row[_BLOCK] < first]
            relevant += [row for row in of_batch[table] if pick(row) in keys]
            history += [(row[_BLOCK : _BLOCK + 2], table, row) for row in relevant]
        newest: dict[Row, Row] = {}
        removed = []
        for place, table, row in sorted(history, key=itemgetter(0)):
            key = _pick_feedback[table](row)
            if table is _REVOKED:
                previous = newest.pop(key, None)
                if previous is not None and place[0] >= first:
                    removed.append(previous)
            elif _pick_entry(row)[-1] <= DECIMALS:
                newest[key] = row
        return removed

    def _existing(self, table: Table, keys: list[Row]) -> dict[Row, Row]:
        columns = key_columns(table)
        return {row[: len(columns)]: row for row in self._rows.select(table, columns, keys)}

    def _write(self) -> None:
        chain_id, changes = self._chain_id, dict(sorted(self._changes.items()))  # in the order of the tables' pages
        self._changes = defaultdict(_Change)
        previous_summaries = self._existing(rating_tables.summary, [(chain_id, *subject) for subject in changes])
        # A summary counts its counterparts' entries, so without a summary there are no counterparts.
        existing_keys = (key for subject in changes if (key := (chain_id, *subject)) in previous_summaries)
        accounts = [(*key, account) for key in existing_keys for account in changes[key[1:]].counterparts]
        previous_counterparts = self._existing(rating_tables.counterpart, accounts)
        summaries = Writes(self._rows, rating_tables.summary)
        counterparts = Writes(self._rows, rating_tables.counterpart)
        for subject, change in changes.items():
            key = (chain_id, *subject)
            _, _, _, _, _, count, number, value_sum, share_sum = previous_summaries.get(key, (*key, 0, 0, 0, 0))[:9]
            for account, (added, added_shares, added_units) in change.counterparts.items():
                account_key = (*key, account)
                existing = previous_counterparts.get(account_key)
                before, shares, units = _NOTHING if existing is None else existing[6:]
                after, new_shares = before + added, shares + added_shares
                if before:
                    share_sum -= shares // before
                    number -= 1
                if after:
                    share_sum += new_shares // after
                    number += 1
                if added or added_shares or added_units:
                    row = (*account_key, after, new_shares, units + added_units) if after else None
                    counterparts.add(account_key, existing, row)
            count += change.count
            value_sum += change.value_sum
            scale = scale_of_tag(subject[3])
            bound = None if scale is None or not count else lower_bound(share_sum, number, scale)
            sums = count, number, value_sum, share_sum
            values = (*key, *sums, value_sum / (_UNITS[0] * count), bound) if count else None
            summaries.add(key, previous_summaries.get(key), values)
        summaries.write()
        counterparts.write()


def _opens_feedback(opened: _Openings, row: Row) -> bool:
    """Return True if the log directly after feedback is its opening, which shows that the feedback was sealed."""
    # A third-party registry may emit any opening, but can only mark its own feedback.
    opening = opened.get((row[_BLOCK], row[_BLOCK + 1] + 1))
    if opening is None:
        return False
    return bool((opening[0], *opening[2:]) == _pick_feedback[_NEW](row))


def _opens_rating(opened: _Openings, row: Row) -> bool:
    """Return True if an opening follows a rating of a client, directly or after feedback that was opened with it."""
    registry, client_id, server_id, _ = _pick_client(row)
    places = ((row[_BLOCK], row[_BLOCK + 1] + distance) for distance in (1, 2))
    return any(opened[place][:3] == (registry, client_id, server_id) for place in places if place in opened)


@lru_cache(maxsize=1 << 12)
def _share(tag: str, value: int, decimals: int) -> tuple[int, int]:
    """Return a value's share of its tag's scale (0 for a tag without a scale), and the value in millionths."""
    scale = scale_of_tag(tag)
    return 0 if scale is None else share_of_scale(value, decimals, scale), units_of(value, decimals)


_text_of = lru_cache(maxsize=1 << 12)(padded_text)
