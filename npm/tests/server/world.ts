/** Shops with a facilitator in memory: it settles whatever it verified, and counts. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { x402Client } from "@x402/core/client";
import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from "@x402/core/http";
import { x402ResourceServer, type FacilitatorClient } from "@x402/core/server";
import type { PaymentPayload, SettleResponse } from "@x402/core/types";
import { ExactEvmScheme as ExactClient } from "@x402/evm/exact/client";
import { ExactEvmScheme as ExactServer } from "@x402/evm/exact/server";
import { UptoEvmScheme as UptoClient } from "@x402/evm/upto/client";
import { UptoEvmScheme as UptoServer } from "@x402/evm/upto/server";
import express, { type Express } from "express";
import { Hono } from "hono";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect } from "vitest";
import { paid as paidExpress } from "../../source/x402/server/express.js";
import { paid as paidHono } from "../../source/x402/server/hono.js";
import {
  agent,
  ed25519Key,
  reputation,
  type ReputationExtension,
  type ReputationOptions,
  type SellerOptions,
} from "../../source/x402/server/index.js";
import { unhex, utf8 } from "../../source/x402/proof/bytes.js";
import { decodeHeader } from "../../source/x402/proof/headers.js";
import { interactionHash } from "../../source/x402/proof/hashes.js";
import { isSignatureOf } from "../../source/x402/proof/keys.js";
import { PROFILE_8004 } from "../../source/x402/proof/messages.js";
import { settlementOf, statementOf } from "../../source/x402/proof/statements.js";

export const NETWORK = "eip155:31337";
export const TOKEN = "0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9";
export const PAYEE = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65";
export const KEY = ed25519Key("07".repeat(32));
export const LIMIT = 100_000;
const REGISTRIES = { IdentityRegistry: `0x${"11".repeat(20)}`, ReputationRegistry: `0x${"22".repeat(20)}` };

/** A facilitator in memory. A test makes it fail by `answer`. */
export class Facilitator implements FacilitatorClient {
  settled = 0;
  verified = 0;
  settlements: PaymentPayload[] = [];
  answer: (() => Partial<SettleResponse> | Promise<Partial<SettleResponse>>) | null = null;
  async verify() {
    this.verified++;
    return { isValid: true };
  }
  async settle(payload: PaymentPayload, requirements: { amount: string }): Promise<SettleResponse> {
    this.settlements.push(payload);
    const answer = (await this.answer?.()) ?? {};
    if (answer.success !== false) this.settled++;
    const transaction = `0x${this.settled.toString(16).padStart(64, "0")}`;
    return { success: true, transaction, network: NETWORK, amount: requirements.amount, ...answer };
  }
  async getSupported() {
    const facilitatorAddress = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
    const kinds = ["exact", "upto"].map((scheme) => ({ x402Version: 2, scheme, network: NETWORK, extra: { facilitatorAddress } }));
    return { kinds, extensions: [], signers: {} } as never;
  }
}

export const me = agent({ chainId: 31337, agentId: 7n, registries: REGISTRIES, freeAnswers: true });
const domain = { name: "Test Dollar", version: "2" };

/** Return the price of a route. */
export function price(scheme = "exact", extra: Record<string, unknown> = {}, declaration = me.declaration) {
  const money = { asset: TOKEN, amount: "1000", extra: { ...domain, ...extra } };
  const option = { scheme, network: NETWORK, payTo: PAYEE, price: money, maxTimeoutSeconds: 600, extra } as const;
  return { accepts: { ...option }, extensions: declaration };
}

export const ROUTES = {
  "* /metered": price("upto"),
  "* /permit2": price("exact", { assetTransferMethod: "permit2" }),
  "* /upfront": price("exact", { paymentFlow: "upfront" }),
  "* /paid/*": price(),
};

export interface Shop {
  readonly url: string;
  readonly facilitator: Facilitator;
  readonly extension: ReputationExtension;
  readonly unsigned: string[];
  close(): Promise<void>;
}

type Settings = SellerOptions & { reputation?: Partial<ReputationOptions>; routes?: Record<string, ReturnType<typeof price>> };

