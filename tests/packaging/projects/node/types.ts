// Compiles only if the types of the package are right: viem infers arguments and results from the ABIs.
import { createPublicClient, http } from "viem";
import { reputationRegistryAbi } from "bilateral/abi";
import { canonicalAddresses } from "bilateral/addresses";
import { BilateralService, type Check } from "bilateral/service";

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
