/**
 * A `fetch` that checks each seller before it pays, verifies the answer, and never signs twice for one call.
 *
 * The table of `payment_outcomes.json` decides what happens to an answer, as in Python.
 */
import type { SpendControls, x402Client } from "@x402/core/client";
import type { PaymentPayload, PaymentRequired } from "@x402/core/types";
import { AnswerLimitError, explain, InvalidArgumentError, LostAnswerError, TrustError } from "../errors.js";
import { MAX_BODY, withUrl, type AnswerLimits } from "../limits.js";
import { isEqual } from "../proof/bytes.js";
import { chainsOf } from "../proof/chains.js";
import { unsupportedKind } from "../proof/kinds.js";
import { isPlain } from "../proof/payments.js";
import type { Verification } from "../proof/verdicts.js";
import { clientOf, loadDollars, type PayingAccount } from "./account.js";
import * as http from "./exchange.js";
import { judged } from "./judgment.js";
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

/** The payments that have no answer yet, in memory. */
const OUTSTANDING = new WeakMap<TrustedFetch, Outstanding[]>();

/**
 * Return a `fetch` that checks each seller before it pays, and verifies the answer.
 *
 * @param options The account or the client that pays, the trusted chains, and the terms.
 * @returns The function. It throws a `TrustError` if it refuses to pay, before it signs anything; a `LostAnswerError`
 *   if it paid but received no answer. An answer whose proof fails is still returned: see `verificationOf`.
 */
export function trustedFetch(options: TrustedFetchOptions): TrustedFetch {
  const payments: Outstanding[] = [];
  const pay = buyerOf(options, payments);
  const buy: TrustedFetch = async (input, init) => {
    try {
      return await pay(input, init);
    } catch (error) {
      throw await explain(error);
    }
  };
  OUTSTANDING.set(buy, payments);
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
  const payments = OUTSTANDING.get(buy);
  if (!payments) throw new InvalidArgumentError("this function was not created by trustedFetch");
  const call = await http.callOf(lost instanceof LostAnswerError ? lost.again() : lost);
  return (await import("./outstanding.js")).take(payments, call, true) !== null;
}

/** A call with the payment signed for it. */
interface Signed {
  readonly call: http.Call;
  readonly required: PaymentRequired;
  readonly payment: PaymentPayload;
}

