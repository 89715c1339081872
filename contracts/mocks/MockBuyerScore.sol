// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {BuyerScore, BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Opens the library of buyers' scores to tests with any metrics
contract MockBuyerScore {
    /// @notice Returns the score and the tier for metrics.
    /// @param payments The number of payments.
    /// @param volume The sum of their amounts, in millionths of a dollar.
    /// @param ageDays The full days since the first payment.
    /// @param disputes The number of disputes.
    /// @param reviews The number of reviews, the sum of their scores, the number of votes, and their sum.
    /// @return score The score.
    /// @return tier The tier.
    /// @return fair The fairness' numerator.
    /// @return whole The fairness' denominator.
    function judge(
        uint256 payments,
        uint256 volume,
        uint256 ageDays,
        uint256 disputes,
        uint256[4] calldata reviews
    ) external pure returns (uint256 score, BuyerTier tier, uint256 fair, uint256 whole) {
        (fair, whole) = BuyerScore.fairnessOf(reviews[0], reviews[1], reviews[2], reviews[3]);
        score = BuyerScore.scoreOf(payments, volume, ageDays, disputes, fair, whole);
        tier = BuyerScore.tierOf(payments, volume, disputes, fair, whole);
    }

    /// @notice Returns the score and the tier for metrics and a fairness of any votes, such as the means of sellers.
    /// @param payments The number of payments.
    /// @param volume The sum of their amounts, in millionths of a dollar.
    /// @param ageDays The full days since the first payment.
    /// @param disputes The number of disputes.
    /// @param fair The fairness' numerator.
    /// @param whole The fairness' denominator.
    /// @return score The score.
    /// @return tier The tier.
    function judgeFairness(
        uint256 payments,
        uint256 volume,
        uint256 ageDays,
        uint256 disputes,
        uint256 fair,
        uint256 whole
    ) external pure returns (uint256 score, BuyerTier tier) {
        score = BuyerScore.scoreOf(payments, volume, ageDays, disputes, fair, whole);
        tier = BuyerScore.tierOf(payments, volume, disputes, fair, whole);
    }
}
