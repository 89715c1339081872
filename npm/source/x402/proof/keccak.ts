/** Keccak-256 of long bodies: they are not copied into one, and the event loop runs in between. */
import { keccak_256 } from "@noble/hashes/sha3";
import { unbase64 } from "./bytes.js";
import { INPUT, MODULE, ROOM } from "./keccak-wasm.js";

const RATE = 136; // bytes of a block

/** The bytes from which the module of WebAssembly is worth its compilation, a millisecond. */
const LONG = 64 * 1024;

/** The bytes that plain JavaScript hashes at once: some ten milliseconds. */
const PIECE = 128 * 1024;

/** The bytes that the module hashes at once: some ten milliseconds. */
const LONG_PIECE = 2 * 1024 * 1024;

/** Hash parts one after the other. */
export async function keccakOf(...parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const module = size < LONG ? null : compiled();
  if (module !== null) return hashedBy(new Sponge(module), parts, LONG_PIECE);
  return hashedBy(keccak_256.create(), parts, PIECE);
}

interface Hasher {
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

let cached: WebAssembly.Module | null | undefined;

/** Return the module; null where none may be compiled, as at run time of Workers and under strict policies of pages. */
function compiled(): WebAssembly.Module | null {
  if (cached === undefined) {
    try {
      cached = new WebAssembly.Module((unbase64(MODULE) ?? new Uint8Array()).slice());
    } catch {
      cached = null;
    }
  }
  return cached;
}

/** A hash on its way, by a module of WebAssembly with a memory of its own. */
class Sponge implements Hasher {
  private readonly memory: Uint8Array;
  private readonly absorb: (blocks: number) => void;
  private filled = 0;

  constructor(module: WebAssembly.Module) {
    const { memory, absorb } = new WebAssembly.Instance(module).exports;
    this.memory = new Uint8Array((memory as WebAssembly.Memory).buffer);
    this.absorb = absorb as (blocks: number) => void;
  }

  update(piece: Uint8Array): void {
    for (let at = 0; at < piece.length; ) {
      const next = piece.subarray(at, at + ROOM * RATE - this.filled);
      this.memory.set(next, INPUT + this.filled);
      this.filled += next.length;
      at += next.length;
      if (this.filled === ROOM * RATE) {
        this.absorb(ROOM);
        this.filled = 0;
      }
    }
  }

  digest(): Uint8Array {
    const blocks = Math.floor(this.filled / RATE) + 1;
    const last = INPUT + blocks * RATE - 1;
    this.memory.fill(0, INPUT + this.filled, last + 1);
    this.memory[INPUT + this.filled] = 1;
    this.memory[last] = (this.memory[last] ?? 0) | 0x80;
    this.absorb(blocks);
    return this.memory.slice(0, 32);
  }
}

/** Let the event loop run: other timers, connections and the page itself. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}
