import { defineConfig } from "vitest/config";

const nightly = process.env.NIGHTLY !== undefined;

/** `unit` has no network; `exchange` runs against a local chain and a seller in Python, see `tests/exchange/world.ts`. */
export default defineConfig({
  test: {
    maxWorkers: 2,
    passWithNoTests: true,
    projects: [
      {
        test: {
          name: "unit",
          include: ["tests/**/*.test.ts"],
          exclude: ["tests/exchange/**", ...(nightly ? [] : ["tests/**/*.nightly.test.ts"])],
          testTimeout: 30_000, // CI runs other work beside
        },
      },
      {
        test: {
          name: "exchange",
          include: ["tests/exchange/**/*.test.ts"],
          exclude: nightly ? [] : ["tests/**/*.nightly.test.ts"],
          globalSetup: ["tests/exchange/world.ts"],
          testTimeout: 30_000,
          hookTimeout: 90_000,
        },
      },
    ],
  },
});
