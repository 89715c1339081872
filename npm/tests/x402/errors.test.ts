import { inspect } from "node:util";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import {
  InvalidArgumentError,
  LostAnswerError,
  PaidNotAnsweredError,
  RedirectedPaymentError,
  trustedFetch,
  TrustError,
  verify,
} from "../../source/x402/index.js";

const request = { method: "POST", url: "https://agent.example/?key=\u202e", headers: { "payment-signature": "secret" }, body: new Uint8Array([1]) };
const lost = { outcome: "unknown", transaction: null, status: null, answer: new Uint8Array() } as const;

describe("errors (T17)", () => {
  test("have a name, a code, a cause and a short message", () => {
    const cause = new Error("fetch failed");
    const error = new TrustError("cannot_check", "the node is down", { cause });
    expect(error).toMatchObject({ name: "TrustError", code: "cannot_check", shortMessage: "the node is down", cause });
    expect(error.message).toBe("cannot_check: the node is down");
  });

  test("of a lost answer show neither the payment nor odd letters (T20)", () => {
    for (const error of [
      new LostAnswerError(request, "cut", lost),
      new PaidNotAnsweredError(request, "cut", lost),
      new RedirectedPaymentError(request, "redirected", { location: "https://evil.example", isPaid: true }, lost),
    ]) {
      for (const shown of [String(error), JSON.stringify(error), inspect(error, { depth: 9 })]) {
        expect(shown).not.toContain("secret");
        expect(shown).not.toContain("\u202e");
      }
      expect(error).toBeInstanceOf(LostAnswerError);
      expect(error.code).toBe({ LostAnswerError: "lost_answer", PaidNotAnsweredError: "paid_not_answered", RedirectedPaymentError: "redirected_payment" }[error.name]);
    }
  });

  test("of a lost answer send the same request again", async () => {
    const again = new LostAnswerError(request, "cut", lost).again();
    expect([again.method, again.headers.get("payment-signature")]).toEqual(["POST", "secret"]);
    expect(new Uint8Array(await again.arrayBuffer())).toEqual(request.body);
  });
});

describe("settings that cannot be meant", () => {
  const account = privateKeyToAccount(generatePrivateKey());
  const chain = { id: 8453, rpc: "http://127.0.0.1:9" };
  test.each([
    ["no account", {}],
    ["account and client", { account, client: {} as never }],
    ["a chain without a node", { account, chains: [{ id: 8453 }] }],
    ["a chain without registries", { account, chains: [{ id: 123_456_789, rpc: "http://127.0.0.1:9" }] }],
    ["a chain twice", { account, chains: [chain, chain] }],
    ["a limit of nothing", { account, limits: { bytes: 0 } }],
    ["no time", { account, limits: { seconds: Number.NaN } }],
  ])("%s", (_name, options) => {
    expect(() => trustedFetch({ chains: [chain], ...options })).toThrow(InvalidArgumentError);
  });

  test("a network that is not trusted leaves every check undone", async () => {
    const payment = { accepted: { network: "eip155:1" } };
    const paid = { payment, settlement: {}, request: new Uint8Array(), response: new Uint8Array() };
    const { isVerified, checks } = await verify({ chains: [chain] }, paid);
    expect(isVerified).toBe(false);
    expect(new Set(checks.map(({ code }) => code))).toEqual(new Set(["unsupported_network"]));
  });
});
