"""The checks before a payment and after the answer, as operations: they do no input or output themselves."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from bilateral.client.operations.registries import call
from bilateral.contracts import Registry
from bilateral.errors import BilateralError, DocumentError, MalformedDocumentError
from bilateral.node.steps import Blocking, together
from bilateral.x402 import verdicts
from bilateral.x402.errors import InvalidMessageError, PaymentRefusedError
from bilateral.x402.interactions import interaction_hash
from bilateral.x402.keys import find_signer
from bilateral.x402.payments import ExpectedPayment, PaymentProblemError, find_payment
from bilateral.x402.standing import deployment_of
from bilateral.x402.types import REPUTATION_8004, InteractionData, ReputationInfo, SettlementReceipt
from bilateral.x402.verdicts import Check, CheckName, Outcome, Payment, Verification

if TYPE_CHECKING:
    from bilateral.client.state import ClientState
    from bilateral.contracts import Deployment
    from bilateral.documents import Document, Loader, RegistrationFile, Signer
    from bilateral.node.steps import Operation
    from bilateral.x402.types import AgentRegistration

ZERO: Final = "0x" + "00" * 20
MAX_SIGNERS: Final = 64
FRESH_SECONDS: Final = 300.0
MAX_CACHED: Final = 256


@dataclass
class FileCache:
    """Registration files by URI: those whose URI commits to them for ever, others for five minutes.

    Attributes:
        loader: Loads the files.
    """

    loader: Loader
    _files: OrderedDict[str, tuple[Document, float]] = field(default_factory=OrderedDict)

    def load(self, uri: str, *, is_fresh: bool = False) -> Document:
        """Return a file.

        Args:
            uri: Its URI.
            is_fresh: True to load a file again whose URI does not commit to it.

        Raises:
            DocumentError: It cannot be loaded.
        """
        known = self._files.get(uri)
        if known and (known[0].integrity or (not is_fresh and known[1] > time.monotonic())):
            return known[0]
        found = self.loader.load(uri)
        self._files[uri] = found, time.monotonic() + FRESH_SECONDS
        while len(self._files) > MAX_CACHED:
            self._files.popitem(last=False)
        return found


@dataclass(frozen=True)
class PaidRequest:
    """A paid request as its client saw it.

    Attributes:
        payment: The payment payload that the client sent, as a JSON object.
        settlement: `PAYMENT-RESPONSE`, decoded; None if it is missing or malformed.
        request: The request's body, decoded.
        response: The response's body, decoded; None if it cannot be decoded.
        target: Method and URL.
    """

    payment: dict[str, Any]
    settlement: dict[str, Any] | None
    request: bytes
    response: bytes | None
    target: str = ""

    @property
    def accepted(self) -> dict[str, Any]:
        """The terms that the client accepted."""
        accepted = self.payment.get("accepted")
        return accepted if isinstance(accepted, dict) else {}


@dataclass(frozen=True)
class Terms:
    """The terms by which a proof is judged.

    Attributes:
        confirmations: The number of blocks that must hold or follow the payment.
        is_historical: True to judge keys and file at the payment's block.
    """

    confirmations: int = 1
    is_historical: bool = False


def known_registration(deployment: Deployment, info: ReputationInfo) -> AgentRegistration:
    """Return the server's registration in the registries of a deployment, which serve as the allow-list.

    Raises:
        PaymentRefusedError: The server has none on this chain, or one in other registries.
    """
    chain = deployment.agent_registry.chain
    there = [each for each in info.registrations if each.chain == chain]
    if not there:
        raise PaymentRefusedError("agent_not_registered", verdicts.NOT_REGISTERED_ON_PAYMENT_NETWORK)
    for each in there:
        if (each.agent.registry, each.reputation_registry.address) == (
            deployment.agent_registry,
            deployment.reputation,
        ):
            return each
    named = f"{there[0].agent.registry} and {there[0].reputation_registry}"
    raise PaymentRefusedError("unknown_registry", f"the registries {named} are not on the allow-list")


def check_before_payment(state: ClientState, info: ReputationInfo, pay_to: str) -> Operation[AgentRegistration]:
    """Check a server's agent before anything is signed ("Pre-Payment Verification").

    Raises:
        PaymentRefusedError: The agent is not registered, its registries are not on the allow-list or do not belong
            together, or `payTo` is not the agent's wallet.
    """
    registration = known_registration(deployment_of(state), info)
    token = registration.agent.agent_id.token_id
    (identity,), (wallet,) = yield from together(
        [
            call(state, Registry.REPUTATION, "getIdentityRegistry"),
            call(state, Registry.IDENTITY, "getAgentWallet", token),
        ]
    )
    if identity != registration.agent.registry.address:
        problem = f"{registration.reputation_registry} belongs to another identity registry, {identity}"
        raise PaymentRefusedError("registry_mismatch", problem)
    if wallet == ZERO or wallet.lower() != pay_to.lower():
        raise PaymentRefusedError("payment_address_mismatch", verdicts.ADDRESS_MISMATCH)
    return registration


class _Stopped(Exception):  # noqa: N818  # the end of a check
    """A check ends without having passed."""

    def __init__(self, outcome: Outcome, problem: str) -> None:
        super().__init__(problem)
        self.outcome, self.problem = outcome, problem


@dataclass
class _Run:
    """One verification on its way."""

    state: ClientState
    files: FileCache
    paid: PaidRequest
    terms: Terms
    checks: list[Check] = field(default_factory=list)
    receipt: SettlementReceipt | None = None
    interaction: InteractionData | None = None
    registration: AgentRegistration | None = None
    payment: Payment | None = None
    uri: str = ""
    file: RegistrationFile | None = None
    signers: list[Signer] = field(default_factory=list)
    signer: Signer | None = None

    def settlement(self) -> Operation[None]:
        """Read `PAYMENT-RESPONSE`."""
        try:
            self.receipt = SettlementReceipt.of(self.paid.settlement)
        except InvalidMessageError as error:
            raise _failed(str(error)) from None
        if not self.receipt.is_success:
            raise _failed("the server reports that settlement failed")
        yield from ()

    def statement(self) -> Operation[None]:
        """Read the signed statement."""
        receipt = _needed(self.receipt, "there is no settlement")
        try:
            self.interaction = InteractionData.of(receipt.interaction)
        except InvalidMessageError as error:
            raise _failed(str(error)) from None
        yield from ()

    def agent(self) -> Operation[None]:
        """Compare the statement's agent with the declared one."""
        extensions = self.paid.payment.get("extensions")
        declaration = extensions.get(REPUTATION_8004) if isinstance(extensions, dict) else None
        try:
            self.registration = known_registration(deployment_of(self.state), ReputationInfo.of(declaration))
        except (InvalidMessageError, PaymentRefusedError) as error:
            raise _failed(str(error)) from None
        found, agent = _needed(self.interaction, "there is no statement"), self.registration.agent
        if found.agent_id != agent.agent or found.agent_registry not in {None, agent.registry}:
            raise _failed(f"the statement is of agent {found.agent_id}, not of {agent}")
        yield from ()

    def network(self) -> Operation[None]:
        """Compare the networks."""
        found, receipt = _needed(self.interaction, "there is no statement"), self.receipt
        named = {str(found.network), receipt.network if receipt else "", str(self.paid.accepted.get("network"))}
        if len(named) > 1:
            raise _failed(f"different networks are named: {', '.join(sorted(named))}")
        yield from ()

    def task_ref(self) -> Operation[None]:
        """Compare the transactions."""
        found, receipt = _needed(self.interaction, "there is no statement"), _needed(self.receipt, "no settlement")
        if found.task_ref != f"{receipt.network}:{receipt.transaction}":
            raise _failed("the statement names another transaction than the settlement")
        yield from ()

    def interaction_hash(self) -> Operation[None]:
        """Compute the hash again from this client's own bodies."""
        found, response = _needed(self.interaction, "there is no statement"), self.paid.response
        if response is None:
            raise _failed("the response cannot be decoded")
        if interaction_hash(found.task_ref, self.paid.request, response) != found.interaction_hash:
            raise _failed("the hash is not that of these bodies")
        yield from ()

    def pay(self) -> Operation[None]:
        """Find the payment in the chain."""
        found = _needed(self.interaction, "there is no statement")
        payload = self.paid.payment.get("payload")
        try:
            expected = ExpectedPayment.of(
                self.paid.accepted, payload if isinstance(payload, dict) else {}, found.payment.transaction
            )
            self.payment = yield from find_payment(expected, self.terms.confirmations)
        except PaymentProblemError as error:
            raise _failed(str(error)) from None

    def pay_to(self) -> Operation[None]:
        """Compare the payee with the agent's wallet at the payment's block."""
        payment = _needed(self.payment, "the payment was not found")
        token = _needed(self.registration, "the agent is not known").agent.agent_id.token_id
        block = hex(payment.block)
        (wallet,) = yield from call(self.state, Registry.IDENTITY, "getAgentWallet", token, block=block)
        if wallet != payment.payee:
            raise _failed(verdicts.ADDRESS_MISMATCH)

    def registration_file(self) -> Operation[None]:
        """Load the registration file behind the agent's URI."""
        agent = _needed(self.registration, "the agent is not known").agent
        block = "latest"
        if self.terms.is_historical:
            block = hex(_needed(self.payment, "the payment was not found").block)
        (uri,) = yield from call(self.state, Registry.IDENTITY, "tokenURI", agent.agent_id.token_id, block=block)
        self.uri = str(uri)
        yield from self._load()
        if self.file is None or self.file.registration_of(agent) is None:
            raise _failed(verdicts.NOT_REGISTERED)

    def _load(self, *, is_fresh: bool = False) -> Operation[None]:
        """Load and judge a registration file."""
        uri = self.uri
        is_https = uri.lower().startswith("https:")
        try:
            document: Document = yield Blocking(lambda: self.files.load(uri, is_fresh=is_fresh))
            if document.integrity is None and not is_https:
                raise _failed("nothing proves that the registration file is authentic: use https, ipfs or data")
            if document.integrity is None and self.terms.is_historical:
                raise _Stopped(Outcome.UNCHECKED, "the file of an https URI is not provable for the past")
            self.file = document.registration()
        except MalformedDocumentError as error:
            raise _failed(f"the registration file is malformed: {error}") from None
        except DocumentError as error:
            raise _Stopped(Outcome.UNCHECKED, f"the registration file cannot be loaded: {error}") from None

    def find_signers(self) -> Operation[None]:
        """Select the keys that are valid."""
        file = _needed(self.file, "there is no registration file")
        if len(file.signers or ()) > MAX_SIGNERS:
            raise _failed(f"{len(file.signers or ())} signers exceed the limit of {MAX_SIGNERS}")
        moment = datetime.now(UTC)
        if self.terms.is_historical:
            moment = _needed(self.payment, "the payment was not found").time
        self.signers = file.valid_signers(moment)
        if not self.signers:
            raise _failed(verdicts.NO_VALID_SIGNERS)
        yield from ()

    def signature(self) -> Operation[None]:
        """Find the key that made the signature."""
        found = _needed(self.interaction, "there is no statement")
        if not self.signers:
            raise _Stopped(Outcome.UNCHECKED, verdicts.NO_VALID_SIGNERS)
        self.signer = find_signer(found.interaction_hash, found.signature, self.signers)
        if self.signer is None and self.uri.lower().startswith("https:"):  # the keys may just have been rotated
            yield from self._load(is_fresh=True)
            yield from self.find_signers()
            self.signer = find_signer(found.interaction_hash, found.signature, self.signers)
        if self.signer is None:
            raise _failed(verdicts.SIGNATURE_FAILED)


