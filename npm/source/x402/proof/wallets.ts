/** Wallets, listed as services in the agent's registration file, on chains other than that of its identity. */
import { TrustError } from "../errors.js";
import type { Chains, ChainReader } from "./chains.js";
import type { ChainId } from "./identifiers.js";
import type { AgentRegistration } from "./messages.js";
import { isOfAgent, readRegistrationFile, serviceWallet } from "./registration.js";

/** Return an agent's wallet on a chain. */
export async function walletOn(
  chains: Chains,
  reader: ChainReader,
  registration: AgentRegistration,
  chain: ChainId,
  own: string,
): Promise<string> {
  const uri = await reader.uri(registration.agent);
  let wallet = "";
  if (uri) {
    const document = await chains.load(uri);
    const isAuthentic = document.integrity !== null || /^https:/i.test(document.uri);
    const file = isAuthentic ? readRegistrationFile(document.content) : null;
    if (file === null || !isOfAgent(file, registration.agent)) {
      throw new TrustError("cannot_check", "the registration file is not authentic, or does not belong to the agent");
    }
    wallet = serviceWallet(file, chain);
  }
  const expected = wallet || (reader.chain === chain ? own : "");
  if (!expected) throw new TrustError("no_wallet_on_network", `the agent declares no wallet on ${chain}`);
  return expected;
}
