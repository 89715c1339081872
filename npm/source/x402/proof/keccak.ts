/** Keccak-256 of long bodies: they are not copied into one, and the event loop runs in between. */
import { keccak_256 } from "@noble/hashes/sha3";

/** The bytes that are hashed at once: some ten milliseconds on a slow machine. */
const PIECE = 128 * 1024;

/** Hash parts one after the other. */
export async function keccakOf(...parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const state = keccak_256.create();
  let hashed = 0;
  for (const part of parts) {
    for (let at = 0; at < part.length; at += PIECE) {
      const piece = part.subarray(at, at + PIECE);
      state.update(piece);
      hashed += piece.length;
      if (hashed >= PIECE) {
        hashed = 0;
        await nextTurn();
      }
    }
  }
  return state.digest();
}

/** Let the event loop run: other timers, connections and the page itself. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}
