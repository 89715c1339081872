/** A shop of Hono for Deno, Bun and workerd. Its settings are JSON in the variable `SHOP`. */
import type { Hono } from "hono";
import { honoApp } from "./app.js";

declare const process: { env: Record<string, string | undefined> } | undefined;

let app: Hono | undefined;

export default {
  port: Number(typeof process === "undefined" ? 0 : process?.env["PORT"]),
  fetch(request: Request, env?: { SHOP?: string }): Response | Promise<Response> {
    const settings = env?.SHOP ?? (typeof process === "undefined" ? "{}" : process?.env["SHOP"]);
    app ??= honoApp(JSON.parse(settings ?? "{}"));
    return app.fetch(request);
  },
};
