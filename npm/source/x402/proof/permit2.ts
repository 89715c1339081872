/** Payments through Permit2, as signed by payers and read strictly. Loaded with the first such payment. */
import { asText } from "../errors.js";
import { bytesOf } from "./bytes.js";
import { ZERO_ADDRESS } from "./identifiers.js";
import { fieldOf, isObject, type JsonObject } from "./json.js";
import { EXACT_PROXY, isProvable, kindOfTerms, UPTO_PROXY, type PaymentKind } from "./kinds.js";
import {
  accountOf,
  agreedTerms,
  ESCROWS,
  invalid,
  numberOf,
  same,
  signedAuthorization,
  type SignedPayment,
} from "./payments.js";

const ESCROW_ENDINGS =
  "421f80336cd14e8ef9cb1e765db5ab88 d5bfe262067ec4c751f4f830ecdd446e 24d14798c4ab4622f1daaca761fea486 " +
  "036bcb4944577ec2101abdedf56ebd28 16a1a8709e80746825e53a0c9cae9b70 b4bd9c5811a613e20c172b6ce61a4aab " +
  "0de65469c4518d7843919c0b8c7a7757 ee81d52a5bda0622c333938d0af0ab26 fd0901b6a21e398b9c53a4a38f02fa5d";
const COLLECTORS = ESCROWS.split(" ").map((start, at) => `0x${start}${ESCROW_ENDINGS.split(" ")[at]}`);

/** Read a payment of any kind, see `signedPayment`. */
export function signedPaymentOf(accepted: JsonObject, payload: JsonObject): SignedPayment {
  if (!Object.hasOwn(payload, "permit2Authorization")) {
    const plain = fieldOf(payload, "authorization");
    if (isObject(plain)) requireProvable(kindOfAuthorization(accepted, payload, plain));
    return signedAuthorization(accepted, payload);
  }
  if (Object.hasOwn(payload, "authorization")) {
    invalid("ambiguous_payment", "", "authorizations", "both");
  }
  const signed = payload["permit2Authorization"];
  if (!isObject(signed)) {
    invalid("unsupported_payment", "", "authorizations", "neither");
  }
  const field = (name: string): string => `permit2Authorization.${name}`;
  const kind = kindOf(accepted, payload, signed);
  const terms = kindOfTerms(accepted["scheme"], accepted["extra"]);
  if (isProvable(terms) && kind !== "auth-capture") checkParts(kind, accepted["scheme"], signed);
  requireProvable(kind);
  const { asset, payee, amount } = agreedTerms(accepted);
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

function kindOfAuthorization(accepted: JsonObject, payload: JsonObject, signed: JsonObject): PaymentKind {
  const terms = kindOfTerms(accepted["scheme"], accepted["extra"]);
  if (terms === "channel") return terms;
  if (isEscrow(terms, payload, fieldOf(signed, "to"))) return "auth-capture";
  return terms === "eip3009" ? terms : "unknown";
}

/** Return whether an escrow takes the payment, which it may pay out or return later. */
function isEscrow(terms: PaymentKind, payload: JsonObject, spender: unknown): boolean {
  const isCollector = COLLECTORS.includes(asText(spender).toLowerCase());
  return terms === "auth-capture" || Object.hasOwn(payload, "salt") || isCollector;
}

function requireProvable(kind: PaymentKind): void {
  if (!isProvable(kind)) invalid("unsupported_payment", "", "kind", kind);
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
    invalid("missing_permitted", field("permitted"), "part", "an object");
  }
  const witness = fieldOf(signed, "witness");
  if (!isObject(witness)) invalid("missing_witness", field("witness"), "part", "an object");
  const spender = fieldOf(signed, "spender");
  if (typeof spender !== "string") invalid("missing_spender", field("spender"), "part", "a string");
  if (kind === "unknown") {
    invalid("unknown_spender", field("spender"), "proxy", spender.slice(0, 80), asText(scheme));
  }
  const facilitator = fieldOf(witness, "facilitator") ?? null;
  if (scheme === "upto" && (facilitator === null || facilitator === ZERO_ADDRESS)) {
    invalid("missing_facilitator", field("witness.facilitator"), "noFacilitator");
  }
  if (scheme === "exact" && facilitator !== null) {
    invalid("unexpected_facilitator", field("witness.facilitator"), "facilitator");
  }
}
