/**
 * Feedback on a paid answer, once per payment: sent by the buyer, or signed for an aggregator that pays the gas.
 *
 * ```ts
 * const proof = verificationOf(response);
 * if (proof?.isVerified) await giveFeedback(walletClient, { proof, value: 95, comment: "Excellent service" });
 * ```
 */
import type { Address, Hex } from "viem";
import { getBlockNumber, getChainId, getLogs, readContract, simulateContract, signTypedData, writeContract } from "viem/actions";
import { bidirectionalReputationRegistryAbi } from "../../abi.js";
import { feedbackMessage } from "../../registries/typed-data.js";
import { InvalidArgumentError, printable, quoted, X402Error } from "../errors.js";
import { readAll } from "../limits.js";
import { explained } from "../problems.js";
import { base64, hex } from "../proof/bytes.js";
import { FileCache, type LoaderOptions } from "../proof/documents.js";
import { accountText } from "../proof/identifiers.js";
import { decodeObject, isObject, type JsonObject } from "../proof/json.js";
import { prepareFeedback, type FeedbackArguments, type PaidFeedback, type PreparedFeedback, type WalletLike } from "./file.js";

export {
  PAYMENT_MISMATCH,
  QUALITY,
  RESOURCE_DELIVERED,
  RESOURCE_MISSING,
  RESPONSE_DELAYED,
  type FeedbackArguments,
  type PaidFeedback,
  type Tags,
  type WalletLike,
} from "./file.js";

/** How the client's earlier feedback is checked. */
export interface FeedbackOptions {
  /** True to continue if the file of an earlier feedback entry cannot be loaded. */
  readonly acceptUnread?: boolean;
  /** How the files of earlier feedback are loaded. */
  readonly files?: LoaderOptions;
}

/** The client has already given feedback for this payment. */
export class DuplicateFeedbackError extends X402Error {
  override readonly name: string = "DuplicateFeedbackError";
  /**
   * @param index The number of the earlier feedback entry, starting at 1.
   * @param taskRef The payment.
   */
  constructor(
    readonly index: bigint,
    readonly taskRef: string,
  ) {
    super("duplicate_feedback", `feedback ${index} already covers payment ${taskRef}: a payment backs only one feedback entry`);
  }
}

/** An earlier feedback entry by the client may refer to this payment, but its file cannot be loaded. */
export class UnreadFeedbackError extends X402Error {
  override readonly name: string = "UnreadFeedbackError";
  /**
   * @param index The number of the earlier feedback entry, starting at 1.
   * @param uri The URI of the file.
   * @param options The cause.
   */
  constructor(
    readonly index: bigint,
    readonly uri: string,
    options?: ErrorOptions,
  ) {
    const problem = `the file ${quoted(uri.slice(0, 200))} of feedback ${index} cannot be loaded, so it may already be for this payment`;
    super("unread_feedback", `${problem}; try again, or pass acceptUnread: true if it is for a different payment`, options);
  }
}

/** An aggregator rejected the feedback. */
export class FeedbackRefusedError extends X402Error {
  override readonly name: string = "FeedbackRefusedError";
}

/** An aggregator cannot be reached, or its response is invalid. The feedback may be queued: send it again. */
export class AggregatorFailedError extends X402Error {
  override readonly name: string = "AggregatorFailedError";
  /**
   * @param message The human-readable reason.
   * @param options The cause.
   */
  constructor(message: string, options?: ErrorOptions) {
    super("aggregator_failed", message, options);
  }
}

/** Signed feedback that another account may send (`giveFeedbackBySig`). */
export interface SignedFeedback {
  readonly registry: Address;
  readonly clientAddress: Address;
  /** The number that the feedback entry will have. */
  readonly feedbackIndex: bigint;
  readonly args: FeedbackArguments;
  /** The last second at which the registry accepts the signature, in Unix time. */
  readonly deadline: bigint;
  readonly signature: Hex;
}

