/**
 * A paid request from its first byte to its last, for every framework.
 *
 * It uses the SDK's HTTP server but not its middleware, which signs bytes that differ from those sent, runs a handler
 * several times per authorization, and needs `Buffer`. An adapter passes a request, captures the response, and sends
 * what `finish` returns.
 */
import {
  x402HTTPResourceServer,
  type HTTPAdapter,
  type HTTPRequestContext,
  type PaywallConfig,
  type PaywallProvider,
  type RouteConfig,
  type x402ResourceServer,
} from "@x402/core/server";
import { sha256 } from "@noble/hashes/sha2";
import { InvalidArgumentError } from "../errors.js";
import { MAX_BODY } from "../limits.js";
import { hex, joined, utf8 } from "../proof/bytes.js";
import { decodeHeader, encodeHeader } from "../proof/headers.js";
import { isObject } from "../proof/json.js";
import { REPUTATION_8004 } from "../proof/messages.js";
import { unsupportedKind } from "../proof/kinds.js";
import type { TrustTerms } from "../proof/chains.js";
import { decodeBody, inflateByStream, isStream, Refusal, type Inflate } from "./bodies.js";
import { checkClient, DeclinedClientError, type ClientTerms } from "./clients.js";
import { pageHeaders, preflightHeaders, type CorsPolicy } from "./cors.js";
import { bind, Exchange, report } from "./exchange.js";
import { isReputation, type ReputationExtension } from "./extension.js";
import { examine, PreflightError, type CheckedRoute } from "./preflight.js";
import { memoryAnswers, type Answer, type PaidAnswers } from "./stores.js";

/** The paid routes, such as `{ "GET /weather": { accepts, extensions } }`. */
export type Routes = Record<string, RouteConfig>;

/** A seller's settings. */
export interface SellerOptions {
  /** The size limit for a request's or response's decoded body, in bytes: 32 MiB by default. */
  readonly limit?: number;
  /** Keeps paid answers for clients that lose the connection; in memory by default. */
  readonly answers?: PaidAnswers;
  /** Checks agent, wallet and signing key before the first payment. While a check fails, paid routes return 503. */
  readonly preflight?: TrustTerms;
  /** The clients that are served. All others receive 403, and nothing is settled. */
  readonly clients?: ClientTerms;
  /** The web pages that may buy: all pages by default, none if false. */
  readonly cors?: CorsPolicy | false;
  /** The SDK's paywall for human visitors. */
  readonly paywall?: PaywallProvider;
  readonly paywallConfig?: PaywallConfig;
}

/** A request as the framework represents it. */
export interface Incoming {
  readonly method: string;
  /** The complete URL. */
  readonly url: string;
  /** The path as sent, relative to where the middleware is mounted. */
  readonly path: string;
  /** The path and query as sent. */
  readonly target: string;
  /** Return a header; several headers with the same name are joined with ", ". */
  header(name: string): string | undefined;
  /** Read the body as sent, without consuming it for the application. */
  read(limit: number): Promise<Uint8Array>;
}

/** What to do with a request. */
export type Decision =
  | { readonly type: "pass" }
  | { readonly type: "answer"; readonly answer: Answer }
  | { readonly type: "run"; readonly paid: PaidRun };

/** A request whose payment has been verified: the application may run. */
export interface PaidRun {
  readonly exchange: Exchange;
  /** The maximum size of the application's response, in bytes. */
  readonly limit: number;
  /** Return whether an answer must be stopped at its first byte, judging by its `Content-Type`. */
  refusesStream(contentType: string): boolean;
  /** Settle the payment for the application's answer, and return the client's answer. */
  finish(captured: Answer): Promise<Answer>;
  /** Return the answer to a request that the application could not answer, without a settlement. */
  fail(error: unknown): Promise<Answer>;
}

const MAX_PAYMENT_HEADER = 32 * 1024; // with 32 registrations, a payment has about 24,000 characters
const MIN_IDENTIFIER = 16; // characters, as payment-identifier demands
const RECHECK_MILLISECONDS = 60_000; // a node that was down may be back
const OVERRIDES = "settlement-overrides";
const BODILESS = new Set([204, 304]);

