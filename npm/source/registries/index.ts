/**
 * Read and write the registries through a viem client.
 *
 * ```ts
 * const market = registries(createPublicClient({ chain: base, transport: http() }));
 * await market.getSummary({ agentId: 247n, tag1: "starred" });
 * const { request } = await market.simulateRateClient({ account, client: 12n, rating: 90 });
 * await walletClient.writeContract(request);
 * ```
 */
import {
  BaseError,
  ContractFunctionRevertedError,
  type Account,
  type Address,
  type Chain,
  type Client,
  type Hex,
  type SimulateContractReturnType,
  type Transport,
} from "viem";
import { getBlockNumber, readContract, simulateContract } from "viem/actions";
import { bidirectionalReputationRegistryAbi, identityRegistryAbi, validationRegistryAbi } from "../abi.js";
import { bilateralAddresses, canonicalAddresses } from "../addresses.js";

export * from "./typed-data.js";

/** The addresses of one chain's registries. */
export interface RegistryAddresses {
  readonly IdentityRegistry: Address;
  /** The feedback registry; if it is one of Bilateral's, also the ratings registry. */
  readonly ReputationRegistry: Address;
  readonly ValidationRegistry?: Address;
  /** The registry for ratings of clients and validators, if it is a different one. */
  readonly BidirectionalReputationRegistry?: Address;
}

/** A viem client that is connected to a chain. */
export type ChainClient = Client<Transport, Chain | undefined, Account | undefined>;

/** The summary of an agent's feedback. */
export interface Summary {
  readonly count: bigint;
  /** The average, times `10 ** decimals`. */
  readonly value: bigint;
  readonly decimals: number;
}

/** One feedback entry, as stored in the registry. */
export interface FeedbackEntry extends Omit<Summary, "count"> {
  readonly client: Address;
  /** The number of the client's feedback entry, starting at 1. */
  readonly index: bigint;
  readonly tag1: string;
  readonly tag2: string;
  readonly isRevoked: boolean;
}

/** Which feedback is read: from these clients or all, with these tags or any. */
export interface FeedbackQuery {
  readonly agentId: bigint;
  /** The clients' accounts; all by default. */
  readonly clients?: readonly Address[];
  readonly tag1?: string;
  readonly tag2?: string;
  /** The block after which it is read; the latest by default. */
  readonly blockNumber?: bigint;
}

/** The account that sends a transaction. */
export interface Sender {
  readonly account?: Account | Address;
}

/** A simulated call, whose `request` a wallet can send. */
// A request of any function; its types are those of the call, which viem infers.
export type Simulated = Pick<SimulateContractReturnType, "request">;

/** One chain's registries. */
export type Registries = RegistriesOf;

const ALL = 200; // clients of one call: a node's limit of gas ends longer ones

/**
 * Return the registries of a client's chain.
 *
 * @param client A viem client, with a chain.
 * @param options Addresses that differ from the chain's built-in ones.
 */
export function registries(client: ChainClient, options: { readonly addresses?: RegistryAddresses } = {}): RegistriesOf {
  return new RegistriesOf(client, options.addresses ?? builtIn(client.chain?.id));
}

/** One chain's registries, as returned by `registries`. */
export class RegistriesOf {
  /** The addresses. */
  readonly addresses: RegistryAddresses;
  readonly #client: ChainClient;

  /**
   * @param client A viem client.
   * @param addresses The addresses.
   */
  constructor(client: ChainClient, addresses: RegistryAddresses) {
    this.#client = client;
    this.addresses = addresses;
  }

