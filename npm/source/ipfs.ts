/**
 * IPFS files, read from blocks that are checked against their identifiers (CIDs). Gateways are not trusted.
 *
 * ```ts
 * const buy = trustedFetch({ account, chains: [base], files: { ipfs: ipfsLoader() } });
 * ```
 */
import { sha256 } from "@noble/hashes/sha2";
import { DocumentError, MalformedDocumentError, quoted } from "./x402/errors.js";
import { readAll, timeout } from "./x402/limits.js";
import { base58, isBase58, isEqual, joined, unbase58, unhex, utf8 } from "./x402/proof/bytes.js";

/** The public gateways that are used by default. */
export const PUBLIC_GATEWAYS: readonly string[] = ["https://trustless-gateway.link", "https://ipfs.io"];

/** How files are loaded. */
export interface IpfsOptions {
  /** The gateways that deliver blocks, tried in order. */
  readonly gateways?: readonly string[];
  /** The function that sends requests to them; the global `fetch` by default. */
  readonly fetch?: typeof globalThis.fetch;
  /** The maximum size of a file, in bytes: 1 MiB by default. */
  readonly bytes?: number;
  /** The timeout for a file, in seconds: 10 by default. */
  readonly seconds?: number;
}

const RAW = 0x55;
const DAG_PB = 0x70;
const SHA2_256 = 0x12;
const MAX_BLOCKS = 256;
const MAX_LENGTH = 128;
const BLOCK_OVERHEAD = 64 * 1024;
const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/** A CID of a raw or dag-pb block, hashed with SHA-256, as used for files. */
interface Cid {
  readonly text: string;
  readonly codec: number;
  readonly digest: Uint8Array;
}

/**
 * Return a function that loads IPFS files and checks each block against its CID.
 *
 * @param options The gateways and the limits.
 */
export function ipfsLoader(options: IpfsOptions = {}): (uri: string) => Promise<Uint8Array> {
  const { gateways = PUBLIC_GATEWAYS, bytes = 1024 * 1024, seconds = 10 } = options;
  const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  return async (uri) => {
    const [cid, names] = parseUri(uri);
    const end = Date.now() + seconds * 1000;
    let failure: unknown = new DocumentError("no IPFS gateway is configured");
    for (const [tried, gateway] of gateways.entries()) {
      const share = Math.max(1, (end - Date.now()) / (gateways.length - tried));
      const signal = timeout(share);
      try {
        return await readFile((block) => blockOf(fetch, gateway, block, bytes, signal), cid, names, bytes);
      } catch (error) {
        if (error instanceof MalformedDocumentError) throw error;
        failure = error;
      }
    }
    throw failure instanceof DocumentError ? failure : new DocumentError(`${quoted(uri)} cannot be read`, { cause: failure });
  };
}

