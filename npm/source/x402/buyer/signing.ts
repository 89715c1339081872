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

const TRANSFER = "from:address to:address value:uint256 validAfter:uint256 validBefore:uint256 nonce:bytes32";

/** Sign a payment under terms that have been checked. */
export async function signedPayload(account: PayingAccount, terms: PaymentRequirements): Promise<Record<string, unknown>> {
  if (kindOfTerms(terms.scheme, terms.extra) === "eip3009") return authorization(account, terms);
  return (await import("./permits.js")).permit(account, terms);
}

async function authorization(account: PayingAccount, terms: PaymentRequirements): Promise<Record<string, unknown>> {
  const { name, version } = terms.extra ?? {};
  if (typeof name !== "string" || typeof version !== "string") {
    throw new TrustError("invalid_declaration", ["domain"]);
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
    types: { TransferWithAuthorization: fieldsOf(TRANSFER) },
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

/** Return the fields of an EIP-712 type. */
export function fieldsOf(list: string): { name: string; type: string }[] {
  return list.split(" ").map((field) => {
    const [name = "", type = ""] = field.split(":");
    return { name, type };
  });
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
