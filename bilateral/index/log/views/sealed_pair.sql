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
