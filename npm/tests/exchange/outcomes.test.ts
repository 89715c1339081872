/** What a buyer reports for each kind of payment: the table of `outcomes.json`, through real HTTP and a real chain. */
import { expect, test } from "vitest";
import { createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import {
  InvalidArgumentError,
  LostAnswerError,
  PaidNotAnsweredError,
  TrustError,
  verificationOf,
  type Verification,
} from "../../source/x402/index.js";
import { prepareFeedback } from "../../source/x402/feedback/file.js";
import { vectors } from "../vectors/recorded.js";
import { buyerOf, control, fundedKey, world } from "./market.js";

interface Row {
  kind: string;
  situation: string;
  delivered: boolean;
  outcome: string;
  code: string;
  paid: boolean | null;
  feedback: boolean;
}

const rows: Row[] = vectors("outcomes").rows;
const key = await fundedKey();

const wallet = createWalletClient({ account: privateKeyToAccount(key), transport: http(world.rpc) });

test.each(rows)("$kind $situation", async ({ kind, situation, ...expected }) => {
  let earlier: string | undefined;
  if (situation.includes("earlier")) {
    await control({ kind, situation: "settles the price", payer: key });
    const first = verificationOf(await buyerOf(key).buy(world.scripted, { method: "POST", body: "Bergen?" }));
    expect(first?.isVerified).toBe(true);
    earlier = first?.interaction?.taskRef.split(":")[2];
  }
  const { rpc } = await control<{ rpc: string }>({ kind, situation, payer: key, earlier });
  const buyer = buyerOf(key, { rpc });
  const said = await reported(() => buyer.buy(world.scripted, { method: "POST", body: "Oslo?" }));
  expect(said).toEqual(expected);
  const { scripted } = await control({});
  expect(new Set(scripted).size).toBe(expected.outcome === "refused" ? 0 : 1);
  expect(buyer.signatures()).toBe(expected.outcome === "refused" ? 0 : 1);
});

async function reported(run: () => Promise<Response>): Promise<Omit<Row, "kind" | "situation">> {
  let response: Response;
  try {
    response = await run();
  } catch (error) {
    if (error instanceof TrustError) return { delivered: false, outcome: "refused", code: error.code, paid: false, feedback: false };
    if (!(error instanceof LostAnswerError)) throw error;
    const paid = error instanceof PaidNotAnsweredError || null;
    return { delivered: false, outcome: "lost", code: error.outcome, paid, feedback: false };
  }
  const verification = verificationOf(response);
  if (verification === null) return { delivered: true, outcome: "unpaid", code: "", paid: false, feedback: false };
  expect(await response.text()).toBe("snow");
  const first = verification.checks.find((check) => check.outcome !== "passed");
  const paid = verification.payment !== null || (first?.code === "nothing_paid" ? false : null);
  const feedback = await allowsFeedback(verification, paid);
  return { delivered: true, outcome: first?.outcome ?? "verified", code: first?.code ?? "", paid, feedback };
}

/** Return whether feedback is allowed. It claims no payment where none is proven. */
async function allowsFeedback(proof: Verification, paid: boolean | null): Promise<boolean> {
  try {
    const { args } = await prepareFeedback(wallet, { proof, value: 95 });
    const file = JSON.parse(Buffer.from(args.feedbackURI.split(",")[1] ?? "", "base64").toString());
    expect(file.proofOfPayment !== undefined).toBe(paid === true);
    return true;
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    return false;
  }
}
