/** Statements in the profile `reputation`, the upstream draft. Loaded with the first one. */
import { InvalidMessageError } from "../errors.js";
import { utf8 } from "./bytes.js";
import * as read from "./fields.js";
import { draftDataHash, draftInteractionHash } from "./hashes.js";
import { REPUTATION_DRAFT } from "./messages.js";
import type { Hashes, InteractionData } from "./statements.js";

const KEY_BYTES: Readonly<Record<string, readonly number[]>> = { ed25519: [32], secp256k1: [33, 65] };

/** Hash a paid interaction. */
export async function draftHashesOf(
  taskRef: string,
  request: Uint8Array,
  target: string,
  response: Uint8Array,
): Promise<Hashes> {
  const data = await draftDataHash(request.length ? request : utf8(target), response);
  return { interaction: draftInteractionHash(taskRef, data), data };
}

/** Read a statement. */
export function draftStatementOf(value: unknown): InteractionData {
  const fields = read.record(value, REPUTATION_DRAFT);
  const agentRegistry = read.account(fields, "agentRegistry");
  const agent = read.agent(agentRegistry, fields, "agentId");
  const payment = read.transaction(fields, "taskRef");
  const algorithm = read.text(fields, "agentSignatureAlgorithm");
  const lengths = Object.hasOwn(KEY_BYTES, algorithm) ? KEY_BYTES[algorithm] : undefined;
  if (lengths === undefined) {
    const problem = `expected ${Object.keys(KEY_BYTES).join(" or ")}`;
    throw new InvalidMessageError("agentSignatureAlgorithm", "malformed", problem);
  }
  return {
    network: payment.chain,
    agentId: agent.agent,
    taskRef: read.text(fields, "taskRef"),
    interactionHash: read.hexadecimal(fields, "interactionHash", 32),
    signature: read.hexadecimal(fields, "agentSignature", 64, 65),
    timestamp: null,
    agentRegistry,
    dataHash: read.hexadecimal(fields, "dataHash", 32),
    publicKey: read.hexadecimal(fields, "agentSignerPublicKey", ...lengths),
    algorithm,
    feedbackEndpoint: read.optionalUri(fields, "feedbackEndpoint"),
    sealedRating: null,
  };
}