/** The decisions about the paid requests of one application. */
export class Seller {
  readonly #routes: Routes;
  readonly #server: x402ResourceServer;
  readonly #options: SellerOptions;
  readonly #inflate: Inflate;
  readonly #http: x402HTTPResourceServer;
  readonly #declaring: x402HTTPResourceServer;
  readonly #answers: PaidAnswers;
  readonly #limit: number;
  readonly #cors: CorsPolicy | false;
  #started: Promise<void> | null = null;
  #checked: Promise<PreflightError | null> | null = null;
  #recheckAfter: number = Number.POSITIVE_INFINITY;

  /**
   * @param routes The paid routes.
   * @param server The SDK's resource server. Register the extension with it.
   * @param options The settings.
   * @param inflate Decodes bodies.
   */
  constructor(routes: Routes, server: x402ResourceServer, options: SellerOptions = {}, inflate: Inflate = inflateByStream) {
    this.#routes = routes;
    this.#server = server;
    this.#options = options;
    this.#inflate = inflate;
    const declaring = Object.entries(routes).filter(([, route]) => declarationOf(route) !== undefined);
    if (declaring.length && !this.#extension) {
      throw new InvalidArgumentError(`a route declares ${REPUTATION_8004}: register reputation(…) with the server`);
    }
    for (const [pattern, route] of declaring) {
      for (const option of [route.accepts].flat()) {
        const code = unsupportedKind(option.scheme, option.network, extraOf(option));
        if (code) throw new InvalidArgumentError(`${pattern} has unverifiable payments: ${code}`);
      }
    }
    this.#http = new x402HTTPResourceServer(server, routes);
    if (options.paywall) this.#http.registerPaywallProvider(options.paywall);
    this.#declaring = new x402HTTPResourceServer(server, Object.fromEntries(declaring));
    this.#answers = options.answers ?? memoryAnswers();
    this.#limit = options.limit ?? MAX_BODY;
    this.#cors = options.cors ?? {};
  }

  /** Query what the facilitator supports, and run the checks before the first payment. Else, a request does so. */
  async ready(): Promise<void> {
    await this.#start();
    const problem = await this.#problem();
    if (problem) throw problem;
  }

