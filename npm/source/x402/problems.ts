/** The texts of problems, and the checks that did not pass. Loaded with the first one, as most purchases have none. */
import type { CheckCode } from "./codes.js";
import { InvalidMessageError, printable, quoted, TrustError, X402Error } from "./errors.js";
import { accountText } from "./proof/identifiers.js";
import type { JsonObject } from "./proof/json.js";
import type { AgentRegistration } from "./proof/messages.js";
import type { SignedPayment } from "./proof/payments.js";
import { isSecond } from "./proof/registration.js";
import { failed, Stopped, unchecked } from "./proof/stops.js";
import { checkOf, type Check, type CheckName } from "./proof/verdicts.js";

type Part = string | number | bigint;
type Nested = string | readonly [string, ...unknown[]];

const IDENTIFIERS: Readonly<Record<string, readonly [name: string, form: string, part: string]>> = {
  chain: ["a CAIP-2 chain id", "namespace:reference", ""],
  account: ["a CAIP-10 account id", "namespace:reference:address", "an address"],
  transaction: ["a transaction reference", "namespace:reference:transaction", "a transaction"],
  agent: ["a global agent id", "", "an agent"],
};


/** What an earlier check did not find. */
const ABSENT = {
  statement: "there is no statement",
  settlement: "there is no settlement",
  receipt: "no settlement",
  payment: "no payment",
  found: "the payment was not found",
  file: "there is no registration file",
  chain: "the chain is unknown",
  agent: "the agent is unknown",
};

/** The name of what an earlier check did not find. */
export type Absent = keyof typeof ABSENT;

