/** The on-chain state of a payment whose answer was lost. */
import { asText, MalformedIdentifierError, NodeError } from "../errors.js";
import { messageOf } from "../problems.js";
import { bigintOf, bytesOf, hex, joined } from "./bytes.js";
import { pause, POLL_MILLISECONDS, type Chains } from "./chains.js";
import { isObject, type JsonObject } from "./json.js";
import { PERMIT2 } from "./kinds.js";
import * as node from "./node.js";
import { PaymentProblemError, signedPayment, type Settlement, type SignedPayment } from "./payments.js";
import { addressTopic, AUTHORIZATION_USED, findTransfer, maySettle, receiptLog, topicOf, TRANSFER } from "./transfers.js";

const AUTHORIZATION_CANCELED = topicOf("AuthorizationCanceled(address,bytes32)");
const NONCE_INVALIDATED = topicOf("UnorderedNonceInvalidation(address,uint256,uint256)");

/** The number of latest blocks that are searched for a payment's transaction. */
const SEARCHED_BLOCKS = 1_000n;
const MOST_TRANSFERS = 50;

/**
 * Look up whether a payment was taken, waiting for it if needed.
 *
 * @param chains The trusted chains.
 * @param payment The payment payload that was sent.
 * @param seconds How long to wait for a payment that has not been taken yet.
 */
export async function awaitSettlement(
  chains: Chains,
  payment: JsonObject,
  seconds: number = chains.terms.receiptSeconds ?? 15,
): Promise<Settlement> {
  const { accepted, payload } = payment;
  const reader = isObject(accepted) && isObject(payload) ? chains.readerOrNull(asText(accepted["network"])) : null;
  if (!reader) return unknownSettlement("payments of this kind, or on this chain, cannot be looked up");
  const end = Date.now() + seconds * 1000;
  for (;;) {
    try {
      const confirmations = chains.terms.confirmations ?? 1;
      const settlement = await findSettlement(reader.node, accepted as JsonObject, payload as JsonObject, confirmations);
      const remaining = end - Date.now();
      if (settlement.isPaid !== false || settlement.isExpired || remaining <= 0) return settlement;
      await pause(Math.min(POLL_MILLISECONDS, remaining));
    } catch (error) {
      if (!(error instanceof NodeError) && !(error instanceof MalformedIdentifierError)) throw error;
      return unknownSettlement(messageOf(error));
    }
  }
}

/** Look up whether an authorization was used, and by which of the latest transactions. */
export async function findSettlement(
  chain: node.Node,
  accepted: JsonObject,
  payload: JsonObject,
  confirmations: number,
): Promise<Settlement> {
  let signed: SignedPayment;
  try {
    signed = await signedPayment(accepted, payload);
  } catch (error) {
    if (!(error instanceof PaymentProblemError)) throw error;
    return unknownSettlement(messageOf(error));
  }
  const state = { isPaid: null, transaction: null, problem: "", isExpired: false, amount: null, signed };
  const latest = await node.latestBlock(chain);
  const block = latest - BigInt(confirmations) + 1n > 0n ? latest - BigInt(confirmations) + 1n : 0n;
  const isOver = (await node.blockOf(chain, node.quantityText(block))).time > lastSecond(signed);
  // A later block may have used what this one did not, unless the authorization had expired in this one.
  if (!(await isUsed(chain, signed, isOver ? node.quantityText(block) : "latest"))) {
    return { ...state, isPaid: false, isExpired: isOver };
  }
  const first = latest > SEARCHED_BLOCKS ? latest - SEARCHED_BLOCKS : 0n;
  try {
    const search = signed.kind === "eip3009" ? usedAuthorization : usedNonce;
    return { ...state, ...(await search(chain, signed, first)) };
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    return { ...state, isPaid: true }; // it is used, so it is paid even if the node gives no logs
  }
}

