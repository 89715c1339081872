/** A page that buys: by the published client as it is, and by `trustedFetch`. */
import { x402Client } from "@x402/core/client";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { wrapFetchWithPayment } from "@x402/fetch";
import { privateKeyToAccount } from "viem/accounts";
import { trustedFetch, verificationOf } from "../../source/x402/index.js";

type Key = `0x${string}`;

async function bare(url: string, key: Key): Promise<unknown> {
  const client = new x402Client().setSpendControls(false).register("eip155:*", new ExactEvmScheme(privateKeyToAccount(key)));
  let payment: string | null = null;
  const recording = (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    payment = request.headers.get("payment-signature") ?? payment;
    return fetch(request);
  };
  const response = await wrapFetchWithPayment(recording, client)(url);
  return { status: response.status, payment, settlement: response.headers.get("payment-response"), body: await response.text() };
}

async function trusted(url: string, key: Key, chain: object): Promise<unknown> {
  const buy = trustedFetch({ account: privateKeyToAccount(key), chains: [chain as never], spending: false });
  const response = await buy(url);
  return { status: response.status, isVerified: verificationOf(response)?.isVerified, problems: verificationOf(response)?.problems };
}

Object.assign(globalThis, { bare, trusted });
