/**
 * Buy from agents: check a seller before a payment, and the proof of its answer.
 *
 * ```ts
 * const buy = trustedFetch({ account, chains: [base] });
 * const response = await buy("https://agent.example/weather");
 * const proof = verificationOf(response); // null if nothing was paid
 * ```
 */
export type { PayingAccount } from "./buyer/account.js";
export { abandonPayment, trustedFetch, verificationOf, type TrustedFetch, type TrustedFetchOptions } from "./buyer/fetch.js";
export { PolicyError, protectClient, type BuyerPolicy, type BuyerTerms } from "./buyer/protect.js";
export type { CheckCode, FieldFault, LostAnswerOutcome, PaymentCode, RefusalCode } from "./codes.js";
export * from "./errors.js";
export type { AnswerLimits } from "./limits.js";
export type { TrustTerms } from "./proof/chains.js";
export type { LoaderOptions } from "./proof/documents.js";
export { decodeHeader, encodeHeader } from "./proof/headers.js";
export type { AccountId, ChainId, GlobalAgentId } from "./proof/identifiers.js";
export type { Signer } from "./proof/keys.js";
export type { AgentRegistration, ReputationInfo } from "./proof/messages.js";
export type { Provider, TrustedChain } from "./proof/node.js";
export type { PaymentKind } from "./proof/kinds.js";
export type { Payment } from "./proof/payments.js";
export type { InteractionData } from "./proof/statements.js";
export { checkOf, type Check, type CheckName, type Outcome, type PaidExchange, type Verification } from "./proof/verdicts.js";
export { checkBeforePayment, verify } from "./proof/verify.js";
