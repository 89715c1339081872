/** Buyers on the market of `world.ts`. */
import { inject } from "vitest";
import { privateKeyToAccount } from "viem/accounts";
import { trustedFetch, type PayingAccount, type TrustedFetch, type TrustedFetchOptions } from "../../source/x402/index.js";

export const world = inject("world");

/** Tell the market what its sellers do next, and return the payments that came. */
export async function control<T = Record<"evil" | "relay" | "scripted", string[]>>(asked: object): Promise<T> {
  const response = await fetch(world.control, { method: "POST", body: JSON.stringify(asked) });
  return (await response.json()) as T;
}

/** A buyer, and what it did. */
export interface Buyer {
  buy: TrustedFetch;
  account: PayingAccount;
  key: `0x${string}`;
  /** The times that its key signed. */
  signatures: () => number;
  /** The requests to its node. */
  questions: () => number;
}

/** Make an account with tokens that Permit2 may move. */
export async function fundedKey(): Promise<`0x${string}`> {
  return (await control<{ key: `0x${string}` }>({ buyer: true })).key;
}

/** Make a buyer. */
export function buyerOf(key: `0x${string}`, options: Partial<TrustedFetchOptions> & { rpc?: string } = {}): Buyer {
  const { rpc = world.rpc, ...others } = options;
  const real = privateKeyToAccount(key);
  let signed = 0;
  let asked = 0;
  const account: PayingAccount = {
    address: real.address,
    signTypedData(data) {
      signed++;
      return real.signTypedData(data as never);
    },
  };
  const buy = trustedFetch({
    account,
    chains: [{ id: world.chainId, rpc, registries: world.registries }],
    spending: false,
    receiptSeconds: 0.2,
    nodeFetch: (input, init) => {
      asked++;
      return fetch(input, init);
    },
    ...others,
  });
  return { buy, account, key, signatures: () => signed, questions: () => asked };
}
