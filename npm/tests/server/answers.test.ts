import { createRequire } from "node:module";
import { createGzip, gzipSync } from "node:zlib";
import { Readable } from "node:stream";
import express from "express";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { expectProof, expressShop, honoShop, LIMIT, pay, type Shop } from "./world.js";

const LARGE = "a".repeat(LIMIT + 1);

describe("Express signs the bytes that leave", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await expressShop((app) => {
      app.get("/paid/text", (_request, response) => void response.end("snø", "latin1"));
      app.get("/paid/hex", (_request, response) => void response.end("736e6f77", "hex"));
      app.get("/paid/json", (_request, response) => void response.json({ weather: "snø" }));
      app.get("/paid/send", (_request, response) => void response.send("snow"));
      app.get("/paid/pieces", (_request, response) => {
        response.writeHead(200, { "x-own": "1" });
        response.write("one ");
        response.write(Buffer.from("two "));
        response.end("three");
      });
      app.get("/paid/pipe", (_request, response) => void Readable.from(["one ", "two"]).pipe(response));
      app.get("/paid/gzip", (_request, response) => {
        response.setHeader("content-encoding", "gzip");
        response.end(gzipSync("snow ".repeat(100)));
      });
      app.get("/paid/gzip-stream", (_request, response) => {
        response.setHeader("content-encoding", "gzip");
        Readable.from(["snow ".repeat(100)]).pipe(createGzip()).pipe(response);
      });
      app.get("/paid/file", (_request, response) => void response.sendFile(new URL("world.ts", import.meta.url).pathname));
      app.get("/paid/empty", (_request, response) => void response.status(204).end());
      app.get("/paid/unchanged", (_request, response) => void response.status(304).end());
      app.head("/paid/head", (_request, response) => void response.send("a body that HTTP leaves out"));
      app.get("/paid/cookies", (_request, response) => {
        response.cookie("a", "1").cookie("b", "2").send("snow");
      });
      app.get("/paid/large", (_request, response) => void response.send(LARGE));
      app.get("/paid/events", (_request, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("data: 1\n\n");
      });
      app.get("/paid/broken", (_request, response) => {
        response.setHeader("content-encoding", "gzip");
        response.end("no gzip");
      });
      app.get("/paid/zstd", (_request, response) => {
        response.setHeader("content-encoding", "zstd");
        response.end("zstd");
      });
      app.get("/paid/missing", (_request, response) => void response.status(404).send("no such city"));
      app.get("/paid/crash", () => {
        throw new Error("no weather today");
      });
      app.get("/paid/rejected", async () => {
        throw new Error("no weather today");
      });
      app.use(express.json(), express.text(), express.raw({ limit: "1mb" }));
      app.post("/paid/echo", (request, response) => void response.send(request.body));
      app.post("/paid/unread", (_request, response) => void response.send("snow"));
    });
  });
  afterAll(() => shop.close());
  beforeEach(() => {
    shop.facilitator.settled = 0;
  });

  test.each(["text", "hex", "json", "send", "pieces", "pipe", "gzip", "gzip-stream", "file"])("%s", async (name) => {
    const response = await pay(`${shop.url}/paid/${name}`);
    expect(response.status).toBe(200);
    await expectProof(response, new Uint8Array(await response.arrayBuffer()));
    expect(shop.facilitator.settled).toBe(1);
  });

  test.each([["empty", "GET", 204], ["unchanged", "GET", 304], ["head", "HEAD", 200]])("%s has no body", async (name, method, status) => {
    const response = await pay(`${shop.url}/paid/${name}`, { method });
    expect(response.status).toBe(status);
    await expectProof(response, "");
  });

  test.each([
    ["large", "response_too_large"],
    ["events", "streaming_response"],
    ["broken", "response_not_signable"],
    ["zstd", "response_not_signable"],
  ])("%s is not paid for", async (name, code) => {
    const response = await pay(`${shop.url}/paid/${name}`);
    expect([response.status, await response.json()]).toEqual([500, { error: code }]);
    expect(response.headers.get("payment-response")).toBeNull();
    expect(shop.facilitator.settled).toBe(0);
  });

  test.each([["missing", 404], ["crash", 500], ["rejected", 500]])("%s is not paid for", async (name, status) => {
    const response = await pay(`${shop.url}/paid/${name}`);
    expect(response.status).toBe(status);
    expect(shop.facilitator.settled).toBe(0);
  });

  test("several cookies and own headers arrive", async () => {
    expect((await pay(`${shop.url}/paid/cookies`)).headers.getSetCookie()).toHaveLength(2);
    expect((await pay(`${shop.url}/paid/pieces`)).headers.get("x-own")).toBe("1");
  });

  test.each([
    ["application/json", '{"city": "Oslo", "n": 1.0}'],
    ["text/plain", "a text"],
    ["application/octet-stream", String.fromCharCode(0, 1, 127)],
  ])("body parsers after it find a body of %s", async (type, body) => {
    const response = await pay(`${shop.url}/paid/echo`, { method: "POST", body, headers: { "content-type": type } });
    const answer = await response.text();
    expect(response.status).toBe(200);
    expect(type === "application/json" ? JSON.parse(answer) : answer).toEqual(type === "application/json" ? JSON.parse(body) : body);
    await expectProof(response, answer, body);
  });

  test("body that nothing reads is signed, and the connection serves the next request", async () => {
    for (const body of ["one", "b".repeat(90_000)]) {
      const response = await pay(`${shop.url}/paid/unread`, { method: "POST", body });
      await expectProof(response, await response.text(), body);
    }
  });

  test("compressed request is signed as the application sees it", async () => {
    const body = gzipSync('{"city":"Oslo"}');
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    const response = await pay(`${shop.url}/paid/echo`, { method: "POST", body, headers });
    await expectProof(response, await response.text(), '{"city":"Oslo"}');
  });

  test("request over the limit or with an unknown encoding is refused", async () => {
    const url = `${shop.url}/paid/echo`;
    expect((await pay(url, { method: "POST", body: LARGE })).status).toBe(413);
    const coded = await pay(url, { method: "POST", body: "x", headers: { "content-encoding": "zstd" } });
    expect([coded.status, await coded.json()]).toEqual([415, { error: "unsupported_body" }]);
    expect(shop.facilitator.settled).toBe(0);
  });
});

