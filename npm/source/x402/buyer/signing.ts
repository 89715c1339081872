/**
 * The payments that an account signs: EIP-3009 and Permit2 (`exact`), and a Permit2 ceiling (`upto`).
 *
 * They match those of `@x402/evm`, without its node clients, which would triple the size of a bundle. Programs that
 * need more, such as sponsored approvals, register the SDK's schemes on their own client.
 */
import type { PaymentRequirements } from "@x402/core/types";
import { TrustError } from "../errors.js";
import { hex } from "../proof/bytes.js";
import { checksummed } from "../proof/identifiers.js";
import { kindOfTerms } from "../proof/kinds.js";
import type { PayingAccount } from "./account.js";

const TRANSFER_TYPES = typesOf("TransferWithAuthorization", [
  "from:address to:address value:uint256 validAfter:uint256 validBefore:uint256 nonce:bytes32",
]);

/** Sign a payment under terms that have been checked. */
export async function signedPayload(account: PayingAccount, terms: PaymentRequirements): Promise<Record<string, unknown>> {
  if (kindOfTerms(terms.scheme, terms.extra) === "eip3009") return authorization(account, terms);
  return (await import("./permits.js")).permit(account, terms);
}

async function authorization(account: PayingAccount, terms: PaymentRequirements): Promise<Record<string, unknown>> {
  const { name, version } = terms.extra ?? {};
  if (typeof name !== "string" || typeof version !== "string") {
    throw new TrustError("invalid_declaration", "extra has no name and version of the token's EIP-712 domain");
  }
  const signed = {
    from: account.address,
    to: checksummed(terms.payTo),
    value: terms.amount,
    validAfter: "0",
    validBefore: deadlineOf(terms),
    nonce: `0x${hex(randomWord())}`,
  };
  const { from, to, nonce } = signed;
  const signature = await account.signTypedData({
    domain: { name, version, chainId: chainIdOf(terms), verifyingContract: checksummed(terms.asset) },
    types: TRANSFER_TYPES,
    primaryType: "TransferWithAuthorization",
    message: {
      from,
      to,
      value: BigInt(signed.value),
      validAfter: 0n,
      validBefore: BigInt(signed.validBefore),
      nonce,
    },
  });
  return { signature, authorization: signed };
}

/** Return EIP-712 types, each from a string of its fields. */
export function typesOf(
  primary: string,
  [fields]: readonly [string],
  ...others: readonly (readonly [string, string])[]
): Record<string, { name: string; type: string }[]> {
  return Object.fromEntries(
    [[primary, fields] as const, ...others].map(([name, list]) => [
      name,
      list.split(" ").map((field) => {
        const [part = "", type = ""] = field.split(":");
        return { name: part, type };
      }),
    ]),
  );
}

/** Return the last second of a payment, in Unix time. */
export function deadlineOf(terms: PaymentRequirements): string {
  return String(Math.floor(Date.now() / 1000) + terms.maxTimeoutSeconds);
}

/** Return the id of the chain on which the payment is made. */
export function chainIdOf(terms: PaymentRequirements): number {
  return Number(terms.network.slice("eip155:".length));
}

/** Return 32 random bytes. */
export function randomWord(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}
