// Buys, verifies, rates and reads on a market by the package, and prints what it found: node buy.mjs
import { readFileSync } from "node:fs";
import { createPublicClient, createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { registries } from "bilateral/registries";
import { trustedFetch, verificationOf } from "bilateral/x402";
import { giveFeedback } from "bilateral/x402/feedback";

const { BILATERAL_RPC_URL: rpc, BILATERAL_DEPLOYMENT: record, WEATHER_URL: url, BUYER_KEY: key, SERVICE_URL: service } = process.env;
const { chainId: id, contracts } = JSON.parse(readFileSync(record, "utf8"));
const address = (name) => contracts[name]?.address;
const addresses = {
  IdentityRegistry: address("IdentityRegistry"),
  ReputationRegistry: address("ReputationRegistry") ?? address("BidirectionalReputationRegistry"),
};
const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
const chain = { id, name: "local", nativeCurrency, rpcUrls: { default: { http: [rpc] } } };
const account = privateKeyToAccount(key);

const buy = trustedFetch({
  account,
  chains: [{ ...chain, registries: addresses }],
  spending: false,
  service,
  onCaution: "pay",
});
const response = await buy(`${url}?city=Bergen`);
const proof = verificationOf(response);
const wallet = createWalletClient({ account, chain, transport: http() });
const reader = createPublicClient({ chain, transport: http() });
await reader.waitForTransactionReceipt({ hash: await giveFeedback(wallet, { proof, value: 95 }) });
const agentId = BigInt(proof.registration.agent.agent);
const summary = await registries(reader, { addresses }).getSummary({ agentId, clients: [account.address] });
console.log(
  JSON.stringify({
    answer: await response.json(),
    isVerified: proof.isVerified,
    problems: proof.problems,
    summary: { count: Number(summary.count), value: Number(summary.value) },
  }),
);
