"""Verify private proofs of tiers off chain, and count each buyer once for each place and day.

Cheap checks come first: the policy, the day, the tier, and the nullifier. Then one verification, of which a limited
number runs at once. The very same proof by the same holder for the same request needs no second one.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

from bilateral.buyers.errors import TierProofRefusedError
from bilateral.buyers.private.terms import TierProof, epoch_of, use_message
from bilateral.client import Client
from bilateral.core.contracts.buyer_terms import BuyerTier
from bilateral.core.contracts.reverts import ContractRevertError
from bilateral.core.identifiers import checksummed

Verification = Callable[["TierProof", bytes, bytes], None]
"""Verifies a proof for a scope and a message. It raises `TierProofRefusedError` if the proof is not valid."""

_Claim = tuple["TierProof", bytes, bytes]

AT_ONCE: Final = 4
"""The verifications at once. One takes 0.1 seconds by a node, and 2 seconds of a processor offline."""

_MOST_HOLDERS: Final = 1_000_000
"""The nullifiers that are kept in memory: those of two days of a large seller, some 200 MB."""

_MOST_CLAIMS: Final = 10_000
"""Verified claims that are remembered, some 15 MB. A claim that was dropped is verified again."""

DATABASE_VARIABLE: Final = "BILATERAL_DATABASE"
"""The environment variable with the database that the processes of a deployment share."""


class Nullifiers(Protocol):
    """Keeps which holder used a nullifier. Workers of one seller must share it."""

    def holder_of(self, nullifier: int) -> str | None:
        """Return the holder that used a nullifier; None if nobody did."""

    def take(self, nullifier: int, epoch: int, holder: str) -> str:
        """Note the holder of a nullifier, unless it has one. Return the holder that it has now."""


class MemoryNullifiers:
    """Nullifiers in the memory of one process, those of the last two days. A restart forgets them."""

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
                    raise TierProofRefusedError("verifier_busy", "no room for more buyers today")
            return self._holders.setdefault(nullifier, (epoch, holder))[1]


def shared_nullifiers() -> Nullifiers:
    """Return the nullifiers in the database `BILATERAL_DATABASE`, or without it in the memory of this process."""
    url = os.environ.get(DATABASE_VARIABLE)
    if not url:
        return MemoryNullifiers()
    from bilateral.buyers.private.stored_nullifiers import StoredNullifiers  # noqa: PLC0415  # needs an extra

    return StoredNullifiers(url)


class TierVerifier:
    """Verifies proofs for one seller.

    Args:
        verification: `on_chain(client)`, or `offline(…)` of `bilateral.buyers.private.offline`.
        policy: The hash of the scoring policy whose tiers count.
        scope: Returns the seller's scope for a UTC day, see `private_agent_scope`.
        minimum: The lowest tier that passes.
        nullifiers: Keeps who used a proof; by default `shared_nullifiers()`.
        at_once: The most verifications at once.
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
        """Check a proof, and note its holder."""
        presented_by = checksummed(holder)
        self._require_use(proof, epoch_of(at))
        served = self._nullifiers.holder_of(proof.nullifier)
        if served in (None, presented_by):
            self._verify((proof, self._scope(proof.epoch), use_message(presented_by, request)))
            served = self._nullifiers.take(proof.nullifier, proof.epoch, presented_by)
        if served != presented_by:
            raise TierProofRefusedError("tier_already_used", "its buyer was served here today from another account")
        return proof.nullifier

    def _verify(self, claim: _Claim) -> None:
        """Verify a proof, unless just this one passed before: every field of it decides what its holder gets."""
        with self._lock:
            if claim in self._claims:
                self._claims.move_to_end(claim)
                return
        if not self._places.acquire(blocking=False):
            raise TierProofRefusedError("verifier_busy", "too many are being verified: try again in a second")
        try:
            self._verification(*claim)
        finally:
            self._places.release()
        with self._lock:
            self._claims[claim] = None
            while len(self._claims) > _MOST_CLAIMS:
                self._claims.popitem(last=False)

    def _require_use(self, proof: TierProof, today: int) -> None:
        """Check all that costs nothing."""
        if proof.policy != self._policy:
            problem = f"it is by the policy 0x{proof.policy.hex()}, and 0x{self._policy.hex()} counts here"
            raise TierProofRefusedError("policy_mismatch", problem)
        if proof.epoch not in (today - 1, today):
            raise TierProofRefusedError("epoch_over", f"it is of day {proof.epoch}, and today is {today}")
        if proof.minimum.level < self._minimum.level:
            problem = f"it proves {proof.minimum.value}, and {self._minimum.value} or higher passes"
            raise TierProofRefusedError("tier_too_low", problem)


def on_chain(client: Client) -> Verification:
    """Return a verification by the contract of proofs: one call with fixed gas, and no transaction."""

    def verify(proof: TierProof, scope: bytes, message: bytes) -> None:
        try:
            client.verify_tier(*proof.arguments, proof.policy, proof.minimum, proof.epoch, scope, message)
        except ContractRevertError as refusal:
            raise TierProofRefusedError(refusal.reason, str(refusal)) from None

    return verify
