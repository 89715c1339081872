// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Buyer reputation registry of the Buyer Reputation Protocol
/// @notice Scores accounts that pay agents. This interface has the four functions of the protocol's section 8; all
/// others are in `IBuyerRecords`, `IBuyerSettlement`, `IBuyerAttestation`, `IBuyerAnchors` and `IBuyerCredentials`.
/// @dev The registry keeps two records for each buyer, and never mixes them. The *settled* record contains the payments
/// that the registry itself executed, so it requires no trust. The *attested* record contains what the attestor
/// reports. The score and the tier of this interface are computed from both; `settlementScoreOf` uses only the settled
/// record.
///
/// WARNING: the score reflects only what was settled here or attested. Missing payments, and missing reviews by a fair
/// buyer, make it too low. Missing disputes, and missing reviews by an unfair buyer, make it too high. It is a lower
/// bound only if no disputes and no reviews by an unfair buyer are missing. A buyer without attested reviews gets no
/// points for fairness, and therefore at most 75 points.
///
/// WARNING: payments prove that money moved, not that a service was bought. A buyer that pays its own agent gets the
/// money back. The registry excludes payments to an agent of the payer itself, but not payments to an accomplice's
/// agent.
///
/// Sample:
/// ```
/// require(registry.getBuyerScore(msg.sender) >= 50);
/// ```
interface IBuyerReputationRegistry {
    /// @notice Records a payment on this chain that is the only payment in its transaction.
    /// @dev Can only be called by the attestor. The time of the payment is that of the current block. The call claims
    /// the whole transaction, so no other payment in it can be recorded before or after; use `recordManyPayments` to
    /// record payments individually. Emits `PaymentAttested`. Reverts with the first applicable error: `NotRoleHolder`,
    /// `PaymentTooHigh`, `PaymentAlreadyRecorded`. Protocol, section 8.
    /// WARNING: the attestor must not record a payment that was settled here, because it would count twice. A contract
    /// has access to neither the hash nor the logs of a transaction, so it cannot reject such a payment. The SDK
    /// rejects it before sending the transaction.
    /// @param buyer The account that paid.
    /// @param amount The amount in millionths of a dollar, below 2^56.
    /// @param txHash The hash of the transaction.
    function recordPayment(address buyer, uint256 amount, bytes32 txHash) external;

    /// @notice Records a seller's feedback on a buyer. Each seller has one vote per buyer; a later vote replaces the
    /// earlier one.
    /// @dev Can only be called by the attestor, which must have checked that the seller gave the feedback and was paid.
    /// Emits `FeedbackAttested`. Reverts with the first applicable error: `NotRoleHolder`, `ScoreOutOfRange`,
    /// `FeedbackOnSelf`, `RecordIsFull`. Protocol, section 8.
    /// @param buyer The account that paid.
    /// @param seller The account that was paid.
    /// @param score The seller's vote, 0 to 100; the mean of its votes if there were several payments.
    function recordFeedback(address buyer, address seller, int8 score) external;

    /// @notice Returns the score of a buyer, from both records.
    /// @dev Evaluates the formula of the protocol's section 2.2 exactly, and rounds half up once at the end. The score
    /// of an account without payments is 0. Sellers' feedback contributes to the fairness with at most half the weight.
    /// Costs less than 6,000 gas, however long the history is.
    /// @param buyer The account.
    /// @return score The score, 0 to 100.
    function getBuyerScore(address buyer) external view returns (uint8 score);

    /// @notice Returns the tier of a buyer, from both records.
    /// @dev The tier is the highest one whose conditions are all met (protocol, section 3), or `new` if there is none.
    /// @param buyer The account.
    /// @return tier `new`, `verified`, `trusted` or `premium`.
    function getBuyerTier(address buyer) external view returns (string memory tier);
}
