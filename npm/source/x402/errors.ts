/** Errors of the package. Each has a code for programs, the same as in Python, and escapes the texts of strangers. */
import type { FieldFault, LostAnswerOutcome, RefusalCode } from "./codes.js";

/** The base of all errors of `bilateral/x402`. */
export class X402Error extends Error {
  /** The kind of error, for programs. */
  readonly code: string;
  /** The reason without its context. */
  readonly shortMessage: string;

  /**
   * @param code The kind of error.
   * @param message The reason, for people.
   * @param options The cause.
   */
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.shortMessage = message;
  }
}

/** A payment was refused. Nothing was signed. */
export class TrustError extends X402Error {
  declare readonly code: RefusalCode;

  /**
   * @param code The kind of refusal.
   * @param message The reason, for people.
   * @param options The cause.
   */
  constructor(code: RefusalCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.message = `${code}: ${message}`;
  }
}

/** A field of a message is missing or invalid. */
export class InvalidMessageError extends X402Error {
  declare readonly code: FieldFault;
  /** The field's path, such as `registrations[0].agentId`. */
  readonly field: string;

  /**
   * @param field The field's path.
   * @param code The kind of fault.
   * @param problem The fault, for people.
   */
  constructor(field: string, code: FieldFault, problem: string) {
    super(code, `${field}: ${problem}`);
    this.field = field;
  }
}

/** An argument of a call is invalid. */
export class InvalidArgumentError extends X402Error {
  /** @param message The fault, for people. */
  constructor(message: string) {
    super("invalid_argument", message);
  }
}

/** An identifier does not have its form. */
export class MalformedIdentifierError extends X402Error {
  /** True if it is an address in mixed case whose checksum (EIP-55) is wrong. */
  readonly isChecksum: boolean;

  /**
   * @param kind The kind of identifier.
   * @param text The identifier.
   * @param problem The fault, for people.
   * @param isChecksum True if only the checksum is wrong.
   */
  constructor(kind: string, text: string, problem: string, isChecksum = false) {
    super("malformed_identifier", `${quoted(text)} is not ${kind}: ${problem}`);
    this.isChecksum = isChecksum;
  }
}

/** A document cannot be read. */
export class MalformedDocumentError extends X402Error {
  /** @param message The fault, for people. */
  constructor(message: string) {
    super("malformed_document", message);
  }
}

/** A document cannot be loaded. */
export class DocumentError extends X402Error {
  /**
   * @param message The reason, for people.
   * @param options The cause.
   */
  constructor(message: string, options?: ErrorOptions) {
    super("document", message, options);
  }
}

/** A node does not answer, or its answer is malformed. */
export class NodeError extends X402Error {
  /**
   * @param message The reason, for people.
   * @param options The cause.
   */
  constructor(message: string, options?: ErrorOptions) {
    super("node", message, options);
  }
}

/** A body is longer than the limit, or the answer took longer than the limit of time. */
export class AnswerLimitError extends X402Error {
  /**
   * @param message The reason, for people.
   * @param code The kind of limit.
   */
  constructor(message: string, code: "answer_limit" | "answer_timeout" = "answer_limit") {
    super(code, message);
  }
}

/** The request with its payment, as it was sent. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  /** The headers, with the payment among them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** The facts of a payment whose answer is lost. */
export interface LostAnswer {
  /** The state of the payment. */
  outcome: LostAnswerOutcome;
  /** The transaction that settles it; null if none was found, and the server names none. */
  transaction: string | null;
  /** The HTTP status of the server's error; null if nothing came back. */
  status: number | null;
  /** The body of that error. */
  answer: Uint8Array;
}

/**
 * A payment was sent with a request, and nothing was delivered. The payment may be settled, now or later.
 *
 * `await buy(error.again())` asks again by the same payment, and signs no further one. So does any request with the same
 * method, URL and body through the same client, until the payment has its answer, or the chain shows that it can never
 * be settled. `abandonPayment` ends that: the next request then pays anew.
 */
