/** The package's errors. Each has a machine-readable code, the same as in Python, and escapes untrusted text. */
import type { FieldFault, LostAnswerOutcome, RefusalCode } from "./codes.js";
import type { Problem } from "./problems.js";

/** The base of all errors of `bilateral/x402`. */
export class X402Error extends Error {
  /** The class's name, even if a bundler shortens class names. */
  override readonly name: string = "X402Error";
  /** The kind of error, for use by programs. */
  declare readonly code: string;
  /** The reason without its context. */
  declare readonly shortMessage: string;
  /** The reason, as it was passed. `explained` makes a text of it. */
  declare readonly problem: string | Problem;

  /**
   * @param code The kind of error.
   * @param problem The human-readable reason, or what `explained` makes it of.
   * @param options The cause.
   */
  constructor(code: string, problem: string | Problem, options?: ErrorOptions) {
    const shortMessage = typeof problem === "string" ? problem : printable(problem.flat(9).map(asText).join(" "));
    super(shortMessage, options);
    Object.assign(this, { code, shortMessage });
    Object.defineProperty(this, "problem", { value: problem, writable: true });
  }
}

/** Return an error with its full text. Texts are loaded with the first error; without them, it is in keywords. */
export async function explain(error: unknown): Promise<unknown> {
  try {
    return (await import("./problems.js")).explained(error);
  } catch {
    return error;
  }
}

/** A payment was refused. Nothing was signed. */
export class TrustError extends X402Error {
  override readonly name: string = "TrustError";
  declare readonly code: RefusalCode;

  /**
   * @param code The kind of refusal.
   * @param message The human-readable reason.
   * @param options The cause.
   */
  constructor(code: RefusalCode, message: string | Problem = [code] as never, options?: ErrorOptions) {
    super(code, message, options);
    this.message = `${code}: ${this.message}`;
  }
}

/** A field of a message is missing or invalid. */
export class InvalidMessageError extends X402Error {
  override readonly name: string = "InvalidMessageError";
  declare readonly code: FieldFault;
  /** The field's path, such as `registrations[0].agentId`. */
  declare readonly field: string;

  /**
   * @param field The field's path.
   * @param code The kind of fault.
   * @param problem A human-readable description of the fault.
   */
  constructor(field: string, code: FieldFault, problem: string | Problem) {
    super(code, ["field", field, problem]);
    Object.assign(this, { field });
  }
}

/** An error whose class has a code. */
class CodedError extends X402Error {
  /**
   * @param message The human-readable reason.
   * @param options The cause.
   */
  constructor(message: string | Problem, options?: ErrorOptions) {
    super("", message, options);
  }
}

/** An argument of a call is invalid. */
export class InvalidArgumentError extends CodedError {
  override readonly name: string = "InvalidArgumentError";
  override readonly code: string = "invalid_argument";
}

/** An identifier is malformed. */
export class MalformedIdentifierError extends X402Error {
  override readonly name: string = "MalformedIdentifierError";
  /** True if it is a mixed-case address whose checksum (EIP-55) is wrong. */
  declare readonly isChecksum: boolean;

  /**
   * @param kind The kind of identifier.
   * @param text The identifier.
   * @param problem A human-readable description of the fault.
   * @param isChecksum True if only the checksum is wrong.
   */
  constructor(kind: string, text: string, problem: string | Problem, isChecksum = false) {
    const isText = typeof problem === "string"; // as an error of a constructor, which cannot wait for its text
    super("malformed_identifier", isText ? `${quoted(text)} is not ${kind}: ${problem}` : ["identifier", kind, text, problem]);
    Object.assign(this, { isChecksum });
  }
}

/** A document cannot be read. */
export class MalformedDocumentError extends CodedError {
  override readonly name: string = "MalformedDocumentError";
  override readonly code: string = "malformed_document";
}

/** A document cannot be loaded. */
export class DocumentError extends CodedError {
  override readonly name: string = "DocumentError";
  override readonly code: string = "document";
}

/** A node did not respond, or its response is malformed. */
export class NodeError extends CodedError {
  override readonly name: string = "NodeError";
  override readonly code: string = "node";
}