  /** Decide what to do with a request. */
  async begin(incoming: Incoming): Promise<Decision> {
    const origin = incoming.header("origin") ?? "";
    const verb = incoming.header("access-control-request-method") ?? "";
    if (incoming.method === "OPTIONS" && origin && verb && this.#isDeclaring(incoming, verb)) {
      const headers = preflightHeaders(this.#cors, origin, verb);
      if (headers.length) return { type: "answer", answer: { status: 204, headers, body: NOTHING } };
    }
    if (!this.#http.requiresPayment(contextOf(incoming))) return { type: "pass" };
    const isDeclaring = this.#isDeclaring(incoming, incoming.method);
    try {
      const decision = await this.#decide(incoming, isDeclaring);
      return decision.type === "answer" ? { type: "answer", answer: this.#readable(decision.answer, origin, isDeclaring) } : decision;
    } catch (error) {
      return { type: "answer", answer: this.#readable(refusalOf(error), origin, isDeclaring) };
    }
  }

  get #extension(): ReputationExtension | undefined {
    return this.#server.getExtensions().find(isReputation);
  }

  #isDeclaring(incoming: Incoming, method: string): boolean {
    return this.#declaring.requiresPayment(contextOf(incoming, method));
  }

  #readable(answer: Answer, origin: string, isDeclaring: boolean): Answer {
    if (!isDeclaring) return answer;
    const names = new Set(answer.headers.map(([name]) => name.toLowerCase()));
    return { ...answer, headers: [...answer.headers, ...pageHeaders(this.#cors, origin, names)] };
  }

  async #decide(incoming: Incoming, isDeclaring: boolean): Promise<Decision> {
    await this.#start().catch((error: unknown) => {
      report("the facilitator is not responding", error);
      throw new Refusal(503, "facilitator_unavailable");
    });
    if (isDeclaring && (await this.#problem())) throw new Refusal(503, "preflight");
    const header = incoming.header("payment-signature");
    const exchange = new Exchange(incoming.target);
    let read: Uint8Array | null = null;
    const readOnce = async (): Promise<Uint8Array> => (read ??= await this.#read(incoming));
    let payment: string | null = null;
    if (isDeclaring && header) {
      this.#checkHeaders(incoming, header);
      payment = paymentOf(header);
      const stored = payment === null ? null : await this.#find(payment);
      if (stored) {
        exchange.request = await readOnce();
        if (stored.request !== requestOf(incoming, exchange.request)) throw new Refusal(409, "payment_of_another_request");
        if (!stored.isUnsettled) return { type: "answer", answer: stored };
        exchange.unsettled = stored;
      }
    }
    if (header && this.#options.clients) {
      // Before anything is verified, because some payments are settled then. A verified one has proven its payer.
      const message = decodeHeader(header);
      if (message === null) throw new Refusal(400, "payment_header_malformed");
      exchange.client = await checkClient(this.#options.clients, message);
    }
    const context = contextOf(incoming);
    bind(context.adapter, exchange);
    const result = await this.#http.processHTTPRequest(context, this.#options.paywallConfig);
    if (result.type === "no-payment-required") return { type: "pass" };
    if (result.type === "payment-error") return { type: "answer", answer: answerOf(result.response) };
    const run = new Run(this, incoming, context, exchange, result, payment, isDeclaring);
    try {
      exchange.request = await readOnce();
    } catch (error) {
      return { type: "answer", answer: await run.fail(error) };
    }
    if (exchange.unsettled) return { type: "answer", answer: await run.finish(exchange.unsettled) };
    return { type: "run", paid: run };
  }

  async #read(incoming: Incoming): Promise<Uint8Array> {
    const wire = await incoming.read(this.#limit);
    return decodeBody(wire, incoming.header("content-encoding") ?? "", this.#limit, this.#inflate);
  }

  #checkHeaders(incoming: Incoming, payment: string): void {
    if (payment.length > MAX_PAYMENT_HEADER) throw new Refusal(431, "payment_header_too_long");
    const message = decodeHeader(payment);
    const isPayment = message?.["x402Version"] === 2 && isObject(message["payload"]) && isObject(message["accepted"]);
    if (!isPayment) throw new Refusal(400, "payment_header_malformed");
    if (Number(incoming.header("content-length") ?? 0) > this.#limit) throw new Refusal(413, "body_too_large");
  }

  async #find(payment: string): Promise<ReturnType<PaidAnswers["find"]>> {
    try {
      return await this.#answers.find(payment);
    } catch (error) {
      report("the store of paid answers failed", error);
      return null;
    }
  }

  #start(): Promise<void> {
    this.#started ??= this.#http.initialize().catch((error: unknown) => {
      this.#started = null;
      throw error;
    });
    return this.#started;
  }

  /** Return the reason not to accept payments. A failed check is repeated after a minute. */
  #problem(): Promise<PreflightError | null> {
    const trust = this.#options.preflight;
    if (!trust) return Promise.resolve(null);
    this.#checked ??= (async () => {
      const findings = await examine(trust, this.#checkedRoutes(), this.#extension?.publicKey ?? "");
      if (!findings.length) return null;
      const problem = new PreflightError(findings);
      report("requests to paid routes are rejected", problem.message);
      this.#recheckAfter = Date.now() + RECHECK_MILLISECONDS;
      return problem;
    })();
    if (Date.now() >= this.#recheckAfter) {
      this.#recheckAfter = Number.POSITIVE_INFINITY;
      this.#checked = null;
      return this.#problem();
    }
    return this.#checked;
  }