/** The texts by key. Where a problem has a code of its own, the key is the code. */
const TEXTS = {
  // of any error
  error: (error: unknown): string => messageOf(error),
  described: (error: unknown): string => (error instanceof Error ? `${error.name}: ${messageOf(error)}` : String(error)),
  field: (field: string, problem: Nested): string => (field ? `${field}: ${textOf(problem)}` : textOf(problem)),

  // of identifiers
  identifier: (kind: string, text: string, problem: Nested): string =>
    `${quoted(text)} is not ${IDENTIFIERS[kind]?.[0] ?? kind}: ${textOf(problem)}`,
  aString: "expected a string",
  form: (kind: string): string => `expected ${IDENTIFIERS[kind]?.[1]}`,
  emptyPart: (kind: string): string => `a part of ${IDENTIFIERS[kind]?.[1]} is empty`,
  chain: (namespace: string): string => {
    if (!/^[-a-z0-9]{3,8}$/.test(namespace)) return "a namespace must have 3 to 8 characters from a-z, 0-9 and -";
    if (namespace === "eip155") {
      return "an eip155 reference must be the chain id in decimal digits, from 1, without leading zeros";
    }
    if (namespace !== "solana") return `the namespaces eip155 and solana are supported, not ${namespace}`;
    return "a solana reference must be the first 32 characters of the genesis hash, in base 58";
  },
  base58: (kind: string, length: number, decoded: number | null): string =>
    `${IDENTIFIERS[kind]?.[2]} of solana ` +
    (decoded === null ? `is ${length} bytes in base 58` : `has ${length} bytes, but this one has ${decoded}`),
  transactionDigits: "an EVM transaction must be 0x and 64 hexadecimal digits",
  agentNumber: "the agent is not a whole number from 0 to 2^256 - 1 in decimals",

  // of fields in messages
  missing: (subject?: string): string => (subject ? `the ${subject} is missing` : TEXTS.boolean),
  wrong_type: (expected?: string, kind?: string): string => (expected ? `expected ${expected}, not ${kind}` : TEXTS.boolean),
  too_long: (limit: number): string => `the text exceeds the limit of ${limit} characters`,
  too_many: (count: number, limit: number, subject = ""): string => `${count}${subject} exceed the limit of ${limit}`,
  wrong_chain: (text: string, place: string, reason = ""): string => `${text} is not on ${place}${reason}`,
  unsupported_version: (version: string): string => `version ${version} is not supported`,
  malformed: (...problem: Nested & object): string => textOf(problem),
  emptyText: "the text is empty",
  emptyList: "the list is empty",
  uri: (text: string): string => `${quoted(text)} is not an absolute URI`,
  range: (most?: number): string => `the number is out of range${most === undefined ? "" : ` 1..${most}`}`,
  digits: (lengths: string): string => `expected ${lengths} bytes in hexadecimal digits`,
  expected: (values: string): string => `expected ${values}`,
  boolean: "expected true or false",
  version: "expected three numbers, such as 1.0.0",

  // of documents
  documentIsNot: (kind: string): string => `the document is not ${kind}`,
  depth: (levels: number): string => `the document is nested deeper than ${levels} levels`,
  twice: (name: string): string => `the name ${quoted(name)} occurs twice in one object`,
  surrogate: "a string in the document contains a lone surrogate",
  large: (token: string): string => `the number ${quoted(token)} is too large`,
  long: "the document contains a number that is too long",
  isNot: (path: string, kind: string): string => `${path} is not ${kind}`,
  isMalformed: (path: string): string => `${path} is malformed`,
  signer: (at: number, entry: JsonObject, key: Uint8Array | null): string => `signers.${at}.${signerProblem(entry, key)}`,
  noContent: (uri: string): string => `${quoted(uri)} has no content`,
  noUrl: (uri: string): string => `${quoted(uri)} is not a URL`,
  private: (uri: string): string => `${quoted(uri)} resolves to an address that is not public`,
  redirected: (uri: string, target: string): string => `${quoted(uri)} redirects to ${quoted(target)}`,
  returned: (uri: string, status: number): string => `${quoted(uri)}: the server returned ${status}`,
  unreadable: (uri: string): string => `${quoted(uri)} cannot be read`,

  // of nodes
  response: (expected: string): string => `the node's response is not ${expected}`,
  noResponse: "the node did not respond",
  redirect: "the node redirects to a different address",
  status: (status: number): string => `the node returned status ${status} and no JSON`,
  rejected: (method: string, reason: string): string => `the node rejected ${method}: ${printable(reason)}`,

  // of payments
  authorizations: (count: "both" | "neither"): string =>
    `the payment contains ${count} authorization ${count === "both" ? "and" : "nor"} permit2Authorization`,
  nonce: "not 32 bytes in hexadecimal digits",
  kind: (kind: string): string => `a payment of kind ${kind} cannot be verified`,
  noPrice: "the price must not be 0",
  agreed: (signed: Part, agreed: Part): string => `${signed} was signed, but ${agreed} was agreed`,
  address: (text: string): string => `${printable(text)} is not an address`,
  number: (text: string): string => `${printable(text)} is not a number from 0 to 2^256 - 1 in decimal digits`,
  part: (kind: string): string => `missing, or not ${kind}`,
  proxy: (spender: string, scheme: string): string => `${printable(spender)} is not the proxy for ${scheme}`,
  noFacilitator: "missing, so either anyone could settle the payment, or no one could",
  facilitator: "the proxy for the exact scheme uses no facilitator",
  paid_less: (moved: bigint, { asset, payee, amount }: SignedPayment): string =>
    `only ${moved} of ${asset} arrived at ${payee}, but the price is ${amount}`,
  payment_unconfirmed: (depth: bigint, confirmations: number): string =>
    `the payment has ${depth} of ${confirmations} confirmations`,
  noBlock: "the transaction is not in any block",
  reverted: "the transaction failed",
  payment_mismatch: ({ kind, asset, payer, payee, amount }: SignedPayment): string => {
    const most = kind === "permit2-upto" ? "at most " : "";
    return `the transaction does not transfer ${most}${amount} of ${asset} from ${payer} to ${payee} by this authorization`;
  },

  // of prices and sellers
  header: (limit: number): string =>
    `PAYMENT-REQUIRED is ${limit ? `malformed, repeats a name, or exceeds ${limit} characters` : "missing"}`,
  x402Version: (version: string): string => `PAYMENT-REQUIRED has x402Version ${printable(version)}, not 2`,
  offer: "PAYMENT-REQUIRED has no valid accepts, extensions or resource",
  integer: "PAYMENT-REQUIRED contains an integer above 2^53",
  otherAddress: (url: string): string => `the price comes from a different address, ${quoted(url)}`,
  amount: (amount: string): string => `amount: ${quoted(amount)} must be an integer from 1 to 2^256 - 1`,
  notAddress: (address: string): string => `${quoted(address)} is not an address`,
  scheme: "payments must use the scheme exact, by EIP-3009 or Permit2, or the scheme upto",
  domain: "extra has no name and version of the token's EIP-712 domain",
  server: "the server cannot be checked",
  not_declared: "the server does not declare 8004-reputation",
  cannotCheck: (error: unknown): string => `the agent cannot be checked: ${TEXTS.described(error)}`,
  agent_not_registered: (network: string): string => `Agent not registered on ${network} network`,
  unknown_registry: ({ agent: { registry }, reputationRegistry }: AgentRegistration): string => {
    const reputation = reputationRegistry ? accountText(reputationRegistry) : "its reputation registry";
    return `the registries ${accountText(registry)} and ${reputation} are not on the allow-list`;
  },
  registry_mismatch: (registry: string, identity: string): string =>
    `${registry} belongs to a different identity registry, ${identity}`,
  supported: (network: string, trusted: string): string => `${quoted(network)} cannot be checked; supported: ${trusted || "none"}`,
  payment_address_mismatch: "Payment address mismatch - potential fraud. ABORTING.",

  // of checks
  unsupported_network: (network: string): string => `${network} cannot be checked`,
  settlement_failed: "the server reports that settlement failed",
  amount_mismatch: (reported: string, amount: bigint): string =>
    `the server reports that ${reported} was paid, but the payment is ${amount}`,
  agent_mismatch: (agentId: string, agent: string): string => `the statement is for agent ${agentId}, not for ${agent}`,
  network_mismatch: (networks: string): string => `the messages specify different networks: ${networks}`,
  task_ref_mismatch: "the statement and the settlement specify different transactions",
  body_not_kept: "the server did not retain the body of this response",
  unsupported_body: "the response cannot be decoded",
  hash_mismatch: "the hash does not match these bodies",
  file_not_authentic: "nothing proves that the registration file is authentic: use https, ipfs or data",
  not_provable_for_the_past: "the past content of a file at an https URI cannot be proven",
  malformed_file: (error: unknown): string => `the registration file is malformed: ${messageOf(error)}`,
  file_not_loaded: (error: unknown): string => `the registration file cannot be loaded: ${messageOf(error)}`,
  no_valid_signers: "No valid signers found",
  signature_failed: "Signature verification failed",
  key_mismatch: "the statement specifies a different key, which did not create the signature",
  earlier_check_failed: (name: Absent): string => ABSENT[name],
  metered: "PAYMENT-RESPONSE does not state how much of the maximum amount was taken",
  unpaid: (status: number): string => `nothing was paid: the server returned ${status} without a settlement`,
};

