/**
 * A shop on a real chain, for tests in Python: `node shop.mjs express|hono|next` with its settings as JSON in `SHOP`.
 *
 * It prints its URL, then one line for each run of a handler and each alarm.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { paid as paidExpress } from "../../source/x402/server/express.js";
import { paid as paidNext } from "../../source/x402/server/next.js";
import { answer, fetchAnswer, partsOf, type Settings } from "./app.js";
import edge from "./edge.js";

const settings = JSON.parse(process.env["SHOP"] ?? "{}") as Settings;
const { routes, server, options } = partsOf(settings);

type Fetch = (request: Request) => Response | Promise<Response>;

function overHttp(fetch: Fetch): Parameters<typeof createServer>[1] {
  return async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const headers = new Headers();
    for (let at = 0; at < request.rawHeaders.length; at += 2) {
      headers.append(request.rawHeaders[at] ?? "", request.rawHeaders[at + 1] ?? "");
    }
    const hasBody = request.method !== "GET" && request.method !== "HEAD";
    const url = `http://${request.headers.host}${request.url}`;
    const sent = new Request(url, { method: request.method ?? "GET", headers, ...(hasBody ? { body: Buffer.concat(pieces) } : {}) });
    const answered = await fetch(sent);
    response.writeHead(answered.status, [...answered.headers].flat());
    response.end(Buffer.from(await answered.arrayBuffer()));
  };
}

const KINDS: Readonly<Record<string, () => Parameters<typeof createServer>[1]>> = {
  express() {
    const app = express();
    app.use(paidExpress(routes, server, options), express.raw({ type: () => true, limit: "2mb" }));
    app.use((request, response) => {
      const body = request.body instanceof Uint8Array ? request.body : new Uint8Array();
      const charge = typeof request.query["charge"] === "string" ? request.query["charge"] : null;
      const { body: bytes, headers } = answer(request.path, charge, body, request.bilateral ?? null);
      response.set(headers).end(bytes);
    });
    return app;
  },
  hono() {
    return overHttp((request) => edge.fetch(request));
  },
  next() {
    const handlers = Object.fromEntries(
      Object.entries(routes).map(([name, route]) => [
        name.slice(2),
        paidNext((request: Request) => fetchAnswer(request, null), route, server, options),
      ]),
    );
    const missing = (): Response => new Response(null, { status: 404 });
    return overHttp((request) => (handlers[new URL(request.url).pathname] ?? missing)(request));
  },
};

const http = createServer(KINDS[process.argv[2] ?? ""]?.());
http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}`));
