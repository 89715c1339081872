/** The file of feedback on a paid answer, with the payment and both signatures. */
import { keccak_256 } from "@noble/hashes/sha3";
import type { Account, Chain, Client, Hex, Transport } from "viem";
import { signMessage } from "viem/actions";
import { InvalidArgumentError } from "../errors.js";
import { base64, hex, unhex, utf8 } from "../proof/bytes.js";
import { canonicalJson, clientMessageHash, draftReviewerHash } from "../proof/hashes.js";
import { accountText, checksummed, isEvm, type GlobalAgentId } from "../proof/identifiers.js";
import type { AgentRegistration } from "../proof/messages.js";
import { payerOf } from "../proof/payments.js";
import type { InteractionData } from "../proof/statements.js";
import { checkOf, payloadOf, type CheckName, type Verification } from "../proof/verdicts.js";

/** Both tags of feedback: the measured dimension, and its qualifier or the level of proof ("Tag Conventions"). */
export type Tags = readonly [tag1: string, tag2: string];

/** The tags for an answer that was delivered. */
export const RESOURCE_DELIVERED: Tags = ["x402-resource-delivered", "proof-of-participation"];
/** The tags for an answer that was not delivered. */
export const RESOURCE_MISSING: Tags = ["x402-resource-missing", "proof-of-participation"];
/** The tags for an answer that arrived late. */
export const RESPONSE_DELAYED: Tags = ["x402-response-delayed", "proof-of-participation"];
/** The tags for a payment of a different amount. */
export const PAYMENT_MISMATCH: Tags = ["x402-payment-amount", "mismatch"];
/** The tags for a quality rating in the profile `reputation`. */
export const QUALITY: Tags = ["starred", "x402"];

const MAX_HUMAN = 100;
const REQUIRED: readonly CheckName[] = ["agent", "task_ref", "payment", "signature"];

/** A viem client with an account, such as a wallet client. */
export type WalletLike = Client<Transport, Chain | undefined, Account>;

/** Feedback on a paid answer. */
export interface PaidFeedback {
  /** The verification of the answer. Agent, payment, task reference and signature must have passed. */
  readonly proof: Verification;
  /** The integer value on chain, from 0 to 255 except in the profile `reputation`; at most 100 with its decimals. */
  readonly value: number;
  /** The number of decimals of the value; 0 by default. */
  readonly decimals?: number;
  /** Both tags: by default `RESOURCE_DELIVERED`, and `QUALITY` in the profile `reputation`. */
  readonly tags?: Tags;
  /** A comment for human readers. */
  readonly comment?: string;
  /** The endpoint that was used. */
  readonly endpoint?: string;
}

/** The arguments of on-chain feedback. */
export interface FeedbackArguments {
  readonly agentId: bigint;
  readonly value: bigint;
  readonly valueDecimals: number;
  readonly tag1: string;
  readonly tag2: string;
  readonly endpoint: string;
  readonly feedbackURI: string;
  readonly feedbackHash: Hex;
}

/** Feedback that is ready to be sent. */
export interface PreparedFeedback {
  readonly args: FeedbackArguments;
  readonly registration: AgentRegistration;
  readonly interaction: InteractionData;
  /** The client's signature in the file. */
  readonly clientSignature: Hex;
  /** The payment's reference, which no other feedback by the client may contain. */
  readonly taskRef: string;
}

/** Return the statement, agent and payer from a verification that allows feedback. */
export function requiredParts(proof: Verification): [InteractionData, AgentRegistration, string] {
  const isUnproven = checkOf(proof, "payment").code === "not_provable";
  const failed = REQUIRED.filter((name) => checkOf(proof, name).outcome !== "passed");
  const missing = isUnproven ? failed.filter((name) => name !== "payment") : failed;
  const payer = proof.payment?.payer ?? (isUnproven ? payerOf(payloadOf(proof.paid)) : null);
  const { interaction, registration } = proof;
  if (missing.length || interaction === null || registration === null || payer === null) {
    const listed = missing.join(", ");
    throw new InvalidArgumentError(`feedback needs a verified payment and signature; failed checks: ${listed}`);
  }
  return [interaction, registration, payer];
}

/**
 * Prepare feedback: its file, signed by the client, as a `data:` URI.
 *
 * @throws {InvalidArgumentError} A required check did not pass, a different account paid, or the value is out of range.
 */
