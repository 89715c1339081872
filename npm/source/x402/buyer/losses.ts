/** The state on chain of a payment whose answer is lost. Loaded with the first such payment. */
import type { LostAnswerOutcome } from "../codes.js";
import { asText, LostAnswerError, PaidNotAnsweredError, quoted, RedirectedPaymentError } from "../errors.js";
import type { Chains } from "../proof/chains.js";
import { decodeHeader, MAX_HEADER } from "../proof/headers.js";
import { parseTransaction } from "../proof/identifiers.js";
import { decodeObject, fieldOf, isObject } from "../proof/json.js";
import type { Settlement } from "../proof/payments.js";
import { awaitSettlement, expiryOf } from "../proof/settlements.js";
import * as http from "./exchange.js";
import type { Judgment } from "./judgment.js";
import { ACTIONS } from "./outcomes.js";

const MOST_REASON = 200;
const LEAST_IDENTIFIER = 16; // fewer characters identify no payment (extension payment-identifier)

/** Find the table's row and column for a payment without an answer. */
export async function judgedLoss(chains: Chains, call: http.Call, reply: http.Reply | Error): Promise<Judgment> {
  const mayCome = !(reply instanceof Error) && mayFollow(reply);
  const settlement = await awaitSettlement(chains, call.decoded ?? {}, mayCome ? undefined : 0);
  const kind = reply instanceof Error ? "nothing" : reply.location === undefined ? "error" : "redirect";
  const outcome = outcomeOf(reply, settlement);
  const error = lostAnswer(call, reply, outcome, settlement);
  const action = ACTIONS[outcome][kind];
  const isFetchable = identifierOf(call).length >= LEAST_IDENTIFIER;
  return { action: action === "retry" && !isFetchable ? "raise" : action, outcome, verification: null, error };
}

/** Return the identifier with which a lost answer can be fetched again; empty if there is none. */
function identifierOf(call: http.Call): string {
  let value: unknown = call.decoded;
  for (const name of ["extensions", "payment-identifier", "info", "id"]) value = fieldOf(value, name);
  return typeof value === "string" ? value : "";
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

/** Return the error for a lost answer. */
function lostAnswer(
  call: http.Call,
  reply: http.Reply | Error,
  outcome: LostAnswerOutcome,
  settlement: Settlement,
): LostAnswerError {
  const { isPaid, signed } = settlement;
  const request = http.sentRequest(call);
  const isReply = !(reply instanceof Error);
  const accepted = (call.decoded ?? {})["accepted"];
  const network = isObject(accepted) ? asText(accepted["network"]) : "";
  const transaction = settlement.transaction ?? (isReply ? reportedTransaction(reply, network) : null);
  const lost = {
    outcome,
    transaction,
    status: isReply && reply.status ? reply.status : null,
    answer: isReply ? reply.body : new Uint8Array(),
  };
  if (isReply && reply.location !== undefined) {
    const { location } = reply;
    const state = isPaid === null ? "may have been taken" : isPaid ? "was taken" : "was not taken yet";
    const by = transaction ? ` by transaction ${transaction}` : "";
    const target = location === null ? "another address" : quoted(location.slice(0, 200));
    const problem = `the server redirects to ${target}, which is not followed; the payment ${state}${by}`;
    return new RedirectedPaymentError(request, problem, { location, isPaid }, lost);
  }
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
      ? "was never settled, and can no longer be settled"
      : `is not settled yet, but could be until ${until}`;
  const named = transaction ? `(the server names transaction ${transaction}) ` : "";
  return new LostAnswerError(request, `${came}, and the payment ${named}${state}${reason}`, lost, options);
}

/** Return whether a reply's payment may be settled soon. */
function mayFollow({ status, location, headers }: http.Reply): boolean {
  const isReported = headers.has("payment-response") || headers.has("x-payment-response");
  return location === undefined && (http.isUnfinished(status) || isReported);
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

/** Return whether the answer to a repeated payment is only the proof, because the server has not stored the body. */
export function isLostBody(body: Uint8Array): boolean {
  if (body.length > MAX_HEADER) return false;
  try {
    const message = decodeObject(body);
    return Object.keys(message).length === 1 && message["error"] === "answer_not_kept";
  } catch {
    return false;
  }
}