export class LostAnswerError extends X402Error implements LostAnswer {
  readonly outcome: LostAnswerOutcome;
  readonly transaction: string | null;
  readonly status: number | null;
  readonly answer: Uint8Array;
  /** The request that was sent. Its headers hold the payment, so it is left out of logs and of JSON. */
  declare readonly request: SentRequest;

  /**
   * @param request The request that was sent.
   * @param problem The reason, for people.
   * @param lost The facts of the payment.
   * @param options The cause, and the code of a subclass.
   */
  constructor(request: SentRequest, problem: string, lost: LostAnswer, options: ErrorOptions & { code?: string } = {}) {
    super(options.code ?? "lost_answer", problem, options);
    this.message =
      `a payment was sent with ${request.method} ${quoted(request.url.slice(0, 200))}, and the answer did not arrive: ` +
      `${problem}; fetch it by again(), which signs no further payment`;
    this.outcome = lost.outcome;
    this.transaction = lost.transaction;
    this.status = lost.status;
    this.answer = lost.answer;
    Object.defineProperty(this, "request", { value: request, enumerable: false });
  }

  /** Return the request with its payment, to be sent once more. */
  again(): Request {
    const { method, url, headers, body } = this.request;
    return new Request(url, { method, headers: { ...headers }, ...(body.length ? { body: body.slice() } : {}) });
  }
}

/** A payment was taken, and the server did not deliver: it refused the payment, or failed. */
export class PaidNotAnsweredError extends LostAnswerError {
  /**
   * @param request The request that was sent.
   * @param problem The reason, for people.
   * @param lost The facts of the payment.
   * @param options The cause.
   */
  constructor(request: SentRequest, problem: string, lost: LostAnswer, options: ErrorOptions = {}) {
    super(request, problem, lost, { ...options, code: "paid_not_answered" });
  }
}

/** A server answered a payment by a redirect. It is not followed: the next server could ask for a payment too. */
export class RedirectedPaymentError extends LostAnswerError {
  /** The address of the redirect; null where the platform hides it, as browsers do. */
  readonly location: string | null;
  /** True if the chain shows that the payment was taken, false if not yet; null if that is unknown. */
  readonly isPaid: boolean | null;

  /**
   * @param request The request that was sent.
   * @param location The address of the redirect.
   * @param isPaid The chain's word.
   * @param lost The facts of the payment.
   */
  constructor(request: SentRequest, location: string | null, isPaid: boolean | null, lost: LostAnswer) {
    const state = isPaid === null ? "may have been taken" : isPaid ? "was taken" : "was not taken yet";
    const by = lost.transaction ? ` by transaction ${lost.transaction}` : "";
    const target = location === null ? "another address" : quoted(location.slice(0, 200));
    const problem = `the server redirects to ${target}, which is not followed; the payment ${state}${by}`;
    super(request, problem, lost, { code: "redirected_payment" });
    this.location = location;
    this.isPaid = isPaid;
  }
}

/**
 * Escape a stranger's text so that it is safe in a terminal or a log.
 *
 * @param text Any text.
 */
export function printable(text: string): string {
  return text.replace(/[\\\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu, (character) => {
    if (character === "\\") return "\\\\";
    const point = character.codePointAt(0) ?? 0;
    const digits = point.toString(16);
    if (point < 0x100) return `\\x${digits.padStart(2, "0")}`;
    return point < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
  });
}

/**
 * Return a value of JSON as text. `String` would call a function, or fail, by the value's own `toString`.
 *
 * @param value Any value.
 */
export function asText(value: unknown): string {
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "a list" : "an object";
  return typeof value === "function" || typeof value === "symbol" ? "a function" : String(value);
}

/**
 * Quote a stranger's text within a message.
 *
 * @param text Any text.
 * @param limit The number of its characters to show at most.
 */
export function quoted(text: string, limit = 120): string {
  const beginning = `"${printable(text.slice(0, limit))}"`;
  return text.length <= limit ? beginning : `${beginning}… (${text.length} characters)`;
}
