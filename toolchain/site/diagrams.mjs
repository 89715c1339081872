// Draws the Mermaid diagrams of the staged pages as pictures, for light and for dark pages: no page needs a script that
// draws, or a style of its own, so that a server can forbid both.
//
//   node diagrams.mjs FOLDER

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import process from "node:process";
import { renderMermaidSVG } from "beautiful-mermaid";

const COLOURS = { light: { bg: "#ffffff", fg: "#1a1a1a" }, dark: { bg: "#1e2129", fg: "#e2e4e9" } };
const FENCE = /^```mermaid\n([\s\S]*?)^```$/gm;

const folder = process.argv[2];
for (const entry of readdirSync(folder, { recursive: true })) {
  if (!entry.endsWith(".md")) continue;
  const page = join(folder, entry);
  const text = readFileSync(page, "utf8");
  let number = 0;
  const drawn = text.replaceAll(FENCE, (_, diagram) => {
    number += 1;
    return Object.entries(COLOURS)
      .map(([scheme, colours]) => {
        const picture = renderMermaidSVG(diagram, { ...colours, transparent: true, font: "sans-serif" });
        const name = `${basename(entry, ".md")}-${number}-${scheme}.svg`;
        const alone = picture.replace(/^\s*@import .*\n/m, ""); // it loads a font from the network
        if (/@import|href="http/.test(alone)) throw new Error(`${name} loads a file from the network`);
        writeFileSync(join(page, "..", name), alone);
        return `![Diagram ${number}](${name}#only-${scheme})`;
      })
      .join("\n");
  });
  if (number) writeFileSync(page, drawn);
}
