/** One HTTP exchange: the header that pays, the price, and the kind of answer. */
import type { PaymentRequired } from "@x402/core/types";
import { asText, quoted, TrustError, type SentRequest } from "../errors.js";
import { readAll, unlessAborted } from "../limits.js";
import { base64, utf8 } from "../proof/bytes.js";
import { decodeHeader, MAX_HEADER } from "../proof/headers.js";
import { isObject, type JsonObject } from "../proof/json.js";

/** The header with a payment. */
export const PAYMENT = "payment-signature";

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
const REPEATED: readonly number[] = [408, 409, 425, 429];
const UNFINISHED: readonly number[] = [408, 425, 499];

/** A request whose body has been read, so that it can be sent twice. */
export interface Call extends SentRequest {
  /** Platform settings, such as `credentials`. */
  readonly settings: RequestInit;
  /** The header that pays; null before a payment is signed. */
  readonly payment: string | null;
  /** The payment, decoded; null if it cannot be read. */
  readonly decoded: JsonObject | null;
}

/** A complete answer. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
  readonly response: Response;
  /** The address of a redirect; null if the platform hides it; undefined if there is no redirect. */
  readonly location: string | null | undefined;
  /** `PAYMENT-RESPONSE`, decoded; null if it is missing or malformed. */
  readonly settlement: JsonObject | null;
}

/**
 * Read a request once, before anything is sent.
 *
 * @param input The URL or the request.
 * @param init As for `fetch`.
 */
export async function callOf(input: RequestInfo | URL, init?: RequestInit): Promise<Call> {
  const request = new Request(input, init);
  const body = request.body === null ? new Uint8Array() : new Uint8Array(await request.arrayBuffer());
  const headers = Object.fromEntries(request.headers);
  const payment = headers[PAYMENT] ?? null;
  delete headers[PAYMENT];
  const signal = init?.signal ?? (input instanceof Request ? input.signal : null); // `request.signal` always exists
  const settings: RequestInit = { signal };
  if ("credentials" in Request.prototype) settings.credentials = request.credentials;
  if ("mode" in Request.prototype && request.mode !== "navigate") settings.mode = request.mode;
  return { method: request.method, url: request.url, headers, body, payment, decoded: decodeHeader(payment), settings };
}

/**
 * Send a call.
 *
 * @param fetch The function that sends requests.
 * @param call The call. With a payment, no redirect is followed and nothing is cached.
 * @param signal Aborts the call.
 */
export async function sent(fetch: typeof globalThis.fetch, call: Call, signal: AbortSignal): Promise<Response> {
  const { method, url, body, payment, settings } = call;
  const headers = new Headers(call.headers);
  if (payment !== null) headers.set(PAYMENT, payment);
  const answer = fetch(url, {
    ...settings,
    method,
    headers,
    signal,
    ...(body.length ? { body: body.slice() } : {}),
    ...(payment === null ? {} : { redirect: "manual" as const }),
    ...(canSkipCaches() ? { cache: "no-store" as const } : {}),
  });
  return unlessAborted(answer, signal);
}

let canSkip: boolean | undefined;

/** Return whether the platform accepts `cache`. Some throw an error, which must happen before anything is signed. */
function canSkipCaches(): boolean {
  if (canSkip === undefined) {
    try {
      canSkip = new Request("https://localhost/", { cache: "no-store" }).cache === "no-store";
    } catch {
      canSkip = false;
    }
  }
  return canSkip;
}

/** Return a call that pays. Its payment is read as the header has it, without the strictness that strangers need. */
export function paidCall(call: Call, payment: unknown): Call {
  const text = JSON.stringify(payment);
  return { ...call, payment: base64(utf8(text)), decoded: JSON.parse(text) };
}

/**
 * Read the body of a price in the background, so that the payment can use the same connection.
 *
 * @returns The function that ends this: the payment does not wait for a body that is slow or long.
 */
