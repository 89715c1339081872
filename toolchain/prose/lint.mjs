// Checks the words of Markdown pages against vocabulary.jsonc, without network.
//
// node toolchain/prose/lint.mjs PAGE ...

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { TextlintKernel } from "@textlint/kernel";
import markdown from "@textlint/textlint-plugin-markdown";
import terminology from "textlint-rule-terminology";

const VOCABULARY = fileURLToPath(new URL("vocabulary.jsonc", import.meta.url));
const EXCLUDED = [
  "ID", // an agent's id is a word of its own
  "URI", // `register(uri)` names a call in tables of gas
  "id['’]?s",
  "indexes\\b", // of a database
  "function argument(s)?", // what a caller passes
  "file[- ]name(s)?",
  "lock[- ]file(s)?",
  "readme(s)?", // the name of a file
  "run[- ]time", // a time; `runtime` is a program
];

const options = {
  ext: ".md",
  plugins: [{ pluginId: "markdown", plugin: markdown.default ?? markdown }],
  rules: [{ ruleId: "terminology", rule: terminology, options: { terms: VOCABULARY, exclude: EXCLUDED } }],
};

const kernel = new TextlintKernel();
const pages = process.argv.slice(2);
let faults = 0;
for (const page of pages) {
  const { messages } = await kernel.lintText(readFileSync(page, "utf8"), { ...options, filePath: page });
  for (const { line, column, message } of messages) console.error(`${page}:${line}:${column}: ${message}`);
  faults += messages.length;
}
if (faults > 0) {
  console.error(`${faults} wordings that toolchain/prose/vocabulary.jsonc corrects`);
  process.exit(1);
}
