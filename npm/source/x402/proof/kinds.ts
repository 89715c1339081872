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
const EVM_SCHEMES = ["upto", "batch-settlement", "auth-capture"];

/** The kinds by scheme and, for two schemes, by the method of transfer. */
const KINDS: Readonly<Record<string, PaymentKind>> = {
  "exact ": "eip3009",
  "exact eip3009": "eip3009",
  "exact default": "eip3009",
  "exact permit2": "permit2-exact",
  "upto ": "permit2-upto",
  "upto permit2": "permit2-upto",
  "batch-settlement *": "channel",
  "auth-capture *": "auth-capture",
};

/** Return whether a transaction can prove a payment of a kind. */
export function isProvable(kind: PaymentKind): boolean {
  return PROVABLE.includes(kind);
}

/** Return the kind of payment that a server's terms request. */
export function kindOfTerms(scheme: unknown, extra: unknown): PaymentKind {
  const method = fieldOf(extra, "assetTransferMethod") ?? null;
  const hasMethods = scheme === "exact" || scheme === "upto";
  const named = method === null ? "" : (typeof method === "string" && method) || "?";
  const name = `${asText(scheme)} ${hasMethods ? named : "*"}`;
  return (Object.hasOwn(KINDS, name) && KINDS[name]) || "unknown";
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
