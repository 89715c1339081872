/** A paid exchange as its client saw it, and the outcome of each check of its proof. */
import type { CheckCode } from "../codes.js";
import { asText } from "../errors.js";
import { fieldOf, isObject, type JsonObject } from "./json.js";
import type { Signer } from "./keys.js";
import { profileAmong, type AgentRegistration, type Profile } from "./messages.js";
import type { Payment } from "./payments.js";
import type { InteractionData } from "./statements.js";

/** The checks of a proof, in the order in which they are performed. */
export const CHECKS = [
  "settlement",
  "interaction",
  "agent",
  "network",
  "task_ref",
  "interaction_hash",
  "payment",
  "pay_to",
  "registration_file",
  "signers",
  "signature",
] as const;

/** The name of a check. */
export type CheckName = (typeof CHECKS)[number];

/** The outcome of a check. A check that could not be performed never counts as passed. */
export type Outcome = "passed" | "failed" | "unchecked";

/** One check of a proof. */
export interface Check {
  readonly name: CheckName;
  readonly outcome: Outcome;
  /** The machine-readable reason why it did not pass; empty if it passed. */
  readonly code: CheckCode | "";
  /** The human-readable reason; empty if it passed. Untrusted text is escaped. */
  readonly problem: string;
  /** The path of the field that is missing or invalid; empty for other reasons. */
  readonly field: string;
}

/** A paid exchange as its client saw it. */
export interface PaidExchange {
  /** The payment payload that the client sent. */
  readonly payment: JsonObject;
  /** `PAYMENT-RESPONSE`, decoded; null if it is missing or malformed. */
  readonly settlement: JsonObject | null;
  /** The request's body, decoded; empty if it has none. */
  readonly request: Uint8Array;
  /** The response's body, decoded; null if it cannot be decoded. */
  readonly response: Uint8Array | null;
  /** Method and URL, such as `GET https://agent.example/weather`. */
  readonly target?: string;
  /** True if the server has stored only the proof, and not the body, of an answer that was fetched again. */
  readonly isBodyLost?: boolean;
  /** The status of an error without `PAYMENT-RESPONSE` after which the server does not settle; null otherwise. */
  readonly unpaidStatus?: number | null;
}

/** The results of verifying one paid answer. Feedback needs nothing else. */
export interface Verification {
  /** True if every check passed. */
  readonly isVerified: boolean;
  /** Each check with its outcome, in order. */
  readonly checks: readonly Check[];
  /** A line for each check that did not pass; a single line if nothing was paid. */
  readonly problems: readonly string[];
  /** The agent that the server declared on the payment's network, if its registry is on the allow-list. */
  readonly registration: AgentRegistration | null;
  /** The agent as text, such as `eip155:8453:0x8004…#247`. */
  readonly agent: string | null;
  /** The statement; null if there is none, or it is malformed. */
  readonly interaction: InteractionData | null;
  /** The payment; null if it was not found. */
  readonly payment: Payment | null;
  /** The key that made the signature; null if none was found. */
  readonly signer: Signer | null;
  /** The agent's wallet, if it signed instead of a listed key. */
  readonly walletSigner: string | null;
  /** True if keys and file are judged at the payment's block, not now. */
  readonly isHistorical: boolean;
  /** The statement's profile key. */
  readonly profile: string;
  /** The exchange. */
  readonly paid: PaidExchange;
  /** The same answer judged at the current time, if this is a historical verification. */
  readonly now: Verification | null;
  /** Notes in addition to the outcome: deviating forms that were accepted. */
  readonly remarks: readonly string[];
}

/** Return one check. A check that was never performed is unchecked. */
export function checkOf(verification: Pick<Verification, "checks">, name: CheckName): Check {
  const missing: Check = { name, outcome: "unchecked", code: "not_made", problem: "the check did not run", field: "" };
  return verification.checks.find((check) => check.name === name) ?? missing;
}

/** Return the terms that the client accepted. */
export function acceptedOf(paid: PaidExchange): JsonObject {
  return objectOf(paid.payment, "accepted");
}

/** Return the signed part of the payment, and its signature. */
export function payloadOf(paid: PaidExchange): JsonObject {
  return objectOf(paid.payment, "payload");
}

/** Return the network on which the client paid. */
export function networkOf(paid: PaidExchange): string {
  return asText(acceptedOf(paid)["network"] ?? "None");
}

/** Return the profile of the server's statement, or that of its declaration if there is no statement. */
export function profileOf(paid: PaidExchange): Profile {
  return profileAmong(paid.settlement?.["extensions"], paid.payment["extensions"]);
}

/** Return the server's declaration, as the client sent it back. */
export function declarationOf(paid: PaidExchange): unknown {
  return fieldOf(paid.payment["extensions"], profileOf(paid).key) ?? null;
}

function objectOf(fields: JsonObject, name: string): JsonObject {
  const value = fieldOf(fields, name);
  return isObject(value) ? value : {};
}
