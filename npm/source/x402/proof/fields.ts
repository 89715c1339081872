/** Strict parsing of message fields. */
import type { FieldFault } from "../codes.js";
import { InvalidMessageError, MalformedIdentifierError } from "../errors.js";
import { unhex } from "./bytes.js";
import {
  agentOf,
  parseAccount,
  parseChain,
  parseTransaction,
  type AccountId,
  type ChainId,
  type GlobalAgentId,
  type TransactionRef,
} from "./identifiers.js";
import { fieldOf, isObject, type JsonObject } from "./json.js";

const MAX_TEXT = 256;
const MAX_URI = 2048;
const MAX_SECONDS = 2 ** 53;

/** Return the error for a value that is missing or has a different type. */
function notA(expected: string, value: unknown, name: string, subject = "field"): InvalidMessageError {
  if (value == null) return invalid(name, "missing", subject);
  return invalid(name, "wrong_type", expected, Array.isArray(value) ? "list" : typeof value);
}

/** Return the error for a field. Its text has the code as its key, and these parts. */
export function invalid(field: string, code: FieldFault, ...parts: readonly (string | number)[]): InvalidMessageError {
  return new InvalidMessageError(field, code, [code, ...parts] as never);
}

export { fieldOf as own };

/** Return a JSON object. */
export function record(value: unknown, name: string): JsonObject {
  if (!isObject(value)) throw notA("an object", value, name, "object");
  return value;
}

/** Return a required list. */
export function list(fields: JsonObject, name: string): unknown[] {
  const value = fieldOf(fields, name);
  if (!Array.isArray(value)) throw notA("a list", value, name);
  return value;
}

/** Return a required string. */
export function text(fields: JsonObject, name: string, path = "", limit: number = MAX_TEXT): string {
  const value = fieldOf(fields, name);
  if (typeof value !== "string") throw notA("a string", value, path + name);
  const length = [...value.slice(0, 2 * limit + 1)].length; // Python counts code points
  if (length > limit) throw invalid(path + name, "too_long", limit);
  if (!value) throw invalid(path + name, "malformed", "emptyText");
  return value;
}

/** Return an absolute URI, or null if the field is missing. */
export function optionalUri(fields: JsonObject, name: string): string | null {
  if (fieldOf(fields, name) == null) return null;
  const value = text(fields, name, "", MAX_URI);
  const host = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]+)/i.exec(value)?.[1];
  const isAbsolute = host && /^[\x21-\x7e]*$/.test(value) && host.includes("[") === host.includes("]");
  if (!isAbsolute) throw invalid(name, "malformed", "uri", value);
  return value;
}

/** Return a required number of seconds. JavaScript may write 1.0 for 1. */
export function whole(fields: JsonObject, name: string): number {
  const value = fieldOf(fields, name);
  if (typeof value !== "bigint" && !Number.isInteger(value)) throw notA("a whole number", value, name);
  const number = Number(value);
  if (number < 0 || number >= MAX_SECONDS) throw invalid(name, "malformed", "range");
  return number;
}

/** Return bytes from hexadecimal digits, with or without 0x. */
export function hexadecimal(fields: JsonObject, name: string, ...lengths: readonly number[]): Uint8Array {
  const content = unhex(text(fields, name).replace(/^0x/, ""));
  if (content === null || !lengths.includes(content.length)) throw invalid(name, "malformed", "digits", lengths.join(" or "));
  return content;
}

/** Return a chain (CAIP-2). */
export function chain(fields: JsonObject, name: string): ChainId {
  return identifier(fields, name, parseChain);
}

/** Return an account (CAIP-10). */
export function account(fields: JsonObject, name: string, path?: string): AccountId {
  return identifier(fields, name, parseAccount, path);
}

/** Return an agent in a registry. */
export function agent(registry: AccountId, fields: JsonObject, name: string, path?: string): GlobalAgentId {
  return identifier(fields, name, (value) => agentOf(registry, value), path);
}

/** Return a transaction. */
export function transaction(fields: JsonObject, name: string): TransactionRef {
  return identifier(fields, name, parseTransaction);
}

function identifier<T>(fields: JsonObject, name: string, parse: (value: string) => T, path = ""): T {
  const value = text(fields, name, path);
  try {
    return parse(value);
  } catch (error) {
    if (!(error instanceof MalformedIdentifierError)) throw error;
    throw new InvalidMessageError(path + name, error.isChecksum ? "wrong_case" : "malformed", ["error", error]);
  }
}
