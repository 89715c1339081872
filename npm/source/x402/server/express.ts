/** Sell with Express. */
import type { x402ResourceServer } from "@x402/core/server";
import type { NextFunction, Request, Response } from "express";
import type { OutgoingHttpHeader, OutgoingHttpHeaders } from "node:http";
import { brotliDecompress, gunzip, inflate, inflateRaw } from "node:zlib";
import { Refusal, type Inflate } from "./bodies.js";
import type { PaidRequest } from "./exchange.js";
import { Seller, type Incoming, type PaidRun, type Routes, type SellerOptions } from "./seller.js";
import type { Answer } from "./stores.js";

declare global {
  namespace Express {
    interface Request {
      /** On a paid route, the paid request being served. */
      bilateral?: PaidRequest;
    }
  }
}

/** The middleware, and a way to run its checks at start-up. */
export interface PaidMiddleware {
  (request: Request, response: Response, next: NextFunction): Promise<void>;
  ready(): Promise<void>;
}

/**
 * Return a middleware that sells routes. Put it before `express.json()` and anything else that reads bodies.
 *
 * @param routes The paid routes.
 * @param server The SDK's resource server, with the extension.
 * @param options The settings.
 */
export function paid(routes: Routes, server: x402ResourceServer, options: SellerOptions = {}): PaidMiddleware {
  const seller = new Seller(routes, server, options, inflateByZlib);
  const middleware = async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    try {
      const decision = await seller.begin(incomingOf(request));
      if (decision.type === "pass") return next();
      if (decision.type === "answer") return send(response, decision.answer, request.method);
      request.bilateral = decision.paid.exchange;
      capture(response, decision.paid, request.method);
    } catch (error) {
      return next(error);
    }
    next();
  };
  return Object.assign(middleware, { ready: () => seller.ready() });
}

function incomingOf(request: Request): Incoming {
  const target = request.originalUrl;
  return {
    method: request.method,
    url: `${request.protocol}://${request.headers.host ?? "localhost"}${target}`,
    path: request.path, // below the place where the middleware is mounted, as the SDK has it
    target,
    header: (name) => {
      const values: string[] = [];
      for (let at = 0; at < request.rawHeaders.length; at += 2) {
        if (request.rawHeaders[at]?.toLowerCase() === name) values.push(request.rawHeaders[at + 1] ?? "");
      }
      return values.length ? values.join(", ") : undefined;
    },
    read: (limit) => readBody(request, limit),
  };
}

