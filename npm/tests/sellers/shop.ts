/**
 * A shop on a real chain, for tests in Python: `node shop.mjs express|hono|next` with its settings as JSON in `SHOP`.
 *
 * It prints its URL, then one line for each run of a handler and each alarm.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { HTTPFacilitatorClient, x402ResourceServer } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { UptoEvmScheme } from "@x402/evm/upto/server";
import express from "express";
import { Hono } from "hono";
import { paid as paidExpress } from "../../source/x402/server/express.js";
import { paid as paidHono } from "../../source/x402/server/hono.js";
import { agent, ed25519Key, type PaidRequest, reputation, secp256k1Key, type SellerOptions } from "../../source/x402/server/index.js";
import { paid as paidNext } from "../../source/x402/server/next.js";

interface Settings {
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

const settings = JSON.parse(process.env["SHOP"] ?? "{}") as Settings;
const network = "eip155:31337";
const { registries, rpc } = settings;
const trust = { chains: [{ id: 31337, rpc, registries }] };
const me = agent({ chainId: 31337, agentId: settings.agentId, registries });

function price(scheme: string, amount: number, extra: Record<string, unknown> = {}) {
  const money = { asset: settings.token, amount: String(amount), extra: { name: "Test Dollar", version: "2", ...extra } };
  const accepts = { scheme, network, payTo: settings.payTo, price: money, maxTimeoutSeconds: 600, extra } as const;
  return { accepts: { ...accepts }, extensions: me.declaration };
}

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
const options: SellerOptions = {
  ...(settings.preflight ? { preflight: trust } : {}),
  ...(settings.minimum === undefined
    ? {}
    : { clients: { trust, server: settings.agentId, minimum: settings.minimum, anonymous: settings.anonymous ?? false } }),
};

/** Answer a request: with its own body, or with what was charged. */
function answer(path: string, charge: string | null, body: Uint8Array, paid: PaidRequest | null): { body: Uint8Array; headers: Record<string, string> } {
  console.log(`run ${path}`);
  paid?.afterSettlement(() => console.log(`settled ${paid.client?.rating ?? "unrated"}`));
  const headers: Record<string, string> = { "content-type": "application/octet-stream" };
  if (charge !== null) headers["settlement-overrides"] = JSON.stringify({ amount: charge });
  return { body: body.length ? body : new TextEncoder().encode(`snø at ${path}`), headers };
}

async function fetchAnswer(request: Request, paid: PaidRequest | null): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  const body = new Uint8Array(await request.arrayBuffer());
  const { body: bytes, headers } = answer(pathname, searchParams.get("charge"), body, paid);
  return new Response(bytes as BodyInit, { headers });
}

type Fetch = (request: Request) => Response | Promise<Response>;

function overHttp(fetch: Fetch): Parameters<typeof createServer>[1] {
  return async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const headers = new Headers();
    for (let at = 0; at < request.rawHeaders.length; at += 2) {
      headers.append(request.rawHeaders[at] ?? "", request.rawHeaders[at + 1] ?? "");
    }
    const hasBody = request.method !== "GET" && request.method !== "HEAD";
    const url = `http://${request.headers.host}${request.url}`;
    const sent = new Request(url, { method: request.method ?? "GET", headers, ...(hasBody ? { body: Buffer.concat(pieces) } : {}) });
    const answered = await fetch(sent);
    response.writeHead(answered.status, [...answered.headers].flat());
    response.end(Buffer.from(await answered.arrayBuffer()));
  };
}

const KINDS: Readonly<Record<string, () => Parameters<typeof createServer>[1]>> = {
  express() {
    const app = express();
    app.use(paidExpress(routes, server, options), express.raw({ type: () => true, limit: "2mb" }));
    app.use((request, response) => {
      const body = request.body instanceof Uint8Array ? request.body : new Uint8Array();
      const charge = typeof request.query["charge"] === "string" ? request.query["charge"] : null;
      const { body: bytes, headers } = answer(request.path, charge, body, request.bilateral ?? null);
      response.set(headers).end(bytes);
    });
    return app;
  },
  hono() {
    const app = new Hono<{ Variables: { bilateral?: PaidRequest } }>();
    app.use(paidHono(routes, server, options) as never);
    app.all("*", (c) => fetchAnswer(c.req.raw, c.get("bilateral") ?? null));
    return overHttp((request) => app.fetch(request));
  },
  next() {
    const handlers = Object.fromEntries(
      Object.entries(routes).map(([name, route]) => [
        name.slice(2),
        paidNext((request: Request) => fetchAnswer(request, null), route, server, options),
      ]),
    );
    const missing = (): Response => new Response(null, { status: 404 });
    return overHttp((request) => (handlers[new URL(request.url).pathname] ?? missing)(request));
  },
};

const http = createServer(KINDS[process.argv[2] ?? ""]?.());
http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}`));
