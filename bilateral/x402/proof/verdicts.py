"""A paid request as its client saw it, and the outcome of each check of its proof: passed, failed or unchecked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from bilateral.core.payments import PaymentKind
from bilateral.core.signatures.blind_messages import SignedEnvelope
from bilateral.documents import Signer
from bilateral.x402.proof.profiles import Profile, profile_among
from bilateral.x402.proof.types import AgentRegistration, InteractionData

NOT_REGISTERED_ON_PAYMENT_NETWORK = "Agent not registered on chosen payment network"
ADDRESS_MISMATCH = "Payment address mismatch - potential fraud. ABORTING."
NOT_REGISTERED = "Agent not registered on this network"
NO_VALID_SIGNERS = "No valid signers found"
SIGNATURE_FAILED = "Signature verification failed"

NOTHING_PAID = "nothing_paid"
"""The code that every check gets if the server charged nothing for the answer (scheme `upto`)."""

NOT_PROVABLE = "not_provable"
"""The code for a payment that an intermediary contract settled and for which the node returned no trace."""


class CheckName(StrEnum):
    """The checks of a proof, in the order in which they are performed."""

    SETTLEMENT = "settlement"
    """The server reports a successful settlement."""
    INTERACTION = "interaction"
    """The answer includes a well-formed statement."""
    AGENT = "agent"
    """The statement is from the declared agent, whose registry is trusted."""
    NETWORK = "network"
    """The statement, the settlement and the payment specify the same network."""
    TASK_REF = "task_ref"
    """The statement specifies the settlement's transaction."""
    INTERACTION_HASH = "interaction_hash"
    """The signed hash matches the bodies."""
    PAYMENT = "payment"
    """The transaction used the payment's authorization, and transferred the amount from the payer to `payTo`."""
    PAY_TO = "pay_to"
    """`payTo` was the agent's wallet at the payment's block."""
    REGISTRATION_FILE = "registration_file"
    """The agent's URI points to an authentic registration file that lists the agent."""
    SIGNERS = "signers"
    """The file lists a valid key."""
    SIGNATURE = "signature"
    """A valid key made the signature."""


class Outcome(StrEnum):
    """The outcome of a check. A check that could not be performed never counts as passed."""

    PASSED = "passed"
    FAILED = "failed"
    UNCHECKED = "unchecked"


@dataclass(frozen=True)
class EnvelopeCheck:
    """The check of a server's sealed rating (envelope). `Verification.is_verified` does not depend on this check.

    Attributes:
        outcome: `passed`; `failed` if the envelope is invalid; `unchecked` if it is missing or cannot be checked.
        problem: The reason why the check did not pass; empty if it passed.
        envelope: The envelope, to which you respond using `Client.seal_feedback`; None unless the check passed.
    """

    outcome: Outcome
    problem: str = ""
    envelope: SignedEnvelope | None = None


@dataclass(frozen=True)
class Check:
    """One check of a proof.

    Attributes:
        name: The check.
        problem: The reason why the check did not pass; empty if it passed.
        code: The machine-readable reason, such as `hash_mismatch`; empty if the check passed. See `docs/x402.md`.
        field: The path of the missing or invalid field, such as `interactionHash`; empty if no field is at fault.
    """

    name: CheckName
    outcome: Outcome
    problem: str = ""
    code: str = ""
    field: str = ""


@dataclass(frozen=True)
class Payment:
    """A payment that a transaction made, according to the transaction's receipt.

    Attributes:
        payer: The account that paid.
        payee: The account that was paid.
        asset: The token.
        amount: The amount in the token's smallest unit.
        block: The number of the payment's block.
        log_index: The index of the transfer's log in the block. Together with chain and transaction, it identifies the
            payment.
        time: The block's time.
        kind: The kind of payment; None if the payment is not on an EVM chain, or its kind was not determined.
        ceiling: The maximum amount that the payer signed (`upto`); None for other kinds.
    """

    payer: str
    payee: str
    asset: str
    amount: int
    block: int
    log_index: int
    time: datetime
    kind: PaymentKind | None = None
    ceiling: int | None = None


