import { expect, test, vi } from "vitest";
import { ipfsLoader } from "../../source/ipfs.js";
import { DocumentError, MalformedDocumentError } from "../../source/x402/index.js";
import { hex, unhex } from "../../source/x402/proof/bytes.js";
import { vectors } from "./recorded.js";

const { blocks, files } = vectors("ipfs") as {
  blocks: { cid: string; block: string }[];
  files: { name: string; uri: string; content: string | null }[];
};

/** A gateway that has the blocks, and counts how often it is asked. */
function gateway(): { fetch: typeof globalThis.fetch; asked: string[] } {
  const stored = new Map(blocks.map(({ cid, block }) => [cid, block]));
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = async (input) => {
    const url = new URL(String(input));
    asked.push(url.host);
    const block = stored.get(url.pathname.replace("/ipfs/", ""));
    return block === undefined || url.host === "down.example"
      ? new Response("", { status: 404 })
      : new Response((unhex(block) as Uint8Array).slice());
  };
  return { fetch, asked };
}

test.each(files)("$name", async ({ uri, content }) => {
  const load = ipfsLoader({ fetch: gateway().fetch });
  const result = await load(uri).then(hex, (error: unknown) => {
    expect(error instanceof DocumentError || error instanceof MalformedDocumentError).toBe(true);
    return null;
  });
  expect(result).toBe(content);
});

test("the next gateway is asked if one fails", async () => {
  const { fetch, asked } = gateway();
  const file = files.find(({ name }) => name === "one raw block");
  const load = ipfsLoader({ fetch, gateways: ["https://down.example", "https://up.example/"] });
  expect(hex(await load(file?.uri ?? ""))).toBe(file?.content);
  expect(asked).toEqual(["down.example", "up.example"]);
});

test("a gateway's share of the time may be a part of a millisecond", async () => {
  let now = 0;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => now++);
  try {
    const file = files.find(({ name }) => name === "one raw block");
    expect(hex(await ipfsLoader({ fetch: gateway().fetch })(file?.uri ?? ""))).toBe(file?.content);
  } finally {
    clock.mockRestore();
  }
});

test("a file over the limit is refused", async () => {
  const file = files.find(({ name }) => name === "eleven raw blocks");
  await expect(ipfsLoader({ fetch: gateway().fetch, bytes: 500 })(file?.uri ?? "")).rejects.toThrow("exceeds 500 bytes");
});
