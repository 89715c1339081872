/** The checks of a paid answer, in order. Loaded when a price is about to be paid, see `trustedFetch`. */
import type { CheckCode } from "../codes.js";
import { DocumentError, MalformedDocumentError } from "../errors.js";
import { isEqual } from "./bytes.js";
import { pause, POLL_MILLISECONDS, type ChainReader, type Chains } from "./chains.js";
import { load } from "./documents.js";
import { agentText, isSameAccount, isSameRegistry } from "./identifiers.js";
import { findSigner, type Signer } from "./keys.js";
import type { AgentRegistration, ReputationInfo } from "./messages.js";
import { PaymentProblemError, signedPayment, type Payment } from "./payments.js";
import { isOfAgent, registrationFileOf, validSigners, type RegistrationFile } from "./registration.js";
import { hashesOf, isOfNothing, settlementOf, statementOf, type InteractionData, type SettlementReceipt } from "./statements.js";
import { failed, required, Stopped, unchecked } from "./stops.js";
import { findPayment } from "./transfers.js";
import * as verdicts from "./verdicts.js";
import type { Check, CheckName, PaidExchange, Verification } from "./verdicts.js";

const MAX_SIGNERS = 64;

type Checks = ReadonlyMap<CheckName, Check>;

/** Check a paid answer on chains that are already open. Every check is performed, whatever the others' results. */
export async function verifyOn(chains: Chains, paid: PaidExchange, isHistorical = false): Promise<Verification> {
  const { terms } = chains;
  const confirmations = terms.confirmations ?? 1;
  const network = verdicts.networkOf(paid);
  const profile = verdicts.profileOf(paid);
  const payments = chains.readerOrNull(network);
  let info: ReputationInfo | null = null;
  try {
    info = profile.infoOf(verdicts.declarationOf(paid));
  } catch {
    // the check of the agent will say so
  }
  const identity = chains.readerOrNull(chains.identityNetwork(info, network));

  let receipt: SettlementReceipt | null = null;
  let interaction: InteractionData | null = null;
  let registration: AgentRegistration | null = null;
  let payment: Payment | null = null;
  let transaction: string | null = null;
  let latestUri: Promise<string> | null = null;
  let walletThen: Promise<string> | null = null;
  /** The reason why no further check is possible. */
  let ended = identity ? null : unsupported();

  const statement = (): InteractionData => required(interaction, "statement");
  const reader = (): ChainReader => required(identity, "chain");
  const agentOf = (): AgentRegistration["agent"] => required(registration, "agent").agent;
  const found = (): Payment => required(payment, "found");

  function unsupported(): Stopped {
    return unchecked("unsupported_network", ["unsupported_network", network.slice(0, 80)]);
  }

  async function make(checks: Map<CheckName, Check>, name: CheckName, step: () => Promise<void> | void): Promise<void> {
    let check: Check = { name, outcome: "passed", code: "", problem: "", field: "" };
    try {
      if (ended) throw ended;
      await step();
    } catch (error) {
      check = (await import("../problems.js")).failedCheck(name, error);
    }
    checks.set(name, check);
  }

  async function readSettlement(): Promise<void> {
    receipt = settlementOf(paid.settlement, profile.key);
    if (!receipt.isSuccess) throw failed("settlement_failed");
    if (!isOfNothing(receipt)) return;
    const { judgeUnused } = await import("./unused.js");
    const unused = await judgeUnused(paid, payments, confirmations);
    transaction = unused.transaction;
    if (unused.stop.code === "nothing_paid") ended = unused.stop;
    throw unused.stop;
  }

  async function readStatement(): Promise<void> {
    interaction = await statementOf(profile, required(receipt, "settlement").interaction);
  }

  function compareAgent(): void {
    registration = reader().trustedRegistration(profile.infoOf(verdicts.declarationOf(paid)));
    const { agent } = registration;
    if (!isHistorical) latestUri = reader().uri(agent); // in one batch with the receipt
    latestUri?.catch(() => undefined);
    const { agentId, agentRegistry } = statement();
    if (agentId !== agent.agent || (agentRegistry !== null && !isSameRegistry(agentRegistry, agent.registry))) {
      throw failed("agent_mismatch", ["agent_mismatch", agentId, agentText(agent)]);
    }
  }

  function compareNetworks(): void {
    const networks = new Set([statement().network, receipt?.network ?? "", network]);
    if (networks.size > 1) throw failed("network_mismatch", ["network_mismatch", [...networks].sort().join(", ")]);
  }

  function compareTransactions(): void {
    const { taskRef } = statement();
    const settled = required(receipt, "receipt");
    if (taskRef !== `${settled.network}:${settled.transaction}`) throw failed("task_ref_mismatch");
  }

  async function compareHashes(): Promise<void> {
    const { taskRef, interactionHash, dataHash } = statement();
    const { request, response, isBodyLost } = paid;
    if (isBodyLost) throw unchecked("body_not_kept");
    if (response === null) throw failed("unsupported_body");
    const hashes = await hashesOf(profile, taskRef, request, paid.target ?? "", response);
    const isData = hashes.data === null || dataHash === null ? hashes.data === dataHash : isEqual(hashes.data, dataHash);
    if (!isData || !isEqual(hashes.interaction, interactionHash)) throw failed("hash_mismatch");
  }

  /** Find the payment on chain. Wait for its block: the node may lag behind the server's node. */
  async function readPayment(): Promise<void> {
    const hash = transaction ?? statement().taskRef.split(":")[2] ?? "";
    if (!payments) throw unsupported();
    const end = Date.now() + (isHistorical ? 0 : (terms.receiptSeconds ?? 15) * 1000);
    while (payment === null) {
      try {
        const signed = await signedPayment(verdicts.acceptedOf(paid), verdicts.payloadOf(paid));
        const onBlock = (block: bigint | null): void => readWallet(payments, block);
        payment = await findPayment(payments.node, signed, hash.toLowerCase(), confirmations, onBlock);
      } catch (error) {
        if (!(error instanceof PaymentProblemError)) throw error;
        const left = end - Date.now();
        if (error.isFinal || left <= 0) {
          const code = error.code as CheckCode;
          throw (code === "not_provable" ? unchecked : failed)(code, error.problem);
        }
        await pause(Math.min(POLL_MILLISECONDS, left));
      }
    }
  }

  /** Request the agent's wallet at the payment's block, or at the latest block, where the payment is expected. */
  function readWallet(chain: ChainReader, block: bigint | null): void {
    if (chain !== identity || registration === null || terms.walletServices || (block === null && isHistorical)) return;
    walletThen = chain.wallet(registration.agent, block);
    walletThen.catch(() => undefined);
  }

  function compareAmounts(): void {
    const { amount: reported } = required(receipt, "receipt");
    const { amount } = required(payment, "payment");
    if (reported !== null && reported !== String(amount)) {
      throw failed("amount_mismatch", ["amount_mismatch", reported.slice(0, 80), amount], "amount");
    }
  }

  /** Return the latest block on the identity's chain at the time of the payment. */
  async function paymentBlock(): Promise<bigint> {
    const { block, time } = found();
    return statement().network === reader().chain ? block : (await import("./past.js")).blockAt(reader().node, time);
  }

  /** Check the wallet, the registration file and the signature, as of the payment's block or now. */
  async function judged(before: Checks, isPast: boolean): Promise<Verification> {
    const checks = new Map(before);
    let uri = "";
    let file: RegistrationFile | null = null;
    let signers: Signer[] = [];
    let signer: Signer | null = null;
    let walletSigner: string | null = null;

    async function compareWallet(): Promise<void> {
      const { payee, block } = found();
      const { network: paidOn } = statement();
      const agent = agentOf();
      let expected = "";
      if (terms.walletServices) {
        const load = async (from: string): Promise<RegistrationFile | null> => (from === uri ? file : loaded(from));
        expected = await (await import("./wallets.js")).walletThen(reader(), agent, await paymentBlock(), paidOn, load);
      }
      const isPaid = (): boolean => isSameAccount(paidOn, expected, payee);
      if (!expected && reader().chain === paidOn) {
        expected = (await walletThen) ?? "";
        if (!isPaid()) expected = await reader().wallet(agent, block); // the node may have read a later block
      }
      if (!isPaid()) throw failed("payment_address_mismatch");
    }

    async function findFile(): Promise<void> {
      const agent = agentOf();
      uri = await (isPast ? reader().uri(agent, await paymentBlock()) : (latestUri ?? reader().uri(agent)));
      file = await loaded(uri);
      if (!isOfAgent(file, agent)) throw failed("agent_not_registered", ["agent_not_registered", "this"]);
    }

    async function loaded(from: string, isFresh = false): Promise<RegistrationFile> {
      try {
        const document = await load(chains, from, isFresh);
        if (document.integrity === null && !/^https:/i.test(document.uri)) throw failed("file_not_authentic");
        const read = registrationFileOf(document);
        if (document.integrity !== null || !isPast) return read;
      } catch (error) {
        if (error instanceof MalformedDocumentError) throw failed("malformed_file", ["malformed_file", error]);
        if (error instanceof DocumentError) throw unchecked("file_not_loaded", ["file_not_loaded", error]);
        throw error;
      }
      throw unchecked("not_provable_for_the_past");
    }

    function findSigners(): void {
      const count = required(file, "file").signers?.length ?? 0;
      if (count > MAX_SIGNERS) throw failed("too_many", ["too_many", count, MAX_SIGNERS, " signers"], "signers");
      signers = validSigners(file as RegistrationFile, isPast ? found().time : Date.now() / 1000);
      if (!signers.length && !(terms.allowWalletSigner && !count)) throw failed("no_valid_signers");
    }

    async function checkSignature(): Promise<void> {
      const { interactionHash, signature, publicKey } = statement();
      if (!signers.length) return checkWalletSignature();
      signer = await findSigner(interactionHash, signature, signers);
      if (signer === null && /^\s*https:/i.test(uri)) {
        file = await loaded(uri, true); // its keys may be rotated
        findSigners();
        signer = await findSigner(interactionHash, signature, signers);
      }
      if (signer === null) throw failed("signature_failed");
      if (publicKey !== null && !(await import("./draft.js")).isKey(publicKey, signer)) {
        signer = null;
        throw failed("key_mismatch", ["key_mismatch"], "agentSignerPublicKey");
      }
    }

    /** Check the signature of the agent's wallet, if the file lists no keys and the terms accept that. */
    async function checkWalletSignature(): Promise<void> {
      if (!terms.allowWalletSigner || file === null || file.signers?.length) {
        throw unchecked("no_valid_signers");
      }
      const block = isPast ? await paymentBlock() : null;
      walletSigner = await (await import("./accounts.js")).walletSigner(reader(), agentOf(), statement(), block);
    }

    const steps: [CheckName, () => Promise<void> | void][] = [
      ["pay_to", compareWallet],
      ["registration_file", findFile],
      ["signers", findSigners],
      ["signature", checkSignature],
    ];
    if (terms.walletServices) steps.unshift(...steps.splice(1, 1)); // a wallet that the file names is known once the file is
    for (const [name, step] of steps) await make(checks, name, step);
    const listed = verdicts.CHECKS.flatMap((name) => checks.get(name) ?? []);
    const isVerified = listed.length === verdicts.CHECKS.length && listed.every(({ outcome }) => outcome === "passed");
    const unpaid = paid.unpaidStatus ?? null;
    const isMetered = payment?.ceiling != null && receipt?.amount === null;
    return {
      isVerified,
      checks: listed,
      problems: isVerified && unpaid === null ? [] : (await import("../problems.js")).problemsOf(listed, unpaid),
      registration,
      agent: registration && agentText(registration.agent),
      interaction,
      payment,
      signer,
      walletSigner,
      isHistorical: isPast,
      profile: profile.key,
      paid,
      now: null,
      remarks: isMetered ? [(await import("../problems.js")).textOf(["metered"])] : [],
    };
  }

  const checks = new Map<CheckName, Check>();
  await make(checks, "settlement", readSettlement);
  await make(checks, "interaction", readStatement);
  await make(checks, "agent", compareAgent);
  await make(checks, "network", compareNetworks);
  await make(checks, "task_ref", compareTransactions);
  await make(checks, "interaction_hash", compareHashes);
  await make(checks, "payment", readPayment);
  if (payment && checks.get("settlement")?.outcome === "passed") await make(checks, "settlement", compareAmounts);
  const verification = await judged(checks, isHistorical);
  return isHistorical ? { ...verification, now: await judged(checks, false) } : verification;
}