export async function prepareFeedback(wallet: WalletLike, feedback: PaidFeedback): Promise<PreparedFeedback> {
  const { proof, value, decimals = 0, comment, endpoint = "" } = feedback;
  const [interaction, registration, payer] = requiredParts(proof);
  const { account } = wallet;
  if (account.address.toLowerCase() !== payer.toLowerCase()) {
    throw new InvalidArgumentError(`${payer} made the payment, so ${account.address} cannot give feedback about it`);
  }
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 18) {
    throw new InvalidArgumentError(`decimals ${decimals} are out of range 0..18`);
  }
  if (!Number.isSafeInteger(value) || value < 0 || value > MAX_HUMAN * 10 ** decimals) {
    throw new InvalidArgumentError(`value ${value} with ${decimals} decimals is out of range 0..${MAX_HUMAN}`);
  }
  const { agent } = registration;
  const isDraft = interaction.dataHash !== null;
  const tags = feedback.tags ?? (isDraft ? QUALITY : RESOURCE_DELIVERED);
  const [tag1, tag2] = tags;
  const client = `${agent.registry.chain}:${checksummed(account.address.toLowerCase())}`;
  const [fields, clientSignature] = isDraft
    ? await draftFields(wallet, agent, interaction, BigInt(value), decimals, tags, client)
    : await specifiedFields(wallet, agent, interaction, value, tags);
  const payment = proof.payment && {
    fromAddress: proof.payment.payer,
    toAddress: proof.payment.payee,
    chainId: agent.registry.chain,
    txHash: interaction.taskRef.split(":")[2]?.toLowerCase(),
  };
  const file = {
    agentRegistry: accountText(agent.registry),
    agentId: isEvm(agent.registry.chain) ? "#" : agent.agent,
    clientAddress: client,
    createdAt: `${new Date().toISOString().slice(0, 19)}Z`,
    value,
    valueDecimals: decimals,
    ...(tag1 ? { tag1 } : {}),
    ...(tag2 ? { tag2 } : {}),
    ...(endpoint ? { endpoint } : {}),
    ...fields,
    ...(payment ? { proofOfPayment: payment } : { paymentStatus: "not_provable" }),
    ...(comment === undefined ? {} : { [isDraft ? "reasoning" : "comment"]: comment }),
  };
  // A number of JSON has any length, one of JavaScript has not.
  const text = (isDraft ? canonicalJson(file) : JSON.stringify(file)).replace('"agentId":"#"', `"agentId":${agent.agent}`);
  const content = utf8(text);
  return {
    args: {
      agentId: BigInt(agent.agent),
      value: BigInt(value),
      valueDecimals: decimals,
      tag1,
      tag2,
      endpoint,
      feedbackURI: `data:application/json;base64,${base64(content)}`,
      feedbackHash: `0x${hex(keccak_256(content))}`,
    },
    registration,
    interaction,
    clientSignature,
    taskRef: interaction.taskRef,
  };
}

type Fields = Record<string, unknown>;

async function specifiedFields(
  wallet: WalletLike,
  agent: GlobalAgentId,
  interaction: InteractionData,
  value: number,
  tags: Tags,
): Promise<[Fields, Hex]> {
  const signature = await signed(wallet, clientMessageHash(agent, interaction.taskRef, value));
  const fields = {
    taskRef: interaction.taskRef,
    interactionHash: `0x${hex(interaction.interactionHash)}`,
    agentSignature: hex(interaction.signature),
    clientSignature: signature.slice(2),
    tags: [...tags],
  };
  return [fields, signature];
}

async function draftFields(
  wallet: WalletLike,
  agent: GlobalAgentId,
  interaction: InteractionData,
  value: bigint,
  decimals: number,
  tags: Tags,
  client: string,
): Promise<[Fields, Hex]> {
  if (tags[1] !== "x402") throw new InvalidArgumentError(`in the reputation profile, tag2 must be "x402"`);
  const data = interaction.dataHash ?? new Uint8Array();
  const digest = draftReviewerHash(agent, interaction.taskRef, data, value, decimals, tags);
  const signature = await signed(wallet, digest);
  const proofOfInteraction = {
    taskRef: interaction.taskRef,
    dataHash: `0x${hex(data)}`,
    agentSignerPublicKey: `0x${hex(interaction.publicKey ?? new Uint8Array())}`,
    agentSignature: `0x${hex(interaction.signature)}`,
    agentSignatureAlgorithm: interaction.algorithm,
    reviewerAddress: client,
    reviewerSignature: extensionForm(signature),
    reviewerSignatureAlgorithm: "secp256k1",
  };
  return [{ proofOfInteraction }, signature];
}

/** Return a signature whose `v` is 0 or 1. A contract's signature has its own form. */
function extensionForm(signature: Hex): Hex {
  const content = unhex(signature.slice(2));
  const v = content?.[64] ?? 0;
  if (content?.length !== 65 || (v !== 27 && v !== 28)) return signature;
  content[64] = v - 27;
  return `0x${hex(content)}`;
}

/** Sign the client's message: the bare hash if the account can do so, else with the prefix of EIP-191. */
async function signed(wallet: WalletLike, digest: Uint8Array): Promise<Hex> {
  const { account } = wallet;
  const hash: Hex = `0x${hex(digest)}`;
  if (account.type === "local" && account.sign) return account.sign({ hash });
  return signMessage(wallet, { account, message: { raw: hash } });
}
