/** The chains that a buyer trusts, each with its registries and a node. The registries are the allow-list. */
import { InvalidArgumentError, quoted, TrustError } from "../errors.js";
import { BUILT_IN } from "./built-in.js";
import { bytesOf } from "./bytes.js";
import type { Document, FileCache, LoaderOptions } from "./documents.js";
import {
  accountText,
  isSameRegistry,
  parseAccount,
  ZERO_ADDRESS,
  checksummed,
  type AccountId,
  type ChainId,
  type GlobalAgentId,
} from "./identifiers.js";
import type { JsonObject } from "./json.js";
import type { AgentRegistration, ReputationInfo } from "./messages.js";
import { addressOf, Node, textOf, type TrustedChain } from "./node.js";
import type { Settlement } from "./payments.js";

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
  readonly #identity: AccountId;
  readonly #reputation: AccountId;

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
    const registries = chain.registries ?? builtIn(chain.id);
    if (!registries) throw new InvalidArgumentError(`chain ${chain.id} has no built-in registries: pass them`);
    this.#identity = parseAccount(`${this.chain}:${registries.IdentityRegistry}`);
    this.#reputation = parseAccount(`${this.chain}:${registries.ReputationRegistry}`);
    this.node = new Node(rpc, terms.nodeFetch ?? ((input, init) => globalThis.fetch(input, init)), terms.nodeSeconds ?? 30);
  }

  /** The trusted registries (CAIP-10). */
  get registries(): { readonly identity: AccountId; readonly reputation: AccountId } {
    return { identity: this.#identity, reputation: this.#reputation };
  }

  /** Return a server's registration in the trusted registries. */
  trustedRegistration(info: ReputationInfo): AgentRegistration {
    const there = info.registrations.filter(({ agent }) => agent.registry.chain === this.chain);
    const [first] = there;
    if (first === undefined) {
      throw new TrustError("agent_not_registered", "Agent not registered on chosen payment network");
    }
    for (const { agent, reputationRegistry } of there) {
      const isTrusted = reputationRegistry === null || isSameRegistry(reputationRegistry, this.#reputation);
      if (isSameRegistry(agent.registry, this.#identity) && isTrusted) {
        return { agent, reputationRegistry: this.#reputation };
      }
    }
    const reputation = first.reputationRegistry ? accountText(first.reputationRegistry) : "its reputation registry";
    const declared = `${accountText(first.agent.registry)} and ${reputation}`;
    throw new TrustError("unknown_registry", `the registries ${declared} are not on the allow-list`);
  }

  /** Check that the reputation registry refers to the identity registry. */
  async checkRegistries(): Promise<void> {
    const named = checksummed(addressOf(await this.node.call(this.#reputation.address, "getIdentityRegistry()", NOTHING)));
    if (named !== this.#identity.address) {
      const problem = `${accountText(this.#reputation)} belongs to a different identity registry, ${named}`;
      throw new TrustError("registry_mismatch", problem);
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
    return this.node.call(this.#identity.address, signature, bytesOf(BigInt(agent.agent), 32), block);
  }
}

const NOTHING = new Uint8Array();

/** The trusted chains, and the loaded files. */
export class Chains {
  #files: FileCache | undefined;
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
      const trusted = [...this.#readers.keys()].join(", ") || "none";
      throw new TrustError("unsupported_network", `${quoted(network.slice(0, 80))} cannot be checked; supported: ${trusted}`);
    }
    return reader;
  }

  /** Return the chain on which a server's identity is checked: the payment's, unless wallets may be on other chains. */
  identityNetwork(info: ReputationInfo | null, network: string): string {
    const chains = (info?.registrations ?? []).map(({ agent }) => agent.registry.chain as string);
    if (!this.terms.walletServices || chains.includes(network)) return network;
    return chains.find((chain) => this.#readers.has(chain)) ?? network;
  }

  /** Load a file, see `FileCache.load`. */
  async load(uri: string, isFresh = false): Promise<Document> {
    const { FileCache } = await import("./documents.js");
    this.#files ??= new FileCache(this.terms.files);
    return this.#files.load(uri, isFresh);
  }

  /** Look up whether a payment was taken, see `awaitSettlement`. */
  async findSettlement(payment: JsonObject, seconds?: number): Promise<Settlement> {
    const { awaitSettlement } = await import("./settlements.js");
    return awaitSettlement(this, payment, seconds);
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

/** Return a chain's registries that the package trusts by default; undefined if there are none. */
export function builtIn(chainId: number): TrustedChain["registries"] {
  const group = BUILT_IN.find(([, , chains]) => chains.split(" ").includes(String(chainId)));
  return group && { IdentityRegistry: group[0], ReputationRegistry: group[1] };
}
