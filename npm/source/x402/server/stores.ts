/** Authorizations in use, and answers that were paid for. In memory here; a seller of several processes brings its own. */
import { utf8 } from "../proof/bytes.js";

/** Authorizations that a request is using or has used. */
export interface Reservations {
  /**
   * Reserve an authorization for a request.
   *
   * @param key The authorization.
   * @param holder The request. Only the same one can take it again, or release it.
   * @returns False if another request has it or has used it; `"full"` if too many payments are in progress.
   */
  take(key: string, holder: object): MaybePromise<boolean | "full">;
  /** Release an authorization, if this request holds it. */
  release(key: string, holder: object): MaybePromise<void>;
  /** Mark an authorization as used, if this request holds it. */
  settle(key: string, holder: object): MaybePromise<void>;
  /** Remember the amount of a settlement that is pending. */
  setPending(key: string, amount: string): MaybePromise<void>;
  /** Return the amount of a settlement that was pending; null without one. */
  pendingAmount(key: string): MaybePromise<string | null>;
}

/** A value, now or later. */
export type MaybePromise<T> = T | Promise<T>;

/** An answer of the application, or one for a client. */
export interface Answer {
  readonly status: number;
  /** Names and values; a name may come several times. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

/** An answer that was paid for, kept for a client that lost it. */
export interface PaidAnswer extends Answer {
  /** The hash of the request: a payment fetches the answer to this request alone. */
  readonly request: string;
  /** True if the payment was not settled so far, as far as the server knows. */
  readonly isUnsettled: boolean;
}

/** Answers that were paid for. A store that throws costs a client the second copy, never the first. */
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

/** Return reservations in memory. */
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
 * Return paid answers in memory.
 *
 * @param maxBytes The limit for all of them. The oldest go first.
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
