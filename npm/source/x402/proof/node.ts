/** Requests to a node. Requests made at the same time are sent in one batch (JSON-RPC 2.0). */
import { NodeError, printable } from "../errors.js";
import { readAll, timeout } from "../limits.js";
import { bigintOf, hex, unhex, utf8, utf8Text } from "./bytes.js";
import { keccak_256 } from "@noble/hashes/sha3";
import { isObject, type JsonObject } from "./json.js";

/** An EIP-1193 provider, such as a viem client or a wallet. */
export interface Provider {
  request(args: { method: string; params?: unknown }): Promise<unknown>;
}

/** A chain that a buyer trusts: one from `viem/chains`, or a chain id with a node. */
export interface TrustedChain {
  /** The chain id (EIP-155). */
  readonly id: number;
  /** The node: a URL or a provider. By default, the chain's public node. */
  readonly rpc?: string | Provider;
  /** As in viem's chains. */
  readonly rpcUrls?: { readonly default: { readonly http: readonly string[] } };
  /** The registries to trust; by default, the chain's built-in ones. Servers that declare others are rejected. */
  readonly registries?: { readonly IdentityRegistry: string; readonly ReputationRegistry: string };
}

const MAX_ANSWER = 16 * 1024 * 1024;

/** One node. */
export class Node {
  readonly #ask: (method: string, params: readonly unknown[]) => Promise<unknown>;

  /**
   * @param rpc A URL or a provider.
   * @param fetch The function that sends requests.
   * @param seconds The timeout for one response.
   */
  constructor(rpc: string | Provider, fetch: typeof globalThis.fetch, seconds: number) {
    this.#ask = typeof rpc === "string" ? batched(rpc, fetch, seconds) : asked(rpc, seconds);
  }

  /** Send one request. */
  async send(method: string, ...params: readonly unknown[]): Promise<unknown> {
    return this.#ask(method, params);
  }

  /** Call a view function, and return its data. */
  async call(to: string, signature: string, args: Uint8Array, block: bigint | null = null): Promise<Uint8Array> {
    const data = `0x${selector(signature)}${hex(args)}`;
    return dataOf(await this.send("eth_call", { to, data }, block === null ? "latest" : quantityText(block)));
  }

  /** Return the number of the latest block. */
  async latestBlock(): Promise<bigint> {
    return quantityOf(await this.send("eth_blockNumber"));
  }

  /** Return the number and the time of the latest block. */
  async latest(): Promise<{ readonly number: bigint; readonly time: bigint }> {
    const { number, timestamp } = recordOf(await this.send("eth_getBlockByNumber", "latest", false));
    return { number: quantityOf(number), time: quantityOf(timestamp) };
  }

  /** Return the time of a block in Unix seconds. */
  async blockTime(block: bigint): Promise<bigint> {
    return quantityOf(recordOf(await this.send("eth_getBlockByNumber", quantityText(block), false))["timestamp"]);
  }
}

const SELECTORS: Record<string, string> = {};

/** Return a function's selector, the first four bytes of its signature's hash, in hexadecimal digits. */
export function selector(signature: string): string {
  return (SELECTORS[signature] ??= hex(keccak_256(utf8(signature)).subarray(0, 4)));
}

/** Format a number as nodes expect it. */
export function quantityText(value: bigint): string {
  return `0x${value.toString(16)}`;
}

/** Read a number from its hexadecimal form. */
export function quantityOf(answer: unknown): bigint {
  if (typeof answer !== "string" || !/^0x[0-9a-fA-F]{1,64}$/.test(answer)) malformed("a number");
  return BigInt(answer);
}

/** Read bytes from their hexadecimal form. */
export function dataOf(answer: unknown): Uint8Array {
  return unhex(digitsOf(answer)) ?? malformed("bytes in hexadecimal digits");
}

