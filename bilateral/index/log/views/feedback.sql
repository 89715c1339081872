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
