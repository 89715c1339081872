import { expect, test } from "vitest";
import type { SignedPayment } from "../../source/x402/proof/payments.js";
import { expiryOf, lastSecond } from "../../source/x402/proof/settlements.js";

function payment(kind: SignedPayment["kind"], deadline: bigint): SignedPayment {
  const [asset, payer, payee] = ["0x01", "0x02", "0x03"] as const;
  return { kind, asset, payer, payee, amount: 1n, nonce: new Uint8Array(32), validAfter: 0n, deadline, facilitator: null };
}

test("a payment of EIP-3009 ends a second before its deadline, one of Permit2 with it", () => {
  expect(lastSecond(payment("eip3009", 100n))).toBe(99n);
  expect(lastSecond(payment("permit2-exact", 100n))).toBe(100n);
  expect(lastSecond(payment("permit2-upto", 100n))).toBe(100n);
});

test("the end of a payment is a time of a calendar up to the year 9999", () => {
  expect(expiryOf(payment("permit2-exact", 1_800_000_000n))).toBe("2027-01-15 08:00:00 UTC");
  expect(expiryOf(payment("permit2-exact", 253_402_300_799n))).toBe("9999-12-31 23:59:59 UTC");
  expect(expiryOf(payment("permit2-exact", 253_402_300_800n))).toBe("Unix time 253402300800");
});
