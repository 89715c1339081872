// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {AttestedPayment} from "../libraries/AttestedPayment.sol";

/// @title Buyer records for which an attestor vouches
/// @notice The attestor records what no contract can observe: payments that were settled elsewhere, reviews, disputes,
/// and sellers' feedback. The attested record is separate from the settled one.
/// @dev The attestor is set at deployment and hands over its role in two steps: it nominates a successor, and the
/// successor accepts. The same applies to the anchorer (`IBuyerAnchors`). Nobody else can replace them: if the attestor
/// loses its key, the attested records can no longer be updated, while settlement continues to work.
///
/// A payment is identified by its chain, its transaction, and the position of its `Transfer` log within the
/// transaction.
///
/// WARNING: a false attestation cannot be undone. If you do not trust the attestor, use only the settled record.
///
/// Sample:
/// ```
/// registry.recordManyPayments(8453, records); // by the attestor
/// ```
interface IBuyerAttestation {
    /// @notice The roles of a registry.
    /// @param Attestor Records payments, reviews, disputes and feedback, and signs credentials.
    /// @param Anchorer Posts Merkle roots.
    enum Role {
        Attestor,
        Anchorer
    }

    /// @notice One payment of a batch.
    /// @param txHash The hash of its transaction.
    /// @param payment Its buyer, amount, time and position, packed as described at `AttestedPayment`.
    struct PaymentRecord {
        bytes32 txHash;
        AttestedPayment payment;
    }

    /// @notice The feedback of one seller in a batch.
    /// @param buyer The account that paid.
    /// @param score The seller's vote, 0 to 100.
    /// @param seller The account that was paid.
    struct FeedbackRecord {
        address buyer;
        int8 score;
        address seller;
    }

    /// @notice The reviews and disputes of a buyer.
    /// @param buyer The account.
    /// @param reviews The number of reviews that it has given.
    /// @param reviewSum The sum of their scores, each 0 to 100.
    /// @param disputes The number of disputes.
    struct ReviewsRecord {
        address buyer;
        uint16 reviews;
        uint24 reviewSum;
        uint16 disputes;
    }

    /// @notice Emitted for each attested payment.
    /// @dev The event consists of one packed word, because each additional word or topic costs the attestor 256 or 375
    /// gas. The payment's transaction hash is in the input of the attestor's transaction, and `hasPayment` can check
    /// it.
    /// @param payment The buyer, amount, time and position, packed as described at `AttestedPayment`.
    event PaymentAttested(AttestedPayment payment);

    /// @notice Emitted for each attested feedback entry.
    /// @param buyer The account that paid.
    /// @param seller The account that was paid.
    /// @param score The seller's new vote, 0 to 100.
    event FeedbackAttested(address indexed buyer, address indexed seller, int8 score);

    /// @notice Emitted when the attestor sets a buyer's reviews and disputes.
    /// @param buyer The account.
    /// @param reviews The number of reviews that it has given.
    /// @param reviewSum The sum of their scores.
    /// @param disputes The number of disputes.
    event ReviewsAttested(address indexed buyer, uint16 reviews, uint24 reviewSum, uint16 disputes);

    /// @notice Emitted when the holder of a role nominates a successor.
    /// @param role The role.
    /// @param holder The holder.
    /// @param nominee The successor; zero if the nomination was withdrawn.
    event SuccessorNominated(Role indexed role, address indexed holder, address indexed nominee);

    /// @notice Emitted when a role gets a holder: at deployment, and when a successor accepts.
    /// @param role The role.
    /// @param formerHolder The previous holder; zero at deployment.
    /// @param holder The new holder.
    event RoleTaken(Role indexed role, address indexed formerHolder, address indexed holder);

    /// @notice A role needs a holder, but the address is zero.
    /// @param role The role.
    error RoleWithoutHolder(Role role);

    /// @notice The caller does not hold the role.
    /// @param role The role.
    /// @param caller The caller.
    error NotRoleHolder(Role role, address caller);

    /// @notice The caller was not nominated for the role.
    /// @param role The role.
    /// @param caller The caller.
    error NotNominated(Role role, address caller);

    /// @notice The amount does not fit into its field.
    /// @param amount The amount, in millionths of a dollar.
    /// @param limit The highest valid amount.
    error PaymentTooHigh(uint256 amount, uint256 limit);

