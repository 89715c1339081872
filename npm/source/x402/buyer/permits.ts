/** Permit2 payments, as an account signs them. Loaded only when a price is paid this way. */
import type { PaymentRequirements } from "@x402/core/types";
import { TrustError } from "../errors.js";
import { bigintOf } from "../proof/bytes.js";
import { checksummed } from "../proof/identifiers.js";
import { EXACT_PROXY, PERMIT2, UPTO_PROXY } from "../proof/kinds.js";
import type { PayingAccount } from "./account.js";
import { chainIdOf, deadlineOf, fieldsOf, randomWord } from "./signing.js";

const PERMITTED = "token:address amount:uint256";
const PERMIT = "permitted:TokenPermissions spender:address nonce:uint256 deadline:uint256 witness:Witness";

/** Sign a Permit2 payment. */
export async function permit(account: PayingAccount, terms: PaymentRequirements): Promise<Record<string, unknown>> {
  const isUpto = terms.scheme === "upto";
  const named = terms.extra?.["facilitatorAddress"];
  if (isUpto && typeof named !== "string") {
    throw new TrustError("invalid_declaration", "extra has no facilitatorAddress, which the upto scheme requires");
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
    types: {
      PermitWitnessTransferFrom: fieldsOf(PERMIT),
      TokenPermissions: fieldsOf(PERMITTED),
      Witness: fieldsOf(witnessFields),
    },
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
