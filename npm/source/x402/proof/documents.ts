/** Loads documents from untrusted URIs, in all forms that agents use. Neither authors nor servers are trusted. */
import { DocumentError, quoted } from "../errors.js";
import { readAll } from "../limits.js";
import { joined, unbase64Loosely, utf8, utf8Text } from "./bytes.js";

/** A loaded document. */
export interface Document {
  readonly uri: string;
  readonly content: Uint8Array;
  /** The proof that its author published these bytes; null if only the server vouches for them. */
  readonly integrity: "inline" | "cid" | null;
  /** The server's version markers. */
  readonly etag: string | null;
}

/** How documents are loaded. */
export interface LoaderOptions {
  /** The function that loads an IPFS document and checks its CID. Without it, such documents are not loaded. */
  readonly ipfs?: (uri: string) => Promise<Uint8Array>;
  /** The function that sends requests to servers; the global `fetch` by default. */
  readonly fetch?: typeof globalThis.fetch;
  /** True to allow servers in private networks, for example in tests. */
  readonly allowPrivate?: boolean;
}

const MAX_BYTES = 1024 * 1024;
const MAX_SECONDS = 10;
const FRESH_SECONDS = 300;
const MAX_CACHED = 256;
const CID = "(?:Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{58})";
const BARE_CID = new RegExp(`^/?(?:ipfs/)?${CID}(?:[/?#].*)?$`, "s");
const BARE_JSON = /^(?:\{|%7B)/i;
const BARE_BASE64 = /^(?:e[w-z0-9+/_-]|H4sI)[A-Za-z0-9+/_\s-]*={0,2}$/;
const DATA = /^data:\s*([^,;{\s]*(?:\s*;\s*[^,;{\s]*)*)\s*(?:,|\s|(?=\{))(.*)$/is;
const PACKINGS = ["enc=gzip", "enc=deflate", "encoding=gzip", "encoding=deflate", "gzip"];
const PRIVATE_HOST =
  /^(?:localhost|.*\.(?:localhost|local|internal)|0\.|10\.|127\.|169\.254\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|\[)/i;

/** Registration files by URI. Files whose URI commits to them are cached forever, others for five minutes. */
export class FileCache {
  private readonly files = new Map<string, { document: Document; end: number }>();

  /** @param options How files are loaded. */
  constructor(private readonly options: LoaderOptions = {}) {}

  /**
   * Return a file.
   *
   * @param uri Its URI, or what agents provide instead.
   * @param isFresh True to request it from the server again.
   * @throws {DocumentError} The file cannot be loaded.
   */
  async load(uri: string, isFresh = false): Promise<Document> {
    const text = uri.trim();
    const cached = this.files.get(text);
    if (cached && (cached.document.integrity !== null || (!isFresh && cached.end > now()))) return cached.document;
    const document = (await this.loaded(text, cached?.document)) ?? cached?.document;
    if (!document) throw new DocumentError(`${quoted(uri)} has no content`);
    this.files.delete(text);
    this.files.set(text, { document, end: now() + FRESH_SECONDS });
    for (const oldest of this.files.keys()) {
      if (this.files.size <= MAX_CACHED) break;
      this.files.delete(oldest);
    }
    return document;
  }

  private async loaded(uri: string, cached: Document | undefined): Promise<Document | null> {
    if (/^data:/i.test(uri) || BARE_JSON.test(uri) || BARE_BASE64.test(uri)) {
      return { uri, content: await dataOf(uri), integrity: "inline", etag: null };
    }
    if (/^ipfs:/i.test(uri) || BARE_CID.test(uri)) {
      if (!this.options.ipfs) throw new DocumentError(`${quoted(uri)}: no IPFS loader was passed`);
      try {
        return { uri, content: await this.options.ipfs(uri), integrity: "cid", etag: null };
      } catch (error) {
        throw new DocumentError(`${quoted(uri)} cannot be loaded`, { cause: error });
      }
    }
    if (/^http:/i.test(uri)) return { uri, content: new Uint8Array(), integrity: null, etag: null }; // proves nothing
    if (/^https:/i.test(uri)) return this.fetched(uri, cached);
    throw new DocumentError(`${quoted(uri)} is not a data, https or ipfs URI`);
  }

  private async fetched(uri: string, cached: Document | undefined): Promise<Document | null> {
    const fetch = this.options.fetch ?? globalThis.fetch;
    let url: URL;
    try {
      url = new URL(uri);
    } catch {
      throw new DocumentError(`${quoted(uri)} is not a URL`);
    }
    if (PRIVATE_HOST.test(url.hostname) && !this.options.allowPrivate) {
      throw new DocumentError(`${quoted(uri)} resolves to an address that is not public`);
    }
    const signal = AbortSignal.timeout(MAX_SECONDS * 1000);
    try {
      const response = await fetch(url, {
        headers: cached?.etag ? { "If-None-Match": cached.etag } : {},
        signal,
        credentials: "omit",
      });
      if (response.status === 304 && cached) return null;
      const final = response.url ? new URL(response.url) : url;
      if (final.protocol !== "https:" || (PRIVATE_HOST.test(final.hostname) && !this.options.allowPrivate)) {
        throw new DocumentError(`${quoted(uri)} redirects to ${quoted(final.href)}`);
      }
      if (response.status !== 200) throw new DocumentError(`${quoted(uri)}: the server returned ${response.status}`);
      const content = await readAll(response, MAX_BYTES, signal);
      return { uri, content, integrity: null, etag: response.headers.get("ETag") };
    } catch (error) {
      if (error instanceof DocumentError) throw error;
      throw new DocumentError(`${quoted(uri)} cannot be read`, { cause: error });
    }
  }
}

function now(): number {
  return Date.now() / 1000;
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
  return unbase64Loosely(digits + "=".repeat((4 - (digits.length % 4)) % 4));
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
      if (error instanceof Error && error.name === "AnswerLimitError") {
        throw new DocumentError(`the document exceeds ${MAX_BYTES} bytes`);
      }
    }
  }
  return null;
}
