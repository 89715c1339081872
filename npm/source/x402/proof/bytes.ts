/** Bytes in hexadecimal digits, base 64, base 58 and UTF-8, without `Buffer`. */

const ENCODER = new TextEncoder();
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Return the UTF-8 form of a text. */
export function utf8(text: string): Uint8Array {
  return ENCODER.encode(text);
}

/** Return the text of bytes in UTF-8; null if they are not. A byte order mark at the start is left out. */
export function utf8Text(content: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    return null;
  }
}

/** Return bytes as hexadecimal digits, without 0x. */
export function hex(content: Uint8Array): string {
  let text = "";
  for (const byte of content) text += byte.toString(16).padStart(2, "0");
  return text;
}

/** Return bytes from pairs of hexadecimal digits, without 0x; null if there is anything else. */
export function unhex(digits: string): Uint8Array | null {
  if (digits.length % 2 || !/^[0-9a-fA-F]*$/.test(digits)) return null;
  const content = new Uint8Array(digits.length / 2);
  for (let at = 0; at < content.length; at++) content[at] = Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16);
  return content;
}

/** Return a number of bytes in big endian. */
export function bigintOf(content: Uint8Array): bigint {
  return content.length ? BigInt(`0x${hex(content)}`) : 0n;
}

/** Return a number as bytes in big endian. */
export function bytesOf(value: bigint, length: number): Uint8Array {
  return unhex(value.toString(16).padStart(2 * length, "0")) ?? new Uint8Array();
}

/** Join bytes. */
export function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const content = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    content.set(part, at);
    at += part.length;
  }
  return content;
}

/** Compare bytes. */
export function isEqual(first: Uint8Array, second: Uint8Array): boolean {
  return first.length === second.length && first.every((byte, at) => byte === second[at]);
}

/** Encode bytes in base 64. */
export function base64(content: Uint8Array): string {
  let text = "";
  for (let at = 0; at < content.length; at += 3) {
    const [first = 0, second = 0, third = 0] = content.subarray(at, at + 3);
    const bits = (first << 16) | (second << 8) | third;
    const left = content.length - at;
    text += BASE64.charAt(bits >> 18) + BASE64.charAt((bits >> 12) & 63);
    text += (left > 1 ? BASE64.charAt((bits >> 6) & 63) : "=") + (left > 2 ? BASE64.charAt(bits & 63) : "=");
  }
  return text;
}

/** Decode base 64 in its canonical form: with padding, and without bits or signs that mean nothing. Null otherwise. */
export function unbase64(text: string): Uint8Array | null {
  const content = unbase64Loosely(text);
  return content !== null && base64(content) === text ? content : null;
}

/** Decode base 64 with padding, whatever the bits that mean nothing. Null if it is none. */
export function unbase64Loosely(text: string): Uint8Array | null {
  if (text.length % 4 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null;
  const digits = text.replace(/=+$/, "");
  const content = new Uint8Array(Math.floor((digits.length * 3) / 4));
  let bits = 0;
  let held = 0;
  let at = 0;
  for (let place = 0; place < digits.length; place++) {
    bits = ((bits << 6) | digitOf(digits.charCodeAt(place))) & 0xffffff;
    held += 6;
    if (held >= 8) {
      held -= 8;
      content[at++] = (bits >> held) & 0xff;
    }
  }
  return content;
}

function digitOf(code: number): number {
  if (code >= 97) return code - 71; // a to z
  if (code >= 65) return code - 65; // A to Z
  if (code >= 48) return code + 4; // 0 to 9
  return code === 43 ? 62 : 63; // + and /
}

/** Tell whether a text has digits of base 58 alone. */
export function isBase58(text: string): boolean {
  return /^[1-9A-HJ-NP-Za-km-z]+$/.test(text);
}

/** Decode base 58: one zero byte for each leading 1, then the bytes of the number. */
export function unbase58(text: string): Uint8Array {
  let value = 0n;
  for (const digit of text) value = value * 58n + BigInt(BASE58.indexOf(digit));
  const digits = value === 0n ? "" : value.toString(16);
  const body = unhex(digits.length % 2 ? `0${digits}` : digits) ?? new Uint8Array();
  const zeros = /^1*/.exec(text)?.[0].length ?? 0;
  return joined(new Uint8Array(zeros), body);
}

/** Encode bytes in base 58. */
export function base58(content: Uint8Array): string {
  let text = "";
  for (let value = bigintOf(content); value > 0n; value /= 58n) text = BASE58.charAt(Number(value % 58n)) + text;
  const zeros = content.findIndex((byte) => byte !== 0);
  return "1".repeat(zeros < 0 ? content.length : zeros) + text;
}
