import { build, type Plugin } from "esbuild";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const SOURCE = new URL("../../source/x402/server/", import.meta.url);
const OTHERS = ["@noble/*", "@x402/*", "hono", "express", "node:*"];

/** Leaves out what sellers share with buyers: reading and checking messages, payments, files and nodes. */
const OWN: Plugin = {
  name: "own",
  setup(bundle) {
    bundle.onResolve({ filter: /^\.\.\// }, ({ path, kind }) => (kind === "entry-point" ? null : { path, external: true }));
  },
};

/** Return the size of the seller's own code in a bundle, minified and compressed, in bytes. */
async function size(file: string, platform: "browser" | "node" = "browser"): Promise<number> {
  const entryPoints = [new URL(file, SOURCE).pathname];
  const options = { bundle: true, minify: true, write: false, format: "esm", platform } as const;
  const result = await build({ ...options, external: OTHERS, plugins: [OWN], entryPoints });
  return gzipSync(result.outputFiles[0]?.contents ?? "", { level: 9 }).length;
}

test("the seller's own code has at most 10 KiB, and each adapter 4 kB more", async () => {
  const sizes = {
    index: await size("index.ts"),
    seller: await size("seller.ts"),
    express: await size("express.ts", "node"),
    hono: await size("hono.ts"),
    next: await size("next.ts"),
  };
  console.info(sizes);
  const { index, seller, ...adapters } = sizes;
  expect(seller).toBeGreaterThan(4_000);
  expect(index).toBeLessThan(10 * 1024);
  for (const adapter of Object.values(adapters)) expect(adapter - seller).toBeLessThan(4_000);
});

test.each(["index.ts", "hono.ts", "next.ts"])("%s bundles for browsers, without a part of Node", async (file) => {
  const entryPoints = [new URL(file, SOURCE).pathname];
  const result = await build({ entryPoints, bundle: true, minify: true, write: false, format: "esm", platform: "browser" });
  const text = result.outputFiles[0]?.text ?? "";
  const own = await build({ entryPoints, bundle: true, write: false, format: "esm", platform: "browser", external: OTHERS });
  expect(text.length).toBeGreaterThan(1000);
  expect(own.outputFiles[0]?.text).not.toMatch(/\bBuffer\b|\bprocess\.|from "node:/);
});
