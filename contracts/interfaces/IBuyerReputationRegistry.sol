// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Buyer reputation registry of the Buyer Reputation Protocol
/// @notice Scores accounts that pay agents. These are the four functions of the protocol's section 8; `IBuyerRecords`,
/// `IBuyerSettlement`, `IBuyerAttestation`, `IBuyerAnchors` and `IBuyerCredentials` have the others.
/// @dev The registry keeps two records for each buyer, and never mixes them. The *settled* record has payments that the
/// registry itself made, so it needs no trust. The *attested* record has what the attestor says. The score and the tier
/// of this interface are worked out from both; `settlementScoreOf` uses the settled record alone.
///
/// WARNING: the score knows what was settled here or attested, and nothing else. Missing payments, and missing reviews
/// of a fair buyer, make it too low. Missing disputes, and missing reviews of an unfair buyer, make it too high. It is
/// a lower bound only if neither of the latter exist. A buyer without attested reviews has no points for fairness, so
/// at most 75 points.
///
/// WARNING: payments prove that money moved, not that a service was bought. A buyer that pays its own agent gets the
/// money back. The registry leaves out payments to an agent of the payer itself, but not those to a second person's.
///
/// Sample:
/// ```
/// require(registry.getBuyerScore(msg.sender) >= 50);
/// ```
interface IBuyerReputationRegistry {
    /// @notice Records one payment of this chain that is the only payment of its transaction.
    /// @dev For the attestor. The payment's time is that of the block. It takes the whole transaction, so no other
    /// payment of the transaction is recorded before or after; `recordManyPayments` records single ones. Emits
    /// `PaymentAttested`. Reverts, in this order, with `NotRoleHolder`, `PaymentTooHigh`, `PaymentAlreadyRecorded`.
    /// Protocol, section 8.
    /// WARNING: the attestor must not record a payment that was settled here: it would count twice. A contract knows
    /// neither the hash nor the logs of a transaction, so it cannot refuse that. The SDK does, before it sends.
    /// @param buyer The account that paid.
    /// @param amount The amount in millionths of a dollar, below 2^56.
    /// @param txHash The hash of the transaction.
    function recordPayment(address buyer, uint256 amount, bytes32 txHash) external;

    /// @notice Records the feedback of a seller on a buyer. Each seller has one vote; a later one replaces it.
    /// @dev For the attestor, which checked that the seller gave it and was paid. Emits `FeedbackAttested`. Reverts, in
    /// this order, with `NotRoleHolder`, `ScoreOutOfRange`, `FeedbackOnSelf`, `RecordIsFull`. Protocol, section 8.
    /// @param buyer The account that paid.
    /// @param seller The account that was paid.
    /// @param score The seller's vote, 0 to 100; for several payments, their mean.
    function recordFeedback(address buyer, address seller, int8 score) external;

    /// @notice Returns the score of a buyer, from both records.
    /// @dev The formula of the protocol's section 2.2, exact, and rounded half up once at the end. An account without
    /// payments has 0. Feedback of sellers takes part in the fairness, with at most half the weight. Takes less than
    /// 6,000 gas, however long the history is.
    /// @param buyer The account.
    /// @return score The score, 0 to 100.
    function getBuyerScore(address buyer) external view returns (uint8 score);

    /// @notice Returns the tier of a buyer, from both records.
    /// @dev The highest tier whose conditions all hold (protocol, section 3); `new` if none does.
    /// @param buyer The account.
    /// @return tier `new`, `verified`, `trusted` or `premium`.
    function getBuyerTier(address buyer) external view returns (string memory tier);
}
