import { afterEach, describe, expect, test } from "vitest";
import { decodePaymentSignatureHeader, encodePaymentSignatureHeader } from "@x402/core/http";
import { privateKeyToAccount } from "viem/accounts";
import { bytesOf, hex } from "../../source/x402/proof/bytes.js";
import type { TrustTerms } from "../../source/x402/proof/chains.js";
import type { Provider } from "../../source/x402/proof/node.js";
import { selector } from "../../source/x402/proof/node.js";
import { sellerOf } from "../../source/x402/server/index.js";
import { paid } from "../../source/x402/server/next.js";
import { x402ResourceServer } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { reputation } from "../../source/x402/server/index.js";
import { buyer, expectProof, expressShop, Facilitator, KEY, me, NETWORK, PAYEE, payment, price, type Shop } from "./world.js";

const SECRET = `0x${"05".repeat(32)}` as const;
const PAYER = privateKeyToAccount(SECRET).address;
const registries = { IdentityRegistry: `0x${"11".repeat(20)}`, ReputationRegistry: `0x${"22".repeat(20)}` };
const word = (value: bigint | string): string => hex(bytesOf(BigInt(value), 32));
const nameOf = (data: string): string =>
  ["ownerOf(uint256)", "getAgentWallet(uint256)", "getClientRating(uint256,uint256)", "getIdentityRegistry()", "tokenURI(uint256)"].find(
    (view) => data.startsWith(`0x${selector(view)}`),
  ) ?? data;

/** Return chains whose node answers what a test says. */
function trust(answers: Record<string, string>): TrustTerms {
  const rpc: Provider = {
    async request({ params }) {
      const [call] = params as [{ data: string }];
      const answer = answers[nameOf(call.data)];
      if (answer === undefined) throw new Error("down");
      return `0x${answer}`;
    },
  };
  return { chains: [{ id: 31337, rpc, registries }] };
}

let shop: Shop | undefined;
afterEach(async () => {
  await shop?.close();
  shop = undefined;
});

const CLAIM = { clientAgentRegistry: `eip155:31337:${registries.IdentityRegistry}`, clientAgentId: "9" };

describe("clients", () => {
  const rated = (rating: bigint | null): Record<string, string> => ({
    "ownerOf(uint256)": word(PAYER),
    "getAgentWallet(uint256)": word(0n),
    "getClientRating(uint256,uint256)": word(rating === null ? 0n : 1n) + word(rating ?? 0n),
  });
  const other = { ...rated(90n), "ownerOf(uint256)": word(7n) };

  test.each([
    ["rated well", rated(70n), {}, CLAIM, 200, undefined],
    ["rated badly", rated(69n), {}, CLAIM, 403, "low_rating"],
    ["a newcomer", rated(null), {}, CLAIM, 200, undefined],
    ["a newcomer, for strict servers", rated(null), { newcomers: false }, CLAIM, 403, "unrated_client"],
    ["anonymous", rated(90n), {}, {}, 403, "anonymous_client"],
    ["anonymous, for open servers", rated(90n), { anonymous: true }, {}, 200, undefined],
    ["another", other, { anonymous: true }, CLAIM, 403, "not_the_client_agent"],
    ["of a node that is down", {}, { anonymous: true }, CLAIM, 403, "cannot_check"],
  ] as const)("%s", async (_name, answers, terms, claim, status, code) => {
    const served: unknown[] = [];
    const clients = { trust: trust(answers), server: 7n, minimum: 70, ...terms };
    shop = await expressShop((app) => {
      app.get("/paid/weather", (request, response) => {
        served.push(request.bilateral?.client?.rating ?? null);
        request.bilateral?.afterSettlement(() => served.push("settled"));
        response.send("snow");
      });
    }, { clients });
    const payload = decodePaymentSignatureHeader(await payment(`${shop.url}/paid/weather`, {}, "", buyer(SECRET)));
    payload.extensions = { "8004-reputation": { info: claim } };
    const headers = { "payment-signature": encodePaymentSignatureHeader(payload) };
    const response = await fetch(`${shop.url}/paid/weather`, { headers });
    expect(response.status).toBe(status);
    if (code) expect(((await response.json()) as { error: string }).error).toBe(code);
    expect(served.includes("settled")).toBe(status === 200);
    expect(shop.facilitator.settled).toBe(status === 200 ? 1 : 0);
  });

  test("declined client pays nothing where payments are settled before the handler runs", async () => {
    shop = await expressShop((app) => void app.get("/upfront", (_request, response) => void response.send("snow")), {
      clients: { trust: trust(rated(69n)), server: 7n, minimum: 70 },
    });
    const payload = decodePaymentSignatureHeader(await payment(`${shop.url}/upfront`, {}, "", buyer(SECRET)));
    payload.extensions = { "8004-reputation": { info: CLAIM } };
    const headers = { "payment-signature": encodePaymentSignatureHeader(payload) };
    const response = await fetch(`${shop.url}/upfront`, { headers });
    expect([response.status, shop.facilitator.settled]).toEqual([403, 0]);
  });

  test("declined client keeps its authorization", async () => {
    const answers = rated(69n);
    shop = await expressShop((app) => void app.get("/paid/weather", (_request, response) => void response.send("snow")), {
      clients: { trust: trust(answers), server: 7n, minimum: 70 },
    });
    const payload = decodePaymentSignatureHeader(await payment(`${shop.url}/paid/weather`, {}, "", buyer(SECRET)));
    payload.extensions = { "8004-reputation": { info: CLAIM } };
    const headers = { "payment-signature": encodePaymentSignatureHeader(payload) };
    expect((await fetch(`${shop.url}/paid/weather`, { headers })).status).toBe(403);
    answers["getClientRating(uint256,uint256)"] = word(1n) + word(80n);
    expect((await fetch(`${shop.url}/paid/weather`, { headers })).status).toBe(200);
  });
});

