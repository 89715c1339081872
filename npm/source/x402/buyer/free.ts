/** Answers without a price. Loaded with the first one. */
import { tooLarge, withUrl } from "../limits.js";

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