/** A body exceeds the size limit, or the answer took longer than the time limit. */
export class AnswerLimitError extends X402Error {
  override readonly name: string = "AnswerLimitError";
  /**
   * @param message The human-readable reason.
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
  /** The headers, including the payment. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** The facts about a payment whose answer was lost. */
export interface LostAnswer {
  /** The state of the payment. */
  outcome: LostAnswerOutcome;
  /** The transaction that settles it; null if none was found and the server reported none. */
  transaction: string | null;
  /** The HTTP status of the server's error; null if there was no response. */
  status: number | null;
  /** The body of that error. */
  answer: Uint8Array;
}

/**
 * A payment was sent with a request, but nothing was delivered. The payment may be settled, now or later.
 *
 * `await buy(error.again())` retries with the same payment, without signing another. So does any request with the same
 * method, URL and body through the same client, until the payment has its answer, or the chain shows that it can never
 * be settled. `abandonPayment` ends this: the next request then signs a new payment.
 */
export class LostAnswerError extends X402Error implements LostAnswer {
  override readonly name: string = "LostAnswerError";
  declare readonly outcome: LostAnswerOutcome;
  declare readonly transaction: string | null;
  declare readonly status: number | null;
  declare readonly answer: Uint8Array;
  /** The request that was sent. Its headers contain the payment, so it is omitted from logs and JSON. */
  declare readonly request: SentRequest;

  /**
   * @param request The request that was sent.
   * @param problem The human-readable reason.
   * @param lost The facts about the payment.
   * @param options The cause, and the code of a subclass.
   */
  constructor(request: SentRequest, problem: string, lost: LostAnswer, options: ErrorOptions & { code?: string } = {}) {
    super(options.code ?? "lost_answer", problem, options);
    this.message =
      `a payment was sent with ${request.method} ${quoted(request.url.slice(0, 200))}, and the answer did not arrive: ` +
      `${problem}; fetch it with again(), which signs no further payment`;
    Object.assign(this, lost);
    Object.defineProperty(this, "request", { value: request });
  }

  /** Return the request with its payment, to be sent again. */
  again(): Request {
    const { method, url, headers, body } = this.request;
    return new Request(url, { method, headers: { ...headers }, ...(body.length ? { body: body.slice() } : {}) });
  }
}

/** A payment was taken, but the server did not deliver: it rejected the payment or failed. */
export class PaidNotAnsweredError extends LostAnswerError {
  override readonly name: string = "PaidNotAnsweredError";
  /**
   * @param request The request that was sent.
   * @param problem The human-readable reason.
   * @param lost The facts about the payment.
   * @param options The cause.
   */
  constructor(request: SentRequest, problem: string, lost: LostAnswer, options: ErrorOptions = {}) {
    super(request, problem, lost, { ...options, code: "paid_not_answered" });
  }
}

/** The redirect of a payment. */
export type Redirect = Pick<RedirectedPaymentError, "location" | "isPaid">;

/** A server redirected a payment. The redirect is not followed: the next server could request a payment too. */
export class RedirectedPaymentError extends LostAnswerError {
  override readonly name: string = "RedirectedPaymentError";
  /** The redirect's address; null if the platform hides it, as browsers do. */
  declare readonly location: string | null;
  /** True if the chain shows that the payment was taken, false if not yet; null if that is unknown. */
  declare readonly isPaid: boolean | null;

  /**
   * @param request The request that was sent.
   * @param problem The human-readable reason.
   * @param redirect The address of the redirect, and whether the chain shows the payment.
   * @param lost The facts about the payment.
   */
  constructor(request: SentRequest, problem: string, redirect: Redirect, lost: LostAnswer) {
    super(request, problem, lost, { code: "redirected_payment" });
    Object.assign(this, redirect);
  }
}

/**
 * Escape untrusted text so that it is safe in a terminal or a log.
 *
 * @param text Any text.
 */
export function printable(text: string): string {
  return text.replace(/[\\\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu, (character) => {
    if (character === "\\") return "\\\\";
    const point = character.codePointAt(0) ?? 0;
    const [letter, length] = point < 0x100 ? ["x", 2] : point < 0x10000 ? ["u", 4] : ["U", 8];
    return `\\${letter}${point.toString(16).padStart(length as number, "0")}`;
  });
}

/**
 * Return a JSON value as text. `String` could call the value's own `toString`, or fail.
 *
 * @param value Any value.
 */
export function asText(value: unknown): string {
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "a list" : "an object";
  return typeof value === "function" || typeof value === "symbol" ? "a function" : String(value);
}

/**
 * Quote untrusted text within a message.
 *
 * @param text Any text.
 * @param limit The maximum number of characters to show.
 */
export function quoted(text: string, limit = 120): string {
  const beginning = `"${printable(text.slice(0, limit))}"`;
  return text.length <= limit ? beginning : `${beginning}… (${text.length} characters)`;
}
