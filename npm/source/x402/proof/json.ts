/**
 * Strict decoding of JSON in messages and documents.
 *
 * Decoding is strict, because attackers can exploit readers that disagree about a message: no duplicate names, at most
 * 64 levels, only exactly representable numbers, no lone surrogates. `JSON.parse` checks only the syntax.
 */
import { MalformedDocumentError } from "../errors.js";
import type { Problem } from "../problems.js";
import { utf8Text } from "./bytes.js";

/** A JSON object. Numbers are `number`; integers that a `number` cannot represent exactly are `bigint`. */
export type JsonObject = { [name: string]: unknown };

/** The maximum number of nesting levels in a document. */
export const MAX_DEPTH = 64;

const MAX_DIGITS = 4300; // of a whole number, the limit of Python
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}]|[^\s",:[\]{}]+/g;
const HALF_PAIR = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** A number written with a decimal point or exponent, which a strict reader does not treat as an integer. */
export class Fraction {
  /** @param value The number. */
  constructor(readonly value: number) {}
}

/** Return whether a text contains a lone surrogate, which has no UTF-8 form. */
export function hasHalfPair(text: string): boolean {
  return HALF_PAIR.test(text);
}

/** Return whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Fraction);
}

/** Return a field of an object, if it is the object's own. */
export function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/**
 * Decode a document that consists of a JSON object.
 *
 * @param content Its bytes.
 * @param isExact True to return numbers with a point or an exponent as `Fraction`.
 * @throws {MalformedDocumentError} The document is not such an object.
 */
export function decodeObject(content: Uint8Array, isExact = false): JsonObject {
  const text = utf8Text(content) ?? malformed("documentIsNot", "UTF-8");
  try {
    JSON.parse(text);
  } catch {
    malformed("documentIsNot", "valid JSON");
  }
  const tokens = text.match(TOKENS) ?? []; // the syntax is known to be valid
  let at = 0;
  const next = (depth: number): unknown => {
    const token = tokens[at++] ?? "";
    const isList = token === "[";
    if (!isList && token !== "{") return valueOf(token, isExact);
    if (depth === MAX_DEPTH) malformed("depth", MAX_DEPTH);
    const list: unknown[] = [];
    const fields = new Map<unknown, unknown>();
    for (; tokens[at] !== (isList ? "]" : "}"); ) {
      const part = next(depth + 1);
      if (isList) {
        list.push(part);
        continue;
      }
      if (fields.has(part)) malformed("twice", part as string);
      fields.set(part, next(depth + 1));
    }
    at++;
    return isList ? list : Object.fromEntries(fields); // __proto__ becomes an ordinary field
  };
  const value = next(0);
  return isObject(value) ? value : malformed("documentIsNot", "a JSON object");
}

function malformed(...problem: Problem): never {
  throw new MalformedDocumentError(problem);
}

/** Return the value of a string, number or literal. */
function valueOf(token: string, isExact: boolean): unknown {
  if (token.startsWith('"')) {
    const text: string = token.includes("\\") ? JSON.parse(token) : token.slice(1, -1);
    if (hasHalfPair(text)) malformed("surrogate");
    return text;
  }
  const value: unknown = JSON.parse(token);
  if (typeof value !== "number") return value;
  if (/[.eE]/.test(token)) {
    if (!Number.isFinite(value)) malformed("large", token);
    return isExact ? new Fraction(value) : value;
  }
  if (token.replace("-", "").length > MAX_DIGITS) malformed("long");
  return Number.isSafeInteger(value) ? value + 0 : BigInt(token);
}
