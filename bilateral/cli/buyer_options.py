"""Options that several commands of `bilateral buyer` share."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

from bilateral.cli.help import option, optional
from bilateral.core.errors import InvalidArgumentError, MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

    from bilateral.buyers.remote import PaymentProof

Service = Annotated[str, option("URL", "The service for buyers.", "--service", envvar="BILATERAL_BUYER_SERVICE")]
Agent = Annotated[str, option("AGENT", "The agent, as eip155:8453:0x…#247.", "--seller")]
Note = Annotated[str, option("TEXT", "A remark, which may be published.", "--note")]
Gate = Annotated[
    str | None, option("ADDRESS", "The contract where it is used, which inherits BuyerTierGated.", "--gate")
]


def buyers_module(name: str) -> ModuleType:
    """Return a module of `bilateral.buyers` that hashes messages."""
    try:
        return import_module(f"bilateral.buyers.{name}")
    except ModuleNotFoundError as missing:
        raise MissingExtraError("x402", [str(missing.name)]) from None


@dataclass(frozen=True, kw_only=True)
class PaymentOptions:
    """A payment that a message is about, and the service that gets the message."""

    transaction: Annotated[str, option("HASH", "The transaction of the payment.")]
    seller: Agent
    service: Service
    payee: str | None = optional("ADDRESS", "The wallet that was paid; the signer if left out.")
    log_index: int | None = optional(None, "The payment's log, if the transaction has several that fit.", min=0)

    def payment(self, buyer: str, signer: str) -> PaymentProof:
        """Return the payment."""
        from bilateral.buyers.remote import PaymentProof  # noqa: PLC0415  # slow to import
        from bilateral.cli.terms import bytes_of  # noqa: PLC0415

        transaction = bytes_of(self.transaction, "--transaction")
        return PaymentProof(buyer, self.seller, self.payee or signer, transaction, self.log_index)


@dataclass(frozen=True, kw_only=True)
class PlaceOptions:
    """The place where a credential is used."""

    gate: Gate = None
    scope: str | None = optional("WORD", "The place of its use, 32 bytes, instead of --gate.")

    def require(self) -> None:
        """Check that one place is named."""
        if (self.gate is None) is (self.scope is None):
            raise InvalidArgumentError("name the place where the credential is used, by --gate or by --scope")

    def on(self, chain_id: int) -> bytes:
        """Return the place as 32 bytes."""
        from bilateral.buyers.credentials import gate_scope  # noqa: PLC0415  # slow to import
        from bilateral.cli.terms import bytes_of  # noqa: PLC0415

        return bytes_of(self.scope, "--scope") if self.gate is None else gate_scope(chain_id, self.gate)
