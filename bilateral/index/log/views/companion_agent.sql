SELECT chosen.chain_id, chosen.identity_registry AS directory, agent.identity_registry, chosen.account,
       chosen.agent_id
FROM primary_agent chosen
JOIN registry
  ON registry.chain_id = chosen.chain_id AND registry.address = chosen.identity_registry
 AND registry.kind = 'CompanionDirectory'
JOIN agent
  ON agent.chain_id = chosen.chain_id AND agent.identity_registry = registry.identity_registry
 AND agent.agent_id = chosen.agent_id AND (agent.owner = chosen.account OR agent.wallet = chosen.account)
