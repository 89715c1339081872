/** The checks of a paid answer, in order. Loaded when a price is about to be paid, see `trustedFetch`. */
import type { CheckCode } from "../codes.js";
import {
  DocumentError,
  InvalidMessageError,
  MalformedDocumentError,
  printable,
  TrustError,
} from "../errors.js";
import { isEqual } from "./bytes.js";
import { pause, POLL_MILLISECONDS, type ChainReader, type Chains } from "./chains.js";
import { agentText, isSameAccount, isSameRegistry } from "./identifiers.js";
import { findSigner, isKey, type Signer } from "./keys.js";
import type { AgentRegistration, Profile, ReputationInfo } from "./messages.js";
import { PaymentProblemError, signedPayment, type Payment } from "./payments.js";
import {
  isOfAgent,
  registrationFileOf,
  validSigners,
  type RegistrationFile,
} from "./registration.js";
import {
  hashesOf,
  isOfNothing,
  settlementOf,
  statementOf,
  type InteractionData,
  type SettlementReceipt,
} from "./statements.js";
import { failed, required, Stopped, unchecked } from "./stops.js";
import { findPayment } from "./transfers.js";
import {
  acceptedOf,
  CHECKS,
  declarationOf,
  networkOf,
  pathAndQuery,
  payloadOf,
  problemsOf,
  profileOf,
  type Check,
  type CheckName,
  type PaidExchange,
  type Verification,
} from "./verdicts.js";
import { ADDRESS_MISMATCH, describe } from "./verify.js";

const MAX_SIGNERS = 64;
const NO_VALID_SIGNERS = "No valid signers found";
const SIGNATURE_FAILED = "Signature verification failed";
const UNCHECKABLE: readonly string[] = ["cannot_check", "not_provable_for_the_past", "unsupported_network"];

/** Check a paid answer on chains that are already open. */
export async function verifyOn(chains: Chains, paid: PaidExchange, isHistorical = false): Promise<Verification> {
  const info = infoOrNull(profileOf(paid), declarationOf(paid));
  const reader = chains.readerOrNull(chains.identityNetwork(info, networkOf(paid)));
  const examination = new Examination(chains, reader, paid, isHistorical);
  await examination.checkPayment(chains.readerOrNull(networkOf(paid)));
  const variants = isHistorical ? [examination, examination.forNow()] : [examination];
  for (const variant of variants) await variant.checkAgent();
  return examination.result(variants[1]?.result(null) ?? null);
}

function infoOrNull(profile: Profile, declaration: unknown): ReputationInfo | null {
  try {
    return profile.infoOf(declaration);
  } catch {
    return null; // the examination will say so
  }
}

function unsupported(paid: PaidExchange): Stopped {
  return unchecked(`${networkOf(paid).slice(0, 80)} cannot be checked`, "unsupported_network");
}

/** Return the outcome of a check that failed with an error. Some refusals reveal nothing about the agent. */
function stopped(error: unknown): Stopped {
  if (error instanceof Stopped) return error;
  if (error instanceof TrustError) {
    const code = error.code as CheckCode;
    return UNCHECKABLE.includes(code) ? unchecked(error.shortMessage, code) : failed(code, error.shortMessage);
  }
  if (error instanceof InvalidMessageError) return failed(error.code, error.message, error.field);
  return unchecked(describe(error));
}

/** One verification in progress. Every check is performed, whatever the others' results. */
class Examination {
  readonly #chains: Chains;
  readonly #reader: ChainReader | null;
  readonly #paid: PaidExchange;
  readonly #isHistorical: boolean;
  #checks = new Map<CheckName, Check>();
  readonly #profile: Profile;
  #receipt: SettlementReceipt | null = null;
  #interaction: InteractionData | null = null;
  #registration: AgentRegistration | null = null;
  #payment: Payment | null = null;
  #uri = "";
  #file: RegistrationFile | null = null;
  #signers: Signer[] = [];
  #signer: Signer | null = null;
  #walletSigner: string | null = null;
  /** The reason why no further check is possible. */
  #ended: Stopped | null = null;
  #transaction: string | null = null;
  #latestUri: Promise<string> | null = null;
  #walletThen: Promise<string> | null = null;

  constructor(chains: Chains, reader: ChainReader | null, paid: PaidExchange, isHistorical: boolean) {
    this.#chains = chains;
    this.#reader = reader;
    this.#paid = paid;
    this.#isHistorical = isHistorical;
    this.#profile = profileOf(paid);
    if (!reader) this.#ended = unsupported(paid);
  }