    /// @notice The payment's time is zero or in the future.
    /// @param paidAt The time of the payment, as a Unix timestamp.
    /// @param time The block's timestamp.
    error PaymentTimeOutOfRange(uint256 paidAt, uint256 time);

    /// @notice The payment, or its whole transaction, has already been recorded.
    /// @param chainId The chain.
    /// @param txHash The hash of the transaction.
    /// @param position The position of the payment; 255 for the whole transaction.
    error PaymentAlreadyRecorded(uint256 chainId, bytes32 txHash, uint8 position);

    /// @notice The vote is not between 0 and 100.
    /// @param score The vote.
    /// @param limit The highest valid vote.
    error ScoreOutOfRange(int8 score, int8 limit);

    /// @notice The buyer and the seller are the same account.
    /// @param account The account.
    error FeedbackOnSelf(address account);

    /// @notice The sum of the reviews' scores is higher than their number allows.
    /// @param reviews The number of reviews.
    /// @param reviewSum The sum.
    error ReviewSumTooHigh(uint16 reviews, uint24 reviewSum);

    /// @notice The record cannot hold the votes of any more sellers.
    /// @param buyer The account.
    /// @param limit The maximum number of sellers.
    error RecordIsFull(address buyer, uint256 limit);

    /// @notice Nominates a successor for a role of the caller. A later nomination replaces it.
    /// @dev Can only be called by the holder of the role. Emits `SuccessorNominated`. Reverts with `NotRoleHolder`.
    /// @param nominee The successor; zero to withdraw a nomination.
    /// @param role The role.
    function setNominee(address nominee, Role role) external;

    /// @notice Accepts a role for which the caller was nominated.
    /// @dev Can only be called by the nominee. Emits `RoleTaken`. Reverts with `NotNominated`.
    /// @param role The role.
    function takeRole(Role role) external;

    /// @notice Records payments on one chain, all or none.
    /// @dev Can only be called by the attestor. Emits `PaymentAttested` for each payment. Reverts with the first
    /// applicable error: `NotRoleHolder`, or, for the first invalid payment, `PaymentTimeOutOfRange` or
    /// `PaymentAlreadyRecorded`.
    /// WARNING: as with `recordPayment`, a payment that was settled here would count twice.
    /// @param chainId The EIP-155 id of the chain.
    /// @param records The payments.
    function recordManyPayments(uint256 chainId, PaymentRecord[] calldata records) external;

    /// @notice Records sellers' feedback, all or none.
    /// @dev Can only be called by the attestor. Emits `FeedbackAttested` for each entry. Reverts as `recordFeedback`
    /// does for the first invalid entry.
    /// @param records The feedback entries.
    function recordFeedbacks(FeedbackRecord[] calldata records) external;

    /// @notice Sets the reviews and disputes of buyers, all or none. Safe to retry.
    /// @dev Can only be called by the attestor. Emits `ReviewsAttested` for each entry. Reverts with the first
    /// applicable error: `NotRoleHolder`, or `ReviewSumTooHigh` for the first invalid entry.
    /// @param records The reviews and disputes.
    function recordReviews(ReviewsRecord[] calldata records) external;

    /// @notice Returns whether a payment was recorded, either individually or as part of its whole transaction.
    /// @param txHash The hash of the transaction.
    /// @param position The position of the payment's log within its transaction; 255 for any payment of the
    /// transaction.
    /// @param chainId The EIP-155 id of the chain.
    /// @return recorded True if the payment was recorded.
    function hasPayment(bytes32 txHash, uint8 position, uint256 chainId) external view returns (bool recorded);

    /// @notice Returns the vote of a seller on a buyer.
    /// @param buyer The account that paid.
    /// @param seller The account that was paid.
    /// @return hasVote True if the seller has given feedback.
    /// @return score The vote, 0 to 100; 0 if there is none.
    function getBuyerFeedback(address buyer, address seller) external view returns (bool hasVote, uint8 score);

    /// @notice Returns the holder of a role and the nominated successor.
    /// @param role The role.
    /// @return holder The holder.
    /// @return nominee The successor; zero if there is none.
    function roleHolderOf(Role role) external view returns (address holder, address nominee);
}
