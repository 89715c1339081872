/** Payments in transactions: the transfer that settled one, with the authorization that it used. */
import { keccak_256 } from "@noble/hashes/sha3";
import { asText, NodeError } from "../errors.js";
import { bigintOf, hex, isEqual, unhex, utf8 } from "./bytes.js";
import { checksummed } from "./identifiers.js";
import { isObject, type JsonObject } from "./json.js";
import { EXACT_PROXY, UPTO_PROXY, type PaymentKind } from "./kinds.js";
import * as node from "./node.js";
import { PaymentProblemError, type Payment, type SignedPayment } from "./payments.js";

/** The topic of a transfer of a token. */
export const TRANSFER: string = topicOf("Transfer(address,address,uint256)");
/** The topic of a used authorization (EIP-3009). */
export const AUTHORIZATION_USED: string = topicOf("AuthorizationUsed(address,bytes32)");
const SETTLED = [topicOf("Settled()"), topicOf("SettledWithPermit()")];

/** The calls of the proxies, by address and selector, with the words before the payment. */
const FUNCTIONS: Readonly<Record<string, readonly [PaymentKind, number]>> = {
  [`${EXACT_PROXY.toLowerCase()}:13cd3b53`]: ["permit2-exact", 0],
  [`${EXACT_PROXY.toLowerCase()}:fa340378`]: ["permit2-exact", 5],
  [`${UPTO_PROXY.toLowerCase()}:ff11e7b4`]: ["permit2-upto", 0],
  [`${UPTO_PROXY.toLowerCase()}:016c1748`]: ["permit2-upto", 5],
};
const MOST_FRAMES = 10_000;

/** A log of a receipt. */
export interface ReceiptLog {
  readonly logIndex: number;
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: Uint8Array;
}

interface ProxyCall {
  readonly payment: SignedPayment;
  readonly amount: bigint;
}

/** Return the first topic of an event. */
export function topicOf(event: string): string {
  return hex(keccak_256(utf8(event)));
}

/**
 * Find a payment in its transaction.
 *
 * @param onBlock Is told the block at once, so that other questions about it travel in the same batch.
 */
export async function findPayment(
  chain: node.Node,
  signed: SignedPayment,
  transaction: string,
  confirmations: number,
  onBlock: (block: bigint) => void = () => undefined,
): Promise<Payment> {
  const [block, transfer] = await findTransfer(chain, signed, transaction);
  onBlock(block);
  const isUpto = signed.kind === "permit2-upto";
  const moved = bigintOf(transfer.data);
  if (moved < signed.amount && !isUpto) {
    const problem = `only ${moved} of ${signed.asset} arrived at ${signed.payee}, and the price is ${signed.amount}`;
    throw new PaymentProblemError(problem, "paid_less", true);
  }
  const [latest, time] = await Promise.all([chain.latestBlock(), chain.blockTime(block)]);
  const depth = latest - block + 1n;
  if (depth < confirmations) {
    throw new PaymentProblemError(`the payment has ${depth} of ${confirmations} confirmations`, "payment_unconfirmed");
  }
  return {
    payer: signed.payer,
    payee: signed.payee,
    asset: signed.asset,
    amount: moved,
    block,
    logIndex: transfer.logIndex,
    time: Number(time),
    kind: signed.kind,
    ceiling: isUpto ? signed.amount : null,
  };
}

/** Find the transfer that settled a payment in a transaction, with its block. It may have moved less. */
export async function findTransfer(
  chain: node.Node,
  signed: SignedPayment,
  transaction: string,
): Promise<[bigint, ReceiptLog]> {
  const reply = await chain.send("eth_getTransactionReceipt", transaction);
  if (reply === null || reply === undefined) {
    throw new PaymentProblemError("the transaction is not in any block", "payment_not_found");
  }
  const receipt = node.recordOf(reply);
  if (node.quantityOf(receipt["status"]) !== 1n) {
    throw new PaymentProblemError("the transaction failed", "payment_not_found", true);
  }
  for (const transfer of await transfersIn(chain, transaction, receipt, signed.payer, signed.payee)) {
    if (!maySettle(signed, transfer.log)) continue;
    const isIt =
      signed.kind === "eip3009"
        ? transfer.payment instanceof Uint8Array && isEqual(transfer.payment, signed.nonce)
        : isSamePayment(transfer.payment, signed);
    if (isIt) return [node.quantityOf(receipt["blockNumber"]), transfer.log];
    if (transfer.kind === null && signed.kind !== "eip3009") {
      const problem = "another contract settled the payment, and there is no trace (callTracer) to judge it by";
      throw new PaymentProblemError(problem, "not_provable", true);
    }
  }
  const amount = `${signed.kind === "permit2-upto" ? "at most " : ""}${signed.amount} of ${signed.asset}`;
  const sides = `from ${signed.payer} to ${signed.payee}`;
  throw new PaymentProblemError(`the transaction does not transfer ${amount} ${sides} by this authorization`);
}

function isSamePayment(found: Uint8Array | SignedPayment | null, signed: SignedPayment): boolean {
  if (found === null || found instanceof Uint8Array) return false;
  const names = ["kind", "asset", "payer", "payee", "amount", "validAfter", "deadline", "facilitator"] as const;
  return isEqual(found.nonce, signed.nonce) && names.every((name) => found[name] === signed[name]);
}