/** The response of an aggregator that accepted feedback. Do not trust it: look for the feedback in the registry. */
export interface SponsoredFeedback {
  readonly status: "submitted" | "queued" | "included" | "confirmed";
  readonly id: number;
  readonly transaction: Hex | null;
  readonly proof: "bound" | "unbound";
  /** The signed feedback. Anyone may send it to the registry if the aggregator does not. */
  readonly signed: SignedFeedback;
}

const MAX_BODIES = 1024 * 1024;
const MAX_ANSWER = 64 * 1024;
const SECONDS = 30;
const LIFETIME = 3600; // seconds in which an aggregator may send a signed feedback
const STATES: readonly string[] = ["submitted", "queued", "included", "confirmed"];

/**
 * Give feedback on a paid answer, once per payment. The client's account pays the gas.
 *
 * @param wallet A viem client with the account that paid, on the chain of the agent.
 * @param feedback The verification of the answer, and the rating.
 * @param options How earlier feedback is checked.
 * @returns The transaction's hash.
 * @throws {InvalidArgumentError} A required check did not pass, a different account paid, or the value is out of range.
 * @throws {DuplicateFeedbackError} This account has already given feedback for this payment.
 * @throws {UnreadFeedbackError} This account has given feedback since the payment, and its file cannot be loaded.
 */
export async function giveFeedback(wallet: WalletLike, feedback: PaidFeedback, options: FeedbackOptions = {}): Promise<Hex> {
  const prepared = await prepareFeedback(wallet, feedback);
  const address = await registryOf(wallet, prepared);
  await refuseSecond(wallet, address, feedback, prepared, options);
  const { agentId, value, valueDecimals, tag1, tag2, endpoint, feedbackURI, feedbackHash } = prepared.args;
  const { request } = await simulateContract(wallet, {
    account: wallet.account,
    address,
    abi: bidirectionalReputationRegistryAbi,
    functionName: "giveFeedback",
    args: [agentId, value, valueDecimals, tag1, tag2, endpoint, feedbackURI, feedbackHash],
  });
  return writeContract(wallet, request as never);
}

/**
 * Sign feedback on a paid answer for another account to send. See `giveFeedback`.
 *
 * @param options `seconds`: how long the registry accepts the signature, one hour by default.
 */
export async function signFeedback(
  wallet: WalletLike,
  feedback: PaidFeedback,
  options: FeedbackOptions & { readonly seconds?: number } = {},
): Promise<SignedFeedback> {
  return (await preparedAndSigned(wallet, feedback, options)).signed;
}

/** Send signed feedback. The client's account pays the gas and is not the author. */
export async function submitSignedFeedback(wallet: WalletLike, signed: SignedFeedback): Promise<Hex> {
  const { args, clientAddress, feedbackIndex, deadline, signature, registry: address } = signed;
  const { request } = await simulateContract(wallet, {
    account: wallet.account,
    address,
    abi: bidirectionalReputationRegistryAbi,
    functionName: "giveFeedbackBySig",
    args: [clientAddress, { ...args, feedbackIndex } as never, deadline, signature],
  });
  return writeContract(wallet, request as never);
}

/**
 * Give feedback on a paid answer through an aggregator, which pays the gas. See `giveFeedback`.
 *
 * @param options `aggregator`: the URL to post to; choose one that you trust to be neutral. `sendBodies`: send the
 *   bodies of the paid request too, 1 MiB in total, so that the aggregator can prove that the signature is for this
 *   payment. `fetch`: the function that posts; without it, the URL must be https.
 * @throws {FeedbackRefusedError} The aggregator rejected the feedback. The error's `code` states why.
 * @throws {AggregatorFailedError} The aggregator cannot be reached, or its response is invalid.
 */
