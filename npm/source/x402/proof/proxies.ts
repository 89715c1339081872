/** Payments through Permit2 proxies in transactions. Loaded only when a price is paid this way. */
import { asText, NodeError } from "../errors.js";
import { bigintOf, hex, isEqual, unhex } from "./bytes.js";
import { checksummed } from "./identifiers.js";
import { isObject } from "./json.js";
import { EXACT_PROXY, UPTO_PROXY, type PaymentKind } from "./kinds.js";
import * as node from "./node.js";
import { PaymentProblemError, type SignedPayment } from "./payments.js";
import { addressTopic, isSameList, topicOf, TRANSFER, type ReceiptLog } from "./transfers.js";

const SETTLED = [topicOf("Settled()"), topicOf("SettledWithPermit()")];

/** The calls to the proxies, by address and selector, with the number of words before the payment. */
const FUNCTIONS: Readonly<Record<string, readonly [PaymentKind, number]>> = {
  [`${EXACT_PROXY.toLowerCase()}:13cd3b53`]: ["permit2-exact", 0],
  [`${EXACT_PROXY.toLowerCase()}:fa340378`]: ["permit2-exact", 5],
  [`${UPTO_PROXY.toLowerCase()}:ff11e7b4`]: ["permit2-upto", 0],
  [`${UPTO_PROXY.toLowerCase()}:016c1748`]: ["permit2-upto", 5],
};
const MOST_FRAMES = 10_000;

interface ProxyCall {
  readonly payment: SignedPayment;
  readonly amount: bigint;
}

/**
 * Find the transfer that settled a payment.
 *
 * @param possible The candidate transfers, without those from other authorizations.
 * @throws {PaymentProblemError} Only a trace could decide, and the node provides none.
 */
export async function settledBy(
  chain: node.Node,
  transaction: string,
  signed: SignedPayment,
  logs: readonly ReceiptLog[],
  possible: readonly ReceiptLog[],
): Promise<ReceiptLog | undefined> {
  const events = logs.filter(isSettlement);
  const isSettled = events.length > 0 && possible.length > 0;
  const calls = isSettled ? await settlingCalls(chain, transaction, events.length) : [];
  const settled = settledCalls(calls ?? [], logs);
  const lastEvent = events.at(-1)?.logIndex ?? 0;
  for (const log of possible) {
    const payment = settled.get(log);
    if (payment && isSamePayment(payment, signed)) return log;
    if (calls === null && log.logIndex < lastEvent) {
      const problem = "another contract settled the payment, and no trace (callTracer) is available to verify it";
      throw new PaymentProblemError(problem, "not_provable", true);
    }
  }
  return undefined;
}

function isSamePayment(found: SignedPayment, signed: SignedPayment): boolean {
  const names = ["kind", "asset", "payer", "payee", "amount", "validAfter", "deadline", "facilitator"] as const;
  return isEqual(found.nonce, signed.nonce) && names.every((name) => found[name] === signed[name]);
}

/** Return the calls to the proxies in a transaction; null if another contract made them and there is no trace. */
async function settlingCalls(chain: node.Node, transaction: string, events: number): Promise<ProxyCall[] | null> {
  const sent = node.recordOf(await chain("eth_getTransactionByHash", transaction));
  const call = proxyCall(sent["to"], node.dataOf(sent["input"]));
  if (call !== null && events === 1) return [call];
  try {
    const trace = await chain("debug_traceTransaction", transaction, { tracer: "callTracer" });
    const calls = innerCalls(trace);
    return calls.length === events ? calls : null;
  } catch (error) {
    if (error instanceof NodeError) return null;
    throw error;
  }
}

