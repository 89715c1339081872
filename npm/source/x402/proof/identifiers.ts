/** Chains, accounts, agents and transactions in the forms of the Chain Agnostic Improvement Proposals. */
import { keccak_256 } from "@noble/hashes/sha3";
import { asText, MalformedIdentifierError } from "../errors.js";
import { hex, isBase58, unbase58, utf8 } from "./bytes.js";

/** A chain (CAIP-2) on EVM or Solana, such as `eip155:8453`. */
export type ChainId = `${"eip155" | "solana"}:${string}`;

/** A parsed account on a chain (CAIP-10). EVM addresses are in checksum form. */
export interface AccountId {
  readonly chain: ChainId;
  readonly address: string;
}

/** An agent in its identity registry. */
export interface GlobalAgentId {
  readonly registry: AccountId;
  /** The token id in decimal digits on EVM chains, an address elsewhere. */
  readonly agent: string;
}

/** A transaction on a chain. On EVM chains, the hash is in lower case. */
export interface TransactionRef {
  readonly chain: ChainId;
  readonly transaction: string;
}

type Kind = "chain" | "account" | "transaction" | "agent";

const NUMBER = /^(?:0|[1-9][0-9]*)$/;
const MAX_UINT256 = 2n ** 256n - 1n;

/** Recently used addresses in checksum form, by their digits: one payment reads the same few addresses many times. */
const CHECKSUMS = new Map<string, string>();
const MOST_CHECKSUMS = 256;

/** The zero address on EVM chains. */
export const ZERO_ADDRESS: string = `0x${"00".repeat(20)}`;

/** Return whether a chain is an EVM chain. */
export function isEvm(chain: string): boolean {
  return chain.startsWith("eip155:");
}

/** Parse `namespace:reference`. */
export function parseChain(text: string): ChainId {
  const [namespace = "", reference = ""] = split("chain", text, 2);
  return chainOf(namespace, reference);
}

/**
 * Parse `namespace:reference:address`.
 *
 * @param text The account.
 * @param verifyChecksum False to accept an EVM address with a wrong checksum, as found in some files.
 */
export function parseAccount(text: string, verifyChecksum = true): AccountId {
  const [namespace = "", reference = "", address = ""] = split("account", text, 3);
  const chain = chainOf(namespace, reference);
  if (isEvm(chain)) return { chain, address: checksummed(verifyChecksum ? address : address.toLowerCase()) };
  requireBase58("account", text, address);
  return { chain, address };
}

/** Parse `namespace:reference:transaction`. */
export function parseTransaction(text: string): TransactionRef {
  const [namespace = "", reference = "", part = ""] = split("transaction", text, 3);
  const chain = chainOf(namespace, reference);
  if (!isEvm(chain)) {
    requireBase58("transaction", text, part, 64);
    return { chain, transaction: part };
  }
  if (!/^0x[0-9a-fA-F]{64}$/.test(part)) {
    throw new MalformedIdentifierError("transaction", text, ["transactionDigits"]);
  }
  return { chain, transaction: part.toLowerCase() };
}

/** Return an agent in a registry, from its number or address. */
export function agentOf(registry: AccountId, agent: string): GlobalAgentId {
  const text = `${accountText(registry)}#${agent}`;
  if (!isEvm(registry.chain)) {
    requireBase58("agent", text, agent);
  } else if (!NUMBER.test(agent) || agent.length > 78 || BigInt(agent) > MAX_UINT256) {
    throw new MalformedIdentifierError("agent", text, ["agentNumber"]);
  }
  return { registry, agent };
}

/** Return an account as text. */
export function accountText(account: AccountId): string {
  return `${account.chain}:${account.address}`;
}

/** Return an agent as text, such as `eip155:8453:0x8004…#247`. */
export function agentText(agent: GlobalAgentId): string {
  return `${accountText(agent.registry)}#${agent.agent}`;
}

/** Compare two accounts. */
export function isSameRegistry(first: AccountId, second: AccountId): boolean {
  return first.chain === second.chain && first.address === second.address;
}

/** Compare two addresses: in any case on an EVM chain, exactly elsewhere. */
export function isSameAccount(chain: string, first: string, second: string): boolean {
  if (!first || !second) return false;
  return isEvm(chain) ? first.toLowerCase() === second.toLowerCase() : first === second;
}

/**
 * Convert an EVM address to checksum form (EIP-55).
 *
 * @param address 0x and 40 hexadecimal digits: all in the same case, or mixed case with a correct checksum.
 * @throws {MalformedIdentifierError} It is not an address, or its checksum is wrong.
 */
export function checksummed(address: unknown): string {
  const kind = "an EVM address";
  if (typeof address !== "string" || !/^0x[0-9a-fA-F]{40}$/.test(address)) {
    throw new MalformedIdentifierError(kind, asText(address).slice(0, 200), "expected 0x and 40 hexadecimal digits");
  }
  const given = address.slice(2);
  const digits = given.toLowerCase();
  const checksum = CHECKSUMS.get(digits) ?? withChecksum(digits);
  if (given !== checksum && given !== digits && given !== digits.toUpperCase()) {
    throw new MalformedIdentifierError(kind, address, "its checksum (EIP-55) is wrong", true);
  }
  return `0x${checksum}`;
}

function withChecksum(digits: string): string {
  const capitals = hex(keccak_256(utf8(digits)));
  let checksum = "";
  for (let at = 0; at < 40; at++) {
    checksum += capitals.charAt(at) > "7" ? digits.charAt(at).toUpperCase() : digits.charAt(at);
  }
  if (CHECKSUMS.size >= MOST_CHECKSUMS) CHECKSUMS.clear();
  CHECKSUMS.set(digits, checksum);
  return checksum;
}

function split(kind: Kind, text: unknown, count: number): string[] {
  if (typeof text !== "string") throw new MalformedIdentifierError(kind, asText(text), ["aString"]);
  const parts = text.split(":");
  if (parts.length !== count) throw new MalformedIdentifierError(kind, text, ["form", kind]);
  if (parts.includes("")) throw new MalformedIdentifierError(kind, text, ["emptyPart", kind]);
  return parts;
}

function chainOf(namespace: string, reference: string): ChainId {
  const text = `${namespace}:${reference}`;
  const isValid =
    namespace === "solana"
      ? isBase58(reference) && reference.length === 32
      : namespace === "eip155" && NUMBER.test(reference) && reference !== "0" && reference.length <= 32;
  if (!isValid) throw new MalformedIdentifierError("chain", text, ["chain", namespace]);
  return text as ChainId;
}

function requireBase58(kind: Kind, text: string, part: string, length = 32): void {
  const isDigits = isBase58(part) && part.length <= 2 * length;
  const decoded = isDigits ? unbase58(part).length : null;
  if (decoded !== length) throw new MalformedIdentifierError(kind, text, ["base58", kind, length, decoded]);
}