export async function sponsoredFeedback(
  wallet: WalletLike,
  feedback: PaidFeedback,
  options: FeedbackOptions & {
    readonly aggregator: string;
    readonly seconds?: number;
    readonly sendBodies?: boolean;
    readonly fetch?: typeof globalThis.fetch;
  },
): Promise<SponsoredFeedback> {
  const { aggregator, fetch } = options;
  if (!fetch && !/^https:/i.test(aggregator)) {
    throw new InvalidArgumentError(`the aggregator ${quoted(aggregator)} is not an https URL: pass fetch to allow it`);
  }
  const bodies = options.sendBodies ? bodiesOf(feedback) : {};
  const { prepared, signed } = await preparedAndSigned(wallet, feedback, options);
  const message = { ...submissionOf(prepared, signed), ...bodies };
  const answer = await posted(fetch ?? ((input, init) => globalThis.fetch(input, init)), aggregator, message);
  const { status, id, txRef, proof } = answer;
  const transaction = typeof txRef === "string" ? (txRef.split(":")[2] ?? "") : null;
  const isAnswer =
    typeof status === "string" &&
    STATES.includes(status) &&
    Number.isSafeInteger(Number(id)) &&
    (proof === "bound" || proof === "unbound") &&
    (transaction === null || /^0x[0-9a-f]{64}$/.test(transaction));
  if (!isAnswer) throw new AggregatorFailedError("the aggregator's response is invalid");
  return { status: status as SponsoredFeedback["status"], id: Number(id), transaction: transaction as Hex | null, proof, signed };
}

async function preparedAndSigned(
  wallet: WalletLike,
  feedback: PaidFeedback,
  options: FeedbackOptions & { readonly seconds?: number },
): Promise<{ prepared: PreparedFeedback; signed: SignedFeedback }> {
  const prepared = await prepareFeedback(wallet, feedback);
  const registry = await registryOf(wallet, prepared);
  await refuseSecond(wallet, registry, feedback, prepared, options);
  const clientAddress = wallet.account.address;
  const feedbackIndex = (await lastIndex(wallet, registry, prepared)) + 1n;
  const deadline = BigInt(Math.floor(Date.now() / 1000) + (options.seconds ?? LIFETIME));
  const { domain: name, types, primaryType } = feedbackMessage;
  const signature = await signTypedData(wallet, {
    account: wallet.account,
    domain: { name, version: "1", chainId: chainIdOf(prepared), verifyingContract: registry },
    types,
    primaryType,
    message: { ...prepared.args, clientAddress, feedbackIndex, deadline },
  });
  return { prepared, signed: { registry, clientAddress, feedbackIndex, args: prepared.args, deadline, signature } };
}

function chainIdOf({ registration }: PreparedFeedback): number {
  return Number(registration.agent.registry.chain.slice("eip155:".length));
}

/** Return the reputation registry for feedback, on the client's chain. */
async function registryOf(wallet: WalletLike, prepared: PreparedFeedback): Promise<Address> {
  const expected = chainIdOf(prepared);
  const chainId = await getChainId(wallet);
  if (chainId !== expected) throw new InvalidArgumentError(`the agent is on chain ${expected}, not ${chainId}`);
  const { reputationRegistry } = prepared.registration;
  if (!reputationRegistry) throw new InvalidArgumentError("the agent's reputation registry is unknown");
  return reputationRegistry.address as Address;
}

function lastIndex(wallet: WalletLike, address: Address, { args }: PreparedFeedback): Promise<bigint> {
  const call = { address, abi: bidirectionalReputationRegistryAbi, functionName: "getLastIndex" } as const;
  return readContract(wallet, { ...call, args: [args.agentId, wallet.account.address] });
}

