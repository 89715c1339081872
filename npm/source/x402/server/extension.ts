/**
 * The extension for the SDK's resource server. It signs answers, and rejects what it could not sign before money moves.
 *
 * The SDK swallows errors thrown by hooks, and the client has paid by then, so no hook after the verification throws.
 */
import type {
  ResourceServerExtension,
  ResourceServerExtensionHooks,
  SettleResponse,
} from "@x402/core/types";
import { InvalidMessageError } from "../errors.js";
import { safeTextOf } from "../problems.js";
import { hex, joined, utf8 } from "../proof/bytes.js";
import { chainsOf, type Chains, type TrustTerms } from "../proof/chains.js";
import { canonicalJson } from "../proof/hashes.js";
import { isEvm, parseTransaction } from "../proof/identifiers.js";
import type { JsonObject } from "../proof/json.js";
import { unsupportedKind } from "../proof/kinds.js";
import { clientAgentOf, PROFILE_8004, REPUTATION_8004, registrationOn } from "../proof/messages.js";
import { payerOf, PaymentProblemError, type Settlement, type SignedPayment } from "../proof/payments.js";
import { signedPaymentOf } from "../proof/permit2.js";
import { awaitSettlement } from "../proof/settlements.js";
import { hashesOf, statementObject } from "../proof/statements.js";
import { keccak_256 } from "@noble/hashes/sha3";
import { exchangeOf, report, type Exchange } from "./exchange.js";
import { checkKey, type SigningKey } from "./keys.js";
import { memoryReservations, type Reservations } from "./stores.js";

/** The settings of the extension. */
export interface ReputationOptions {
  /** Signs answers. Its public key must be in the agent's registration file. */
  readonly key: SigningKey;
  /** Called with the reason when a paid answer is sent without a signature. */
  readonly onUnsigned?: (problem: string) => void;
  /** The authorizations in use; in memory by default. */
  readonly reservations?: Reservations;
  /**
   * The chains with the payments. If set, used Permit2 nonces are rejected before the application runs, and a payment
   * whose settlement failed is looked up.
   */
  readonly trust?: TrustTerms;
  /** How long a checked key is assumed to work, in seconds: 10 by default. */
  readonly recheckSeconds?: number;
}

/** A seller's extension. */
export interface ReputationExtension extends ResourceServerExtension {
  /** The public key of the key that signs. */
  readonly publicKey: string;
  /** The number of signed answers, and the number of paid answers without a signature. */
  readonly counts: Readonly<{ signed: number; unsigned: number }>;
  /** Sign an exchange, or count it as unsigned. It never throws. */
  signOrCount(declaration: unknown, settlement: Settled, exchange: Exchange): Promise<JsonObject | undefined>;
  /** Count a paid answer that is sent without a signature. */
  countUnsigned(problem: string): void;
}

type Hooks = Required<ResourceServerExtensionHooks>;
type Context = Parameters<Hooks["onBeforeVerify"]>[1];
type SettleContext = Parameters<Hooks["onBeforeSettle"]>[1];
type Settled = Pick<SettleResponse, "network" | "transaction">;

const EXTENSIONS = new WeakSet<object>();

/** Return whether an extension on the SDK's server is this one. */
export function isReputation(extension: object): extension is ReputationExtension {
  return EXTENSIONS.has(extension);
}

/**
 * Return the extension for `x402ResourceServer.registerExtension`.
 *
 * @param options The key that signs, and further settings.
 */
