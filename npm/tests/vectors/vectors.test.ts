import { describe, expect, test } from "vitest";
import { decodeHeader, verify } from "../../source/x402/index.js";
import { hex, unhex, utf8Text } from "../../source/x402/proof/bytes.js";
import {
  clientMessageHash,
  draftDataHash,
  draftInteractionHash,
  draftReviewerHash,
  interactionHash,
  toolRequest,
  toolResponse,
} from "../../source/x402/proof/hashes.js";
import { agentOf, parseAccount } from "../../source/x402/proof/identifiers.js";
import { isSignatureOfAccount } from "../../source/x402/proof/accounts.js";
import { isSignatureOf } from "../../source/x402/proof/keys.js";
import { PROFILE_DRAFT } from "../../source/x402/proof/messages.js";
import { statementOf } from "../../source/x402/proof/statements.js";
import { changed, paidOf, termsOf, vectors, verdictOf, type Case } from "./recorded.js";

const bytes = (digits: string): Uint8Array => unhex(digits.replace(/^0x/, "")) as Uint8Array;
const plain = vectors("interactions");
const draft = vectors("interactions_draft");

describe("hashes and signatures of the specification", () => {
  for (const vector of plain.interactions) {
    test(vector.name, async () => {
      const { taskRef, requestBody, responseBody } = vector;
      const digest = await interactionHash(taskRef, bytes(requestBody), bytes(responseBody));
      expect(`0x${hex(digest)}`).toBe(vector.interactionHash);
      for (const name of ["secp256k1", "secp256k1 compressed", "ed25519"]) {
        const algorithm = name.split(" ")[0] ?? "";
        expect(await isSignatureOf(digest, bytes(vector[algorithm]), plain.publicKeys[name], algorithm)).toBe(true);
        expect(await isSignatureOf(bytes("00".repeat(32)), bytes(vector[algorithm]), plain.publicKeys[name], algorithm)).toBe(false);
      }
    });
  }

  for (const vector of plain.clientMessages) {
    test(`client message of ${vector.value}`, () => {
      const agent = agentOf(parseAccount(vector.agentRegistry), vector.agentId);
      expect(`0x${hex(clientMessageHash(agent, vector.taskRef, vector.value))}`).toBe(vector.clientMessage);
    });
  }

  test("tool call in canonical JSON", () => {
    const { request, requestBody, response, responseBody } = plain.toolCall;
    expect(hex(toolRequest(request.name, request.arguments))).toBe(requestBody);
    expect(hex(toolResponse(response.content, response.structuredContent))).toBe(responseBody);
  });
});

describe("hashes and signatures of the draft", () => {
  for (const vector of draft.interactions) {
    test(vector.name, async () => {
      const request = bytes(vector.requestBody || hex(new TextEncoder().encode(vector.requestTarget)));
      const data = await draftDataHash(request, bytes(vector.responseBody));
      expect(`0x${hex(data)}`).toBe(vector.dataHash);
      const digest = draftInteractionHash(vector.taskRef, data);
      expect(`0x${hex(digest)}`).toBe(vector.interactionHash);
      expect(await isSignatureOf(digest, bytes(vector.ed25519), draft.publicKeys.ed25519, "ed25519")).toBe(true);
      expect(await isSignatureOf(digest, bytes(vector.secp256k1), draft.publicKeys.secp256k1, "secp256k1")).toBe(true);
    });
  }

  for (const vector of draft.reviews) {
    test(`review of ${vector.value} for ${vector.tag1 || "nothing"}`, () => {
      const agent = agentOf(parseAccount(vector.agentRegistry), vector.agentId);
      const { taskRef, dataHash, value, valueDecimals, tag1, tag2 } = vector;
      const digest = draftReviewerHash(agent, taskRef, bytes(dataHash), BigInt(value), valueDecimals, [tag1, tag2]);
      expect(`0x${hex(digest)}`).toBe(vector.reviewerMessage);
    });
  }

  test("statement", async () => {
    const statement = await statementOf(PROFILE_DRAFT, draft.statement);
    expect(`0x${hex(statement.interactionHash)}`).toBe(draft.statement.interactionHash);
    expect(statement.feedbackEndpoint).toBe(draft.statement.feedbackEndpoint);
  });
});

describe("signatures that readers could judge differently", () => {
  const { digest, signatures } = vectors("signatures");
  for (const { name, algorithm, publicKey, signature, isValid } of signatures) {
    test(`${algorithm}: ${name}`, async () => {
      expect(await isSignatureOf(bytes(digest), bytes(signature), publicKey, algorithm)).toBe(isValid);
    });
  }

  test("an account that is a point of small order signs nothing", async () => {
    const address = "1".repeat(32); // 32 zero bytes, a point of order 4
    expect(await isSignatureOfAccount(bytes(digest), new Uint8Array(64), "solana:x", address)).toBe(false);
  });
});

describe("headers that readers could read differently", () => {
  for (const { name, header, isReadable, value } of vectors("headers")) {
    test(name, () => {
      const message = decodeHeader(header);
      expect(message !== null).toBe(isReadable);
      if (value !== null) expect(normal(message)).toEqual(normal(value));
    });
  }

  /** Entries instead of objects: a name such as `__proto__` is compared too. */
  function normal(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(normal);
    if (typeof value === "object" && value !== null) return Object.entries(value).map(([name, part]) => [name, normal(part)]);
    return value === 0 ? 0 : value;
  }

  test("bytes beside UTF-8 are no text", () => {
    expect(utf8Text(bytes("ff"))).toBeNull();
  });
});

describe("recorded exchanges", () => {
  const { registries, bases, cases } = vectors("exchanges") as { registries: object; bases: never; cases: Case[] };

  test("there are more than 300", () => {
    expect(cases.length).toBeGreaterThan(300);
  });

  test.each(cases)("$base: $name", async ({ base, changes, name: _name, base: _base, changes: _changes, ...expected }) => {
    const made = changed(bases[base], changes);
    const verification = await verify(termsOf(made, registries), paidOf(made), made.terms);
    expect(verdictOf(verification)).toEqual(expected);
  });
});
