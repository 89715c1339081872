/**
 * Messages of the extension: the server's declaration, the client's claim, the signed statement, the settlement.
 *
 * They are read strictly, and unknown fields are ignored. The JSON Schema in a declaration is never used: it is the
 * server's word too.
 */
import { InvalidMessageError } from "../errors.js";
import { hex, utf8 } from "./bytes.js";
import * as read from "./fields.js";
import { draftDataHash, draftInteractionHash, interactionHash } from "./hashes.js";
import { accountText, type AccountId, type ChainId, type GlobalAgentId } from "./identifiers.js";
import { isObject, type JsonObject } from "./json.js";

/** The extension's key in `extensions` of x402 messages. */
export const REPUTATION_8004 = "8004-reputation";

/** The key of the upstream draft, which servers may declare instead or beside it. */
export const REPUTATION_DRAFT = "reputation";

const MAX_REGISTRATIONS = 32;
const MAX_LIFETIME = 14 * 24 * 3600; // of an envelope for a blind rating
const KEY_BYTES: Readonly<Record<string, readonly number[]>> = { ed25519: [32], secp256k1: [33, 65] };

/** A server's agent on one chain ("AgentRegistration Object"). */
export interface AgentRegistration {
  readonly agent: GlobalAgentId;
  /** The reputation registry, on the same chain. Null in the profile `reputation`, which does not name it. */
  readonly reputationRegistry: AccountId | null;
}

/** A server's declaration, `info` of the extension in a 402 response ("ReputationInfo Structure"). */
export interface ReputationInfo {
  readonly version: string;
  readonly registrations: readonly AgentRegistration[];
  /** The URL of the server's service. */
  readonly endpoint: string | null;
  /** The URL of a service that sends signed feedback and pays the gas. */
  readonly feedbackAggregator: string | null;
  /** True if the server delivers an answer for which it charges nothing (`upto`), without a proof. */
  readonly freeAnswers: boolean;
}

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
  /** The time of the signature in Unix time. It is not signed: show it, never decide by it. */
  readonly timestamp: number | null;
  readonly agentRegistry: AccountId | null;
  /** The hash of both bodies; only in the profile `reputation`, as are the following. */
  readonly dataHash: Uint8Array | null;
  readonly publicKey: Uint8Array | null;
  readonly algorithm: string | null;
  readonly feedbackEndpoint: string | null;
  /** The server's envelope for a blind rating, as it travelled. It is not checked here. */
  readonly sealedRating: unknown;
}

/** A settlement as the server reports it in `PAYMENT-RESPONSE`, without any proof. */
export interface SettlementReceipt {
  readonly isSuccess: boolean;
  readonly network: string;
  readonly transaction: string;
  readonly payer: string | null;
  /** The statement among the extensions, not read yet. */
  readonly interaction: unknown;
  /** The amount that the server says was paid, in the token's smallest unit; null if it names none. */
  readonly amount: string | null;
}

/** The hashes of a paid interaction. */
export interface Hashes {
  readonly interaction: Uint8Array;
  readonly data: Uint8Array | null;
}

/** One form of the messages. */
export interface Profile {
  readonly key: typeof REPUTATION_8004 | typeof REPUTATION_DRAFT;
  /** Read a declaration. */
  infoOf(value: unknown): ReputationInfo;
  /** Read a statement. */
  statementOf(value: unknown): InteractionData;
  /** Hash a paid interaction. */
  hashes(taskRef: string, request: Uint8Array, target: string, response: Uint8Array): Promise<Hashes>;
}

/** The specification's profile, the default. */
export const PROFILE_8004: Profile = {
  key: REPUTATION_8004,
  infoOf: (value) => infoOf(value, false),
  statementOf,
  async hashes(taskRef, request, _target, response) {
    return { interaction: await interactionHash(taskRef, request, response), data: null };
  },
};

/** The upstream draft. */
export const PROFILE_DRAFT: Profile = {
  key: REPUTATION_DRAFT,
  infoOf: (value) => infoOf(value, true),
  statementOf: draftStatementOf,
  async hashes(taskRef, request, target, response) {
    const data = await draftDataHash(request.length ? request : utf8(target), response);
    return { interaction: draftInteractionHash(taskRef, data), data };
  },
};

