/** Keccak-256 of long bodies, which are not concatenated; the event loop runs in between. */
import { keccak_256 } from "@noble/hashes/sha3";

/** The size in bytes from which the WebAssembly module is worth its compilation time of a millisecond. */
const LONG = 64 * 1024;

/** The number of bytes that plain JavaScript hashes at a time: about ten milliseconds. */
const PIECE = 128 * 1024;

/** The number of bytes that the module hashes at a time: about ten milliseconds. */
const LONG_PIECE = 2 * 1024 * 1024;

/** Hash several parts in sequence. */
export async function keccakOf(...parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const sponge = size < LONG ? null : await spongeOrNull();
  if (sponge !== null) return hashedBy(sponge, parts, LONG_PIECE);
  return hashedBy(keccak_256.create(), parts, PIECE);
}

/** A hash in progress. */
export interface Hasher {
  update(piece: Uint8Array): unknown;
  digest(): Uint8Array;
}

async function hashedBy(hasher: Hasher, parts: readonly Uint8Array[], most: number): Promise<Uint8Array> {
  let hashed = 0;
  for (const part of parts) {
    for (let at = 0; at < part.length; at += most) {
      const piece = part.subarray(at, at + most);
      hasher.update(piece);
      hashed += piece.length;
      if (hashed >= most) {
        hashed = 0;
        await nextTurn();
      }
    }
  }
  return hasher.digest();
}

/** Return a WebAssembly hash; null if the module cannot be loaded and compiled. */
async function spongeOrNull(): Promise<Hasher | null> {
  try {
    return (await import("./sponge.js")).spongeOrNull();
  } catch {
    return null; // the plain hash is slower, and the same
  }
}

/** Let the event loop run: other timers, connections and the page itself. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}
