"""The places, messages and proofs of private tiers, as `BuyerTierProofs` and Semaphore v4 have them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from bilateral.buyers.credentials import DAY_SECONDS
from bilateral.buyers.errors import TierProofRefusedError
from bilateral.core.contracts.buyer_terms import BuyerTier
from bilateral.core.identifiers import checksummed
from bilateral.core.signatures import Domain

DEPTH: Final = 20
"""The depth of the circuit and of all trees. A proof does not show the number of members, and no path is longer."""

MOST_MEMBERS: Final = 1 << DEPTH  # the leaves of a tree of this depth

SCALAR_ORDER: Final = 21888242871839275222246405745257275088548364400416034343698204186575808495617
"""The order of the scalar field of BN254: roots, nullifiers and commitments are below it."""

BASE_ORDER: Final = 21888242871839275222246405745257275088696311157297823662689037894645226208583
"""The order of the base field of BN254: coordinates of points are below it."""

IDENTITY_BYTES: Final = 5 * 32
"""An identity's public key, and its signature: the coordinates of the key and of `R8`, and `S`."""

EMPTY_ROOT: Final = 1
"""The root that is posted for a tier without members. No tree has it."""

TIERS: Final = (BuyerTier.VERIFIED, BuyerTier.TRUSTED, BuyerTier.PREMIUM)
"""The tiers with a group, in the order of the roots."""

_PLACE: Final = "bilateral-tier"
_NO_REQUEST: Final = bytes(32)
_NOBODY: Final = "0x" + "00" * 20
_POINTS: Final = 8  # a Groth16 proof as Semaphore v4 packs it: two points of G1 and one of G2
_WORD: Final = 32  # bytes of a word of the contract ABI


def epoch_of(at: int | None = None) -> int:
    """Return the UTC day of a time, in days since the beginning of Unix time."""
    return (int(time.time()) if at is None else at) // DAY_SECONDS


def private_gate_scope(chain_id: int, gate: str, policy: bytes, epoch: int) -> bytes:
    """Return the scope of proofs for a contract that inherits `PrivateTierGated`: its `getPrivateTierScope`."""
    kinds = ["string", "uint256", "address", "bytes32", "uint64"]
    return keccak(encode(kinds, [_PLACE, chain_id, checksummed(gate), policy, epoch]))


def private_agent_scope(chain_id: int, identity_registry: str, agent_id: int, policy: bytes, epoch: int) -> bytes:
    """Return the scope of proofs for a seller that checks them itself, such as over HTTP."""
    kinds = ["string", "uint256", "address", "uint256", "bytes32", "uint64"]
    return keccak(encode(kinds, [_PLACE, chain_id, checksummed(identity_registry), agent_id, policy, epoch]))


def use_message(holder: str, request: bytes = _NO_REQUEST) -> bytes:
    """Return the message that binds a proof to the account that may use it."""
    return keccak(encode(["address", "bytes32"], [checksummed(holder), request]))


def member_domain(chain_id: int) -> Domain:
    """Return the EIP-712 domain of `TierMember`: no contract verifies it."""
    return Domain(chain_id, _NOBODY)  # type: ignore[arg-type]  # it is checksummed


def signal_of(word: bytes) -> int:
    """Return a scope or message as a public signal of the circuit, as Semaphore makes it."""
    return int.from_bytes(keccak(word)) >> 8


@dataclass(frozen=True)
class TierProof:
    """A private proof that some member has at least a tier.

    Attributes:
        policy: The hash of the scoring policy's name.
        minimum: The tier that it proves.
        epoch: The UTC day of the group.
        nullifier: The member in one scope. Count customers by it.
        points: The eight coordinates of the proof's points, in Semaphore's order.
    """

    policy: bytes
    minimum: BuyerTier
    epoch: int
    nullifier: int
    points: tuple[int, ...]

    @property
    def arguments(self) -> tuple[int, tuple[int, ...]]:
        """The proof as the contracts take it."""
        return self.nullifier, self.points

    def to_json(self) -> dict[str, Any]:
        """Return the proof as JSON. Large numbers are texts."""
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
        """Read a proof, and refuse numbers that no proof has."""
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
            raise _malformed("policy or tier", "is missing or unknown") from None
        if len(policy) != _WORD or minimum not in TIERS:
            raise _malformed("policy or tier", "must be 32 bytes, and a tier with a group")
        nullifier = _number(fields.get("nullifier"), "nullifier", SCALAR_ORDER)
        numbers = tuple(_number(point, f"points[{place}]", BASE_ORDER) for place, point in enumerate(points))
        return cls(policy, minimum, epoch, nullifier, numbers)


def _number(text: Any, field: str, order: int) -> int:
    """Read a decimal number below the order of a field."""
    is_decimal = isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= len(str(order))
    if not is_decimal or int(text) >= order:
        raise _malformed(field, "must be a decimal text below the order of its field")
    return int(text)


def _malformed(field: str, problem: str) -> TierProofRefusedError:
    return TierProofRefusedError("proof_malformed", f"{field} {problem}")
