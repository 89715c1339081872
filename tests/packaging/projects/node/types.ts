// Compiles only if the types of the package are right: viem infers arguments and results from the ABIs.
import { createPublicClient, http } from "viem";
import { reputationRegistryAbi } from "bilateral/abi";
import { canonicalAddresses } from "bilateral/addresses";
import { registries } from "bilateral/registries";
import { BilateralService, type Check } from "bilateral/service";
import { trustedFetch, verificationOf, type CheckCode, type PayingAccount, type TrustError } from "bilateral/x402";
import { giveFeedback, type WalletLike } from "bilateral/x402/feedback";
import { base } from "viem/chains";

const client = createPublicClient({ transport: http("http://127.0.0.1:8545") });
const address = canonicalAddresses["8453"].ReputationRegistry;

export async function reviewers(): Promise<readonly `0x${string}`[]> {
  return client.readContract({ address, abi: reputationRegistryAbi, functionName: "getClients", args: [247n] });
}

export async function mistyped(): Promise<void> {
  // @ts-expect-error getClients takes a number of 256 bits, not a text
  await client.readContract({ address, abi: reputationRegistryAbi, functionName: "getClients", args: ["247"] });
  // @ts-expect-error there is no such condition
  await new BilateralService("http://127.0.0.1:8004").search({ colour: "blue" });
}

export async function verdict(agent: string): Promise<Check["verdict"]> {
  return (await new BilateralService("http://127.0.0.1:8004").checkServer(agent)).verdict;
}

export async function buys(account: PayingAccount, wallet: WalletLike): Promise<CheckCode | ""> {
  const buy = trustedFetch({ account, chains: [base], policy: { minimum_rating: 70 }, onCaution: "refuse" });
  const proof = verificationOf(await buy("https://agent.example/weather"));
  if (proof?.isVerified) await giveFeedback(wallet, { proof, value: 95 });
  // @ts-expect-error an account signs typed data
  trustedFetch({ account: { address: "0x00" }, chains: [base] });
  // @ts-expect-error the chains are required
  trustedFetch({ account });
  return proof?.checks[0]?.code ?? "";
}

export function explained(error: TrustError): string {
  // @ts-expect-error there is no such code
  if (error.code === "no_such_code") return "never";
  return error.code;
}

export async function rated(): Promise<number | null> {
  const market = registries(createPublicClient({ chain: base, transport: http() }));
  // @ts-expect-error agents are numbers of 256 bits
  await market.getSummary({ agentId: 247 });
  return market.getClientRating({ client: 12n, server: 247n });
}