  #checkedRoutes(): CheckedRoute[] {
    return Object.entries(this.#routes).flatMap(([route, config]) => {
      const declaration = declarationOf(config);
      if (declaration === undefined) return [];
      return [config.accepts].flat().map(({ network, payTo }) => {
        return { route, network, payTo: typeof payTo === "string" ? payTo : null, declaration };
      });
    });
  }

  /** Settle the payment for an answer, then sign and store the answer. */
  async settle(run: Run, captured: Answer): Promise<Answer> {
    const { exchange, incoming, context, result } = run;
    const { cancellationDispatcher, paymentPayload, paymentRequirements, declaredExtensions, beforeHandlerSettlement } = result;
    let answer: Answer = { ...captured, headers: captured.headers.filter(([name]) => name.toLowerCase() !== OVERRIDES) };
    if (run.isDeclaring) {
      try {
        exchange.response = await this.#clientsBody(incoming, captured);
        exchange.captured = captured;
      } catch (error) {
        answer = refusalOf(error instanceof Refusal ? new Refusal(500, CODES[error.code] ?? error.code) : error);
        exchange.response = answer.body;
      }
    }
    if (answer.status >= 400) {
      const reason = { reason: "handler_failed", responseStatus: answer.status } as const;
      const canceled = await cancellationDispatcher.cancel(reason);
      const cache = headerOf(captured, "cache-control");
      const added = this.#http.createFailurePathSettlementHeaders(canceled, beforeHandlerSettlement, paymentPayload, cache);
      return this.#signSettled(exchange, withHeaders(answer, added ?? {}));
    }
    const responseHeaders = Object.fromEntries(captured.headers.map(([name, value]) => [name, value]));
    const transport = { request: context, responseHeaders };
    const settled = await this.#http.processSettlement(
      paymentPayload,
      paymentRequirements,
      declaredExtensions,
      transport,
      undefined,
      beforeHandlerSettlement,
    );
    if (!settled.success) return answerOf(settled.response);
    return this.#signSettled(exchange, withHeaders(answer, settled.headers));
  }

  /** Store an answer for a client that loses it. It never throws, because the client has already paid. */
  async keep(run: Run, answer: Answer): Promise<void> {
    const { exchange, payment, incoming } = run;
    const request = requestOf(incoming, exchange.request);
    try {
      if (payment === null) return;
      if (exchange.isSigned || exchange.isFree) await this.#answers.keep(payment, { ...answer, request, isUnsettled: false });
      else if (exchange.isUnsettled && exchange.captured) {
        await this.#answers.keep(payment, { ...exchange.captured, request, isUnsettled: true });
      }
    } catch (error) {
      report("the store of paid answers failed", error);
    }
  }

  /** The size limit for a body, in bytes. */
  get maximum(): number {
    return this.#limit;
  }

  /** Return an answer with the headers that web pages need. */
  sent(run: Run, answer: Answer): Answer {
    return this.#readable(answer, run.incoming.header("origin") ?? "", run.isDeclaring);
  }

  /** Sign an exchange that was settled before the application ran, in its settlement header. */
  async #signSettled(exchange: Exchange, answer: Answer): Promise<Answer> {
    const { settlement } = exchange;
    if (settlement === null) return answer;
    const message = decodeHeader(headerOf(answer, "payment-response"));
    const extensions = { ...(message?.["extensions"] as object | undefined) } as Record<string, unknown>;
    for (const [key, declaration] of exchange.declarations) {
      if (message === null) this.#extension?.countUnsigned("no PAYMENT-RESPONSE");
      else extensions[key] = await this.#extension?.signOrCount(declaration, settlement, exchange);
    }
    exchange.declarations.clear();
    return message === null ? answer : withHeaders(answer, { "PAYMENT-RESPONSE": encodeHeader({ ...message, extensions }) });
  }

  /** Return the bytes that the client will see. */
  async #clientsBody(incoming: Incoming, captured: Answer): Promise<Uint8Array> {
    if (isStream(headerOf(captured, "content-type") ?? "")) throw new Refusal(500, "streaming_response");
    if (captured.body.length > this.#limit) throw new Refusal(500, "response_too_large");
    if (incoming.method === "HEAD" || BODILESS.has(captured.status)) return NOTHING;
    return decodeBody(captured.body, headerOf(captured, "content-encoding") ?? "", this.#limit, this.#inflate);
  }
}

const NOTHING = new Uint8Array();
const CODES: Readonly<Record<string, string>> = { body_too_large: "response_too_large", unsupported_body: "response_not_signable" };

type Verified = Extract<Awaited<ReturnType<x402HTTPResourceServer["processHTTPRequest"]>>, { type: "payment-verified" }>;

/** One verified request. It completes exactly once, whatever the application does. */
class Run implements PaidRun {
  readonly limit: number;
  #end: Promise<Answer> | null = null;

  constructor(
    private readonly seller: Seller,
    readonly incoming: Incoming,
    readonly context: HTTPRequestContext,
    readonly exchange: Exchange,
    readonly result: Verified,
    readonly payment: string | null,
    readonly isDeclaring: boolean,
  ) {
    this.limit = isDeclaring ? seller.maximum : Number.POSITIVE_INFINITY;
  }

  refusesStream(contentType: string): boolean {
    return this.isDeclaring && isStream(contentType);
  }

  finish(captured: Answer): Promise<Answer> {
    this.#end ??= this.#finished(captured);
    return this.#end;
  }

  fail(error: unknown): Promise<Answer> {
    return this.finish(refusalOf(error));
  }

