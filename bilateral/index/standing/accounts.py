"""The accounts that act in the registries of an identity registry, and when each acted first."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, text

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

    Args:
        connection: The index's database.
        key: The identity registry.
    """
    values = {"chain_id": key.chain_id, "identity": key.identity_registry, "nobody": NOBODY}
    return {account: int(block) for account, block in connection.execute(text(_WITHOUT_FUNDING), values)}
