/** Sellers for handlers that take a `Request` and return a `Response`: Deno, Bun, Workers, Next and others. */
import type { x402ResourceServer } from "@x402/core/server";
import { readAll } from "../limits.js";
import { Refusal } from "./bodies.js";
import type { PaidRequest } from "./exchange.js";
import { Seller, type Incoming, type PaidRun, type Routes, type SellerOptions } from "./seller.js";
import type { Answer } from "./stores.js";
import { AnswerLimitError } from "../errors.js";

/** A web-standard handler. Its further arguments come from the framework. */
export type FetchHandler<Rest extends unknown[] = []> = (request: Request, ...rest: Rest) => Response | Promise<Response>;

/** Sells handlers' answers. */
export interface FetchSeller {
  /** Answer a request: request a payment, run the handler, settle and sign. Unpaid routes only run the handler. */
  serve(request: Request, handler: (request: Request, paid: PaidRequest | null) => Response | Promise<Response>): Promise<Response>;
  /** Query what the facilitator supports, and run the checks before the first payment. */
  ready(): Promise<void>;
}

/**
 * Sell with web-standard handlers.
 *
 * @param routes The paid routes.
 * @param server The SDK's resource server, with the extension.
 * @param options The settings.
 */
export function sellerOf(routes: Routes, server: x402ResourceServer, options: SellerOptions = {}): FetchSeller {
  const seller = new Seller(routes, server, options);
  return {
    ready: () => seller.ready(),
    async serve(request, handler) {
      const decision = await seller.begin(incomingOf(request));
      if (decision.type === "pass") return handler(request, null);
      if (decision.type === "answer") return responseOf(decision.answer, request.method);
      const { paid } = decision;
      let answer: Answer;
      try {
        answer = await captured(await handler(request, paid.exchange), paid, request.method);
      } catch (error) {
        return responseOf(await paid.fail(error), request.method);
      }
      return responseOf(await paid.finish(answer), request.method);
    },
  };
}

/** Describe a request. Its body is read from a clone, so that the application can read it too. */
export function incomingOf(request: Request): Incoming {
  const target = request.url.slice(request.url.indexOf("/", request.url.indexOf("://") + 3)).split("#")[0] ?? "/";
  return {
    method: request.method,
    url: request.url,
    path: target.split("?")[0] ?? "/",
    target,
    header: (name) => request.headers.get(name) ?? undefined,
    async read(limit) {
      if (!request.body && !request.bodyUsed) return new Uint8Array();
      if (request.bodyUsed) throw new Refusal(500, "body_read_before");
      try {
        return await readAll(new Response(request.clone().body), limit);
      } catch (error) {
        throw error instanceof AnswerLimitError ? new Refusal(413, "body_too_large") : new Refusal(400, "client_disconnected");
      }
    },
  };
}

/** Read an application's answer. A stream is stopped at its first byte. */
export async function captured(response: Response, paid: PaidRun, method: string): Promise<Answer> {
  if (paid.refusesStream(response.headers.get("content-type") ?? "")) {
    await response.body?.cancel().catch(() => undefined);
    throw new Refusal(500, "streaming_response");
  }
  const headers = [...response.headers];
  if (method === "HEAD") return { status: response.status, headers, body: new Uint8Array() };
  try {
    return { status: response.status, headers, body: await readAll(response, paid.limit) };
  } catch (error) {
    throw error instanceof AnswerLimitError ? new Refusal(500, "response_too_large") : error;
  }
}

/** Return an answer as a response. */
export function responseOf(answer: Answer, method: string): Response {
  const { status } = answer;
  const headers = new Headers();
  const hasBody = method !== "HEAD" && status !== 204 && status !== 304;
  for (const [name, value] of answer.headers) {
    if (!hasBody || name.toLowerCase() !== "content-length") headers.append(name, value);
  }
  return new Response(hasBody ? (answer.body as BodyInit) : null, { status, headers });
}
