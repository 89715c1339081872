// Asks the service through the published SDK for Node, and prints the answers as JSON. It runs in the environment of
// interop/package-lock.json. Arguments: the service's URL, the node's URL, the addresses of the
// identity and the reputation registry, of a client, and of an agent's wallet.
import { SDK } from 'agent0-sdk';

const CHAIN = 31337;
const [service, node, IDENTITY, REPUTATION, client, wallet] = process.argv.slice(2);
const sdk = new SDK({
  chainId: CHAIN,
  rpcUrl: node,
  subgraphOverrides: { [CHAIN]: `${service}/graphql/${CHAIN}` },
  registryOverrides: { [CHAIN]: { IDENTITY, REPUTATION } },
});

const found = async (filters = {}, options = {}) =>
  (await sdk.searchAgents({ chains: [CHAIN], ...filters }, options)).map((it) => it.agentId).sort();
const given = async (filters) =>
  (await sdk.searchFeedback(filters)).map((it) => it.value).sort((one, other) => one - other);

const agent = await sdk.getAgent('31337:1');
// The SDK learns the address of the reputation registry here, and getFeedback needs it.
const reputation = await sdk.getReputationSummary('31337:1');
const feedback = await sdk.getFeedback('31337:1', client, 13);
const answers = {
  all: await found(),
  name: await found({ name: 'WEATHER' }),
  description: await found({ description: 'forty languages' }),
  mcp: await found({ hasMCP: true }),
  a2a: await found({ hasA2A: true, a2aContains: 'translate.example' }),
  web: await found({ webContains: 'weather.example' }),
  oasf: await found({ hasOASF: true }),
  tools: await found({ mcpTools: ['forecast', 'nothing'] }),
  skills: await found({ a2aSkills: ['translate'] }),
  'oasf skills': await found({ oasfSkills: ['images/generation'], oasfDomains: ['media'] }),
  trust: await found({ supportedTrust: ['crypto-economic'] }),
  active: await found({ active: true }),
  inactive: await found({ active: false }),
  x402: await found({ x402support: true }),
  owner: await found({ owners: [agent.owners[0]] }),
  wallet: await found({ walletAddress: wallet }),
  'without a file': await found({ hasRegistrationFile: false }),
  'metadata key': await found({ hasMetadataKey: 'category' }),
  'metadata value': await found({ metadataValue: { key: 'category', value: 'weather' } }),
  since: await found({ registeredAtFrom: new Date(1000), updatedAtTo: new Date(4102444800000) }),
  rated: await found({ feedback: { hasFeedback: true } }),
  unrated: await found({ feedback: { hasNoFeedback: true } }),
  'rated well': await found({ feedback: { minValue: 80, tag: 'starred', minCount: 2 } }),
  'rated by': await found({ feedback: { fromReviewers: [client] } }),
  'by name': (await sdk.searchAgents({ chains: [CHAIN] }, { sort: ['name:asc'] })).map((it) => it.name),
  agent: {
    agentId: agent.agentId,
    name: agent.name,
    mcpTools: agent.mcpTools,
    active: agent.active,
    x402support: agent.x402support,
    mcp: agent.mcp,
  },
  feedback: { value: feedback.value, tags: feedback.tags },
  'feedback of agent': await given({ agentId: '31337:1' }),
  'feedback of agents': await given({ agents: ['31337:2', '31337:3'] }),
  'feedback by client': await given({ reviewers: [client] }),
  'feedback with tag': await given({ agentId: '31337:1', tags: ['starred'] }),
  reputation,
};
console.log(JSON.stringify(answers));
