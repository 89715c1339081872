/** A local chain with a facilitator and sellers in Python (`tests/npm/world.py`), once for all tests of this folder. */
import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

/** The parts of the market. */
export interface World {
  rpc: string;
  chainId: number;
  registries: { IdentityRegistry: string; ReputationRegistry: string };
  deployment: Record<string, string>;
  agent: number;
  seller: `0x${string}`;
  sellerKey: `0x${string}`;
  /** The key that signs answers, as its file lists it. */
  signingKey: string;
  token: `0x${string}`;
  facilitator: string;
  shop: string;
  scripted: string;
  relay: string;
  evil: string;
  evilModes: string[];
  control: string;
}

declare module "vitest" {
  interface ProvidedContext {
    world: World;
  }
}

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const PYTHON = process.env.BILATERAL_PYTHON ?? `${ROOT}.venv/bin/python`;

/** Start the market, and return the function that ends it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const market = spawn(PYTHON, ["-m", "tests.npm.world"], { cwd: ROOT, stdio: ["pipe", "pipe", "pipe"] });
  let log = "";
  market.stderr.on("data", (piece: Buffer) => {
    log = (log + piece.toString()).slice(-5000);
  });
  const ended = new Promise<never>((_, reject) => {
    market.once("exit", (code) => reject(new Error(`the market ended with ${code}: ${log}`)));
  });
  ended.catch(() => undefined);
  const line = new Promise<string>((resolve) => createInterface(market.stdout).once("line", resolve));
  project.provide("world", JSON.parse(await Promise.race([line, ended])) as World);
  return () => end(market);
}

function end(market: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    market.once("exit", () => resolve());
    market.stdin?.end();
  });
}
