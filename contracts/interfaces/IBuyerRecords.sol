// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title The records of buyers
/// @notice Returns everything that the registry knows about a buyer, and therefore everything on which the buyer's
/// score is based.
/// @dev Sample:
/// ```
/// (SettledRecord memory settled, AttestedRecord memory attested) = registry.recordsOf(buyer);
/// ```
interface IBuyerRecords {
    /// @notice The settled record of a buyer.
    /// @param payments The number of payments, up to 2^32 - 1.
    /// @param volume The sum of their amounts in millionths of a dollar, up to 2^64 - 1.
    /// @param firstPaymentAt The time of the first payment, as a Unix timestamp; 0 if there is none.
    /// @param lastPaymentAt The time of the last payment, as a Unix timestamp; 0 if there is none.
    /// @param minimumSellers A lower bound on the number of different sellers that were paid, at most 96.
    struct SettledRecord {
        uint256 payments;
        uint256 volume;
        uint256 firstPaymentAt;
        uint256 lastPaymentAt;
        uint256 minimumSellers;
    }

    /// @notice The attested record of a buyer.
    /// @param payments The number of payments, up to 2^32 - 1.
    /// @param volume The sum of their amounts in millionths of a dollar, up to 2^64 - 1.
    /// @param firstPaymentAt The time of the earliest payment, as a Unix timestamp; 0 if there is none.
    /// @param lastPaymentAt The time of the latest payment, as a Unix timestamp; 0 if there is none.
    /// @param reviews The number of reviews that the buyer has given.
    /// @param reviewSum The sum of their scores.
    /// @param feedbackSellers The number of sellers that have given feedback on the buyer.
    /// @param feedbackSum The sum of their votes.
    /// @param disputes The number of disputes.
    struct AttestedRecord {
        uint256 payments;
        uint256 volume;
        uint256 firstPaymentAt;
        uint256 lastPaymentAt;
        uint256 reviews;
        uint256 reviewSum;
        uint256 feedbackSellers;
        uint256 feedbackSum;
        uint256 disputes;
    }

    /// @notice Returns both records of a buyer.
    /// @dev `minimumSellers` counts the distinct values of the sellers' ids modulo 96. Two sellers with the same value
    /// count once, so the true number is never lower.
    /// @param buyer The account.
    /// @return settled The settled record; all zeros for an unknown account.
    /// @return attested The attested record; all zeros for an unknown account.
    function recordsOf(
        address buyer
    ) external view returns (SettledRecord memory settled, AttestedRecord memory attested);

    /// @notice Returns the tier of a buyer, from both records.
    /// @param buyer The account.
    /// @return tier The tier, whose name `getBuyerTier` returns.
    function buyerTierOf(address buyer) external view returns (BuyerTier tier);
}
