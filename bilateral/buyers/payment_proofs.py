"""The payment that a message is about, and signatures of such messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eth_utils.hexadecimal import encode_hex

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import GlobalAgentId, checksummed
from bilateral.core.signatures import Domain, TypedMessage, signer_errors
from bilateral.core.text import quoted

if TYPE_CHECKING:
    from bilateral.client.inputs import TransactionSigner

_HASH_BYTES: Final = 32  # of keccak-256


@dataclass(frozen=True)
class PaymentProof:
    """The payment that a message is about (`proofOfPayment`).

    Attributes:
        buyer: The account that paid.
        seller: The global id of the paid agent, such as `eip155:8453:0x8004…#247`.
        payee: The account that was paid: the wallet that the agent had then.
        transaction_hash: The hash of the payment's transaction, 32 bytes.
        log_index: The number of the payment's log in its block. Needed if the transaction has several that fit.
    """

    buyer: str
    seller: str
    payee: str
    transaction_hash: bytes
    log_index: int | None = None

    def __post_init__(self) -> None:
        """Check the values, and bring the addresses into checksum form."""
        object.__setattr__(self, "buyer", checksummed(self.buyer))
        object.__setattr__(self, "payee", checksummed(self.payee))
        if len(self.transaction_hash) != _HASH_BYTES:
            raise InvalidArgumentError(f"a transaction's hash has 32 bytes, not {len(self.transaction_hash)}")
        domain_of_agent(self.seller)

    @property
    def domain(self) -> Domain:
        """The EIP-712 domain of messages about the payment."""
        return domain_of_agent(self.seller)

    @property
    def agent_id(self) -> int:
        """The number of the paid agent."""
        return int(GlobalAgentId.parse(self.seller).agent)

    @property
    def body(self) -> dict[str, Any]:
        """The field `proofOfPayment` of a message."""
        named = {} if self.log_index is None else {"logIndex": self.log_index}
        return {
            "txHash": encode_hex(self.transaction_hash),
            "fromAddress": self.buyer,
            "toAddress": self.payee,
            "chainId": self.domain.chain_id,
            **named,
        }


def domain_of_agent(seller: str) -> Domain:
    """Return the EIP-712 domain of messages about an agent.

    Args:
        seller: The global id of the agent.

    Raises:
        InvalidArgumentError: The agent is not on an EVM chain.
        MalformedIdentifierError: The agent is malformed.
    """
    registry = GlobalAgentId.parse(seller).registry
    if not registry.chain.is_evm:
        raise InvalidArgumentError(f"{quoted(seller)} is not an agent of an EVM chain")
    return Domain(registry.chain.evm_chain_id, registry.address)  # type: ignore[arg-type]  # it is checksummed


def signature_of(message: TypedMessage, domain: Domain, signer: TransactionSigner) -> str:
    """Sign a message, and return the signature as JSON has it: 0x and hexadecimal digits.

    Raises:
        SignerFailedError: The signer fails.
    """
    with signer_errors():
        return encode_hex(bytes(signer.sign_message(message.signable(domain)).signature))
