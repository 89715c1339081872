/** A typed client for the service that `bilateral serve` runs. */
import createClient, { type Client } from "openapi-fetch";
import type { paths } from "./openapi.js";

type Query<Path extends keyof paths> = paths[Path] extends { get: { parameters: infer Parameters } }
  ? Parameters extends { query?: infer Found }
    ? NonNullable<Found>
    : never
  : never;

type Answer<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { "application/json": infer Body } } } };
}
  ? Body
  : never;

/** The conditions of a search for agents. */
export type SearchQuery = Query<"/v1/search/agents">;
/** One page of agents. */
export type SearchPage = Answer<"/v1/search/agents">;
/** The question whether to pay a server. */
export type ServerQuery = Query<"/v1/checks/server">;
/** The question whether to serve a client. */
export type ClientQuery = Query<"/v1/checks/client">;
/** A verdict with its reasons. */
export type Check = Answer<"/v1/checks/server">;
/** An agent, with its newest ratings if requested. */
export type Agent = Answer<"/v1/agents/{agent}">;

/** A request rejected by the service. */
export class ServiceError extends Error {
  /**
   * @param status The HTTP status.
   * @param code The error's stable code, such as `chain_not_indexed`; `http` if the service returned none.
   * @param message The human-readable reason.
   * @param retryAfter The seconds to wait before retrying, if the service specified them.
   */
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfter?: number,
  ) {
    super(message);
    this.name = "ServiceError";
  }
}

/** How to reach a service. */
export interface ServiceOptions {
  /** The function that sends requests, such as the global `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** The request timeout in milliseconds: 10,000 by default. */
  timeout?: number;
}

/** A service, by its URL. */
export class BilateralService {
  /** The generated client, for all other API paths. */
  readonly http: Client<paths>;

  /**
   * @param url The service's URL, such as `https://trust.example`.
   * @param options How to reach it.
   */
  constructor(url: string, options: ServiceOptions = {}) {
    const { fetch = globalThis.fetch, timeout = 10_000 } = options;
    this.http = createClient<paths>({
      baseUrl: url.replace(/\/+$/, ""),
      fetch: (request: Request) => fetch(request, { signal: AbortSignal.timeout(timeout) }),
    });
  }

  /**
   * Find agents by words, capabilities and ratings.
   *
   * @param query The conditions. Words come first: `{ q: "translate contracts" }`.
   * @throws {ServiceError} The service rejected a condition.
   */
  async search(query: Omit<SearchQuery, "format"> = {}): Promise<SearchPage> {
    const page = await this.http.GET("/v1/search/agents", { params: { query: { ...query, format: "json" } } });
    return unwrap(page) as SearchPage; // the path has CSV and JSON lines, too
  }

  /**
   * Check a server before you pay it.
   *
   * @param agent The agent's id with its chain, such as `8453:247`.
   * @param query The policy, and facts that you know: payee, payment chain, your own experience.
   * @throws {ServiceError} The agent is unknown, or the service rejected a parameter.
   */
  async checkServer(agent: string, query: Omit<ServerQuery, "agent"> = {}): Promise<Check> {
    return unwrap(await this.http.GET("/v1/checks/server", { params: { query: { ...query, agent } } }));
  }

  /**
   * Check a client before you serve it.
   *
   * @param client The client: an agent's id with its chain, or an address.
   * @param query The policy, and the facts that you know.
   * @throws {ServiceError} The client is unknown, or the service rejected a parameter.
   */
  async checkClient(client: string, query: Omit<ClientQuery, "client"> = {}): Promise<Check> {
    return unwrap(await this.http.GET("/v1/checks/client", { params: { query: { ...query, client } } }));
  }

  /**
   * Read one agent.
   *
   * @param agent The agent's id with its chain, such as `8453:247`.
   * @throws {ServiceError} The agent is unknown, or its chain is not indexed.
   */
  async agent(agent: string): Promise<Agent> {
    return unwrap(await this.http.GET("/v1/agents/{agent}", { params: { path: { agent } } }));
  }
}

/** Return a response's body, or throw the error that the service reported. */
function unwrap<Body>(result: { data?: Body; error?: unknown; response: Response }): Body {
  if (result.data !== undefined) return result.data;
  const { status, headers } = result.response;
  const told = result.error as { code?: string; error?: string; detail?: string; message?: string } | undefined;
  const wait = Number(headers.get("Retry-After") ?? Number.NaN);
  throw new ServiceError(
    status,
    told?.code ?? told?.error ?? "http",
    told?.detail ?? told?.message ?? `the service returned status ${status}`,
    Number.isNaN(wait) ? undefined : wait,
  );
}
