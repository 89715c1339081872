/** Requests to EIP-1193 providers. Loaded with the first one. */
import { NodeError } from "../errors.js";
import type { Provider } from "./node.js";

/** Send a request to a provider, within a time limit in seconds. */
export async function answerOf(
  provider: Provider,
  seconds: number,
  method: string,
  params: readonly unknown[],
): Promise<unknown> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NodeError(`the node did not respond within ${seconds} s`)), seconds * 1000);
  });
  try {
    return await Promise.race([provider.request({ method, params: [...params] }), late]);
  } catch (error) {
    if (error instanceof NodeError) throw error;
    throw new NodeError("the node rejected the request", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
