import { afterEach, describe, expect, test, vi } from "vitest";
import { inspect } from "node:util";
import { decodePaymentSignatureHeader, encodePaymentSignatureHeader } from "@x402/core/http";
import { privateKeyToAccount } from "viem/accounts";
import { accountKey, agent, ed25519Key, keyFromEnv, memoryReservations, remoteKey, secp256k1Key } from "../../source/x402/server/index.js";
import { encodeHeader } from "../../source/x402/proof/headers.js";
import { isSignatureOf } from "../../source/x402/proof/keys.js";
import { PROFILE_8004 } from "../../source/x402/proof/messages.js";
import { checkKey } from "../../source/x402/server/keys.js";
import { expectProof, expressShop, honoShop, KEY, pay, payment, price, refusal, type Shop } from "./world.js";

let shop: Shop | undefined;
afterEach(async () => {
  await shop?.close();
  shop = undefined;
  vi.restoreAllMocks();
});

const IDENTIFIER = "a-secret-of-16-or-more";

/** Open a shop that counts the runs of its handler. */
async function counting(kind: typeof expressShop | typeof honoShop, settings: Parameters<typeof expressShop>[1] = {}) {
  const runs: string[] = [];
  const open = kind as (serve: (app: never) => void, settings: object) => Promise<Shop>;
  const opened = await open((app: never) => {
    const serve = (path: string, answer: (amount: string | undefined) => [string, Record<string, string>]): void => {
      const routes = app as { get(path: string, handler: (...args: never[]) => unknown): void };
      routes.get(path, ((first: { req?: { query(name: string): string | undefined }; query?: { charge?: string } }, response: unknown) => {
        runs.push(path);
        const amount = first.req ? first.req.query("charge") : first.query?.charge;
        const [text, headers] = answer(amount);
        if (first.req) return new Response(text, { headers });
        return (response as { set(headers: object): { send(text: string): void } }).set(headers).send(text);
      }) as never);
    };
    const override = (amount: string | undefined): [string, Record<string, string>] => {
      return ["report", amount === undefined ? {} : { "settlement-overrides": JSON.stringify({ amount }) }];
    };
    serve("/paid/weather", override);
    serve("/permit2", override);
    serve("/upfront", override);
    serve("/metered", override);
  }, settings);
  shop = opened;
  return { shop: opened, runs };
}

