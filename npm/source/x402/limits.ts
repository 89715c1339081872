/** Limits for servers' answers, which could be endless or arrive at one byte per minute. */
import { AnswerLimitError } from "./errors.js";
import { joined } from "./proof/bytes.js";

/** The default limit of a body, in bytes, after decoding. */
export const MAX_BODY: number = 32 * 1024 * 1024;

/** The limits for one server answer. */
export interface AnswerLimits {
  /** The maximum size of its decoded body, in bytes: 32 MiB by default. */
  readonly bytes?: number;
  /** The maximum time until it is complete, in seconds: 120 by default, which leaves time for a settlement. */
  readonly seconds?: number;
}

/**
 * Read a response's body in chunks, within a limit.
 *
 * @param response The response.
 * @param limit The maximum number of bytes.
 * @param signal Aborts the read. Node does not abort it if a body does not match its content encoding.
 * @throws {AnswerLimitError} The body is longer.
 */
export async function readAll(response: Response, limit: number, signal?: AbortSignal): Promise<Uint8Array> {
  if (!response.body) return new Uint8Array();
  const reader = response.body.getReader();
  const read = async (): Promise<Uint8Array> => {
    const pieces: Uint8Array[] = [];
    let size = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return pieces.length === 1 && pieces[0] ? pieces[0] : joined(...pieces);
      size += value.length;
      if (size > limit) throw tooLarge(limit);
      pieces.push(value);
    }
  };
  try {
    return await unlessAborted(read(), signal);
  } catch (error) {
    reader.cancel().catch(() => undefined);
    throw error;
  }
}

/** Return a signal that aborts after a time. Node only accepts whole milliseconds, and 1.1 s is 1100.0000000000002. */
export function timeout(milliseconds: number): AbortSignal {
  return AbortSignal.timeout(Math.ceil(milliseconds));
}

/** Wait for a result or for the signal, whether or not the operation itself reacts to the signal. */
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

/** Set the original URL on a response created here. */
export function withUrl(response: Response, url: string): Response {
  Object.defineProperty(response, "url", { value: url, configurable: true, enumerable: true });
  return response;
}

/** Return the error for an answer that is too long. */
export function tooLarge(limit: number): AnswerLimitError {
  return new AnswerLimitError(`the answer exceeds ${limit} bytes: raise limits.bytes`);
}
