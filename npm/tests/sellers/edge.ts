/** A shop of Hono for every runtime, and a buyer at `/buy`. The settings are JSON in the variable `SHOP`. */
import type { Hono } from "hono";
import { privateKeyToAccount } from "viem/accounts";
import { trustedFetch, verificationOf, type TrustedChain } from "../../source/x402/index.js";
import { honoApp } from "./app.js";

declare const process: { env: Record<string, string | undefined> } | undefined;

let app: Hono | undefined;

interface Order {
  readonly url: string;
  readonly key: `0x${string}`;
  readonly chain: TrustedChain;
}

/** Buy what a test orders, and say what came. */
async function bought(request: Request): Promise<Response> {
  const { url, key, chain } = (await request.json()) as Order;
  const buy = trustedFetch({ account: privateKeyToAccount(key), chains: [chain], spending: false });
  const response = await buy(url, { method: "POST", body: "snow" });
  const proof = verificationOf(response);
  return Response.json({ body: await response.text(), isVerified: proof?.isVerified, problems: proof?.problems });
}

export default {
  port: Number(typeof process === "undefined" ? 0 : process?.env["PORT"]),
  fetch(request: Request, env?: { SHOP?: string }): Response | Promise<Response> {
    if (new URL(request.url).pathname === "/buy") return bought(request);
    const settings = env?.SHOP ?? (typeof process === "undefined" ? "{}" : process?.env["SHOP"]);
    app ??= honoApp(JSON.parse(settings ?? "{}"));
    return app.fetch(request);
  },
};
