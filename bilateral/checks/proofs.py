"""Ratings that count by the way in which they were given: with a claim of payment, or blind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select, tuple_

from bilateral.checks.entries import SERVER
from bilateral.checks.seen_files import sights
from bilateral.core.events import ClientRated, NewFeedback
from bilateral.index.files import tables as schema
from bilateral.index.log.lists import in_parts
from bilateral.index.log.tables import EVENT_TABLES
from bilateral.index.ratings.blind import is_blind_feedback, is_blind_rating

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import Connection

    from bilateral.checks.as_of_block import Moment
    from bilateral.checks.entries import Entry


def with_payment_proof(
    connection: Connection, moment: Moment, entries: Sequence[Entry], payees: Collection[str]
) -> list[Entry]:
    """Return the feedback whose file claims a payment by its client to the agent.

    The file's hash is on chain, or its URI proves it, so its author cannot change it. The claim is not compared with
    the payments in the index: it names a transaction that anybody can look up.

    Args:
        entries: The feedback.
        payees: All accounts that ever were the agent's owner or wallet.
    """
    accepted = {account.lower() for account in payees}
    claims: dict[tuple[int, int], Any] = {}
    named, read = schema.file_reference, schema.feedback_file
    for part in in_parts(map(_place, entries)):
        references = connection.execute(
            select(named.c.block_number, named.c.log_index, named.c.file_id).where(
                named.c.chain_id == moment.chain_id,
                tuple_(named.c.block_number, named.c.log_index).in_(part),
                named.c.file_id.is_not(None),
            )
        ).all()
        seen = sights(connection, moment, {bytes(row.file_id) for row in references})
        hashes = {sight.content_hash for sight in seen.values() if sight.integrity is not None}
        payments = {
            bytes(row.content_hash): row
            for row in connection.execute(
                select(read.c.content_hash, read.c.payment_from, read.c.payment_to, read.c.payment_transaction).where(
                    read.c.content_hash.in_([hash_ for hash_ in hashes if hash_ is not None])
                )
            )
        }
        for row in references:
            sight = seen.get(bytes(row.file_id))
            if sight is not None and sight.content_hash in payments and sight.integrity is not None:
                claims[row.block_number, row.log_index] = payments[sight.content_hash]
    return [
        entry
        for entry in entries
        if (claim := claims.get((entry.row.block_number, entry.row.log_index))) is not None
        and claim.payment_transaction
        and _account(claim.payment_from) == entry.rater.lower()
        and _account(claim.payment_to) in accepted
    ]


def only_blind(connection: Connection, moment: Moment, entries: Sequence[Entry], side: str) -> list[Entry]:
    """Return the ratings that were sealed before either side saw the other's.

    Args:
        moment: The moment. An opening is in the block of its ratings, so each rating is as it was then.
        entries: The ratings.
        side: The agent's part: `server` or `client`.
    """
    event, condition = (NewFeedback, is_blind_feedback) if side == SERVER else (ClientRated, is_blind_rating)
    table = EVENT_TABLES[event]
    blind: set[tuple[int, int]] = set()
    for part in in_parts(map(_place, entries)):
        query = select(table.c.block_number, table.c.log_index).where(
            table.c.chain_id == moment.chain_id,
            tuple_(table.c.block_number, table.c.log_index).in_(part),
            condition(table),
        )
        blind |= {tuple(row) for row in connection.execute(query)}
    return [entry for entry in entries if _place(entry) in blind]


def _place(entry: Entry) -> tuple[int, int]:
    return entry.row.block_number, entry.row.log_index


def _account(text: str | None) -> str:
    """Return the address of an account, which files write with its chain or without."""
    return (text or "").rpartition(":")[2].lower()
