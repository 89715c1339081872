import { expect, test } from "vitest";
import { decodeObject, type JsonObject } from "../../source/x402/proof/json.js";
import { utf8 } from "../../source/x402/proof/bytes.js";
import { currentStatementOf, statementObject } from "../../source/x402/proof/statements.js";
import { vectors } from "../vectors/recorded.js";

const bases = vectors("exchanges").bases as Record<string, any>;
const statement = bases["eip3009"].settlement.extensions["8004-reputation"] as JsonObject;

test.each([
  ["with", { nonce: "0x01" }],
  ["without", null],
])("a statement %s a sealed rating is written as it was read", (_name, sealedRating) => {
  const written = statementObject(currentStatementOf({ ...statement, sealedRating }));
  expect(written["sealedRating"]).toEqual(sealedRating ?? undefined);
  expect(Object.hasOwn(written, "sealedRating")).toBe(sealedRating !== null);
  expect(statementObject(currentStatementOf(decodeObject(utf8(JSON.stringify(written)))))).toEqual(written);
});
