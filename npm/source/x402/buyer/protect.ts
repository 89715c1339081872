/** The check of each server before the SDK's client signs a payment. */
import type { ClientExtension, PaymentCreationContext, x402Client } from "@x402/core/client";
import type { PaymentPayload, PaymentRequired, PaymentRequirements } from "@x402/core/types";
import type { BilateralService, Check, ServerQuery } from "../../service.js";
import type { RefusalCode } from "../codes.js";
import { explain, InvalidArgumentError, printable, TrustError } from "../errors.js";
import { chainsOf, type TrustTerms } from "../proof/chains.js";
import { checksummed, isEvm, type GlobalAgentId } from "../proof/identifiers.js";
import { isObject } from "../proof/json.js";
import { unsupportedKind } from "../proof/kinds.js";
import { PROFILES, profileAmong } from "../proof/messages.js";
import { checkBeforePayment } from "../proof/verify.js";

/** The policy under which a service judges servers, as fields such as `minimum_rating`. */
export type BuyerPolicy = Omit<ServerQuery, "agent" | "pay_to" | "payment_chain" | "amount" | "client">;

/** The terms under which a buyer pays. */
export interface BuyerTerms extends TrustTerms {
  /** A service that judges each server before it is paid: a client or its URL. Without it, only the chain counts. */
  readonly service?: string | BilateralService;
  /** The service's policy. */
  readonly policy?: BuyerPolicy;
  /** Whether to pay servers about which the service has doubts: `refuse` by default. */
  readonly onCaution?: "refuse" | "pay";
  /** False to pay servers that do not declare the extension without checking them. */
  readonly required?: boolean;
  /** The agent that this buyer claims to be. Servers check that the payer is the agent's wallet or owner. */
  readonly clientAgent?: GlobalAgentId;
  /** The account that pays, for the service's policy. `trustedFetch` sets it. */
  readonly payer?: string;
}

/** A server was rejected under a service's policy. */
export class PolicyError extends TrustError {
  override readonly name: string = "PolicyError";
  /** The service's answer, with its reasons. */
  readonly check: Check;

  /** @param check The service's answer. */
  constructor(check: Check) {
    const reasons = check.reasons.map((reason) => printable(reason.sentence)).join("; ");
    super("policy_declined", `the verdict is ${check.verdict}${reasons ? `: ${reasons}` : ""}`);
    this.check = check;
  }
}

const REFUSALS = new WeakMap<object, TrustError>();
const PROTECTED = new WeakSet<x402Client>();

/** Return why a protected client did not pay a price; null if it did not refuse. */
export function refusalOf(required: object): TrustError | null {
  return REFUSALS.get(required) ?? null;
}

/**
 * Make an SDK client check each server before it signs a payment.
 *
 * @param client The SDK's client. It can only be protected once.
 * @param terms The trusted chains, and the terms under which the buyer pays.
 * @returns The client. A refused payment throws the SDK's error with the code; in `trustedFetch`, a `TrustError`.
 */
export function protectClient<C extends x402Client>(client: C, terms: BuyerTerms): C {
  if (PROTECTED.has(client)) throw new InvalidArgumentError("already protected: create one client per set of terms");
  PROTECTED.add(client);
  chainsOf(terms); // says at once which chain has no node or no registries
  for (const profile of PROFILES) client.registerExtension(extensionOf(profile.key, terms));
  client.registerPolicy(preferSupported);
  client.onBeforePaymentCreation((context) => refused(context, () => check(context, terms)));
  return client;
}

/** Run a check, and convert its refusal to the abort that the SDK expects. Any other failure also refuses to pay. */
async function refused(
  { paymentRequired }: PaymentCreationContext,
  run: () => Promise<void>,
): Promise<{ abort: true; reason: string } | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    const refusal = error instanceof TrustError ? error : new TrustError("cannot_check", ["server"], { cause: error });
    await explain(refusal);
    REFUSALS.set(paymentRequired, refusal);
    return { abort: true, reason: refusal.message };
  }
}

async function check(context: PaymentCreationContext, terms: BuyerTerms): Promise<void> {
  const { paymentRequired, selectedRequirements: price } = context;
  const code = unsupportedKind(price.scheme, price.network, price.extra);
  if (code) throw unsupported(code);
  if (isEvm(price.network)) checkPrice(price);
  const extensions = paymentRequired.extensions;
  const isDeclared = PROFILES.some((profile) => isObject(extensions) && Object.hasOwn(extensions, profile.key));
  if (!isDeclared) {
    if (terms.required ?? true) throw new TrustError("not_declared");
    return;
  }
  const profile = profileAmong(extensions);
  const { network, payTo } = price;
  const registration = await checkBeforePayment(terms, extensions?.[profile.key], network, payTo, profile);
  const { service } = terms;
  if (service !== undefined) await (await import("./policy.js")).askService(terms, service, registration, price);
}

/** Reject terms that would lead to signing a payment that no transaction can settle. */
function checkPrice({ amount, asset, payTo }: PaymentRequirements): void {
  if (!/^[1-9][0-9]{0,77}$/.test(amount) || BigInt(amount) >= 2n ** 256n) {
    throw new TrustError("invalid_declaration", ["amount", amount]);
  }
  for (const address of [asset, payTo]) {
    try {
      checksummed(address);
    } catch (error) {
      throw new TrustError("invalid_declaration", ["notAddress", address], { cause: error });
    }
  }
}

/** Return the error for an unsupported kind of payment. */
export function unsupported(code: RefusalCode): TrustError {
  return new TrustError(code, ["scheme"]);
}

/** Omit the terms that would be refused, if the server offers others. */
function preferSupported(_version: number, options: PaymentRequirements[]): PaymentRequirements[] {
  const supported = options.filter((price) => unsupportedKind(price.scheme, price.network, price.extra) === null);
  return supported.length ? supported : options;
}

/** Return the part that adds the claim to be an agent and an identifier for fetching a lost answer again. */
function extensionOf(key: string, terms: BuyerTerms): ClientExtension {
  return {
    key,
    async enrichPaymentPayload(payment: PaymentPayload, required: PaymentRequired): Promise<PaymentPayload> {
      const extensions: Record<string, unknown> = { ...payment.extensions };
      const identifier = extensions["payment-identifier"];
      if (isObject(identifier) && isObject(identifier["info"]) && !Object.hasOwn(identifier["info"], "id")) {
        const id = `pay_${crypto.randomUUID().replaceAll("-", "")}`;
        extensions["payment-identifier"] = { ...identifier, info: { ...identifier["info"], id } };
      }
      const declaration = required.extensions?.[key];
      if (terms.clientAgent && isObject(declaration)) {
        extensions[key] = (await import("./claims.js")).claimed(declaration, terms.clientAgent);
      }
      return Object.keys(extensions).length ? { ...payment, extensions } : payment;
    },
  };
}
