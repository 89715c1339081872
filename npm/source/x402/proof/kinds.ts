/** The kinds of payments that servers request. */
import { asText } from "../errors.js";
import { isEvm } from "./identifiers.js";
import { fieldOf } from "./json.js";

/** How an x402 payment moves money on an EVM chain. */
export type PaymentKind =
  | "eip3009"
  | "permit2-exact"
  | "permit2-upto"
  | "channel"
  | "auth-capture"
  | "plain"
  | "unknown";

/** The Permit2 contract, on every EVM chain. */
export const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
/** The proxy that settles `exact` payments through Permit2. */
export const EXACT_PROXY = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001";
/** The proxy that settles `upto`. */
export const UPTO_PROXY = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002";

const PROVABLE: readonly PaymentKind[] = ["eip3009", "permit2-exact", "permit2-upto"];
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

/** Return whether a transaction can prove a payment of a kind. */
export function isProvable(kind: PaymentKind): boolean {
  return PROVABLE.includes(kind);
}

function methodOf(extra: unknown): string {
  const method = fieldOf(extra, "assetTransferMethod");
  if (method === undefined || method === null) return "";
  return typeof method === "string" && method ? method : "?";
}

/** Return the kind of payment that a server's terms request. */
export function kindOfTerms(scheme: unknown, extra: unknown): PaymentKind {
  const method = methodOf(extra);
  const kinds = scheme === "exact" ? METHODS : SCHEMES;
  const name = scheme === "exact" ? method : scheme;
  if (typeof name !== "string" || (scheme === "upto" && method !== "" && method !== "permit2")) return "unknown";
  return (Object.hasOwn(kinds, name) ? kinds[name] : undefined) ?? "unknown";
}

/** Return the code for terms with unsupported payments, such as `erc7710_not_supported`; null if they are supported. */
export function unsupportedKind(scheme: unknown, network: string, extra: unknown): `${string}_not_supported` | null {
  const method = fieldOf(extra, "assetTransferMethod");
  if (!isEvm(network)) {
    const name = EVM_SCHEMES.includes(asText(scheme)) ? scheme : method;
    return [...EVM_SCHEMES, "permit2"].includes(asText(name)) ? codeOf(name) : null;
  }
  if (isProvable(kindOfTerms(scheme, extra))) return null;
  return codeOf(scheme === "exact" || scheme === "upto" ? method : scheme);
}

function codeOf(name: unknown): `${string}_not_supported` {
  return `${asText(name).slice(0, 40).toLowerCase().replace(/[^a-z0-9-]/g, "_")}_not_supported`;
}
