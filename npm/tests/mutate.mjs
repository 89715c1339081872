/**
 * Changes the verification and the strict reader of JSON in one place at a time, and counts the changes that tests notice.
 *
 * node tests/mutate.mjs MUTANTS SEED    fails if fewer than 90 % are noticed, and prints the others
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import ts from "typescript";

const FILES = [
  "accounts", "draft", "ed25519", "examination", "json", "keys", "payments", "permit2", "prepared", "proxies", "statements",
  "transfers", "unused",
];
const LEAST = 0.9;
const SECONDS = 180; // a mutant that never ends is noticed, too
const OPERATORS = {
  "===": "!==", "!==": "===", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&", "+": "-", "-": "+",
};
const [count = "60", seed = "1"] = process.argv.slice(2);

/** Return the changes of a file: operators, conditions, and the words true and false. */
function mutantsOf(name) {
  const file = `source/x402/proof/${name}.ts`;
  const tree = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.ES2022, true);
  const mutants = [];
  const add = (node, text) => mutants.push({ file, start: node.getStart(tree), end: node.end, text });
  const visit = (node) => {
    if (ts.isTypeNode(node) || ts.isTemplateExpression(node)) return; // no test compares the words of a problem
    if (ts.isBinaryExpression(node)) {
      const other = OPERATORS[node.operatorToken.getText(tree)];
      if (other) add(node.operatorToken, other);
    }
    if (ts.isIfStatement(node)) add(node.expression, `!(${node.expression.getText(tree)})`);
    if (ts.isConditionalExpression(node)) add(node.condition, `!(${node.condition.getText(tree)})`);
    if (node.kind === ts.SyntaxKind.TrueKeyword) add(node, "false");
    if (node.kind === ts.SyntaxKind.FalseKeyword) add(node, "true");
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return mutants;
}

/** Return numbers from 0 to 1 that are the same for the same seed. */
function randomOf(state) {
  return () => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

function isNoticed(mutant) {
  const run = spawnSync("node_modules/.bin/vitest", ["run", "--config", "vitest.mutation.config.ts"], {
    env: { ...process.env, MUTANT: JSON.stringify(mutant) },
    timeout: SECONDS * 1000,
  });
  return run.status !== 0;
}

if (isNoticed(null)) throw new Error("the tests fail without a change");
const random = randomOf(Number(seed));
const chosen = FILES.flatMap(mutantsOf).map((mutant) => [random(), mutant]).sort(([first], [second]) => first - second);
const mutants = chosen.slice(0, Number(count)).map(([, mutant]) => mutant);
const missed = mutants.filter((mutant) => !isNoticed(mutant));
for (const { file, start, end, text } of missed) {
  const source = readFileSync(file, "utf8");
  const line = source.slice(0, start).split("\n").length;
  console.log(`${file}:${line}: ${source.slice(start, end)} -> ${text}: no test notices`);
}
const score = 1 - missed.length / mutants.length;
console.log(`${mutants.length - missed.length} of ${mutants.length} changes are noticed, of ${chosen.length} possible (${(100 * score).toFixed(1)} %)`);
process.exitCode = score < LEAST ? 1 : 0;
