"""Private tiers: scopes, messages, proofs and their verification, as in `BuyerTierProofs` and Semaphore v4.

A verifier counts each buyer once per scope and day. It first performs the cheap checks (of the policy, the day, the
tier and the nullifier), and then verifies the proof, with limited concurrency. If the same holder repeats the same
proof for the same request, the proof is not verified again.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from bilateral.buyers.credentials import DAY_SECONDS
from bilateral.buyers.errors import TierProofRefusedError
from bilateral.client import Client
from bilateral.core.contracts.buyer_terms import BuyerTier
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.identifiers import checksummed

DEPTH: Final = 20
"""The depth of the circuit and of all trees. A fixed depth hides the number of members."""

MOST_MEMBERS: Final = 1 << DEPTH  # the leaves of a tree of this depth

SCALAR_ORDER: Final = 21888242871839275222246405745257275088548364400416034343698204186575808495617
"""The order of BN254's scalar field. Roots, nullifiers and commitments are smaller than this."""

BASE_ORDER: Final = 21888242871839275222246405745257275088696311157297823662689037894645226208583
"""The order of BN254's base field. Point coordinates are smaller than this."""

IDENTITY_BYTES: Final = 5 * 32
"""The size in bytes of an identity's public key and signature: the coordinates of the key and of `R8`, and `S`."""

EMPTY_ROOT: Final = 1
"""The root to post for a tier without members. No tree has this root."""

TIERS: Final = (BuyerTier.VERIFIED, BuyerTier.TRUSTED, BuyerTier.PREMIUM)
"""The tiers that have a group, in the order of the roots."""

_PLACE: Final = "bilateral-tier"
_NO_REQUEST: Final = bytes(32)
_POINTS: Final = 8  # a Groth16 proof as Semaphore v4 packs it: two points of G1 and one of G2
_WORD: Final = 32  # bytes of a word of the contract ABI


def epoch_of(at: int | None = None) -> int:
    """Return the UTC day of a time, in days since the Unix epoch."""
    return (int(time.time()) if at is None else at) // DAY_SECONDS


def private_gate_scope(chain_id: int, gate: str, policy: bytes, epoch: int) -> bytes:
    """Return the proof scope for a contract that inherits `PrivateTierGated`, as its `getPrivateTierScope` does."""
    kinds = ["string", "uint256", "address", "bytes32", "uint64"]
    return keccak(encode(kinds, [_PLACE, chain_id, checksummed(gate), policy, epoch]))


def private_agent_scope(chain_id: int, identity_registry: str, agent_id: int, policy: bytes, epoch: int) -> bytes:
    """Return the proof scope for a seller that checks proofs itself, for example over HTTP."""
    kinds = ["string", "uint256", "address", "uint256", "bytes32", "uint64"]
    return keccak(encode(kinds, [_PLACE, chain_id, checksummed(identity_registry), agent_id, policy, epoch]))


def use_message(holder: str, request: bytes = _NO_REQUEST) -> bytes:
    """Return the message that binds a proof to the account that may use it."""
    return keccak(encode(["address", "bytes32"], [checksummed(holder), request]))


def signal_of(word: bytes) -> int:
    """Return the circuit's public signal for a scope or message, as Semaphore computes it."""
    return int.from_bytes(keccak(word)) >> 8


