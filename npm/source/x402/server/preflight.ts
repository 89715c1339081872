/** Checks of a seller's settings before it accepts payments, because clients reject proofs made with wrong ones. */
import { DocumentError, NodeError, TrustError, X402Error } from "../errors.js";
import { messageOf } from "../problems.js";
import { chainsOf, type TrustTerms } from "../proof/chains.js";
import { load } from "../proof/documents.js";
import { agentText } from "../proof/identifiers.js";
import { PROFILE_8004 } from "../proof/messages.js";
import { isOfAgent, readRegistrationFile, validSigners } from "../proof/registration.js";
import { checkBeforePayment } from "../proof/verify.js";

/** One failed check. */
export interface Finding {
  readonly route: string;
  readonly network: string;
  readonly check: "wallet" | "keys";
  readonly code: string;
  readonly problem: string;
}

/** A seller's own settings are wrong. */
export class PreflightError extends X402Error {
  override readonly name: string = "PreflightError";
  /** @param findings The checks that failed. */
  constructor(readonly findings: readonly Finding[]) {
    super("preflight", findings.map(({ route, check, problem }) => `${route}: ${check}: ${problem}`).join("; "));
  }
}

/** A route, in the form in which it is checked. */
export interface CheckedRoute {
  readonly route: string;
  readonly network: string;
  /** The address that is paid; null if a function returns it for each request. */
  readonly payTo: string | null;
  readonly declaration: unknown;
}

/**
 * Check that the agent of each route exists in trusted registries, that it is paid at its wallet, and that its file
 * lists the signing key.
 *
 * @param trust The chains that clients trust.
 * @param routes The routes that declare the extension.
 * @param publicKey The public key that signs.
 */
export async function examine(trust: TrustTerms, routes: readonly CheckedRoute[], publicKey: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { route, network, payTo, declaration } of routes) {
    const checks = [["keys", () => checkKeys(trust, declaration, network, publicKey)]] as [Finding["check"], () => Promise<unknown>][];
    if (payTo !== null) checks.unshift(["wallet", () => checkBeforePayment(trust, declaration, network, payTo)]);
    for (const [check, run] of checks) {
      try {
        await run();
      } catch (error) {
        const code = error instanceof X402Error ? error.code : "cannot_check";
        findings.push({ route, network, check, code, problem: messageOf(error) });
      }
    }
  }
  return findings;
}

class KeyProblem extends X402Error {}

async function checkKeys(trust: TrustTerms, declaration: unknown, network: string, publicKey: string): Promise<void> {
  const chains = chainsOf(trust);
  const reader = chains.reader(network);
  const { agent } = reader.trustedRegistration(PROFILE_8004.infoOf(declaration));
  try {
    const uri = await reader.uri(agent);
    if (!uri) throw new KeyProblem("file_missing", `agent ${agentText(agent)} has no registration file: set its URI`);
    const document = await load(chains, uri);
    if (document.integrity === null && !/^https:/i.test(document.uri)) {
      throw new KeyProblem("file_not_authentic", "nothing proves that the registration file is authentic");
    }
    const file = readRegistrationFile(document.content);
    if (!isOfAgent(file, agent)) {
      throw new KeyProblem("agent_not_registered", `the registration file does not mention the agent ${agentText(agent)}`);
    }
    const keys = validSigners(file, Date.now() / 1000);
    if (!keys.length) throw new KeyProblem("no_valid_signers", "No valid signers found in the registration file");
    if (!keys.some((listed) => listed.publicKey.toLowerCase() === publicKey.toLowerCase())) {
      throw new KeyProblem("key_not_listed", `the registration file does not list ${publicKey} as valid`);
    }
  } catch (error) {
    if (error instanceof NodeError) throw new TrustError("cannot_check", messageOf(error));
    if (error instanceof DocumentError) throw new KeyProblem("file_not_loaded", messageOf(error));
    throw error;
  }
}

