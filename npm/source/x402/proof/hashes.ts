/** The hashes that agents and clients sign, and canonical JSON (RFC 8785). */
import { keccak_256 } from "@noble/hashes/sha3";
import { InvalidArgumentError } from "../errors.js";
import { bytesOf, joined, utf8 } from "./bytes.js";
import { accountText, type GlobalAgentId } from "./identifiers.js";
import { hasHalfPair } from "./json.js";
import { keccakOf } from "./keccak.js";

/** The text at the start of signed data in the profile `reputation`. */
const DRAFT_DOMAIN = "x402:reputation:v1";

/** The maximum value in signed feedback: the signed message has one byte for it. */
const MAX_SIGNED_VALUE = 255;

/**
 * Hash a paid interaction ("Signature Protocol"), without blocking the event loop for long.
 *
 * The three parts are joined without lengths, so recompute the hash from bodies that you sent and received yourself.
 *
 * @param taskRef The reference of the payment's transaction.
 * @param request The request's body; empty if it has none.
 * @param response The response's body.
 * @returns The keccak-256 hash, 32 bytes.
 */
export function interactionHash(taskRef: string, request: Uint8Array, response: Uint8Array): Promise<Uint8Array> {
  return keccakOf(utf8(taskRef), request, response);
}

/**
 * Hash both bodies in the profile `reputation`. The request's length comes first, so the boundary is signed.
 *
 * @param request The request's body; its path and query if it has no body.
 * @param response The response's body.
 */
export function draftDataHash(request: Uint8Array, response: Uint8Array): Promise<Uint8Array> {
  return keccakOf(bytesOf(BigInt(request.length), 4), request, response);
}

/**
 * Hash a paid interaction in the profile `reputation`.
 *
 * @param taskRef The reference of the payment's transaction.
 * @param dataHash The hash of both bodies, see `draftDataHash`.
 */
export function draftInteractionHash(taskRef: string, dataHash: Uint8Array): Uint8Array {
  return keccak_256(joined(utf8(DRAFT_DOMAIN), utf8(taskRef), dataHash));
}

/**
 * Hash the message that a client signs as its feedback ("Client Signature").
 *
 * @param agent The agent that is rated.
 * @param taskRef The reference of the payment's transaction.
 * @param value The feedback's integer value on chain, from 0 to 255.
 * @throws {InvalidArgumentError} The value does not fit in one byte.
 */
export function clientMessageHash(agent: GlobalAgentId, taskRef: string, value: number): Uint8Array {
  if (!Number.isInteger(value) || value < 0 || value > MAX_SIGNED_VALUE) {
    throw new InvalidArgumentError(`value ${value} is out of range 0..${MAX_SIGNED_VALUE} for signed feedback`);
  }
  const text = `${accountText(agent.registry)}${agent.agent}${taskRef}`;
  return keccak_256(joined(utf8(text), Uint8Array.of(value)));
}

/**
 * Hash the message that a client signs as its feedback in the profile `reputation` ("Reviewer Signature").
 *
 * @param agent The agent that is rated.
 * @param taskRef The reference of the payment's transaction.
 * @param dataHash The hash of both bodies, see `draftDataHash`.
 * @param value The feedback's integer value on chain.
 * @param decimals The number of decimals of the value.
 * @param tags Both tags; either may be empty.
 * @throws {InvalidArgumentError} A tag contains NUL, which separates the fields.
 */
export function draftReviewerHash(
  agent: GlobalAgentId,
  taskRef: string,
  dataHash: Uint8Array,
  value: bigint,
  decimals: number,
  tags: readonly [string, string],
): Uint8Array {
  if (tags.some((tag) => tag.includes("\0"))) {
    throw new InvalidArgumentError("a tag contains NUL, which separates the fields of a signed review");
  }
  const head = utf8([accountText(agent.registry), agent.agent, taskRef, ""].join("\0"));
  const number = joined(bytesOf(BigInt.asUintN(128, value), 16), Uint8Array.of(decimals));
  return keccak_256(joined(head, dataHash, number, utf8(tags.join("\0"))));
}

/** Return the request body of an MCP tool call: its name and arguments as canonical JSON. */
export function toolRequest(name: string, args: Readonly<Record<string, unknown>>): Uint8Array {
  return utf8(canonicalJson({ name, arguments: args }));
}

/** Return the response body of an MCP tool call: its content as canonical JSON, without `_meta`. */
export function toolResponse(content: readonly unknown[], structuredContent?: unknown): Uint8Array {
  return utf8(canonicalJson({ content, ...(structuredContent == null ? {} : { structuredContent }) }));
}

/**
 * Write a value as canonical JSON (RFC 8785).
 *
 * @param value A JSON value.
 * @throws {InvalidArgumentError} The value has no canonical form.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value).sort(([first], [second]) => (first < second ? -1 : 1));
    return `{${fields.map(([name, part]) => `${canonicalJson(name)}:${canonicalJson(part)}`).join(",")}}`;
  }
  const isText = typeof value === "string" && !hasHalfPair(value);
  const isNumber = typeof value === "number" && Number.isFinite(value);
  if (!isText && !isNumber && typeof value !== "boolean" && value !== null) {
    throw new InvalidArgumentError(`a value of type ${typeof value} cannot be encoded as canonical JSON`);
  }
  return JSON.stringify(value);
}
