/** The checks of a paid answer, in order. Loaded when a price is about to be paid, see `trustedFetch`. */
import type { CheckCode } from "../codes.js";
import {
  DocumentError,
  InvalidMessageError,
  MalformedDocumentError,
  NodeError,
  printable,
  TrustError,
} from "../errors.js";
import { isEqual } from "./bytes.js";
import { pause, POLL_MILLISECONDS, type ChainReader, type Chains } from "./chains.js";
import { agentText, isSameAccount, isSameRegistry, type ChainId } from "./identifiers.js";
import { findSigner, isKey, isSignatureOfAccount, type Signer } from "./keys.js";
import type { AgentRegistration, Profile, ReputationInfo } from "./messages.js";
import { expiryOf, PaymentProblemError, signedPayment, type Payment, type Settlement } from "./payments.js";
import {
  isOfAgent,
  readRegistrationFile,
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
  type Outcome,
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

/** A check ends without having passed. */
class Stopped extends Error {
  constructor(
    readonly outcome: Outcome,
    readonly code: CheckCode,
    problem: string,
    readonly field = "",
  ) {
    super(problem);
  }
}

function failed(code: CheckCode, problem: string, field = ""): Stopped {
  return new Stopped("failed", code, problem, field);
}

function unchecked(problem: string, code: CheckCode = "cannot_check"): Stopped {
  return new Stopped("unchecked", code, problem);
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

function required<T>(value: T | null, problem: string): T {
  if (value === null) throw unchecked(problem, "earlier_check_failed");
  return value;
}

/** One verification in progress. Every check is performed, whatever the others' results. */
class Examination {
  private checks = new Map<CheckName, Check>();
  private readonly profile: Profile;
  private receipt: SettlementReceipt | null = null;
  private interaction: InteractionData | null = null;
  private registration: AgentRegistration | null = null;
  private payment: Payment | null = null;
  private uri = "";
  private file: RegistrationFile | null = null;
  private signers: Signer[] = [];
  private signer: Signer | null = null;
  private walletSigner: string | null = null;
  /** The reason why no further check is possible. */
  private ended: Stopped | null = null;
  private transaction: string | null = null;
  private latestUri: Promise<string> | null = null;
  private walletThen: Promise<string> | null = null;

  constructor(
    private readonly chains: Chains,
    private readonly reader: ChainReader | null,
    private readonly paid: PaidExchange,
    private isHistorical: boolean,
  ) {
    this.profile = profileOf(paid);
    if (!reader) this.ended = unsupported(paid);
  }

  /** Read the messages, and find the payment. */
  async checkPayment(reader: ChainReader | null): Promise<void> {
    await this.make("settlement", () => this.readSettlement(reader));
    await this.make("interaction", () => this.readStatement());
    await this.make("agent", () => this.compareAgent());
    await this.make("network", () => this.compareNetworks());
    await this.make("task_ref", () => this.compareTransactions());
    await this.make("interaction_hash", () => this.compareHashes());
    await this.make("payment", () => this.findPayment(reader));
    if (this.payment && this.checks.get("settlement")?.outcome === "passed") {
      await this.make("settlement", () => this.compareAmounts());
    }
  }

  /** Check the wallet, the registration file and the signature. */
  async checkAgent(): Promise<void> {
    const wallet = (): Promise<void> => this.make("pay_to", () => this.compareWallet());
    const file = (): Promise<void> => this.make("registration_file", () => this.findFile());
    // A wallet that the file names is known once the file is.
    for (const step of this.chains.terms.walletServices ? [file, wallet] : [wallet, file]) await step();
    await this.make("signers", () => this.findSigners());
    await this.make("signature", () => this.checkSignature());
  }

  /** Return the same examination, to be judged at the current time. */
  forNow(): Examination {
    const now = new Examination(this.chains, this.reader, this.paid, false);
    const { receipt, interaction, registration, payment, ended, walletThen } = this;
    const found = { receipt, interaction, registration, payment, ended, walletThen };
    return Object.assign(now, { checks: new Map(this.checks), ...found });
  }

  /** Return all results. */
  result(now: Verification | null): Verification {
    const checks = CHECKS.flatMap((name) => this.checks.get(name) ?? []);
    const isMetered = this.payment?.ceiling != null && this.receipt?.amount === null;
    return {
      isVerified: checks.length === CHECKS.length && checks.every(({ outcome }) => outcome === "passed"),
      checks,
      problems: problemsOf(checks, this.paid.unpaidStatus ?? null),
      registration: this.registration,
      agent: this.registration ? agentText(this.registration.agent) : null,
      interaction: this.interaction,
      payment: this.payment,
      signer: this.signer,
      walletSigner: this.walletSigner,
      isHistorical: this.isHistorical,
      profile: this.profile.key,
      paid: this.paid,
      now,
      remarks: isMetered ? ["PAYMENT-RESPONSE does not say how much of the ceiling was taken"] : [],
    };
  }

  private async make(name: CheckName, step: () => Promise<void> | void): Promise<void> {
    let check: Check = { name, outcome: "passed", code: "", problem: "", field: "" };
    try {
      if (this.ended) throw this.ended;
      await step();
    } catch (error) {
      const { outcome, code, message, field } = stopped(error);
      check = { name, outcome, code, problem: printable(message), field: printable(field) };
    }
    this.checks.set(name, check);
  }

  private async readSettlement(reader: ChainReader | null): Promise<void> {
    this.receipt = settlementOf(this.paid.settlement, this.profile.key);
    if (!this.receipt.isSuccess) throw failed("settlement_failed", "the server reports that settlement failed");
    if (isOfNothing(this.receipt)) await this.checkUnused(reader);
  }

  /** Judge the report that nothing was paid. The server may still settle the payment until its deadline. */
  private async checkUnused(reader: ChainReader | null): Promise<void> {
    const signed = this.signedOrNull();
    if (signed?.kind !== "permit2-upto") throw failed("malformed", "transaction: the text is empty", "transaction");
    let settlement: Settlement | null = null;
    try {
      const terms = [acceptedOf(this.paid), payloadOf(this.paid)] as const;
      const { findSettlement } = await import("./settlements.js");
      settlement = reader && (await findSettlement(reader.node, ...terms, this.confirmations()));
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
    }
    if (settlement?.isPaid) {
      this.transaction = settlement.transaction;
      const amount = settlement.amount ?? `up to ${signed.amount}`;
      throw failed("amount_mismatch", `the server reports that nothing was paid, but took ${amount}`, "amount");
    }
    const until = `the server may still take up to ${signed.amount} until ${expiryOf(signed)}`;
    this.ended = unchecked(
      settlement?.isExpired
        ? "nothing was paid, and nothing can be taken any more"
        : `nothing was paid so far; ${until}`,
      "nothing_paid",
    );
    throw this.ended;
  }

  private signedOrNull(): ReturnType<typeof signedPayment> | null {
    try {
      return signedPayment(acceptedOf(this.paid), payloadOf(this.paid));
    } catch (error) {
      if (error instanceof PaymentProblemError) return null;
      throw error;
    }
  }

  private compareAmounts(): void {
    const { amount: reported } = required(this.receipt, "no settlement");
    const { amount } = required(this.payment, "no payment");
    if (reported !== null && reported !== String(amount)) {
      const problem = `the server reports that ${reported.slice(0, 80)} was paid, but the payment is ${amount}`;
      throw failed("amount_mismatch", problem, "amount");
    }
  }

  private readStatement(): void {
    this.interaction = statementOf(this.profile, required(this.receipt, "there is no settlement").interaction);
  }

  private compareAgent(): void {
    const reader = required(this.reader, "the chain is unknown");
    this.registration = reader.trustedRegistration(this.profile.infoOf(declarationOf(this.paid)));
    const { agent } = this.registration;
    if (!this.isHistorical) this.latestUri = reader.uri(agent); // in one batch with the receipt
    this.latestUri?.catch(() => undefined);
    const { agentId, agentRegistry } = this.statement();
    const isOther = agentRegistry !== null && !isSameRegistry(agentRegistry, agent.registry);
    if (agentId !== agent.agent || isOther) {
      throw failed("agent_mismatch", `the statement is for agent ${agentId}, not for ${agentText(agent)}`);
    }
  }

  private compareNetworks(): void {
    const networks = new Set([this.statement().network, this.receipt?.network ?? "", networkOf(this.paid)]);
    if (networks.size > 1) {
      throw failed("network_mismatch", `the messages specify different networks: ${[...networks].sort().join(", ")}`);
    }
  }

  private compareTransactions(): void {
    const { taskRef } = this.statement();
    const receipt = required(this.receipt, "no settlement");
    if (taskRef !== `${receipt.network}:${receipt.transaction}`) {
      throw failed("task_ref_mismatch", "the statement and the settlement specify different transactions");
    }
  }

  private async compareHashes(): Promise<void> {
    const { taskRef, interactionHash, dataHash } = this.statement();
    const { request, response, isBodyLost } = this.paid;
    if (isBodyLost) throw unchecked("the server did not retain the body of this answer", "body_not_kept");
    if (response === null) throw failed("unsupported_body", "the response cannot be decoded");
    const hashes = await hashesOf(this.profile, taskRef, request, pathAndQuery(this.paid), response);
    const isData = hashes.data === null || dataHash === null ? hashes.data === dataHash : isEqual(hashes.data, dataHash);
    if (!isEqual(hashes.interaction, interactionHash) || !isData) {
      throw failed("hash_mismatch", "the hash does not match these bodies");
    }
  }

  /** Find the payment on chain. Wait for its block: the node may lag behind the server's node. */
  private async findPayment(reader: ChainReader | null): Promise<void> {
    const { taskRef } = this.transaction === null ? this.statement() : { taskRef: `::${this.transaction}` };
    const transaction = (taskRef.split(":")[2] ?? "").toLowerCase();
    if (!reader) throw unsupported(this.paid);
    const end = Date.now() + (this.isHistorical ? 0 : (this.chains.terms.receiptSeconds ?? 15) * 1000);
    while (this.payment === null) {
      try {
        const signed = signedPayment(acceptedOf(this.paid), payloadOf(this.paid));
        const onBlock = (block: bigint | null): void => this.readWallet(reader, block);
        this.payment = await findPayment(reader.node, signed, transaction, this.confirmations(), onBlock);
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
  private readWallet(reader: ChainReader, block: bigint | null): void {
    if (reader !== this.reader || this.registration === null || this.chains.terms.walletServices) return;
    if (block === null && this.isHistorical) return;
    this.walletThen = reader.wallet(this.registration.agent, block);
    this.walletThen.catch(() => undefined);
  }

  private async compareWallet(): Promise<void> {
    const payment = required(this.payment, "the payment was not found");
    const { network } = this.statement();
    const { agent } = this.agentRegistration();
    const reader = required(this.reader, "the chain is unknown");
    let expected = this.chains.terms.walletServices ? await this.walletService(network) : "";
    const isPaid = (): boolean => isSameAccount(network, expected, payment.payee);
    if (!expected && reader.chain === network) {
      expected = (await this.walletThen) ?? "";
      if (!isPaid()) expected = await reader.wallet(agent, payment.block); // the node may have read a later block
    }
    if (!isPaid()) throw failed("payment_address_mismatch", ADDRESS_MISMATCH);
  }

  private async walletService(chain: ChainId): Promise<string> {
    const reader = required(this.reader, "the chain is unknown");
    const uri = await reader.uri(this.agentRegistration().agent, await this.paymentBlock());
    const file = uri === this.uri ? this.file : await this.loaded(uri);
    const { serviceWallet } = await import("./wallets.js");
    return serviceWallet(required(file, "there is no registration file"), chain);
  }

  private async findFile(): Promise<void> {
    const { agent } = this.agentRegistration();
    const reader = required(this.reader, "the chain is unknown");
    const block = this.isHistorical ? await this.paymentBlock() : null;
    this.uri = await (block === null ? (this.latestUri ?? reader.uri(agent)) : reader.uri(agent, block));
    this.file = await this.loaded(this.uri);
    if (!isOfAgent(this.file, agent)) throw failed("agent_not_registered", "Agent not registered on this network");
  }

  private async loaded(uri: string, isFresh = false): Promise<RegistrationFile> {
    try {
      const document = await this.chains.load(uri, isFresh);
      if (document.integrity === null && !/^https:/i.test(document.uri)) {
        const problem = "nothing proves that the registration file is authentic: use https, ipfs or data";
        throw failed("file_not_authentic", problem);
      }
      const file = readRegistrationFile(document.content);
      if (document.integrity === null && this.isHistorical) {
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

  private findSigners(): void {
    const file = required(this.file, "there is no registration file");
    const count = file.signers?.length ?? 0;
    if (count > MAX_SIGNERS) throw failed("too_many", `${count} signers exceed the limit of ${MAX_SIGNERS}`, "signers");
    const second = this.isHistorical ? required(this.payment, "the payment was not found").time : Date.now() / 1000;
    this.signers = validSigners(file, second);
    if (!this.signers.length && !(this.chains.terms.allowWalletSigner && !count)) {
      throw failed("no_valid_signers", NO_VALID_SIGNERS);
    }
  }

  private async checkSignature(): Promise<void> {
    const interaction = this.statement();
    const { interactionHash, signature, publicKey } = interaction;
    if (!this.signers.length) return this.checkWalletSignature(interaction);
    this.signer = await findSigner(interactionHash, signature, this.signers);
    if (this.signer === null && /^\s*https:/i.test(this.uri)) {
      this.file = await this.loaded(this.uri, true); // its keys may be rotated
      this.findSigners();
      this.signer = await findSigner(interactionHash, signature, this.signers);
    }
    if (this.signer === null) throw failed("signature_failed", SIGNATURE_FAILED);
    if (publicKey !== null && !isKey(publicKey, this.signer)) {
      this.signer = null;
      const problem = "the statement specifies a different key, which did not create the signature";
      throw failed("key_mismatch", problem, "agentSignerPublicKey");
    }
  }

  /** Check the signature of the agent's wallet, if the file lists no keys and the terms accept that. */
  private async checkWalletSignature({ interactionHash, signature }: InteractionData): Promise<void> {
    const count = this.file?.signers?.length ?? 0;
    if (!this.chains.terms.allowWalletSigner || this.file === null || count) {
      throw unchecked(NO_VALID_SIGNERS, "no_valid_signers");
    }
    const { agent } = this.agentRegistration();
    const reader = required(this.reader, "the chain is unknown");
    const wallet = await reader.wallet(agent, this.isHistorical ? await this.paymentBlock() : null);
    if (!wallet || !(await isSignatureOfAccount(interactionHash, signature, reader.chain, wallet))) {
      throw failed("signature_failed", SIGNATURE_FAILED);
    }
    this.walletSigner = wallet;
  }

  private confirmations(): number {
    return this.chains.terms.confirmations ?? 1;
  }

  private statement(): InteractionData {
    return required(this.interaction, "there is no statement");
  }

  private agentRegistration(): AgentRegistration {
    return required(this.registration, "the agent is unknown");
  }

  /** Return the latest block on the identity's chain at the time of the payment. */
  private async paymentBlock(): Promise<bigint> {
    const payment = required(this.payment, "the payment was not found");
    const reader = required(this.reader, "the chain is unknown");
    return this.statement().network === reader.chain ? payment.block : reader.blockAt(payment.time);
  }
}
