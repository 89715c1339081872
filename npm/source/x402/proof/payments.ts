/** Payments on EVM chains: what a payer signs, what settles it, and what a transaction proves of it. */
import { keccak_256 } from "@noble/hashes/sha3";
import type { PaymentCode } from "../codes.js";
import { asText, MalformedIdentifierError, NodeError, printable, X402Error } from "../errors.js";
import { bigintOf, bytesOf, hex, isEqual, joined, unhex, utf8 } from "./bytes.js";
import { checksummed, isEvm, ZERO_ADDRESS } from "./identifiers.js";
import { isObject, type JsonObject } from "./json.js";
import * as node from "./node.js";

/** The way in which an x402 payment moves money on an EVM chain. */
export type PaymentKind =
  | "eip3009"
  | "permit2-exact"
  | "permit2-upto"
  | "channel"
  | "auth-capture"
  | "plain"
  | "unknown";

/** The contract of Permit2, on every EVM chain. */
export const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
/** The proxy that settles `exact` by Permit2. */
export const EXACT_PROXY = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001";
/** The proxy that settles `upto`. */
export const UPTO_PROXY = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002";

const ESCROW_COLLECTORS = new Set([
  "0x8612dfdc421f80336cd14e8ef9cb1e765db5ab88",
  "0xd69831aed5bfe262067ec4c751f4f830ecdd446e",
  "0x7a03443724d14798c4ab4622f1daaca761fea486",
  "0xea902b37036bcb4944577ec2101abdedf56ebd28",
  "0x1aacb38b16a1a8709e80746825e53a0c9cae9b70",
  "0x6a1addeeb4bd9c5811a613e20c172b6ce61a4aab",
  "0x0e3df9510de65469c4518d7843919c0b8c7a7757",
  "0x992476b9ee81d52a5bda0622c333938d0af0ab26",
  "0x934907bffd0901b6a21e398b9c53a4a38f02fa5d",
]);

const PROVABLE: ReadonlySet<PaymentKind> = new Set(["eip3009", "permit2-exact", "permit2-upto"]);
const METHODS: Readonly<Record<string, PaymentKind>> = {
  "": "eip3009",
  eip3009: "eip3009",
  default: "eip3009",
  permit2: "permit2-exact",
};
const SCHEMES: Readonly<Record<string, PaymentKind>> = {
  upto: "permit2-upto",
  "batch-settlement": "channel",
  "auth-capture": "auth-capture",
};
const EVM_SCHEMES = ["upto", "batch-settlement", "auth-capture"];
const MAX_UINT256 = 2n ** 256n - 1n;

const TRANSFER = topicOf("Transfer(address,address,uint256)");
const AUTHORIZATION_USED = topicOf("AuthorizationUsed(address,bytes32)");
const AUTHORIZATION_CANCELED = topicOf("AuthorizationCanceled(address,bytes32)");
const NONCE_INVALIDATED = topicOf("UnorderedNonceInvalidation(address,uint256,uint256)");
const SETTLED = [topicOf("Settled()"), topicOf("SettledWithPermit()")];

/** The calls of the proxies, by address and selector, with the words before the payment. */
const FUNCTIONS: Readonly<Record<string, readonly [PaymentKind, number]>> = {
  [`${EXACT_PROXY.toLowerCase()}:13cd3b53`]: ["permit2-exact", 0],
  [`${EXACT_PROXY.toLowerCase()}:fa340378`]: ["permit2-exact", 5],
  [`${UPTO_PROXY.toLowerCase()}:ff11e7b4`]: ["permit2-upto", 0],
  [`${UPTO_PROXY.toLowerCase()}:016c1748`]: ["permit2-upto", 5],
};
const MOST_FRAMES = 10_000;

/** The latest blocks in which the transaction of a payment is looked for. */
const SEARCHED_BLOCKS = 1_000n;
const MOST_TRANSFERS = 50;

/** A payment that a transaction made, according to its receipt. */
export interface Payment {
  readonly payer: string;
  readonly payee: string;
  /** The token. */
  readonly asset: string;
  /** The amount in the token's smallest unit. */
  readonly amount: bigint;
  readonly block: bigint;
  /** The transfer's log in the block. With chain and transaction, it identifies the payment. */
  readonly logIndex: number;
  /** The block's time in Unix seconds. */
  readonly time: number;
  readonly kind: PaymentKind;
  /** The amount that the payer signed at most (`upto`); null for other kinds. */
  readonly ceiling: bigint | null;
}

