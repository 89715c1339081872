/** Payments through Permit2, as signed by payers and read strictly. Loaded with the first such payment. */
import { asText, printable } from "../errors.js";
import { bytesOf } from "./bytes.js";
import { ZERO_ADDRESS } from "./identifiers.js";
import { fieldOf, isObject, type JsonObject } from "./json.js";
import { EXACT_PROXY, isProvable, kindOfTerms, UPTO_PROXY, type PaymentKind } from "./kinds.js";
import {
  accountOf,
  agreedTerms,
  invalid,
  isEscrow,
  numberOf,
  same,
  signedAuthorization,
  type SignedPayment,
} from "./payments.js";

/** Read a payment of any kind, see `signedPayment`. */
export function signedPaymentOf(accepted: JsonObject, payload: JsonObject): SignedPayment {
  if (!Object.hasOwn(payload, "permit2Authorization")) return signedAuthorization(accepted, payload);
  if (Object.hasOwn(payload, "authorization")) {
    invalid("ambiguous_payment", "", "the payment contains both authorization and permit2Authorization");
  }
  const signed = payload["permit2Authorization"];
  if (!isObject(signed)) {
    invalid("unsupported_payment", "", "the payment contains neither authorization nor permit2Authorization");
  }
  const field = (name: string): string => `permit2Authorization.${name}`;
  const kind = kindOf(accepted, payload, signed);
  const terms = kindOfTerms(accepted["scheme"], accepted["extra"]);
  if (isProvable(terms) && kind !== "auth-capture") checkParts(kind, accepted["scheme"], signed);
  const { asset, payee, amount } = agreedTerms(kind, accepted);
  const payer = accountOf(signed, field("from"));
  const permitted = signed["permitted"] as JsonObject;
  const witness = signed["witness"] as JsonObject;
  same(payee, accountOf(witness, field("witness.to")), "payee_mismatch", field("witness.to"));
  same(asset, accountOf(permitted, field("permitted.token")), "asset_mismatch", field("permitted.token"));
  same(amount, numberOf(permitted, field("permitted.amount")), "amount_mismatch", field("permitted.amount"));
  const nonce = bytesOf(numberOf(signed, field("nonce"), "invalid_nonce"), 32);
  const validAfter = numberOf(witness, field("witness.validAfter"));
  const deadline = numberOf(signed, field("deadline"));
  const facilitator = kind === "permit2-upto" ? accountOf(witness, field("witness.facilitator")) : null;
  return { kind, asset, payer, payee, amount, nonce, validAfter, deadline, facilitator };
}

function kindOf(accepted: JsonObject, payload: JsonObject, signed: JsonObject): PaymentKind {
  const terms = kindOfTerms(accepted["scheme"], accepted["extra"]);
  const spender = fieldOf(signed, "spender");
  if (terms === "channel") return terms;
  if (isEscrow(terms, payload, spender)) return "auth-capture";
  const kind = terms === "permit2-upto" ? terms : "permit2-exact";
  const isExact = accepted["scheme"] === "exact" && terms !== "unknown";
  const proxy = kind === "permit2-upto" ? UPTO_PROXY : EXACT_PROXY;
  const isProxy = asText(spender).toLowerCase() === proxy.toLowerCase();
  return isProxy && (isExact || terms === kind) ? kind : "unknown";
}

function checkParts(kind: PaymentKind, scheme: unknown, signed: JsonObject): void {
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
    invalid("missing_facilitator", field("witness.facilitator"), "missing, so either anyone could settle the payment, or no one could");
  }
  if (scheme === "exact" && facilitator !== null) {
    invalid("unexpected_facilitator", field("witness.facilitator"), "the proxy for the exact scheme uses no facilitator");
  }
}
