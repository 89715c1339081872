/** Payments on EVM chains, as signed by payers and read strictly. */
import type { PaymentCode } from "../codes.js";
import { asText, X402Error } from "../errors.js";
import { joined, unhex } from "./bytes.js";
import { checksummed } from "./identifiers.js";
import { fieldOf, isObject, type JsonObject } from "./json.js";
import { kindOfTerms, type PaymentKind } from "./kinds.js";
import type { Problem } from "../problems.js";

/** The first four bytes of the escrows that collect payments, in hexadecimal digits. `permit2.ts` has the others. */
export const ESCROWS: string = "8612dfdc d69831ae 7a034437 ea902b37 1aacb38b 6a1addee 0e3df951 992476b9 934907bf";
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
  declare readonly isFinal: boolean;

  /**
   * @param message The human-readable reason.
   * @param code The machine-readable reason.
   * @param isFinal False if a later lookup may have a different result.
   */
  constructor(message: string | Problem, code = "payment_mismatch", isFinal: boolean = code === "payment_mismatch") {
    super(code, message);
    Object.assign(this, { isFinal });
  }
}

/** Return the account that signed a payment on an EVM chain, in checksum form; null if there is none. */
export function payerOf(payload: JsonObject): string | null {
  const names = ["authorization", "permit2Authorization"].filter((name) => Object.hasOwn(payload, name));
  try {
    return names.length === 1 ? checksummed(fieldOf(payload[names[0] ?? ""], "from")) : null;
  } catch {
    return null;
  }
}

/** Throw the error for a field of a payment, or for the payment itself if the field is empty. */
export function invalid(code: PaymentCode, field: string, ...problem: Problem): never {
  throw new PaymentProblemError(["field", field, problem], code, true);
}

/**
 * Read a payment payload strictly, so that no facilitator reads a different payment from it.
 *
 * @throws {PaymentProblemError} The payment's kind is unsupported, a field is missing or invalid, or the signed terms
 *   are not the accepted ones.
 */
export async function signedPayment(accepted: JsonObject, payload: JsonObject): Promise<SignedPayment> {
  const hasOther = Object.hasOwn(payload, "permit2Authorization") || Object.hasOwn(payload, "salt");
  const payee = fieldOf(payload["authorization"], "to");
  if (!hasOther && isPlain(accepted["scheme"], accepted["extra"], payee)) return signedAuthorization(accepted, payload);
  return (await import("./permit2.js")).signedPaymentOf(accepted, payload);
}

/** Return whether a payment moves money by EIP-3009, and no escrow takes it. */
export function isPlain(scheme: unknown, extra: unknown, payee: unknown): boolean {
  const isCollected = ESCROWS.includes(asText(payee).slice(2, 10).toLowerCase());
  return !isCollected && kindOfTerms(scheme, extra) === "eip3009";
}

/** Read a payment by EIP-3009 whose kind is known to be verifiable, see `signedPayment`. */
export function signedAuthorization(accepted: JsonObject, payload: JsonObject): SignedPayment {
  const signed = fieldOf(payload, "authorization");
  if (!isObject(signed)) invalid("unsupported_payment", "", "authorizations", "neither");
  const field = (name: string): string => `authorization.${name}`;
  const { asset, payee, amount } = agreedTerms(accepted);
  const payer = accountOf(signed, field("from"));
  same(payee, accountOf(signed, field("to")), "payee_mismatch", field("to"));
  const nonce = authorizationNonce(fieldOf(signed, "nonce"));
  if (nonce === null) invalid("invalid_nonce", field("nonce"), "nonce");
  same(amount, numberOf(signed, field("value")), "amount_mismatch", field("value"));
  const validAfter = numberOf(signed, field("validAfter"));
  const deadline = numberOf(signed, field("validBefore"));
  return { kind: "eip3009", asset, payer, payee, amount, nonce, validAfter, deadline, facilitator: null };
}

/** Read the terms to which both sides agreed. */
export function agreedTerms(accepted: JsonObject): Pick<SignedPayment, "asset" | "payee" | "amount"> {
  const asset = accountOf(accepted, "asset");
  const payee = accountOf(accepted, "payTo");
  const amount = numberOf(accepted, "amount");
  if (amount === 0n) invalid("invalid_amount", "amount", "noPrice");
  return { asset, payee, amount };
}

/** Check that a signed value is the agreed one. */
export function same(agreed: string | bigint, signed: string | bigint, code: PaymentCode, field: string): void {
  if (signed !== agreed) invalid(code, field, "agreed", signed, agreed);
}

/** Read the address at the end of a path. */
export function accountOf(fields: JsonObject, path: string): string {
  const value = fieldOf(fields, path.slice(path.lastIndexOf(".") + 1));
  try {
    return checksummed(value);
  } catch {
    return invalid("invalid_payment", path, "address", asText(value).slice(0, 80));
  }
}

/** Read the number at the end of a path. */
export function numberOf(fields: JsonObject, path: string, code: PaymentCode = "invalid_payment"): bigint {
  const value = fieldOf(fields, path.slice(path.lastIndexOf(".") + 1));
  if (typeof value !== "string" || !/^(?:0|[1-9][0-9]{0,77})$/.test(value) || BigInt(value) > MAX_UINT256) {
    invalid(code, path, "number", asText(value).slice(0, 80));
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
