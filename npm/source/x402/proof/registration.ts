/**
 * The registration file: an agent's description of itself (ERC-8004, and `signers` of the x402 extension).
 *
 * Signers determine whose signature counts, and registrations whose file it is, so they are read strictly: a malformed
 * entry makes the file unreadable. All other fields are taken as they are.
 */
import { MalformedDocumentError } from "../errors.js";
import type { Problem } from "../problems.js";
import { unhex } from "./bytes.js";
import type { Document } from "./documents.js";
import {
  agentOf,
  isEvm,
  isSameRegistry,
  parseAccount,
  type GlobalAgentId,
} from "./identifiers.js";
import { decodeObject, fieldOf, isObject, type JsonObject } from "./json.js";
import type { Signer } from "./keys.js";

/** An agent's registration file, as far as proofs need it. */
export interface RegistrationFile {
  /** Its registry entries; null for an entry without an agent. */
  readonly registrations: readonly (GlobalAgentId | null)[];
  /** The keys that sign the agent's answers; null if the file has no such field. */
  readonly signers: readonly Signer[] | null;
  /** All its fields. */
  readonly fields: JsonObject;
}

const FILES = new WeakMap<Document, RegistrationFile>();

/** Read a loaded registration file once, see `readRegistrationFile`. */
export function registrationFileOf(document: Document): RegistrationFile {
  const file = FILES.get(document) ?? readRegistrationFile(document.content);
  FILES.set(document, file);
  return file;
}

/**
 * Read a registration file.
 *
 * @param content Its bytes.
 * @throws {MalformedDocumentError} It is not a registration file, or a registration or signer is malformed.
 */
export function readRegistrationFile(content: Uint8Array): RegistrationFile {
  const file = decodeObject(content, true);
  return {
    registrations: (entriesOf(file, "registrations") ?? []).map(registrationOf),
    signers: entriesOf(file, "signers")?.map(signerOf) ?? null,
    fields: file,
  };
}

/** Return whether the file belongs to an agent. EVM addresses may be in any case. */
export function isOfAgent(file: RegistrationFile, agent: GlobalAgentId): boolean {
  return file.registrations.some(
    (entry) => entry !== null && entry.agent === agent.agent && isSameRegistry(entry.registry, agent.registry),
  );
}

/** Return the keys that are valid at a time, in Unix seconds. */
export function validSigners(file: RegistrationFile, second: number): Signer[] {
  return (file.signers ?? []).filter(
    (signer) => signer.validFrom <= second && (signer.validUntil === null || second < signer.validUntil),
  );
}

function entriesOf(file: JsonObject, name: string): JsonObject[] | null {
  const value = fieldOf(file, name);
  if (value == null) return null;
  if (!Array.isArray(value)) malformed("isNot", name, "a list");
  return value.map((entry, at) => (isObject(entry) ? entry : malformed("isNot", `${name}.${at}`, "an object")));
}

function registrationOf(entry: JsonObject, at: number): GlobalAgentId | null {
  const { agentRegistry: registry, agentId } = entry;
  const isWhole = (typeof agentId === "number" && Number.isInteger(agentId)) || typeof agentId === "bigint";
  if (typeof registry !== "string" || !(isWhole || typeof agentId === "string" || (agentId ?? null) === null)) {
    malformed("isMalformed", `registrations.${at}`);
  }
  try {
    const account = parseAccount(registry, false);
    const prefix = `${account.chain}:`;
    const text = String(agentId);
    return agentOf(account, !isEvm(account.chain) && text.startsWith(prefix) ? text.slice(prefix.length) : text);
  } catch {
    return null;
  }
}

function signerOf(entry: JsonObject, at: number): Signer {
  const { publicKey, algorithm, validFrom, validUntil, role = null, comment = null } = entry;
  const key = typeof publicKey === "string" ? unhex(publicKey) : null;
  const isPoint = (key?.length === 33 && (key[0] === 2 || key[0] === 3)) || (key?.length === 65 && key[0] === 4);
  const isValid =
    (algorithm === "ed25519" ? key?.length === 32 : algorithm === "secp256k1" && isPoint) &&
    (role === null || role === "owner" || role === "delegate") &&
    (comment === null || typeof comment === "string") &&
    isSecond(validFrom) &&
    (isSecond(validUntil) || (validUntil === null && Object.hasOwn(entry, "validUntil")));
  if (!isValid) malformed("signer", at, entry, key);
  const until = validUntil === null ? null : Number(validUntil);
  return { publicKey, algorithm, role, validFrom: Number(validFrom), validUntil: until } as Signer;
}

/** Return whether a value is a whole number that is not negative. A fraction is an object. */
export function isSecond(value: unknown): boolean {
  return (typeof value === "number" || typeof value === "bigint") && value >= 0;
}

function malformed(...problem: Problem): never {
  throw new MalformedDocumentError(problem);
}
