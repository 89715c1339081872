/** The claim to be an agent, which buyers may add to their payments. Loaded with the first one. */
import { accountText, type GlobalAgentId } from "../proof/identifiers.js";
import { fieldOf, isObject, type JsonObject } from "../proof/json.js";

/** Return a server's declaration with a buyer's claim. */
export function claimed(declaration: JsonObject, { registry, agent }: GlobalAgentId): JsonObject {
  const info = fieldOf(declaration, "info");
  const claim = { clientAgentRegistry: accountText(registry), clientAgentId: agent };
  return { ...declaration, info: { ...(isObject(info) ? info : {}), ...claim } };
}
