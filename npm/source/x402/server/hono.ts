/** Sell with Hono. It runs in Node, Deno, Bun, workerd and browsers' service workers. */
import type { x402ResourceServer } from "@x402/core/server";
import type { Context, MiddlewareHandler } from "hono";
import type { PaidRequest } from "./exchange.js";
import { sellerOf } from "./fetch.js";
import type { Routes, SellerOptions } from "./seller.js";

/** The Hono context variable with the paid request, read with `c.get("bilateral")`. */
export interface PaidVariables {
  bilateral: PaidRequest;
}

/** The middleware, and a way to run its checks at start-up. */
export type PaidMiddleware = MiddlewareHandler<{ Variables: PaidVariables }> & { ready(): Promise<void> };

/**
 * Return a middleware that sells routes. Nothing may read a request's body before this middleware.
 *
 * @param routes The paid routes.
 * @param server The SDK's resource server, with the extension.
 * @param options The settings.
 */
export function paid(routes: Routes, server: x402ResourceServer, options: SellerOptions = {}): PaidMiddleware {
  const seller = sellerOf(routes, server, options);
  const middleware = async (c: Context<{ Variables: PaidVariables }>, next: () => Promise<void>): Promise<void> => {
    const answer = await seller.serve(c.req.raw, async (_request, paidRequest) => {
      if (paidRequest) c.set("bilateral", paidRequest);
      await next();
      return c.res;
    });
    if (answer === c.res) return;
    Reflect.set(c, "res", undefined); // or Hono adds the headers of the application's answer again
    c.res = answer;
  };
  return Object.assign(middleware, { ready: () => seller.ready() }) as PaidMiddleware;
}
