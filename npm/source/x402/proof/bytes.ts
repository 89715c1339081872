/** Conversion of bytes to and from hexadecimal, base 64, base 58 and UTF-8, without `Buffer`. */

const ENCODER = new TextEncoder();
const DIGITS = "0123456789abcdef";
const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Return the UTF-8 form of a text. */
export function utf8(text: string): Uint8Array {
  return ENCODER.encode(text);
}

/** Decode UTF-8 bytes; null if they are not UTF-8. A leading byte order mark is dropped. */
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
  for (const byte of content) text += DIGITS.charAt(byte >> 4) + DIGITS.charAt(byte & 15);
  return text;
}

/** Return bytes from pairs of hexadecimal digits, without 0x; null if there are other characters. */
export function unhex(digits: string): Uint8Array | null {
  if (digits.length % 2 || !/^[0-9a-fA-F]*$/.test(digits)) return null;
  const content = new Uint8Array(digits.length / 2);
  for (let at = 0; at < content.length; at++) content[at] = Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16);
  return content;
}

/** Return the number that big-endian bytes encode. */
export function bigintOf(content: Uint8Array): bigint {
  return content.length ? BigInt(`0x${hex(content)}`) : 0n;
}

/** Return a number as big-endian bytes. */
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
  for (const byte of content) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Decode canonical base 64: with padding, and without unused bits or characters. Null otherwise. */
export function unbase64(text: string): Uint8Array | null {
  const isCanonical = !text.endsWith("=") || /(?:[A-Za-z0-9+/][AQgw]=|[AEIMQUYcgkosw048])=$/.test(text);
  return isCanonical ? unbase64Loosely(text) : null;
}

/** Decode base 64 with padding, ignoring unused bits. Null if it is not base 64. */
export function unbase64Loosely(text: string): Uint8Array | null {
  if (text.length % 4 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null; // atob alone takes spaces
  const signs = atob(text);
  const content = new Uint8Array(signs.length);
  for (let at = 0; at < signs.length; at++) content[at] = signs.charCodeAt(at);
  return content;
}

/** Return whether a string only contains base 58 digits. */
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
