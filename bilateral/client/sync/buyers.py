# Generated from bilateral/client/aio by `make sync-client`. Change that, not this.
"""Methods for buyers' records, which are backed by payments (Buyer Reputation Protocol, section 8)."""

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
    """Methods for buyers' records, which are backed by payments (Buyer Reputation Protocol, section 8)."""

    def settle_payment(self, payment: SignedPayment) -> Handle[SettledPayment]:
        """Submit an x402 payment and record it in the same transaction (`settle`). Anyone may call this.

        Args:
            payment: The payment that the buyer signed, with the seller's wallet as the payee.

        Raises:
            ContractRevertError: The registry reverts with `token_not_listed` or `payment_fell_short`, or the token
                reverts, for example because the nonce has already been used.
        """
        return self._write(buyers.settle(self.state, payment))

    def record_payment(self, buyer: str, amount: int, transaction_hash: bytes | str) -> Handle[AttestedPayment]:
        """As the attestor, record a transaction's only payment, made on the registry's chain (`recordPayment`).

        Args:
            buyer: The account that paid.
            amount: The amount, in millionths of a dollar.

        Raises:
            PaymentSettledHereError: The registry settled and counted the payment; recording it would count it twice.
            MissingReceiptError: The node has no receipt for the transaction, so it is unknown who settled the payment.
            ContractRevertError: The registry reverts with `not_role_holder`, `payment_too_high` or
                `payment_already_recorded`.
        """
        return self._write(buyers.record_payment(self.state, buyer, amount, transaction_hash))

    def record_payments(self, chain_id: int, records: Sequence[PaymentRecord]) -> Handle[tuple[AttestedPayment, ...]]:
        """As the attestor, record payments made on one chain, either all or none (`recordManyPayments`).

        To save gas, place payments by the same buyer next to each other.

        Args:
            chain_id: The EIP-155 id of the chain on which the payments were made.
            records: The payments, at least one.

        Raises:
            InvalidArgumentError: The list of payments is empty.
            PaymentSettledHereError: The registry settled and counted a payment; recording it would count it twice.
            MissingReceiptError: The node has no receipt for a payment's transaction on the registry's own chain.
            ContractRevertError: The registry reverts with `not_role_holder`, `payment_time_out_of_range` or
                `payment_already_recorded`.
        """
        return self._write(buyers.record_payments(self.state, chain_id, records))

    def record_buyer_feedback(self, feedback: BuyerFeedback) -> Handle[BuyerFeedback]:
        """As the attestor, record a seller's vote on a buyer (`recordFeedback`), replacing any earlier vote.

        Args:
            feedback: The vote.

        Raises:
            ContractRevertError: The registry reverts with `not_role_holder`, `score_out_of_range`, `feedback_on_self`
                or `record_is_full`.
        """
        return self._write(buyers.record_feedback(self.state, feedback))

    def record_buyer_feedbacks(self, feedbacks: Sequence[BuyerFeedback]) -> Handle[tuple[BuyerFeedback, ...]]:
        """As the attestor, record sellers' votes, either all or none (`recordFeedbacks`).

        Args:
            feedbacks: The votes, at least one.

        Raises:
            InvalidArgumentError: The list of votes is empty.
            ContractRevertError: The registry reverts with an error listed for `record_buyer_feedback`.
        """
        return self._write(buyers.record_feedbacks(self.state, feedbacks))

    def record_buyer_reviews(self, reviews: Sequence[BuyerReviews]) -> Handle[tuple[BuyerReviews, ...]]:
        """As the attestor, set buyers' reviews and disputes, either all or none (`recordReviews`). Retrying is safe.

        Args:
            reviews: The reviews and disputes, for at least one buyer.

        Raises:
            InvalidArgumentError: The list of reviews is empty.
            ContractRevertError: The registry reverts with `not_role_holder` or `review_sum_too_high`.
        """
        return self._write(buyers.record_reviews(self.state, reviews))

    def anchor_root(self, epoch: int, root: bytes | str) -> Handle[Anchor]:
        """As the anchorer, post the Merkle root of buyers' states for the next epoch (`anchorRoot`).

        Args:
            epoch: The epoch, from `get_next_epoch`. Repeating the call for the same epoch has no further effect.
            root: The root. See `bilateral.buyers.anchors`.

        Raises:
            ContractRevertError: The registry reverts with `not_role_holder`, `unexpected_epoch` or `empty_root`.
        """
        return self._write(buyers.anchor(self.state, epoch, root))

    def set_nominee(self, role: BuyerRole, nominee: str | None) -> Handle[RoleHolder]:
        """Nominate a successor for one of the signer's roles (`setNominee`). The successor accepts with `take_role`.

        Args:
            nominee: The successor; None withdraws a nomination.

        Raises:
            ContractRevertError: The registry reverts with `not_role_holder`.
        """
        return self._write(buyers.nominate(self.state, role, nominee))

    def take_role(self, role: BuyerRole) -> Handle[RoleHolder]:
        """Take a role for which the signer was nominated (`takeRole`).

        Raises:
            ContractRevertError: The registry reverts with `not_nominated`.
        """
        return self._write(buyers.take(self.state, role))

    def get_buyer_score(self, buyer: str) -> int:
        """Return a buyer's score, from 0 to 100, based on the settled and attested records (`getBuyerScore`).

        The score reflects only what was settled or attested. Missing payments make the score too low; missing disputes
        make it too high.

        Args:
            buyer: The account.
        """
        return self._run(buyers.score(self.state, buyer))

    def get_buyer_tier(self, buyer: str) -> BuyerTier:
        """Return a buyer's tier, based on the settled and attested records (`buyerTierOf`).

        Args:
            buyer: The account.
        """
        return self._run(buyers.tier(self.state, buyer))

    def get_settlement_score(self, buyer: str) -> BuyerStanding:
        """Return a buyer's score and tier, based only on the settled record (`settlementScoreOf`).

        The result does not depend on the attestor. The score is at most 75, and the tier at most `verified`.

        Args:
            buyer: The account.
        """
        return self._run(buyers.settlement_score(self.state, buyer))

    def get_buyer_records(self, buyer: str) -> BuyerRecords:
        """Return a buyer's settled and attested records (`recordsOf`). For an unknown account, both are empty.

        Args:
            buyer: The account.
        """
        return self._run(buyers.records(self.state, buyer))

    def has_payment(
        self, transaction_hash: bytes | str, position: int = WHOLE_TRANSACTION, *, chain_id: int | None = None
    ) -> bool:
        """Return whether the attestor recorded a payment, individually or with its whole transaction (`hasPayment`).

        Args:
            position: The position of the payment's log within the transaction, or 255 for any payment in the
                transaction.
            chain_id: The EIP-155 id of the payment's chain; by default the registry's chain.
        """
        return self._run(buyers.has_payment(self.state, transaction_hash, position, chain_id))

    def get_buyer_feedback(self, buyer: str, seller: str) -> int | None:
        """Return a seller's vote on a buyer, from 0 to 100, or None if there is none (`getBuyerFeedback`).

        Args:
            buyer: The account that paid.
            seller: The account that was paid.
        """
        return self._run(buyers.feedback(self.state, buyer, seller))

    def get_next_epoch(self) -> int:
        """Return the epoch of the next root to be posted (`getNextEpoch`)."""
        return self._run(buyers.next_epoch(self.state))

    def get_root(self, epoch: int) -> bytes | None:
        """Return an epoch's root, or None if the epoch has no root (`rootOf`)."""
        return self._run(buyers.root_of(self.state, epoch))

    def verify_buyer(self, buyer_state: BuyerState, epoch: int, proof: Sequence[bytes]) -> bool:
        """Return whether a buyer's state is in the Merkle tree of an epoch (`verifyBuyer`).

        Args:
            proof: The sibling hashes, from the leaf up.

        Raises:
            ContractRevertError: The epoch has no root (`unknown_epoch`).
        """
        return self._run(buyers.verify(self.state, buyer_state, epoch, proof))

    def verify_credential(self, credential: TierCredential, signature: bytes) -> bool:
        """Return whether a credential is valid now and was signed by the attestor (`verifyCredential`).

        Validity is checked at the time of the latest block. The caller must also check that the account presenting the
        credential is its holder.

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
        """As the attestor, post today's buyer group roots, one for each tier (`postTierRoots`). Roots are final.

        Args:
            epoch: The UTC day, in days since the Unix epoch.
            policy: The hash of the scoring policy's name. See `bilateral.core.contracts.buyer_terms.policy_hash`.
            roots: The roots for `verified`, `trusted` and `premium`. The root of a tier without members is 1.

        Raises:
            InvalidArgumentError: The number of roots is not three.
            ContractRevertError: The contract reverts with `not_the_attestor`, `epoch_over`, `roots_already_posted` or
                `root_out_of_range`.
        """
        return self._write(buyers.post_tier_roots(self.state, epoch, policy, roots))

    def get_tier_roots(self, policy: bytes | str, epoch: int) -> tuple[int, int, int] | None:
        """Return a day's roots for `verified`, `trusted` and `premium`, or None if none were posted (`rootsOf`).

        Args:
            policy: The hash of the scoring policy's name.
            epoch: The UTC day, in days since the Unix epoch.
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
        """Verify a private proof of a tier, with a fixed gas limit (`verifyTier`). An invalid proof raises an error.

        The contract does not record which proofs have been used. To detect reuse, store each proof's nullifier.

        Args:
            nullifier: The proof's nullifier.
            points: The eight coordinates of the proof's points.
            policy: The hash of the scoring policy's name.
            minimum: The lowest tier to accept.
            epoch: The UTC day of the roots, today or yesterday, in days since the Unix epoch.
            scope: The hash of the place and UTC day of use; see `bilateral.buyers.private.tiers.private_gate_scope`.
            message: The hash that binds the proof to one use; see `bilateral.buyers.private.tiers.use_message`.

        Raises:
            ContractRevertError: The contract reverts with `epoch_over`, `unknown_root`, `proof_malformed` or
                `proof_refused`.
        """
        self._run(buyers.verify_tier_proof(self.state, nullifier, points, policy, minimum, epoch, scope, message))
