/** Payments that have no answer yet. Loaded with the next call after the first one. */
import { isEqual, joined, utf8 } from "../proof/bytes.js";
import type { Call } from "./exchange.js";

const OUTSTANDING_SECONDS = 24 * 3600; // servers keep no answer longer

/** A payment that has no answer yet. */
export interface Outstanding {
  readonly call: Call;
  readonly since: number;
  readonly isSettled: boolean;
}

/** Split payments into those for a call's request, the oldest first, and the others. Settled ones that are too old are dropped. */
export function split(payments: readonly Outstanding[], call: Call): Record<"same" | "other", Outstanding[]> {
  const start = Date.now() - OUTSTANDING_SECONDS * 1000;
  const current = payments.filter(({ isSettled, since }) => !isSettled || since > start);
  const same = current.filter((payment) => isSameRequest(payment.call, call));
  return { same, other: current.filter((payment) => !same.includes(payment)) };
}

/** Return whether two calls are the same request, even if a form was re-encoded. */
function isSameRequest(first: Call, second: Call): boolean {
  const isSame = first.method === second.method && first.url === second.url;
  return isSame && isEqual(contentOf(first), contentOf(second));
}

function contentOf({ headers, body }: Call): Uint8Array {
  const boundary = /multipart\/[^;]+;.*boundary="?([^";]+)/i.exec(headers["content-type"] ?? "")?.[1];
  return boundary ? without(body, utf8(boundary)) : body;
}

function without(body: Uint8Array, part: Uint8Array): Uint8Array {
  const kept: Uint8Array[] = [];
  let start = 0;
  for (let at = body.indexOf(part[0] ?? 0); at >= 0; at = body.indexOf(part[0] ?? 0, at + 1)) {
    if (at >= start && part.every((byte, place) => body[at + place] === byte)) {
      kept.push(body.subarray(start, at));
      start = at + part.length;
    }
  }
  return joined(...kept, body.subarray(start));
}
