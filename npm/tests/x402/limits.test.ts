import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createGzip } from "node:zlib";
import { expect, test } from "vitest";
import { MAX_BODY, readAll, timeout, unlessAborted } from "../../source/x402/limits.js";

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

test("limits of time may be parts of a millisecond", () => {
  expect(timeout(1.1 * 1000).aborted).toBe(false);
});

test("a body that never ends is given up with its signal, even if its source does not heed it", async () => {
  const silent = new Response(new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) }));
  const signal = AbortSignal.timeout(50);
  await expect(readAll(silent, MAX_BODY, signal)).rejects.toMatchObject({ name: "TimeoutError" });
  await expect(unlessAborted(new Promise(() => undefined), AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
  await expect(unlessAborted(Promise.reject(new Error("failed")), AbortSignal.timeout(1000))).rejects.toThrow("failed");
  expect(await unlessAborted(Promise.resolve(7), undefined)).toBe(7);
});