@dataclass(frozen=True)
class TierProof:
    """A private proof that one of a group's members has at least a given tier.

    Attributes:
        policy: The hash of the scoring policy's name.
        minimum: The minimum tier that the proof proves.
        epoch: The group's UTC day.
        nullifier: Identifies the member within one scope, without revealing who it is. Use it to count customers.
        points: The eight coordinates of the proof's points, in Semaphore's order.
    """

    policy: bytes
    minimum: BuyerTier
    epoch: int
    nullifier: int
    points: tuple[int, ...]

    @property
    def arguments(self) -> tuple[int, tuple[int, ...]]:
        """The proof in the form that the contracts expect."""
        return self.nullifier, self.points

    def to_json(self) -> dict[str, Any]:
        """Return the proof as JSON. Large numbers are strings."""
        return {
            "policy": "0x" + self.policy.hex(),
            "tier": self.minimum.value,
            "epoch": self.epoch,
            "merkleTreeDepth": DEPTH,
            "nullifier": str(self.nullifier),
            "points": [str(point) for point in self.points],
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> TierProof:
        """Read a proof, and reject numbers that are out of range."""
        if fields.get("merkleTreeDepth") != DEPTH:
            raise _malformed("merkleTreeDepth", f"must be {DEPTH}")
        epoch, points = fields.get("epoch"), fields.get("points")
        if not isinstance(epoch, int) or isinstance(epoch, bool) or not 0 <= epoch < 1 << 64:
            raise _malformed("epoch", "must be a whole number from 0 to 2^64 - 1")
        if not isinstance(points, list) or len(points) != _POINTS:
            raise _malformed("points", f"must be {_POINTS} numbers")
        try:
            policy = bytes.fromhex(fields["policy"].removeprefix("0x"))
            minimum = BuyerTier(fields["tier"])
        except (KeyError, AttributeError, ValueError, TypeError):
            raise _malformed("policy or tier", "is missing or not recognised") from None
        if len(policy) != _WORD or minimum not in TIERS:
            raise _malformed("policy or tier", "is invalid: policy has 32 bytes, and tier must be verified or higher")
        nullifier = _number(fields.get("nullifier"), "nullifier", SCALAR_ORDER)
        numbers = tuple(_number(point, f"points[{place}]", BASE_ORDER) for place, point in enumerate(points))
        return cls(policy, minimum, epoch, nullifier, numbers)


def _number(text: Any, field: str, order: int) -> int:
    """Read a decimal number below a field's order."""
    is_decimal = isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= len(str(order))
    if not is_decimal or int(text) >= order:
        raise _malformed(field, "must be a decimal string smaller than the order of its finite field")
    return int(text)


def _malformed(field: str, problem: str) -> TierProofRefusedError:
    return TierProofRefusedError("proof_malformed", f"{field} {problem}")


Verification = Callable[["TierProof", bytes, bytes], None]
"""A function that verifies a proof for a scope and message, raising `TierProofRefusedError` for an invalid one."""

_Claim = tuple["TierProof", bytes, bytes]

AT_ONCE: Final = 4
"""The maximum number of concurrent verifications. Each takes 0.1 s with a node, or 2 s of CPU time offline."""

_MOST_HOLDERS: Final = 1_000_000
"""The maximum number of nullifiers in memory, about 200 MB: two days' worth for a large seller."""

_MOST_CLAIMS: Final = 10_000
"""The maximum number of verified proofs to cache, about 15 MB. A proof that is no longer cached is verified again."""

DATABASE_VARIABLE: Final = "BILATERAL_DATABASE"
"""The environment variable that contains the URL of the database shared by a deployment's processes."""


class Nullifiers(Protocol):
    """Stores which holder used each nullifier. All of a seller's workers must share the same store."""

    def holder_of(self, nullifier: int) -> str | None:
        """Return the holder that used a nullifier, or None if it is unused."""

    def take(self, nullifier: int, epoch: int, holder: str) -> str:
        """Record a nullifier's holder, unless one is already recorded. Return the recorded holder."""


class MemoryNullifiers:
    """The nullifiers of the last two days, in the memory of one process. They are lost on restart."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders: dict[int, tuple[int, str]] = {}

    def holder_of(self, nullifier: int) -> str | None:
        """See `Nullifiers`."""
        entry = self._holders.get(nullifier)
        return None if entry is None else entry[1]

    def take(self, nullifier: int, epoch: int, holder: str) -> str:
        """See `Nullifiers`."""
        with self._lock:
            if len(self._holders) >= _MOST_HOLDERS:
                today = epoch_of()
                self._holders = {key: entry for key, entry in self._holders.items() if entry[0] >= today - 1}
                if len(self._holders) >= _MOST_HOLDERS:
                    raise TierProofRefusedError(
                        "verifier_busy", "this service has reached its daily limit of buyers: try again tomorrow"
                    )
            return self._holders.setdefault(nullifier, (epoch, holder))[1]


def shared_nullifiers() -> Nullifiers:
    """Return the nullifiers in the database `BILATERAL_DATABASE`, or in this process's memory if it is unset."""
    url = os.environ.get(DATABASE_VARIABLE)
    if not url:
        return MemoryNullifiers()
    from bilateral.buyers.private.stored_nullifiers import StoredNullifiers  # noqa: PLC0415  # needs an extra

    return StoredNullifiers(url)


class TierVerifier:
    """Verifies proofs for one seller.

    Args:
        verification: `on_chain(client)`, or `bilateral.buyers.private.offline.offline(…)`.
        policy: The hash of the scoring policy whose tiers are accepted.
        scope: A function that returns the seller's scope for a UTC day. See `private_agent_scope`.
        minimum: The lowest tier that is accepted.
        nullifiers: The store that records who used each proof; by default `shared_nullifiers()`.
        at_once: The maximum number of concurrent verifications.
    """

    def __init__(  # noqa: PLR0913  # settings
        self,
        verification: Verification,
        *,
        policy: bytes,
        scope: Callable[[int], bytes],
        minimum: BuyerTier,
        nullifiers: Nullifiers | None = None,
        at_once: int = AT_ONCE,
    ) -> None:
        self._verification = verification
        self._policy = policy
        self._scope = scope
        self._minimum = minimum
        self._nullifiers = shared_nullifiers() if nullifiers is None else nullifiers
        self._places = threading.BoundedSemaphore(at_once)
        self._claims: OrderedDict[_Claim, None] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, proof: TierProof, holder: str, *, request: bytes = bytes(32), at: int | None = None) -> int:
        """Check a proof, record its holder, and return its nullifier."""
        presented_by = checksummed(holder)
        self._require_use(proof, epoch_of(at))
        served = self._nullifiers.holder_of(proof.nullifier)
        if served in (None, presented_by):
            self._verify((proof, self._scope(proof.epoch), use_message(presented_by, request)))
            served = self._nullifiers.take(proof.nullifier, proof.epoch, presented_by)
        if served != presented_by:
            raise TierProofRefusedError(
                "tier_already_used", "the same buyer was already served today from a different account"
            )
        return proof.nullifier

    def _verify(self, claim: _Claim) -> None:
        """Verify a proof, unless exactly the same proof has already been verified."""
        with self._lock:
            if claim in self._claims:
                self._claims.move_to_end(claim)
                return
        if not self._places.acquire(blocking=False):
            raise TierProofRefusedError("verifier_busy", "too many proofs are being verified: try again in a second")
        try:
            self._verification(*claim)
        finally:
            self._places.release()
        with self._lock:
            self._claims[claim] = None
            while len(self._claims) > _MOST_CLAIMS:
                self._claims.popitem(last=False)

    def _require_use(self, proof: TierProof, today: int) -> None:
        if proof.policy != self._policy:
            problem = f"the proof uses policy 0x{proof.policy.hex()}, but this verifier requires 0x{self._policy.hex()}"
            raise TierProofRefusedError("policy_mismatch", problem)
        if proof.epoch not in (today - 1, today):
            raise TierProofRefusedError("epoch_over", f"the proof is for day {proof.epoch}, but today is day {today}")
        if proof.minimum.level < self._minimum.level:
            problem = f"the proof shows {proof.minimum.value}, but {self._minimum.value} or higher is required"
            raise TierProofRefusedError("tier_too_low", problem)


def on_chain(client: Client) -> Verification:
    """Return a function that verifies proofs with a read-only call to the proof contract, with a fixed gas limit."""

    def verify(proof: TierProof, scope: bytes, message: bytes) -> None:
        try:
            client.verify_tier(*proof.arguments, proof.policy, proof.minimum, proof.epoch, scope, message)
        except ContractRevertError as refusal:
            raise TierProofRefusedError(refusal.reason, str(refusal)) from None

    return verify
