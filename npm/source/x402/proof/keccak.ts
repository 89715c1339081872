/** Keccak-256 of long bodies: they are not copied into one, and the event loop runs in between. */
import { keccak_256 } from "@noble/hashes/sha3";

/** The bytes from which the module of WebAssembly is worth its compilation, a millisecond. */
const LONG = 64 * 1024;

/** The bytes that plain JavaScript hashes at once: some ten milliseconds. */
const PIECE = 128 * 1024;

/** The bytes that the module hashes at once: some ten milliseconds. */
const LONG_PIECE = 2 * 1024 * 1024;

/** Hash parts one after the other. */
export async function keccakOf(...parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const sponge = size < LONG ? null : await spongeOrNull();
  if (sponge !== null) return hashedBy(sponge, parts, LONG_PIECE);
  return hashedBy(keccak_256.create(), parts, PIECE);
}

/** A hash on its way. */
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

/** Return a hash by WebAssembly; null where it can be neither loaded nor compiled. */
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