/** Return the payment that a call settles; null if it does not call a proxy. Relevant words are at fixed positions. */
function proxyCall(to: unknown, data: Uint8Array): ProxyCall | null {
  const name = `${asText(to ?? "").toLowerCase()}:${hex(data.subarray(0, 4))}`;
  const found = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  if (found === undefined) return null;
  const [kind, skipped] = found;
  const isUpto = kind === "permit2-upto";
  const count = isUpto ? 9 : 7;
  const words = Array.from({ length: count }, (_, place) => {
    const start = 4 + (skipped + place) * 32;
    return data.subarray(start, start + 32);
  });
  if (words[count - 1]?.length !== 32) return null;
  const [token, ceiling, nonce, deadline, ...rest] = words as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
  const others = rest as Uint8Array[];
  const amount = isUpto ? (others.shift() ?? ceiling) : ceiling;
  const validAfter = others.pop() ?? new Uint8Array();
  const accounts = [token, ...others];
  if (accounts.some((account) => account.subarray(0, 12).some((byte) => byte !== 0))) return null; // the proxy reverts
  const [asset = "", payer = "", payee = "", facilitator = null] = accounts.map((account) =>
    checksummed(`0x${hex(account.subarray(12))}`),
  );
  const payment: SignedPayment = {
    kind,
    asset,
    payer,
    payee,
    amount: bigintOf(ceiling),
    nonce: nonce.slice(),
    validAfter: bigintOf(validAfter),
    deadline: bigintOf(deadline),
    facilitator,
  };
  return { payment, amount: bigintOf(amount) };
}

/**
 * Return the payments that the calls of a transaction settled, in the order of the proxies' events.
 *
 * A proxy emits its event at the end of a call, so nested calls come first. Calls that failed, or are nested in one
 * that failed, settled nothing.
 */
function innerCalls(trace: unknown): ProxyCall[] {
  const calls: ProxyCall[] = [];
  const frames: [unknown, boolean][] = [[trace, false]];
  let read = 0;
  for (let next = frames.pop(); next !== undefined; next = frames.pop()) {
    const [frame, isAfter] = next;
    const inner = isObject(frame) ? (frame["calls"] ?? []) : null;
    if (!isObject(frame) || !Array.isArray(inner)) node.malformed("a trace");
    if (isAfter) {
      const call = proxyCall(frame["to"], unhex(asText(frame["input"]).slice(2)) ?? node.malformed("a trace"));
      if (call !== null && asText(frame["type"]).toUpperCase() === "CALL") calls.push(call);
    } else if (!frame["error"]) {
      if (++read > MOST_FRAMES) node.malformed(`a trace of at most ${MOST_FRAMES} calls`);
      frames.push([frame, true]);
      for (const part of [...inner].reverse()) frames.push([part, false]);
    }
  }
  return calls;
}

/** Pair each payment with its transfer. A transfer belongs to at most one payment. */
function settledCalls(calls: readonly ProxyCall[], logs: readonly ReceiptLog[]): Map<ReceiptLog, SignedPayment> {
  const settled = new Map<ReceiptLog, SignedPayment>();
  if (logs.filter(isSettlement).length !== calls.length) return settled;
  const transfers: ReceiptLog[] = [];
  const remaining = [...calls];
  for (const log of logs) {
    if (isSettlement(log)) {
      const call = remaining.shift();
      if (call === undefined) break;
      const sides = [TRANSFER, addressTopic(call.payment.payer), addressTopic(call.payment.payee)];
      for (const transfer of [...transfers].reverse()) {
        const moved = bigintOf(transfer.data);
        const isIts = transfer.address === call.payment.asset && isSameList(transfer.topics, sides);
        if (isIts && moved > 0n && moved <= call.amount) {
          transfers.splice(transfers.indexOf(transfer), 1);
          settled.set(transfer, call.payment);
          break;
        }
      }
    } else if (log.topics[0] === TRANSFER && log.data.length === 32) {
      transfers.push(log);
    }
  }
  return settled;
}

function isSettlement(log: ReceiptLog): boolean {
  const isEvent = log.topics.length === 1 && SETTLED.includes(log.topics[0] ?? "") && !log.data.length;
  return isEvent && (log.address === EXACT_PROXY || log.address === UPTO_PROXY);
}
