import { keccak_256 } from "@noble/hashes/sha3";
import { afterEach, describe, expect, test, vi } from "vitest";
import { hex } from "../../source/x402/proof/bytes.js";

const MIB = 1024 * 1024;
const RATE = 136;

/** Return bytes that differ from each other. */
function content(size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, at) => (at * 31 + (at >> 8)) & 0xff);
}

async function fresh(): Promise<(...parts: Uint8Array[]) => Promise<Uint8Array>> {
  vi.resetModules();
  return (await import("../../source/x402/proof/keccak.js")).keccakOf;
}

afterEach(() => vi.unstubAllGlobals());

describe.each([
  ["with WebAssembly", false],
  ["where no WebAssembly may be compiled", true],
])("%s", (_name, isForbidden) => {
  test("long and short bodies have the hash of noble, in any parts", async () => {
    if (isForbidden) vi.stubGlobal("WebAssembly", undefined);
    const keccakOf = await fresh();
    const room = 2405 * RATE; // bytes for which the module's memory has room
    for (const size of [0, 1, RATE, 65_535, 65_536, 65_552, room - 1, room, room + 1, 2 * room]) {
      const whole = content(size);
      expect(hex(await keccakOf(whole)), String(size)).toBe(hex(keccak_256(whole)));
      const split = Math.floor(size / 3);
      expect(hex(await keccakOf(whole.subarray(0, split), whole.subarray(split)))).toBe(hex(keccak_256(whole)));
    }
  });
});

test("32 MiB take at most 0.3 s of processor time (T8)", async () => {
  const keccakOf = await fresh();
  const body = new Uint8Array(32 * MIB).fill(7);
  await keccakOf(body.subarray(0, MIB));
  const start = process.cpuUsage();
  await keccakOf(body);
  const { user, system } = process.cpuUsage(start);
  expect((user + system) / 1e6).toBeLessThan(0.3);
});

test("the event loop runs in between (T8)", async () => {
  vi.stubGlobal("WebAssembly", undefined);
  const keccakOf = await fresh();
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  await keccakOf(new Uint8Array(2 * MIB));
  clearInterval(timer);
  expect(turns).toBeGreaterThanOrEqual(8); // one for each 256 KiB
});