export function reputation(options: ReputationOptions): ReputationExtension {
  const reservations = options.reservations ?? memoryReservations();
  const chains = options.trust ? chainsOf(options.trust) : null;
  const counts = { signed: 0, unsigned: 0 };
  let workingUntil = 0;

  const countUnsigned = (problem: string): void => {
    counts.unsigned++;
    workingUntil = 0;
    report("a paid response has no signature", problem);
    try {
      options.onUnsigned?.(problem);
    } catch (error) {
      report("onUnsigned failed", safeTextOf(error));
    }
  };

  const signOrCount = async (declaration: unknown, settlement: Settled, exchange: Exchange): Promise<JsonObject | undefined> => {
    try {
      const statement = await signed(options.key, declaration, settlement, exchange);
      exchange.isSigned = true;
      counts.signed++;
      return statement;
    } catch (error) {
      countUnsigned(safeTextOf(error));
      return undefined;
    }
  };

  const problemOf = async (declaration: unknown, context: Context): Promise<string | null> => {
    const code = paymentProblem(context);
    if (code !== null) return code;
    if (exchangeOf(context.transportContext) === null) return "no_adapter";
    try {
      if (registrationOn(PROFILE_8004.infoOf(declaration), context.requirements.network) === null) {
        return "no_agent_on_payment_network";
      }
      clientAgentOf(context.paymentPayload.extensions?.[REPUTATION_8004]);
    } catch (error) {
      if (error instanceof InvalidMessageError) return `invalid_client_agent: ${error.field}`;
      throw error;
    }
    if (Date.now() < workingUntil) return null;
    try {
      await checkKey(options.key);
      workingUntil = Date.now() + (options.recheckSeconds ?? 10) * 1000;
      return null;
    } catch (error) {
      report("the signing key does not work", safeTextOf(error));
      return "signer_unavailable";
    }
  };

  const end = async (context: Context, isSettled: boolean): Promise<void> => {
    try {
      await reservations[isSettled ? "settle" : "release"](paymentKey(context), context.paymentPayload);
    } catch (error) {
      report(STORE_FAILS, safeTextOf(error));
    }
  };

  const hooks: Hooks = {
    async onBeforeVerify(declaration, context) {
      let problem: string | null;
      try {
        problem = await problemOf(declaration, context);
      } catch {
        problem = "invalid_payment"; // such as one without canonical JSON
      }
      if (problem !== null) return { abort: true, reason: problem };
      if (exchangeOf(context.transportContext)?.unsettled) {
        const payer = payerOf(context.paymentPayload.payload);
        return { skip: true, result: { isValid: true, ...(payer ? { payer } : {}) } };
      }
      const used = chains && signedOf(context)?.kind !== "eip3009" ? await usedNonce(chains, context) : null;
      return used === null ? undefined : { abort: true, reason: used };
    },
    async onAfterVerify(_declaration, context) {
      const exchange = exchangeOf(context.transportContext);
      if (!context.result.isValid || exchange?.unsettled) return;
      let isReserved: boolean | "full";
      try {
        isReserved = await reservations.take(paymentKey(context), context.paymentPayload);
      } catch (error) {
        report(STORE_FAILS, safeTextOf(error));
        return { abort: true, reason: "reservations_unavailable" };
      }
      if (isReserved === "full") return { abort: true, reason: "too_many_payments" };
      return isReserved ? undefined : { abort: true, reason: "payment_in_progress" };
    },
    async onVerifyFailure() {},
    async onVerifiedPaymentCanceled(_declaration, context) {
      if (!context.settledPhases.length) await end(context, false);
    },
    async onBeforeSettle(_declaration, context) {
      if (context.phase === "before-handler") return;
      const exchange = exchangeOf(context.transportContext);
      let problem: string | null = "response_not_signable";
      try {
        if (exchange && (exchange.response !== null || exchange.settlement !== null)) {
          problem = settlementProblem(context, await reservations.pendingAmount(paymentKey(context)));
        }
      } catch (error) {
        report(STORE_FAILS, safeTextOf(error));
        problem = "reservations_unavailable";
      }
      if (problem !== null || exchange === null) {
        await end(context, true);
        return { abort: true, reason: problem ?? "response_not_signable" };
      }
      if (isFree(context)) return { skip: true, result: settlementOf(context, "", "0") };
      if (exchange.unsettled === null || chains === null) {
        exchange.isUnsettled = true; // an exception of the facilitator reaches no hook
        return;
      }
      const settled = await onChain(chains, context);
      if (settled.isPaid !== true || settled.transaction === null) return;
      return { skip: true, result: settlementOf(context, settled.transaction, settled.amount?.toString()) };
    },
    async onAfterSettle() {},
    async onSettleFailure(_declaration, context) {
      const exchange = exchangeOf(context.transportContext);
      if (exchange?.unsettled) return;
      const reason = (context.error as { errorReason?: string }).errorReason ?? "";
      if (!reason || reason === "settlement_pending") {
        // Nobody knows how it ends: the payment may still be settled.
        await reservations.setPending(paymentKey(context), context.requirements.amount);
        await end(context, true);
        return;
      }
      // Anybody may settle `exact` by Permit2, and then it fails for the facilitator: unused alone is released.
      const isOthers = signedOf(context)?.kind === "permit2-exact";
      const isUnused = !isOthers || (chains !== null && (await onChain(chains, context)).isPaid === false);
      await end(context, !isUnused);
      if (exchange) exchange.isUnsettled = false;
    },
  };

  const extension: ReputationExtension = {
    key: REPUTATION_8004,
    publicKey: options.key.publicKey,
    counts,
    /** A client need not echo these: it verifies them on chain. */
    dynamicInfoFields: ["version", "registrations", "endpoint", "feedbackAggregator", "blind", "freeAnswers"],
    hooks,
    signOrCount,
    countUnsigned,
    async enrichSettlementResponse(declaration, context) {
      await end(context, true);
      const exchange = exchangeOf(context.transportContext);
      if (exchange === null) return countUnsigned("no adapter recorded the bodies");
      if (isFree(context)) {
        exchange.isFree = true;
        return undefined;
      }
      exchange.isSettled = Boolean(context.result.transaction);
      if (context.phase === "before-handler") {
        exchange.settlement = { ...context.result } as SettleResponse;
        exchange.declarations.set(REPUTATION_8004, declaration);
        return undefined;
      }
      return signOrCount(declaration, context.result, exchange);
    },
  };
  EXTENSIONS.add(extension);
  return extension;
}

