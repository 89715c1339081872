/**
 * The payments that an account signs: EIP-3009 and Permit2 (`exact`), and a ceiling by Permit2 (`upto`).
 *
 * They are those of `@x402/evm`, without its clients of nodes, which would treble the size of a bundle. Programs that
 * need more, such as sponsored approvals, register the SDK's schemes on a client of their own.
 */
import type { PaymentRequirements } from "@x402/core/types";
import { TrustError } from "../errors.js";
import { bigintOf, hex } from "../proof/bytes.js";
import { checksummed } from "../proof/identifiers.js";
import { EXACT_PROXY, kindOfTerms, PERMIT2, UPTO_PROXY } from "../proof/kinds.js";
import type { PayingAccount } from "./account.js";

const TRANSFER_TYPES = typesOf("TransferWithAuthorization", [
  "from:address to:address value:uint256 validAfter:uint256 validBefore:uint256 nonce:bytes32",
]);
const PERMITTED = ["TokenPermissions", "token:address amount:uint256"] as const;
const PERMIT = "permitted:TokenPermissions spender:address nonce:uint256 deadline:uint256 witness:Witness";

/** Sign a payment by terms that were checked. */
export function signedPayload(account: PayingAccount, terms: PaymentRequirements): Promise<Record<string, unknown>> {
  return kindOfTerms(terms.scheme, terms.extra) === "eip3009" ? authorization(account, terms) : permit(account, terms);
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

async function permit(account: PayingAccount, terms: PaymentRequirements): Promise<Record<string, unknown>> {
  const isUpto = terms.scheme === "upto";
  const named = terms.extra?.["facilitatorAddress"];
  if (isUpto && typeof named !== "string") {
    throw new TrustError("invalid_declaration", "extra has no facilitatorAddress, which the scheme upto needs");
  }
  const facilitator = isUpto ? { facilitator: checksummed(named) } : {};
  const permit2Authorization = {
    from: account.address,
    permitted: { token: checksummed(terms.asset), amount: terms.amount },
    spender: isUpto ? UPTO_PROXY : EXACT_PROXY,
    nonce: String(bigintOf(randomWord())),
    deadline: deadlineOf(terms),
    witness: { to: checksummed(terms.payTo), ...facilitator, validAfter: "0" },
  };
  const { permitted, spender, nonce, deadline, witness } = permit2Authorization;
  const witnessFields = `to:address ${isUpto ? "facilitator:address " : ""}validAfter:uint256`;
  const signature = await account.signTypedData({
    domain: { name: "Permit2", chainId: chainIdOf(terms), verifyingContract: PERMIT2 },
    types: typesOf("PermitWitnessTransferFrom", [PERMIT], PERMITTED, ["Witness", witnessFields]),
    primaryType: "PermitWitnessTransferFrom",
    message: {
      permitted: { token: permitted.token, amount: BigInt(permitted.amount) },
      spender,
      nonce: BigInt(nonce),
      deadline: BigInt(deadline),
      witness: { ...witness, validAfter: 0n },
    },
  });
  return { signature, permit2Authorization };
}

function typesOf(
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

function deadlineOf(terms: PaymentRequirements): string {
  return String(Math.floor(Date.now() / 1000) + terms.maxTimeoutSeconds);
}

function chainIdOf(terms: PaymentRequirements): number {
  return Number(terms.network.slice("eip155:".length));
}

function randomWord(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}
