"""The checks that are made after the answer has arrived. They are operations, which perform no I/O themselves.

An examination consists of two operations: one finds the payment on the payment's chain, and the other checks everything
else on the chain where the agent is registered. The chains can differ only if the verifier accepts wallets on other
chains.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, TypeAlias, TypeVar

from bilateral.core.errors import BilateralError, DocumentError, MalformedDocumentError
from bilateral.core.identifiers import ChainId, GlobalAgentId
from bilateral.core.payments import PaymentKind
from bilateral.core.text import printable
from bilateral.documents import Document, RegistrationFile, Signer
from bilateral.node.steps import Blocking, Operation, Pause
from bilateral.x402.proof import verdicts
from bilateral.x402.proof.blind import check_envelope
from bilateral.x402.proof.checking import MAX_SIGNERS, FileCache, Terms, authentic_file, service_wallet
from bilateral.x402.proof.errors import InvalidMessageError, PaymentRefusedError
from bilateral.x402.proof.fields import SLOW_BYTES
from bilateral.x402.proof.keys import find_signer, is_key, is_signature_of_account
from bilateral.x402.proof.payments import PaymentProblemError, expiry_of, signed_payment
from bilateral.x402.proof.readers import GuardedReader, RegistryReader, for_one_check, is_same_account
from bilateral.x402.proof.settlements import Settlement
from bilateral.x402.proof.types import AgentRegistration, InteractionData, SettlementReceipt
from bilateral.x402.proof.verdicts import Check, CheckName, EnvelopeCheck, Outcome, PaidRequest, Payment, Verification

T = TypeVar("T")

Steps: TypeAlias = list[tuple[CheckName, Callable[[], Operation[None] | None]]]
"""The names of checks, each with the function or operation that performs the check."""

POLL_SECONDS: Final = 0.5
"""Seconds between reads of a receipt: a quarter of two seconds, the shortest common block time."""


_UNCHECKABLE: Final = frozenset({"cannot_check", "not_provable_for_the_past", "unsupported_network"})
"""The codes of rejections for which the agent is not to blame."""


class _Stopped(Exception):  # noqa: N818  # the end of a check
    """A check did not pass."""

    def __init__(self, outcome: Outcome, problem: str, code: str, field: str = "") -> None:
        super().__init__(problem)
        self.outcome, self.problem, self.code, self.field = outcome, problem, code, field

    def check(self, name: CheckName) -> Check:
        """Return the check with this outcome, making untrusted text printable."""
        problem, field = (text if text.isprintable() else printable(text) for text in (self.problem, self.field))
        return Check(name, self.outcome, problem, self.code, field)


class Examination:
    """A verification in progress ("Post-Service Signature Verification"). A failed check does not stop it.

    If a node or a file server fails, some checks remain unchecked, but no error is raised.

    Args:
        reader: Reads the chain on which the agent is registered.
        files: The cache of registration files.
        paid: The paid request.
    """

    def __init__(self, reader: RegistryReader, files: FileCache, paid: PaidRequest, terms: Terms) -> None:
        self._reader, self._files, self._paid, self._terms = for_one_check(reader), files, paid, terms
        self._profile = paid.profile
        self._checks: dict[CheckName, Check] = {}
        self._receipt: SettlementReceipt | None = None
        self._interaction: InteractionData | None = None
        self._registration: AgentRegistration | None = None
        self._payment: Payment | None = None
        self._uri = ""
        self._file: RegistrationFile | None = None
        self._signers: list[Signer] = []
        self._signer: Signer | None = None
        self._wallet_signer: str | None = None
        self._envelope: EnvelopeCheck | None = None
        self._unpaid: _Stopped | None = None
        self._transaction: str | None = None

    def check_payment(self, reader: RegistryReader | None) -> Operation[None]:
        """Read the messages, and find the payment."""
        steps: Steps = [
            (CheckName.SETTLEMENT, lambda: self._read_settlement(reader)),
            (CheckName.INTERACTION, self._read_statement),
            (CheckName.AGENT, self._compare_agent),
            (CheckName.NETWORK, self._compare_networks),
            (CheckName.TASK_REF, self._compare_transactions),
            (CheckName.INTERACTION_HASH, self._compare_hashes),
            (CheckName.PAYMENT, lambda: self._find_payment(reader)),
        ]
        yield from self._make(steps)
        if self._payment is not None and self._checks[CheckName.SETTLEMENT].outcome is Outcome.PASSED:
            yield from self._make([(CheckName.SETTLEMENT, self._compare_amounts)])

    def check_agent(self) -> Operation[None]:
        """Check the wallet, the registration file and the signature."""
        steps: Steps = [(CheckName.PAY_TO, self._compare_wallet), (CheckName.REGISTRATION_FILE, self._find_file)]
        if self._terms.wallet_services:  # a wallet that the file names is known once the file is
            steps.reverse()
        steps += [(CheckName.SIGNERS, self._find_signers), (CheckName.SIGNATURE, self._check_signature)]
        yield from self._make(steps)
        if self._registration is not None:
            info = self._profile.info_of(self._paid.declaration)
            self._envelope = yield from check_envelope(self._reader, info, self._interaction, self._payment)

    @property
    def result(self) -> Verification:
        """The result of all checks."""
        return Verification(
            checks=tuple(self._checks[name] for name in CheckName),
            interaction=self._interaction,
            registration=self._registration,
            payment=self._payment,
            signer=self._signer,
            is_historical=self._terms.is_historical,
            request_target=self._paid.target,
            wallet_signer=self._wallet_signer,
            profile=self._profile.key,
            paid=self._paid,
            remarks=self._remarks,
            envelope=self._envelope,
        )

    @property
    def _remarks(self) -> tuple[str, ...]:
        remarks: tuple[str, ...] = ()
        if self._registration is not None and isinstance(self._reader, GuardedReader):
            remarks = self._reader.remarks(self._registration.agent)
        is_metered = self._payment is not None and self._payment.ceiling is not None
        if is_metered and self._receipt is not None and self._receipt.amount is None:
            remarks = (*remarks, "PAYMENT-RESPONSE does not state how much of the maximum amount was taken")
        return remarks if self._file is None else (*remarks, *self._file.problems())

    @property
    def variants(self) -> tuple[Examination, ...]:
        """This examination and, if it is historical, a copy that checks as of now. Call `check_payment` first."""
        if not self._terms.is_historical:
            return (self,)
        now = copy(self)
        now._terms = replace(self._terms, is_historical=False)  # noqa: SLF001  # its own class
        now._checks = dict(self._checks)  # noqa: SLF001
        return self, now

    def _make(self, steps: Steps) -> Operation[None]:
        for name, step in steps:
            self._checks[name] = Check(name, Outcome.PASSED)
            try:
                if self._unpaid is not None:
                    raise self._unpaid
                operation = step()
                if operation is not None:
                    yield from operation
            except (_Stopped, BilateralError) as error:
                self._checks[name] = _stopped(error).check(name)

    def _read_settlement(self, reader: RegistryReader | None) -> Operation[None]:
        self._receipt = SettlementReceipt.of(self._paid.settlement, self._profile.key)
        if not self._receipt.is_success:
            raise _failed("the server reports that settlement failed", "settlement_failed")
        if self._receipt.is_of_nothing:
            yield from self._check_unused(reader)

    def _check_unused(self, reader: RegistryReader | None) -> Operation[None]:
        """Check the server's report that nothing was paid. The server may still settle until the deadline."""
        signed, settlement, find = None, Settlement(None), getattr(reader, "find_settlement", None)
        with suppress(PaymentProblemError):
            signed = signed_payment(self._paid.accepted, self._paid.payload)
        if signed is None or signed.kind is not PaymentKind.PERMIT2_UPTO:
            raise _failed("transaction: the text is empty", "malformed", "transaction")
        if find is not None:
            with suppress(BilateralError):
                settlement = yield from find(self._paid.accepted, self._paid.payload)
        if settlement.is_paid:
            self._transaction = settlement.transaction
            amount = settlement.amount or f"up to {signed.amount}"
            raise _failed(f"the server reports that nothing was paid, but took {amount}", "amount_mismatch", "amount")
        problem = "nothing was paid, and nothing can be taken any more"
        if not settlement.is_expired:
            until = expiry_of(signed)
            problem = f"nothing was paid so far; the server may still take up to {signed.amount} until {until}"
        self._unpaid = _unchecked(problem, verdicts.NOTHING_PAID)
        raise self._unpaid

    def _compare_amounts(self) -> None:
        reported, payment = _required(self._receipt, "no settlement").amount, _required(self._payment, "no payment")
        if reported is not None and reported != str(payment.amount):
            problem = f"the server reports that {reported[:80]} was paid, but the payment is {payment.amount}"
            raise _failed(problem, "amount_mismatch", "amount")

    def _read_statement(self) -> None:
        receipt = _required(self._receipt, "there is no settlement")
        self._interaction = self._profile.statement_of(receipt.interaction)

    def _compare_agent(self) -> None:
        self._registration = self._reader.trusted_registration(self._profile.info_of(self._paid.declaration))
        interaction, agent = self._statement(), self._registration.agent
        if interaction.agent_id != agent.agent or interaction.agent_registry not in {None, agent.registry}:
            raise _failed(f"the statement is for agent {interaction.agent_id}, not for {agent}", "agent_mismatch")

    def _compare_networks(self) -> None:
        networks = {str(self._statement().network), self._receipt.network if self._receipt else "", self._paid.network}
        if len(networks) > 1:
            raise _failed(f"the messages specify different networks: {', '.join(sorted(networks))}", "network_mismatch")

    def _compare_transactions(self) -> None:
        interaction, receipt = self._statement(), _required(self._receipt, "no settlement")
        if interaction.task_ref != f"{receipt.network}:{receipt.transaction}":
            raise _failed("the statement and the settlement specify different transactions", "task_ref_mismatch")

    def _compare_hashes(self) -> Operation[None]:
        interaction, paid = self._statement(), self._paid
        if paid.is_body_lost:
            raise _unchecked("the server did not retain the body of this response", "body_not_kept")
        if paid.response is None:
            raise _failed("the response cannot be decoded", "unsupported_body")
        parts = interaction.task_ref, paid.request, paid.path_and_query, paid.response
        if len(paid.request) + len(paid.response) < SLOW_BYTES:
            hashes = self._profile.hashes(*parts)
        else:
            hashes = yield Blocking(lambda: self._profile.hashes(*parts))
        if hashes != (interaction.interaction_hash, interaction.data_hash):
            raise _failed("the hash does not match these bodies", "hash_mismatch")

    def _find_payment(self, reader: RegistryReader | None) -> Operation[None]:
        """Find the payment on chain. Wait for its block, because this node may lag behind the server's node."""
        transaction = self._transaction or self._statement().payment.transaction
        if reader is None:
            raise _unchecked(f"{self._paid.network[:80]} cannot be checked", "unsupported_network")
        end = time.monotonic() + (0 if self._terms.is_historical else self._terms.receipt_seconds)
        terms = self._paid.accepted, self._paid.payload, transaction, self._terms.confirmations
        while self._payment is None:
            try:
                self._payment = yield from reader.find_payment(*terms)
            except PaymentProblemError as error:
                left = end - time.monotonic()
                if error.is_final or left <= 0:
                    stopped = _unchecked if error.code == verdicts.NOT_PROVABLE else _failed
                    raise stopped(str(error), error.code) from None
                yield Pause(min(POLL_SECONDS, left))

    def _compare_wallet(self) -> Operation[None]:
        payment, chain = _required(self._payment, "the payment was not found"), self._statement().network
        agent = self._agent()
        expected = ""
        if self._terms.wallet_services:
            expected = yield from self._wallet_service(chain)
        if not expected and self._reader.chain == chain:
            expected = yield from self._reader.wallet(agent, payment.block)
        if not is_same_account(chain, expected, payment.payee):
            raise _failed(verdicts.ADDRESS_MISMATCH, "payment_address_mismatch")

    def _wallet_service(self, chain: ChainId) -> Operation[str]:
        agent = self._agent()
        block = yield from self._payment_block()
        uri = yield from self._reader.uri(agent, block)
        file = self._file if uri == self._uri else (yield from self._loaded(uri))
        return service_wallet(_required(file, "there is no registration file"), chain)

    def _find_file(self) -> Operation[None]:
        agent = self._agent()
        block = (yield from self._payment_block()) if self._terms.is_historical else None
        self._uri = yield from self._reader.uri(agent, block)
        self._file = yield from self._loaded(self._uri)
        if self._file.registration_of(agent) is None:
            raise _failed(verdicts.NOT_REGISTERED, "agent_not_registered")

    def _loaded(self, uri: str, *, is_fresh: bool = False) -> Operation[RegistrationFile]:
        try:
            document: Document = yield Blocking(lambda: self._files.load(uri, is_fresh=is_fresh))
            file = authentic_file(document)
        except MalformedDocumentError as error:
            raise _failed(f"the registration file is malformed: {error}", "malformed_file") from None
        except DocumentError as error:
            raise _unchecked(f"the registration file cannot be loaded: {error}", "file_not_loaded") from None
        if file is None:
            problem = "nothing proves that the registration file is authentic: use https, ipfs or data"
            raise _failed(problem, "file_not_authentic")
        if document.integrity is None and self._terms.is_historical:
            raise _unchecked("the past content of a file at an https URI cannot be proven", "not_provable_for_the_past")
        return file

    def _find_signers(self) -> None:
        file = _required(self._file, "there is no registration file")
        if (count := len(file.signers or ())) > MAX_SIGNERS:
            raise _failed(f"{count} signers exceed the limit of {MAX_SIGNERS}", "too_many", "signers")
        as_of = datetime.now(UTC)
        if self._terms.is_historical:
            as_of = _required(self._payment, "the payment was not found").time
        self._signers = file.valid_signers(as_of)
        if not self._signers and not (self._terms.allow_wallet_signer and not file.signers):
            raise _failed(verdicts.NO_VALID_SIGNERS, "no_valid_signers")

    def _check_signature(self) -> Operation[None]:
        interaction = self._statement()
        if not self._signers:
            yield from self._check_wallet_signature(interaction)
            return
        self._signer = find_signer(interaction.interaction_hash, interaction.signature, self._signers)
        if self._signer is None and self._uri.strip().lower().startswith("https:"):  # its keys may be rotated
            self._file = yield from self._loaded(self._uri, is_fresh=True)
            self._find_signers()
            self._signer = find_signer(interaction.interaction_hash, interaction.signature, self._signers)
        if self._signer is None:
            raise _failed(verdicts.SIGNATURE_FAILED, "signature_failed")
        if interaction.public_key is not None and not is_key(interaction.public_key, self._signer):
            self._signer = None
            raise _failed(
                "the statement specifies a different key, which did not create the signature",
                "key_mismatch",
                "agentSignerPublicKey",
            )

    def _check_wallet_signature(self, interaction: InteractionData) -> Operation[None]:
        """Check the wallet's signature, if the file lists no keys and the verifier accepts wallet signatures."""
        if not self._terms.allow_wallet_signer or self._file is None or self._file.signers:
            raise _unchecked(verdicts.NO_VALID_SIGNERS, "no_valid_signers")
        agent = self._agent()
        block = (yield from self._payment_block()) if self._terms.is_historical else None
        wallet = yield from self._reader.wallet(agent, block)
        if not is_signature_of_account(interaction.interaction_hash, interaction.signature, self._reader.chain, wallet):
            raise _failed(verdicts.SIGNATURE_FAILED, "signature_failed")
        self._wallet_signer = wallet

    def _statement(self) -> InteractionData:
        return _required(self._interaction, "there is no statement")

    def _agent(self) -> GlobalAgentId:
        return _required(self._registration, "the agent is unknown").agent

    def _payment_block(self) -> Operation[int]:
        """Return the last block at or before the payment's time, on the chain where the agent is registered."""
        payment = _required(self._payment, "the payment was not found")
        if self._statement().network == self._reader.chain:
            return payment.block
        return (yield from self._reader.block_at(payment.time))


def joined(variants: Sequence[Examination]) -> Verification:
    """Return the first examination's result, with the second examination's result (if any) as `now`."""
    first, *later = [variant.result for variant in variants]
    return replace(first, now=later[0]) if later else first


def _failed(problem: str, code: str, field: str = "") -> _Stopped:
    return _Stopped(Outcome.FAILED, problem, code, field)


def _unchecked(problem: str, code: str = "cannot_check") -> _Stopped:
    return _Stopped(Outcome.UNCHECKED, problem, code)


def _stopped(error: _Stopped | BilateralError) -> _Stopped:
    """Return the outcome of a check that ended with an error: failed, or unchecked if the agent was not at fault."""
    if isinstance(error, _Stopped):
        return error
    if isinstance(error, PaymentRefusedError):
        return (_unchecked if error.code in _UNCHECKABLE else _failed)(str(error), error.code)
    if isinstance(error, InvalidMessageError):
        return _failed(str(error), error.fault, error.field)
    return _unchecked(f"{type(error).__name__}: {error}")


def _required(value: T | None, problem: str) -> T:
    if value is None:
        raise _unchecked(problem, "earlier_check_failed")
    return value
