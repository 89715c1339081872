/**
 * Sell through x402: sign the bytes sent, run a handler once per payment, and serve good clients.
 *
 * ```ts
 * const me = agent({ chainId: 8453, agentId: 247n });
 * server.registerExtension(reputation({ key: keyFromEnv("BILATERAL_X402_KEY") }));
 * app.use(paid({ "GET /weather": { accepts, extensions: me.declaration } }, server)); // of bilateral/x402/express
 * ```
 */
export { DeclinedClientError, type ClientCode, type ClientTerms } from "./clients.js";
export type { CorsPolicy } from "./cors.js";
export { agent, type AgentOptions, type SellingAgent } from "./declaration.js";
export type { PaidRequest, VerifiedClient } from "./exchange.js";
export { reputation, type ReputationExtension, type ReputationOptions } from "./extension.js";
export { sellerOf, type FetchHandler, type FetchSeller } from "./fetch.js";
export { accountKey, ed25519Key, keyFromEnv, remoteKey, secp256k1Key, type RemoteKeyOptions, type SigningKey } from "./keys.js";
export { PreflightError, type Finding } from "./preflight.js";
export type { Routes, SellerOptions } from "./seller.js";
export {
  memoryAnswers,
  memoryReservations,
  type Answer,
  type MaybePromise,
  type PaidAnswer,
  type PaidAnswers,
  type Reservations,
} from "./stores.js";
