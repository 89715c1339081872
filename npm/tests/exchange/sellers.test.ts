/** Buyers in TypeScript at sellers in TypeScript: verified answers, lost answers, tools of models. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { HTTPFacilitatorClient, x402ResourceServer } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import express from "express";
import { Hono } from "hono";
import { beforeAll, describe, expect, test } from "vitest";
import { LostAnswerError, verificationOf } from "../../source/x402/index.js";
import { paid as paidExpress } from "../../source/x402/server/express.js";
import { paid as paidHono } from "../../source/x402/server/hono.js";
import { agent, reputation, secp256k1Key } from "../../source/x402/server/index.js";
import { paid as paidNext } from "../../source/x402/server/next.js";
import { paidTool } from "../../source/x402/tool.js";
import { buyerOf, fundedKey, world } from "./market.js";

const key = await fundedKey();
const network = `eip155:${world.chainId}` as const;
const price = { asset: world.token, amount: "1000", extra: { name: "Test Dollar", version: "2" } };
const me = agent({ chainId: world.chainId, agentId: world.agent, registries: world.registries });
const route = { accepts: { scheme: "exact", network, payTo: world.seller, price }, extensions: me.declaration } as const;

function resourceServer(): x402ResourceServer {
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: world.facilitator }));
  return server.register(network, new ExactEvmScheme()).registerExtension(reputation({ key: secp256k1Key(world.signingKey) }));
}

type Run = () => object;

/** The sellers of each framework, as a function of web requests. */
const FRAMEWORKS: Record<string, (run: Run) => (request: Request) => Promise<Response>> = {
  express(run) {
    const app = express().use(paidExpress({ "GET /tide": route }, resourceServer()));
    app.get("/tide", (_, response) => void response.json(run()));
    const http = createServer(app).unref();
    const listening = new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    return async (request) => {
      await listening;
      const url = new URL(request.url);
      url.port = String((http.address() as AddressInfo).port);
      return fetch(new Request(url, request));
    };
  },
  hono(run) {
    const app = new Hono().use(paidHono({ "GET /tide": route }, resourceServer()) as never);
    app.get("/tide", (context) => context.json(run()));
    return async (request) => app.fetch(request);
  },
  next(run) {
    return paidNext(() => Response.json(run()), route, resourceServer()) as (request: Request) => Promise<Response>;
  },
};

describe.each(Object.keys(FRAMEWORKS))("a seller of %s", (name) => {
  let runs = 0;
  let losses = 0;
  let serve: (request: Request) => Promise<Response>;
  beforeAll(() => {
    serve = FRAMEWORKS[name]!(() => ({ tide: "high", run: ++runs }));
  });

  /** A `fetch` that loses as many paid answers as it is told, after the seller has settled them. */
  const lossy: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const response = await serve(request);
    if (!request.headers.has("payment-signature") || losses === 0) return response;
    losses--;
    await response.arrayBuffer();
    throw new TypeError("fetch failed");
  };

  test("sells an answer whose proof passes every check", async () => {
    const response = await buyerOf(key, { fetch: lossy }).buy("http://127.0.0.1/tide");
    expect(await response.json()).toEqual({ tide: "high", run: runs });
    expect(verificationOf(response)?.problems).toEqual([]);
    expect(verificationOf(response)?.isVerified).toBe(true);
  });

  test("keeps an answer that is lost, and again() fetches it without a further payment", async () => {
    const { buy, signatures } = buyerOf(key, { fetch: lossy });
    const before = runs;
    losses = 1;
    const lost = await buy("http://127.0.0.1/tide").catch((error: unknown) => error);
    expect(lost).toBeInstanceOf(LostAnswerError);
    if (!(lost instanceof LostAnswerError)) return;
    expect(lost.outcome).toBe("settled");
    const response = await buy(lost.again());
    expect(await response.json()).toEqual({ tide: "high", run: before + 1 });
    expect(verificationOf(response)?.isVerified).toBe(true);
    expect([runs, signatures()]).toEqual([before + 1, 1]);
  });

  test("sells to a tool of a model, which reads its answer as untrusted and asks again for a lost one", async () => {
    const { buy, signatures } = buyerOf(key, { fetch: lossy });
    const { execute } = paidTool(buy, { origins: ["http://127.0.0.1"], characters: 9 });
    losses = 1;
    const lost = await execute({ url: "http://127.0.0.1/tide" });
    expect([lost.error?.code, lost.status, lost.isVerified]).toEqual(["paid_not_answered", null, false]);
    const again = await execute({ url: "http://127.0.0.1/tide" });
    expect(again).toEqual({
      status: 200,
      agent: `eip155:${world.chainId}:${world.registries.IdentityRegistry}#${world.agent}`,
      isVerified: true,
      paid: "1000",
      problems: [],
      error: null,
      untrusted: { body: '{"tide":"', isCut: true },
    });
    expect(signatures()).toBe(1);
  });
});

test.each([
  [{ url: "http://127.0.0.1:9/elsewhere" }],
  [{ url: "no URL" }],
  [{ url: "http://127.0.0.1/tide", method: "DELETE" as "GET" }],
  [{ url: "http://127.0.0.1/tide", body: "{}" }],
])("a tool refuses %j before anything is sent", async (input) => {
  const { execute } = paidTool(() => Promise.reject(new Error("nothing may be sent")), { origins: ["http://127.0.0.1"] });
  expect((await execute(input)).error?.code).toBe("invalid_argument");
});
