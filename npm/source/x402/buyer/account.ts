/** The account that pays, and the payment schemes it uses. */
import { x402Client, type SpendControls } from "@x402/core/client";
import type { DefaultAsset, PaymentPayloadResult, PaymentRequirements, SchemeNetworkClient } from "@x402/core/types";
import { checksummed } from "../proof/identifiers.js";
import { ASSETS } from "./assets.js";
import { signedPayload } from "./signing.js";

/** An account that signs payments: a local viem account, or anything that signs typed data (EIP-712). */
export interface PayingAccount {
  readonly address: `0x${string}`;
  signTypedData(typedData: {
    domain: Record<string, unknown>;
    types: Record<string, { name: string; type: string }[]>;
    primaryType: string;
    message: Record<string, unknown>;
  }): Promise<`0x${string}`>;
}

/**
 * Return the SDK's client for an account. By default, it pays in known dollar tokens, up to one dollar per payment.
 *
 * @param account The account.
 * @param spending Spending limits, as for the SDK's `setSpendControls`; `false` for any token and amount.
 */
export function clientOf(account: PayingAccount, spending: SpendControls | false = {}): x402Client {
  const client = new x402Client().setSpendControls(spending);
  for (const scheme of ["exact", "upto"]) client.register("eip155:*", new AccountScheme(account, scheme));
  return client;
}

/** The dollars of the chains whose prices were read so far. */
const DOLLARS = [...ASSETS];

/** Load the dollars of the chains that few sellers use, if a price is in one of them. */
export async function loadDollars(accepts: readonly PaymentRequirements[]): Promise<void> {
  const isListed = ({ network }: PaymentRequirements): boolean =>
    DOLLARS.some(([, list]) => ` ${list}`.includes(` ${network.slice("eip155:".length)}:`));
  if (!accepts.every(isListed)) DOLLARS.splice(ASSETS.length, Infinity, ...(await import("./other-assets.js")).ASSETS);
}

class AccountScheme implements SchemeNetworkClient {
  readonly #account: PayingAccount;
  readonly scheme: string;

  constructor(account: PayingAccount, scheme: string) {
    this.#account = account;
    this.scheme = scheme;
  }

  findDefaultAsset(asset: string, network: string): DefaultAsset | undefined {
    const entry = `${network}:${asset.toLowerCase()}`.replace(/^eip155:(\d+):0x/, "$1:");
    const [name] = DOLLARS.find(([, list]) => list.split(" ").includes(entry)) ?? [];
    const [decimals, symbol] = name?.split(" ") ?? [];
    if (!decimals || !symbol) return undefined;
    return { asset: checksummed(asset.toLowerCase()), decimals: Number(decimals), symbol };
  }

  async createPaymentPayload(x402Version: number, terms: PaymentRequirements): Promise<PaymentPayloadResult> {
    return { x402Version, payload: await signedPayload(this.#account, terms) };
  }
}
