// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @dev The count and sum of one client's feedback for one agent, in one word. A summary can read it instead of the
/// feedback.
/// ```
///   255           96 | 95        72 | 71       64 | 63          32 | 31       0
///   activeSum        | unused       | decimals    | activeCount    | lastIndex
/// ```
/// Active feedback is feedback that is not revoked. `activeSum` is the signed sum of its values, ignoring their
/// decimals. The sum is valid unless `decimals` is 255, which means mixed decimals. 2^32 values of at most 1e38 < 2^127
/// fit into its 160 bits.
type ClientLedger is uint256;

/// @dev The maximum number of feedback entries that one client can give one agent.
uint256 constant MAX_FEEDBACK_INDEX = 2 ** 32 - 1;

using ClientLedgers for ClientLedger global;

/// @title Reads and updates a client's ledger
library ClientLedgers {
    /// @dev The value of `decimals` for active feedback with different decimals.
    uint256 private constant MIXED = 255;

    uint256 private constant COUNT_OFFSET = 32;
    uint256 private constant DECIMALS_OFFSET = 64;
    uint256 private constant SUM_OFFSET = 96;

    /// @dev Returns the ledger after one more feedback entry. `lastIndex` must be below `MAX_FEEDBACK_INDEX`. An entry
    /// with different decimals makes the ledger mixed, until all feedback is revoked and the next entry starts afresh.
    function withFeedback(
        ClientLedger self,
        int128 value,
        uint8 valueDecimals
    ) internal pure returns (ClientLedger ledger) {
        uint256 word = ClientLedger.unwrap(self);
        uint256 kept = word & (MIXED << DECIMALS_OFFSET);
        uint256 given = uint256(valueDecimals) << DECIMALS_OFFSET;
        if (kept != given) {
            if (self.activeCount() != 0) given = MIXED << DECIMALS_OFFSET;
            word = (word ^ kept) | given;
        }
        // The sum is in the highest bits, so its carry is dropped, as two's complement requires.
        unchecked {
            return ClientLedger.wrap(word + 1 + (1 << COUNT_OFFSET) + (uint256(int256(value)) << SUM_OFFSET));
        }
    }

    /// @dev Returns the ledger after the revocation of one active entry.
    function withoutFeedback(ClientLedger self, int128 value) internal pure returns (ClientLedger ledger) {
        unchecked {
            return
                ClientLedger.wrap(
                    ClientLedger.unwrap(self) - (1 << COUNT_OFFSET) - (uint256(int256(value)) << SUM_OFFSET)
                );
        }
    }

    /// @dev Returns the index of the client's last feedback entry; 0 if there is none yet.
    function lastIndex(ClientLedger self) internal pure returns (uint64) {
        return uint32(ClientLedger.unwrap(self));
    }

    /// @dev Returns the index of the client's next feedback entry.
    function nextIndex(ClientLedger self) internal pure returns (uint64) {
        unchecked {
            return self.lastIndex() + 1;
        }
    }

    function activeCount(ClientLedger self) internal pure returns (uint256) {
        return uint32(ClientLedger.unwrap(self) >> COUNT_OFFSET);
    }

    /// @dev Returns true if active feedback has different decimals, or has had them since there last was no active
    /// feedback.
    function isMixed(ClientLedger self) internal pure returns (bool) {
        return self.decimals() == MIXED;
    }

    /// @dev Returns the decimals of all active feedback; 255 if they differ.
    function decimals(ClientLedger self) internal pure returns (uint256) {
        return uint8(ClientLedger.unwrap(self) >> DECIMALS_OFFSET);
    }

    function activeSum(ClientLedger self) internal pure returns (int256) {
        return int256(ClientLedger.unwrap(self)) >> SUM_OFFSET;
    }
}