function parts(settings: Settings) {
  const facilitator = new Facilitator();
  const unsigned: string[] = [];
  const extension = reputation({ key: KEY, onUnsigned: (problem) => unsigned.push(problem), recheckSeconds: 0, ...settings.reputation });
  const server = new x402ResourceServer(facilitator).register(NETWORK, new ExactServer()).register(NETWORK, new UptoServer());
  server.registerExtension(extension);
  return { facilitator, unsigned, extension, server };
}

async function listening(handler: Parameters<typeof createServer>[1]): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

/** Open a shop of Express. */
export async function expressShop(serve: (app: Express) => void, settings: Settings = {}, before: (app: Express) => void = () => {}, mount = "/"): Promise<Shop> {
  const { server, ...others } = parts(settings);
  const app = express();
  before(app);
  app.use(mount, paidExpress(settings.routes ?? ROUTES, server, { limit: LIMIT, ...settings }));
  serve(app);
  app.use((_error: unknown, _request: express.Request, response: express.Response, _next: express.NextFunction) => {
    response.status(500).json({ error: "crash" });
  });
  return { ...others, ...(await listening(app)) };
}

/** Open a shop of Hono, over Node's own server. */
export async function honoShop(serve: (app: Hono) => void, settings: Settings = {}): Promise<Shop> {
  const { server, ...others } = parts(settings);
  const app = new Hono();
  app.use(paidHono(settings.routes ?? ROUTES, server, { limit: LIMIT, ...settings }) as never);
  serve(app);
  const http = await listening(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)] as [string, string]));
    const hasBody = request.method !== "GET" && request.method !== "HEAD";
    const url = `http://${request.headers.host}${request.url}`;
    const sent = new Request(url, { method: request.method ?? "GET", headers, ...(hasBody ? { body: Buffer.concat(pieces) } : {}) });
    const answer = await app.fetch(sent);
    response.writeHead(answer.status, [...answer.headers].flat());
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  return { ...others, ...http };
}

export function buyer(key = generatePrivateKey()): x402Client {
  const account = privateKeyToAccount(key);
  return new x402Client()
    .setSpendControls(false)
    .register("eip155:*", new ExactClient(account))
    .register("eip155:*", new UptoClient(account));
}

/** Ask for the price, and return the header of a payment. */
export async function payment(url: string, init: RequestInit = {}, identifier = "", client = buyer()): Promise<string> {
  const unpaid = await fetch(url, { ...init, headers: {} });
  expect(unpaid.status).toBe(402);
  const required = decodePaymentRequiredHeader(unpaid.headers.get("payment-required") ?? "");
  const payload = await client.createPaymentPayload(required);
  if (identifier) {
    const info = { required: false, id: identifier };
    payload.extensions = { ...payload.extensions, "payment-identifier": { ...(payload.extensions?.["payment-identifier"] as object), info } };
  }
  return encodePaymentSignatureHeader(payload);
}

/** Ask for the price, pay it, and return the answer. */
export async function pay(url: string, init: RequestInit = {}): Promise<Response> {
  const header = await payment(url, { method: init.method ?? "GET", ...(init.body ? { body: init.body } : {}) });
  return fetch(url, { ...init, headers: { ...init.headers, "payment-signature": header } });
}

/** Check that an answer has a proof of exactly these bodies. */
export async function expectProof(response: Response, body: Uint8Array | string, request: Uint8Array | string = ""): Promise<void> {
  const settlement = settlementOf(decodeHeader(response.headers.get("payment-response")));
  const statement = await statementOf(PROFILE_8004, settlement.interaction);
  expect(statement.taskRef).toBe(`${NETWORK}:${settlement.transaction}`);
  const bytes = (part: Uint8Array | string): Uint8Array => (typeof part === "string" ? utf8(part) : part);
  const digest = await interactionHash(statement.taskRef, bytes(request), bytes(body));
  expect(statement.interactionHash).toEqual(digest);
  expect(await isSignatureOf(digest, statement.signature, KEY.publicKey, KEY.algorithm)).toBe(true);
}

/** Return the reason with which a server refuses a payment. */
export function refusal(response: Response): unknown {
  return decodeHeader(response.headers.get("payment-required"))?.["error"];
}

export { unhex, utf8 };
