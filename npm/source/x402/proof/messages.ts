/**
 * Messages before a payment: the server's declaration, and the client's claim to be an agent.
 *
 * They are parsed strictly, and unknown fields are ignored. The JSON Schema in a declaration is never used, because the
 * server controls it too.
 */
import * as read from "./fields.js";
import { accountText, type AccountId, type GlobalAgentId } from "./identifiers.js";
import { isObject } from "./json.js";

/** The extension's key in `extensions` of x402 messages. */
export const REPUTATION_8004 = "8004-reputation";

/** The upstream draft's key, which servers may declare instead or as well. */
export const REPUTATION_DRAFT = "reputation";

const MAX_REGISTRATIONS = 32;
const MAX_LIFETIME = 14 * 24 * 3600; // of an envelope for a blind rating

/** A server's agent on one chain ("AgentRegistration Object"). */
export interface AgentRegistration {
  readonly agent: GlobalAgentId;
  /** The reputation registry, on the same chain. Null in the profile `reputation`, which does not contain it. */
  readonly reputationRegistry: AccountId | null;
}

/** A server's declaration, the extension's `info` in a 402 response ("ReputationInfo Structure"). */
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

/** One form of the messages: the key for its parts, and its declaration's parser. */
export interface Profile {
  readonly key: typeof REPUTATION_8004 | typeof REPUTATION_DRAFT;
  /** Read a declaration. */
  infoOf(value: unknown): ReputationInfo;
}

/** The specification's profile, the default. */
export const PROFILE_8004: Profile = { key: REPUTATION_8004, infoOf: (value) => infoOf(value, false) };

/** The upstream draft. */
export const PROFILE_DRAFT: Profile = { key: REPUTATION_DRAFT, infoOf: (value) => infoOf(value, true) };

/** The profiles. If a message has both, the first one counts. */
export const PROFILES: readonly Profile[] = [PROFILE_8004, PROFILE_DRAFT];

/** Return the profile whose key the first matching `extensions` object contains; by default, the specification's. */
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
    throw read.invalid(`${path}reputationRegistry`, "wrong_chain", accountText(reputation), `the chain of ${accountText(registry)}`);
  }
  return { agent, reputationRegistry: reputation };
}

function infoOf(value: unknown, isDraft: boolean): ReputationInfo {
  let fields = read.record(value, "info");
  if (Object.hasOwn(fields, "info")) fields = read.record(fields["info"], "info");
  const version = read.text(fields, "version");
  const match = /^([0-9]{1,6})\.[0-9]{1,6}\.[0-9]{1,6}$/.exec(version);
  if (!match) throw read.invalid("version", "malformed", "version");
  if (Number(match[1]) !== 1) throw read.invalid("version", "unsupported_version", version);
  const listed = read.list(fields, "registrations");
  if (!listed.length) throw read.invalid("registrations", "malformed", "emptyList");
  if (listed.length > MAX_REGISTRATIONS) {
    throw read.invalid("registrations", "too_many", listed.length, MAX_REGISTRATIONS);
  }
  const registrations = listed.map((entry, at) => registrationOf(entry, `registrations[${at}]`, isDraft));
  if (isDraft) return { version, registrations, endpoint: null, feedbackAggregator: null, freeAnswers: false };
  const endpoint = read.optionalUri(fields, "endpoint");
  const feedbackAggregator = read.optionalUri(fields, "feedbackAggregator");
  checkBlindTerms(read.own(fields, "blind"));
  const freeAnswers = read.own(fields, "freeAnswers") === true;
  return { version, registrations, endpoint, feedbackAggregator, freeAnswers };
}

/** Check the terms for blind ratings, which are passed through. */
function checkBlindTerms(value: unknown): void {
  if (value == null) return;
  const fields = read.record(value, "blind");
  const after = read.whole(fields, "after");
  const lifetime = read.whole(fields, "lifetime");
  for (const [name, number, most] of [["after", after, 2 ** 53 - 1], ["lifetime", lifetime, MAX_LIFETIME]] as const) {
    if (number < 1 || number > most) throw read.invalid(`blind.${name}`, "malformed", "range", most);
  }
}

/**
 * Read a client's claim to be an agent, inside `info` or next to it, as in the specification's example.
 *
 * @param value `extensions["8004-reputation"]` of a payment payload.
 * @returns The claimed agent; null if the client claims none. Anyone can make this claim.
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

/** Return the first registration on a network ("Step 1"); null if there is none. */
export function registrationOn(info: ReputationInfo, network: string): AgentRegistration | null {
  return info.registrations.find((registration) => registration.agent.registry.chain === network) ?? null;
}
