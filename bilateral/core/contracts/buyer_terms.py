"""Data types of the buyer reputation registry: tiers, payments, buyer states, tier credentials and roles.

These types match the structs and enums in the contracts. The client and the service share them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, ClassVar, Final, Self

from eth_utils.crypto import keccak

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import checksummed
from bilateral.core.signatures import TypedMessage
from bilateral.core.values.arguments import checked_class, is_whole

WHOLE_TRANSACTION: Final = 255
"""The `position` of a payment that stands for a whole transaction rather than one log."""

MAX_ATTESTED_AMOUNT: Final = 2**56 - 1
"""The maximum amount of an attested payment, in millionths of a dollar."""

MAX_CREDENTIAL_LIFETIME: Final = 86_400
"""The longest validity period of a tier credential, in seconds."""

_HASH_BYTES: Final = 32  # of keccak-256
_SIGNATURE_BYTES: Final = 65  # r, s and v


class BuyerTier(StrEnum):
    """The buyer tiers, lowest first (Buyer Reputation Protocol, section 3). Contracts identify a tier by `level`."""

    NEW = "new"
    VERIFIED = "verified"
    TRUSTED = "trusted"
    PREMIUM = "premium"

    @property
    def level(self) -> int:
        """The tier's number in the contracts, 0 to 3."""
        return list(BuyerTier).index(self)

    @property
    def discount_eligibility(self) -> int:
        """The highest discount for which the tier is eligible, in percent."""
        return {"new": 0, "verified": 5, "trusted": 10, "premium": 20}[self.value]

    @classmethod
    def of_level(cls, level: int) -> BuyerTier:
        """Return the tier with a given number in the contracts.

        Args:
            level: The number, 0 to 3.

        Raises:
            InvalidArgumentError: No tier has this number.
        """
        tiers = list(cls)
        if not is_whole(level) or not 0 <= level < len(tiers):
            raise InvalidArgumentError(f"tier {level!r} is out of range 0..{len(tiers) - 1}")
        return tiers[level]


class BuyerRole(IntEnum):
    """A role in the registry, numbered as in the contract."""

    ATTESTOR = 0
    """The role that records payments, reviews, disputes and feedback, and signs tier credentials."""
    ANCHORER = 1
    """The role that posts the Merkle roots of buyers' states."""


class NotCounted(IntEnum):
    """The reason why a settled payment was not counted, numbered as in the contract."""

    NOTHING_PAID = 0
    """The amount is zero."""
    NO_SELLER = 1
    """The paid account has no primary agent, so there is no seller."""
    PAID_OWN_AGENT = 2
    """The payer owns the paid agent, is an operator for its owner, or is approved for the agent."""
    PAID_OWN_WALLET = 3
    """The payer is the wallet of the paid agent."""


def policy_hash(name: str) -> bytes:
    """Return the hash that identifies a scoring policy in buyer states and tier credentials.

    Args:
        name: The name, such as `brp-1.0`.
    """
    return keccak(text=name)


@checked_class
@dataclass(frozen=True)
class AttestedPayment:
    """A payment that the attestor records.

    Attributes:
        buyer: The account that paid.
        amount: The amount, in millionths of a dollar, below 2^56.
        paid_at: The time of the payment, in Unix seconds.
        position: The number of logs that precede the payment's log in its transaction, or 255 for the whole
            transaction.
    """

    buyer: str
    amount: int
    paid_at: int
    position: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "buyer", checksummed(self.buyer))
        _require_bits(self, amount=56, paid_at=32, position=8)

    @property
    def word(self) -> int:
        """The payment packed into one 256-bit word, as the contract accepts and logs it."""
        return int(self.buyer, 16) << 96 | self.amount << 40 | self.paid_at << 8 | self.position

    @classmethod
    def from_word(cls, word: int) -> Self:
        """Unpack a payment from one word.

        Args:
            word: The word, as in the `PaymentAttested` event.
        """
        amount, paid_at = word >> 40 & MAX_ATTESTED_AMOUNT, word >> 8 & 0xFFFFFFFF
        return cls(f"0x{word >> 96:040x}", amount, paid_at, word & 0xFF)


@checked_class
@dataclass(frozen=True)
class PaymentRecord:
    """A payment and its transaction's hash, as recorded in a batch."""

    transaction_hash: bytes
    payment: AttestedPayment

    def __post_init__(self) -> None:
        _require_hash("transaction_hash", self.transaction_hash)


@checked_class
@dataclass(frozen=True)
class BuyerFeedback:
    """A seller's vote on a buyer.

    Attributes:
        buyer: The account that paid.
        seller: The account that was paid.
        score: The vote, 0 to 100.
    """

    buyer: str
    seller: str
    score: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "buyer", checksummed(self.buyer))
        object.__setattr__(self, "seller", checksummed(self.seller))


@checked_class
@dataclass(frozen=True)
class BuyerReviews:
    """A buyer's reviews and disputes.

    Attributes:
        buyer: The buyer's account.
        reviews: The number of reviews that the buyer gave.
        review_sum: The sum of the reviews' scores, each 0 to 100.
        disputes: The number of disputes.
    """

    buyer: str
    reviews: int
    review_sum: int
    disputes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "buyer", checksummed(self.buyer))
        _require_bits(self, reviews=16, review_sum=24, disputes=16)