function parseUri(uri: string): [Cid, string[]] {
  const rest = uri.trim().replace(/^ipfs:/i, "").replace(/^\/+/, "").replace(/^ipfs\//, "");
  const [cid = "", ...path] = (rest.split(/[?#]/)[0] ?? "").split("/");
  const names = path.filter((name) => name).map((name) => decodeURIComponent(name));
  return [parseCid(cid), names];
}

function parseCid(text: string): Cid {
  let content: Uint8Array | null = null;
  if (text.length <= MAX_LENGTH) {
    if (text.startsWith("Qm") && isBase58(text)) content = joined(Uint8Array.of(1, DAG_PB), unbase58(text));
    else if (/^z[^z]/.test(text) && isBase58(text.slice(1))) content = unbase58(text.slice(1));
    else if (/^b[a-z2-7]+$/.test(text)) content = unbase32(text.slice(1));
    else if (/^B[A-Z2-7]+$/.test(text)) content = unbase32(text.slice(1).toLowerCase());
    else if (/^[fF]/.test(text)) content = unhex(text.slice(1));
  }
  if (content === null) throw new DocumentError(`${quoted(text)} is not a CID`);
  return cidOf(content, text);
}

/** Read a binary CID: version 1, or the bare hash of version 0. */
function cidOf(content: Uint8Array, text: string | null = null): Cid {
  const isBare = content[0] === SHA2_256 && content.length === 34;
  const parts = isBare ? joined(Uint8Array.of(1, DAG_PB), content) : content;
  const [version, codec, hash, size] = parts;
  const isFile = version === 1 && (codec === RAW || codec === DAG_PB) && hash === SHA2_256 && size === 32;
  if (!isFile || parts.length !== 36) {
    throw new DocumentError(`${text === null ? "a link" : quoted(text)} is not the CID of a file hashed with SHA-256`);
  }
  return { text: text ?? (isBare ? base58(content) : `b${base32(parts)}`), codec, digest: parts.slice(4) };
}

async function blockOf(
  fetch: typeof globalThis.fetch,
  gateway: string,
  cid: Cid,
  bytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const response = await fetch(`${gateway.replace(/\/+$/, "")}/ipfs/${cid.text}?format=raw`, {
    headers: { Accept: "application/vnd.ipld.raw" },
    credentials: "omit",
    signal,
  });
  if (response.status !== 200) throw new DocumentError(`the IPFS gateway returned status ${response.status}`);
  return readAll(response, bytes + BLOCK_OVERHEAD, signal);
}

/** Read a file block by block. */
async function readFile(
  load: (cid: Cid) => Promise<Uint8Array>,
  root: Cid,
  path: readonly string[],
  limit: number,
): Promise<Uint8Array> {
  const names = [...path];
  const pieces: Uint8Array[] = [];
  let size = 0;
  let pending = [root];
  for (let read = 0; read < MAX_BLOCKS; read++) {
    const cid = pending.pop();
    if (cid === undefined) return joined(...pieces);
    const block = await load(cid);
    if (!isEqual(sha256(block), cid.digest)) throw new DocumentError(`the gateway sent a block other than ${cid.text}`);
    const { data, links, isFolder } = readBlock(cid, block);
    if (isFolder) {
      pending = [memberOf(links, names)];
      continue;
    }
    if (names.length) throw new MalformedDocumentError(`${cid.text} is a file, not a folder`);
    pieces.push(data);
    size += data.length;
    if (size > limit) throw new DocumentError(`the document exceeds ${limit} bytes`);
    pending.push(...links.map(({ hash }) => cidOf(hash)).reverse());
    if (!pending.length) return joined(...pieces);
  }
  throw new DocumentError(`the document has more than ${MAX_BLOCKS} blocks`);
}

interface Link {
  readonly hash: Uint8Array;
  readonly name: Uint8Array;
}

function memberOf(links: readonly Link[], names: string[]): Cid {
  const name = names.shift();
  if (name === undefined) throw new MalformedDocumentError("the CID identifies a folder, not a file");
  const link = links.find((member) => isEqual(member.name, utf8(name)));
  if (!link) throw new MalformedDocumentError(`${quoted(name)} is not in the folder`);
  return cidOf(link.hash);
}

/** Read a raw block, or a UnixFS file or folder block. */
function readBlock(cid: Cid, block: Uint8Array): { data: Uint8Array; links: readonly Link[]; isFolder: boolean } {
  if (cid.codec === RAW) return { data: block, links: [], isFolder: false };
  const node = fieldsOf(block);
  const data = fieldsOf(bytesOf(node, 1).at(-1) ?? fail());
  const kind = data.filter(([number, value]) => number === 1 && typeof value === "bigint").at(-1)?.[1];
  if (kind === undefined) fail();
  const links = bytesOf(node, 2).map((link) => {
    const fields = fieldsOf(link);
    return { hash: bytesOf(fields, 1).at(-1) ?? new Uint8Array(), name: bytesOf(fields, 2).at(-1) ?? new Uint8Array() };
  });
  if (kind === 1n) return { data: new Uint8Array(), links, isFolder: true };
  if (kind !== 0n && kind !== 2n) throw new DocumentError(`${cid.text} is not a file`);
  return { data: bytesOf(data, 2).at(-1) ?? new Uint8Array(), links, isFolder: false };

  function fail(): never {
    throw new MalformedDocumentError(`${cid.text} is not a UnixFS block`);
  }
}

type Field = readonly [number: number, value: bigint | Uint8Array];

function bytesOf(fields: readonly Field[], number: number): Uint8Array[] {
  return fields.flatMap(([found, value]) => (found === number && value instanceof Uint8Array ? [value] : []));
}

/** Read the fields of a protobuf message. */
function fieldsOf(content: Uint8Array): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = content[at++];
      if (byte === undefined) break;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new MalformedDocumentError("a block is truncated");
  };
  const taken = (size: bigint): Uint8Array => {
    if (size > BigInt(content.length - at)) throw new MalformedDocumentError("a block is truncated");
    at += Number(size);
    return content.subarray(at - Number(size), at);
  };
  while (at < content.length) {
    const key = varint();
    const number = Number(key >> 3n);
    const wire = key & 7n;
    if (wire === 0n) fields.push([number, varint()]);
    else if (wire === 2n) fields.push([number, taken(varint())]);
    else if (wire === 1n) taken(8n);
    else if (wire === 5n) taken(4n);
    else throw new MalformedDocumentError("a block has a field of an unknown type");
  }
  return fields;
}

function base32(content: Uint8Array): string {
  let text = "";
  let bits = 0;
  let held = 0;
  for (const byte of content) {
    bits = ((bits << 8) | byte) & 0xffff;
    held += 8;
    while (held >= 5) {
      held -= 5;
      text += BASE32.charAt((bits >> held) & 31);
    }
  }
  return held ? text + BASE32.charAt((bits << (5 - held)) & 31) : text;
}

function unbase32(text: string): Uint8Array | null {
  const content: number[] = [];
  let bits = 0;
  let held = 0;
  for (const letter of text) {
    bits = ((bits << 5) | BASE32.indexOf(letter)) & 0xfff;
    held += 5;
    if (held >= 8) {
      held -= 8;
      content.push((bits >> held) & 0xff);
    }
  }
  return Uint8Array.from(content);
}
