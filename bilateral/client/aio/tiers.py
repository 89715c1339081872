"""Private proofs of buyers' tiers (Buyer Reputation Protocol, section 8.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bilateral.client.aio.runner import AsyncRunner
from bilateral.client.operations import tiers
from bilateral.core.contracts.buyer_terms import BuyerTier
from bilateral.core.values.arguments import checked_class

if TYPE_CHECKING:
    from bilateral.client.aio.handle import AsyncHandle
    from bilateral.core.events import TierRootsPosted


@checked_class
class AsyncTierMethods(AsyncRunner):
    """Private proofs of buyers' tiers (Buyer Reputation Protocol, section 8.3)."""

    async def post_tier_roots(
        self, epoch: int, policy: bytes | str, roots: Sequence[int]
    ) -> AsyncHandle[TierRootsPosted]:
        """Post the roots of today's groups of buyers, as the attestor (`postTierRoots`). Nobody can replace them.

        Args:
            epoch: The UTC day, in days since the beginning of Unix time.
            policy: The hash of the scoring policy's name, see `bilateral.core.contracts.buyer_terms.policy_hash`.
            roots: The roots for `verified`, `trusted` and `premium`; 1 for a tier without members.

        Raises:
            InvalidArgumentError: The roots are not three.
            ContractRevertError: The contract refuses: `not_the_attestor`, `epoch_over`, `roots_already_posted`,
                `root_out_of_range`.
        """
        return await self._write(tiers.post_roots(self.state, epoch, policy, roots))

    async def get_tier_roots(self, policy: bytes | str, epoch: int) -> tuple[int, int, int] | None:
        """Return the roots of a day for `verified`, `trusted` and `premium`; None if none were posted (`rootsOf`).

        Args:
            policy: The hash of the scoring policy's name.
            epoch: The UTC day, in days since the beginning of Unix time.
        """
        return await self._run(tiers.roots_of(self.state, policy, epoch))

    async def verify_tier(  # noqa: PLR0913, PLR0917  # the contract's own arguments
        self,
        nullifier: int,
        points: Sequence[int],
        policy: bytes | str,
        minimum: BuyerTier,
        epoch: int,
        scope: bytes | str,
        message: bytes | str,
    ) -> None:
        """Check a private proof of a tier with fixed gas, and return if it is valid (`verifyTier`).

        Count it by its nullifier: the contract does not.

        Args:
            nullifier: The proof's nullifier.
            points: The eight coordinates of its points.
            policy: The hash of the scoring policy's name.
            minimum: The lowest tier that passes.
            epoch: The UTC day of the roots: today or yesterday.
            scope: The place and day of use.
            message: The use that the proof is bound to.

        Raises:
            ContractRevertError: The contract refuses: `epoch_over`, `unknown_root`, `proof_malformed`, `proof_refused`.
        """
        await self._run(tiers.verify(self.state, nullifier, points, policy, minimum, epoch, scope, message))