/** Tell whether a transfer may have settled a payment. */
export function maySettle(signed: SignedPayment, log: ReceiptLog): boolean {
  const sides = [TRANSFER, addressTopic(signed.payer), addressTopic(signed.payee)];
  if (log.address !== signed.asset || !isSameList(log.topics, sides) || log.data.length !== 32) return false;
  const moved = bigintOf(log.data);
  return moved > 0n && (moved <= signed.amount || signed.kind === "eip3009");
}

interface PaidTransfer {
  readonly log: ReceiptLog;
  /** `plain` without a payment; null if only a trace could tell, and the node has none. */
  readonly kind: PaymentKind | null;
  /** The settled payment by Permit2, or the nonce of one by EIP-3009. */
  readonly payment: Uint8Array | SignedPayment | null;
}

/** Return the transfers of one account to another in a transaction, in order, each with the payment that made it. */
async function transfersIn(
  chain: node.Node,
  transaction: string,
  receipt: JsonObject,
  payer: string,
  payee: string,
): Promise<PaidTransfer[]> {
  const logs = node.recordsOf(receipt["logs"]).map(receiptLog);
  const accounts = [TRANSFER, addressTopic(payer), addressTopic(payee)];
  const ofPayer = logs.filter((log) => log.topics.length === 3 && log.topics[1] === accounts[1]);
  const used = new Map<string, string>();
  for (const log of ofPayer) {
    if (log.topics[0] === AUTHORIZATION_USED) used.set(`${log.address}:${log.logIndex}`, log.topics[2] ?? "");
  }
  const transfers = ofPayer.filter((log) => log.topics[0] === TRANSFER && log.data.length === 32);
  const nonces = pairedNonces(transfers, used);
  const ours = transfers.filter((log) => isSameList(log.topics, accounts));
  const events = logs.filter(isSettlement);
  let calls: ProxyCall[] | null = [];
  if (events.length && ours.some((log) => !nonces.has(log))) {
    calls = await settlingCalls(chain, transaction, events.length);
  }
  const settled = settledCalls(calls ?? [], logs);
  const lastEvent = events.at(-1)?.logIndex ?? 0;
  return ours.map((log) => {
    const nonce = nonces.get(log);
    if (nonce !== undefined) return { log, kind: "eip3009", payment: unhex(nonce) };
    const payment = settled.get(log);
    if (payment !== undefined) return { log, kind: payment.kind, payment };
    return { log, kind: calls === null && log.logIndex < lastEvent ? null : "plain", payment: null };
  });
}

/**
 * Pair transfers with the authorizations that they used: a token logs both one after the other. From the last transfer
 * to the first, the pairs are right in both orders. Each authorization is of one transfer at most.
 */
function pairedNonces(transfers: readonly ReceiptLog[], used: Map<string, string>): Map<ReceiptLog, string> {
  const paired = new Map<ReceiptLog, string>();
  for (const log of [...transfers].sort((first, second) => second.logIndex - first.logIndex)) {
    for (const neighbour of [log.logIndex + 1, log.logIndex - 1]) {
      const place = `${log.address}:${neighbour}`;
      const nonce = used.get(place);
      if (nonce !== undefined) {
        used.delete(place);
        paired.set(log, nonce);
        break;
      }
    }
  }
  return paired;
}

/** Return the calls of the proxies in a transaction; null if another contract made them, and the node cannot say. */
async function settlingCalls(chain: node.Node, transaction: string, events: number): Promise<ProxyCall[] | null> {
  const sent = node.recordOf(await chain.send("eth_getTransactionByHash", transaction));
  const call = proxyCall(sent["to"], node.dataOf(sent["input"]));
  if (call !== null && events === 1) return [call];
  try {
    const trace = await chain.send("debug_traceTransaction", transaction, { tracer: "callTracer" });
    const calls = innerCalls(trace);
    return calls.length === events ? calls : null;
  } catch (error) {
    if (error instanceof NodeError) return null;
    throw error;
  }
}

/** Return the payment that a call settles; null if it is no call of a proxy. All words that matter stand at fixed places. */
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
 * A proxy logs its event at its end, so a call inside another one comes first. Calls that failed, or stand below one
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

/** Pair each payment with the transfer that it made. A transfer belongs to one payment at most. */
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

/** Read a log of a receipt. */
export function receiptLog(fields: JsonObject): ReceiptLog {
  const topics = fields["topics"];
  if (!Array.isArray(topics)) node.malformed("a log");
  let address: string;
  try {
    address = checksummed(asText(fields["address"]).toLowerCase());
  } catch {
    node.malformed("a log");
  }
  return {
    logIndex: Number(node.quantityOf(fields["logIndex"])),
    address,
    topics: topics.map((topic) => hex(node.dataOf(topic))),
    data: node.dataOf(fields["data"]),
  };
}

/** Return an address as a topic. */
export function addressTopic(address: string): string {
  return address.slice(2).toLowerCase().padStart(64, "0");
}

function isSameList(first: readonly string[], second: readonly string[]): boolean {
  return first.length === second.length && first.every((part, at) => part === second[at]);
}
