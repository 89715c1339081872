/** Wallets, listed as services in the agent's registration file, on chains other than that of its identity. */
import { TrustError } from "../errors.js";
import type { Chains, ChainReader } from "./chains.js";
import { load } from "./documents.js";
import { parseAccount, type ChainId, type GlobalAgentId } from "./identifiers.js";
import { isObject, type JsonObject } from "./json.js";
import type { AgentRegistration } from "./messages.js";
import { isOfAgent, readRegistrationFile, type RegistrationFile } from "./registration.js";
import { required } from "./stops.js";

/** The name of a service that is a wallet on another chain. */
const WALLET_SERVICE = "agentWallet";

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
    const document = await load(chains, uri);
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

/** Return the wallet on a payment's chain according to the registration file as of the payment. */
export async function walletThen(
  reader: ChainReader,
  agent: GlobalAgentId,
  block: bigint,
  chain: ChainId,
  loaded: (uri: string) => Promise<RegistrationFile | null>,
): Promise<string> {
  return serviceWallet(required(await loaded(await reader.uri(agent, block)), "file"), chain);
}

/** Return the wallet on a chain that the file lists among its services; empty if there is none. */
function serviceWallet(file: RegistrationFile, chain: ChainId): string {
  for (const endpoint of walletsOf(file.fields)) {
    try {
      const account = parseAccount(endpoint);
      if (account.chain === chain) return account.address;
    } catch {
      // a malformed service is none
    }
  }
  return "";
}

/** Return the endpoints of wallet services, under the current names and the alternatives found in files. */
function walletsOf(file: JsonObject): string[] {
  const listed = [file["services"], file["endpoints"]].find((value) => Array.isArray(value));
  if (!Array.isArray(listed)) return [];
  return listed.slice(0, 500).flatMap((entry) => {
    if (!isObject(entry)) return [];
    const name = firstText(entry, "name", "type", "protocol", "kind");
    const endpoint = firstText(entry, "endpoint", "url", "uri", "value", "href");
    return name === WALLET_SERVICE && endpoint !== null ? [endpoint] : [];
  });
}

function firstText(entry: JsonObject, ...names: readonly string[]): string | null {
  const value = names.map((name) => entry[name]).find((part) => typeof part === "string");
  return typeof value === "string" ? value : null;
}
