"""The events that become feedback and ratings of an analysis: their queries, and the columns that they are kept in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
from sqlalchemy import Connection, text

from bilateral.index.log.columns import python_integer
from bilateral.index.standing.kept import LARGEST_ID, Events
from bilateral.index.standing.tables import AnalysisKey

NOBODY: Final = "0x" + "00" * 20
"""The account that agents come from and go to if nobody has them, and that an approval names to end another."""

OF_REGISTRY: Final = (
    "registry IN (SELECT address FROM registry WHERE chain_id = :chain_id AND identity_registry = :identity)"
)
"""The condition that a row of events is of a registry that belongs to the identity registry."""

_WITHOUT_FUNDING: Final = f"""
    SELECT account, coalesce(min(acted), min(received)) FROM (
      SELECT from_address AS account, block_number AS acted, block_number AS received FROM transfer
       WHERE chain_id = :chain_id AND registry = :identity AND from_address <> :nobody
      UNION ALL
      SELECT to_address, CASE WHEN from_address = :nobody THEN block_number END, block_number FROM transfer
       WHERE chain_id = :chain_id AND registry = :identity AND to_address <> :nobody
      UNION ALL
      SELECT wallet, registered_block, registered_block FROM agent
       WHERE chain_id = :chain_id AND identity_registry = :identity AND wallet IS NOT NULL
      UNION ALL
      SELECT client_address, block_number, block_number
        FROM new_feedback WHERE chain_id = :chain_id AND {OF_REGISTRY}
      UNION ALL
      SELECT client_address, block_number, block_number
        FROM new_authorized_feedback WHERE chain_id = :chain_id AND {OF_REGISTRY}
      UNION ALL
      SELECT validator_address, block_number, block_number
        FROM validation_response WHERE chain_id = :chain_id AND {OF_REGISTRY}
    ) acting
    WHERE NOT EXISTS (
      SELECT 1 FROM funding WHERE funding.chain_id = :chain_id AND funding.account = acting.account)
    GROUP BY account ORDER BY 2, 1
"""  # noqa: S608  # constants only


def accounts_without_funding(connection: Connection, key: AnalysisKey) -> dict[str, int]:
    """Return the accounts whose first inbound transfer was not looked for yet, and the block in which each acted first.

    An account acts by registering an agent or giving one away, as an agent's wallet, or by giving feedback or
    validating. Anybody can give it an agent, so the block of such a gift counts only if it did nothing else.
    """
    values = {"chain_id": key.chain_id, "identity": key.identity_registry, "nobody": NOBODY}
    return {account: int(block) for account, block in connection.execute(text(_WITHOUT_FUNDING), values)}


_FEEDBACK: Final = {
    "client": pa.string(),
    "agent_id": pa.int64(),
    "value": pa.float64(),
    "tag": pa.string(),
    "ts": pa.float64(),
}


def _feedback(row: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return the columns of a feedback, of either kind of registry."""
    event, client, agent_id, value, decimals, tag, time, block, log, hash_ = row
    agent = python_integer(agent_id)
    if agent > LARGEST_ID:
        return None
    amount = python_integer(value) / 10 ** int(decimals)
    return client, agent, amount, _text_of(tag), float(time), event, block, log, bytes(hash_)


def _rating(row: Sequence[Any]) -> tuple[Any, ...] | None:
    side, agent_id, server_id, rating, is_blind, time, block, log, hash_ = row
    agent, server = python_integer(agent_id), python_integer(server_id)
    if max(agent, server) > LARGEST_ID:
        return None
    return side, agent, server, float(rating), bool(is_blind), float(time), f"{side}_rated", block, log, bytes(hash_)


def _text_of(tag: str | bytes | memoryview) -> str:
    """Return a tag as text: authorised feedback fills it up with zeros to 32 bytes."""
    if isinstance(tag, str):
        return tag
    return bytes(tag).rstrip(b"\0").decode(errors="replace")


FEEDBACK: Final = Events(
    f"""
    SELECT 'new_feedback', client_address, agent_id, value, value_decimals, tag1, block_time, block_number, log_index,
           transaction_hash
    FROM feedback WHERE chain_id = :chain_id AND {OF_REGISTRY} AND NOT is_revoked AND {{later}}
    ORDER BY block_number, log_index
    """,  # noqa: S608  # constants only
    tables=("new_feedback",),
    ended_by="feedback_revoked",
    columns=_FEEDBACK,
    convert=_feedback,
)
AUTHORIZED_FEEDBACK: Final = Events(
    f"""
    SELECT 'new_authorized_feedback', client_address, agent_id, score, 0, tag1, block_time, block_number, log_index,
           transaction_hash
    FROM new_authorized_feedback WHERE chain_id = :chain_id AND {OF_REGISTRY} AND {{later}}
    ORDER BY block_number, log_index
    """,  # noqa: S608
    tables=("new_authorized_feedback",),
    ended_by=None,
    columns=_FEEDBACK,
    convert=_feedback,
)
RATINGS: Final = Events(
    f"""
    SELECT side, agent_id, server_id, rating, is_blind, block_time, block_number, log_index, transaction_hash
    FROM rating WHERE chain_id = :chain_id AND {OF_REGISTRY} AND {{later}} ORDER BY block_number, log_index
    """,  # noqa: S608
    tables=("client_rated", "validator_rated"),
    ended_by=None,
    columns={
        "kind": pa.string(),
        "agent_id": pa.int64(),
        "server_id": pa.int64(),
        "rating": pa.float64(),
        "blind": pa.bool_(),
        "ts": pa.float64(),
    },
    convert=_rating,
)
