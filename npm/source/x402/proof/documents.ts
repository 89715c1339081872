/** Loads documents from untrusted URIs, in all forms that agents use. Neither authors nor servers are trusted. */
import { DocumentError } from "../errors.js";
import { readAll } from "../limits.js";
import type { Chains } from "./chains.js";

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

/** The maximum size of a document in bytes. */
export const MAX_BYTES: number = 1024 * 1024;
const MAX_SECONDS = 10;
const FRESH_SECONDS = 300;
const MAX_CACHED = 256;
const PRIVATE_HOST =
  /^(?:localhost|.*\.(?:localhost|local|internal)|0\.|10\.|127\.|169\.254\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|\[)/i;

/** Load a file with the cache of a buyer's chains, see `FileCache.load`. */
export function load(chains: Chains, uri: string, isFresh = false): Promise<Document> {
  chains.files ??= new FileCache(chains.terms.files);
  return chains.files.load(uri, isFresh);
}

/** Registration files by URI. Files whose URI commits to them are cached forever, others for five minutes. */
export class FileCache {
  readonly #files = new Map<string, { document: Document; end: number }>();
  readonly #options: LoaderOptions;

  /** @param options How files are loaded. */
  constructor(options: LoaderOptions = {}) {
    this.#options = options;
  }

  /**
   * Return a file.
   *
   * @param uri Its URI, or what agents provide instead.
   * @param isFresh True to request it from the server again.
   * @throws {DocumentError} The file cannot be loaded.
   */
  async load(uri: string, isFresh = false): Promise<Document> {
    const text = uri.trim();
    const cached = this.#files.get(text);
    if (cached && (cached.document.integrity !== null || (!isFresh && cached.end > now()))) return cached.document;
    const document = (await this.#loaded(text, cached?.document)) ?? cached?.document;
    if (!document) throw new DocumentError(["noContent", uri]);
    this.#files.delete(text);
    this.#files.set(text, { document, end: now() + FRESH_SECONDS });
    for (const oldest of this.#files.keys()) {
      if (this.#files.size <= MAX_CACHED) break;
      this.#files.delete(oldest);
    }
    return document;
  }

  async #loaded(uri: string, cached: Document | undefined): Promise<Document | null> {
    if (/^https:/i.test(uri)) return this.#fetched(uri, cached);
    return (await import("./data.js")).documentOf(uri, this.#options.ipfs);
  }

  async #fetched(uri: string, cached: Document | undefined): Promise<Document | null> {
    const fetch = this.#options.fetch ?? globalThis.fetch;
    let url: URL;
    try {
      url = new URL(uri);
    } catch {
      throw new DocumentError(["noUrl", uri]);
    }
    if (PRIVATE_HOST.test(url.hostname) && !this.#options.allowPrivate) {
      throw new DocumentError(["private", uri]);
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
      if (final.protocol !== "https:" || (PRIVATE_HOST.test(final.hostname) && !this.#options.allowPrivate)) {
        throw new DocumentError(["redirected", uri, final.href]);
      }
      if (response.status !== 200) throw new DocumentError(["returned", uri, response.status]);
      const content = await readAll(response, MAX_BYTES, signal);
      return { uri, content, integrity: null, etag: response.headers.get("ETag") };
    } catch (error) {
      if (error instanceof DocumentError) throw error;
      throw new DocumentError(["unreadable", uri], { cause: error });
    }
  }
}

function now(): number {
  return Date.now() / 1000;
}
