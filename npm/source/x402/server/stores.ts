/** In-memory stores for authorizations in use and for paid answers. Sellers with many processes provide their own. */
import { utf8 } from "../proof/bytes.js";

/** Authorizations that requests are using or have used. */
export interface Reservations {
  /**
   * Reserve an authorization for a request.
   *
   * @param key The authorization.
   * @param holder The request. Only the same request can reserve the authorization again, or release it.
   * @returns False if another request holds or has used it; `"full"` if too many payments are in progress.
   */
  take(key: string, holder: object): MaybePromise<boolean | "full">;
  /** Release an authorization, if this request holds it. */
  release(key: string, holder: object): MaybePromise<void>;
  /** Mark an authorization as used, if this request holds it. */
  settle(key: string, holder: object): MaybePromise<void>;
  /** Store the amount of a pending settlement. */
  setPending(key: string, amount: string): MaybePromise<void>;
  /** Return the amount of a pending settlement; null if there is none. */
  pendingAmount(key: string): MaybePromise<string | null>;
}

/** A value, or a promise of one. */
export type MaybePromise<T> = T | Promise<T>;

/** An answer from the application, or one for a client. */
export interface Answer {
  readonly status: number;
  /** Names and values; a name may occur several times. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

/** A paid answer, stored for a client that lost it. */
export interface PaidAnswer extends Answer {
  /** The hash of the request: a payment fetches only the answer to this request. */
  readonly request: string;
  /** True if the payment has not been settled yet, as far as the server knows. */
  readonly isUnsettled: boolean;
}

/** Paid answers. If a store throws, a client may lose the second copy, but never the first. */
export interface PaidAnswers {
  keep(payment: string, answer: PaidAnswer): MaybePromise<void>;
  find(payment: string): MaybePromise<PaidAnswer | null>;
}

const MAX_STORED_BODY = 1024 * 1024; // of longer answers the proof is kept
const MAX_ANSWERS_BYTES = 64 * MAX_STORED_BODY;
const ANSWER_SECONDS = 24 * 3600; // a buyer that crashed is back within a day
const MAX_IN_PROGRESS = 100_000; // each takes some hundred bytes
const MAX_SETTLED = 250_000; // two minutes at 2,000 requests a second
const RESERVATION_SECONDS = 3600; // the chain knows by then that an authorization was used

/** Return an in-memory store for reservations. */
export function memoryReservations(limit: number = MAX_IN_PROGRESS): Reservations {
  const inProgress = new Map<string, { holder: object; end: number }>();
  const settled = new Map<string, number>();
  const pending = new Map<string, string>();
  const holds = (key: string, holder: object): boolean => inProgress.get(key)?.holder === holder;
  return {
    take(key, holder) {
      const now = Date.now();
      for (const [other, { end }] of inProgress) if (end <= now) inProgress.delete(other); else break;
      for (const [other, end] of settled) if (end <= now) settled.delete(other); else break;
      if (inProgress.has(key)) return holds(key, holder);
      if (settled.has(key)) return false;
      if (inProgress.size >= limit) return "full";
      inProgress.set(key, { holder, end: now + RESERVATION_SECONDS * 1000 });
      return true;
    },
    release(key, holder) {
      if (holds(key, holder)) inProgress.delete(key);
    },
    settle(key, holder) {
      if (!holds(key, holder)) return;
      inProgress.delete(key);
      settled.set(key, Date.now() + RESERVATION_SECONDS * 1000);
      if (settled.size > MAX_SETTLED) deleteFirst(settled);
    },
    setPending(key, amount) {
      pending.set(key, amount);
      if (pending.size > limit) deleteFirst(pending);
    },
    pendingAmount: (key) => pending.get(key) ?? null,
  };
}

/**
 * Return an in-memory store for paid answers.
 *
 * @param maxBytes The total size limit. The oldest answers are removed first.
 */
export function memoryAnswers(maxBytes: number = MAX_ANSWERS_BYTES): PaidAnswers {
  const stored = new Map<string, { answer: PaidAnswer; end: number; size: number }>();
  let bytes = 0;
  const drop = (payment: string): void => {
    bytes -= stored.get(payment)?.size ?? 0;
    stored.delete(payment);
  };
  return {
    keep(payment, whole) {
      const answer = whole.isUnsettled || whole.body.length <= MAX_STORED_BODY ? whole : proofOf(whole);
      const size = answer.headers.reduce((sum, header) => sum + header[0].length + header[1].length, answer.body.length + 256);
      drop(payment);
      stored.set(payment, { answer, size, end: Date.now() + ANSWER_SECONDS * 1000 });
      bytes += size;
      for (const [other, { end }] of stored) {
        if (bytes <= maxBytes && end > Date.now()) break;
        drop(other);
      }
    },
    find(payment) {
      const found = stored.get(payment);
      if (found && found.end > Date.now()) return found.answer;
      drop(payment);
      return null;
    },
  };
}

/** Return an answer without its body: status 410, and `PAYMENT-RESPONSE` with the proof. */
function proofOf(answer: PaidAnswer): PaidAnswer {
  const proof = answer.headers.filter(([name]) => name.toLowerCase() === "payment-response");
  const headers = [["content-type", "application/json"], ["cache-control", "no-store"], ...proof] as const;
  return { ...answer, status: 410, headers, body: utf8('{"error": "answer_not_kept"}') };
}

function deleteFirst(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}
