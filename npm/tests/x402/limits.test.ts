import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createGzip } from "node:zlib";
import { expect, test } from "vitest";
import { MAX_BODY, readAll } from "../../source/x402/limits.js";

test("a bomb of 300 MB grows the memory by at most three times the limit (T7)", async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "Content-Encoding": "gzip" });
    const bomb = createGzip();
    bomb.pipe(response);
    bomb.on("error", () => undefined);
    const piece = Buffer.alloc(1024 * 1024);
    let left = 300;
    const write = (): void => {
      while (left-- > 0) if (!bomb.write(piece)) return void bomb.once("drain", write);
      bomb.end();
    };
    response.on("close", () => bomb.destroy());
    write();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  let highest = 0;
  const before = process.memoryUsage.rss();
  const timer = setInterval(() => (highest = Math.max(highest, process.memoryUsage.rss() - before)), 5);
  const response = await fetch(`http://127.0.0.1:${port}/`);
  await expect(readAll(response, MAX_BODY)).rejects.toMatchObject({ code: "answer_limit" });
  clearInterval(timer);
  server.close();
  server.closeAllConnections();
  expect(highest).toBeLessThan(3 * MAX_BODY);
}, 30_000);
