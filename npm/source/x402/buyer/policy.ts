/** Checks of servers by a service. Loaded if the buyer's terms specify a service. */
import type { PaymentRequirements } from "@x402/core/types";
import type { BilateralService, Check } from "../../service.js";
import { quoted, TrustError } from "../errors.js";
import { bigintOf } from "../proof/bytes.js";
import { chainsOf } from "../proof/chains.js";
import type { AgentRegistration } from "../proof/messages.js";
import { view } from "../proof/node.js";
import { PolicyError, type BuyerTerms } from "./protect.js";

/** Query a service about a server, and reject the payment unless the verdict is good. */
export async function askService(
  terms: BuyerTerms,
  service: string | BilateralService,
  { agent }: AgentRegistration,
  price: PaymentRequirements,
): Promise<void> {
  let answer: Check;
  try {
    const client = typeof service === "string" ? new (await import("../../service.js")).BilateralService(service) : service;
    answer = await client.checkServer(`${agent.registry.chain.slice("eip155:".length)}:${agent.agent}`, {
      ...terms.policy,
      pay_to: price.payTo,
      payment_chain: Number(price.network.slice("eip155:".length)),
      amount: await wholeTokens(terms, price),
      ...(terms.payer ? { client: terms.payer } : {}),
    });
  } catch (error) {
    if (error instanceof TrustError) throw error;
    throw new TrustError("cannot_check", "the service did not respond", { cause: error });
  }
  const isGood = answer.verdict === "accept" || (answer.verdict === "caution" && terms.onCaution === "pay");
  if (!isGood) throw new PolicyError(answer);
}

/** Return a price in whole tokens. The token, never the server, determines its number of decimals. */
async function wholeTokens(terms: BuyerTerms, price: PaymentRequirements): Promise<string> {
  const { node } = chainsOf(terms).reader(price.network);
  const data = await view(node, price.asset, "decimals()", new Uint8Array());
  const decimals = data.length === 32 ? Number(bigintOf(data)) : Number.NaN;
  if (!(decimals <= 36)) throw new TrustError("cannot_check", `the token ${quoted(price.asset)} has no decimals`);
  const digits = price.amount.padStart(decimals + 1, "0");
  const split = digits.length - decimals;
  return decimals ? `${digits.slice(0, split)}.${digits.slice(split)}` : digits;
}
