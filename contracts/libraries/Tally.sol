// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @dev Values to average. Each of the decimals 0 to 18 has one word: the sum and the number of its values.
/// ```
///   255      64 | 63        0
///   sum, signed | number
/// ```
/// Values of different decimals stay apart, so adding one needs no exponentiation to scale it.
/// Nothing overflows: a value is at most 1e38 < 2^127, so 2^64 of them sum to less than 2^191. Scaled to 18 decimals,
/// the sum is less than 2^251. No calldata can list clients with 2^64 feedbacks.
struct Tally {
    uint256 count;
    uint256[19] words;
}

using Tallies for Tally global;

/// @title The average of values with different decimals, as ERC-8004 defines it
library Tallies {
    uint256 private constant WAD_DECIMALS = 18;
    uint256 private constant SUM_OFFSET = 64;

    /// @dev Adds `number` values with the same decimals, at most 18, that sum to `sum`.
    function add(Tally memory self, uint256 decimals, int256 sum, uint256 number) internal pure {
        unchecked {
            self.count += number;
            self.words[decimals] += (uint256(sum) << SUM_OFFSET) + number;
        }
    }

    /// @dev Returns the number of values, their average, and the average's decimals; zeros if there are no values.
    /// The values are scaled to 18 decimals, summed, and divided by their number. The average is then scaled to the
    /// most frequent decimals, the smallest of equally frequent ones. Both divisions round toward zero.
    /// If the average at these decimals exceeds 128 bits, it has the most decimals with which it fits. It fits with 0
    /// decimals, since no value exceeds 1e38.
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
            while (value != exact) {
                exact = wadAverage / int256(10 ** (WAD_DECIMALS - --decimals));
                value = int128(exact);
            }
        }
    }
}
