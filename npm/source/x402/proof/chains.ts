/** The chains that a buyer trusts, each with its registries and a node. The registries are the allow-list. */
import { InvalidArgumentError, TrustError } from "../errors.js";
import { BUILT_IN } from "./built-in.js";
import { bytesOf } from "./bytes.js";
import type { FileCache, LoaderOptions } from "./documents.js";
import {
  accountText,
  isSameRegistry,
  ZERO_ADDRESS,
  checksummed,
  type AccountId,
  type ChainId,
  type GlobalAgentId,
} from "./identifiers.js";
import type { AgentRegistration, ReputationInfo } from "./messages.js";
import { addressOf, nodeOf, quantityText, textOf, view, type Node, type TrustedChain } from "./node.js";

/** The trusted chains, and the terms under which servers and proofs are judged. */
export interface TrustTerms {
  /** The chains with their registries, such as `[base]` from `viem/chains`. Servers in others are rejected. */
  readonly chains: readonly TrustedChain[];
  /** The number of confirmations a payment needs, including its own block: 1 by default. */
  readonly confirmations?: number;
  /** True to accept the signature of an agent's wallet if its registration file lists no keys. */
  readonly allowWalletSigner?: boolean;
  /** True to accept wallets that the agent's file lists as services on chains other than that of its identity. */
  readonly walletServices?: boolean;
  /** The maximum wait for a payment's receipt, in seconds: 15 by default. An Ethereum block takes 12. */
  readonly receiptSeconds?: number;
  /** The timeout for one request to a node, in seconds: 30 by default. */
  readonly nodeSeconds?: number;
  /** How registration files are loaded. */
  readonly files?: LoaderOptions;
  /** The function that sends requests to nodes; the global `fetch` by default. */
  readonly nodeFetch?: typeof globalThis.fetch;
}

/** One trusted chain. */
export class ChainReader {
  readonly chain: ChainId;
  readonly node: Node;
  /** The trusted registries (CAIP-10). */
  readonly identity: AccountId;
  readonly reputation: AccountId;

  /**
   * @param chain The chain.
   * @param terms The terms for all chains.
   */
  constructor(
    chain: TrustedChain,
    terms: TrustTerms,
  ) {
    this.chain = `eip155:${chain.id}`;
    const rpc = chain.rpc ?? chain.rpcUrls?.default.http[0];
    if (rpc === undefined) throw new InvalidArgumentError(`chain ${chain.id} has no node: pass it as rpc`);
    const registries = registriesOf(chain.id, chain.registries);
    if (!(Number.isSafeInteger(chain.id) && chain.id > 0)) throw new InvalidArgumentError(`${chain.id} is not a chain id`);
    this.identity = { chain: this.chain, address: checksummed(registries.IdentityRegistry) };
    this.reputation = { chain: this.chain, address: checksummed(registries.ReputationRegistry) };
    this.node = nodeOf(rpc, terms.nodeFetch ?? ((input, init) => globalThis.fetch(input, init)), terms.nodeSeconds ?? 30);
  }

  /** Return a server's registration in the trusted registries. */
  trustedRegistration(info: ReputationInfo): AgentRegistration {
    const there = info.registrations.filter(({ agent }) => agent.registry.chain === this.chain);
    const [first] = there;
    if (first === undefined) {
      throw new TrustError("agent_not_registered", ["agent_not_registered", "chosen payment"]);
    }
    for (const { agent, reputationRegistry } of there) {
      const isTrusted = reputationRegistry === null || isSameRegistry(reputationRegistry, this.reputation);
      if (isSameRegistry(agent.registry, this.identity) && isTrusted) {
        return { agent, reputationRegistry: this.reputation };
      }
    }
    throw new TrustError("unknown_registry", ["unknown_registry", first]);
  }

  /** Check that the reputation registry refers to the identity registry. */
  async checkRegistries(): Promise<void> {
    const named = checksummed(addressOf(await view(this.node, this.reputation.address, "getIdentityRegistry()", new Uint8Array())));
    if (named !== this.identity.address) {
      throw new TrustError("registry_mismatch", ["registry_mismatch", accountText(this.reputation), named]);
    }
  }

  /** Return an agent's wallet; empty if it has none. */
  async wallet(agent: GlobalAgentId, block: bigint | null = null): Promise<string> {
    const wallet = addressOf(await this.#view("getAgentWallet(uint256)", agent, block));
    return wallet === ZERO_ADDRESS ? "" : checksummed(wallet);
  }

  /** Return an agent's URI. */
  async uri(agent: GlobalAgentId, block: bigint | null = null): Promise<string> {
    return textOf(await this.#view("tokenURI(uint256)", agent, block));
  }

  #view(signature: string, agent: GlobalAgentId, block: bigint | null): Promise<Uint8Array> {
    const at = block === null ? "latest" : quantityText(block);
    return view(this.node, this.identity.address, signature, bytesOf(BigInt(agent.agent), 32), at);
  }
}

/** The trusted chains, and the loaded files. */
export class Chains {
  /** The loaded files, see `documents.ts`. */
  files: FileCache | undefined;
  readonly #readers = new Map<string, ChainReader>();

  /** @param terms The chains, and the terms under which servers and proofs are judged. */
  constructor(readonly terms: TrustTerms) {
    for (const chain of terms.chains) {
      const reader = new ChainReader(chain, terms);
      if (this.#readers.has(reader.chain)) throw new InvalidArgumentError(`${reader.chain} is specified twice`);
      this.#readers.set(reader.chain, reader);
    }
  }

  /** Return a chain's reader, or null. */
  readerOrNull(network: string): ChainReader | null {
    return this.#readers.get(network) ?? null;
  }

  /** Return a chain's reader, or throw. */
  reader(network: string): ChainReader {
    const reader = this.#readers.get(network);
    if (!reader) {
      throw new TrustError("unsupported_network", ["supported", network.slice(0, 80), [...this.#readers.keys()].join(", ")]);
    }
    return reader;
  }

  /** Return the chain on which a server's identity is checked: the payment's, unless wallets may be on other chains. */
  identityNetwork(info: ReputationInfo | null, network: string): string {
    const chains = (info?.registrations ?? []).map(({ agent }) => agent.registry.chain as string);
    if (!this.terms.walletServices || chains.includes(network)) return network;
    return chains.find((chain) => this.#readers.has(chain)) ?? network;
  }
}

/** The time between two polls for a receipt: a quarter of the shortest common block time, two seconds. */
export const POLL_MILLISECONDS = 500;

/** Wait. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

const CACHED = new WeakMap<TrustTerms, Chains>();

/** Return the chains for some terms, with one file cache per terms object. */
export function chainsOf(terms: TrustTerms): Chains {
  const cached = CACHED.get(terms);
  if (cached) return cached;
  const chains = new Chains(terms);
  CACHED.set(terms, chains);
  return chains;
}

/**
 * Return the registries of a chain.
 *
 * @param chainId The chain.
 * @param registries The registries to use instead of those that the package trusts by default.
 * @throws {InvalidArgumentError} The chain has no built-in registries, and none were passed.
 */
export function registriesOf(
  chainId: number,
  registries?: TrustedChain["registries"],
): NonNullable<TrustedChain["registries"]> {
  if (registries) return registries;
  const group = BUILT_IN.find(([, , chains]) => chains.split(" ").includes(String(chainId)));
  if (!group) throw new InvalidArgumentError(`chain ${chainId} has no built-in registries: pass them`);
  return { IdentityRegistry: group[0], ReputationRegistry: group[1] };
}
