// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IReputationRegistry} from "../interfaces/IReputationRegistry.sol";

/// @dev Values that are being averaged: for each of the decimals 0 to 18, the sum and number of those that have them,
/// in one word. Kept apart like this a value is added as it is, without an exponentiation to scale it.
/// ```
///   255      64 | 63        0
///   sum, signed | number
/// ```
/// Nothing overflows: a value is at most 1e38 < 2^127, so that 2^64 of them sum to less than 2^191; scaled to 18
/// decimals, less than 2^251. A list of clients that are good for 2^64 feedbacks fits no calldata.
struct Tally {
    uint256 count;
    uint256[19] words;
}

using Tallies for Tally global;

/// @title The average of values with different decimals, as ERC-8004 defines it
library Tallies {
    uint256 private constant WAD_DECIMALS = 18;
    uint256 private constant SUM_OFFSET = 64;

    /// @dev Adds `number` values that have the same decimals, at most 18, and this sum.
    function add(Tally memory self, uint256 decimals, int256 sum, uint256 number) internal pure {
        unchecked {
            self.count += number;
            self.words[decimals] += (uint256(sum) << SUM_OFFSET) + number;
        }
    }

    /// @dev The number of values, their average scaled to the most frequent decimals, and these: the smallest of those
    /// that are equally frequent. Each value is scaled to 18 decimals; the sum is divided by the number, then scaled;
    /// both divisions are toward zero. All is zero if there are no values.
    /// Reverts with `SummaryTooLarge` if the average exceeds the 128 bits that the surface has for it.
    function average(Tally memory self) internal pure returns (uint64 count, int128 value, uint8 decimals) {
        count = uint64(self.count);
        if (count == 0) return (0, 0, 0);
        uint64 seen = 0;
        uint64 highest = 0;
        int256 wadSum = 0;
        unchecked {
            for (uint256 i = 0; seen < count; ++i) {
                uint256 word = self.words[i];
                uint64 number = uint64(word);
                if (number == 0) continue;
                seen += number;
                wadSum += (int256(word) >> SUM_OFFSET) * int256(10 ** (WAD_DECIMALS - i));
                if (number > highest) (highest, decimals) = (number, uint8(i));
            }
            int256 wadAverage = wadSum / int256(uint256(count));
            int256 exact = wadAverage / int256(10 ** (WAD_DECIMALS - decimals));
            value = int128(exact);
            require(value == exact, IReputationRegistry.SummaryTooLarge(exact, decimals));
        }
    }
}
