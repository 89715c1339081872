/** Statements in the profile `reputation`, the upstream draft. Loaded with the first one. */
import { isEqual, unhex, utf8 } from "./bytes.js";
import * as read from "./fields.js";
import { draftDataHash, draftInteractionHash } from "./hashes.js";
import { pointOf, type Signer } from "./keys.js";
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
  const data = await draftDataHash(request.length ? request : utf8(pathAndQuery(target)), response);
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
    throw read.invalid("agentSignatureAlgorithm", "malformed", "expected", Object.keys(KEY_BYTES).join(" or "));
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

/** Return the request's path and query, without the method and the host. */
function pathAndQuery(target: string): string {
  const url = target.replace(/^[^ ]* ?/, "");
  const parts = /^(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?:\/\/[^/?#]*)?([^?#]*)(\?[^#]*)?/.exec(url);
  const query = parts?.[2] ?? "";
  return (parts?.[1] || "/") + (query === "?" ? "" : query);
}

/** Compare a public key with a listed one. A secp256k1 key may be compressed on either side. */
export function isKey(publicKey: Uint8Array, signer: Signer): boolean {
  const listed = unhex(signer.publicKey);
  if (listed === null) return false;
  if (signer.algorithm === "ed25519") return isEqual(publicKey, listed);
  const point = pointOf(publicKey);
  return point !== null && point === pointOf(listed);
}
