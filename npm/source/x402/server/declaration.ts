/** Declarations for a route's extensions. */
import { explained } from "../problems.js";
import { registriesOf } from "../proof/chains.js";
import type { JsonObject } from "../proof/json.js";
import { PROFILE_8004, REPUTATION_8004 } from "../proof/messages.js";

/** An agent that sells. */
export interface AgentOptions {
  readonly chainId: number;
  readonly agentId: bigint | number;
  /** The agent's registries; the built-in ones of the chain by default. */
  readonly registries?: { readonly IdentityRegistry: string; readonly ReputationRegistry: string };
  /** The URL of the service. */
  readonly endpoint?: string;
  /** The URL of a service that sends signed feedback and pays the gas. */
  readonly feedbackAggregator?: string;
  /** True to deliver answers for which a route with the scheme `upto` charges nothing, without a proof. */
  readonly freeAnswers?: boolean;
}

/** An agent with its declaration for a route's `extensions`. */
export interface SellingAgent {
  readonly chainId: number;
  readonly agentId: bigint;
  /** The declaration, with `payment-identifier`, which lets clients fetch lost answers. */
  readonly declaration: Record<string, unknown>;
}

/**
 * Describe the agent that sells.
 *
 * @param options The agent and its declaration's options.
 * @throws {InvalidArgumentError} The chain has no built-in registries, and none were passed.
 * @throws {InvalidMessageError} A field is malformed.
 */
export function agent(options: AgentOptions): SellingAgent {
  const { chainId, endpoint, feedbackAggregator, freeAnswers } = options;
  const registries = registriesOf(chainId, options.registries);
  const agentId = BigInt(options.agentId);
  const info = {
    version: "1.0.0",
    registrations: [
      {
        agentRegistry: `eip155:${chainId}:${registries.IdentityRegistry}`,
        agentId: agentId.toString(),
        reputationRegistry: `eip155:${chainId}:${registries.ReputationRegistry}`,
      },
    ],
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(feedbackAggregator === undefined ? {} : { feedbackAggregator }),
    ...(freeAnswers ? { freeAnswers } : {}),
  };
  try {
    PROFILE_8004.infoOf({ info });
  } catch (error) {
    throw explained(error);
  }
  const declaration = {
    [REPUTATION_8004]: { info, schema: SCHEMA },
    "payment-identifier": { info: { required: false }, schema: IDENTIFIER_SCHEMA },
  };
  return { chainId, agentId, declaration };
}

const TEXT = { type: "string" };
const URI = { type: "string", format: "uri" };
const DRAFT = "https://json-schema.org/draft/2020-12/schema";
const NAMES = ["agentRegistry", "agentId", "reputationRegistry"];

/** The specification's schema, as in the Python package's declaration. */
const SCHEMA: JsonObject = {
  $schema: DRAFT,
  type: "object",
  properties: {
    version: { type: "string", pattern: "^\\d+\\.\\d+\\.\\d+$" },
    registrations: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        properties: { agentRegistry: TEXT, agentId: TEXT, reputationRegistry: TEXT },
        required: NAMES,
      },
    },
    endpoint: URI,
    feedbackAggregator: URI,
  },
  required: ["version", "registrations"],
};

const IDENTIFIER_SCHEMA: JsonObject = {
  $schema: DRAFT,
  type: "object",
  properties: {
    required: { type: "boolean" },
    id: { type: "string", minLength: 16, maxLength: 128, pattern: "^[a-zA-Z0-9_-]+$" },
  },
  required: ["required"],
};
