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

const CHAIN = "a CAIP-2 chain id";
const ACCOUNT = "a CAIP-10 account id";
const TRANSACTION = "a transaction reference";
const GLOBAL = "a global agent id";
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
  const [namespace = "", reference = ""] = split(CHAIN, text, "namespace:reference", 2);
  return chainOf(CHAIN, text, namespace, reference);
}

/**
 * Parse `namespace:reference:address`.
 *
 * @param text The account.
 * @param verifyChecksum False to accept an EVM address with a wrong checksum, as found in some files.
 */
export function parseAccount(text: string, verifyChecksum = true): AccountId {
  const [namespace = "", reference = "", address = ""] = split(ACCOUNT, text, "namespace:reference:address", 3);
  const chain = chainOf(CHAIN, `${namespace}:${reference}`, namespace, reference);
  if (isEvm(chain)) return { chain, address: checksummed(verifyChecksum ? address : address.toLowerCase()) };
  requireBase58(ACCOUNT, text, address, 32, "an address");
  return { chain, address };
}

/** Parse `namespace:reference:transaction`. */
export function parseTransaction(text: string): TransactionRef {
  const [namespace = "", reference = "", part = ""] = split(TRANSACTION, text, "namespace:reference:transaction", 3);
  const chain = chainOf(CHAIN, `${namespace}:${reference}`, namespace, reference);
  if (!isEvm(chain)) {
    requireBase58(TRANSACTION, text, part, 64, "a transaction");
    return { chain, transaction: part };
  }
  if (!/^0x[0-9a-fA-F]{64}$/.test(part)) {
    throw new MalformedIdentifierError(TRANSACTION, text, "an EVM transaction must be 0x and 64 hexadecimal digits");
  }
  return { chain, transaction: part.toLowerCase() };
}

/** Return an agent in a registry, from its number or address. */
export function agentOf(registry: AccountId, agent: string): GlobalAgentId {
  const text = `${accountText(registry)}#${agent}`;
  if (!isEvm(registry.chain)) {
    requireBase58(GLOBAL, text, agent, 32, "an agent");
  } else if (!NUMBER.test(agent) || agent.length > 78 || BigInt(agent) > MAX_UINT256) {
    throw new MalformedIdentifierError(GLOBAL, text, "the agent is not a whole number from 0 to 2^256 - 1 in decimals");
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

function split(kind: string, text: unknown, form: string, count: number): string[] {
  if (typeof text !== "string") throw new MalformedIdentifierError(kind, asText(text), "expected a string");
  const parts = text.split(":");
  if (parts.length !== count) throw new MalformedIdentifierError(kind, text, `expected ${form}`);
  if (parts.some((part) => part === "")) throw new MalformedIdentifierError(kind, text, `a part of ${form} is empty`);
  return parts;
}

function chainOf(kind: string, text: string, namespace: string, reference: string): ChainId {
  const fail = (problem: string): never => {
    throw new MalformedIdentifierError(kind, text, problem);
  };
  if (!/^[-a-z0-9]{3,8}$/.test(namespace)) fail("a namespace must have 3 to 8 characters from a-z, 0-9 and -");
  if (namespace === "eip155") {
    if (!NUMBER.test(reference) || reference === "0" || reference.length > 32) {
      fail("an eip155 reference must be the chain id in decimal digits, from 1, without leading zeros");
    }
  } else if (namespace === "solana") {
    if (!isBase58(reference) || reference.length !== 32) {
      fail("a solana reference must be the first 32 characters of the genesis hash, in base 58");
    }
  } else {
    fail(`the namespaces eip155 and solana are supported, not ${namespace}`);
  }
  return `${namespace}:${reference}` as ChainId;
}

function requireBase58(kind: string, text: string, part: string, length: number, subject: string): void {
  if (!isBase58(part) || part.length > 2 * length) {
    throw new MalformedIdentifierError(kind, text, `${subject} of solana is ${length} bytes in base 58`);
  }
  const decoded = unbase58(part).length;
  if (decoded !== length) {
    throw new MalformedIdentifierError(kind, text, `${subject} of solana has ${length} bytes, but this one has ${decoded}`);
  }
}
