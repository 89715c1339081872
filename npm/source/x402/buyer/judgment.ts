/** What an answer reveals about the payment that was sent. */
import type { LostAnswerOutcome } from "../codes.js";
import type { LostAnswerError } from "../errors.js";
import type { Chains } from "../proof/chains.js";
import type { PaidExchange, Verification } from "../proof/verdicts.js";
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
  const exchange = await paidExchange(call, reply, isAgain);
  const verification = exchange && (await (await import("../proof/examination.js")).verifyOn(chains, exchange));
  const kind = verification?.isVerified ? "verified answer" : "unverified answer";
  const outcome = verification?.payment ? "settled" : "unknown";
  return { action: ACTIONS[outcome][kind], outcome, verification, error: null };
}

/** Return the paid exchange for the verifier; null if the server refused the payment. */
async function paidExchange(call: http.Call, reply: http.Reply, isAgain: boolean): Promise<PaidExchange | null> {
  const { status, headers, body, settlement } = reply;
  const payment = call.decoded;
  const hasHeader = headers.has("payment-response");
  if (payment === null || (!hasHeader && headers.has("payment-required"))) return null;
  const isBodyLost = isAgain && status === 410 && (await import("./losses.js")).isLostBody(body);
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
