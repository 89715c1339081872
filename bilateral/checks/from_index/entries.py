"""Ratings of an agent as of a block, one by one from the events, and those that count by how they were given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any, Final, TypeAlias

from sqlalchemy import bindparam, select, tuple_

from bilateral.checks.errors import HistoryTooLongError
from bilateral.checks.from_index.as_of_block import AUTHORIZED, OPEN_REGISTRIES, AsOfBlock, covering
from bilateral.checks.from_index.files import observations
from bilateral.core.events import ClientRated, FeedbackRevoked, NewAuthorizedFeedback, NewFeedback, ValidatorRated
from bilateral.core.values.bounds import scale_of_tag, share_of_scale
from bilateral.index.files import tables as files
from bilateral.index.log import tables as schema
from bilateral.index.log.lists import in_parts
from bilateral.index.log.text import key_text, padded_text
from bilateral.index.ratings.blind import is_blind_feedback, is_blind_rating
from bilateral.index.ratings.tables import DECIMALS
from bilateral.index.reading.prepared import Prepared

SERVER: Final = "server"
CLIENT: Final = "client"
VALIDATOR: Final = "validator"

MOST_ENTRIES: Final = 100_000
"""Ratings that one check reads one by one."""

Rater: TypeAlias = tuple[str, str]
"""A registry, and an account or `agent N` that rates in it. Whoever rates in two registries counts in each."""

_FEEDBACK, _REVOKED, _AUTHORIZED, _CLIENT, _VALIDATOR = (
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


def entries(as_of: AsOfBlock, kinds: Mapping[str, str], agent_id: int, since: int | None = None) -> list[Entry]:
    """Return the ratings of an agent that hold as of a block, one by one, in the order of the chain."""
    placed: list[tuple[tuple[int, int], Entry]] = []
    for address, kind in kinds.items():
        if kind in OPEN_REGISTRIES:
            placed += _open_entries(as_of, address, agent_id)
            for table, event, side, subject in (
                (_CLIENT, "ClientRated", CLIENT, "client_id"),
                (_VALIDATOR, "ValidatorRated", VALIDATOR, "validator_id"),
            ):
                for row in _bounded(as_of, address, _of_agent(table.name, subject), agent_id):
                    entry = Entry(event, address, side, "", f"agent {row.server_id}", row.rating, 0, row)
                    placed.append(((row.block_number, row.log_index), entry))
        elif kind == AUTHORIZED:
            for row in _bounded(as_of, address, _of_agent(_AUTHORIZED.name, "agent_id"), agent_id):
                tag = padded_text(bytes(row.tag1))
                entry = Entry("NewFeedback", address, SERVER, tag, row.client_address, row.score, 0, row)
                placed.append(((row.block_number, row.log_index), entry))
    if len(placed) > MOST_ENTRIES:
        raise HistoryTooLongError("ratings", MOST_ENTRIES)
    placed.sort(key=itemgetter(0))
    return [entry for _, entry in placed if since is None or entry.row.block_time >= since]


def without_repeats(entries: Iterable[Entry], limit: int, period: int) -> list[Entry]:
    """Return the first ratings of each rater in each period, for each side and tag."""
    counting, numbers = [], Counter[tuple[object, ...]]()
    for entry in entries:
        key = entry.registry, entry.side, entry.tag, entry.rater, entry.row.block_time // period
        numbers[key] += 1
        if numbers[key] <= limit:
            counting.append(entry)
    return counting


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


def _open_entries(as_of: AsOfBlock, registry: str, agent_id: int) -> list[tuple[tuple[int, int], Entry]]:
    """Return the feedback of an open registry that is not revoked as of the block.

    A revocation removes the latest feedback with its index, if that still counts, as in the derived tables.
    """
    placed: dict[tuple[str, int], tuple[tuple[int, int], Any]] = {}
    history: list[tuple[tuple[int, int], bool, Any]] = []
    for table, is_revocation in ((_FEEDBACK, False), (_REVOKED, True)):
        rows = _bounded(as_of, registry, _of_agent(table.name, "agent_id"), agent_id)
        history += [((row.block_number, row.log_index), is_revocation, row) for row in rows]
    history.sort(key=itemgetter(0))
    feedback: list[tuple[tuple[int, int], Any]] = []
    removed: set[tuple[int, int]] = set()
    for place, is_revocation, row in history:
        key = row.client_address, int(row.feedback_index)
        if is_revocation:
            previous = placed.pop(key, None)
            if previous is not None:
                removed.add(previous[0])
        elif row.value_decimals <= DECIMALS:
            placed[key] = place, row
            feedback.append((place, row))
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
        for place, row in feedback
        if place not in removed
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


def _bounded(as_of: AsOfBlock, registry: str, statement: Prepared, agent_id: int) -> list[Any]:
    """Return the rows of a statement of `_of_agent`."""
    parameters = {**as_of.bounds, "registry": registry, "agent_id": agent_id, "limit": MOST_ENTRIES + 1}
    rows = statement.records(as_of.connection, parameters)
    if len(rows) > MOST_ENTRIES:
        raise HistoryTooLongError("ratings", MOST_ENTRIES)
    return rows


def with_payment_proof(as_of: AsOfBlock, entries: Sequence[Entry], payees: Collection[str]) -> list[Entry]:
    """Return the feedback whose file claims a payment by its client to the agent.

    The file's hash is on chain, or its URI proves it, so its author cannot change it. The claim is not compared with
    the payments in the index: it names a transaction that anybody can look up.
    """
    accepted = {account.lower() for account in payees}
    claims: dict[tuple[int, int], Any] = {}
    reference, read = files.file_reference, files.feedback_file
    for part in in_parts(map(_place, entries)):
        references = as_of.connection.execute(
            select(reference.c.block_number, reference.c.log_index, reference.c.file_id).where(
                reference.c.chain_id == as_of.chain_id,
                tuple_(reference.c.block_number, reference.c.log_index).in_(part),
                reference.c.file_id.is_not(None),
            )
        ).all()
        seen_files = observations(as_of, {bytes(row.file_id) for row in references})
        hashes = {file.content_hash for file in seen_files.values() if file.integrity is not None}
        payments = {
            bytes(row.content_hash): row
            for row in as_of.connection.execute(
                select(read.c.content_hash, read.c.payment_from, read.c.payment_to, read.c.payment_transaction).where(
                    read.c.content_hash.in_([hash_ for hash_ in hashes if hash_ is not None])
                )
            )
        }
        for row in references:
            file = seen_files.get(bytes(row.file_id))
            if file is not None and file.content_hash in payments and file.integrity is not None:
                claims[row.block_number, row.log_index] = payments[file.content_hash]
    return [
        entry
        for entry in entries
        if (claim := claims.get((entry.row.block_number, entry.row.log_index))) is not None
        and claim.payment_transaction
        and _account(claim.payment_from) == entry.rater.lower()
        and _account(claim.payment_to) in accepted
    ]


def only_blind(as_of: AsOfBlock, entries: Sequence[Entry], side: str) -> list[Entry]:
    """Return the ratings that were sealed before either side saw the other's."""
    event, condition = (NewFeedback, is_blind_feedback) if side == SERVER else (ClientRated, is_blind_rating)
    table = schema.EVENT_TABLES[event]
    blind: set[tuple[int, int]] = set()
    for part in in_parts(map(_place, entries)):
        query = select(table.c.block_number, table.c.log_index).where(
            table.c.chain_id == as_of.chain_id,
            tuple_(table.c.block_number, table.c.log_index).in_(part),
            condition(table),
        )
        blind |= {tuple(row) for row in as_of.connection.execute(query)}
    return [entry for entry in entries if _place(entry) in blind]


def _place(entry: Entry) -> tuple[int, int]:
    return entry.row.block_number, entry.row.log_index


def _account(text: str | None) -> str:
    """Return the address of an account, which files write with its chain or without."""
    return (text or "").rpartition(":")[2].lower()