  async #finished(captured: Answer): Promise<Answer> {
    let answer: Answer;
    try {
      answer = await this.seller.settle(this, captured);
    } catch (error) {
      answer = refusalOf(error); // the facilitator failed: the payment may be settled all the same
    }
    await this.seller.keep(this, answer);
    if (this.exchange.isSettled) void this.#afterwards();
    return this.seller.sent(this, answer);
  }

  async #afterwards(): Promise<void> {
    for (const work of this.exchange.work) {
      try {
        await work();
      } catch (error) {
        report("afterSettlement failed", error);
      }
    }
  }
}

function declarationOf(route: RouteConfig): unknown {
  return route.extensions?.[REPUTATION_8004];
}

function extraOf(option: { readonly price: unknown; readonly extra?: Record<string, unknown> }): Record<string, unknown> {
  const ofToken = isObject(option.price) ? option.price["extra"] : undefined;
  return { ...(isObject(ofToken) ? ofToken : {}), ...option.extra };
}

/** Describe a request for the SDK. Each request has its own adapter object, through which hooks find the exchange. */
function contextOf(incoming: Incoming, method: string = incoming.method): HTTPRequestContext {
  const query = (): Record<string, string | string[]> => {
    const { searchParams } = new URL(incoming.url);
    return Object.fromEntries(
      [...searchParams.keys()].map((name) => {
        const values = searchParams.getAll(name);
        return [name, values.length > 1 ? values : (values[0] ?? "")];
      }),
    );
  };
  const adapter: HTTPAdapter = {
    getHeader: (name) => incoming.header(name.toLowerCase()),
    getMethod: () => method,
    getPath: () => incoming.path,
    getUrl: () => incoming.url,
    getAcceptHeader: () => incoming.header("accept") ?? "",
    getUserAgent: () => incoming.header("user-agent") ?? "",
    getQueryParams: query,
    getQueryParam: (name) => query()[name],
  };
  const paymentHeader = incoming.header("payment-signature");
  const { path } = incoming;
  return { adapter, path, method, decodedPath: decoded(path), ...(paymentHeader ? { paymentHeader } : {}) };
}

/** Decode a path as frameworks do, so that no spelling of a paid path is free. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Return the hash of a payment that can fetch its answer again: one with a secret identifier. */
function paymentOf(header: string): string | null {
  let identifier: unknown = decodeHeader(header);
  for (const name of ["extensions", "payment-identifier", "info", "id"]) {
    identifier = isObject(identifier) && Object.hasOwn(identifier, name) ? identifier[name] : undefined;
  }
  return typeof identifier === "string" && identifier.length >= MIN_IDENTIFIER ? hex(sha256(utf8(header))) : null;
}

/** Return the hash of a request: method, target and body. */
function requestOf(incoming: Incoming, body: Uint8Array): string {
  return hex(sha256(joined(...[utf8(incoming.method), utf8(incoming.target), body].map((part) => sha256(part)))));
}

function refusalOf(error: unknown): Answer {
  if (error instanceof Refusal) return jsonAnswer(error.status, { error: error.code });
  if (error instanceof DeclinedClientError) return jsonAnswer(403, { error: error.code, reason: error.shortMessage });
  report("a request failed", error);
  const isFacilitators = error instanceof Error && error.name.startsWith("Facilitator");
  return jsonAnswer(isFacilitators ? 502 : 500, { error: "payment_processing_failed" });
}

function jsonAnswer(status: number, content: unknown): Answer {
  return { status, headers: [["content-type", "application/json"]], body: utf8(JSON.stringify(content)) };
}

function answerOf(response: { status: number; headers: Record<string, string>; body?: unknown; isHtml?: boolean }): Answer {
  const { status, headers, body } = response;
  const text = typeof body === "string" ? body : JSON.stringify(body ?? {});
  return { status, headers: Object.entries(headers), body: utf8(text) };
}

function withHeaders(answer: Answer, added: Record<string, string>): Answer {
  const names = new Set(Object.keys(added).map((name) => name.toLowerCase()));
  const others = answer.headers.filter(([name]) => !names.has(name.toLowerCase()));
  return { ...answer, headers: [...others, ...Object.entries(added)] };
}

function headerOf(answer: Answer, name: string): string | null {
  const values = answer.headers.filter(([other]) => other.toLowerCase() === name).map(([, value]) => value);
  return values.length ? values.join(", ") : null;
}