type Texts = typeof TEXTS;
type PartsOf<Text> = Text extends (...parts: infer Parts) => string ? Parts : [];

/** A problem: the key of its text, and the values in it. */
export type Problem = { [Key in keyof Texts]: readonly [Key, ...PartsOf<Texts[Key]>] }[keyof Texts];

/** Return a problem's text. */
export function textOf(problem: Nested): string {
  if (typeof problem === "string") return problem;
  const [key, ...parts] = problem;
  const text = TEXTS[key as keyof Texts] as string | ((...parts: readonly unknown[]) => string);
  return typeof text === "string" ? text : text(...parts);
}

/** Return an error with its full text, and its causes with theirs. */
export function explained<E>(error: E): E {
  if (!(error instanceof X402Error)) return error;
  explained(error.cause);
  if (typeof error.problem === "string") return error;
  const before = error.message;
  const shortMessage = textOf(error.problem);
  const message = error instanceof TrustError ? `${error.code}: ${shortMessage}` : shortMessage;
  const stack = error.stack?.replace(before, () => message);
  return Object.assign(error, { problem: shortMessage, shortMessage, message, stack });
}

/** Return an error's full text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? explained(error).message : String(error);
}

/** Return the text of an error of this package, or the name of any other, whose text may quote secrets. */
export function safeTextOf(error: unknown): string {
  return error instanceof X402Error ? messageOf(error) : error instanceof Error ? error.name : "an unknown error";
}

/** Return the first fault of a signer, which `readRegistrationFile` refused. */
function signerProblem({ algorithm, role = null, comment = null, ...entry }: JsonObject, key: Uint8Array | null): string {
  if (key === null) return "publicKey: expected hexadecimal digits in pairs, without 0x";
  if (algorithm !== "ed25519" && algorithm !== "secp256k1") return "algorithm: expected ed25519 or secp256k1";
  if (role !== null && role !== "owner" && role !== "delegate") return "role: expected owner or delegate";
  if (comment !== null && typeof comment !== "string") return "comment: not a string";
  const isPoint = (key.length === 33 && (key[0] === 2 || key[0] === 3)) || (key.length === 65 && key[0] === 4);
  if (algorithm === "ed25519" ? key.length !== 32 : !isPoint) return `publicKey: not a key for ${algorithm}`;
  if (!Object.hasOwn(entry, "validUntil")) return "validUntil: missing";
  return isSecond(entry["validFrom"]) ? "validUntil: not a whole number, or null" : "validFrom: not a whole number";
}

const UNCHECKABLE: readonly string[] = ["cannot_check", "not_provable_for_the_past", "unsupported_network"];

/** Return a check that ended with an error. */
export function failedCheck(name: CheckName, error: unknown): Check {
  const { outcome, code, problem, field } = stopped(error);
  return { name, outcome, code, problem: printable(textOf(problem)), field: printable(field) };
}

/** Return the outcome of a check that failed with an error. Some refusals reveal nothing about the agent. */
function stopped(error: unknown): Stopped {
  if (error instanceof Stopped) return error;
  if (error instanceof TrustError) {
    const code = error.code as CheckCode;
    return (UNCHECKABLE.includes(code) ? unchecked : failed)(code, error.problem);
  }
  if (error instanceof InvalidMessageError) return failed(error.code, error.problem, error.field);
  return unchecked("cannot_check", ["described", error]);
}

/** Return the lines for the checks that did not pass. */
export function problemsOf(checks: readonly Check[], unpaidStatus: number | null): string[] {
  const settlement = checkOf({ checks }, "settlement");
  if (settlement.code === "nothing_paid") return [settlement.problem];
  if (unpaidStatus !== null) return [textOf(["unpaid", unpaidStatus])];
  return checks.filter(({ outcome }) => outcome !== "passed").map(({ name, problem }) => `${name}: ${problem}`);
}
