import { createWalletClient, createPublicClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { InvalidArgumentError, verificationOf, type Verification } from "../../source/x402/index.js";
import {
  AggregatorFailedError,
  DuplicateFeedbackError,
  FeedbackRefusedError,
  giveFeedback,
  RESPONSE_DELAYED,
  signFeedback,
  sponsoredFeedback,
  submitSignedFeedback,
  UnreadFeedbackError,
} from "../../source/x402/feedback/index.js";
import { registries, revertOf } from "../../source/registries/index.js";
import { buyerOf, control, fundedKey, world } from "./market.js";

const chain = {
  id: world.chainId,
  name: "local",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [world.rpc] } },
} as const;
const reader = createPublicClient({ chain, transport: http(), pollingInterval: 20 });
const addresses = {
  IdentityRegistry: world.deployment.IdentityRegistry,
  ReputationRegistry: world.registries.ReputationRegistry,
  BidirectionalReputationRegistry: world.deployment.BidirectionalReputationRegistry,
  ValidationRegistry: world.deployment.ValidationRegistry,
} as never;
const market = registries(reader, { addresses });
const agentId = BigInt(world.agent);

interface Read {
  feedback: { value: string; tags: [string, string]; isRevoked: boolean; problem: string; isSigned: boolean; file: Record<string, unknown> }[];
}

async function reviewer(): Promise<{ key: `0x${string}`; wallet: ReturnType<typeof walletOf>; proof: Verification; buy: () => Promise<Verification> }> {
  const key = await fundedKey();
  const { buy } = buyerOf(key);
  const bought = async (): Promise<Verification> => verificationOf(await buy(`${world.shop}/weather`)) as Verification;
  return { key, wallet: walletOf(key), proof: await bought(), buy: bought };
}

function walletOf(key: `0x${string}`) {
  return createWalletClient({ account: privateKeyToAccount(key), chain, transport: http() });
}

const mined = (hash: `0x${string}`) => reader.waitForTransactionReceipt({ hash });

describe("feedback on a paid answer", () => {
  test("is read and believed by Python", async () => {
    const { wallet, proof } = await reviewer();
    await mined(await giveFeedback(wallet, { proof, value: 95, comment: "snø", endpoint: "https://agent.example" }));
    const { feedback } = await control<Read>({ feedback: wallet.account.address });
    expect(feedback).toHaveLength(1);
    expect(feedback[0]).toMatchObject({
      value: "95",
      tags: ["x402-resource-delivered", "proof-of-participation"],
      problem: "",
      isSigned: true,
      isRevoked: false,
      file: { taskRef: proof.interaction?.taskRef, agentId: world.agent, value: 95, comment: "snø" },
    });
    expect(feedback[0]?.file["proofOfPayment"]).toMatchObject({ fromAddress: wallet.account.address, toAddress: world.seller });
  });

  test("is given once a payment, and again for the next one", async () => {
    const { wallet, proof, buy } = await reviewer();
    await mined(await giveFeedback(wallet, { proof, value: 245, decimals: 1, tags: RESPONSE_DELAYED }));
    await expect(giveFeedback(wallet, { proof, value: 10 })).rejects.toBeInstanceOf(DuplicateFeedbackError);
    await mined(await giveFeedback(wallet, { proof: await buy(), value: 90 }));
    const { feedback } = await control<Read>({ feedback: wallet.account.address });
    expect(feedback.map(({ value }) => value)).toEqual(["24.5", "90"]);
  });

  test("waits for the file of an earlier feedback, unless the client knows better", async () => {
    const { wallet, proof } = await reviewer();
    const account = wallet.account;
    const { request } = await market.simulateGiveFeedback({ account, agentId, value: 1n, feedbackURI: "https://127.0.0.1:9/f" });
    await mined(await wallet.writeContract(request as never));
    await expect(giveFeedback(wallet, { proof, value: 90 })).rejects.toBeInstanceOf(UnreadFeedbackError);
    await mined(await giveFeedback(wallet, { proof, value: 90 }, { acceptUnread: true }));
  });

  test("needs the account that paid, a verified payment, and a value in range", async () => {
    const { wallet, proof } = await reviewer();
    const other = walletOf(await fundedKey());
    await expect(giveFeedback(other, { proof, value: 90 })).rejects.toThrow("made the payment, so");
    for (const value of [-1, 101, 256, 1.5, Number.NaN]) {
      await expect(giveFeedback(wallet, { proof, value })).rejects.toBeInstanceOf(InvalidArgumentError);
    }
    const checks = proof.checks.map((check) => ({ ...check, outcome: check.name === "signature" ? "failed" : check.outcome }) as const);
    await expect(giveFeedback(wallet, { proof: { ...proof, checks }, value: 90 })).rejects.toThrow("failed checks: signature");
  });

  test("is sent by somebody else, by the client's signature", async () => {
    const { wallet, proof } = await reviewer();
    const signed = await signFeedback(wallet, { proof, value: 80 });
    const sender = walletOf(await fundedKey());
    await mined(await submitSignedFeedback(sender, signed));
    const { feedback } = await control<Read>({ feedback: wallet.account.address });
    expect(feedback).toMatchObject([{ value: "80", isSigned: true, problem: "" }]);
    const again = await submitSignedFeedback(sender, signed).catch((error: unknown) => error);
    expect(revertOf(again)?.name).toBe("UnexpectedFeedbackIndex");
  });

  test("is sponsored by an aggregator in Python", async () => {
    const { aggregator } = await control<{ aggregator: string }>({ aggregator: true });
    const { wallet, proof } = await reviewer();
    const sponsored = await sponsoredFeedback(wallet, { proof, value: 70 }, { aggregator, fetch, sendBodies: true });
    expect(sponsored.proof).toBe("bound");
    await expect.poll(async () => (await control<Read>({ feedback: wallet.account.address })).feedback).toMatchObject([
      { value: "70", isSigned: true, problem: "" },
    ]);
    await expect(sponsoredFeedback(wallet, { proof, value: 70 }, { aggregator })).rejects.toBeInstanceOf(InvalidArgumentError);
    const second = sponsoredFeedback(wallet, { proof, value: 10 }, { aggregator, fetch });
    await expect(second).rejects.toBeInstanceOf(DuplicateFeedbackError);
    const wrong = { ...proof, interaction: { ...proof.interaction!, signature: new Uint8Array(65) } };
    const other = await reviewer();
    await expect(
      sponsoredFeedback(other.wallet, { proof: { ...other.proof, interaction: { ...other.proof.interaction!, signature: wrong.interaction.signature } }, value: 10 }, { aggregator, fetch }),
    ).rejects.toMatchObject({ name: "FeedbackRefusedError", code: "INVALID_AGENT_SIGNATURE" });
    expect(FeedbackRefusedError).toBeDefined();
    await expect(
      sponsoredFeedback(other.wallet, { proof: other.proof, value: 10 }, { aggregator: `${world.shop}/free/lunch`, fetch }),
    ).rejects.toBeInstanceOf(AggregatorFailedError);
  }, 60_000);
});

