/** Strict parsing of message fields. */
import { InvalidMessageError, MalformedIdentifierError, quoted } from "../errors.js";
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
  if (value === null || value === undefined) return new InvalidMessageError(name, "missing", `the ${subject} is missing`);
  const kind = Array.isArray(value) ? "list" : typeof value;
  return new InvalidMessageError(name, "wrong_type", `expected ${expected}, not a ${kind}`);
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
  if (length > limit) {
    throw new InvalidMessageError(path + name, "too_long", `the text exceeds the limit of ${limit} characters`);
  }
  if (!value) throw new InvalidMessageError(path + name, "malformed", "the text is empty");
  return value;
}

/** Return an absolute URI, or null if the field is missing. */
export function optionalUri(fields: JsonObject, name: string): string | null {
  const field = fieldOf(fields, name);
  if (field === null || field === undefined) return null;
  const value = text(fields, name, "", MAX_URI);
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]+/.test(value) || !/^[\x21-\x7e]*$/.test(value) || hasOddBrackets(value)) {
    throw new InvalidMessageError(name, "malformed", `${quoted(value)} is not an absolute URI`);
  }
  return value;
}

/** Return whether a URI's host has only one of the two brackets of an IPv6 address. */
function hasOddBrackets(uri: string): boolean {
  const host = /^[^:]*:\/\/([^/?#]*)/.exec(uri)?.[1] ?? "";
  return host.includes("[") !== host.includes("]");
}

/** Return a required number of seconds. JavaScript may write 1.0 for 1. */
export function whole(fields: JsonObject, name: string): number {
  const value = fieldOf(fields, name);
  if (typeof value !== "bigint" && !Number.isInteger(value)) throw notA("a whole number", value, name);
  const number = Number(value);
  if (number < 0 || number >= MAX_SECONDS) throw new InvalidMessageError(name, "malformed", "the number is out of range");
  return number;
}

/** Return bytes from hexadecimal digits, with or without 0x. */
export function hexadecimal(fields: JsonObject, name: string, ...lengths: readonly number[]): Uint8Array {
  const content = unhex(text(fields, name).replace(/^0x/, ""));
  if (content === null || !lengths.includes(content.length)) {
    throw new InvalidMessageError(name, "malformed", `expected ${lengths.join(" or ")} bytes in hexadecimal digits`);
  }
  return content;
}

/** Return a chain (CAIP-2). */
export function chain(fields: JsonObject, name: string): ChainId {
  return identifier(fields, name, "", parseChain);
}

/** Return an account (CAIP-10). */
export function account(fields: JsonObject, name: string, path = ""): AccountId {
  return identifier(fields, name, path, parseAccount);
}

/** Return an agent in a registry. */
export function agent(registry: AccountId, fields: JsonObject, name: string, path = ""): GlobalAgentId {
  return identifier(fields, name, path, (value) => agentOf(registry, value));
}

/** Return a transaction. */
export function transaction(fields: JsonObject, name: string): TransactionRef {
  return identifier(fields, name, "", parseTransaction);
}

function identifier<T>(fields: JsonObject, name: string, path: string, parse: (value: string) => T): T {
  const value = text(fields, name, path);
  try {
    return parse(value);
  } catch (error) {
    if (!(error instanceof MalformedIdentifierError)) throw error;
    throw new InvalidMessageError(path + name, error.isChecksum ? "wrong_case" : "malformed", error.message);
  }
}
