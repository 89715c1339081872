import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const readme = readFileSync(`${ROOT}README.md`, "utf8");
const section = readme.slice(readme.indexOf("## Sell to agents"), readme.indexOf("## Rate what you bought"));

test("the seller of the page bundles, and imports what exists", async () => {
  const [, contents = ""] = /```ts\n([^]*?)```/.exec(section) ?? [];
  const { outputFiles, warnings } = await build({
    stdin: { contents, resolveDir: ROOT, loader: "ts" },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    external: ["@x402/*", "@noble/*", "express"],
    alias: {
      "bilateral/x402/express": `${ROOT}source/x402/server/express.ts`,
      "bilateral/x402/server": `${ROOT}source/x402/server/index.ts`,
    },
  });
  expect(warnings).toEqual([]);
  expect(outputFiles[0]?.text).toMatch(/\.listen\(3/);
});
