/** Conversion of bytes to and from hexadecimal, base 64, base 58 and UTF-8, without `Buffer`. */

import { bytesToNumberBE, equalBytes, numberToBytesBE } from "@noble/curves/abstract/utils";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils";

export {
  bytesToHex as hex,
  bytesToNumberBE as bigintOf,
  concatBytes as joined,
  equalBytes as isEqual,
  numberToBytesBE as bytesOf,
  utf8ToBytes as utf8,
};

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Decode UTF-8 bytes; null if they are not UTF-8. A leading byte order mark is dropped. */
export function utf8Text(content: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    return null;
  }
}

/** Return bytes from pairs of hexadecimal digits, without 0x; null if there are other characters. */
export function unhex(digits: string): Uint8Array | null {
  try {
    return hexToBytes(digits);
  } catch {
    return null;
  }
}

/** Encode bytes in base 64. */
export function base64(content: Uint8Array): string {
  let text = "";
  for (const byte of content) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Decode canonical base 64: with padding, and without unused bits or characters. Null otherwise. */
export function unbase64(text: string): Uint8Array | null {
  const content = unbase64Loosely(text);
  return content && base64(content) === text ? content : null;
}

/** Decode base 64, ignoring unused bits, spaces and missing padding. Null if it is not base 64. */
export function unbase64Loosely(text: string): Uint8Array | null {
  try {
    const signs = atob(text);
    const content = new Uint8Array(signs.length);
    for (let at = 0; at < signs.length; at++) content[at] = signs.charCodeAt(at); // `from` takes five times as long
    return content;
  } catch {
    return null;
  }
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
  const body = hexToBytes(digits.length % 2 ? `0${digits}` : digits);
  const zeros = /^1*/.exec(text)?.[0].length ?? 0;
  return concatBytes(new Uint8Array(zeros), body);
}

/** Encode bytes in base 58. */
export function base58(content: Uint8Array): string {
  let text = "";
  for (let value = bytesToNumberBE(content); value > 0n; value /= 58n) text = BASE58.charAt(Number(value % 58n)) + text;
  const zeros = content.findIndex((byte) => byte !== 0);
  return "1".repeat(zeros < 0 ? content.length : zeros) + text;
}
