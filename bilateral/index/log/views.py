"""The views of events: the present state that needs no table of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

VIEWS: Final[Mapping[str, str]] = {
    "companion_agent": """
        SELECT chosen.chain_id, chosen.identity_registry AS directory, agent.identity_registry, chosen.account,
               chosen.agent_id
        FROM primary_agent chosen
        JOIN registry
          ON registry.chain_id = chosen.chain_id AND registry.address = chosen.identity_registry
         AND registry.kind = 'CompanionDirectory'
        JOIN agent
          ON agent.chain_id = chosen.chain_id AND agent.identity_registry = registry.identity_registry
         AND agent.agent_id = chosen.agent_id AND (agent.owner = chosen.account OR agent.wallet = chosen.account)
    """,
    "feedback": """
        SELECT given.*, revoked.block_number AS revoked_block, revoked.chain_id IS NOT NULL AS is_revoked,
               EXISTS (
                 SELECT 1 FROM ratings_opened opened
                 WHERE opened.chain_id = given.chain_id AND opened.block_number = given.block_number
                   AND opened.log_index = given.log_index + 1 AND opened.registry = given.registry
                   AND opened.server_id = given.agent_id AND opened.client = given.client_address
                   AND opened.feedback_index = given.feedback_index) AS is_blind
        FROM new_feedback given
        LEFT JOIN feedback_revoked revoked
          ON revoked.chain_id = given.chain_id AND revoked.registry = given.registry
         AND revoked.agent_id = given.agent_id AND revoked.client_address = given.client_address
         AND revoked.feedback_index = given.feedback_index
         AND (+revoked.block_number, revoked.log_index) > (given.block_number, given.log_index)
         AND NOT EXISTS (
           SELECT 1 FROM feedback_revoked earlier
           WHERE earlier.chain_id = given.chain_id AND earlier.registry = given.registry
             AND earlier.agent_id = given.agent_id AND earlier.client_address = given.client_address
             AND earlier.feedback_index = given.feedback_index
             AND (+earlier.block_number, earlier.log_index) > (given.block_number, given.log_index)
             AND (+earlier.block_number, earlier.log_index) < (revoked.block_number, revoked.log_index))
         AND NOT EXISTS (
           SELECT 1 FROM new_feedback again
           WHERE again.chain_id = given.chain_id AND again.registry = given.registry
             AND again.agent_id = given.agent_id AND again.client_address = given.client_address
             AND again.feedback_index = given.feedback_index
             AND (+again.block_number, again.log_index) > (given.block_number, given.log_index)
             AND (+again.block_number, again.log_index) < (revoked.block_number, revoked.log_index))
    """,
    "rating": """
        SELECT chain_id, registry, 'client' AS side, client_id AS agent_id, server_id, rating,
               block_number, log_index, block_time, transaction_hash,
               EXISTS (
                 SELECT 1 FROM ratings_opened opened
                 WHERE opened.chain_id = rated.chain_id AND opened.block_number = rated.block_number
                   AND opened.log_index IN (rated.log_index + 1, rated.log_index + 2)
                   AND opened.registry = rated.registry AND opened.client_id = rated.client_id
                   AND opened.server_id = rated.server_id) AS is_blind
        FROM client_rated rated
        UNION ALL
        SELECT chain_id, registry, 'validator', validator_id, server_id, rating,
               block_number, log_index, block_time, transaction_hash, FALSE FROM validator_rated
    """,
    "sealed_pair": """
        SELECT sealed.chain_id, sealed.registry, sealed.client_id, sealed.server_id, sealed.interaction,
               sealed.block_number, sealed.log_index, sealed.block_time, sealed.transaction_hash,
               opened.client AS client_address, opened.feedback_index, opened.block_time AS feedback_opened_at,
               rated.block_time AS rating_opened_at,
               CASE WHEN opened.chain_id IS NULL AND rated.chain_id IS NULL THEN 'sealed'
                    WHEN opened.chain_id IS NULL OR rated.chain_id IS NULL THEN 'withheld'
                    ELSE 'opened' END AS state
        FROM ratings_sealed sealed
        LEFT JOIN ratings_opened opened
          ON opened.chain_id = sealed.chain_id AND opened.registry = sealed.registry
         AND opened.client_id = sealed.client_id AND opened.server_id = sealed.server_id
         AND opened.interaction = sealed.interaction AND opened.feedback_index <> 0
         AND (opened.block_number, opened.log_index) > (sealed.block_number, sealed.log_index)
        LEFT JOIN client_rated rated
          ON rated.chain_id = sealed.chain_id AND rated.registry = sealed.registry
         AND rated.client_id = sealed.client_id AND rated.server_id = sealed.server_id
         AND (rated.block_number, rated.log_index) > (sealed.block_number, sealed.log_index)
    """,
    "validation": """
        SELECT requested.chain_id, requested.registry, requested.request_hash, requested.agent_id,
               requested.validator_address, requested.request_uri, requested.block_number AS requested_block,
               requested.block_time AS requested_at, answered.response, answered.response_uri,
               answered.response_hash, answered.tag, answered.block_number AS answered_block,
               answered.block_time AS answered_at
        FROM validation_request requested
        LEFT JOIN validation_response answered
          ON answered.chain_id = requested.chain_id AND answered.registry = requested.registry
         AND answered.request_hash = requested.request_hash
         AND NOT EXISTS (
           SELECT 1 FROM validation_response later
           WHERE later.chain_id = answered.chain_id AND later.registry = answered.registry
             AND later.request_hash = answered.request_hash
             AND (later.block_number, later.log_index) > (answered.block_number, answered.log_index))
    """,
}
"""The text of each view, by its name."""
