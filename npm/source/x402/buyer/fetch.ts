/**
 * A `fetch` that checks each seller before it pays, verifies the answer, and never signs twice for one call.
 *
 * The table of `payment_outcomes.json` decides what happens to an answer, as in Python.
 */
import type { SpendControls, x402Client } from "@x402/core/client";
import type { PaymentPayload, PaymentRequired } from "@x402/core/types";
import { AnswerLimitError, InvalidArgumentError, LostAnswerError, quoted, TrustError } from "../errors.js";
import { MAX_BODY, metered, withUrl, type AnswerLimits } from "../limits.js";
import { isEqual } from "../proof/bytes.js";
import { chainsOf, type Chains } from "../proof/chains.js";
import { isObject, type JsonObject } from "../proof/json.js";
import { kindOfTerms, unsupportedKind } from "../proof/kinds.js";
import type { Verification } from "../proof/verdicts.js";
import { clientOf, type PayingAccount } from "./account.js";
import * as http from "./exchange.js";
import type { Outstanding } from "./outstanding.js";
import { protectClient, refusalOf, unsupported, type BuyerTerms } from "./protect.js";

/** The settings of a `trustedFetch`. */
export interface TrustedFetchOptions extends BuyerTerms {
  /** The account that pays. Pass either this or `client`. */
  readonly account?: PayingAccount;
  /** An SDK client with its own schemes. It is protected by these terms. */
  readonly client?: x402Client;
  /** What `account` may spend, as for the SDK's `setSpendControls`: by default, one known dollar per payment. */
  readonly spending?: SpendControls | false;
  /** The limits for one answer: 32 MiB and two minutes by default. */
  readonly limits?: AnswerLimits;
  /** The function that sends requests; the global `fetch` by default. */
  readonly fetch?: typeof globalThis.fetch;
}

/** A `fetch` that pays sellers after checking them. */
export type TrustedFetch = typeof globalThis.fetch;

const VERIFICATIONS = new WeakMap<Response, Verification>();
const BUYERS = new WeakMap<TrustedFetch, Buyer>();
const UNIDENTIFIED = 16; // fewer characters identify no payment (extension payment-identifier)

/**
 * Return a `fetch` that checks each seller before it pays, and verifies the answer.
 *
 * @param options The account or the client that pays, the trusted chains, and the terms.
 * @returns The function. It throws a `TrustError` if it refuses to pay, before it signs anything; a `LostAnswerError`
 *   if it paid but received no answer. An answer whose proof fails is still returned: see `verificationOf`.
 */
export function trustedFetch(options: TrustedFetchOptions): TrustedFetch {
  const buyer = new Buyer(options);
  const buy: TrustedFetch = (input, init) => buyer.buy(input, init);
  BUYERS.set(buy, buyer);
  return buy;
}

/** Return the verification of a response from `trustedFetch`; null if nothing was paid for it. */
export function verificationOf(response: Response): Verification | null {
  return VERIFICATIONS.get(response) ?? null;
}

/**
 * Forget a request's unanswered payments, so that the next such request signs a new one.
 *
 * The request may then be paid twice: a forgotten payment can still be settled until it expires.
 *
 * @param buy The function that sent the request.
 * @param lost The error, or the request.
 * @returns False if there was no such payment.
 */
export async function abandonPayment(buy: TrustedFetch, lost: LostAnswerError | RequestInfo | URL): Promise<boolean> {
  const buyer = BUYERS.get(buy);
  if (!buyer) throw new InvalidArgumentError("this function was not created by trustedFetch");
  return buyer.payments.abandon(await http.callOf(lost instanceof LostAnswerError ? lost.again() : lost));
}

/** One client's payments that have no answer yet, in memory. */
class OutstandingPayments {
  #payments: Outstanding[] = [];

