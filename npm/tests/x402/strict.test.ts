/** Parsers of what strangers send throw errors of ours alone (T18). */
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeHeader, encodeHeader, printable, quoted, TrustError, X402Error } from "../../source/x402/index.js";
import { priceOf } from "../../source/x402/buyer/exchange.js";
import { explained } from "../../source/x402/problems.js";
import { base64, unbase64, unbase64Loosely, utf8 } from "../../source/x402/proof/bytes.js";
import { FileCache } from "../../source/x402/proof/documents.js";
import { checksummed, parseAccount, parseTransaction } from "../../source/x402/proof/identifiers.js";
import { draftStatementOf } from "../../source/x402/proof/draft.js";
import { decodeObject } from "../../source/x402/proof/json.js";
import { clientAgentOf, PROFILES } from "../../source/x402/proof/messages.js";
import { signedPaymentOf } from "../../source/x402/proof/permit2.js";
import { currentStatementOf, settlementOf } from "../../source/x402/proof/statements.js";
import { readRegistrationFile } from "../../source/x402/proof/registration.js";
import { vectors } from "../vectors/recorded.js";

const RUNS = process.env.NIGHTLY === undefined ? 1_000 : 10_000;
const bases = vectors("exchanges").bases as Record<string, any>;

/** Return values that are near a message: it, with any JSON in place of any part. */
function damaged(value: unknown): fc.Arbitrary<unknown> {
  const json = fc.jsonValue({ maxDepth: 3, stringUnit: "binary" });
  if (typeof value !== "object" || value === null) return fc.oneof({ weight: 9, arbitrary: fc.constant(value) }, json);
  const parts = Object.entries(value).map(([name, part]) => [name, damaged(part)] as const);
  const whole = Array.isArray(value) ? fc.tuple(...parts.map(([, part]) => part)) : fc.record(Object.fromEntries(parts));
  return fc.oneof({ weight: 9, arbitrary: whole }, json);
}

function onlyOurs(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof X402Error)) throw error;
    expect(/[\p{Cc}\p{Cf}]/u.test(error.message)).toBe(false);
  }
}

const file = bases["eip3009"].node.uri;
const readers: [string, unknown, (value: any) => unknown][] = [
  ["declaration", bases["eip3009"].payment.extensions["8004-reputation"], PROFILES[0]!.infoOf],
  ["declaration of the draft", bases["draft"].payment.extensions.reputation, PROFILES[1]!.infoOf],
  ["statement", bases["eip3009"].settlement.extensions["8004-reputation"], currentStatementOf],
  ["statement of the draft", bases["draft"].settlement.extensions.reputation, draftStatementOf],
  ["settlement", bases["eip3009"].settlement, (value) => settlementOf(value)],
  ["claim", { info: { clientAgentRegistry: `eip155:1:0x${"12".repeat(20)}`, clientAgentId: "1" } }, clientAgentOf],
  ["registration file", file, (value) => readRegistrationFile(utf8(JSON.stringify(value)))],
  ["payment", [bases["eip3009"].payment.accepted, bases["eip3009"].payment.payload], pay],
  ["payment by Permit2", [bases["permit2-upto"].payment.accepted, bases["permit2-upto"].payment.payload], pay],
];

function pay(value: unknown): unknown {
  if (!Array.isArray(value)) return null;
  const isPayment = value.every((part) => typeof part === "object" && part !== null && !Array.isArray(part));
  return isPayment ? signedPaymentOf(value[0] ?? {}, value[1] ?? {}) : null;
}

test.each(readers)("a damaged %s is read or refused", (_name, example, read) => {
  read(structuredClone(example));
  fc.assert(fc.property(damaged(example), (value) => onlyOurs(() => read(value))), { numRuns: RUNS, seed: 1 });
});

