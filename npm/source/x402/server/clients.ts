/** The gate before a service: decline clients that this server has rated badly, before their payment is settled. */
import { InvalidMessageError, NodeError, X402Error } from "../errors.js";
import { bigintOf, bytesOf, joined } from "../proof/bytes.js";
import { messageOf } from "../problems.js";
import { chainsOf, type TrustTerms } from "../proof/chains.js";
import { agentText, checksummed, isSameRegistry, type GlobalAgentId } from "../proof/identifiers.js";
import type { JsonObject } from "../proof/json.js";
import { clientAgentOf, REPUTATION_8004 } from "../proof/messages.js";
import { addressOf, view } from "../proof/node.js";
import { payerOf } from "../proof/payments.js";
import type { VerifiedClient } from "./exchange.js";

/** The clients that a server serves. */
export interface ClientTerms {
  /** The chains whose registries clients may use. Clients from other registries are declined. */
  readonly trust: TrustTerms;
  /** The server's agent, which rates clients. */
  readonly server: bigint | number;
  /** The minimum rating, given by this server, of a client that it serves, from 0 to 100. */
  readonly minimum: number;
  /** False to serve only clients that this server has rated; true by default. */
  readonly newcomers?: boolean;
  /** True to serve clients that claim no agent; false by default. */
  readonly anonymous?: boolean;
}

/** The reasons to decline a client. */
export type ClientCode =
  | "anonymous_client"
  | "cannot_check"
  | "invalid_client_agent"
  | "low_rating"
  | "not_the_client_agent"
  | "unknown_registry"
  | "unrated_client"
  | "unsupported_network";

/** A client is declined: 403 with the code and the reason, and nothing is settled. */
export class DeclinedClientError extends X402Error {
  override readonly name: string = "DeclinedClientError";
  declare readonly code: ClientCode;

  /**
   * @param code The machine-readable reason.
   * @param message The human-readable reason.
   */
  constructor(code: ClientCode, message: string) {
    super(code, message);
  }
}

/**
 * Check the client that made a payment. Once verified, the payment itself proves that the client is its payer.
 *
 * @param terms The clients that are served.
 * @param payment The payment payload.
 * @returns The client's standing; null if it claims no agent.
 * @throws {DeclinedClientError} The client is not served.
 */
export async function checkClient(terms: ClientTerms, payment: JsonObject): Promise<VerifiedClient | null> {
  const claim = claimOf(payment["extensions"]);
  if (claim === null) {
    if (terms.anonymous) return null;
    throw new DeclinedClientError("anonymous_client", "this service only accepts clients that are registered agents");
  }
  const client = await standingOf(terms, claim, payerOf((payment["payload"] ?? {}) as JsonObject) ?? "");
  if (client.rating === null && terms.newcomers === false) {
    throw new DeclinedClientError("unrated_client", `${agentText(claim)} has no rating from this service`);
  }
  if (client.rating !== null && client.rating < terms.minimum) {
    throw new DeclinedClientError("low_rating", `the rating ${client.rating} is below the minimum ${terms.minimum}`);
  }
  return client;
}

function claimOf(extensions: unknown): GlobalAgentId | null {
  try {
    return clientAgentOf((extensions as JsonObject | undefined)?.[REPUTATION_8004]);
  } catch (error) {
    if (error instanceof InvalidMessageError) throw new DeclinedClientError("invalid_client_agent", messageOf(error));
    throw error;
  }
}

async function standingOf(terms: ClientTerms, agent: GlobalAgentId, payer: string): Promise<VerifiedClient> {
  const network = agent.registry.chain;
  const chains = chainsOf(terms.trust);
  const reader = chains.readerOrNull(network);
  if (!reader) throw new DeclinedClientError("unsupported_network", `client ratings cannot be checked on ${network}`);
  const { identity, reputation, node } = reader;
  if (!isSameRegistry(agent.registry, identity)) {
    throw new DeclinedClientError("unknown_registry", `${agentText(agent)} is not on the allow-list`);
  }
  const token = bytesOf(BigInt(agent.agent), 32);
  try {
    const [owner, wallet, rated] = await Promise.all([
      view(node, identity.address, "ownerOf(uint256)", token),
      view(node, identity.address, "getAgentWallet(uint256)", token),
      view(node, reputation.address, "getClientRating(uint256,uint256)", joined(token, bytesOf(BigInt(terms.server), 32))),
    ]);
    const speakers = [owner, wallet].map((data) => checksummed(addressOf(data)));
    if (!speakers.includes(payer)) {
      throw new DeclinedClientError("not_the_client_agent", `${payer} is not the wallet or owner of ${agentText(agent)}`);
    }
    const rating = bigintOf(rated.subarray(0, 32)) ? Number(bigintOf(rated.subarray(32, 64))) : null;
    return { agent, owner: speakers[0] ?? "", payer, rating };
  } catch (error) {
    if (error instanceof NodeError) throw new DeclinedClientError("cannot_check", messageOf(error));
    throw error;
  }
}
