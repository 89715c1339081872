/** The recorded exchanges of `tests/vectors/exchanges.json`, and the node that answers from their records. */
import { readFileSync } from "node:fs";
import type { Outcome, PaidExchange, Provider, TrustTerms, Verification } from "../../source/x402/index.js";
import { joined, base64, bytesOf, hex, unbase64, utf8 } from "../../source/x402/proof/bytes.js";

type Json = any; // eslint-disable-line -- the vectors have every type on purpose

/** A case, with what Python found. */
export interface Case {
  base: string;
  name: string;
  changes: [(string | number)[], Json][];
  isVerified: boolean;
  checks: Record<string, [Outcome, string, string]>;
  problems: number;
  amount?: string;
  now?: Verdict;
}

/** What both languages must find. */
export type Verdict = Pick<Case, "isVerified" | "checks" | "problems" | "amount" | "now">;

/** Read one of the shared files. */
export function vectors(name: string): Json {
  return JSON.parse(readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url), "utf8"));
}

function valueOf(value: Json): Json {
  if (Array.isArray(value)) return value.map(valueOf);
  if (typeof value !== "object" || value === null) return value;
  if ("$repeat" in value) return value.$repeat[0].repeat(value.$repeat[1]);
  if ("$null" in value) return null;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, valueOf(part)]));
}

/** Return an exchange with changes. */
export function changed(base: Json, changes: Case["changes"]): Json {
  const made = structuredClone(base);
  for (const [path, value] of changes) {
    const holder = path.slice(0, -1).reduce((part, name) => part[name], made);
    const name = path.at(-1) as string;
    if (value !== null) holder[name] = valueOf(value);
    else if (Array.isArray(holder)) holder.splice(Number(name), 1);
    else delete holder[name];
  }
  return made;
}

/** Return the exchange for the verifier. */
export function paidOf(made: Json): PaidExchange {
  return {
    payment: made.payment,
    settlement: made.settlement ?? null,
    request: unbase64(made.request) as Uint8Array,
    response: made.response === undefined ? null : unbase64(made.response),
    target: made.target,
    isBodyLost: made.isBodyLost ?? false,
    unpaidStatus: made.unpaidStatus ?? null,
  };
}

/** Return the terms for an exchange. */
export function termsOf(made: Json, registries: Json): TrustTerms {
  const { allowWalletSigner, confirmations, receiptSeconds, walletServices } = made.terms;
  return {
    chains: [{ id: 8453, rpc: recordedNode(made.node, registries), registries }],
    receiptSeconds: receiptSeconds ?? 0,
    ...(allowWalletSigner === undefined ? {} : { allowWalletSigner }),
    ...(confirmations === undefined ? {} : { confirmations }),
    ...(walletServices === undefined ? {} : { walletServices }),
  };
}

/** Return what the tests of all languages compare. */
export function verdictOf(verification: Verification): Verdict {
  const { isVerified, checks, problems, payment, now } = verification;
  const listed = checks.filter(({ outcome }) => outcome !== "passed");
  return {
    isVerified,
    checks: Object.fromEntries(listed.map(({ name, outcome, code, field }) => [name, [outcome, code, field]])),
    problems: problems.length,
    ...(payment ? { amount: String(payment.amount) } : {}),
    ...(now ? { now: verdictOf(now) } : {}),
  };
}

const PERMIT2 = "0x000000000022d473030f116ddee9f6b43ac78ba3";
const TOKEN = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913";

/** A node that answers from a record, as `RecordedNode` of Python does. */
export function recordedNode(record: Json, registries: Json): Provider {
  const views: Record<string, string> = {
    [`${registries.IdentityRegistry.toLowerCase()}:0x00339509`]: "wallet",
    [`${registries.IdentityRegistry.toLowerCase()}:0xc87b56dd`]: "uri",
    [`${registries.ReputationRegistry.toLowerCase()}:0xbc4d861b`]: "identity",
    [`${PERMIT2}:0x4fe02b44`]: "used",
    [`${TOKEN}:0xe94a0102`]: "used",
  };
  const recorded = (value: Json): Json => {
    if (value === undefined) throw new Error("not recorded");
    return value;
  };
  const call = ({ to, data }: { to: string; data: string }): string => {
    const name = recorded(views[`${to.toLowerCase()}:${data.slice(0, 10)}`]);
    if ((name === "wallet" || name === "uri") && BigInt(`0x${data.slice(10)}`) !== 247n) throw new Error("not recorded");
    const value = recorded(record[name]);
    if (name === "used") return `0x${(value ? "f" : "0").repeat(64)}`;
    if (name === "uri") return `0x${hex(textData(uriOf(value)))}`;
    return `0x${value.slice(2).toLowerCase().padStart(64, "0")}`;
  };
  return {
    async request({ method, params }) {
      const [first, second] = params as Json[];
      switch (method) {
        case "eth_blockNumber":
          return `0x${recorded(record.latest).toString(16)}`;
        case "eth_getBlockByNumber": {
          const number = first === "latest" ? recorded(record.latest) : Number(first);
          const [other] = first === "latest" ? Object.values(recorded(record.times)) : []; // its time is not compared
          const time = recorded(recorded(record.times)[number] ?? other);
          return { number: `0x${number.toString(16)}`, timestamp: `0x${time.toString(16)}` };
        }
        case "eth_getTransactionReceipt":
          return recorded(record.receipts)[first] ?? null;
        case "eth_getTransactionByHash":
          return recorded(record.transactions[first]);
        case "debug_traceTransaction":
          return recorded(record.traces[first]);
        case "eth_getLogs":
          return record.logs;
        case "eth_call":
          return call(first);
        default:
          throw new Error(`not recorded: ${method} ${second}`);
      }
    },
  };
}

function uriOf(uri: Json): string {
  return typeof uri === "string" ? uri : `data:application/json;base64,${base64(utf8(JSON.stringify(uri)))}`;
}

function textData(text: string): Uint8Array {
  const content = utf8(text);
  const padding = new Uint8Array((32 - (content.length % 32)) % 32);
  return joined(bytesOf(32n, 32), bytesOf(BigInt(content.length), 32), content, padding);
}