/** Read a request's body, and put it back before its stream ends, so that body parsers find it untouched. */
function readBody(request: Request, limit: number): Promise<Uint8Array> {
  const hasBody = request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;
  if (!hasBody) return Promise.resolve(new Uint8Array());
  if (request.readableEnded || request.readableDidRead) throw new Refusal(500, "body_read_before");
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    const end = (error: Refusal | null): void => {
      request.off("readable", read).off("error", abort).off("close", abort);
      const body = Buffer.concat(pieces);
      if (error) return reject(error);
      if (body.length) request.unshift(body);
      resolve(body);
    };
    const abort = (): void => end(new Refusal(400, "client_disconnected"));
    const read = (): void => {
      for (let piece: Buffer | null = request.read(); piece !== null; piece = request.read()) {
        pieces.push(piece);
        size += piece.length;
        if (size > limit) return end(new Refusal(413, "body_too_large"));
      }
      if (request.complete) end(null);
    };
    request.on("readable", read).on("error", abort).on("close", abort);
  });
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** Capture everything that an application writes until it ends. Then settle and send. */
function capture(response: Response, run: PaidRun, method: string): void {
  const original = {
    write: response.write,
    end: response.end,
    writeHead: response.writeHead,
    flushHeaders: response.flushHeaders,
  };
  const pieces: Buffer[] = [];
  let size = 0;
  let hasBegun = false;
  let hasEnded = false;

  const finish = (answer: Promise<Answer>): void => {
    hasEnded = true;
    answer.then(
      (sent) => {
        Object.assign(response, original);
        Reflect.deleteProperty(response, "headersSent");
        send(response, sent, method);
      },
      (error: unknown) => response.destroy(error as Error),
    );
  };
  const refuse = (code: string): void => finish(run.fail(new Refusal(500, code)));
  const begin = (): void => {
    if (hasBegun) return;
    hasBegun = true;
    if (run.refusesStream(String(response.getHeader("content-type") ?? ""))) refuse("streaming_response");
  };
  const add = (chunk: unknown, encoding: unknown): void => {
    if (hasEnded || chunk === null || chunk === undefined || typeof chunk === "function") return;
    const isText = typeof chunk === "string";
    const piece = isText ? Buffer.from(chunk, (typeof encoding === "string" ? encoding : "utf8") as BufferEncoding) : Buffer.from(chunk as Uint8Array);
    pieces.push(piece);
    size += piece.length;
    if (size > run.limit) refuse("response_too_large");
  };
  const called = (values: readonly unknown[]): void => {
    const callback = values.find((value) => typeof value === "function") as (() => void) | undefined;
    if (callback) process.nextTick(callback);
  };

  Object.defineProperty(response, "headersSent", { get: () => hasBegun, configurable: true });
  response.writeHead = function writeHead(status: number, ...rest: unknown[]) {
    if (hasBegun) return response;
    response.statusCode = status;
    if (typeof rest[0] === "string") response.statusMessage = rest.shift() as string;
    setAll(response, rest[0] as Headers | undefined);
    begin();
    return response;
  } as Response["writeHead"];
  response.flushHeaders = begin;
  response.write = function write(...values: unknown[]) {
    if (!hasBegun) response.writeHead(response.statusCode); // middleware may have wrapped it to set headers
    add(values[0], values[1]);
    called(values);
    return !hasEnded;
  } as Response["write"];
  response.end = function end(...values: unknown[]) {
    if (hasEnded) return response;
    if (!hasBegun) response.writeHead(response.statusCode);
    add(values[0], values[1]);
    called(values);
    if (hasEnded) return response;
    const headers = response.getHeaderNames().flatMap((name) => {
      return [response.getHeader(name) ?? []].flat().map((value) => [name, String(value)] as const);
    });
    finish(run.finish({ status: response.statusCode, headers, body: Buffer.concat(pieces) }));
    return response;
  } as Response["end"];
}

function setAll(response: Response, headers: Headers | undefined): void {
  if (!headers) return;
  const entries: [string, OutgoingHttpHeader | undefined][] = [];
  if (Array.isArray(headers)) {
    const flat = headers.flat();
    for (let at = 0; at < flat.length; at += 2) entries.push([String(flat[at]), flat[at + 1]]);
  } else {
    entries.push(...Object.entries(headers));
  }
  for (const [name, value] of entries) if (value !== undefined) response.setHeader(name, value);
}

function send(response: Response, answer: Answer, method: string): void {
  for (const name of response.getHeaderNames()) {
    if (answer.headers.every(([other]) => other.toLowerCase() !== name)) response.removeHeader(name);
  }
  const grouped = new Map<string, string[]>();
  for (const [name, value] of answer.headers) {
    const key = name.toLowerCase();
    grouped.set(key, [...(grouped.get(key) ?? []), value]);
  }
  for (const [name, values] of grouped) response.setHeader(name, values.length === 1 ? (values[0] ?? "") : values);
  response.statusCode = answer.status;
  const hasBody = method !== "HEAD" && answer.status !== 204 && answer.status !== 304;
  if (hasBody) response.setHeader("content-length", answer.body.length);
  response.removeHeader("transfer-encoding");
  response.end(hasBody ? answer.body : undefined);
}

/** Decode with zlib: gzip, deflate with or without its header, and br. */
const inflateByZlib: Inflate = (encoding, body, limit) =>
  new Promise((resolve, reject) => {
    const isRaw = encoding === "deflate" && ((body[0] ?? 0) & 15) !== 8;
    const options = { maxOutputLength: limit };
    const done = (error: Error | null, decoded: Uint8Array): void => {
      if (!error) return resolve(decoded);
      const isTooLarge = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
      reject(isTooLarge ? new Refusal(413, "body_too_large") : new Refusal(415, "unsupported_body"));
    };
    if (encoding === "br") brotliDecompress(body, options, done);
    else if (encoding === "gzip") gunzip(body, options, done);
    else if (isRaw) inflateRaw(body, options, done);
    else inflate(body, options, done);
  });
