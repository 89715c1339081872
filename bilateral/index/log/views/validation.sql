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