describe("preflight", () => {
  const uri = (key: string): string => {
    const signers = [{ publicKey: key, algorithm: "ed25519", role: "delegate", validFrom: 0, validUntil: null }];
    const registrations = [{ agentId: 7, agentRegistry: `eip155:31337:${registries.IdentityRegistry}` }];
    const file = { type: "https://eips.ethereum.org/EIPS/eip-8004#registration-v1", name: "a", description: "b", registrations, signers };
    const text = `data:application/json;base64,${btoa(JSON.stringify(file))}`;
    const bytes = hex(new TextEncoder().encode(text));
    return word(32n) + word(BigInt(text.length)) + bytes.padEnd(Math.ceil(bytes.length / 64) * 64, "0");
  };
  const good = {
    "getAgentWallet(uint256)": word(PAYEE),
    "getIdentityRegistry()": word(registries.IdentityRegistry),
    "tokenURI(uint256)": uri(KEY.publicKey),
  };

  function seller(answers: Record<string, string>) {
    const server = new x402ResourceServer(new Facilitator()).register(NETWORK, new ExactEvmScheme());
    server.registerExtension(reputation({ key: KEY }));
    return sellerOf({ "GET /weather": price() }, server, { preflight: trust(answers) });
  }

  test("of a right setting passes", async () => {
    await expect(seller(good).ready()).resolves.toBeUndefined();
  });

  test.each([
    ["another wallet", { ...good, "getAgentWallet(uint256)": word(5n) }, "payment_address_mismatch"],
    ["another identity registry", { ...good, "getIdentityRegistry()": word(5n) }, "registry_mismatch"],
    ["another key", { ...good, "tokenURI(uint256)": uri("08".repeat(32)) }, "key_not_listed"],
    ["a node that is down", {}, "cannot_check"],
  ])("of %s fails, and paid requests get 503", async (_name, answers, code) => {
    const shop = seller(answers);
    const error = await shop.ready().then(() => null, (reason: unknown) => reason as { findings: { code: string }[] });
    expect(error?.findings.map((finding) => finding.code)).toContain(code);
    const response = await shop.serve(new Request("http://shop.example/weather"), () => new Response("snow"));
    expect([response.status, await response.json()]).toEqual([503, { error: "preflight" }]);
    expect(await (await shop.serve(new Request("http://shop.example/free"), () => new Response("snow"))).text()).toBe("snow");
  });
});

test("route handler of Next is paid, signed, and answers preflights", async () => {
  const server = new x402ResourceServer(new Facilitator()).register(NETWORK, new ExactEvmScheme());
  server.registerExtension(reputation({ key: KEY }));
  const handler = async (request: Request, context: { params: { city: string } }): Promise<Response> =>
    Response.json({ city: context.params.city, sent: await request.text() });
  const POST = paid(handler, price("exact", {}, me.declaration), server);
  const ask = (headers: Record<string, string>, method = "POST"): Promise<Response> =>
    POST(new Request("http://shop.example/weather/Oslo?a=1", { method, headers, ...(method === "POST" ? { body: "{}" } : {}) }), { params: { city: "Oslo" } });
  const unpaid = await ask({});
  expect(unpaid.status).toBe(402);
  const payload = await buyer().createPaymentPayload(JSON.parse(atob(unpaid.headers.get("payment-required") ?? "")));
  const response = await ask({ "payment-signature": encodePaymentSignatureHeader(payload), "content-type": "application/json" });
  const body = await response.text();
  expect([response.status, body]).toEqual([200, '{"city":"Oslo","sent":"{}"}']);
  await expectProof(response, body, "{}");
  const preflight = await ask({ origin: "https://shop.example", "access-control-request-method": "POST" }, "OPTIONS");
  expect([preflight.status, preflight.headers.get("access-control-allow-methods")]).toEqual([204, "POST"]);
});

test("facilitator that is down at start is asked again", async () => {
  const facilitator = new Facilitator();
  const { getSupported } = facilitator;
  facilitator.getSupported = () => Promise.reject(new Error("down"));
  const server = new x402ResourceServer(facilitator).register(NETWORK, new ExactEvmScheme());
  server.registerExtension(reputation({ key: KEY }));
  const shop = sellerOf({ "GET /weather": price() }, server);
  const ask = (): Promise<Response> => shop.serve(new Request("http://shop.example/weather"), () => new Response("snow"));
  const down = await ask();
  expect([down.status, await down.json()]).toEqual([503, { error: "facilitator_unavailable" }]);
  facilitator.getSupported = getSupported;
  expect((await ask()).status).toBe(402);
});