_STEPS: Final = {
    CheckName.SETTLEMENT: _Run.settlement,
    CheckName.INTERACTION: _Run.statement,
    CheckName.AGENT: _Run.agent,
    CheckName.NETWORK: _Run.network,
    CheckName.TASK_REF: _Run.task_ref,
    CheckName.INTERACTION_HASH: _Run.interaction_hash,
    CheckName.PAYMENT: _Run.pay,
    CheckName.PAY_TO: _Run.pay_to,
    CheckName.REGISTRATION_FILE: _Run.registration_file,
    CheckName.SIGNERS: _Run.find_signers,
    CheckName.SIGNATURE: _Run.signature,
}


def verify(state: ClientState, files: FileCache, paid: PaidRequest, terms: Terms) -> Operation[Verification]:
    """Check a paid answer ("Post-Service Signature Verification"). Every check is made, whatever the others say.

    A node or a file server that fails leaves checks undone. It raises nothing.
    """
    run = _Run(state, files, paid, terms)
    for name, step in _STEPS.items():
        try:
            yield from step(run)
        except _Stopped as stopped:
            run.checks.append(Check(name, stopped.outcome, stopped.problem))
        except BilateralError as error:
            run.checks.append(Check(name, Outcome.UNCHECKED, f"{type(error).__name__}: {error}"))
        else:
            run.checks.append(Check(name, Outcome.PASSED))
    return Verification(
        checks=tuple(run.checks),
        interaction=run.interaction,
        registration=run.registration,
        payment=run.payment,
        signer=run.signer,
        is_historical=terms.is_historical,
        request_target=paid.target,
    )


def _failed(problem: str) -> _Stopped:
    """Return the end of a check that failed."""
    return _Stopped(Outcome.FAILED, problem)


def _needed(value: Any, problem: str) -> Any:
    """Return the result of an earlier check.

    Raises:
        _Stopped: That check did not give it.
    """
    if value is None:
        raise _Stopped(Outcome.UNCHECKED, problem)
    return value
