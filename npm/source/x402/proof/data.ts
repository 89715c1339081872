/** Documents that are not at https URLs: in data URIs, and in IPFS. Loaded with the first such document. */
import { AnswerLimitError, DocumentError, quoted } from "../errors.js";
import { readAll } from "../limits.js";
import { joined, unbase64Loosely, utf8, utf8Text } from "./bytes.js";
import { MAX_BYTES, type Document, type LoaderOptions } from "./documents.js";

const CID = "(?:Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{58})";
const BARE_CID = new RegExp(`^/?(?:ipfs/)?${CID}(?:[/?#].*)?$`, "s");
const BARE_JSON = /^(?:\{|%7B)/i;
const BARE_BASE64 = /^(?:e[w-z0-9+/_-]|H4sI)[A-Za-z0-9+/_\s-]*={0,2}$/;
const DATA = /^data:\s*([^,;{\s]*(?:\s*;\s*[^,;{\s]*)*)\s*(?:,|\s|(?=\{))(.*)$/is;
const PACKINGS = ["enc=gzip", "enc=deflate", "encoding=gzip", "encoding=deflate", "gzip"];

/** Load a document by a URI of any kind except https. */
export async function documentOf(uri: string, ipfs: LoaderOptions["ipfs"]): Promise<Document> {
  if (/^data:/i.test(uri) || BARE_JSON.test(uri) || BARE_BASE64.test(uri)) {
    return { uri, content: await dataOf(uri), integrity: "inline", etag: null };
  }
  if (/^ipfs:/i.test(uri) || BARE_CID.test(uri)) {
    if (!ipfs) throw new DocumentError(`${quoted(uri)}: no IPFS loader was passed`);
    try {
      return { uri, content: await ipfs(uri), integrity: "cid", etag: null };
    } catch (error) {
      throw new DocumentError(`${quoted(uri)} cannot be loaded`, { cause: error });
    }
  }
  if (/^http:/i.test(uri)) return { uri, content: new Uint8Array(), integrity: null, etag: null }; // proves nothing
  throw new DocumentError(`${quoted(uri)} is not a data, https or ipfs URI`);
}

/** Return the document in a data URI, or in what some agents use instead: JSON, or JSON in base 64. */
async function dataOf(uri: string): Promise<Uint8Array> {
  let labels = ["base64"];
  let payload = uri;
  if (/^data:/i.test(uri)) {
    const parts = DATA.exec(uri);
    if (!parts) throw new DocumentError(`${quoted(uri)} is not a data URI: it has no comma`);
    labels = (parts[1] ?? "").split(";").map((label) => label.trim().toLowerCase());
    payload = (parts[2] ?? "").trim();
  }
  if (payload.length > 4 * MAX_BYTES + 4) throw new DocumentError(`the document exceeds ${MAX_BYTES} bytes`);
  let content = await contentOf(uri, payload, labels.includes("base64"));
  const isGzip = content[0] === 0x1f && content[1] === 0x8b;
  if (isGzip || labels.some((label) => PACKINGS.includes(label))) {
    const unpackedContent = await unpacked(content);
    if (unpackedContent === null && !isJson(content)) {
      throw new DocumentError(`${quoted(uri)} does not contain the compressed document that it declares`);
    }
    content = unpackedContent ?? content;
  }
  if (content.length > MAX_BYTES) throw new DocumentError(`the document exceeds ${MAX_BYTES} bytes`);
  return content;
}

/** Decode a data URI's content according to its actual form, if that is certain, rather than its label. */
async function contentOf(uri: string, payload: string, isBase64: boolean): Promise<Uint8Array> {
  const plain = utf8(payload);
  const unquotedBytes = unquoted(payload);
  if (plain[0] === 0x7b && (isBase64 || !payload.includes("%"))) return isJson(plain) ? plain : unquotedBytes;
  if (!isBase64 && unquotedBytes.length && BARE_BASE64.test(payload)) {
    const content = await fromBase64(unquotedBytes);
    return content !== null && (await isDocument(content)) ? content : unquotedBytes;
  }
  if (!isBase64 || !unquotedBytes.length) return unquotedBytes;
  const first = unquotedBytes.find((byte) => ![0x20, 0x09, 0x0a, 0x0b, 0x0c, 0x0d].includes(byte));
  if (first === 0x7b) return unquotedBytes;
  const content = await fromBase64(unquotedBytes);
  if (content === null) throw new DocumentError(`${quoted(uri)} is not base 64`);
  return content;
}

/** Decode base 64 strictly, except for the alphabet, white space and padding, which vary between encoders. */
async function fromBase64(payload: Uint8Array): Promise<Uint8Array | null> {
  if (payload.some((byte) => byte > 0x7f)) return null;
  const text = (utf8Text(payload) ?? "").trim();
  const readings = [text, ...(text.includes(" ") ? [text.replaceAll(" ", "+")] : [])];
  const contents = readings.map((reading) => strictly(reading.replace(/[ \t\r\n]+/g, ""))).filter((read) => read !== null);
  for (const content of contents) if (await isDocument(content)) return content;
  return contents[0] ?? null;
}

function strictly(text: string): Uint8Array | null {
  const digits = text.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "");
  return /^[A-Za-z0-9+/]*$/.test(digits) ? unbase64Loosely(digits) : null;
}

async function isDocument(content: Uint8Array): Promise<boolean> {
  return isJson(content) || (content[0] === 0x1f && content[1] === 0x8b && (await unpacked(content)) !== null);
}

function isJson(content: Uint8Array): boolean {
  try {
    JSON.parse(utf8Text(content) ?? "");
    return true;
  } catch {
    return false;
  }
}

function unquoted(payload: string): Uint8Array {
  const parts = payload.split(/((?:%[0-9a-fA-F]{2})+)/);
  return joined(
    ...parts.map((part, at) =>
      at % 2
        ? Uint8Array.from(part.slice(1).split("%"), (pair) => Number.parseInt(pair, 16))
        : utf8(part),
    ),
  );
}

/** Decompress gzip or deflate within the limit; null if it is neither. */
async function unpacked(content: Uint8Array): Promise<Uint8Array | null> {
  for (const format of ["gzip", "deflate", "deflate-raw"] as const) {
    try {
      const source = new Response(content.slice()).body;
      if (!source) return null;
      return await readAll(new Response(source.pipeThrough(new DecompressionStream(format))), MAX_BYTES);
    } catch (error) {
      if (error instanceof AnswerLimitError) {
        throw new DocumentError(`the document exceeds ${MAX_BYTES} bytes`);
      }
    }
  }
  return null;
}