/** A payment as its payer signed it. */
export interface SignedPayment {
  readonly kind: PaymentKind;
  readonly asset: string;
  readonly payer: string;
  readonly payee: string;
  /** The agreed amount; of `upto`, the ceiling. */
  readonly amount: bigint;
  readonly nonce: Uint8Array;
  readonly validAfter: bigint;
  readonly deadline: bigint;
  /** The account that must settle (`upto`); null if anybody may. */
  readonly facilitator: string | null;
}

/** The state on chain of a payment that was sent. */
export interface Settlement {
  /** True if the authorization was used, false if not yet; null if that is unknown. */
  readonly isPaid: boolean | null;
  readonly transaction: string | null;
  /** The reason why nothing is known; empty otherwise. */
  readonly problem: string;
  /** True if the authorization is unused, and can never be used any more. */
  readonly isExpired: boolean;
  /** The amount that a payment by Permit2 moved, if its transaction was found. */
  readonly amount: bigint | null;
  readonly signed: SignedPayment | null;
}

/** The transaction is not the payment that was asked for. */
export class PaymentProblemError extends X402Error {
  /** False if a later look may have another result. */
  readonly isFinal: boolean;

  /**
   * @param message The reason, for people.
   * @param code The reason, for programs.
   * @param isFinal False if a later look may have another result.
   */
  constructor(message: string, code = "payment_mismatch", isFinal: boolean = code === "payment_mismatch") {
    super(code, message);
    this.isFinal = isFinal;
  }
}

interface ReceiptLog {
  readonly logIndex: number;
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: Uint8Array;
}

interface ProxyCall {
  readonly payment: SignedPayment;
  readonly amount: bigint;
}

function topicOf(event: string): string {
  return hex(keccak_256(utf8(event)));
}

function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function methodOf(extra: unknown): string {
  const method = fieldOf(extra, "assetTransferMethod");
  if (method === undefined || method === null) return "";
  return typeof method === "string" && method ? method : "?";
}

/** Return the kind of payment that a server's terms ask for. */
export function kindOfTerms(scheme: unknown, extra: unknown): PaymentKind {
  const method = methodOf(extra);
  const kinds = scheme === "exact" ? METHODS : SCHEMES;
  const name = scheme === "exact" ? method : scheme;
  if (typeof name !== "string" || (scheme === "upto" && method !== "" && method !== "permit2")) return "unknown";
  return (Object.hasOwn(kinds, name) ? kinds[name] : undefined) ?? "unknown";
}

/** Return the code for terms whose payments nobody here can judge, such as `erc7710_not_supported`; null if none. */
export function unsupportedKind(scheme: unknown, network: string, extra: unknown): `${string}_not_supported` | null {
  const method = fieldOf(extra, "assetTransferMethod");
  if (!isEvm(network)) {
    const name = EVM_SCHEMES.includes(asText(scheme)) ? scheme : method;
    return [...EVM_SCHEMES, "permit2"].includes(asText(name)) ? codeOf(name) : null;
  }
  if (PROVABLE.has(kindOfTerms(scheme, extra))) return null;
  return codeOf(scheme === "exact" || scheme === "upto" ? method : scheme);
}

function codeOf(name: unknown): `${string}_not_supported` {
  return `${asText(name).slice(0, 40).toLowerCase().replace(/[^a-z0-9-]/g, "_")}_not_supported`;
}

type PartName = "authorization" | "permit2Authorization";

function signedPart(payload: JsonObject): [PartName, JsonObject] | null {
  const names = (["authorization", "permit2Authorization"] as const).filter((name) => Object.hasOwn(payload, name));
  const [name] = names;
  const signed = name === undefined ? undefined : payload[name];
  return name !== undefined && names.length === 1 && isObject(signed) ? [name, signed] : null;
}

/** Return the account that signed a payment on an EVM chain, in checksum form; null if there is none. */
export function payerOf(payload: JsonObject): string | null {
  try {
    return checksummed(signedPart(payload)?.[1]["from"]);
  } catch {
    return null;
  }
}

function kindOf(accepted: JsonObject, payload: JsonObject): PaymentKind {
  const terms = kindOfTerms(accepted["scheme"], accepted["extra"]);
  const part = signedPart(payload);
  if (terms === "channel" || terms === "auth-capture") return terms;
  if (part === null) return "unknown";
  const [name, signed] = part;
  const spender = asText(fieldOf(signed, name === "authorization" ? "to" : "spender")).toLowerCase();
  if (Object.hasOwn(payload, "salt") || ESCROW_COLLECTORS.has(spender)) return "auth-capture";
  if (name === "authorization") return terms === "eip3009" ? terms : "unknown";
  const kind = terms === "permit2-upto" ? terms : "permit2-exact";
  const isExact = accepted["scheme"] === "exact" && terms !== "unknown";
  const isProxy = spender === (kind === "permit2-upto" ? UPTO_PROXY : EXACT_PROXY).toLowerCase();
  return isProxy && (isExact || terms === kind) ? kind : "unknown";
}

