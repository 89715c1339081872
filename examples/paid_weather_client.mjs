/** A client that checks a weather agent, pays it, verifies the signed answer and gives feedback. */
import { readFileSync } from "node:fs";
import { createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { trustedFetch, verificationOf } from "bilateral/x402";
import { giveFeedback } from "bilateral/x402/feedback";

const { BILATERAL_DEPLOYMENT: record, BILATERAL_PRIVATE_KEY: key, BILATERAL_RPC_URL: rpc, TOKEN: asset } = process.env;
const { chainId: id, contracts } = JSON.parse(readFileSync(record, "utf8"));
const registries = {
  IdentityRegistry: contracts.IdentityRegistry.address,
  ReputationRegistry: contracts.BidirectionalReputationRegistry.address,
};
const account = privateKeyToAccount(key);
const spending = { allowedAssets: [{ network: `eip155:${id}`, asset }] };
const buy = trustedFetch({ account, chains: [{ id, rpc, registries }], spending });

const response = await buy(process.argv[2]);
const proof = verificationOf(response);
if (!proof?.isVerified) throw new Error(proof?.problems.join("\n") ?? "nothing was paid");
console.log(await response.text());

const wallet = createWalletClient({ account, chain: { ...foundry, id }, transport: http(rpc) });
await giveFeedback(wallet, { proof, value: 95 });