async function signed(key: SigningKey, declaration: unknown, settlement: Settled, exchange: Exchange): Promise<JsonObject> {
  const registration = registrationOn(PROFILE_8004.infoOf(declaration), settlement.network);
  if (registration === null || exchange.response === null) {
    throw new Error("no agent is on the payment's network, or there is no response to sign");
  }
  const taskRef = `${settlement.network}:${settlement.transaction}`;
  parseTransaction(taskRef);
  const hashes = await hashesOf(PROFILE_8004, taskRef, exchange.request, exchange.target, exchange.response);
  return statementObject({
    network: registration.agent.registry.chain,
    agentId: registration.agent.agent,
    taskRef,
    interactionHash: hashes.interaction,
    signature: await key.sign(hashes.interaction),
    timestamp: Math.floor(Date.now() / 1000),
    agentRegistry: registration.agent.registry,
    dataHash: null,
    publicKey: null,
    algorithm: null,
    feedbackEndpoint: null,
    sealedRating: null,
  });
}

/** Return the code for a payment that no transaction could settle as agreed or prove; null if there is none. */
function paymentProblem(context: Context): string | null {
  if (context.paymentPayload.x402Version !== 2) return "unsupported_x402_version";
  const { scheme, network, extra } = context.requirements;
  const code = unsupportedKind(scheme, network, extra);
  if (code !== null || !isEvm(network)) return code;
  const { payload } = context.paymentPayload;
  if (!isTextual(payload["authorization"]) || !isTextual(payload["permit2Authorization"])) return "ambiguous_payment";
  try {
    signedPaymentOf(termsOf(context), payload as JsonObject);
    return null;
  } catch (error) {
    if (error instanceof PaymentProblemError) return error.code;
    throw error;
  }
}

/** Return whether an authorization's payer and nonce are strings, or it is absent: readers differ on other types. */
function isTextual(part: unknown): boolean {
  if (part === undefined) return true;
  const { from, nonce } = (part ?? {}) as JsonObject;
  return typeof from === "string" && typeof nonce === "string";
}

function signedOf(context: Context): SignedPayment | null {
  try {
    return signedPaymentOf(termsOf(context), context.paymentPayload.payload as JsonObject);
  } catch {
    return null;
  }
}

/** Return the agreed terms. Before a settlement, the server's terms contain the amount to be charged. */
function termsOf(context: Context): JsonObject {
  return { ...context.requirements, amount: context.paymentPayload.accepted.amount };
}

function onChain(chains: Chains, context: Context): Promise<Settlement> {
  return awaitSettlement(chains, { accepted: termsOf(context), payload: context.paymentPayload.payload }, 0);
}

async function usedNonce(chains: Chains, context: Context): Promise<string | null> {
  const settlement = await onChain(chains, context);
  if (settlement.isPaid === true) return "nonce_used";
  return settlement.isExpired ? "authorization_expired" : null;
}

/** Return the code for an amount, set by the application, that must not be settled; null if it may be settled. */
function settlementProblem(context: SettleContext, pending: string | null): string | null {
  const { scheme, amount } = context.requirements;
  const most = context.paymentPayload.accepted.amount;
  if (pending !== null && pending !== amount) return "settlement_amount_changed";
  if (scheme === "exact") return amount === most ? null : "settlement_amount_mismatch";
  if (scheme !== "upto") return null;
  if (!AMOUNT.test(amount) || !AMOUNT.test(most)) return "settlement_amount_invalid";
  if (BigInt(amount) > BigInt(most)) return "settlement_exceeds_ceiling";
  return isFree(context) && !allowsFreeAnswers(context) ? "nothing_charged" : null;
}

const AMOUNT = /^[0-9]{1,78}$/;

function isFree(context: SettleContext): boolean {
  return context.requirements.scheme === "upto" && /^0+$/.test(context.requirements.amount);
}

function allowsFreeAnswers(context: SettleContext): boolean {
  try {
    return PROFILE_8004.infoOf(context.declaredExtensions[REPUTATION_8004]).freeAnswers;
  } catch {
    return false;
  }
}

function settlementOf(context: SettleContext, transaction: string, amount: string | undefined): SettleResponse {
  const payer = payerOf(context.paymentPayload.payload as JsonObject);
  const { network } = context.requirements;
  return { success: true, transaction, network, ...(payer ? { payer } : {}), ...(amount ? { amount } : {}) };
}

/** Return a key for an authorization that is equal for every copy, whatever else its message contains. */
function paymentKey(context: Context): string {
  const signed = signedOf(context);
  const { network } = context.requirements;
  if (signed === null) return hex(keccak_256(joined(utf8(network), utf8(canonicalJson(context.paymentPayload.payload)))));
  // A nonce of Permit2 is one of its owner for all tokens.
  const place = signed.kind === "eip3009" ? signed.asset : "permit2";
  return [network, place, signed.payer, hex(signed.nonce)].join(" ").toLowerCase();
}

const STORE_FAILS = "the store of reservations failed";
