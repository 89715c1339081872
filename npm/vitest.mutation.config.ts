import { defineConfig } from "vitest/config";

interface Mutant {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const mutant = JSON.parse(process.env.MUTANT ?? "null") as Mutant | null;

/** Runs the vectors and the tests of parsers on sources with one change, which no file has: see `tests/mutate.mjs`. */
export default defineConfig({
  plugins: [
    {
      name: "mutant",
      enforce: "pre",
      transform(code, id) {
        if (!mutant || !id.endsWith(mutant.file)) return null;
        return code.slice(0, mutant.start) + mutant.text + code.slice(mutant.end);
      },
    },
  ],
  test: {
    include: ["vectors/vectors", "x402/payments", "x402/statements", "x402/strict"].map((name) => `tests/${name}.test.ts`),
    testTimeout: 30_000,
    bail: 1,
    maxWorkers: 1,
  },
});