test("a price is read or refused by TrustError", () => {
  const price = { x402Version: 2, accepts: [bases["eip3009"].payment.accepted], extensions: {}, resource: { url: "x" } };
  fc.assert(
    fc.property(damaged(price), (value) => {
      const headers = { "PAYMENT-REQUIRED": encodeHeader(value) };
      try {
        priceOf(new Response(null, { status: 402, headers }));
      } catch (error) {
        expect(error).toBeInstanceOf(TrustError);
      }
    }),
    { numRuns: RUNS, seed: 1 },
  );
});

test("JSON that JSON.parse reads is read the same, unless it is ambiguous", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), (value) => {
      const text = JSON.stringify(value);
      const read = decodeObject(utf8(text));
      const plain = (_name: string, part: unknown): unknown => (typeof part === "bigint" ? Number(part) : part);
      expect(JSON.stringify(read, plain)).toBe(JSON.stringify(JSON.parse(text)));
    }),
    { numRuns: RUNS, seed: 1 },
  );
});

test("any bytes are JSON or refused", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => onlyOurs(() => decodeObject(bytes))),
    { numRuns: RUNS, seed: 1 },
  );
});

test("any text is an identifier or refused", () => {
  const parts = fc.constantFrom("eip155", "solana", ":", "0x", "8453", "ab", "1", "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "\0", " ");
  fc.assert(
    fc.property(fc.array(parts).map((listed) => listed.join("")), (text) => {
      for (const read of [parseAccount, parseTransaction, checksummed]) onlyOurs(() => read(text));
    }),
    { numRuns: RUNS, seed: 1 },
  );
});

test("any URI of a file is loaded or refused", async () => {
  const cache = new FileCache({ fetch: () => Promise.reject(new TypeError("no network")) });
  const parts = fc.constantFrom("data:", "application/json", ";base64", ",", "{", "}", "%7B", "%", "e30=", "H4sI", "ipfs://", "https://a/", "http://a", " ", "\n");
  await fc.assert(
    fc.asyncProperty(fc.array(parts, { maxLength: 8 }).map((listed) => listed.join("")), async (uri) => {
      await cache.load(uri).catch((error: unknown) => expect(error).toBeInstanceOf(X402Error));
    }),
    { numRuns: RUNS, seed: 1 },
  );
});

test("base 64 has one form", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      const text = base64(bytes);
      expect(text).toBe(Buffer.from(bytes).toString("base64"));
      expect(unbase64(text)).toEqual(bytes);
    }),
    { seed: 1 },
  );
  expect(unbase64Loosely("e31=")).not.toBeNull();
  expect(unbase64("e31=")).toBeNull();
});

test("numbers that a float does not hold stay exact, and no name replaces a prototype", () => {
  const value = decodeObject(utf8('{"a":9007199254740993,"__proto__":{"polluted":true}}'));
  expect(value["a"]).toBe(9007199254740993n);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(({} as any).polluted).toBeUndefined();
});

test("a price with a number that is not exact is refused before anything is signed", () => {
  const price = { x402Version: 2, accepts: [bases["eip3009"].payment.accepted], extensions: { other: "@" } };
  const header = base64(utf8(JSON.stringify(price).replace('"@"', "9007199254740993")));
  const response = new Response(null, { status: 402, headers: { "PAYMENT-REQUIRED": header } });
  const read = (): unknown => {
    try {
      return priceOf(response);
    } catch (error) {
      throw explained(error); // as every caller does
    }
  };
  expect(read).toThrow("above 2^53");
});

test("headers of a message are the same after encoding and decoding", () => {
  expect(decodeHeader(encodeHeader({ a: "snø", b: [1] }))).toEqual({ a: "snø", b: [1] });
});

test("words of strangers are escaped in messages (T17)", () => {
  expect(printable("a\u001b[2J\u202e\\\u2028\ud800")).toBe("a\\x1b[2J\\u202e\\\\\\u2028\\ud800");
  expect(quoted("x".repeat(200), 3)).toBe('"xxx"… (200 characters)');
});