  /** Read the messages, and find the payment. */
  async checkPayment(reader: ChainReader | null): Promise<void> {
    await this.#make("settlement", () => this.#readSettlement(reader));
    await this.#make("interaction", () => this.#readStatement());
    await this.#make("agent", () => this.#compareAgent());
    await this.#make("network", () => this.#compareNetworks());
    await this.#make("task_ref", () => this.#compareTransactions());
    await this.#make("interaction_hash", () => this.#compareHashes());
    await this.#make("payment", () => this.#findPayment(reader));
    if (this.#payment && this.#checks.get("settlement")?.outcome === "passed") {
      await this.#make("settlement", () => this.#compareAmounts());
    }
  }

  /** Check the wallet, the registration file and the signature. */
  async checkAgent(): Promise<void> {
    const wallet = (): Promise<void> => this.#make("pay_to", () => this.#compareWallet());
    const file = (): Promise<void> => this.#make("registration_file", () => this.#findFile());
    // A wallet that the file names is known once the file is.
    for (const step of this.#chains.terms.walletServices ? [file, wallet] : [wallet, file]) await step();
    await this.#make("signers", () => this.#findSigners());
    await this.#make("signature", () => this.#checkSignature());
  }

  /** Return the same examination, to be judged at the current time. */
  forNow(): Examination {
    const now = new Examination(this.#chains, this.#reader, this.#paid, false);
    now.#checks = new Map(this.#checks);
    now.#receipt = this.#receipt;
    now.#interaction = this.#interaction;
    now.#registration = this.#registration;
    now.#payment = this.#payment;
    now.#ended = this.#ended;
    now.#walletThen = this.#walletThen;
    return now;
  }

  /** Return all results. */
  result(now: Verification | null): Verification {
    const checks = CHECKS.flatMap((name) => this.#checks.get(name) ?? []);
    const isMetered = this.#payment?.ceiling != null && this.#receipt?.amount === null;
    return {
      isVerified: checks.length === CHECKS.length && checks.every(({ outcome }) => outcome === "passed"),
      checks,
      problems: problemsOf(checks, this.#paid.unpaidStatus ?? null),
      registration: this.#registration,
      agent: this.#registration ? agentText(this.#registration.agent) : null,
      interaction: this.#interaction,
      payment: this.#payment,
      signer: this.#signer,
      walletSigner: this.#walletSigner,
      isHistorical: this.#isHistorical,
      profile: this.#profile.key,
      paid: this.#paid,
      now,
      remarks: isMetered ? ["PAYMENT-RESPONSE does not state how much of the maximum amount was taken"] : [],
    };
  }

  async #make(name: CheckName, step: () => Promise<void> | void): Promise<void> {
    let check: Check = { name, outcome: "passed", code: "", problem: "", field: "" };
    try {
      if (this.#ended) throw this.#ended;
      await step();
    } catch (error) {
      const { outcome, code, message, field } = stopped(error);
      check = { name, outcome, code, problem: printable(message), field: printable(field) };
    }
    this.#checks.set(name, check);
  }

  async #readSettlement(reader: ChainReader | null): Promise<void> {
    this.#receipt = settlementOf(this.#paid.settlement, this.#profile.key);
    if (!this.#receipt.isSuccess) throw failed("settlement_failed", "the server reports that settlement failed");
    if (!isOfNothing(this.#receipt)) return;
    const { judgeUnused } = await import("./unused.js");
    const { transaction, stop } = await judgeUnused(this.#paid, reader, this.#confirmations());
    this.#transaction = transaction;
    if (stop.code === "nothing_paid") this.#ended = stop;
    throw stop;
  }

  #compareAmounts(): void {
    const { amount: reported } = required(this.#receipt, "no settlement");
    const { amount } = required(this.#payment, "no payment");
    if (reported !== null && reported !== String(amount)) {
      const problem = `the server reports that ${reported.slice(0, 80)} was paid, but the payment is ${amount}`;
      throw failed("amount_mismatch", problem, "amount");
    }
  }

  async #readStatement(): Promise<void> {
    this.#interaction = await statementOf(this.#profile, required(this.#receipt, "there is no settlement").interaction);
  }

  #compareAgent(): void {
    const reader = this.#chainReader();
    this.#registration = reader.trustedRegistration(this.#profile.infoOf(declarationOf(this.#paid)));
    const { agent } = this.#registration;
    if (!this.#isHistorical) this.#latestUri = reader.uri(agent); // in one batch with the receipt
    this.#latestUri?.catch(() => undefined);
    const { agentId, agentRegistry } = this.#statement();
    const isOther = agentRegistry !== null && !isSameRegistry(agentRegistry, agent.registry);
    if (agentId !== agent.agent || isOther) {
      throw failed("agent_mismatch", `the statement is for agent ${agentId}, not for ${agentText(agent)}`);
    }
  }

  #compareNetworks(): void {
    const networks = new Set([this.#statement().network, this.#receipt?.network ?? "", networkOf(this.#paid)]);
    if (networks.size > 1) {
      throw failed("network_mismatch", `the messages specify different networks: ${[...networks].sort().join(", ")}`);
    }
  }

  #compareTransactions(): void {
    const { taskRef } = this.#statement();
    const receipt = required(this.#receipt, "no settlement");
    if (taskRef !== `${receipt.network}:${receipt.transaction}`) {
      throw failed("task_ref_mismatch", "the statement and the settlement specify different transactions");
    }
  }

  async #compareHashes(): Promise<void> {
    const { taskRef, interactionHash, dataHash } = this.#statement();
    const { request, response, isBodyLost } = this.#paid;
    if (isBodyLost) throw unchecked("the server did not retain the body of this response", "body_not_kept");
    if (response === null) throw failed("unsupported_body", "the response cannot be decoded");
    const hashes = await hashesOf(this.#profile, taskRef, request, pathAndQuery(this.#paid), response);
    const isData = hashes.data === null || dataHash === null ? hashes.data === dataHash : isEqual(hashes.data, dataHash);
    if (!isEqual(hashes.interaction, interactionHash) || !isData) {
      throw failed("hash_mismatch", "the hash does not match these bodies");
    }
  }

  /** Find the payment on chain. Wait for its block: the node may lag behind the server's node. */
  async #findPayment(reader: ChainReader | null): Promise<void> {
    const { taskRef } = this.#transaction === null ? this.#statement() : { taskRef: `::${this.#transaction}` };
    const transaction = (taskRef.split(":")[2] ?? "").toLowerCase();
    if (!reader) throw unsupported(this.#paid);
    const end = Date.now() + (this.#isHistorical ? 0 : (this.#chains.terms.receiptSeconds ?? 15) * 1000);
    while (this.#payment === null) {
      try {
        const signed = await signedPayment(acceptedOf(this.#paid), payloadOf(this.#paid));
        const onBlock = (block: bigint | null): void => this.#readWallet(reader, block);
        this.#payment = await findPayment(reader.node, signed, transaction, this.#confirmations(), onBlock);
      } catch (error) {
        if (!(error instanceof PaymentProblemError)) throw error;
        const left = end - Date.now();
        if (error.isFinal || left <= 0) {
          const code = error.code as CheckCode;
          throw code === "not_provable" ? unchecked(error.message, code) : failed(code, error.message);
        }
        await pause(Math.min(POLL_MILLISECONDS, left));
      }
    }
  }

  /** Request the agent's wallet at the payment's block, or at the latest block, where the payment is expected. */
  #readWallet(reader: ChainReader, block: bigint | null): void {
    if (reader !== this.#reader || this.#registration === null || this.#chains.terms.walletServices) return;
    if (block === null && this.#isHistorical) return;
    this.#walletThen = reader.wallet(this.#registration.agent, block);
    this.#walletThen.catch(() => undefined);
  }

  async #compareWallet(): Promise<void> {
    const payment = required(this.#payment, "the payment was not found");
    const { network } = this.#statement();
    const { agent } = this.#agentRegistration();
    const reader = this.#chainReader();
    let expected = "";
    if (this.#chains.terms.walletServices) {
      const uri = await reader.uri(agent, await this.#paymentBlock());
      const file = uri === this.#uri ? this.#file : await this.#loaded(uri);
      expected = (await import("./wallets.js")).serviceWallet(required(file, "there is no registration file"), network);
    }
    const isPaid = (): boolean => isSameAccount(network, expected, payment.payee);
    if (!expected && reader.chain === network) {
      expected = (await this.#walletThen) ?? "";
      if (!isPaid()) expected = await reader.wallet(agent, payment.block); // the node may have read a later block
    }
    if (!isPaid()) throw failed("payment_address_mismatch", ADDRESS_MISMATCH);
  }

  async #findFile(): Promise<void> {
    const { agent } = this.#agentRegistration();
    const reader = this.#chainReader();
    const block = this.#isHistorical ? await this.#paymentBlock() : null;
    this.#uri = await (block === null ? (this.#latestUri ?? reader.uri(agent)) : reader.uri(agent, block));
    this.#file = await this.#loaded(this.#uri);
    if (!isOfAgent(this.#file, agent)) throw failed("agent_not_registered", "Agent not registered on this network");
  }

  async #loaded(uri: string, isFresh = false): Promise<RegistrationFile> {
    try {
      const document = await this.#chains.load(uri, isFresh);
      if (document.integrity === null && !/^https:/i.test(document.uri)) {
        const problem = "nothing proves that the registration file is authentic: use https, ipfs or data";
        throw failed("file_not_authentic", problem);
      }
      const file = registrationFileOf(document);
      if (document.integrity === null && this.#isHistorical) {
        throw unchecked("the past content of a file at an https URI cannot be proven", "not_provable_for_the_past");
      }
      return file;
    } catch (error) {
      if (error instanceof MalformedDocumentError) {
        throw failed("malformed_file", `the registration file is malformed: ${error.message}`);
      }
      if (error instanceof DocumentError) {
        throw unchecked(`the registration file cannot be loaded: ${error.message}`, "file_not_loaded");
      }
      throw error;
    }
  }

  #findSigners(): void {
    const file = required(this.#file, "there is no registration file");
    const count = file.signers?.length ?? 0;
    if (count > MAX_SIGNERS) throw failed("too_many", `${count} signers exceed the limit of ${MAX_SIGNERS}`, "signers");
    const second = this.#isHistorical ? required(this.#payment, "the payment was not found").time : Date.now() / 1000;
    this.#signers = validSigners(file, second);
    if (!this.#signers.length && !(this.#chains.terms.allowWalletSigner && !count)) {
      throw failed("no_valid_signers", NO_VALID_SIGNERS);
    }
  }

  async #checkSignature(): Promise<void> {
    const interaction = this.#statement();
    const { interactionHash, signature, publicKey } = interaction;
    if (!this.#signers.length) return this.#checkWalletSignature(interaction);
    this.#signer = await findSigner(interactionHash, signature, this.#signers);
    if (this.#signer === null && /^\s*https:/i.test(this.#uri)) {
      this.#file = await this.#loaded(this.#uri, true); // its keys may be rotated
      this.#findSigners();
      this.#signer = await findSigner(interactionHash, signature, this.#signers);
    }
    if (this.#signer === null) throw failed("signature_failed", SIGNATURE_FAILED);
    if (publicKey !== null && !isKey(publicKey, this.#signer)) {
      this.#signer = null;
      const problem = "the statement specifies a different key, which did not create the signature";
      throw failed("key_mismatch", problem, "agentSignerPublicKey");
    }
  }

  /** Check the signature of the agent's wallet, if the file lists no keys and the terms accept that. */
  async #checkWalletSignature({ interactionHash, signature }: InteractionData): Promise<void> {
    const count = this.#file?.signers?.length ?? 0;
    if (!this.#chains.terms.allowWalletSigner || this.#file === null || count) {
      throw unchecked(NO_VALID_SIGNERS, "no_valid_signers");
    }
    const { agent } = this.#agentRegistration();
    const reader = this.#chainReader();
    const wallet = await reader.wallet(agent, this.#isHistorical ? await this.#paymentBlock() : null);
    const { isSignatureOfAccount } = await import("./accounts.js");
    if (!wallet || !(await isSignatureOfAccount(interactionHash, signature, reader.chain, wallet))) {
      throw failed("signature_failed", SIGNATURE_FAILED);
    }
    this.#walletSigner = wallet;
  }

  #confirmations(): number {
    return this.#chains.terms.confirmations ?? 1;
  }

  #statement(): InteractionData {
    return required(this.#interaction, "there is no statement");
  }

  #chainReader(): ChainReader {
    return required(this.#reader, "the chain is unknown");
  }

  #agentRegistration(): AgentRegistration {
    return required(this.#registration, "the agent is unknown");
  }

  /** Return the latest block on the identity's chain at the time of the payment. */
  async #paymentBlock(): Promise<bigint> {
    const payment = required(this.#payment, "the payment was not found");
    const reader = this.#chainReader();
    if (this.#statement().network === reader.chain) return payment.block;
    return (await import("./past.js")).blockAt(reader.node, payment.time);
  }
}
