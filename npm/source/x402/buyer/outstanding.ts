/** Payments that have no answer yet. Loaded with the next call after the first one. */
import { isEqual, joined, utf8 } from "../proof/bytes.js";
import type { Chains } from "../proof/chains.js";
import { awaitSettlement } from "../proof/settlements.js";
import type { Call } from "./exchange.js";

const OUTSTANDING_SECONDS = 24 * 3600; // servers keep no answer longer

/** A payment that has no answer yet. */
export interface Outstanding {
  readonly call: Call;
  readonly since: number;
  readonly isSettled: boolean;
}

/**
 * Remove and return the oldest payment for a call's request; null if there is none. Settled ones that are too old are removed.
 *
 * @param isAll True to remove all payments for the request.
 */
export function take(payments: Outstanding[], call: Call, isAll = false): Call | null {
  const start = Date.now() - OUTSTANDING_SECONDS * 1000;
  const current = payments.filter(({ isSettled, since }) => !isSettled || since > start);
  const same = current.filter((payment) => isSameRequest(payment.call, call));
  const [oldest] = same;
  const others = same.filter(({ call: { payment } }) => !isAll && payment !== oldest?.call.payment);
  payments.splice(0, payments.length, ...current.filter((payment) => !same.includes(payment)), ...others);
  return oldest?.call ?? null;
}

/** Take the oldest payment for a request that can still be settled; null if there is none. */
export async function payable(payments: Outstanding[], request: Call, chains: Chains): Promise<Call | null> {
  for (;;) {
    const call = take(payments, request);
    if (call === null) return null;
    let isExpired = false;
    try {
      ({ isExpired } = await awaitSettlement(chains, call.decoded ?? {}, 0));
    } catch (error) {
      payments.push({ call, since: Date.now(), isSettled: false }); // it is not forgotten because a look at it failed
      throw error;
    }
    if (!isExpired) return { ...call, settings: request.settings };
  }
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