describe.each([["Express", expressShop], ["Hono", honoShop]])("%s", (_name, kind) => {
  test("20 copies of an authorization at once run the handler once", async () => {
    const { shop, runs } = await counting(kind as never);
    const header = await payment(`${shop.url}/paid/weather`);
    const ask = (): Promise<Response> => fetch(`${shop.url}/paid/weather`, { headers: { "payment-signature": header } });
    const answers = await Promise.all(Array.from({ length: 20 }, ask));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(new Set(answers.filter(({ status }) => status !== 200).map(refusal))).toEqual(new Set(["payment_in_progress"]));
    expect([runs.length, shop.facilitator.settled]).toEqual([1, 1]);
    expect(refusal(await ask())).toBe("payment_in_progress");
  });

  test("lost answer is fetched again by the same payment, and by the same request alone", async () => {
    const { shop, runs } = await counting(kind as never);
    const url = `${shop.url}/paid/weather`;
    const headers = { "payment-signature": await payment(url, {}, IDENTIFIER) };
    const first = await fetch(url, { headers });
    const second = await fetch(url, { headers });
    expect(await second.text()).toBe(await first.text());
    expect(second.headers.get("payment-response")).toBe(first.headers.get("payment-response"));
    const other = await fetch(`${url}?city=Bergen`, { headers });
    expect([other.status, await other.json()]).toEqual([409, { error: "payment_of_another_request" }]);
    expect([runs.length, shop.facilitator.settled]).toEqual([1, 1]);
  });

  test("answer whose settlement is pending is delivered later, and the handler does not run again", async () => {
    const { shop, runs } = await counting(kind as never);
    const url = `${shop.url}/paid/weather`;
    const headers = { "payment-signature": await payment(url, {}, IDENTIFIER) };
    shop.facilitator.answer = () => ({ success: false, errorReason: "settlement_pending", transaction: "" });
    expect((await fetch(url, { headers })).status).toBe(402);
    shop.facilitator.answer = null;
    const answer = await fetch(url, { headers });
    expect([answer.status, await answer.text()]).toEqual([200, "report"]);
    await expectProof(answer, "report");
    expect([runs.length, shop.facilitator.settled]).toEqual([1, 1]);
  });

  test("settlement that failed for good frees the authorization", async () => {
    const { shop, runs } = await counting(kind as never);
    const url = `${shop.url}/paid/weather`;
    const headers = { "payment-signature": await payment(url, {}, IDENTIFIER) };
    shop.facilitator.answer = () => ({ success: false, errorReason: "insufficient_funds", transaction: "" });
    expect((await fetch(url, { headers })).status).toBe(402);
    shop.facilitator.answer = null;
    expect((await fetch(url, { headers })).status).toBe(200);
    expect(runs).toHaveLength(2);
  });

  test("facilitator that throws keeps the authorization, because the payment may be settled", async () => {
    const { shop, runs } = await counting(kind as never);
    const url = `${shop.url}/paid/weather`;
    const headers = { "payment-signature": await payment(url) };
    shop.facilitator.answer = () => Promise.reject(new Error("connection reset"));
    expect((await fetch(url, { headers })).status).toBe(402);
    shop.facilitator.answer = null;
    expect(refusal(await fetch(url, { headers }))).toBe("payment_in_progress");
    expect(runs).toHaveLength(1);
  });

  test.each([
    ["metered?charge=123", 200, "123"],
    ["metered?charge=40%25", 200, "400"],
    ["metered", 200, "1000"],
    ["permit2", 200, "1000"],
  ])("%s is settled and signed", async (path, status, amount) => {
    const { shop } = await counting(kind as never);
    const answer = await pay(`${shop.url}/${path}`);
    expect(answer.status).toBe(status);
    expect(answer.headers.get("settlement-overrides")).toBeNull();
    await expectProof(answer, "report");
    expect(JSON.parse(atob(answer.headers.get("payment-response") ?? "")).amount).toBe(amount);
  });

  test.each([["metered?charge=1001", "settlement_exceeds_ceiling"], ["metered?charge=x", "settlement_amount_invalid"], ["permit2?charge=5", "settlement_amount_mismatch"]])("%s is not settled", async (path, code) => {
    const { shop } = await counting(kind as never);
    const answer = await pay(`${shop.url}/${path}`);
    expect(answer.status).toBe(402);
    expect(JSON.parse(atob(answer.headers.get("payment-response") ?? "")).errorReason).toBe(code);
    expect(shop.facilitator.settled).toBe(0);
  });

  test("answer for which nothing is charged has no proof, and needs a declaration", async () => {
    const { shop } = await counting(kind as never);
    const free = await pay(`${shop.url}/metered?charge=0`);
    const settlement = JSON.parse(atob(free.headers.get("payment-response") ?? ""));
    expect([free.status, settlement.transaction, settlement.amount, settlement.extensions]).toEqual([200, "", "0", undefined]);
    expect([shop.facilitator.settlements.length, shop.unsigned]).toEqual([0, []]);
    await shop.close();
    const strict = agent({ chainId: 31337, agentId: 7, registries: { IdentityRegistry: `0x${"11".repeat(20)}`, ReputationRegistry: `0x${"22".repeat(20)}` } });
    const other = await counting(kind as never, { routes: { "* /metered": price("upto", {}, strict.declaration) } });
    expect((await pay(`${other.shop.url}/metered?charge=0`)).status).toBe(402);
    expect(other.shop.facilitator.settlements).toEqual([]);
  });

  test("answer that was settled before the handler ran is signed, an error too", async () => {
    const { shop } = await counting(kind as never);
    const answer = await pay(`${shop.url}/upfront`);
    expect(answer.status).toBe(200);
    await expectProof(answer, "report");
    const missing = await pay(`${shop.url}/upfront`, { method: "POST" });
    expect(missing.status).toBe(404);
    await expectProof(missing, await missing.text());
    expect([shop.facilitator.settled, shop.extension.counts]).toEqual([2, { signed: 2, unsigned: 0 }]);
  });

  test.each(["/p%61id/weather", "/PAID/weather", "/paid/weather/", "/paid/w%65ather?charge=1", "/paid%2Fweather"])("%s is not free", async (path) => {
    const { shop, runs } = await counting(kind as never);
    const { status } = await fetch(shop.url + path);
    expect([402, 404]).toContain(status);
    expect(runs).toEqual([]);
  });

  test("web pages may buy, on paid routes alone", async () => {
    const { shop } = await counting(kind as never, { cors: { origins: ["https://shop.example"], requestHeaders: ["authorization"] } });
    const ask = (path: string, origin: string): Promise<Response> =>
      fetch(shop.url + path, { method: "OPTIONS", headers: { origin, "access-control-request-method": "GET" } });
    const preflight = await ask("/paid/weather", "https://shop.example");
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe("https://shop.example");
    expect(preflight.headers.get("access-control-allow-headers")).toBe("access-control-expose-headers, content-type, payment-signature, authorization");
    expect((await ask("/paid/weather", "https://other.example")).headers.get("access-control-allow-origin")).toBeNull();
    expect((await ask("/free", "https://shop.example")).headers.get("access-control-allow-origin")).toBeNull();
    const unpaid = await fetch(`${shop.url}/paid/weather`, { headers: { origin: "https://shop.example" } });
    expect(unpaid.headers.get("access-control-expose-headers")).toBe("payment-required, payment-response");
    const paid = await pay(`${shop.url}/paid/weather`, { headers: { origin: "https://shop.example" } });
    expect([paid.headers.get("access-control-allow-origin"), paid.headers.get("vary")?.includes("origin")]).toEqual(["https://shop.example", true]);
  });
});