export function drain(response: Response): () => void {
  const reader = response.body?.getReader();
  const read = async (): Promise<void> => {
    for (let size = 0; reader && size < MAX_HEADER; ) {
      const { done, value } = await reader.read();
      if (done) return;
      size += value.length;
    }
  };
  read().catch(() => undefined);
  return () => void reader?.cancel().catch(() => undefined);
}

/** Return a call's request as sent. */
export function sentRequest(call: Call): SentRequest {
  const { method, url, headers, body, payment } = call;
  return { method, url, headers: payment === null ? headers : { ...headers, [PAYMENT]: payment }, body };
}

/**
 * Read a price strictly. The SDK would accept duplicate names, any length and any version.
 *
 * @throws {TrustError} The price cannot be read.
 */
export function priceOf(response: Response): PaymentRequired {
  const header = response.headers.get("payment-required");
  const message = decodeHeader(header);
  if (message === null) throw new TrustError("invalid_declaration", ["header", header === null ? 0 : MAX_HEADER]);
  const version = message["x402Version"];
  if (version !== 2) throw new TrustError("invalid_declaration", ["x402Version", asText(version).slice(0, 40)]);
  const { accepts, extensions, resource } = message;
  const isOffer = Array.isArray(accepts) && accepts.length > 0 && accepts.every(isPrice);
  const isExtended = extensions == null || isObject(extensions);
  if (!isOffer || !isExtended || !(resource === undefined || isObject(resource))) {
    throw new TrustError("invalid_declaration", ["offer"]);
  }
  if (extensions === null) delete message["extensions"];
  try {
    JSON.stringify(message);
  } catch {
    // The payment echoes the price. Rounded, a number would not be the server's any more.
    throw new TrustError("invalid_declaration", ["integer"]);
  }
  return message as unknown as PaymentRequired;
}

function isPrice(price: unknown): boolean {
  if (!isObject(price)) return false;
  const isText = ["scheme", "network", "asset", "amount", "payTo"].every((name) => typeof price[name] === "string");
  const { maxTimeoutSeconds: seconds, extra } = price;
  const isTimed = typeof seconds === "number" && Number.isSafeInteger(seconds) && seconds > 0;
  return isText && isTimed && (extra == null || isObject(extra));
}

/** Read a complete paid answer. */
export async function replyOf(response: Response, limit: number, signal: AbortSignal): Promise<Reply> {
  const { status, headers } = response;
  const isHidden = response.type === "opaqueredirect";
  const target = REDIRECTS.includes(status) ? (headers.get("location") ?? undefined) : undefined;
  const body = isHidden ? new Uint8Array() : await readAll(response, limit, signal);
  const settlement = decodeHeader(headers.get("payment-response") ?? headers.get("x-payment-response"));
  return { status, headers, body, response, location: isHidden ? null : target, settlement };
}

/** Return whether a reply is an answer, or an error after a payment that was settled before the application ran. */
export function isDelivery({ status, location, settlement }: Reply): boolean {
  return location === undefined && (status < 400 || (settlement?.["success"] === true && status !== 402));
}

/** Return whether SDKs send the request again after this status. */
export function isRepeated({ status }: Reply): boolean {
  return REPEATED.includes(status) || status >= 500;
}

/** Return whether a server may still settle a payment after an error with this status. */
export function isUnfinished(status: number): boolean {
  return UNFINISHED.includes(status) || status >= 500;
}

/** Return the complete answer as a platform response. */
export function responseOf({ status, headers, body, response }: Reply): Response {
  const hasBody = body.length > 0 && ![101, 204, 205, 304].includes(status);
  const { statusText } = response;
  return new Response(hasBody ? body.slice() : null, { status, statusText, headers });
}

/** Return a URL for messages. */
export function shownUrl(url: string): string {
  return quoted(url.slice(0, 200));
}

/** Return an error's message together with its cause's message, which platforms hide. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message ? `${error.message} (${cause.message})` : error.message;
}