/** The profiles. If a message has both, the first one counts. */
export const PROFILES: readonly Profile[] = [PROFILE_8004, PROFILE_DRAFT];

/** Return the profile of the first `extensions` object that has the key of one; the specification's if none has. */
export function profileAmong(...extensions: readonly unknown[]): Profile {
  for (const extension of extensions) {
    const found = PROFILES.find((profile) => isObject(extension) && Object.hasOwn(extension, profile.key));
    if (found) return found;
  }
  return PROFILE_8004;
}

function registrationOf(value: unknown, place: string, isDraft: boolean): AgentRegistration {
  const fields = read.record(value, place);
  const path = `${place}.`;
  const registry = read.account(fields, "agentRegistry", path);
  const agent = read.agent(registry, fields, "agentId", path);
  if (isDraft) return { agent, reputationRegistry: null };
  const reputation = read.account(fields, "reputationRegistry", path);
  if (reputation.chain !== registry.chain) {
    const problem = `${accountText(reputation)} is not on the chain of ${accountText(registry)}`;
    throw new InvalidMessageError(`${path}reputationRegistry`, "wrong_chain", problem);
  }
  return { agent, reputationRegistry: reputation };
}

function infoOf(value: unknown, isDraft: boolean): ReputationInfo {
  let fields = read.record(value, "info");
  if (Object.hasOwn(fields, "info")) fields = read.record(fields["info"], "info");
  const version = read.text(fields, "version");
  const match = /^([0-9]{1,6})\.[0-9]{1,6}\.[0-9]{1,6}$/.exec(version);
  if (!match) throw new InvalidMessageError("version", "malformed", "expected three numbers, such as 1.0.0");
  if (Number(match[1]) !== 1) {
    throw new InvalidMessageError("version", "unsupported_version", `version ${version} is not supported`);
  }
  const listed = read.list(fields, "registrations");
  if (!listed.length) throw new InvalidMessageError("registrations", "malformed", "the list is empty");
  if (listed.length > MAX_REGISTRATIONS) {
    const problem = `${listed.length} exceed the limit of ${MAX_REGISTRATIONS}`;
    throw new InvalidMessageError("registrations", "too_many", problem);
  }
  const registrations = listed.map((entry, at) => registrationOf(entry, `registrations[${at}]`, isDraft));
  if (isDraft) return { version, registrations, endpoint: null, feedbackAggregator: null, freeAnswers: false };
  const endpoint = read.optionalUri(fields, "endpoint");
  const feedbackAggregator = read.optionalUri(fields, "feedbackAggregator");
  checkBlindTerms(read.own(fields, "blind"));
  const freeAnswers = read.own(fields, "freeAnswers") === true;
  return { version, registrations, endpoint, feedbackAggregator, freeAnswers };
}

/** Check the terms of blind ratings, which are passed through. */
function checkBlindTerms(value: unknown): void {
  if (value === null || value === undefined) return;
  const fields = read.record(value, "blind");
  const after = read.whole(fields, "after");
  const lifetime = read.whole(fields, "lifetime");
  for (const [name, number, most] of [["after", after, 2 ** 53 - 1], ["lifetime", lifetime, MAX_LIFETIME]] as const) {
    if (number < 1 || number > most) {
      throw new InvalidMessageError(`blind.${name}`, "malformed", `the number is out of range 1..${most}`);
    }
  }
}

/**
 * Read a client's claim to be an agent: inside `info`, or beside it, as in the specification's example.
 *
 * @param value `extensions["8004-reputation"]` of a payment payload.
 * @returns The claimed agent; null if the client claims none. Anybody can make this claim.
 */
export function clientAgentOf(value: unknown): GlobalAgentId | null {
  if (value === null || value === undefined) return null;
  const outer = read.record(value, REPUTATION_8004);
  for (const fields of [read.own(outer, "info"), outer]) {
    if (!isObject(fields)) continue;
    if (Object.hasOwn(fields, "clientAgentRegistry") || Object.hasOwn(fields, "clientAgentId")) {
      return read.agent(read.account(fields, "clientAgentRegistry"), fields, "clientAgentId");
    }
  }
  return null;
}

