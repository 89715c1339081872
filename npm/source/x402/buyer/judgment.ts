/** What an answer, or its absence, reveals about the payment that was sent. Loaded before a payment is signed. */
import type { LostAnswerOutcome } from "../codes.js";
import { asText, LostAnswerError, PaidNotAnsweredError, quoted, RedirectedPaymentError } from "../errors.js";
import type { Chains } from "../proof/chains.js";
import { verifyOn } from "../proof/examination.js";
import { decodeHeader, MAX_HEADER } from "../proof/headers.js";
import { parseTransaction } from "../proof/identifiers.js";
import { decodeObject, isObject } from "../proof/json.js";
import { expiryOf, unknownSettlement, type Settlement } from "../proof/payments.js";
import { awaitSettlement } from "../proof/settlements.js";
import { checkOf, type PaidExchange, type Verification } from "../proof/verdicts.js";
import * as http from "./exchange.js";
import { ACTIONS } from "./outcomes.js";

/** An answer, classified by the outcome table. */
export interface Judgment {
  readonly action: "deliver" | "retry" | "raise";
  readonly outcome: LostAnswerOutcome;
  readonly verification: Verification | null;
  readonly settlement: Settlement;
}

const UNFINISHED: readonly number[] = [408, 425, 499];
const MOST_REASON = 200;

const NOT_LOOKED_UP = { outcome: "unknown", settlement: unknownSettlement("it was not looked up") } as const;

/** Find the table's row and column from the verification of an answer and the state on chain. */
export async function judged(
  chains: Chains,
  call: http.Call,
  reply: http.Reply | Error,
  isAgain: boolean,
): Promise<Judgment> {
  const payment = http.paymentOf(call) ?? {};
  if (!(reply instanceof Error) && http.isDelivery(reply)) {
    const exchange = paidExchange(call, reply, isAgain);
    const verification = exchange === null ? null : await verifyOn(chains, exchange);
    const isPaid = verification !== null && checkOf(verification, "payment").outcome === "passed";
    const kind = verification?.isVerified ? "verified answer" : "unverified answer";
    const outcome = isPaid ? "settled" : "unknown";
    return { action: ACTIONS[outcome][kind], outcome, verification, settlement: unknownSettlement("") };
  }
  const mayCome = !(reply instanceof Error) && isUnfinished(reply);
  const settlement = await awaitSettlement(chains, payment, mayCome ? undefined : 0);
  const kind = reply instanceof Error ? "nothing" : reply.location === undefined ? "error" : "redirect";
  const outcome = outcomeOf(reply, settlement);
  return { action: ACTIONS[outcome][kind], outcome, verification: null, settlement };
}

/** Return the outcome of a payment according to the chain or, if the chain shows none, the server. */
function outcomeOf(reply: http.Reply | Error, settlement: Settlement): LostAnswerOutcome {
  if (settlement.isPaid) return "settled";
  if (settlement.isExpired) return "expired";
  if (reply instanceof Error) return "unknown";
  const reported = reply.settlement ?? {};
  const isOfNothing = reported["amount"] === "0"; // scheme upto
  if (reported["transaction"] || (reported["success"] === true && !isOfNothing)) return "pending";
  return reply.status === 402 && settlement.isPaid === false ? "refused" : "unknown";
}

/** Return the error for a lost answer. Without a judgment, the payment was not looked up. */
export function lostAnswer(
  call: http.Call,
  reply: http.Reply | Error,
  { outcome, settlement }: Pick<Judgment, "outcome" | "settlement"> = NOT_LOOKED_UP,
): LostAnswerError {
  const { isPaid, signed } = settlement;
  const request = http.sentRequest(call);
  const isReply = !(reply instanceof Error);
  const accepted = (http.paymentOf(call) ?? {})["accepted"];
  const network = isObject(accepted) ? asText(accepted["network"]) : "";
  const transaction = settlement.transaction ?? (isReply ? reportedTransaction(reply, network) : null);
  const lost = {
    outcome,
    transaction,
    status: isReply && reply.status ? reply.status : null,
    answer: isReply ? reply.body : new Uint8Array(),
  };
  if (isReply && reply.location !== undefined) return new RedirectedPaymentError(request, reply.location, isPaid, lost);
  const came = isReply ? `the server returned status ${reply.status}` : http.messageOf(reply);
  const reason = isReply && reasonOf(reply) ? `; its reason: ${quoted(reasonOf(reply))}` : "";
  const options = isReply ? {} : { cause: reply };
  if (isPaid) {
    const by = transaction ? `transaction ${transaction}` : "a transaction that was not found";
    const isUpto = signed?.kind === "permit2-upto";
    const part = isUpto ? ` (${settlement.amount ?? "an unknown part"} of at most ${signed.amount})` : "";
    const problem = `${came}, and the payment was taken by ${by}${part}${reason}`;
    return new PaidNotAnsweredError(request, problem, lost, options);
  }
  const until = signed ? expiryOf(signed) : "it expires";
  const isUnknown = isPaid === null;
  const state = isUnknown
    ? `cannot be looked up: ${settlement.problem}`
    : outcome === "expired"
      ? "was never settled, and cannot be any more"
      : `is not settled yet, but can be until ${until}`;
  const named = transaction ? `(the server names transaction ${transaction}) ` : "";
  return new LostAnswerError(request, `${came}, and the payment ${named}${state}${reason}`, lost, options);
}

/** Return whether a reply's payment may be settled soon. */
function isUnfinished({ status, location, headers }: http.Reply): boolean {
  const isReported = headers.has("payment-response") || headers.has("x-payment-response");
  return location === undefined && (mayBeUnfinished(status) || isReported);
}

/** Return the server's reason for an error; empty if there is none. */
function reasonOf({ settlement, headers }: http.Reply): string {
  const text = settlement?.["errorReason"] || decodeHeader(headers.get("payment-required"))?.["error"];
  return typeof text === "string" ? text.slice(0, MOST_REASON) : "";
}

/** Return the transaction that the server reports; null if it reports none on the payment's network. */
function reportedTransaction({ settlement }: http.Reply, network: string): string | null {
  const transaction = asText(settlement?.["transaction"]);
  try {
    parseTransaction(`${network}:${transaction}`);
    return transaction;
  } catch {
    return null;
  }
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
    unpaidStatus: !hasHeader && status >= 400 && !mayBeUnfinished(status) ? status : null,
  };
}

function mayBeUnfinished(status: number): boolean {
  return UNFINISHED.includes(status) || status >= 500;
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
