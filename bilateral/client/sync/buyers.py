# Generated from bilateral/client/aio by `make sync-client`. Change that, not this.
"""Buyers' records, backed by payments (Buyer Reputation Protocol, section 8)."""

from __future__ import annotations

from collections.abc import Sequence

from bilateral.client.operations import buyers
from bilateral.client.results import Anchor, BuyerRecords, BuyerStanding, RoleHolder, SettledPayment
from bilateral.client.sync.runner import Handle, Runner
from bilateral.core.contracts.buyer_terms import (
    WHOLE_TRANSACTION,
    AttestedPayment,
    BuyerFeedback,
    BuyerReviews,
    BuyerRole,
    BuyerState,
    BuyerTier,
    PaymentRecord,
    SignedPayment,
    TierCredential,
)
from bilateral.core.events import TierRootsPosted
from bilateral.core.values.arguments import checked_class


@checked_class
class BuyerMethods(Runner):
    """Buyers' records, backed by payments (Buyer Reputation Protocol, section 8)."""

    def settle_payment(self, payment: SignedPayment) -> Handle[SettledPayment]:
        """Submit an x402 payment and record it in the same transaction (`settle`). Anyone may call it.

        Args:
            payment: The payment that the buyer signed. The payee remains the seller's wallet.

        Raises:
            ContractRevertError: The registry or the token reverts: `token_not_listed`, `payment_fell_short`, or the
                token's own error, such as for a used nonce.
        """
        return self._write(buyers.settle(self.state, payment))

    def record_payment(self, buyer: str, amount: int, transaction_hash: bytes | str) -> Handle[AttestedPayment]:
        """As the attestor, record a payment that is the only one in a transaction on this chain (`recordPayment`).

        Args:
            buyer: The account that paid.
            amount: The amount, in millionths of a dollar.

        Raises:
            PaymentSettledHereError: The registry settled and counted the payment itself, so it would count twice.
            MissingReceiptError: The node has no receipt for the transaction, which is required on this chain.
            ContractRevertError: The registry reverts: `not_role_holder`, `payment_too_high`,
                `payment_already_recorded`.
        """
        return self._write(buyers.record_payment(self.state, buyer, amount, transaction_hash))

    def record_payments(self, chain_id: int, records: Sequence[PaymentRecord]) -> Handle[tuple[AttestedPayment, ...]]:
        """As the attestor, record payments made on one chain, either all or none (`recordManyPayments`).

        Payments by the same buyer cost the least gas when they are adjacent.

        Args:
            chain_id: EIP-155 id of the chain on which they were paid.
            records: The payments, at least one.

        Raises:
            InvalidArgumentError: The list of payments is empty.
            PaymentSettledHereError: The registry settled and counted the payment itself, so it would count twice.
            MissingReceiptError: The node has no receipt for the transaction, which is required on this chain.
            ContractRevertError: The registry reverts: `not_role_holder`, `payment_time_out_of_range`,
                `payment_already_recorded`.
        """
        return self._write(buyers.record_payments(self.state, chain_id, records))

    def record_buyer_feedback(self, feedback: BuyerFeedback) -> Handle[BuyerFeedback]:
        """As the attestor, record a seller's vote on a buyer (`recordFeedback`). It replaces an earlier one.

        Args:
            feedback: The vote.

        Raises:
            ContractRevertError: The registry reverts: `not_role_holder`, `score_out_of_range`, `feedback_on_self`,
                `record_is_full`.
        """
        return self._write(buyers.record_feedback(self.state, feedback))

    def record_buyer_feedbacks(self, feedbacks: Sequence[BuyerFeedback]) -> Handle[tuple[BuyerFeedback, ...]]:
        """As the attestor, record sellers' votes, either all or none (`recordFeedbacks`).

        Args:
            feedbacks: The votes, at least one.

        Raises:
            InvalidArgumentError: The list of votes is empty.
            ContractRevertError: The registry reverts, as for `record_buyer_feedback`.
        """
        return self._write(buyers.record_feedbacks(self.state, feedbacks))

    def record_buyer_reviews(self, reviews: Sequence[BuyerReviews]) -> Handle[tuple[BuyerReviews, ...]]:
        """As the attestor, set buyers' reviews and disputes, either all or none (`recordReviews`). Safe to retry.

        Args:
            reviews: The reviews and disputes, for at least one buyer.

        Raises:
            InvalidArgumentError: The list of reviews is empty.
            ContractRevertError: The registry reverts: `not_role_holder`, `review_sum_too_high`.
        """
        return self._write(buyers.record_reviews(self.state, reviews))

    def anchor_root(self, epoch: int, root: bytes | str) -> Handle[Anchor]:
        """As the anchorer, post the Merkle root of the next epoch (`anchorRoot`).

        Args:
            epoch: The epoch, see `get_next_epoch`. Repeating the call has no further effect.
            root: The root, see `bilateral.buyers.anchors`.

        Raises:
            ContractRevertError: The registry reverts: `not_role_holder`, `unexpected_epoch`, `empty_root`.
        """
        return self._write(buyers.anchor(self.state, epoch, root))

    def set_nominee(self, role: BuyerRole, nominee: str | None) -> Handle[RoleHolder]:
        """Nominate a successor for one of the signer's roles (`setNominee`). The successor accepts with `take_role`.

        Args:
            nominee: The successor; None withdraws a nomination.

        Raises:
            ContractRevertError: The registry reverts: `not_role_holder`.
        """
        return self._write(buyers.nominate(self.state, role, nominee))

    def take_role(self, role: BuyerRole) -> Handle[RoleHolder]:
        """Take a role for which the signer was nominated (`takeRole`).

        Raises:
            ContractRevertError: The registry reverts: `not_nominated`.
        """
        return self._write(buyers.take(self.state, role))

    def get_buyer_score(self, buyer: str) -> int:
        """Return a buyer's score from both records, 0 to 100 (`getBuyerScore`).

        It only counts what was settled or attested. Missing payments make it too low, and missing disputes too high.

        Args:
            buyer: The account.
        """
        return self._run(buyers.score(self.state, buyer))

    def get_buyer_tier(self, buyer: str) -> BuyerTier:
        """Return a buyer's tier from both records (`buyerTierOf`).

        Args:
            buyer: The account.
        """
        return self._run(buyers.tier(self.state, buyer))

    def get_settlement_score(self, buyer: str) -> BuyerStanding:
        """Return a buyer's score and tier from only the settled record (`settlementScoreOf`).

        It needs no trust in the attestor. The score is at most 75, and the tier at most `verified`.

        Args:
            buyer: The account.
        """
        return self._run(buyers.settlement_score(self.state, buyer))

    def get_buyer_records(self, buyer: str) -> BuyerRecords:
        """Return both records of a buyer (`recordsOf`). All values are zero for an unknown account.

        Args:
            buyer: The account.
        """
        return self._run(buyers.records(self.state, buyer))

    def has_payment(
        self, transaction_hash: bytes | str, position: int = WHOLE_TRANSACTION, *, chain_id: int | None = None
    ) -> bool:
        """Return whether the attestor recorded a payment, by itself or with its whole transaction (`hasPayment`).

        Args:
            position: The position of its log within the transaction; 255: any payment in it.
            chain_id: EIP-155 id of the payment's chain; by default the registry's.
        """
        return self._run(buyers.has_payment(self.state, transaction_hash, position, chain_id))

    def get_buyer_feedback(self, buyer: str, seller: str) -> int | None:
        """Return a seller's vote on a buyer, 0 to 100; None if there is none (`getBuyerFeedback`).

        Args:
            buyer: The account that paid.
            seller: The account that was paid.
        """
        return self._run(buyers.feedback(self.state, buyer, seller))

    def get_next_epoch(self) -> int:
        """Return the epoch of the next root (`getNextEpoch`)."""
        return self._run(buyers.next_epoch(self.state))

    def get_root(self, epoch: int) -> bytes | None:
        """Return an epoch's root; None if it has none (`rootOf`)."""
        return self._run(buyers.root_of(self.state, epoch))

    def verify_buyer(self, buyer_state: BuyerState, epoch: int, proof: Sequence[bytes]) -> bool:
        """Return whether a state is in the anchored tree of an epoch (`verifyBuyer`).

        Args:
            proof: The sibling hashes, from the leaf up.

        Raises:
            ContractRevertError: The epoch has no root: `unknown_epoch`.
        """
        return self._run(buyers.verify(self.state, buyer_state, epoch, proof))

    def verify_credential(self, credential: TierCredential, signature: bytes) -> bool:
        """Return whether the attestor signed a credential that is valid now (`verifyCredential`).

        Compare its holder with the account that presents it. The time is that of the latest block.

        Args:
            signature: The attestor's signature.
        """
        return self._run(buyers.verify_credential(self.state, credential, signature))

    def get_role_holder(self, role: BuyerRole) -> RoleHolder:
        """Return a role's holder and nominated successor (`roleHolderOf`)."""
        return self._run(buyers.role_holder(self.state, role))

    def get_payment_tokens(self) -> list[str]:
        """Return the tokens in which payments are settled (`getTokenAddresses`)."""
        return self._run(buyers.tokens(self.state))

    def post_tier_roots(self, epoch: int, policy: bytes | str, roots: Sequence[int]) -> Handle[TierRootsPosted]:
        """As the attestor, post the roots of today's groups of buyers (`postTierRoots`). Nobody can replace them.

        Args:
            epoch: The UTC day, in days since the beginning of Unix time.
            policy: The hash of the scoring policy's name, see `bilateral.core.contracts.buyer_terms.policy_hash`.
            roots: The roots for `verified`, `trusted` and `premium`; 1 for a tier without members.

        Raises:
            InvalidArgumentError: There are not exactly three roots.
            ContractRevertError: The contract reverts: `not_the_attestor`, `epoch_over`, `roots_already_posted`,
                `root_out_of_range`.
        """
        return self._write(buyers.post_tier_roots(self.state, epoch, policy, roots))

    def get_tier_roots(self, policy: bytes | str, epoch: int) -> tuple[int, int, int] | None:
        """Return the roots of a day for `verified`, `trusted` and `premium`; None if none were posted (`rootsOf`).

        Args:
            policy: The hash of the scoring policy's name.
            epoch: The UTC day, in days since the beginning of Unix time.
        """
        return self._run(buyers.tier_roots(self.state, policy, epoch))

    def verify_tier(  # noqa: PLR0913, PLR0917  # the contract's own arguments
        self,
        nullifier: int,
        points: Sequence[int],
        policy: bytes | str,
        minimum: BuyerTier,
        epoch: int,
        scope: bytes | str,
        message: bytes | str,
    ) -> None:
        """Check a private tier proof with fixed gas, and return whether it is valid (`verifyTier`).

        The contract does not track used proofs: do so by nullifier.

        Args:
            nullifier: The proof's nullifier.
            points: The eight coordinates of the proof's points.
            policy: The hash of the scoring policy's name.
            minimum: The lowest tier that passes.
            epoch: The UTC day of the roots: today or yesterday.
            scope: The place and day of use.
            message: The use that the proof is bound to.

        Raises:
            ContractRevertError: The contract reverts: `epoch_over`, `unknown_root`, `proof_malformed`, `proof_refused`.
        """
        self._run(buyers.verify_tier_proof(self.state, nullifier, points, policy, minimum, epoch, scope, message))
