/** Keccak-256 in WebAssembly. Loaded with the first long body. */
import { unbase64 } from "./bytes.js";
import { INPUT, MODULE, ROOM } from "./keccak-wasm.js";
import type { Hasher } from "./keccak.js";

const RATE = 136; // bytes of a block

let cached: WebAssembly.Module | null | undefined;

/** Return a hash; null if modules cannot be compiled, as at run time in Workers or under strict page policies. */
export function spongeOrNull(): Hasher | null {
  if (cached === undefined) {
    try {
      cached = new WebAssembly.Module((unbase64(MODULE) ?? new Uint8Array()).slice());
    } catch {
      cached = null;
    }
  }
  return cached && new Sponge(cached);
}

/** A hash in progress, with its own memory. */
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