/** Reject a second feedback entry for one payment. Feedback from before the payment cannot refer to it. */
async function refuseSecond(
  wallet: WalletLike,
  address: Address,
  { proof }: PaidFeedback,
  prepared: PreparedFeedback,
  options: FeedbackOptions,
): Promise<void> {
  const count = await lastIndex(wallet, address, prepared);
  if (count === 0n) return;
  const event = bidirectionalReputationRegistryAbi.find((entry) => entry.type === "event" && entry.name === "NewFeedback");
  const args = { agentId: prepared.args.agentId, clientAddress: wallet.account.address };
  const isSameChain = prepared.interaction.network === prepared.registration.agent.registry.chain;
  const fromBlock = isSameChain ? (proof.payment?.block ?? 0n) : 0n;
  const toBlock = await getBlockNumber(wallet, { cacheTime: 0 });
  const logs = await getLogs(wallet, { address, event: event as never, args: args as never, fromBlock, toBlock });
  const files = new FileCache(options.files);
  for (const log of logs as unknown as { args: { feedbackIndex: bigint; feedbackURI: string } }[]) {
    const { feedbackIndex, feedbackURI } = log.args;
    if (!feedbackURI) continue;
    let file: JsonObject;
    try {
      file = decodeObject((await files.load(feedbackURI)).content);
    } catch (error) {
      if (options.acceptUnread) continue;
      throw new UnreadFeedbackError(feedbackIndex, feedbackURI, { cause: explained(error) });
    }
    const inner = file["proofOfInteraction"];
    const named = isObject(inner) ? inner["taskRef"] : file["taskRef"];
    if (typeof named === "string" && named.toLowerCase() === prepared.taskRef.toLowerCase()) {
      throw new DuplicateFeedbackError(feedbackIndex, prepared.taskRef);
    }
  }
}

function bodiesOf({ proof }: PaidFeedback): object {
  const { request, response, isBodyLost } = proof.paid;
  if (response === null || isBodyLost) {
    throw new InvalidArgumentError("the bodies of the paid request are not available: omit sendBodies");
  }
  if (request.length + response.length > MAX_BODIES) {
    throw new InvalidArgumentError(`the bodies exceed the limit of ${MAX_BODIES} bytes: omit sendBodies`);
  }
  return { bodies: { request: base64(request), response: base64(response) } };
}

/** Return the message for an aggregator. */
function submissionOf({ args, registration, interaction, clientSignature }: PreparedFeedback, signed: SignedFeedback): object {
  const { registry, agent } = registration.agent;
  const { dataHash } = interaction;
  return {
    interactionData: {
      networkId: registry.chain,
      agentRegistry: accountText(registry),
      agentId: agent,
      taskRef: interaction.taskRef,
      interactionHash: `0x${hex(interaction.interactionHash)}`,
      agentSignature: hex(interaction.signature),
      ...(dataHash === null ? {} : { dataHash: `0x${hex(dataHash)}` }),
    },
    review: {
      value: Number(args.value),
      valueDecimals: args.valueDecimals,
      tag1: args.tag1,
      tag2: args.tag2,
      endpoint: args.endpoint,
    },
    reviewerAddress: `${registry.chain}:${signed.clientAddress}`,
    reviewerSignature: clientSignature,
    reviewerSignatureAlgorithm: "secp256k1",
    sponsored: {
      feedbackURI: args.feedbackURI,
      feedbackHash: args.feedbackHash,
      feedbackIndex: String(signed.feedbackIndex),
      deadline: String(signed.deadline),
      signature: signed.signature,
    },
  };
}

async function posted(fetch: typeof globalThis.fetch, url: string, message: object): Promise<JsonObject> {
  let answer: JsonObject;
  let status: number;
  const signal = AbortSignal.timeout(SECONDS * 1000);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(message),
      redirect: "manual", // Workers do not know "error"
      signal,
    });
    status = response.status;
    answer = decodeObject(await readAll(response, MAX_ANSWER, signal));
  } catch (error) {
    throw new AggregatorFailedError("the aggregator's response is invalid; send the feedback again", { cause: explained(error) });
  }
  if ([200, 201, 202].includes(status)) return answer;
  const { code, detail, title } = answer;
  if (typeof code !== "string") throw new AggregatorFailedError(`the aggregator's response (${status}) is invalid`);
  const problem = [detail, title, code].find((text) => typeof text === "string" && text);
  throw new FeedbackRefusedError(printable(code.slice(0, 80)), printable(String(problem).slice(0, 1000)));
}
