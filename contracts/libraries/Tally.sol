// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @dev Values to be averaged. Each number of decimals from 0 to 18 has one word, with the sum and the number of its
/// values.
/// ```
///   255      64 | 63        0
///   sum, signed | number
/// ```
/// Values with different decimals are kept separate, so adding a value takes no exponentiation to scale it. Nothing can
/// overflow: a value is at most 1e38 < 2^127, so 2^64 of them add up to less than 2^191. Scaled to 18 decimals, the sum
/// is less than 2^251. No calldata can list clients with 2^64 feedback entries.
struct Tally {
    uint256 count;
    uint256[19] words;
}

using Tallies for Tally global;

/// @title The average of values with different decimals, as ERC-8004 defines it
library Tallies {
    uint256 private constant WAD_DECIMALS = 18;
    uint256 private constant SUM_OFFSET = 64;

    /// @dev Adds `number` values with the same decimals, at most 18, that add up to `sum`.
    function add(Tally memory self, uint256 decimals, int256 sum, uint256 number) internal pure {
        unchecked {
            self.count += number;
            self.words[decimals] += (uint256(sum) << SUM_OFFSET) + number;
        }
    }

    /// @dev Returns the number of values, their average, and the average's decimals; zeros if there are no values. The
    /// values are scaled to 18 decimals, summed, and divided by their number. The average is then scaled to the most
    /// frequent number of decimals, or the smallest one in a tie. Both divisions round toward zero. If the average with
    /// these decimals exceeds 128 bits, it has the most decimals with which it fits. It always fits with 0 decimals,
    /// because no value exceeds 1e38.
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
