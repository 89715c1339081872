/** Messages after a payment: the server's signed statement and its reported settlement. */
import { hex } from "./bytes.js";
import * as read from "./fields.js";
import { interactionHash } from "./hashes.js";
import { accountText, type AccountId, type ChainId } from "./identifiers.js";
import { isObject, type JsonObject } from "./json.js";
import { REPUTATION_8004, type Profile } from "./messages.js";

/** A server's signed statement about one paid request ("InteractionData Fields"). */
export interface InteractionData {
  /** The payment's network. */
  readonly network: ChainId;
  readonly agentId: string;
  /** The reference of the payment's transaction, exactly as it was hashed. */
  readonly taskRef: string;
  /** The signed hash. */
  readonly interactionHash: Uint8Array;
  readonly signature: Uint8Array;
  /** The time of the signature in Unix time. It is not signed, so display it but never rely on it. */
  readonly timestamp: number | null;
  readonly agentRegistry: AccountId | null;
  /** The hash of both bodies; like the following fields, only in the profile `reputation`. */
  readonly dataHash: Uint8Array | null;
  readonly publicKey: Uint8Array | null;
  readonly algorithm: string | null;
  readonly feedbackEndpoint: string | null;
  /** The server's envelope for a blind rating, as received. It is not checked here. */
  readonly sealedRating: unknown;
}

/** A settlement as reported by the server in `PAYMENT-RESPONSE`, without any proof. */
export interface SettlementReceipt {
  readonly isSuccess: boolean;
  readonly network: string;
  readonly transaction: string;
  readonly payer: string | null;
  /** The unparsed statement from the extensions. */
  readonly interaction: unknown;
  /** The amount that the server reports as paid, in the token's smallest unit; null if it reports none. */
  readonly amount: string | null;
}

/** The hashes of a paid interaction. */
export interface Hashes {
  readonly interaction: Uint8Array;
  readonly data: Uint8Array | null;
}

/** Read a statement. The reader of the draft's is loaded with the first one. */
export async function statementOf({ key }: Profile, value: unknown): Promise<InteractionData> {
  return key === REPUTATION_8004 ? currentStatementOf(value) : (await import("./draft.js")).draftStatementOf(value);
}

/** Hash a paid interaction. The target, method and URL, only counts in the draft. */
export async function hashesOf(
  { key }: Profile,
  taskRef: string,
  request: Uint8Array,
  target: string,
  response: Uint8Array,
): Promise<Hashes> {
  if (key === REPUTATION_8004) return { interaction: await interactionHash(taskRef, request, response), data: null };
  return (await import("./draft.js")).draftHashesOf(taskRef, request, target, response);
}

/** Read a statement in the specification's profile. */
export function currentStatementOf(value: unknown): InteractionData {
  let fields = read.record(value, REPUTATION_8004);
  for (const name of ["info", "interaction"]) {
    const inner = read.own(fields, name);
    if (isObject(inner)) fields = inner;
  }
  const network = read.chain(fields, "networkId");
  const payment = read.transaction(fields, "taskRef");
  if (payment.chain !== network) {
    throw read.invalid("taskRef", "wrong_chain", `${payment.chain}:${payment.transaction}`, network, ", as networkId states");
  }
  const named = read.own(fields, "agentRegistry");
  const agentRegistry = named == null ? null : read.account(fields, "agentRegistry");
  const agentId = read.text(fields, "agentId");
  if (agentRegistry !== null) {
    if (agentRegistry.chain !== network) {
      throw read.invalid("agentRegistry", "wrong_chain", accountText(agentRegistry), network);
    }
    read.agent(agentRegistry, fields, "agentId");
  }
  return {
    network,
    agentId,
    taskRef: read.text(fields, "taskRef"),
    interactionHash: read.hexadecimal(fields, "interactionHash", 32),
    signature: read.hexadecimal(fields, "agentSignature", 64, 65),
    timestamp: read.whole(fields, "timestamp"),
    agentRegistry,
    dataHash: null,
    publicKey: null,
    algorithm: null,
    feedbackEndpoint: null,
    sealedRating: read.own(fields, "sealedRating") ?? null,
  };
}

/** Return a statement as the specification's JSON object. */
export function statementObject(statement: InteractionData): JsonObject {
  return {
    networkId: statement.network,
    agentId: statement.agentId,
    ...(statement.agentRegistry ? { agentRegistry: accountText(statement.agentRegistry) } : {}),
    taskRef: statement.taskRef,
    interactionHash: `0x${hex(statement.interactionHash)}`,
    agentSignature: hex(statement.signature),
    timestamp: statement.timestamp,
    ...(statement.sealedRating ? { sealedRating: statement.sealedRating } : {}),
  };
}

/**
 * Read a settlement: flat, as x402 writes it, or wrapped, as in the specification's example.
 *
 * @param value `PAYMENT-RESPONSE`, decoded.
 * @param key The key of the statement among the extensions.
 */
export function settlementOf(value: unknown, key: string = REPUTATION_8004): SettlementReceipt {
  const fields = read.record(value, "PAYMENT-RESPONSE");
  const listed = read.own(fields, "extensions");
  const interaction = listed == null ? null : read.own(read.record(listed, "extensions"), key);
  const isWrapped = Object.hasOwn(fields, "settlementResponse");
  const settled = isWrapped ? read.record(fields["settlementResponse"], "settlementResponse") : fields;
  const [networkName, transactionName] = isWrapped ? ["networkId", "txHash"] : ["network", "transaction"];
  const success = read.own(settled, "success");
  if (typeof success !== "boolean") {
    throw read.invalid("success", success == null ? "missing" : "wrong_type");
  }
  const payer = read.own(settled, "payer") == null ? null : read.text(settled, "payer");
  const amount = (read.own(settled, "amount") ?? "") === "" ? null : read.text(settled, "amount");
  const network = read.text(settled, networkName ?? "");
  const isOfNothing = read.own(settled, transactionName ?? "") === "" && amount === "0";
  const transaction = isOfNothing ? "" : read.text(settled, transactionName ?? "");
  return { isSuccess: success, network, transaction, payer, interaction: interaction ?? null, amount };
}

/** Return whether the server reports that it charged nothing (scheme `upto`), in which case there is no transaction. */
export function isOfNothing(receipt: SettlementReceipt): boolean {
  return receipt.isSuccess && !receipt.transaction && receipt.amount === "0";
}