test("price and declaration are those of Python's form", async () => {
  const { shop } = await counting(expressShop);
  const unpaid = await fetch(`${shop.url}/paid/weather`);
  const required = JSON.parse(atob(unpaid.headers.get("payment-required") ?? ""));
  const info = PROFILE_8004.infoOf(required.extensions["8004-reputation"]);
  expect([info.version, info.registrations[0]?.agent.agent, info.freeAnswers]).toEqual(["1.0.0", "7", true]);
  expect((unpaid.headers.get("payment-required") ?? "").length).toBeLessThan(4096);
});

describe("a payment is refused before the handler runs", () => {
  test.each([
    ["no base 64", "?"],
    ["no object", encodeHeader([])],
    ["a name twice", btoa('{"x402Version":2,"x402Version":2}')],
    ["too deep", btoa(`{"payload":${"[".repeat(70)}${"]".repeat(70)}}`)],
  ])("%s", async (_name, header) => {
    const { shop, runs } = await counting(expressShop);
    const response = await fetch(`${shop.url}/paid/weather`, { headers: { "payment-signature": header } });
    expect([response.status, await response.json(), runs]).toEqual([400, { error: "payment_header_malformed" }, []]);
  });

  test("too long", async () => {
    const { shop } = await counting(honoShop);
    const sent = fetch(`${shop.url}/paid/weather`, { headers: { "payment-signature": "a".repeat(14_000) } });
    expect((await sent).status).toBe(400); // Node's own limit for all headers is 16 KiB
  });

  test.each([
    ["payee_mismatch", (payload: any) => void (payload.payload.authorization.to = `0x${"33".repeat(20)}`)],
    ["amount_mismatch", (payload: any) => void (payload.payload.authorization.value = "999")],
    ["invalid_nonce", (payload: any) => void (payload.payload.authorization.nonce = "0xzz")],
    ["ambiguous_payment", (payload: any) => void (payload.payload.permit2Authorization = payload.payload.authorization)],
    ["ambiguous_payment", (payload: any) => void (payload.payload.authorization.nonce = 5)],
    ["unsupported_payment", (payload: any) => void (payload.payload = {})],
    ["invalid_client_agent: clientAgentId", (payload: any) => void (payload.extensions["8004-reputation"].info.clientAgentRegistry = `eip155:31337:0x${"11".repeat(20)}`)],
  ])("%s", async (code, change) => {
    const { shop, runs } = await counting(expressShop);
    const payload = decodePaymentSignatureHeader(await payment(`${shop.url}/paid/weather`));
    payload.extensions = { "8004-reputation": { info: {} } };
    change(payload);
    const header = encodePaymentSignatureHeader(payload);
    const response = await fetch(`${shop.url}/paid/weather`, { headers: { "payment-signature": header } });
    expect([response.status, refusal(response), runs, shop.facilitator.verified]).toEqual([402, code, [], 0]);
  });

  test("the signing key does not work", async () => {
    let works = true;
    const key = remoteKey({ publicKey: KEY.publicKey, algorithm: "ed25519", sign: async (digest) => (works ? KEY.sign(digest) : new Uint8Array(64)) });
    const { shop, runs } = await counting(expressShop, { reputation: { key } });
    expect((await pay(`${shop.url}/paid/weather`)).status).toBe(200);
    works = false;
    expect(refusal(await pay(`${shop.url}/paid/weather`))).toBe("signer_unavailable");
    expect([runs.length, shop.facilitator.settled]).toEqual([1, 1]);
  });

  test("too many payments are in progress, or their store fails", async () => {
    const { shop } = await counting(expressShop, { reputation: { reservations: memoryReservations(0) } });
    expect(refusal(await pay(`${shop.url}/paid/weather`))).toBe("too_many_payments");
    await shop.close();
    const broken = { ...memoryReservations(), take: () => Promise.reject(new Error("database")) };
    const other = await counting(expressShop, { reputation: { reservations: broken } });
    expect(refusal(await pay(`${other.shop.url}/paid/weather`))).toBe("reservations_unavailable");
  });
});

