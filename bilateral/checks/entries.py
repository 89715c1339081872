"""Ratings of an agent as of a block, one by one from the events."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sqlalchemy import bindparam, select

from bilateral.checks.as_of_block import AUTHORIZED, OPEN_REGISTRIES, covering
from bilateral.checks.errors import HistoryTooLongError
from bilateral.core.events import ClientRated, FeedbackRevoked, NewAuthorizedFeedback, NewFeedback, ValidatorRated
from bilateral.core.values.bounds import scale_of_tag, share_of_scale
from bilateral.index.log import tables as schema
from bilateral.index.log.text import key_text, padded_text
from bilateral.index.ratings.tables import DECIMALS
from bilateral.index.reading.prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from bilateral.checks.as_of_block import Moment

SERVER: Final = "server"
CLIENT: Final = "client"
VALIDATOR: Final = "validator"

MOST_ENTRIES: Final = 100_000
"""Ratings that one check reads one by one."""

Rater: TypeAlias = tuple[str, str]
"""A registry, and an account or `agent N` that rates in it. Whoever rates in two registries counts in each."""

_GIVEN, _REVOKED, _AUTHORIZED, _CLIENT, _VALIDATOR = (
    schema.EVENT_TABLES[event]
    for event in (NewFeedback, FeedbackRevoked, NewAuthorizedFeedback, ClientRated, ValidatorRated)
)


@dataclass(frozen=True)
class Entry:
    """A rating that holds as of the block.

    Attributes:
        event: The name of its event.
        side: The agent's part.
        tag: The tag, in the form of the tables' keys.
        rater: The account that gave it, or `agent N`.
        value: The value, an integer.
        decimals: The number of its decimals.
        row: The row of the event.
    """

    event: str
    registry: str
    side: str
    tag: str
    rater: str
    value: int
    decimals: int
    row: Any

    @property
    def share(self) -> int:
        """The share of the tag's scale in millionths; 0 for a tag without a scale."""
        scale = scale_of_tag(self.tag)
        return 0 if scale is None else share_of_scale(self.value, self.decimals, scale)


def entries(
    connection: Connection, moment: Moment, kinds: Mapping[str, str], agent_id: int, since: int | None = None
) -> list[Entry]:
    """Return the ratings of an agent that hold as of a block, one by one, in the order of the chain.

    Args:
        kinds: The registries of the agent's identity registry with their kinds.
        since: Only ratings from this time on, in Unix seconds.

    Raises:
        HistoryTooLongError: There are too many.
    """
    placed: list[tuple[tuple[int, int], Entry]] = []
    for address, kind in kinds.items():
        if kind in OPEN_REGISTRIES:
            placed += _open_entries(connection, moment, address, agent_id)
            for table, event, side, subject in (
                (_CLIENT, "ClientRated", CLIENT, "client_id"),
                (_VALIDATOR, "ValidatorRated", VALIDATOR, "validator_id"),
            ):
                for row in _bounded(connection, moment, address, _of_agent(table.name, subject), agent_id):
                    entry = Entry(event, address, side, "", f"agent {row.server_id}", row.rating, 0, row)
                    placed.append(((row.block_number, row.log_index), entry))
        elif kind == AUTHORIZED:
            for row in _bounded(connection, moment, address, _of_agent(_AUTHORIZED.name, "agent_id"), agent_id):
                tag = padded_text(bytes(row.tag1))
                entry = Entry("NewFeedback", address, SERVER, tag, row.client_address, row.score, 0, row)
                placed.append(((row.block_number, row.log_index), entry))
    if len(placed) > MOST_ENTRIES:
        raise HistoryTooLongError("ratings", MOST_ENTRIES)
    placed.sort(key=itemgetter(0))
    return [entry for _, entry in placed if since is None or entry.row.block_time >= since]


def without_repeats(entries: Iterable[Entry], limit: int, period: int) -> list[Entry]:
    """Return the first ratings of each rater in each period, for each side and tag.

    Args:
        entries: The ratings, in the order of the chain.
        limit: The ratings of a rater that count in a period.
        period: The length of the periods, in seconds of Unix time.
    """
    kept, numbers = [], Counter[tuple[object, ...]]()
    for entry in entries:
        key = entry.registry, entry.side, entry.tag, entry.rater, entry.row.block_time // period
        numbers[key] += 1
        if numbers[key] <= limit:
            kept.append(entry)
    return kept


def entry_tallies(entries: Iterable[Entry], side: str, tag: str) -> dict[Rater, tuple[int, int]]:
    """Return the entries of each rater among some ratings, for one side and tag."""
    result: dict[Rater, tuple[int, int]] = {}
    for entry in entries:
        if entry.side == side and entry.tag == tag:
            key = entry.registry, entry.rater
            count, shares = result.get(key, (0, 0))
            result[key] = count + 1, shares + entry.share
    return result


_COLUMNS: Final = (
    *("block_number", "log_index", "block_time", "transaction_hash", "registry", "agent_id", "client_address"),
    *("feedback_index", "value", "value_decimals", "tag1", "score", "server_id", "rating"),
)


def _open_entries(
    connection: Connection, moment: Moment, registry: str, agent_id: int
) -> list[tuple[tuple[int, int], Entry]]:
    """Return the feedback of an open registry that is not revoked as of the block.

    A revocation removes the latest feedback with its index, if that still counts, as in the derived tables.
    """
    placed: dict[tuple[str, int], tuple[tuple[int, int], Any]] = {}
    history: list[tuple[tuple[int, int], bool, Any]] = []
    for table, is_revocation in ((_GIVEN, False), (_REVOKED, True)):
        rows = _bounded(connection, moment, registry, _of_agent(table.name, "agent_id"), agent_id)
        history += [((row.block_number, row.log_index), is_revocation, row) for row in rows]
    history.sort(key=itemgetter(0))
    kept: list[tuple[tuple[int, int], Any]] = []
    gone: set[tuple[int, int]] = set()
    for place, is_revocation, row in history:
        key = row.client_address, int(row.feedback_index)
        if is_revocation:
            former = placed.pop(key, None)
            if former is not None:
                gone.add(former[0])
        elif row.value_decimals <= DECIMALS:
            placed[key] = place, row
            kept.append((place, row))
    return [
        (
            place,
            Entry(
                "NewFeedback",
                registry,
                SERVER,
                key_text(row.tag1),
                row.client_address,
                int(row.value),
                row.value_decimals,
                row,
            ),
        )
        for place, row in kept
        if place not in gone
    ]


@cache
def _of_agent(name: str, subject: str) -> Prepared:
    """Return the statement that reads the events of a registry about an agent by the block."""
    table = schema.metadata.tables[name]
    return Prepared(
        select(*(table.c[column] for column in _COLUMNS if column in table.c))
        .where(covering(table), table.c.registry == bindparam("registry"), table.c[subject] == bindparam("agent_id"))
        .limit(bindparam("limit"))
    )


def _bounded(connection: Connection, moment: Moment, registry: str, statement: Prepared, agent_id: int) -> list[Any]:
    """Return the rows of a statement of `_of_agent`."""
    parameters = {**moment.bounds, "registry": registry, "agent_id": agent_id, "limit": MOST_ENTRIES + 1}
    rows = statement.records(connection, parameters)
    if len(rows) > MOST_ENTRIES:
        raise HistoryTooLongError("ratings", MOST_ENTRIES)
    return rows
