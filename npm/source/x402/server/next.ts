/** Sell by route handlers of Next's App Router. */
import type { RouteConfig, x402ResourceServer } from "@x402/core/server";
import { type FetchHandler, sellerOf } from "./fetch.js";
import type { SellerOptions } from "./seller.js";

/** A route handler that is paid, and a way to make its checks at start. */
export type PaidHandler<Rest extends unknown[]> = ((request: Request, ...rest: Rest) => Promise<Response>) & {
  ready(): Promise<void>;
};

/**
 * Sell what a route handler answers.
 *
 * ```ts
 * export const GET = paid(weather, route, server);
 * export const OPTIONS = GET; // answers the preflights of pages
 * ```
 *
 * @param handler The handler of one method.
 * @param route The price, and the agent's declaration.
 * @param server The SDK's resource server, with the extension.
 * @param options The settings.
 */
export function paid<Rest extends unknown[]>(
  handler: FetchHandler<Rest>,
  route: RouteConfig,
  server: x402ResourceServer,
  options: SellerOptions = {},
): PaidHandler<Rest> {
  const seller = sellerOf({ "*": route }, server, options);
  const serve = (request: Request, ...rest: Rest): Promise<Response> =>
    seller.serve(request, (sent) => handler(sent, ...rest));
  return Object.assign(serve, { ready: () => seller.ready() });
}
