// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {FixedPointMathLib} from "solady/src/utils/FixedPointMathLib.sol";

/// @dev The tiers of buyers, lowest first: `new`, `verified`, `trusted`, `premium`.
enum BuyerTier {
    New,
    Verified,
    Trusted,
    Premium
}

/// @title Score and tier of a buyer (Buyer Reputation Protocol, sections 2 and 3)
/// @notice The arithmetic is exact: all terms have the same denominator, and a single division at the end rounds half
/// up. Rounding each term separately would miss halves to which several fractions add up. `bilateral.buyers.score` is
/// the same function in Python, and one file of test vectors covers both.
library BuyerScore {
    /// @dev The volume beyond which there are no more points: a thousand dollars.
    uint256 private constant FULL_VOLUME = 1_000_000_000;

    uint256 private constant DOLLAR = 1_000_000;

    /// @dev The common denominator of the points for payments, volume and age.
    uint256 private constant UNIT = 50_000_000 * 73;

    /// @dev The highest number of reviews, and of votes, that adds weight to the fairness.
    uint256 private constant MAX_WEIGHT = 20;

    /// @dev Returns the score, 0 to 100.
    /// ```
    ///   3·n/10 + v/50,000,000 + fairness/4 + 15·(p - d)/p + 2·a/73
    /// ```
    /// with `n` = payments up to 100, `v` = volume up to 1e9, `p` = payments, `d` = disputes up to `p` and `a` = days
    /// up to 365. For counts below 2^34, the common denominator (50,000,000 · 4 · 73 · p · that of the fairness) is
    /// below 2^110.
    /// @param payments The number of payments.
    /// @param volume The sum of their amounts, in millionths of a dollar.
    /// @param ageDays The full days since the first payment.
    /// @param disputes The number of disputes.
    /// @param fair The numerator of the fairness.
    /// @param whole The denominator of the fairness.
    function scoreOf(
        uint256 payments,
        uint256 volume,
        uint256 ageDays,
        uint256 disputes,
        uint256 fair,
        uint256 whole
    ) internal pure returns (uint256 score) {
        if (payments == 0) return 0;
        unchecked {
            // Points for payments, volume and age in units of 1 / (50,000,000 · 73), then all points in the common
            // unit.
            uint256 points = FixedPointMathLib.min(payments, 100) * 15_000_000;
            points = (points + FixedPointMathLib.min(volume, FULL_VOLUME)) * 73;
            points += FixedPointMathLib.min(ageDays, 365) * 100_000_000;
            points = points * payments + FixedPointMathLib.zeroFloorSub(payments, disputes) * (15 * UNIT);
            uint256 sum = points * whole * 4 + fair * payments * UNIT;
            // Rounds half up: twice the sum plus the denominator, divided by twice the denominator, rounded down.
            uint256 denominator = UNIT * 4 * payments * whole;
            return (2 * sum + denominator) / (2 * denominator);
        }
    }

    /// @dev Returns the highest tier whose conditions are all met. The parameters are those of `scoreOf`.
    function tierOf(
        uint256 payments,
        uint256 volume,
        uint256 disputes,
        uint256 fair,
        uint256 whole
    ) internal pure returns (BuyerTier tier) {
        if (payments < 3 || volume < 10 * DOLLAR) return BuyerTier.New;
        unchecked {
            if (payments < 10 || volume < 50 * DOLLAR || fair < 60 * whole) return BuyerTier.Verified;
            bool isPremium = payments >= 50 && volume >= 500 * DOLLAR && fair >= 70 * whole && disputes * 20 < payments;
            return isPremium ? BuyerTier.Premium : BuyerTier.Trusted;
        }
    }

    /// @dev Returns the effective fairness, 0 to 100, as a fraction; 0/1 if there are no reviews. Section 2.3 gives
    /// `100 - 2·|average - 65|`, which here is at least 0. Sellers' votes contribute as section 7 requires: reviews
    /// have a weight of up to 20, and so have votes, but never more than the reviews.
    /// @param reviews The number of reviews that the buyer has given.
    /// @param reviewSum The sum of their scores, each 0 to 100.
    /// @param sellers The number of sellers that have given feedback on the buyer.
    /// @param feedbackSum The sum of their votes, each 0 to 100.
    function fairnessOf(
        uint256 reviews,
        uint256 reviewSum,
        uint256 sellers,
        uint256 feedbackSum
    ) internal pure returns (uint256 fair, uint256 whole) {
        if (reviews == 0) return (0, 1);
        unchecked {
            uint256 loss = 2 * FixedPointMathLib.dist(reviewSum, 65 * reviews);
            fair = FixedPointMathLib.zeroFloorSub(100 * reviews, loss);
            if (sellers == 0) return (fair, reviews);
            uint256 reviewWeight = FixedPointMathLib.min(reviews, MAX_WEIGHT);
            uint256 voteWeight = FixedPointMathLib.min(sellers, reviewWeight);
            fair = reviewWeight * fair * sellers + voteWeight * feedbackSum * reviews;
            return (fair, reviews * sellers * (reviewWeight + voteWeight));
        }
    }

    /// @dev Returns the protocol's name of a tier.
    function nameOf(BuyerTier tier) internal pure returns (string memory name) {
        if (tier == BuyerTier.New) return "new";
        if (tier == BuyerTier.Verified) return "verified";
        return tier == BuyerTier.Trusted ? "trusted" : "premium";
    }
}
