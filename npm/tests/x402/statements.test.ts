import { expect, test } from "vitest";
import { decodeObject, type JsonObject } from "../../source/x402/proof/json.js";
import { utf8 } from "../../source/x402/proof/bytes.js";
import { PROFILE_8004 } from "../../source/x402/proof/messages.js";
import { statementObject, statementOf } from "../../source/x402/proof/statements.js";
import { vectors } from "../vectors/recorded.js";

const bases = vectors("exchanges").bases as Record<string, any>;
const statement = bases["eip3009"].settlement.extensions["8004-reputation"] as JsonObject;

test.each([
  ["with", { nonce: "0x01" }],
  ["without", null],
])("a statement %s a sealed rating is written as it was read", (_name, sealedRating) => {
  const written = statementObject(statementOf(PROFILE_8004, { ...statement, sealedRating }));
  expect(written["sealedRating"]).toEqual(sealedRating ?? undefined);
  expect(Object.hasOwn(written, "sealedRating")).toBe(sealedRating !== null);
  expect(statementObject(statementOf(PROFILE_8004, decodeObject(utf8(JSON.stringify(written)))))).toEqual(written);
});
