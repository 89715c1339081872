/** No evil server makes a buyer pay twice, wait, believe or fail in an unknown way: the kinds of `tests/x402/evil.py`. */
import { expect, test } from "vitest";
import { LostAnswerError, TrustError, verificationOf } from "../../source/x402/index.js";
import { buyerOf, control, fundedKey, world } from "./market.js";

const SECONDS = 5;
const key = await fundedKey();

test("there are as many kinds as in Python", () => {
  expect(world.evilModes.length).toBeGreaterThan(120);
});

test.each(world.evilModes)("%s", async (mode) => {
  await control({ evil: mode });
  const buyer = buyerOf(key, { limits: { seconds: SECONDS }, receiptSeconds: 0.1 });
  const start = Date.now();
  let outcome = "";
  try {
    const response = await buyer.buy(`${world.evil}/echo`, { method: "POST", body: mode });
    if (verificationOf(response)?.isVerified) outcome = "believed it";
  } catch (error) {
    if (mode.startsWith("paid")) outcome = error instanceof LostAnswerError ? "" : `failed by ${error}`;
    else if (!(error instanceof TrustError) && !(error instanceof TypeError)) outcome = `failed by ${error}`;
  }
  const { evil } = await control({});
  expect(outcome).toBe("");
  expect(evil.length).toBe(mode.startsWith("paid") ? 1 : 0);
  expect(buyer.signatures()).toBe(mode.startsWith("paid") ? 1 : 0);
  expect(Date.now() - start).toBeLessThan((SECONDS + 3) * 1000);
});