/** Return hexadecimal digits in lower case, without 0x. */
export function digitsOf(answer: unknown): string {
  if (typeof answer !== "string" || !/^0x(?:[0-9a-fA-F]{2})*$/.test(answer)) malformed("bytes in hexadecimal digits");
  return answer.slice(2).toLowerCase();
}

/** Return an object. */
export function recordOf(answer: unknown): JsonObject {
  if (!isObject(answer)) malformed("an object");
  return answer;
}

/** Return a list of objects. */
export function recordsOf(answer: unknown): JsonObject[] {
  if (!Array.isArray(answer)) malformed("a list");
  return answer.map(recordOf);
}

/** Throw the error for a response in an unexpected form. */
export function malformed(expected: string): never {
  throw new NodeError(`the node's response is not ${expected}`);
}

/** Return the address that a view function returned. */
export function addressOf(data: Uint8Array): string {
  if (data.length !== 32 || data.subarray(0, 12).some((byte) => byte !== 0)) malformed("an address");
  return `0x${hex(data.subarray(12))}`;
}

/** Return the only value that a view function returned, a string. Bytes that are not UTF-8 are replaced. */
export function textOf(data: Uint8Array): string {
  const at = Number(bigintOf(data.subarray(0, 32)));
  if (data.length < 64 || at + 32 > data.length) malformed("a text");
  const size = Number(bigintOf(data.subarray(at, at + 32)));
  if (at + 32 + size > data.length) malformed("a text");
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(data.subarray(at + 32, at + 32 + size));
}

/** Send each request to a provider. The code for providers is loaded with the first request. */
function asked(provider: Provider, seconds: number): (method: string, params: readonly unknown[]) => Promise<unknown> {
  return async (...question) => (await import("./provider.js")).answerOf(provider, seconds, ...question);
}

interface Question {
  readonly method: string;
  readonly params: readonly unknown[];
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

/** Send all requests from one turn of the event loop in a single HTTP request. */
function batched(
  url: string,
  fetch: typeof globalThis.fetch,
  seconds: number,
): (method: string, params: readonly unknown[]) => Promise<unknown> {
  let waiting: Question[] = [];
  const flush = async (): Promise<void> => {
    const questions = waiting;
    waiting = [];
    try {
      const messages = questions.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params }));
      const body = JSON.stringify(messages.length === 1 ? messages[0] : messages);
      const answers = await answersOf(url, fetch, seconds, body);
      questions.forEach((question, id) => settle(question, answers.find((answer) => answer["id"] === id)));
    } catch (error) {
      const failure = error instanceof NodeError ? error : new NodeError("the node did not respond", { cause: error });
      for (const question of questions) question.reject(failure);
    }
  };
  return (method, params) =>
    new Promise((resolve, reject) => {
      if (!waiting.length) setTimeout(flush, 0);
      waiting.push({ method, params, resolve, reject });
    });
}

async function answersOf(
  url: string,
  fetch: typeof globalThis.fetch,
  seconds: number,
  body: string,
): Promise<JsonObject[]> {
  const signal = timeout(seconds * 1000);
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body,
    signal,
    redirect: "manual", // Workers do not know "error"
  });
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
    throw new NodeError("the node redirects to a different address");
  }
  const text = utf8Text(await readAll(response, MAX_ANSWER, signal));
  let answer: unknown;
  try {
    answer = JSON.parse(text ?? "");
  } catch {
    throw new NodeError(`the node returned status ${response.status} and no JSON`);
  }
  return recordsOf(Array.isArray(answer) ? answer : [answer]);
}

function settle(question: Question, answer: JsonObject | undefined): void {
  if (answer && (answer["error"] ?? null) === null && Object.hasOwn(answer, "result")) {
    question.resolve(answer["result"]);
    return;
  }
  const error = answer?.["error"];
  const message = isObject(error) && typeof error["message"] === "string" ? error["message"] : "no answer";
  question.reject(new NodeError(`the node rejected ${question.method}: ${printable(message.slice(0, 200))}`));
}
