/** What an answer reveals about the payment that was sent. Loaded before a payment is signed. */
import type { LostAnswerOutcome } from "../codes.js";
import type { LostAnswerError } from "../errors.js";
import type { Chains } from "../proof/chains.js";
import { verifyOn } from "../proof/examination.js";
import { MAX_HEADER } from "../proof/headers.js";
import { decodeObject } from "../proof/json.js";
import { checkOf, type PaidExchange, type Verification } from "../proof/verdicts.js";
import * as http from "./exchange.js";
import { ACTIONS } from "./outcomes.js";

/** An answer, classified by the outcome table. */
export interface Judgment {
  readonly action: "deliver" | "retry" | "raise";
  readonly outcome: LostAnswerOutcome;
  readonly verification: Verification | null;
  /** The error to throw if there is no answer; null if there is one. */
  readonly error: LostAnswerError | null;
}

/** Find the table's row and column from the verification of an answer or the state on chain. */
export async function judged(
  chains: Chains,
  call: http.Call,
  reply: http.Reply | Error,
  isAgain: boolean,
): Promise<Judgment> {
  if (reply instanceof Error || !http.isDelivery(reply)) {
    return (await import("./losses.js")).judgedLoss(chains, call, reply);
  }
  const exchange = paidExchange(call, reply, isAgain);
  const verification = exchange === null ? null : await verifyOn(chains, exchange);
  const isPaid = verification !== null && checkOf(verification, "payment").outcome === "passed";
  const kind = verification?.isVerified ? "verified answer" : "unverified answer";
  const outcome = isPaid ? "settled" : "unknown";
  return { action: ACTIONS[outcome][kind], outcome, verification, error: null };
}

/** Return the paid exchange for the verifier; null if the server refused the payment. */
function paidExchange(call: http.Call, reply: http.Reply, isAgain: boolean): PaidExchange | null {
  const { status, headers, body, settlement } = reply;
  const payment = http.paymentOf(call);
  const hasHeader = headers.has("payment-response");
  if (payment === null || (!hasHeader && headers.has("payment-required"))) return null;
  const isBodyLost = isAgain && status === 410 && isLostBody(body);
  return {
    payment,
    settlement: hasHeader ? settlement : null,
    request: call.body,
    response: isBodyLost ? null : body,
    target: `${call.method} ${call.url}`,
    isBodyLost,
    unpaidStatus: !hasHeader && status >= 400 && !http.isUnfinished(status) ? status : null,
  };
}

/** Return whether the answer to a repeated payment is only the proof, because the server has not stored the body. */
function isLostBody(body: Uint8Array): boolean {
  if (body.length > MAX_HEADER) return false;
  try {
    const message = decodeObject(body);
    return Object.keys(message).length === 1 && message["error"] === "answer_not_kept";
  } catch {
    return false;
  }
}
