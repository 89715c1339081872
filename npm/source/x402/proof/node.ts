/** Requests to a node. Requests made at the same time are sent in one batch (JSON-RPC 2.0). */
import { NodeError } from "../errors.js";
import { readAll, timeout } from "../limits.js";
import { bigintOf, hex, unhex, utf8, utf8Text } from "./bytes.js";
import { keccak_256 } from "@noble/hashes/sha3";
import { fieldOf, isObject, type JsonObject } from "./json.js";

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

/** A node: sends one request. */
export type Node = (method: string, ...params: readonly unknown[]) => Promise<unknown>;

/**
 * Return a node.
 *
 * @param rpc A URL or a provider.
 * @param fetch The function that sends requests.
 * @param seconds The timeout for one response.
 */
export function nodeOf(rpc: string | Provider, fetch: typeof globalThis.fetch, seconds: number): Node {
  if (typeof rpc === "string") return batched(rpc, fetch, seconds);
  return async (method, ...params) => (await import("./provider.js")).answerOf(rpc, seconds, method, params);
}

/** Call a view function, and return its data. */
export async function view(node: Node, to: string, signature: string, args: Uint8Array, at = "latest"): Promise<Uint8Array> {
  return dataOf(await node("eth_call", { to, data: `0x${selector(signature)}${hex(args)}` }, at));
}

/** Return the number of the latest block. */
export async function latestBlock(node: Node): Promise<bigint> {
  return quantityOf(await node("eth_blockNumber"));
}

/** Return the number and the time, in Unix seconds, of a block; of the latest one by default. */
export async function blockOf(node: Node, at = "latest"): Promise<{ readonly number: bigint; readonly time: bigint }> {
  const { number, timestamp } = recordOf(await node("eth_getBlockByNumber", at, false));
  return { number: quantityOf(number), time: quantityOf(timestamp) };
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
  throw new NodeError(["response", expected]);
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

interface Question {
  readonly method: string;
  readonly params: readonly unknown[];
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

/** Send all requests from one turn of the event loop in a single HTTP request. */
function batched(url: string, fetch: typeof globalThis.fetch, seconds: number): Node {
  let waiting: Question[] = [];
  const flush = async (): Promise<void> => {
    const questions = waiting;
    waiting = [];
    try {
      const messages = questions.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params }));
      const answers = await answersOf(url, fetch, seconds, messages.length > 1 ? messages : messages[0]);
      questions.forEach((question, id) => settle(question, answers.find((answer) => answer["id"] === id)));
    } catch (error) {
      const failure = error instanceof NodeError ? error : new NodeError(["noResponse"], { cause: error });
      for (const { reject } of questions) reject(failure);
    }
  };
  return (method, ...params) =>
    new Promise((resolve, reject) => {
      if (!waiting.length) setTimeout(flush, 0);
      waiting.push({ method, params, resolve, reject });
    });
}

async function answersOf(
  url: string,
  fetch: typeof globalThis.fetch,
  seconds: number,
  message: unknown,
): Promise<JsonObject[]> {
  const signal = timeout(seconds * 1000);
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(message),
    signal,
    redirect: "manual", // Workers do not know "error"
  });
  const { status, type } = response;
  if (type === "opaqueredirect" || (status >= 300 && status < 400)) throw new NodeError(["redirect"]);
  const text = utf8Text(await readAll(response, MAX_ANSWER, signal));
  let answer: unknown;
  try {
    answer = JSON.parse(text ?? "");
  } catch {
    throw new NodeError(["status", status]);
  }
  return recordsOf(Array.isArray(answer) ? answer : [answer]);
}

function settle({ method, resolve, reject }: Question, answer: JsonObject = {}): void {
  const { error = null, result } = answer;
  if (error === null && Object.hasOwn(answer, "result")) return resolve(result);
  const message = fieldOf(error, "message");
  reject(new NodeError(["rejected", method, typeof message === "string" ? message.slice(0, 200) : "no answer"]));
}
