// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @dev What one client's feedback for one agent amounts to, in one word, so that a summary need not walk it.
/// ```
///   255           96 | 95        72 | 71       64 | 63          32 | 31       0
///   activeSum        | unused       | decimals    | activeCount    | lastIndex
/// ```
/// `active` is feedback that is not revoked. `activeSum` is the signed sum of its values as they are, without regard
/// to their decimals, and so means something only while `decimals` is not 255, which says that they are mixed. 2^32
/// values of at most 1e38 < 2^127 fit its 160 bits.
type ClientLedger is uint256;

/// @dev The most feedback that one client can give one agent.
uint256 constant MAX_FEEDBACK_INDEX = 2 ** 32 - 1;

using ClientLedgers for ClientLedger global;

/// @title What a client's ledger says, and how it is kept
library ClientLedgers {
    /// @dev Stands for decimals when active feedback differs in them.
    uint256 private constant MIXED = 255;

    uint256 private constant COUNT_OFFSET = 32;
    uint256 private constant DECIMALS_OFFSET = 64;
    uint256 private constant SUM_OFFSET = 96;

    /// @dev The ledger after one more feedback. `lastIndex` is below `MAX_FEEDBACK_INDEX`. Feedback with other decimals
    /// makes the ledger mixed, until all is revoked and the next feedback starts anew.
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
        // The sum stands on top: what its addition carries out of the word is what two's complement drops.
        unchecked {
            return ClientLedger.wrap(word + 1 + (1 << COUNT_OFFSET) + (uint256(int256(value)) << SUM_OFFSET));
        }
    }

    /// @dev The ledger after one active feedback was revoked.
    function withoutFeedback(ClientLedger self, int128 value) internal pure returns (ClientLedger ledger) {
        unchecked {
            return
                ClientLedger.wrap(
                    ClientLedger.unwrap(self) - (1 << COUNT_OFFSET) - (uint256(int256(value)) << SUM_OFFSET)
                );
        }
    }

    /// @dev The index of the client's last feedback; 0: none yet.
    function lastIndex(ClientLedger self) internal pure returns (uint64) {
        return uint32(ClientLedger.unwrap(self));
    }

    /// @dev The index of the client's next feedback.
    function nextIndex(ClientLedger self) internal pure returns (uint64) {
        unchecked {
            return self.lastIndex() + 1;
        }
    }

    function activeCount(ClientLedger self) internal pure returns (uint256) {
        return uint32(ClientLedger.unwrap(self) >> COUNT_OFFSET);
    }

    /// @dev Whether active feedback differs in decimals, or did since there was last none.
    function isMixed(ClientLedger self) internal pure returns (bool) {
        return self.decimals() == MIXED;
    }

    /// @dev The decimals of all active feedback.
    function decimals(ClientLedger self) internal pure returns (uint256) {
        return uint8(ClientLedger.unwrap(self) >> DECIMALS_OFFSET);
    }

    function activeSum(ClientLedger self) internal pure returns (int256) {
        return int256(ClientLedger.unwrap(self)) >> SUM_OFFSET;
    }
}
