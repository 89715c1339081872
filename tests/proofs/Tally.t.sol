// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Tally} from "../../contracts/libraries/Tally.sol";
import {Proof} from "./Proof.sol";

/// @title A tally keeps a separate sum and count for each number of decimals
contract TallyProof is Proof {
    /// @dev 2^64 values of at most 1e38 < 2^127 sum to less than this.
    int256 private constant MOST = 2 ** 191;

    /// @dev A value changes the sum and the count of its own decimals, and no others.
    function check_addingTouchesOneWord(
        uint256[19] calldata anything,
        int256 sum,
        uint64 number,
        uint64 count
    ) external view reachesItsEnd {
        VM.assume(sum >= -MOST && sum < MOST);
        for (uint256 decimals = 0; decimals < 19; ++decimals) {
            Tally memory tally;
            tally.count = count;
            tally.words = anything;
            (int256 formerSum, uint256 formerNumber) = _read(anything[decimals]);
            VM.assume(formerSum + sum >= -MOST && formerSum + sum < MOST);
            VM.assume(formerNumber + number <= type(uint64).max);

            tally.add(decimals, sum, number);
            (int256 newSum, uint256 newNumber) = _read(tally.words[decimals]);
            _prove(newSum == formerSum + sum && newNumber == formerNumber + number);
            _prove(tally.count == uint256(count) + number);
            for (uint256 other = 0; other < 19; ++other) {
                if (other != decimals) _prove(tally.words[other] == anything[other]);
            }
        }
    }

    /// @dev Returns the word, in the layout of `Tally`.
    function _read(uint256 word) private pure returns (int256 sum, uint256 number) {
        return (int256(word) >> 64, uint64(word));
    }
}
