/** The parts of shops for tests in Python that every runtime has. */
import { HTTPFacilitatorClient, x402ResourceServer } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { UptoEvmScheme } from "@x402/evm/upto/server";
import { Hono } from "hono";
import { paid as paidHono } from "../../source/x402/server/hono.js";
import { agent, ed25519Key, type PaidRequest, reputation, secp256k1Key, type SellerOptions } from "../../source/x402/server/index.js";
import type { Routes } from "../../source/x402/server/index.js";

/** The settings of a shop. */
export interface Settings {
  readonly facilitator: string;
  readonly rpc: string;
  readonly token: string;
  readonly payTo: string;
  readonly agentId: number;
  readonly registries: { readonly IdentityRegistry: string; readonly ReputationRegistry: string };
  readonly key: string;
  readonly algorithm: string;
  readonly minimum?: number;
  readonly anonymous?: boolean;
  readonly preflight?: boolean;
}

/** The routes of a shop, the SDK's server, and the seller's options. */
export function partsOf(settings: Settings): { routes: Routes; server: x402ResourceServer; options: SellerOptions } {
  const network = "eip155:31337";
  const { registries, rpc } = settings;
  const trust = { chains: [{ id: 31337, rpc, registries }] };
  const me = agent({ chainId: 31337, agentId: settings.agentId, registries });
  const price = (scheme: string, amount: number, extra: Record<string, unknown> = {}): Routes[string] => {
    const money = { asset: settings.token, amount: String(amount), extra: { name: "Test Dollar", version: "2", ...extra } };
    return { accepts: { scheme, network, payTo: settings.payTo, price: money, maxTimeoutSeconds: 600, extra }, extensions: me.declaration };
  };
  const routes = {
    "* /eip3009": price("exact", 1000),
    "* /exact": price("exact", 1000, { assetTransferMethod: "permit2" }),
    "* /metered": price("upto", 5000),
    "* /upfront": price("exact", 1000, { paymentFlow: "upfront" }),
  };
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: settings.facilitator }));
  server.register(network, new ExactEvmScheme()).register(network, new UptoEvmScheme());
  const key = settings.algorithm === "ed25519" ? ed25519Key(settings.key) : secp256k1Key(settings.key);
  server.registerExtension(reputation({ key, trust, onUnsigned: (problem) => console.log(`unsigned ${problem}`) }));
  const { minimum, anonymous = false } = settings;
  const options = {
    ...(settings.preflight ? { preflight: trust } : {}),
    ...(minimum === undefined ? {} : { clients: { trust, server: settings.agentId, minimum, anonymous } }),
  };
  return { routes, server, options };
}

/** Answer a request: with its own body, or with what was charged. */
export function answer(path: string, charge: string | null, body: Uint8Array, paid: PaidRequest | null): { body: Uint8Array; headers: Record<string, string> } {
  console.log(`run ${path}`);
  paid?.afterSettlement(() => console.log(`settled ${paid.client?.rating ?? "unrated"}`));
  const headers: Record<string, string> = { "content-type": "application/octet-stream" };
  if (charge !== null) headers["settlement-overrides"] = JSON.stringify({ amount: charge });
  return { body: body.length ? body : new TextEncoder().encode(`snø at ${path}`), headers };
}

/** Answer a request of the web's kind. */
export async function fetchAnswer(request: Request, paid: PaidRequest | null): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  const body = new Uint8Array(await request.arrayBuffer());
  const { body: bytes, headers } = answer(pathname, searchParams.get("charge"), body, paid);
  return new Response(bytes as BodyInit, { headers });
}

/** Return a shop of Hono. */
export function honoApp(settings: Settings): Hono {
  const { routes, server, options } = partsOf(settings);
  const app = new Hono<{ Variables: { bilateral?: PaidRequest } }>();
  app.use(paidHono(routes, server, options) as never);
  app.all("*", (c) => fetchAnswer(c.req.raw, c.get("bilateral") ?? null));
  return app as unknown as Hono;
}