async function isUsed(chain: node.Node, signed: SignedPayment, at: string): Promise<boolean> {
  const nonce = bigintOf(signed.nonce);
  const isToken = signed.kind === "eip3009";
  const to = isToken ? signed.asset : PERMIT2;
  const signature = isToken ? "authorizationState(address,bytes32)" : "nonceBitmap(address,uint256)";
  const word = isToken ? nonce : nonce >> 8n;
  const args = joined(bytesOf(BigInt(signed.payer), 32), bytesOf(word, 32));
  const state = await node.view(chain, to, signature, args, at);
  if (state.length !== 32) node.malformed(`a 32-byte word: ${to} has no payment nonces`);
  return ((bigintOf(state) >> (isToken ? 0n : nonce & 255n)) & 1n) === 1n;
}

async function usedAuthorization(chain: node.Node, signed: SignedPayment, first: bigint): Promise<Partial<Settlement>> {
  const events = [AUTHORIZATION_USED, AUTHORIZATION_CANCELED];
  const logs = await logsOf(chain, first, signed.asset, events, addressTopic(signed.payer), hex(signed.nonce));
  if (logs.some((log) => receiptLog(log).topics[0] === AUTHORIZATION_CANCELED)) {
    return { isPaid: false, isExpired: true };
  }
  return { isPaid: true, transaction: logs[0] ? transactionOf(logs[0]) : null };
}

/** Find the transaction that used a Permit2 nonce. No log contains it, so transfers between both accounts are read. */
async function usedNonce(chain: node.Node, signed: SignedPayment, first: bigint): Promise<Partial<Settlement>> {
  const payer = addressTopic(signed.payer);
  const transfers = await logsOf(chain, first, signed.asset, [TRANSFER], payer, addressTopic(signed.payee));
  const possible = transfers.filter((log) => maySettle(signed, receiptLog(log))).map(transactionOf);
  for (const transaction of [...new Set(possible.reverse())].slice(0, MOST_TRANSFERS)) {
    try {
      const [, transfer] = await findTransfer(chain, signed, transaction);
      return { isPaid: true, transaction, amount: bigintOf(transfer.data) };
    } catch (error) {
      if (!(error instanceof PaymentProblemError)) throw error;
    }
  }
  const nonce = bigintOf(signed.nonce);
  for (const log of await logsOf(chain, first, PERMIT2, [NONCE_INVALIDATED], payer)) {
    const invalidated = node.dataOf(log["data"]);
    const mask = bigintOf(invalidated.subarray(32, 64));
    if (bigintOf(invalidated.subarray(0, 32)) !== nonce >> 8n || !((mask >> (nonce & 255n)) & 1n)) continue;
    try {
      // An owner may also invalidate a nonce that is used already.
      const before = node.quantityText(node.quantityOf(log["blockNumber"]) - 1n);
      const isPaid = await isUsed(chain, signed, before);
      return { isPaid, isExpired: !isPaid };
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      return { problem: "it was canceled, and the node cannot determine whether it had been used" };
    }
  }
  return { isPaid: true };
}

async function logsOf(
  chain: node.Node,
  first: bigint,
  address: string,
  events: readonly string[],
  ...topics: readonly string[]
): Promise<JsonObject[]> {
  const query = {
    address,
    topics: [events.map((event) => `0x${event}`), ...topics.map((topic) => `0x${topic}`)],
    fromBlock: node.quantityText(first),
    toBlock: "latest",
  };
  return node.recordsOf(await chain("eth_getLogs", query));
}

function transactionOf(log: JsonObject): string {
  return `0x${hex(node.dataOf(log["transactionHash"]))}`;
}

/** Return the last second, in Unix time, at which a payment can be settled. */
export function lastSecond(signed: SignedPayment): bigint {
  return signed.deadline - (signed.kind === "eip3009" ? 1n : 0n);
}

/** Return the latest time at which a payment can be settled, as text. */
export function expiryOf(signed: SignedPayment): string {
  const second = lastSecond(signed);
  const time = new Date(Number(second) * 1000);
  const isUsual = second < 253_402_300_800n; // the year 10000
  return isUsual ? `${time.toISOString().slice(0, 19).replace("T", " ")} UTC` : `Unix time ${second}`;
}

/** Return what is known about a payment that cannot be looked up. */
function unknownSettlement(problem: string): Settlement {
  return { isPaid: null, transaction: null, problem, isExpired: false, amount: null, signed: null };
}
