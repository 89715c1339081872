/** Reports that nothing was paid (scheme `upto`). Loaded with the first one. */
import { NodeError } from "../errors.js";
import type { ChainReader } from "./chains.js";
import { PaymentProblemError, signedPayment, type Settlement, type SignedPayment } from "./payments.js";
import { expiryOf, findSettlement } from "./settlements.js";
import { failed, unchecked, type Stopped } from "./stops.js";
import { acceptedOf, payloadOf, type PaidExchange } from "./verdicts.js";

/**
 * Judge the report that nothing was paid. The server may still settle the payment until its deadline.
 *
 * @returns The transaction that took something all the same, and the end of the check.
 */
export async function judgeUnused(
  paid: PaidExchange,
  reader: ChainReader | null,
  confirmations: number,
): Promise<{ transaction: string | null; stop: Stopped }> {
  const terms = [acceptedOf(paid), payloadOf(paid)] as const;
  const signed = await signedOrNull(...terms);
  if (signed?.kind !== "permit2-upto") {
    return { transaction: null, stop: failed("malformed", "transaction: the text is empty", "transaction") };
  }
  let settlement: Settlement | null = null;
  try {
    settlement = reader && (await findSettlement(reader.node, ...terms, confirmations));
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
  }
  if (settlement?.isPaid) {
    const amount = settlement.amount ?? `up to ${signed.amount}`;
    const problem = `the server reports that nothing was paid, but took ${amount}`;
    return { transaction: settlement.transaction, stop: failed("amount_mismatch", problem, "amount") };
  }
  const until = `the server may still take up to ${signed.amount} until ${expiryOf(signed)}`;
  const problem = settlement?.isExpired
    ? "nothing was paid, and nothing can be taken any more"
    : `nothing was paid so far; ${until}`;
  return { transaction: null, stop: unchecked("nothing_paid", problem) };
}

async function signedOrNull(...terms: Parameters<typeof signedPayment>): Promise<SignedPayment | null> {
  try {
    return await signedPayment(...terms);
  } catch (error) {
    if (error instanceof PaymentProblemError) return null;
    throw error;
  }
}
