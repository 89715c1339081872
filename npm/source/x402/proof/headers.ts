/** Messages in headers, as JSON objects in base 64. */
import { base64, unbase64, utf8 } from "./bytes.js";
import { decodeObject, type JsonObject } from "./json.js";

/** The maximum length of a header, in characters. */
export const MAX_HEADER: number = 64 * 1024;

/** Decode a header; null if it is missing, malformed, ambiguous or too long. */
export function decodeHeader(value: string | null | undefined): JsonObject | null {
  if (value === null || value === undefined || value.length > MAX_HEADER) return null;
  const content = unbase64(value);
  if (content === null || (content[0] === 0xef && content[1] === 0xbb && content[2] === 0xbf)) return null;
  try {
    return decodeObject(content);
  } catch {
    return null;
  }
}

/** Encode a message for a header. */
export function encodeHeader(message: unknown): string {
  return base64(utf8(JSON.stringify(message)));
}