function statementOf(value: unknown): InteractionData {
  let fields = read.record(value, REPUTATION_8004);
  for (const name of ["info", "interaction"]) {
    const inner = read.own(fields, name);
    if (isObject(inner)) fields = inner;
  }
  const network = read.chain(fields, "networkId");
  const payment = read.transaction(fields, "taskRef");
  if (payment.chain !== network) {
    const problem = `${payment.chain}:${payment.transaction} is not on ${network}, as networkId says`;
    throw new InvalidMessageError("taskRef", "wrong_chain", problem);
  }
  const named = read.own(fields, "agentRegistry");
  const agentRegistry = named === null || named === undefined ? null : read.account(fields, "agentRegistry");
  const agentId = read.text(fields, "agentId");
  if (agentRegistry !== null) {
    if (agentRegistry.chain !== network) {
      const problem = `${accountText(agentRegistry)} is not on ${network}`;
      throw new InvalidMessageError("agentRegistry", "wrong_chain", problem);
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

function draftStatementOf(value: unknown): InteractionData {
  const fields = read.record(value, REPUTATION_DRAFT);
  const agentRegistry = read.account(fields, "agentRegistry");
  const agent = read.agent(agentRegistry, fields, "agentId");
  const payment = read.transaction(fields, "taskRef");
  const algorithm = read.text(fields, "agentSignatureAlgorithm");
  const lengths = Object.hasOwn(KEY_BYTES, algorithm) ? KEY_BYTES[algorithm] : undefined;
  if (lengths === undefined) {
    const problem = `expected ${Object.keys(KEY_BYTES).join(" or ")}`;
    throw new InvalidMessageError("agentSignatureAlgorithm", "malformed", problem);
  }
  return {
    network: payment.chain,
    agentId: agent.agent,
    taskRef: read.text(fields, "taskRef"),
    interactionHash: read.hexadecimal(fields, "interactionHash", 32),
    signature: read.hexadecimal(fields, "agentSignature", 64, 65),
    timestamp: null,
    agentRegistry,
    dataHash: read.hexadecimal(fields, "dataHash", 32),
    publicKey: read.hexadecimal(fields, "agentSignerPublicKey", ...lengths),
    algorithm,
    feedbackEndpoint: read.optionalUri(fields, "feedbackEndpoint"),
    sealedRating: null,
  };
}

/** Return a statement as the JSON object of the specification. */
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
  const isListed = listed !== null && listed !== undefined;
  const interaction = isListed ? read.own(read.record(listed, "extensions"), key) : undefined;
  const isWrapped = Object.hasOwn(fields, "settlementResponse");
  const settled = isWrapped ? read.record(fields["settlementResponse"], "settlementResponse") : fields;
  const [networkName, transactionName] = isWrapped ? ["networkId", "txHash"] : ["network", "transaction"];
  const success = read.own(settled, "success");
  if (typeof success !== "boolean") {
    const code = success === null || success === undefined ? "missing" : "wrong_type";
    throw new InvalidMessageError("success", code, "expected true or false");
  }
  const named = read.own(settled, "payer");
  const payer = named === null || named === undefined ? null : read.text(settled, "payer");
  const reported = read.own(settled, "amount");
  const isNamed = reported !== null && reported !== undefined && reported !== "";
  const amount = isNamed ? read.text(settled, "amount") : null;
  const network = read.text(settled, networkName ?? "");
  const isOfNothing = read.own(settled, transactionName ?? "") === "" && amount === "0";
  const transaction = isOfNothing ? "" : read.text(settled, transactionName ?? "");
  return { isSuccess: success, network, transaction, payer, interaction: interaction ?? null, amount };
}

/** Tell whether the server says that it took nothing (scheme `upto`): there is no transaction then. */
export function isOfNothing(receipt: SettlementReceipt): boolean {
  return receipt.isSuccess && !receipt.transaction && receipt.amount === "0";
}

/** Return the first registration on a network ("Step 1"); null without one. */
export function registrationOn(info: ReputationInfo, network: string): AgentRegistration | null {
  return info.registrations.find((registration) => registration.agent.registry.chain === network) ?? null;
}
