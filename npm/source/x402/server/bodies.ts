/** Bodies as applications and clients see them: decoded, within a limit. */
import { joined } from "../proof/bytes.js";

/** Decodes one encoding of a body; throws a `Refusal` if it is unknown, damaged or too long. */
export type Inflate = (encoding: string, body: Uint8Array, limit: number) => Promise<Uint8Array>;

/** A request that is rejected with a status and a reason instead of being served. */
export class Refusal extends Error {
  /**
   * @param status The HTTP status.
   * @param code The reason.
   */
  constructor(
    readonly status: number,
    readonly code: string,
  ) {
    super(code);
  }
}

const ALIASES: Readonly<Record<string, string>> = { gzip: "gzip", "x-gzip": "gzip", deflate: "deflate", br: "br" };
const MAX_ENCODINGS = 3; // honest servers use one, and each may multiply the bytes

/**
 * Decode a body.
 *
 * @param body The bytes as transferred.
 * @param encodings `Content-Encoding`.
 * @param limit The maximum number of decoded bytes.
 * @param inflate Decodes one encoding.
 */
export async function decodeBody(
  body: Uint8Array,
  encodings: string,
  limit: number,
  inflate: Inflate = inflateByStream,
): Promise<Uint8Array> {
  const names = encodings.toLowerCase().split(",").map((name) => name.trim()).filter((name) => name && name !== "identity");
  if (body.length > limit) throw new Refusal(413, "body_too_large");
  const known = names.map((name) => (Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined));
  if (names.length > MAX_ENCODINGS || known.includes(undefined)) throw new Refusal(415, "unsupported_body");
  let decoded = body;
  // Servers label empty bodies too.
  for (const name of known.reverse()) if (decoded.length) decoded = await inflate(name ?? "", decoded, limit);
  return decoded;
}

/** Decode with the platform's own streams: gzip and deflate everywhere, br where the platform supports it. */
export async function inflateByStream(encoding: string, body: Uint8Array, limit: number): Promise<Uint8Array> {
  let stream: DecompressionStream;
  try {
    stream = new DecompressionStream((encoding === "br" ? "brotli" : encoding) as CompressionFormat);
  } catch {
    throw new Refusal(415, "unsupported_body");
  }
  const writer = stream.writable.getWriter();
  writer.write(body as BufferSource).catch(() => undefined);
  writer.close().catch(() => undefined);
  const reader = stream.readable.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new Refusal(415, "unsupported_body");
    });
    if (done) return joined(...pieces);
    size += value.length;
    if (size > limit) {
      reader.cancel().catch(() => undefined);
      throw new Refusal(413, "body_too_large");
    }
    pieces.push(value);
  }
}

/** Return whether a content type is that of a stream, which has no end and so cannot be signed. */
export function isStream(contentType: string): boolean {
  const type = (contentType.split(";")[0] ?? "").trim().toLowerCase();
  return STREAMS.has(type);
}

const STREAMS = new Set([
  ..."json-seq jsonl jsonlines ndjson stream+json x-jsonlines x-ndjson".split(" ").map((name) => `application/${name}`),
  "multipart/x-mixed-replace",
  "text/event-stream",
]);
