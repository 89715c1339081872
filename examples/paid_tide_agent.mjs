/** A tide agent that is paid by x402 and signs each answer. */
import { readFileSync } from "node:fs";
import { HTTPFacilitatorClient, x402ResourceServer } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import express from "express";
import { paid } from "bilateral/x402/express";
import { agent, keyFromEnv, reputation } from "bilateral/x402/server";

const { AGENT_ID, BILATERAL_DEPLOYMENT: record, BILATERAL_RPC_URL: rpc, FACILITATOR_URL, PAY_TO, PORT } = process.env;
const { chainId: id, contracts } = JSON.parse(readFileSync(record, "utf8"));
const registries = {
  IdentityRegistry: contracts.IdentityRegistry.address,
  ReputationRegistry: contracts.BidirectionalReputationRegistry.address,
};
const network = `eip155:${id}`;
const me = agent({ chainId: id, agentId: BigInt(AGENT_ID), registries });
const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: FACILITATOR_URL }))
  .register(network, new ExactEvmScheme())
  .registerExtension(reputation({ key: keyFromEnv("BILATERAL_X402_KEY") }));
const accepts = { scheme: "exact", network, payTo: PAY_TO, price: JSON.parse(process.env.PRICE) };
const sell = paid({ "GET /tide": { accepts, extensions: me.declaration } }, server, {
  preflight: { chains: [{ id, rpc, registries }] },
});
await sell.ready(); // throws if buyers would refuse the agent, its wallet or its key

const app = express();
app.use(sell); // before express.json()
app.get("/tide", (request, response) => response.json({ port: request.query.port, tide: "high" }));
app.listen(PORT, "127.0.0.1");