describe("registries", () => {
  test("summarise, list, answer and revoke feedback", async () => {
    const { wallet, proof } = await reviewer();
    const { account } = wallet;
    await mined(await giveFeedback(wallet, { proof, value: 64 }));
    const clients = [account.address];
    expect(await market.getSummary({ agentId, clients })).toEqual({ count: 1n, value: 64n, decimals: 0 });
    const all = await market.getSummary({ agentId, tag1: "x402-resource-delivered" });
    expect(all.count).toBeGreaterThanOrEqual(1n);
    expect(await market.getClients({ agentId })).toContain(account.address);
    expect(await market.getLastIndex({ agentId, client: account.address })).toBe(1n);
    expect(await market.getFeedback({ agentId, clients })).toMatchObject([{ index: 1n, value: 64n, isRevoked: false, tag1: "x402-resource-delivered" }]);
    const answer = { account, agentId, client: account.address, index: 1n, responseURI: "data:,thanks" };
    await mined(await wallet.writeContract((await market.simulateAppendResponse(answer)).request as never));
    await mined(await wallet.writeContract((await market.simulateRevokeFeedback({ account, agentId, index: 1n })).request as never));
    expect((await market.getSummary({ agentId, clients })).count).toBe(0n);
    expect(await market.getFeedback({ agentId, clients, includeRevoked: true })).toMatchObject([{ isRevoked: true }]);
    expect(await market.getSummary({ agentId: 999n })).toEqual({ count: 0n, value: 0n, decimals: 0 });
    expect(await market.getAgent({ agentId })).toMatchObject({ owner: world.seller, wallet: world.seller });
    expect((await market.getValidationSummary({ agentId })).count).toBe(0n);
  });

  test("take ratings of clients and validators, and decode refusals", async () => {
    const seller = walletOf(world.sellerKey);
    const { account } = seller;
    const { key } = await reviewer();
    const { identityRegistryAbi } = await import("../../source/abi.js");
    const register = { address: world.deployment.IdentityRegistry as never, abi: identityRegistryAbi, functionName: "register", args: ["data:,"] } as const;
    const clientWallet = walletOf(key);
    const receipt = await mined(await clientWallet.writeContract(register as never));
    const client = BigInt(receipt.logs[0]?.topics[3] ?? 0);
    expect(await market.getClientRating({ client, server: agentId })).toBeNull();
    await mined(await seller.writeContract((await market.simulateRateClient({ account, client, rating: 90 })).request as never));
    expect(await market.getClientRating({ client, server: agentId })).toBe(90);
    await mined(await seller.writeContract((await market.simulateRateValidator({ account, validator: client, rating: 55 })).request as never));
    expect(await market.getValidatorRating({ validator: client, server: agentId })).toBe(55);
    const refusals: [string, Promise<unknown>][] = [
      ["AlreadyRated", market.simulateRateClient({ account, client, rating: 10 })],
      ["CannotRateSelf", market.simulateRateClient({ account, client: agentId, rating: 10 })],
      ["RatingTooHigh", market.simulateRateClient({ account, client, rating: 101 })],
      ["SubjectNotRegistered", market.simulateRateClient({ account, client: 999n, rating: 10 })],
      ["RaterNotRegistered", market.simulateRateClient({ account: "0x00000000000000000000000000000000000000AA", client, rating: 10 })],
      ["Error", market.simulateGiveFeedback({ account, agentId, value: 1n })],
      ["Error", market.simulateRevokeFeedback({ account, agentId, index: 77n })],
    ];
    const names = await Promise.all(refusals.map(([, call]) => call.then(() => "accepted", (error: unknown) => revertOf(error)?.name)));
    expect(names).toEqual(refusals.map(([name]) => name));
    expect(revertOf(new Error("other"))).toBeNull();
  });
});