  /** Remember a payment. This needs no file that could fail to load. */
  add(call: http.Call, isSettled: boolean): void {
    const { payment, method, url, body } = call;
    const isListed = this.#payments.some(
      ({ call: other }) =>
        other.payment === payment && other.method === method && other.url === url && isEqual(other.body, body),
    );
    if (!isListed) this.#payments.push({ call, since: Date.now(), isSettled });
  }

  drop(call: http.Call): void {
    this.#payments = this.#payments.filter((other) => other.call.payment !== call.payment);
  }

  /** Return and forget the oldest payment for the same request; null if there is none. */
  async take(call: http.Call): Promise<http.Call | null> {
    if (!this.#payments.length) return null;
    const { split } = await import("./outstanding.js");
    const { same, other } = split(this.#payments, call);
    const [oldest] = same;
    this.#payments = [...other, ...same.filter(({ call: paid }) => paid.payment !== oldest?.call.payment)];
    return oldest?.call ?? null;
  }

  async abandon(call: http.Call): Promise<boolean> {
    if (!this.#payments.length) return false;
    const { split } = await import("./outstanding.js");
    const { same, other } = split(this.#payments, call);
    this.#payments = other;
    return same.length > 0;
  }
}

const OUTSTANDING = new WeakMap<x402Client, OutstandingPayments>();

/** A call with the payment signed for it. */
interface Signed {
  readonly call: http.Call;
  readonly required: PaymentRequired;
  readonly payment: PaymentPayload;
}

class Buyer {
  readonly payments: OutstandingPayments;
  readonly #client: x402Client;
  readonly #chains: Chains;
  readonly #limit: number;
  readonly #milliseconds: number;
  readonly #fetch: typeof globalThis.fetch;

  constructor(options: TrustedFetchOptions) {
    const { account, client, spending, limits = {} } = options;
    if ((account === undefined) === (client === undefined)) {
      throw new InvalidArgumentError("pass either account or client");
    }
    const terms = account ? { payer: account.address, ...options } : options;
    this.#chains = chainsOf(terms);
    this.#client = protectClient(account ? clientOf(account, spending) : (client as x402Client), terms);
    this.payments = OUTSTANDING.get(this.#client) ?? new OutstandingPayments();
    OUTSTANDING.set(this.#client, this.payments);
    const { bytes = MAX_BODY, seconds = 120 } = limits;
    if (!(bytes > 0) || !(seconds > 0)) {
      throw new InvalidArgumentError(`the limits are ${bytes} bytes and ${seconds} s: both must be above 0`);
    }
    this.#limit = bytes;
    this.#milliseconds = seconds * 1000;
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  async buy(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const request = await http.callOf(input, init);
    const outstanding = request.payment === null ? await this.#outstanding(request) : request;
    let isAgain = outstanding !== null;
    const priced = outstanding ?? (await this.#priced(request));
    if (priced instanceof Response) return priced;
    const { judged } = await loadJudgment();
    // From here on a payment exists, and every failure is a lost answer.
    const call = "call" in priced ? priced.call : priced;
    let isSettled = false;
    try {
      let reply = await this.#paid(call, "call" in priced ? priced : null);
      let isRetried = identifierOf(call).length < UNIDENTIFIED; // such a payment fetches nothing
      for (;;) {
        const { action, outcome, verification, error } = await judged(this.#chains, call, reply, isAgain);
        isSettled = outcome === "settled";
        if (action === "deliver" && !(reply instanceof Error)) {
          const isUnclear = http.isDelivery(reply) && http.isRepeated(reply);
          if (isUnclear) this.payments.add(call, isSettled);
          else this.payments.drop(call);
          return delivered(call, reply, verification);
        }
        if (action !== "retry" || isRetried) {
          if (outcome === "expired") this.payments.drop(call);
          throw error;
        }
        isRetried = isAgain = true;
        reply = await this.#paid(call, null);
      }
    } catch (error) {
      const isOver = error instanceof LostAnswerError && error.outcome === "expired";
      if (!isOver) this.payments.add(call, isSettled);
      if (error instanceof LostAnswerError) throw error;
      const lost = { outcome: "unknown", transaction: null, status: null, answer: new Uint8Array() } as const;
      const problem = `${http.messageOf(error)}, and the payment was not looked up`;
      throw new LostAnswerError(http.sentRequest(call), problem, lost, { cause: error });
    }
  }

  async #outstanding(request: http.Call): Promise<http.Call | null> {
    for (;;) {
      const call = await this.payments.take(request);
      if (call === null) return null;
      let isExpired = false;
      try {
        await loadJudgment();
        ({ isExpired } = await this.#chains.findSettlement(http.paymentOf(call) ?? {}, 0));
      } catch (error) {
        this.payments.add(call, false); // it is not forgotten because a look at it failed
        throw error;
      }
      if (!isExpired) return { ...call, settings: request.settings };
    }
  }

  /** Request the answer, and sign a payment if it has a price. */
  async #priced(request: http.Call): Promise<Response | Signed> {
    const clock = this.#limited(request);
    try {
      const response = await http.sent(this.#fetch, request, clock.signal);
      if (response.status === 402) {
        const endDrain = http.drain(response);
        return await this.#signed(request, response, clock.signal).finally(() => (endDrain(), clock.stop()));
      }
      clock.leave();
      return metered(response, this.#limit);
    } catch (error) {
      clock.stop();
      throw error;
    }
  }

  /** Sign a payment for a price, if the seller passes every check. */
  async #signed(request: http.Call, response: Response, signal: AbortSignal): Promise<Signed> {
    if (response.redirected && !["GET", "HEAD"].includes(request.method)) {
      throw new TrustError("invalid_declaration", `the price comes from a different address, ${quoted(response.url)}`);
    }
    const required = http.priceOf(response);
    const codes = required.accepts.map(({ scheme, network, extra }) => unsupportedKind(scheme, network, extra));
    const [code] = codes;
    if (code && codes.every((other) => other !== null)) throw unsupported(code);
    try {
      // No payment may be signed whose answer could not be judged.
      const isPermit = required.accepts.some(({ scheme, extra }) => kindOfTerms(scheme, extra) !== "eip3009");
      const permits = isPermit ? [import("../proof/permit2.js"), import("../proof/proxies.js")] : [];
      await Promise.all([loadJudgment(), ...permits]);
      const payment = await this.#client.createPaymentPayload(required);
      signal.throwIfAborted();
      const url = response.redirected ? response.url : request.url;
      return { call: http.paidCall({ ...request, url }, payment), required, payment };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof TrustError) throw error;
      throw refusalOf(required) ?? new TrustError("payment_refused", http.messageOf(error), { cause: error });
    }
  }

  async #paid(call: http.Call, signed: Signed | null): Promise<http.Reply | Error> {
    const { signal, stop } = this.#limited(call);
    try {
      const response = await http.sent(this.#fetch, call, signal);
      const reply = await http.replyOf(response, this.#limit, signal);
      if (signed) await this.#report(signed, reply);
      return reply;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    } finally {
      stop();
    }
  }

  /** Notify the SDK's hooks of the answer. They cannot make this function pay again. */
  async #report({ payment, required }: Signed, reply: http.Reply): Promise<void> {
    try {
      await this.#client.handlePaymentResponse({
        paymentPayload: payment,
        requirements: payment.accepted,
        ...(reply.settlement === null ? {} : { settleResponse: reply.settlement as never }),
        ...(reply.status === 402 ? { paymentRequired: required } : {}),
      });
    } catch {
      // a hook that fails says nothing about the answer
    }
  }

  /** Return the signal that aborts a call at its time limit, and functions to stop its timer or to leave it running. */
  #limited(call: http.Call): { signal: AbortSignal; stop: () => void; leave: () => void } {
    const timeout = new AbortController();
    const timer: unknown = setTimeout(() => {
      const problem = `the answer took longer than ${this.#milliseconds / 1000} s: raise limits.seconds`;
      timeout.abort(new AnswerLimitError(problem, "answer_timeout"));
    }, this.#milliseconds);
    const { signal } = call.settings;
    return {
      signal: signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal,
      stop: () => clearTimeout(timer as ReturnType<typeof setTimeout>),
      leave: () => (timer as { unref?: () => void }).unref?.(), // a program may end before the clock does
    };
  }
}

/** Load the checks of answers. Programs that never pay never load them. */
async function loadJudgment(): Promise<typeof import("./judgment.js")> {
  const [judgment] = await Promise.all([import("./judgment.js"), import("../proof/documents.js")]);
  return judgment;
}

/** Return an answer as a platform response, with its verification. */
function delivered(call: http.Call, reply: http.Reply, verification: Verification | null): Response {
  const response = withUrl(http.responseOf(reply), reply.response.url || call.url);
  if (verification !== null) VERIFICATIONS.set(response, verification);
  return response;
}

/** Return the identifier with which a lost answer can be fetched again; empty if there is none. */
function identifierOf(call: http.Call): string {
  let value: unknown = http.paymentOf(call);
  for (const name of ["extensions", "payment-identifier", "info", "id"]) {
    value = isObject(value) ? (value as JsonObject)[name] : undefined;
  }
  return typeof value === "string" ? value : "";
}
