/** One paid request on its way through a seller. The SDK's hooks find it through the adapter in its HTTP context. */
import type { SettleResponse } from "@x402/core/types";
import type { GlobalAgentId } from "../proof/identifiers.js";
import type { Answer, PaidAnswer } from "./stores.js";

/** A client agent whose claim has been checked. */
export interface VerifiedClient {
  readonly agent: GlobalAgentId;
  readonly owner: string;
  /** The account that pays, in checksum form. */
  readonly payer: string;
  /** The rating that this server gave it; null if there is none. */
  readonly rating: number | null;
}

/** What a handler can learn about the paid request that it serves. */
export interface PaidRequest {
  /** The client's verified standing; null if it claims no agent, or clients are not checked. */
  readonly client: VerifiedClient | null;
  /** Run a callback once the payment is settled and the answer is on its way. Failures are logged. */
  afterSettlement(work: () => unknown): void;
}

/** One paid request. */
export class Exchange implements PaidRequest {
  /** The request's body, decoded. */
  request: Uint8Array = new Uint8Array();
  /** The answer's body, decoded; null until the application has answered. */
  response: Uint8Array | null = null;
  client: VerifiedClient | null = null;
  /** The settlement, if it was made before the application ran. */
  settlement: SettleResponse | null = null;
  /** The server's declarations by key, if the settlement was made first: answers are then signed later. */
  readonly declarations: Map<string, unknown> = new Map();
  isSigned = false;
  isSettled = false;
  isFree = false;
  /** True if the settlement failed, and may still succeed. */
  isUnsettled = false;
  /** The answer to an earlier request with the same payment, whose settlement failed then. */
  unsettled: PaidAnswer | null = null;
  /** The application's answer. */
  captured: Answer | null = null;
  readonly work: (() => unknown)[] = [];

  /** @param target The request's path and query. */
  constructor(readonly target: string) {}

  afterSettlement(work: () => unknown): void {
    this.work.push(work);
  }
}

const EXCHANGES = new WeakMap<object, Exchange>();

/** Let hooks find an exchange through the adapter in its HTTP context. */
export function bind(adapter: object, exchange: Exchange): void {
  EXCHANGES.set(adapter, exchange);
}

/** Return the exchange that a hook runs for; null outside this package's adapters. */
export function exchangeOf(transport: unknown): Exchange | null {
  const adapter = (transport as { request?: { adapter?: object } } | undefined)?.request?.adapter;
  return adapter ? (EXCHANGES.get(adapter) ?? null) : null;
}

/** Log a problem that is not reported to any caller. */
export function report(problem: string, error: unknown): void {
  console.error(`bilateral: ${problem}`, error);
}