@dataclass(frozen=True)
class Verification:
    """The result of verifying a paid answer. It contains everything that is needed to give feedback.

    Attributes:
        checks: Each check with its outcome, in order.
        interaction: The server's statement; None if it is missing or malformed.
        registration: The agent that the server declared on the payment's network; None if its registry is not trusted.
        payment: The payment; None if it was not found.
        signer: The key that made the signature; None if none was found.
        is_historical: True if the keys and the file were checked as of the payment's block, not as of now.
        request_target: The request's method and URL. They are not signed in the profile `8004-reputation`.
        wallet_signer: The agent's wallet, if it signed instead of a listed key; None otherwise.
        profile: The key of the statement's profile.
        paid: The request with its payment and answer.
        now: The verification of the same answer as of now, if this is a historical verification; None otherwise.
        envelope: The check of the server's envelope for a blind rating, independent of `is_verified`; None if the
            server declares no blind ratings.
        remarks: Additional facts, such as the source of a wallet on a different chain, and accepted deviations from the
            format.
    """

    checks: tuple[Check, ...]
    interaction: InteractionData | None = None
    registration: AgentRegistration | None = None
    payment: Payment | None = None
    signer: Signer | None = None
    is_historical: bool = False
    request_target: str = ""
    wallet_signer: str | None = None
    profile: str = "8004-reputation"
    paid: PaidRequest | None = None
    now: Verification | None = None
    remarks: tuple[str, ...] = ()
    envelope: EnvelopeCheck | None = None

    @property
    def is_verified(self) -> bool:
        """True if every check passed."""
        return len(self.checks) == len(CheckName) and all(check.outcome is Outcome.PASSED for check in self.checks)

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems: one line per check that did not pass, or a single line if nothing was paid."""
        settlement = self.check(CheckName.SETTLEMENT)
        if settlement.code == NOTHING_PAID:
            return (settlement.problem,)
        if self.paid is not None and self.paid.unpaid_status is not None:
            return (f"nothing was paid: the server returned {self.paid.unpaid_status} without a settlement",)
        return tuple(f"{check.name}: {check.problem}" for check in self.checks if check.outcome is not Outcome.PASSED)

    def check(self, name: CheckName) -> Check:
        """Return a check by name. A check that was never performed is returned as unchecked."""
        missing = Check(name, Outcome.UNCHECKED, "the check did not run", "not_made")
        return next((check for check in self.checks if check.name is name), missing)

    def outcome(self, name: CheckName) -> Outcome:
        """Return the outcome of one check."""
        return self.check(name).outcome


@dataclass(frozen=True)
class PaidRequest:
    """A paid request as its client saw it.

    Attributes:
        payment: The payment payload that the client sent, as a JSON object.
        settlement: The decoded header `PAYMENT-RESPONSE`; None if it is missing or malformed.
        request: The request's body, decoded.
        response: The response's body, decoded; None if it cannot be decoded.
        target: The request's method and URL.
        is_body_lost: True if the server retained only the proof, not the body, of an answer that was fetched again.
        unpaid_status: The status of the answer, if it is an error without `PAYMENT-RESPONSE` after which the server
            does not settle the payment; otherwise None.
    """

    payment: dict[str, Any]
    settlement: dict[str, Any] | None
    request: bytes
    response: bytes | None
    target: str = ""
    is_body_lost: bool = False
    unpaid_status: int | None = None

    @property
    def accepted(self) -> dict[str, Any]:
        """The terms that the client accepted."""
        accepted = self.payment.get("accepted")
        return accepted if isinstance(accepted, dict) else {}

    @property
    def payload(self) -> dict[str, Any]:
        """The signed part of the payment, and its signature."""
        payload = self.payment.get("payload")
        return payload if isinstance(payload, dict) else {}

    @property
    def network(self) -> str:
        """The network on which the client paid (CAIP-2)."""
        return str(self.accepted.get("network"))

    @property
    def profile(self) -> Profile:
        """The profile of the server's statement, or of its declaration if there is no statement."""
        return profile_among((self.settlement or {}).get("extensions"), self.payment.get("extensions"))

    @property
    def declaration(self) -> Any:
        """The server's declaration, as the client echoed it."""
        extensions = self.payment.get("extensions")
        return extensions.get(self.profile.key) if isinstance(extensions, dict) else None

    @property
    def path_and_query(self) -> str:
        """The request's path and query, without the method and the host."""
        url = self.target.partition(" ")[2]
        try:
            parts = urlsplit(url)
        except ValueError:
            return url
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
