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