@checked_class
@dataclass(frozen=True)
class SignedPayment:
    """A payment that its buyer signed under x402's `exact` scheme (EIP-3009, `TransferWithAuthorization`).

    Attributes:
        buyer: The account that pays: x402's `from`.
        payee: The account that is paid: x402's `payTo`.
        amount: The amount, in the token's smallest unit.
        valid_after: The last second, in Unix time, before the payment becomes valid.
        valid_before: The first second, in Unix time, at which the payment is no longer valid.
        nonce: The nonce, 32 bytes.
        signature: The signature. If it has 65 bytes, it is split into `v`, `r` and `s`, which every EIP-3009 token
            accepts.
    """

    buyer: str
    payee: str
    amount: int
    valid_after: int
    valid_before: int
    nonce: bytes
    signature: bytes
    token: str

    def __post_init__(self) -> None:
        for name in ("buyer", "payee", "token"):
            object.__setattr__(self, name, checksummed(getattr(self, name)))
        _require_bits(self, amount=256, valid_after=256, valid_before=256)
        _require_hash("nonce", self.nonce)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments for the contract's `settle` function."""
        terms = (self.buyer, self.payee, self.amount, self.valid_after, self.valid_before, self.nonce, self.token)
        if len(self.signature) != _SIGNATURE_BYTES:
            return (*terms, self.signature)
        recovery = self.signature[64] + 27 * (self.signature[64] < 27)  # noqa: PLR2004  # signers write 0 or 27
        return (*terms, recovery, self.signature[:32], self.signature[32:64])


@checked_class
@dataclass(frozen=True)
class BuyerState:
    """A buyer's payment and rating record, hashed into a leaf of a Merkle tree whose root is posted on chain.

    Attributes:
        buyer: The buyer's account.
        chain_id: The EIP-155 id of the chain on which the buyer's payments were made.
        payments: The number of payments.
        volume: The total amount of these payments, in millionths of a dollar.
        first_payment_at: The time of the first payment, in Unix seconds; 0 if there is none.
        last_payment_at: The time of the last payment, in Unix seconds; 0 if there is none.
        reviews: The number of reviews that the buyer gave.
        review_sum: The sum of the reviews' scores.
        feedback_sellers: The number of sellers that gave feedback on the buyer.
        feedback_sum: The sum of these sellers' votes, rounded half up. The score is computed from the sum before
            rounding.
        disputes: The number of disputes.
        policy: The hash of the scoring policy's name; see `policy_hash`.
        block_number: The last block, on the chain `chain_id`, that the state takes into account.
    """

    buyer: str
    chain_id: int
    score: int
    tier: BuyerTier
    payments: int
    volume: int
    first_payment_at: int
    last_payment_at: int
    reviews: int
    review_sum: int
    feedback_sellers: int
    feedback_sum: int
    disputes: int
    policy: bytes
    block_number: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "buyer", checksummed(self.buyer))
        _require_hash("policy", self.policy)
        numbers = {name: 256 for name in vars(self) if name not in ("buyer", "tier", "policy")}
        _require_bits(self, **numbers | {"score": 8})

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The state in the contract's form: the fields in order, with the tier as a number."""
        return tuple(value.level if isinstance(value, BuyerTier) else value for value in vars(self).values())


@checked_class
@dataclass(frozen=True)
class TierCredential(TypedMessage):
    """An EIP-712 message, signed by the attestor, that states the tier of the buyer who uses an address.

    Attributes:
        holder: The address that may use the credential, even one that has never sent a transaction.
        issued_at: The first second, in Unix time, at which the credential is valid.
        valid_until: The last second, in Unix time, at which the credential is valid; at most a day after `issued_at`.
        policy: The hash of the scoring policy's name; see `policy_hash`.
        tier: The tier of the buyer who uses the holder's address.
        scope: The id of the contract or seller that accepts the credential; see
            `bilateral.buyers.credentials.gate_scope` and `agent_scope`.
        pseudonym: The buyer's pseudonym in that scope on the UTC day of `issued_at`. It is the same for all of the
            buyer's addresses, so use it to count customers.
    """

    holder: str
    issued_at: int
    valid_until: int
    policy: bytes
    tier: BuyerTier
    scope: bytes
    pseudonym: bytes

    domain_name: ClassVar = "BuyerReputationRegistry"
    solidity_types: ClassVar = {
        "holder": "address",
        "issuedAt": "uint64",
        "validUntil": "uint64",
        "policy": "bytes32",
        "tier": "uint8",
        "scope": "bytes32",
        "pseudonym": "bytes32",
    }

    def __post_init__(self) -> None:
        object.__setattr__(self, "holder", checksummed(self.holder))
        for name in ("policy", "scope", "pseudonym"):
            _require_hash(name, getattr(self, name))
        _require_bits(self, issued_at=64, valid_until=64)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The credential in the contract's form: the fields in order, with the tier as a number."""
        terms = (self.holder, self.issued_at, self.valid_until, self.policy, self.tier.level)
        return (*terms, self.scope, self.pseudonym)


def _require_bits(terms: object, **fields: int) -> None:
    for name, bits in fields.items():
        value = getattr(terms, name)
        if not is_whole(value) or not 0 <= value < 1 << bits:
            raise InvalidArgumentError(f"{name} must be a whole number from 0 to 2^{bits} - 1, not {value!r}")


def _require_hash(name: str, value: object) -> None:
    if not isinstance(value, bytes) or len(value) != _HASH_BYTES:
        raise InvalidArgumentError(f"{name} must be {_HASH_BYTES} bytes")
