/**
 * Strict decoding of JSON in messages and documents.
 *
 * Decoding is strict, because attackers can exploit readers that disagree about a message: no duplicate names, at most
 * 64 levels, only exactly representable numbers, no lone surrogates. `JSON.parse` cannot check any of this.
 */
import { MalformedDocumentError, quoted } from "../errors.js";
import { utf8Text } from "./bytes.js";

/** A JSON object. Numbers are `number`; integers that a `number` cannot represent exactly are `bigint`. */
export type JsonObject = { [name: string]: unknown };

/** The maximum number of nesting levels in a document. */
export const MAX_DEPTH = 64;

const MAX_DIGITS = 4300; // of a whole number, the limit of Python
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPES: Record<string, string> = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const WORDS: Readonly<Record<string, readonly [word: string, value: unknown]>> = {
  t: ["true", true],
  f: ["false", false],
  n: ["null", null],
};
const HALF_PAIR = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** A number written with a decimal point or exponent, which a strict reader does not treat as an integer. */
export class Fraction {
  /** @param value The number. */
  constructor(readonly value: number) {}
}

/** Return whether a text contains a lone surrogate, which has no UTF-8 form. */
export function hasHalfPair(text: string): boolean {
  return HALF_PAIR.test(text);
}

/** Return whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Fraction);
}

/**
 * Decode a document that consists of a JSON object.
 *
 * @param content Its bytes.
 * @param isExact True to return numbers with a point or an exponent as `Fraction`.
 * @throws {MalformedDocumentError} The document is not such an object.
 */
export function decodeObject(content: Uint8Array, isExact = false): JsonObject {
  const text = utf8Text(content);
  if (text === null) throw new MalformedDocumentError("the document is not UTF-8");
  const value = new Parser(text, isExact).document();
  if (!isObject(value)) throw new MalformedDocumentError("the document is not a JSON object");
  return value;
}

class Parser {
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly isExact: boolean,
  ) {}

  document(): unknown {
    const value = this.value(0);
    this.skipSpace();
    if (this.at < this.text.length) this.fail();
    return value;
  }

  private value(depth: number): unknown {
    this.skipSpace();
    const sign = this.text.charAt(this.at);
    if (sign === "{" || sign === "[") {
      if (depth >= MAX_DEPTH) {
        throw new MalformedDocumentError(`the document is nested deeper than ${MAX_DEPTH} levels`);
      }
      this.at++;
      return sign === "{" ? this.object(depth + 1) : this.list(depth + 1);
    }
    if (sign === '"') return this.string();
    const [word, value] = WORDS[sign] ?? [];
    if (word === undefined) return this.number();
    if (!this.text.startsWith(word, this.at)) this.fail();
    this.at += word.length;
    return value;
  }

  private object(depth: number): JsonObject {
    const value: JsonObject = {};
    if (this.ends("}")) return value;
    do {
      this.skipSpace();
      if (this.text.charAt(this.at) !== '"') this.fail();
      const name = this.string();
      if (Object.hasOwn(value, name)) {
        throw new MalformedDocumentError(`the name ${quoted(name)} occurs twice in one object`);
      }
      this.skipSpace();
      if (this.text.charAt(this.at++) !== ":") this.fail();
      const part = this.value(depth);
      // An assignment to __proto__ would replace the object's prototype.
      if (name !== "__proto__") value[name] = part;
      else Object.defineProperty(value, name, { value: part, enumerable: true, configurable: true, writable: true });
    } while (this.continues("}"));
    return value;
  }

  private list(depth: number): unknown[] {
    const value: unknown[] = [];
    if (this.ends("]")) return value;
    do value.push(this.value(depth));
    while (this.continues("]"));
    return value;
  }

  private ends(bracket: string): boolean {
    this.skipSpace();
    const isEnd = this.text.charAt(this.at) === bracket;
    if (isEnd) this.at++;
    return isEnd;
  }

  private continues(bracket: string): boolean {
    this.skipSpace();
    const sign = this.text.charAt(this.at++);
    if (sign !== "," && sign !== bracket) this.fail();
    return sign === ",";
  }

  private string(): string {
    this.at++;
    let value = "";
    for (;;) {
      value += this.match(PLAIN);
      const sign = this.text.charAt(this.at++);
      if (sign === '"') break;
      if (sign !== "\\") this.fail();
      const escape = this.text.charAt(this.at++);
      if (escape === "u") {
        const digits = this.text.slice(this.at, this.at + 4);
        if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.fail();
        this.at += 4;
        value += String.fromCharCode(Number.parseInt(digits, 16));
      } else {
        const meaning = ESCAPES[escape];
        if (meaning === undefined) this.fail();
        value += meaning;
      }
    }
    if (hasHalfPair(value)) throw new MalformedDocumentError("a string in the document contains a lone surrogate");
    return value;
  }

  private number(): unknown {
    NUMBER.lastIndex = this.at;
    const match = NUMBER.exec(this.text);
    if (match === null) this.fail();
    const [text, fraction, exponent] = match;
    this.at += text.length;
    if (fraction !== undefined || exponent !== undefined) {
      const value = Number(text);
      if (!Number.isFinite(value)) throw new MalformedDocumentError(`the number ${quoted(text)} is too large`);
      return this.isExact ? new Fraction(value) : value;
    }
    if (text.replace("-", "").length > MAX_DIGITS) {
      throw new MalformedDocumentError("the document contains a number that is too long");
    }
    const value = Number(text);
    return Number.isSafeInteger(value) ? value + 0 : BigInt(text);
  }

  private skipSpace(): void {
    while (" \t\n\r".includes(this.text.charAt(this.at)) && this.at < this.text.length) this.at++;
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const text = pattern.exec(this.text)?.[0] ?? "";
    this.at += text.length;
    return text;
  }

  private fail(): never {
    throw new MalformedDocumentError(`the document is not JSON: unexpected text at ${Math.min(this.at, this.text.length)}`);
  }
}
