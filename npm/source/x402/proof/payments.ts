/** Payments on EVM chains, as signed by payers and read strictly. */
import type { PaymentCode } from "../codes.js";
import { asText, MalformedIdentifierError, printable, X402Error } from "../errors.js";
import { joined, unhex } from "./bytes.js";
import { checksummed } from "./identifiers.js";
import { fieldOf, isObject, type JsonObject } from "./json.js";
import { isProvable, kindOfTerms, type PaymentKind } from "./kinds.js";

const ESCROW_COLLECTORS =
  "0x8612dfdc421f80336cd14e8ef9cb1e765db5ab88 0xd69831aed5bfe262067ec4c751f4f830ecdd446e " +
  "0x7a03443724d14798c4ab4622f1daaca761fea486 0xea902b37036bcb4944577ec2101abdedf56ebd28 " +
  "0x1aacb38b16a1a8709e80746825e53a0c9cae9b70 0x6a1addeeb4bd9c5811a613e20c172b6ce61a4aab " +
  "0x0e3df9510de65469c4518d7843919c0b8c7a7757 0x992476b9ee81d52a5bda0622c333938d0af0ab26 " +
  "0x934907bffd0901b6a21e398b9c53a4a38f02fa5d";

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
export function invalid(code: PaymentCode, field: string, problem: string): never {
  throw new PaymentProblemError(field ? `${field}: ${problem}` : problem, code, true);
}

/**
 * Read a payment payload strictly, so that no facilitator reads a different payment from it.
 *
 * @throws {PaymentProblemError} The payment's kind is unsupported, a field is missing or invalid, or the signed terms
 *   are not the accepted ones.
 */
export async function signedPayment(accepted: JsonObject, payload: JsonObject): Promise<SignedPayment> {
  if (!Object.hasOwn(payload, "permit2Authorization")) return signedAuthorization(accepted, payload);
  return (await import("./permit2.js")).signedPaymentOf(accepted, payload);
}

/** Read a payment by EIP-3009, see `signedPayment`. */
export function signedAuthorization(accepted: JsonObject, payload: JsonObject): SignedPayment {
  const signed = fieldOf(payload, "authorization");
  if (!isObject(signed)) {
    invalid("unsupported_payment", "", "the payment contains neither authorization nor permit2Authorization");
  }
  const field = (name: string): string => `authorization.${name}`;
  const terms = kindOfTerms(accepted["scheme"], accepted["extra"]);
  const isCapture = terms !== "channel" && isEscrow(terms, payload, fieldOf(signed, "to"));
  const kind = terms === "channel" || terms === "eip3009" ? terms : "unknown";
  const { asset, payee, amount } = agreedTerms(isCapture ? "auth-capture" : kind, accepted);
  const payer = accountOf(signed, field("from"));
  same(payee, accountOf(signed, field("to")), "payee_mismatch", field("to"));
  const nonce = authorizationNonce(fieldOf(signed, "nonce"));
  if (nonce === null) invalid("invalid_nonce", field("nonce"), "not 32 bytes in hexadecimal digits");
  same(amount, numberOf(signed, field("value")), "amount_mismatch", field("value"));
  const validAfter = numberOf(signed, field("validAfter"));
  const deadline = numberOf(signed, field("validBefore"));
  return { kind: "eip3009", asset, payer, payee, amount, nonce, validAfter, deadline, facilitator: null };
}

/** Return whether an escrow takes the payment, which it may pay out or return later. */
export function isEscrow(terms: PaymentKind, payload: JsonObject, spender: unknown): boolean {
  const address = asText(spender).toLowerCase();
  return terms === "auth-capture" || Object.hasOwn(payload, "salt") || ESCROW_COLLECTORS.split(" ").includes(address);
}

/** Read the terms to which both sides agreed, for a kind of payment that can be verified. */
export function agreedTerms(
  kind: PaymentKind,
  accepted: JsonObject,
): Pick<SignedPayment, "asset" | "payee" | "amount"> {
  if (!isProvable(kind)) invalid("unsupported_payment", "", `a payment of kind ${kind} cannot be verified`);
  const asset = accountOf(accepted, "asset");
  const payee = accountOf(accepted, "payTo");
  const amount = numberOf(accepted, "amount");
  if (amount === 0n) invalid("invalid_amount", "amount", "the price must not be 0");
  return { asset, payee, amount };
}

/** Check that a signed value is the agreed one. */
export function same(agreed: string | bigint, signed: string | bigint, code: PaymentCode, field: string): void {
  if (signed !== agreed) invalid(code, field, `${signed} was signed, but ${agreed} was agreed`);
}

/** Read the address at the end of a path. */
export function accountOf(fields: JsonObject, path: string): string {
  const value = fieldOf(fields, path.slice(path.lastIndexOf(".") + 1));
  try {
    return checksummed(value);
  } catch (error) {
    if (!(error instanceof MalformedIdentifierError)) throw error;
    return invalid("invalid_payment", path, `${printable(asText(value).slice(0, 80))} is not an address`);
  }
}

/** Read the number at the end of a path. */
export function numberOf(fields: JsonObject, path: string, code: PaymentCode = "invalid_payment"): bigint {
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