test("middleware of Express may be mounted: its routes are below that place", async () => {
  const shop = await expressShop((app) => {
    const inner = express.Router();
    inner.get("/paid/weather", (_request, response) => void response.send("snow"));
    app.use("/api", inner);
  }, {}, () => undefined, "/api");
  try {
    const response = await pay(`${shop.url}/api/paid/weather?city=Oslo`);
    await expectProof(response, await response.text());
    expect(shop.facilitator.settled).toBe(1);
  } finally {
    await shop.close();
  }
});

describe("compression", () => {
  const compression = createRequire(import.meta.url)("compression") as () => express.RequestHandler;
  const cases = ["before", "after"].flatMap((place) => ["gzip", "br", "deflate", "identity"].map((name) => [place, name] as const));

  test.each(cases)("%s it, by %s", async (place, encoding) => {
    const serve = (app: express.Express): void => {
      if (place === "after") app.use(compression());
      app.get("/paid/json", (_request, response) => void response.json({ text: "snow ".repeat(10_000) }));
      app.get("/paid/pieces", (_request, response) => {
        response.type("text");
        for (let piece = 0; piece < 50; piece++) response.write("snow ".repeat(300));
        response.end("snø");
      });
    };
    const shop = await expressShop(serve, {}, (app) => void (place === "before" && app.use(compression())));
    try {
      for (const path of ["json", "pieces"]) {
        const response = await pay(`${shop.url}/paid/${path}`, { headers: { "accept-encoding": encoding } });
        expect([response.status, response.headers.get("content-encoding") ?? "identity"]).toEqual([200, encoding]);
        await expectProof(response, await response.text());
      }
    } finally {
      await shop.close();
    }
  });
});

describe("Hono signs the bytes that leave", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await honoShop((app) => {
      app.get("/paid/json", (c) => c.json({ weather: "snø" }));
      app.get("/paid/empty", (c) => c.body(null, 204));
      app.get("/paid/gzip", (c) => c.body(gzipSync("snow ".repeat(100)), 200, { "content-encoding": "gzip" }));
      app.get("/paid/pieces", () => new Response(Readable.toWeb(Readable.from([Buffer.from("one "), Buffer.from("two")])) as never));
      app.get("/paid/events", (c) => c.body("data: 1\n\n", 200, { "content-type": "text/event-stream" }));
      app.get("/paid/large", (c) => c.text(LARGE));
      app.get("/paid/missing", (c) => c.text("no such city", 404));
      app.get("/paid/crash", () => {
        throw new Error("no weather today");
      });
      app.post("/paid/echo", async (c) => c.json(await c.req.json()));
      app.post("/paid/form", async (c) => c.text(String((await c.req.formData()).get("city"))));
    });
  });
  afterAll(() => shop.close());

  test.each(["json", "pieces", "gzip"])("%s", async (name) => {
    const response = await pay(`${shop.url}/paid/${name}`);
    expect(response.status).toBe(200);
    await expectProof(response, new Uint8Array(await response.arrayBuffer()));
  });

  test("empty answer", async () => {
    await expectProof(await pay(`${shop.url}/paid/empty`), "");
  });

  test.each([["events", 500], ["large", 500], ["missing", 404], ["crash", 500]])("%s is not paid for", async (name, status) => {
    const before = shop.facilitator.settled;
    const response = await pay(`${shop.url}/paid/${name}`);
    expect(response.status).toBe(status);
    expect(shop.facilitator.settled).toBe(before);
  });

  test("request is signed, and the handler reads it", async () => {
    const body = '{"city":  "Oslo"}';
    const response = await pay(`${shop.url}/paid/echo`, { method: "POST", body, headers: { "content-type": "application/json" } });
    await expectProof(response, await response.text(), body);
  });
});

