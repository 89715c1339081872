/** Sell with route handlers in Next's App Router. */
import type { RouteConfig, x402ResourceServer } from "@x402/core/server";
import { type FetchHandler, sellerOf } from "./fetch.js";
import type { SellerOptions } from "./seller.js";

/** A paid route handler, and a way to run its checks at start-up. */
export type PaidHandler<Rest extends unknown[]> = ((request: Request, ...rest: Rest) => Promise<Response>) & {
  ready(): Promise<void>;
};

/**
 * Sell a route handler's answers.
 *
 * ```ts
 * export const GET = paid(weather, route, server);
 * export const OPTIONS = GET; // answers web pages' preflight requests
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
