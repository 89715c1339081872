/** Payments in transactions: the transfer that settled a payment, and the authorization it used. */
import { keccak_256 } from "@noble/hashes/sha3";
import { asText } from "../errors.js";
import { bigintOf, hex, utf8 } from "./bytes.js";
import { checksummed } from "./identifiers.js";
import type { JsonObject } from "./json.js";
import * as node from "./node.js";
import { PaymentProblemError, type Payment, type SignedPayment } from "./payments.js";

/** The topic of a transfer of a token. */
export const TRANSFER: string = topicOf("Transfer(address,address,uint256)");
/** The topic of a used authorization (EIP-3009). */
export const AUTHORIZATION_USED: string = topicOf("AuthorizationUsed(address,bytes32)");

/** A log of a receipt. */
export interface ReceiptLog {
  readonly logIndex: number;
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: Uint8Array;
}

/** Return the first topic of an event. */
export function topicOf(event: string): string {
  return hex(keccak_256(utf8(event)));
}

/**
 * Find a payment in its transaction.
 *
 * @param onBlock Called with null first, and then with the payment's block if that is not the latest block, so that other
 *   requests about it are sent in the same batches.
 */
export async function findPayment(
  chain: node.Node,
  signed: SignedPayment,
  transaction: string,
  confirmations: number,
  onBlock: (block: bigint | null) => void = () => undefined,
): Promise<Payment> {
  const head = node.blockOf(chain);
  head.catch(() => undefined);
  onBlock(null);
  const [block, transfer] = await findTransfer(chain, signed, transaction);
  const isUpto = signed.kind === "permit2-upto";
  const moved = bigintOf(transfer.data);
  if (moved < signed.amount && !isUpto) {
    throw new PaymentProblemError(["paid_less", moved, signed], "paid_less", true);
  }
  const latest = await head;
  if (latest.number !== block) onBlock(block);
  const time = latest.number === block ? latest.time : await (await node.blockOf(chain, node.quantityText(block))).time;
  const depth = latest.number - block + 1n;
  if (depth < confirmations) {
    throw new PaymentProblemError(["payment_unconfirmed", depth, confirmations], "payment_unconfirmed");
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

/** Find the transfer that settled a payment in a transaction, with its block. It may have moved a smaller amount. */
export async function findTransfer(
  chain: node.Node,
  signed: SignedPayment,
  transaction: string,
): Promise<[bigint, ReceiptLog]> {
  const reply = await chain("eth_getTransactionReceipt", transaction);
  if (reply === null || reply === undefined) {
    throw new PaymentProblemError(["noBlock"], "payment_not_found");
  }
  const receipt = node.recordOf(reply);
  if (node.quantityOf(receipt["status"]) !== 1n) {
    throw new PaymentProblemError(["reverted"], "payment_not_found", true);
  }
  const logs = node.recordsOf(receipt["logs"]).map(receiptLog);
  const nonces = pairedNonces(logs, addressTopic(signed.payer));
  const possible = logs.filter((log) => maySettle(signed, log));
  const transfer =
    signed.kind === "eip3009"
      ? possible.find((log) => nonces.get(log) === hex(signed.nonce))
      : await settledBy(chain, transaction, signed, logs, possible.filter((log) => !nonces.has(log)));
  if (transfer) return [node.quantityOf(receipt["blockNumber"]), transfer];
  throw new PaymentProblemError(["payment_mismatch", signed]);
}

/** Find a Permit2 payment's transfer. The code that reads the proxies is separate, because few payments need it. */
async function settledBy(
  ...question: Parameters<typeof import("./proxies.js").settledBy>
): Promise<ReceiptLog | undefined> {
  return (await import("./proxies.js")).settledBy(...question);
}

/** Return whether a transfer may have settled a payment. */
export function maySettle(signed: SignedPayment, log: ReceiptLog): boolean {
  const sides = [TRANSFER, addressTopic(signed.payer), addressTopic(signed.payee)];
  if (log.address !== signed.asset || !isSameList(log.topics, sides) || log.data.length !== 32) return false;
  const moved = bigintOf(log.data);
  return moved > 0n && (moved <= signed.amount || signed.kind === "eip3009");
}

/**
 * Pair a payer's transfers with the authorizations that they used: a token logs both one after the other. From the last transfer
 * to the first, the pairs are correct in both orders. Each authorization belongs to at most one transfer.
 */
function pairedNonces(logs: readonly ReceiptLog[], payer: string): Map<ReceiptLog, string> {
  const ofPayer = logs.filter((log) => log.topics.length === 3 && log.topics[1] === payer);
  const used = new Map<string, string>();
  for (const log of ofPayer) {
    if (log.topics[0] === AUTHORIZATION_USED) used.set(`${log.address}:${log.logIndex}`, log.topics[2] ?? "");
  }
  const transfers = ofPayer.filter((log) => log.topics[0] === TRANSFER && log.data.length === 32);
  const paired = new Map<ReceiptLog, string>();
  for (const log of transfers.sort((first, second) => second.logIndex - first.logIndex)) {
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
    topics: topics.map(node.digitsOf),
    data: node.dataOf(fields["data"]),
  };
}

/** Return an address as a topic. */
export function addressTopic(address: string): string {
  return address.slice(2).toLowerCase().padStart(64, "0");
}

/** Compare lists. */
export function isSameList(first: readonly string[], second: readonly string[]): boolean {
  return first.length === second.length && first.every((part, at) => part === second[at]);
}
