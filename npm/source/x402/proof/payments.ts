/** Payments on EVM chains, as signed by payers and read strictly. */
import type { PaymentCode } from "../codes.js";
import { asText, MalformedIdentifierError, printable, X402Error } from "../errors.js";
import { bytesOf, joined, unhex } from "./bytes.js";
import { checksummed, ZERO_ADDRESS } from "./identifiers.js";
import { isObject, type JsonObject } from "./json.js";
import { EXACT_PROXY, fieldOf, isProvable, kindOfTerms, UPTO_PROXY, type PaymentKind } from "./kinds.js";

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

const MAX_UINT256 = 2n ** 256n - 1n;

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
  /** The maximum amount that the payer signed (`upto`); null for other kinds. */
  readonly ceiling: bigint | null;
}

/** A payment as its payer signed it. */
export interface SignedPayment {
  readonly kind: PaymentKind;
  readonly asset: string;
  readonly payer: string;
  readonly payee: string;
  /** The agreed amount; for `upto`, the ceiling. */
  readonly amount: bigint;
  readonly nonce: Uint8Array;
  readonly validAfter: bigint;
  readonly deadline: bigint;
  /** The account that must settle (`upto`); null if anyone may. */
  readonly facilitator: string | null;
}

/** The state on chain of a payment that was sent. */
export interface Settlement {
  /** True if the authorization was used, false if not yet; null if that is unknown. */
  readonly isPaid: boolean | null;
  readonly transaction: string | null;
  /** The reason why the state is unknown; empty otherwise. */
  readonly problem: string;
  /** True if the authorization is unused and can no longer be used. */
  readonly isExpired: boolean;
  /** The amount that a Permit2 payment moved, if its transaction was found. */
  readonly amount: bigint | null;
  readonly signed: SignedPayment | null;
}

/** The transaction is not the requested payment. */
export class PaymentProblemError extends X402Error {
  override readonly name: string = "PaymentProblemError";
  /** False if a later lookup may have a different result. */
  readonly isFinal: boolean;

  /**
   * @param message The human-readable reason.
   * @param code The machine-readable reason.
   * @param isFinal False if a later lookup may have a different result.
   */
  constructor(message: string, code = "payment_mismatch", isFinal: boolean = code === "payment_mismatch") {
    super(code, message);
    this.isFinal = isFinal;
  }
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
 * Read a payment payload strictly, so that no facilitator reads a different payment from it.
 *
 * @throws {PaymentProblemError} The payment's kind is unsupported, a field is missing or invalid, or the signed terms
 *   are not the accepted ones.
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
  if (name === "permit2Authorization" && isProvable(terms) && kind !== "auth-capture") {
    checkPermit2(kind, accepted["scheme"], signed);
  }
  if (!isProvable(kind)) invalid("unsupported_payment", "", `a payment of kind ${kind} cannot be verified`);
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
  if (typeof spender !== "string") invalid("missing_spender", field("spender"), "missing, or not a string");
  if (kind === "unknown") {
    invalid("unknown_spender", field("spender"), `${printable(spender.slice(0, 80))} is not the proxy for ${asText(scheme)}`);
  }
  const facilitator = fieldOf(witness, "facilitator") ?? null;
  if (scheme === "upto" && (facilitator === null || facilitator === ZERO_ADDRESS)) {
    invalid("missing_facilitator", field("witness.facilitator"), "missing, so either anyone or no one could settle the payment");
  }
  if (scheme === "exact" && facilitator !== null) {
    invalid("unexpected_facilitator", field("witness.facilitator"), "the proxy for the exact scheme uses no facilitator");
  }
}

function same(agreed: string | bigint, signed: string | bigint, code: PaymentCode, field: string): void {
  if (signed !== agreed) invalid(code, field, `${signed} was signed, but ${agreed} was agreed`);
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

/** Read an EIP-3009 nonce as facilitators do: without 0x, with spaces, without trailing zeros. */
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

/** Return the latest time at which a payment can be settled, as text. */
export function expiryOf(signed: SignedPayment): string {
  const second = lastSecond(signed);
  const time = new Date(Number(second) * 1000);
  const isUsual = second < 253_402_300_800n; // the year 10000
  return isUsual ? `${time.toISOString().slice(0, 19).replace("T", " ")} UTC` : `Unix time ${second}`;
}

/** Return what is known about a payment that cannot be looked up. */
export function unknownSettlement(problem: string): Settlement {
  return { isPaid: null, transaction: null, problem, isExpired: false, amount: null, signed: null };
}
