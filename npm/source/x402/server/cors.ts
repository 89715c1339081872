/** Answers from paid routes that web pages may read (CORS). */

/** The web pages that may buy. Their requests contain no cookies. */
export interface CorsPolicy {
  /** The pages' origins, such as `https://shop.example`; all origins by default. */
  readonly origins?: readonly string[];
  /** Request headers that pages may set in addition to `Content-Type` and the x402 headers. */
  readonly requestHeaders?: readonly string[];
}

type Headers = [string, string][];

// `@x402/fetch` sends the first one, which is a response header, as well.
const REQUEST_HEADERS = ["access-control-expose-headers", "content-type", "payment-signature"];
const RESPONSE_HEADERS = "payment-required, payment-response";
const PREFLIGHT_SECONDS = "600";

/**
 * Return the headers that let a page read an answer.
 *
 * @param policy The policy; false to allow no page.
 * @param origin The page's origin; empty if the request comes from no page.
 * @param names The names of the answer's own headers, in lower case. Origins that they allow are kept.
 */
export function pageHeaders(policy: CorsPolicy | false, origin: string, names: ReadonlySet<string> = new Set()): Headers {
  if (policy === false) return [];
  const headers: Headers = policy.origins ? [["vary", "origin"]] : []; // also without an origin, for caches
  if (!origin || (policy.origins && !policy.origins.includes(origin))) return headers;
  if (!names.has("access-control-allow-origin")) headers.push(["access-control-allow-origin", policy.origins ? origin : "*"]);
  headers.push(["access-control-expose-headers", RESPONSE_HEADERS]);
  return headers;
}

/** Return the headers that let a page call a route with a method. */
export function preflightHeaders(policy: CorsPolicy | false, origin: string, method: string): Headers {
  if (policy === false) return [];
  return [
    ...pageHeaders(policy, origin),
    ["access-control-allow-methods", method],
    ["access-control-allow-headers", [...REQUEST_HEADERS, ...(policy.requestHeaders ?? [])].join(", ")],
    ["access-control-max-age", PREFLIGHT_SECONDS],
  ];
}
