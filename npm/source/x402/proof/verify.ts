/** The checks of a server before a payment, and of its answer after it ("Post-Service Signature Verification"). */
import { explain, InvalidMessageError, MalformedIdentifierError, TrustError } from "../errors.js";
import { chainsOf, type TrustTerms } from "./chains.js";
import { isSameAccount, parseChain } from "./identifiers.js";
import { PROFILE_8004, type AgentRegistration, type Profile } from "./messages.js";
import type { PaidExchange, Verification } from "./verdicts.js";

/**
 * Check a paid answer. Failures are results, not exceptions: if a node or file server fails, checks remain undone.
 *
 * @param terms The trusted chains. Pass the same object each time, so that registration files are loaded once.
 * @param paid The request, its payment and its answer.
 * @param options `historical`: judge keys and file at the payment's block instead of now.
 */
export async function verify(
  terms: TrustTerms,
  paid: PaidExchange,
  options: { readonly historical?: boolean } = {},
): Promise<Verification> {
  const { verifyOn } = await import("./examination.js");
  return verifyOn(chainsOf(terms), paid, options.historical ?? false);
}

/**
 * Check a server's agent before anything is signed ("Pre-Payment Verification").
 *
 * @param terms The trusted chains.
 * @param declaration The server's declaration, `extensions["8004-reputation"]` in its 402 response.
 * @param network The chosen network.
 * @param payTo The address at which the server wants to be paid.
 * @param profile The declaration's profile.
 * @returns The server's agent on that network.
 * @throws {TrustError} The payment must not be made, or the server cannot be checked.
 */
export async function checkBeforePayment(
  terms: TrustTerms,
  declaration: unknown,
  network: string,
  payTo: string,
  profile: Profile = PROFILE_8004,
): Promise<AgentRegistration> {
  const chains = chainsOf(terms);
  try {
    const info = profile.infoOf(declaration);
    const reader = chains.reader(chains.identityNetwork(info, network));
    const chain = parseChain(network);
    const registration = reader.trustedRegistration(info);
    const [wallet] = await Promise.all([reader.wallet(registration.agent), reader.checkRegistries()]);
    const expected = chains.terms.walletServices
      ? await (await import("./wallets.js")).walletOn(chains, reader, registration, chain, wallet)
      : wallet;
    if (!isSameAccount(chain, expected, payTo)) throw new TrustError("payment_address_mismatch");
    return registration;
  } catch (error) {
    const code =
      error instanceof InvalidMessageError
        ? "invalid_declaration"
        : error instanceof MalformedIdentifierError
          ? "unsupported_network"
          : "cannot_check";
    throw await explain(
      error instanceof TrustError
        ? error
        : new TrustError(code, [code === "cannot_check" ? "cannotCheck" : "error", error], { cause: error }),
    );
  }
}
