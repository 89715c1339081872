import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const manifest = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));

test("every export has a source", () => {
  const missing = Object.values<{ default?: string } | string>(manifest.exports)
    .flatMap((target) => (typeof target === "string" ? [] : [target.default ?? ""]))
    .map((file) => file.replace("./dist/", "source/").replace(/\.js$/, ".ts"))
    .filter((file) => !existsSync(new URL(`../${file}`, import.meta.url)));
  expect(missing).toEqual([]);
});
