// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {AttestedPayment} from "../libraries/AttestedPayment.sol";

/// @title Records of buyers that an attestor vouches for
/// @notice The attestor records what no contract can see: payments that were settled elsewhere, reviews, disputes, and
/// feedback of sellers. The attested record is apart from the settled one.
/// @dev The attestor is named at the deployment and hands its role over in two steps: it nominates a successor, and the
/// successor accepts. The same holds for the anchorer (`IBuyerAnchors`). Nobody else can replace them: the attested
/// half stands still if the attestor loses its key, and the settled half goes on.
///
/// A payment is named by its chain, its transaction, and the position of its `Transfer` log within the transaction.
///
/// WARNING: a false attestation cannot be undone. Who does not trust the attestor reads the settled record alone.
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
    /// @param payment Its buyer, amount, time and position, packed as `AttestedPayment` draws.
    struct PaymentRecord {
        bytes32 txHash;
        AttestedPayment payment;
    }

    /// @notice One seller's feedback in a batch.
    /// @param buyer The account that paid.
    /// @param score The seller's vote, 0 to 100.
    /// @param seller The account that was paid.
    struct FeedbackRecord {
        address buyer;
        int8 score;
        address seller;
    }

    /// @notice Reviews and disputes of a buyer.
    /// @param buyer The account.
    /// @param reviews The number of reviews that it gave.
    /// @param reviewSum The sum of their scores, each 0 to 100.
    /// @param disputes The number of disputes.
    struct ReviewsRecord {
        address buyer;
        uint16 reviews;
        uint24 reviewSum;
        uint16 disputes;
    }

    /// @notice Emitted for each attested payment.
    /// @dev One packed word, because each further word or topic costs the attestor 256 or 375 gas. The input of the
    /// transaction has the hash; `hasPayment` checks it.
    /// @param payment The buyer, amount, time and position, packed as `AttestedPayment` draws.
    event PaymentAttested(AttestedPayment payment);

    /// @notice Emitted for each attested feedback.
    /// @param buyer The account that paid.
    /// @param seller The account that was paid.
    /// @param score The seller's vote now, 0 to 100.
    event FeedbackAttested(address indexed buyer, address indexed seller, int8 score);

    /// @notice Emitted when the attestor sets a buyer's reviews and disputes.
    /// @param buyer The account.
    /// @param reviews The number of reviews that it gave.
    /// @param reviewSum The sum of their scores.
    /// @param disputes The number of disputes.
    event ReviewsAttested(address indexed buyer, uint16 reviews, uint24 reviewSum, uint16 disputes);

    /// @notice Emitted when the holder of a role nominates a successor.
    /// @param role The role.
    /// @param holder The holder.
    /// @param nominee The successor; zero: the nomination was withdrawn.
    event SuccessorNominated(Role indexed role, address indexed holder, address indexed nominee);

    /// @notice Emitted when a role has a holder: at the deployment, and when a successor accepts.
    /// @param role The role.
    /// @param formerHolder The former holder; zero at the deployment.
    /// @param holder The holder now.
    event RoleTaken(Role indexed role, address indexed formerHolder, address indexed holder);

    /// @notice A role needs a holder: the address is zero.
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

    /// @notice The amount does not fit its field.
    /// @param amount The amount, in millionths of a dollar.
    /// @param limit The highest amount.
    error PaymentTooHigh(uint256 amount, uint256 limit);

    /// @notice The payment's time is zero or in the future.
    /// @param paidAt The time, in Unix time.
    /// @param time The time of the block.
    error PaymentTimeOutOfRange(uint256 paidAt, uint256 time);

    /// @notice The payment, or its whole transaction, was recorded before.
    /// @param chainId The chain.
    /// @param txHash The hash of the transaction.
    /// @param position The position of the payment; 255: the whole transaction.
    error PaymentAlreadyRecorded(uint256 chainId, bytes32 txHash, uint8 position);

    /// @notice The vote is not 0 to 100.
    /// @param score The vote.
    /// @param limit The highest vote.
    error ScoreOutOfRange(int8 score, int8 limit);

    /// @notice The buyer and the seller are the same account.
    /// @param account The account.
    error FeedbackOnSelf(address account);

    /// @notice The sum of the reviews is higher than their number allows.
    /// @param reviews The number of reviews.
    /// @param reviewSum The sum.
    error ReviewSumTooHigh(uint16 reviews, uint24 reviewSum);

    /// @notice The record holds the votes of no more sellers.
    /// @param buyer The account.
    /// @param limit The highest number of sellers.
    error RecordIsFull(address buyer, uint256 limit);

    /// @notice Nominates a successor for a role of the caller. A later nomination replaces it.
    /// @dev For the holder. Emits `SuccessorNominated`. Reverts with `NotRoleHolder`.
    /// @param nominee The successor; zero withdraws a nomination.
    /// @param role The role.
    function setNominee(address nominee, Role role) external;

    /// @notice Takes a role for which the caller was nominated.
    /// @dev For the nominee. Emits `RoleTaken`. Reverts with `NotNominated`.
    /// @param role The role.
    function takeRole(Role role) external;

    /// @notice Records payments of one chain, all or none.
    /// @dev For the attestor. Emits `PaymentAttested` for each. Reverts, in this order, with `NotRoleHolder`, and for
    /// the first refused payment with `PaymentTimeOutOfRange` or `PaymentAlreadyRecorded`.
    /// WARNING: as for `recordPayment`, a payment that was settled here would count twice.
    /// @param chainId The EIP-155 id of the chain.
    /// @param records The payments.
    function recordManyPayments(uint256 chainId, PaymentRecord[] calldata records) external;

    /// @notice Records feedback of sellers, all or none.
    /// @dev For the attestor. Emits `FeedbackAttested` for each. Reverts like `recordFeedback` for the first refused.
    /// @param records The feedback.
    function recordFeedbacks(FeedbackRecord[] calldata records) external;

    /// @notice Sets the reviews and disputes of buyers, all or none. Safe to retry.
    /// @dev For the attestor. Emits `ReviewsAttested` for each. Reverts, in this order, with `NotRoleHolder`, and for
    /// the first refused entry with `ReviewSumTooHigh`.
    /// @param records The reviews and disputes.
    function recordReviews(ReviewsRecord[] calldata records) external;

    /// @notice Tells whether a payment was recorded, by itself or with its whole transaction.
    /// @param txHash The hash of the transaction.
    /// @param position The position of the payment's log within its transaction; 255: any payment of it.
    /// @param chainId The EIP-155 id of the chain.
    /// @return recorded True if it was.
    function hasPayment(bytes32 txHash, uint8 position, uint256 chainId) external view returns (bool recorded);

    /// @notice Returns the vote of a seller on a buyer.
    /// @param buyer The account that paid.
    /// @param seller The account that was paid.
    /// @return hasVote True if the seller gave feedback.
    /// @return score The vote, 0 to 100; 0 without feedback.
    function getBuyerFeedback(address buyer, address seller) external view returns (bool hasVote, uint8 score);

    /// @notice Returns the holder of a role, and its nominated successor.
    /// @param role The role.
    /// @return holder The holder.
    /// @return nominee The successor; zero: none.
    function roleHolderOf(Role role) external view returns (address holder, address nominee);
}