function invalid(code: PaymentCode, field: string, problem: string): never {
  throw new PaymentProblemError(field ? `${field}: ${problem}` : problem, code, true);
}

/**
 * Read a payment payload strictly, so that no facilitator reads another payment than we do.
 *
 * @throws {PaymentProblemError} The payment is of another kind, a field is missing or invalid, or the signed terms are
 *   not the accepted ones.
 */
export function signedPayment(accepted: JsonObject, payload: JsonObject): SignedPayment {
  const part = signedPart(payload);
  if (part === null) {
    const isAmbiguous = Object.hasOwn(payload, "authorization") && Object.hasOwn(payload, "permit2Authorization");
    const problem = `the payment has ${isAmbiguous ? "two" : "none"} of authorization and permit2Authorization`;
    invalid(isAmbiguous ? "ambiguous_payment" : "unsupported_payment", "", problem);
  }
  const [name, signed] = part;
  const kind = kindOf(accepted, payload);
  const terms = kindOfTerms(accepted["scheme"], accepted["extra"]);
  if (name === "permit2Authorization" && PROVABLE.has(terms) && kind !== "auth-capture") {
    checkPermit2(kind, accepted["scheme"], signed);
  }
  if (!PROVABLE.has(kind)) invalid("unsupported_payment", "", `a payment of kind ${kind} cannot be verified`);
  const asset = accountOf(accepted, "asset");
  const payee = accountOf(accepted, "payTo");
  const amount = numberOf(accepted, "amount");
  if (amount === 0n) invalid("invalid_amount", "amount", "0 is no price");
  const payer = accountOf(signed, `${name}.from`);
  if (kind === "eip3009") {
    same(payee, accountOf(signed, `${name}.to`), "payee_mismatch", `${name}.to`);
    const nonce = authorizationNonce(fieldOf(signed, "nonce"));
    if (nonce === null) invalid("invalid_nonce", `${name}.nonce`, "not 32 bytes in hexadecimal digits");
    same(amount, numberOf(signed, `${name}.value`), "amount_mismatch", `${name}.value`);
    const validAfter = numberOf(signed, `${name}.validAfter`);
    const deadline = numberOf(signed, `${name}.validBefore`);
    return { kind, asset, payer, payee, amount, nonce, validAfter, deadline, facilitator: null };
  }
  const permitted = signed["permitted"] as JsonObject;
  const witness = signed["witness"] as JsonObject;
  same(payee, accountOf(witness, `${name}.witness.to`), "payee_mismatch", `${name}.witness.to`);
  same(asset, accountOf(permitted, `${name}.permitted.token`), "asset_mismatch", `${name}.permitted.token`);
  same(amount, numberOf(permitted, `${name}.permitted.amount`), "amount_mismatch", `${name}.permitted.amount`);
  const nonce = bytesOf(numberOf(signed, `${name}.nonce`, "invalid_nonce"), 32);
  const validAfter = numberOf(witness, `${name}.witness.validAfter`);
  const deadline = numberOf(signed, `${name}.deadline`);
  const facilitator = kind === "permit2-upto" ? accountOf(witness, `${name}.witness.facilitator`) : null;
  return { kind, asset, payer, payee, amount, nonce, validAfter, deadline, facilitator };
}

function checkPermit2(kind: PaymentKind, scheme: unknown, signed: JsonObject): void {
  const field = (name: string): string => `permit2Authorization.${name}`;
  if (!isObject(fieldOf(signed, "permitted"))) {
    invalid("missing_permitted", field("permitted"), "missing, or not an object");
  }
  const witness = fieldOf(signed, "witness");
  if (!isObject(witness)) invalid("missing_witness", field("witness"), "missing, or not an object");
  const spender = fieldOf(signed, "spender");
  if (typeof spender !== "string") invalid("missing_spender", field("spender"), "missing, or not text");
  if (kind === "unknown") {
    invalid("unknown_spender", field("spender"), `${printable(spender.slice(0, 80))} is not the proxy of ${asText(scheme)}`);
  }
  const facilitator = fieldOf(witness, "facilitator") ?? null;
  if (scheme === "upto" && (facilitator === null || facilitator === ZERO_ADDRESS)) {
    invalid("missing_facilitator", field("witness.facilitator"), "missing, so anybody or nobody could settle");
  }
  if (scheme === "exact" && facilitator !== null) {
    invalid("unexpected_facilitator", field("witness.facilitator"), "the proxy of exact has none");
  }
}