test("key that fails after the settlement lets the answer through, counted and told", async () => {
  let signatures = 0;
  const sign = async (digest: Uint8Array): Promise<Uint8Array> => {
    if (++signatures > 1) throw new Error("the key service is down");
    return KEY.sign(digest);
  };
  const { shop } = await counting(expressShop, { reputation: { key: { ...KEY, sign } } });
  const response = await pay(`${shop.url}/paid/weather`);
  expect([response.status, await response.text(), shop.extension.counts]).toEqual([200, "report", { signed: 0, unsigned: 1 }]);
  expect(shop.unsigned).toHaveLength(1);
});

test("store of answers that fails costs nobody the answer", async () => {
  const broken = { keep: () => Promise.reject(new Error("disk")), find: () => Promise.reject(new Error("disk")) };
  const { shop } = await counting(expressShop, { answers: broken });
  const headers = { "payment-signature": await payment(`${shop.url}/paid/weather`, {}, IDENTIFIER) };
  expect((await fetch(`${shop.url}/paid/weather`, { headers })).status).toBe(200);
});

test("routes whose payments no client can verify are refused at start", async () => {
  for (const [scheme, code] of [["batch-settlement", "batch-settlement_not_supported"], ["auth-capture", "auth-capture_not_supported"]] as const) {
    await expect(expressShop(() => {}, { routes: { "GET /paid": price(scheme) } })).rejects.toThrow(code);
  }
});

describe("keys", () => {
  const secret = `0x${"07".repeat(32)}` as const;
  const keys = {
    secp256k1: secp256k1Key(secret),
    ed25519: ed25519Key(secret),
    viem: accountKey(privateKeyToAccount(secret)),
    remote: remoteKey({ publicKey: secp256k1Key(secret).publicKey, sign: async (digest) => (await secp256k1Key(secret).sign(digest)).slice(0, 64) }),
  };
  test.each(Object.entries(keys))("of %s signs, and shows no secret", async (_name, key) => {
    await checkKey(key);
    const digest = new Uint8Array(32).fill(9);
    expect(await isSignatureOf(digest, await key.sign(digest), key.publicKey, key.algorithm)).toBe(true);
    expect(inspect(key, { depth: 9, showHidden: true }) + JSON.stringify(key)).not.toContain("0707");
  });

  test("from the environment is in no error", () => {
    vi.stubEnv("BILATERAL_TEST_KEY", `${"07".repeat(31)}zz`);
    const read = (): unknown => keyFromEnv("BILATERAL_TEST_KEY");
    expect(read).toThrow();
    try {
      read();
    } catch (error) {
      expect(inspect(error)).not.toContain("0707");
    }
    expect(() => keyFromEnv("BILATERAL_MISSING")).toThrow("is not set");
    expect(() => secp256k1Key("00".repeat(32))).toThrow();
    vi.unstubAllEnvs();
  });

  test("remote key whose signatures are another's is refused", async () => {
    const key = remoteKey({ publicKey: KEY.publicKey, algorithm: "ed25519", sign: async () => new Uint8Array(64) });
    await expect(checkKey(key)).rejects.toThrow("does not match");
  });
});