function buyerOf(options: TrustedFetchOptions, payments: Outstanding[]): TrustedFetch {
  const { account, client, spending, limits: { bytes = MAX_BODY, seconds = 120 } = {} } = options;
  if ((account === undefined) === (client === undefined)) throw new InvalidArgumentError("pass either account or client");
  if (!(bytes > 0) || !(seconds > 0)) {
    throw new InvalidArgumentError(`the limits are ${bytes} bytes and ${seconds} s: both must be above 0`);
  }
  const terms = account ? { payer: account.address, ...options } : options;
  const chains = chainsOf(terms);
  const payer = protectClient(account ? clientOf(account, spending) : (client as x402Client), terms);
  const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));

  /** Remember a payment. This needs no file that could fail to load. */
  function remember(call: http.Call, isSettled: boolean): void {
    const isListed = payments.some(
      ({ call: { payment, method, url, body } }) =>
        payment === call.payment && method === call.method && url === call.url && isEqual(body, call.body),
    );
    if (!isListed) payments.push({ call, since: Date.now(), isSettled });
  }

  function forget({ payment }: http.Call): void {
    payments.splice(0, payments.length, ...payments.filter(({ call }) => call.payment !== payment));
  }

  /** Request the answer, and sign a payment if it has a price. */
  async function priced(request: http.Call): Promise<Response | Signed> {
    const clock = limited(request);
    try {
      const response = await http.sent(fetch, request, clock.signal);
      if (response.status === 402) {
        const endDrain = http.drain(response);
        return await signed(request, response, clock.signal).finally(() => (endDrain(), clock.stop()));
      }
      clock.leave();
      return (await import("./free.js")).metered(response, bytes);
    } catch (error) {
      clock.stop();
      throw error;
    }
  }

  /** Sign a payment for a price, if the seller passes every check. */
  async function signed(request: http.Call, response: Response, signal: AbortSignal): Promise<Signed> {
    if (response.redirected && !["GET", "HEAD"].includes(request.method)) {
      throw new TrustError("invalid_declaration", ["otherAddress", response.url]);
    }
    const required = http.priceOf(response);
    const { accepts } = required;
    const codes = accepts.map(({ scheme, network, extra }) => unsupportedKind(scheme, network, extra));
    const [code] = codes;
    if (code && codes.every((other) => other !== null)) throw unsupported(code);
    try {
      // No payment may be signed whose answer could not be judged.
      const isPermit = !accepts.every(({ scheme, extra, payTo }) => isPlain(scheme, extra, payTo));
      const permits = isPermit ? [import("../proof/permit2.js"), import("../proof/proxies.js")] : [];
      await Promise.all([loadChecks(), loadDollars(accepts), ...permits]);
      const payment = await payer.createPaymentPayload(required);
      signal.throwIfAborted();
      const url = response.redirected ? response.url : request.url;
      return { call: http.paidCall({ ...request, url }, payment), required, payment };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof TrustError) throw error;
      throw refusalOf(required) ?? new TrustError("payment_refused", http.messageOf(error), { cause: error });
    }
  }

  async function paid(call: http.Call, priced: Signed | null): Promise<http.Reply | Error> {
    const { signal, stop } = limited(call);
    try {
      const reply = await http.replyOf(await http.sent(fetch, call, signal), bytes, signal);
      if (priced) await report(priced, reply);
      return reply;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    } finally {
      stop();
    }
  }

  /** Notify the SDK's hooks of the answer. They cannot make this function pay again. */
  async function report({ payment, required }: Signed, { settlement, status }: http.Reply): Promise<void> {
    try {
      await payer.handlePaymentResponse({
        paymentPayload: payment,
        requirements: payment.accepted,
        ...(settlement === null ? {} : { settleResponse: settlement as never }),
        ...(status === 402 ? { paymentRequired: required } : {}),
      });
    } catch {
      // a hook that fails says nothing about the answer
    }
  }

  /** Return the signal that aborts a call at its time limit, and functions to stop its timer or to leave it running. */
  function limited({ settings: { signal } }: http.Call): { signal: AbortSignal; stop: () => void; leave: () => void } {
    const timeout = new AbortController();
    const timer: unknown = setTimeout(() => {
      const problem = `the answer took longer than ${seconds} s: raise limits.seconds`;
      timeout.abort(new AnswerLimitError(problem, "answer_timeout"));
    }, seconds * 1000);
    return {
      signal: signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal,
      stop: () => clearTimeout(timer as ReturnType<typeof setTimeout>),
      leave: () => (timer as { unref?: () => void }).unref?.(), // a program may end before the clock does
    };
  }

  return async (input, init) => {
    const request = await http.callOf(input, init);
    const isNew = request.payment === null;
    const unanswered = isNew && payments.length ? await (await import("./outstanding.js")).payable(payments, request, chains) : null;
    const again = isNew ? unanswered : request;
    const price = again ? null : await priced(request);
    if (price instanceof Response) return price;
    await loadChecks();
    // From here on a payment exists, and every failure is a lost answer.
    const call = price?.call ?? again ?? request;
    let isAgain = price === null;
    let isRetried = false;
    let isSettled = false;
    try {
      for (let reply = await paid(call, price); ; reply = await paid(call, null)) {
        const { action, outcome, verification, error } = await judged(chains, call, reply, isAgain);
        isSettled = outcome === "settled";
        if (action === "deliver" && !(reply instanceof Error)) {
          if (http.isDelivery(reply) && http.isRepeated(reply)) remember(call, isSettled);
          else forget(call);
          return delivered(call, reply, verification);
        }
        if (action !== "retry" || isRetried) throw error;
        isRetried = isAgain = true;
      }
    } catch (error) {
      if (error instanceof LostAnswerError && error.outcome === "expired") forget(call);
      else remember(call, isSettled);
      if (error instanceof LostAnswerError) throw error;
      const lost = { outcome: "unknown", transaction: null, status: null, answer: new Uint8Array() } as const;
      const problem = `${http.messageOf(await explain(error))}, and the payment was not looked up`;
      throw new LostAnswerError(http.sentRequest(call), problem, lost, { cause: error });
    }
  };
}

/** Load the checks of answers. Programs that never pay never load them. */
function loadChecks(): Promise<unknown> {
  return import("../proof/examination.js");
}

/** Return an answer as a platform response, with its verification. */
function delivered(call: http.Call, reply: http.Reply, verification: Verification | null): Response {
  const response = withUrl(http.responseOf(reply), reply.response.url || call.url);
  if (verification !== null) VERIFICATIONS.set(response, verification);
  return response;
}