function same(agreed: string | bigint, signed: string | bigint, code: PaymentCode, field: string): void {
  if (signed !== agreed) invalid(code, field, `${signed} was signed, ${agreed} was agreed`);
}

function accountOf(fields: JsonObject, path: string): string {
  const value = fieldOf(fields, path.slice(path.lastIndexOf(".") + 1));
  try {
    return checksummed(value);
  } catch (error) {
    if (!(error instanceof MalformedIdentifierError)) throw error;
    return invalid("invalid_payment", path, `${printable(asText(value).slice(0, 80))} is not an address`);
  }
}

function numberOf(fields: JsonObject, path: string, code: PaymentCode = "invalid_payment"): bigint {
  const value = fieldOf(fields, path.slice(path.lastIndexOf(".") + 1));
  if (typeof value !== "string" || !/^(?:0|[1-9][0-9]{0,77})$/.test(value) || BigInt(value) > MAX_UINT256) {
    invalid(code, path, `${printable(asText(value).slice(0, 80))} is not a number from 0 to 2^256 - 1 in decimal digits`);
  }
  return BigInt(value);
}

/** Read a nonce of EIP-3009 as facilitators do: without 0x, with spaces, without zeros at the end. */
function authorizationNonce(text: unknown): Uint8Array | null {
  if (typeof text !== "string") return null;
  const pairs = text.replace(/^0x/, "");
  if (!/^\s*(?:[0-9a-fA-F]{2}\s*)*$/.test(pairs)) return null;
  const nonce = unhex(pairs.replace(/\s/g, ""));
  return nonce === null || nonce.length > 32 ? null : joined(nonce, new Uint8Array(32 - nonce.length));
}

/** Return the last second, in Unix time, at which a payment can be settled. */
export function lastSecond(signed: SignedPayment): bigint {
  return signed.deadline - (signed.kind === "eip3009" ? 1n : 0n);
}

/** Return the last time at which a payment can be settled, as text. */
export function expiryOf(signed: SignedPayment): string {
  const second = lastSecond(signed);
  const time = new Date(Number(second) * 1000);
  const isUsual = second < 253_402_300_800n; // the year 10000
  return isUsual ? `${time.toISOString().slice(0, 19).replace("T", " ")} UTC` : `Unix time ${second}`;
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
async function findTransfer(
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

function maySettle(signed: SignedPayment, log: ReceiptLog): boolean {
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

function receiptLog(fields: JsonObject): ReceiptLog {
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

function addressTopic(address: string): string {
  return address.slice(2).toLowerCase().padStart(64, "0");
}

function isSameList(first: readonly string[], second: readonly string[]): boolean {
  return first.length === second.length && first.every((part, at) => part === second[at]);
}

/** Return what is known of a payment that cannot be looked up. */
export function unknownSettlement(problem: string): Settlement {
  return { isPaid: null, transaction: null, problem, isExpired: false, amount: null, signed: null };
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
    signed = signedPayment(accepted, payload);
  } catch (error) {
    if (!(error instanceof PaymentProblemError)) throw error;
    return unknownSettlement(error.message);
  }
  const state = { isPaid: null, transaction: null, problem: "", isExpired: false, amount: null, signed };
  const latest = await chain.latestBlock();
  const block = latest - BigInt(confirmations) + 1n > 0n ? latest - BigInt(confirmations) + 1n : 0n;
  const isOver = (await chain.blockTime(block)) > lastSecond(signed);
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
  const view = isToken ? "authorizationState(address,bytes32)" : "nonceBitmap(address,uint256)";
  const word = isToken ? nonce : nonce >> 8n;
  const args = joined(bytesOf(BigInt(signed.payer), 32), bytesOf(word, 32));
  const data = `0x${hex(node.selector(view))}${hex(args)}`;
  const state = node.dataOf(await chain.send("eth_call", { to, data }, at));
  if (state.length !== 32) node.malformed(`a word: ${to} has no nonces of payments there`);
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

/** Find the transaction that used a nonce of Permit2: no log names it, so transfers between both are read. */
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
      return { problem: "it was canceled, and the node does not know whether it had been used" };
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
  return node.recordsOf(await chain.send("eth_getLogs", query));
}

function transactionOf(log: JsonObject): string {
  return `0x${hex(node.dataOf(log["transactionHash"]))}`;
}