  /** Return an agent's owner, wallet and URI. */
  async getAgent({ agentId }: { readonly agentId: bigint }): Promise<{ owner: Address; wallet: Address; uri: string }> {
    const identity = { address: this.addresses.IdentityRegistry, abi: identityRegistryAbi, args: [agentId] } as const;
    const [owner, wallet, uri] = await Promise.all([
      readContract(this.#client, { ...identity, functionName: "ownerOf" }),
      readContract(this.#client, { ...identity, functionName: "getAgentWallet" }),
      readContract(this.#client, { ...identity, functionName: "tokenURI" }),
    ]);
    return { owner, wallet, uri };
  }

  /** Return the accounts that gave an agent feedback. */
  async getClients({ agentId, blockNumber }: Pick<FeedbackQuery, "agentId" | "blockNumber">): Promise<readonly Address[]> {
    const at = blockNumber === undefined ? {} : { blockNumber };
    return readContract(this.#client, { ...this.#reputation, functionName: "getClients", args: [agentId], ...at });
  }

  /** Return the summary of an agent's feedback, at one block. */
  async getSummary(query: FeedbackQuery): Promise<Summary> {
    const { clients, blockNumber } = await this.#everyone(query);
    if (!clients.length) return { count: 0n, value: 0n, decimals: 0 };
    const args = [query.agentId, clients, query.tag1 ?? "", query.tag2 ?? ""] as const;
    const [count, value, decimals] = await readContract(this.#client, {
      ...this.#reputation,
      functionName: "getSummary",
      args,
      blockNumber,
    });
    return { count, value, decimals };
  }

  /** Return an agent's feedback, at one block. Many clients are read in several calls. */
  async getFeedback(query: FeedbackQuery & { readonly includeRevoked?: boolean }): Promise<FeedbackEntry[]> {
    const { clients, blockNumber } = await this.#everyone(query);
    const pages: FeedbackEntry[] = [];
    for (let at = 0; at < clients.length; at += ALL) {
      const page = clients.slice(at, at + ALL);
      const [accounts, indexes, values, decimals, tags1, tags2, revoked] = await readContract(this.#client, {
        ...this.#reputation,
        functionName: "readAllFeedback",
        args: [query.agentId, page, query.tag1 ?? "", query.tag2 ?? "", query.includeRevoked ?? false],
        blockNumber,
      });
      accounts.forEach((account, place) => {
        pages.push({
          client: account,
          index: indexes[place] ?? 0n,
          value: values[place] ?? 0n,
          decimals: decimals[place] ?? 0,
          tag1: tags1[place] ?? "",
          tag2: tags2[place] ?? "",
          isRevoked: revoked[place] ?? false,
        });
      });
    }
    return pages;
  }

  /** Return the number of a client's last feedback entry for an agent; 0 if there is none. */
  async getLastIndex({ agentId, client }: { readonly agentId: bigint; readonly client: Address }): Promise<bigint> {
    return readContract(this.#client, { ...this.#reputation, functionName: "getLastIndex", args: [agentId, client] });
  }

  /** Return the rating that a server's agent gave a client's agent, 0 to 100; null if there is none. */
  async getClientRating({ client, server }: { readonly client: bigint; readonly server: bigint }): Promise<number | null> {
    const args = [client, server] as const;
    const [isRated, rating] = await readContract(this.#client, { ...this.#ratings, functionName: "getClientRating", args });
    return isRated ? rating : null;
  }

  /** Return the rating that a server's agent gave a validator's agent, 0 to 100; null if there is none. */
  async getValidatorRating(pair: { readonly validator: bigint; readonly server: bigint }): Promise<number | null> {
    const args = [pair.validator, pair.server] as const;
    const call = { ...this.#ratings, functionName: "getValidatorRating", args } as const;
    const [isRated, rating] = await readContract(this.#client, call);
    return isRated ? rating : null;
  }

  /** Return the number and the average of an agent's validations, 0 to 100. */
  async getValidationSummary(query: {
    readonly agentId: bigint;
    readonly validators?: readonly Address[];
    readonly tag?: string;
  }): Promise<{ count: bigint; average: number }> {
    const address = this.addresses.ValidationRegistry;
    if (!address) throw new Error("this chain's validation registry is unknown: pass its address");
    const args = [query.agentId, query.validators ?? [], query.tag ?? ""] as const;
    const call = { address, abi: validationRegistryAbi, functionName: "getSummary", args } as const;
    const [count, average] = await readContract(this.#client, call);
    return { count, average };
  }

  /** Simulate feedback without a payment file. For feedback on a paid answer, see `bilateral/x402/feedback`. */
  async simulateGiveFeedback(
    feedback: Sender & {
      readonly agentId: bigint;
      readonly value: bigint;
      readonly decimals?: number;
      readonly tag1?: string;
      readonly tag2?: string;
      readonly endpoint?: string;
      readonly feedbackURI?: string;
      readonly feedbackHash?: Hex;
    },
  ): Promise<Simulated> {
    const { agentId, value, decimals = 0, tag1 = "", tag2 = "", endpoint = "", feedbackURI = "" } = feedback;
    const hash = feedback.feedbackHash ?? `0x${"00".repeat(32)}`;
    const args = [agentId, value, decimals, tag1, tag2, endpoint, feedbackURI, hash] as const;
    return this.#simulate({ ...this.#reputation, functionName: "giveFeedback", args, ...senderOf(feedback) });
  }

  /** Simulate revoking the account's own feedback. */
  async simulateRevokeFeedback(
    feedback: Sender & { readonly agentId: bigint; readonly index: bigint },
  ): Promise<Simulated> {
    const args = [feedback.agentId, feedback.index] as const;
    return this.#simulate({ ...this.#reputation, functionName: "revokeFeedback", args, ...senderOf(feedback) });
  }

  /** Simulate a response to feedback. Anyone may respond. */
  async simulateAppendResponse(
    response: Sender & {
      readonly agentId: bigint;
      readonly client: Address;
      readonly index: bigint;
      readonly responseURI: string;
      readonly responseHash?: Hex;
    },
  ): Promise<Simulated> {
    const { agentId, client, index, responseURI, responseHash = `0x${"00".repeat(32)}` as const } = response;
    const args = [agentId, client, index, responseURI, responseHash] as const;
    return this.#simulate({ ...this.#reputation, functionName: "appendResponse", args, ...senderOf(response) });
  }

  /** Simulate a server's rating of a client's agent, 0 to 100. The account owns the server's agent. Ratings are final. */
  async simulateRateClient(rating: Sender & { readonly client: bigint; readonly rating: number }): Promise<Simulated> {
    const args = [rating.client, rating.rating] as const;
    return this.#simulate({ ...this.#ratings, functionName: "rateClient", args, ...senderOf(rating) });
  }

  /** Simulate a server's rating of a validator's agent, 0 to 100. The account owns the server's agent. */
  async simulateRateValidator(
    rating: Sender & { readonly validator: bigint; readonly rating: number },
  ): Promise<Simulated> {
    const args = [rating.validator, rating.rating] as const;
    return this.#simulate({ ...this.#ratings, functionName: "rateValidator", args, ...senderOf(rating) });
  }

  get #reputation(): { address: Address; abi: typeof bidirectionalReputationRegistryAbi } {
    return { address: this.addresses.ReputationRegistry, abi: bidirectionalReputationRegistryAbi };
  }

  get #ratings(): { address: Address; abi: typeof bidirectionalReputationRegistryAbi } {
    const { BidirectionalReputationRegistry: own, ReputationRegistry: shared } = this.addresses;
    return { address: own ?? shared, abi: bidirectionalReputationRegistryAbi };
  }

  /** Return a query's clients and block. Clients and their feedback are read at the same block. */
  async #everyone(query: FeedbackQuery): Promise<{ clients: readonly Address[]; blockNumber: bigint }> {
    const blockNumber = query.blockNumber ?? (await getBlockNumber(this.#client, { cacheTime: 0 }));
    const clients = query.clients ?? (await this.getClients({ agentId: query.agentId, blockNumber }));
    return { clients, blockNumber };
  }

  async #simulate(call: Parameters<typeof simulateContract>[1]): Promise<Simulated> {
    const { request } = await simulateContract(this.#client, call);
    return { request } as Simulated;
  }
}

/**
 * Return the decoded error with which a registry rejected a call; null for any other error.
 *
 * @param error What `simulate…` or `writeContract` threw.
 * @returns The name, such as `CannotRateSelf`, and its arguments. A plain-text revert is named `Error`.
 */
export function revertOf(error: unknown): { name: string; args: readonly unknown[] } | null {
  if (!(error instanceof BaseError)) return null;
  const revert = error.walk((cause) => cause instanceof ContractFunctionRevertedError);
  if (!(revert instanceof ContractFunctionRevertedError)) return null;
  const name = revert.data?.errorName ?? (revert.reason === undefined ? "unknown" : "Error");
  return { name, args: revert.data?.args ?? (revert.reason === undefined ? [] : [revert.reason]) };
}

function senderOf({ account }: Sender): { account?: Account | Address } {
  return account === undefined ? {} : { account };
}

function builtIn(chainId: number | undefined): RegistryAddresses {
  type Book = Readonly<Record<string, RegistryAddresses | undefined>>;
  const addresses =
    chainId === undefined
      ? undefined
      : ((bilateralAddresses as Book)[chainId] ?? (canonicalAddresses as unknown as Book)[chainId]);
  if (!addresses) throw new Error(`chain ${chainId} has no built-in registries: pass their addresses`);
  return addresses;
}
