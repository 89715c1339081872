/** Limits for the answers of servers: an answer may have no end, or come one byte a minute. */
import { AnswerLimitError } from "./errors.js";
import { joined } from "./proof/bytes.js";

/** The default limit of a body, in bytes, after decoding. */
export const MAX_BODY: number = 32 * 1024 * 1024;

/** The limits for one answer of a server. */
export interface AnswerLimits {
  /** The most bytes of its body, decoded: 32 MiB unless given. */
  readonly bytes?: number;
  /** The longest time until it is complete, in seconds: 120 unless given, which leaves room for a settlement. */
  readonly seconds?: number;
}

/**
 * Read the body of a response in pieces, within a limit.
 *
 * @param response The response.
 * @param limit The most bytes.
 * @param signal Ends the reading. Node does not end it by itself if a body is not of its content encoding.
 * @throws {AnswerLimitError} It is longer.
 */
export async function readAll(response: Response, limit: number, signal?: AbortSignal): Promise<Uint8Array> {
  if (!response.body) return new Uint8Array();
  const reader = response.body.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await unlessAborted(reader.read(), signal);
      if (done) return pieces.length === 1 && pieces[0] ? pieces[0] : joined(...pieces);
      size += value.length;
      if (size > limit) throw tooLarge(limit);
      pieces.push(value);
    }
  } catch (error) {
    reader.cancel().catch(() => undefined);
    throw error;
  }
}

/** Return a signal that aborts after a time. Node takes whole milliseconds only, and 1.1 s are 1100.0000000000002. */
export function timeout(milliseconds: number): AbortSignal {
  return AbortSignal.timeout(Math.ceil(milliseconds));
}

/** Wait for a result, or for the signal that ends it, whether its maker heeds the signal or not. */
export function unlessAborted<T>(result: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return result;
  result.catch(() => undefined);
  return new Promise((resolve, reject) => {
    const end = (): void => reject(signal.reason);
    if (signal.aborted) return end();
    signal.addEventListener("abort", end, { once: true });
    result.then(resolve, reject).finally(() => signal.removeEventListener("abort", end));
  });
}

/** Return a response whose body is counted while the program reads it. */
export function metered(response: Response, limit: number): Response {
  if (!response.body || response.status < 200) return response;
  let size = 0;
  const meter = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      size += piece.length;
      if (size > limit) controller.error(tooLarge(limit));
      else controller.enqueue(piece);
    },
  });
  const { status, statusText, headers } = response;
  return withUrl(new Response(response.body.pipeThrough(meter), { status, statusText, headers }), response.url);
}

/** Give a response of ours the URL that it came from. */
export function withUrl(response: Response, url: string): Response {
  Object.defineProperty(response, "url", { value: url, configurable: true, enumerable: true });
  return response;
}

function tooLarge(limit: number): AnswerLimitError {
  return new AnswerLimitError(`the answer exceeds ${limit} bytes: raise the limit by limits.bytes`);
}
