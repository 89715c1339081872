// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @dev A payment that the attestor records, in one word of calldata and of the log.
/// ```
///   255          96 | 95        40 | 39        8 | 7          0
///   buyer           | amount       | paidAt      | position
/// ```
/// `amount` is in millionths of a dollar, and `paidAt` is a Unix timestamp. `position` is the number of the
/// transaction's logs before that of the payment; 255 means the whole transaction, and 0 to 254 a single payment in it.
type AttestedPayment is uint256;

/// @dev The recorded payments of a transaction: bit i for position i, or all bits for the whole transaction.
struct TransactionRecord {
    uint256 positions;
}

/// @dev The highest amount of an attested payment, in millionths of a dollar, which is about 72 billion dollars.
uint256 constant MAX_ATTESTED_AMOUNT = 2 ** 56 - 1;

/// @dev The position that stands for the whole transaction.
uint8 constant WHOLE_TRANSACTION = 255;

using AttestedPayments for AttestedPayment global;

/// @title Packs and unpacks an attested payment
library AttestedPayments {
    uint256 private constant PAID_AT_OFFSET = 8;
    uint256 private constant AMOUNT_OFFSET = 40;
    uint256 private constant BUYER_OFFSET = 96;

    /// @dev Packs a payment that stands for its whole transaction. `amount` is at most `MAX_ATTESTED_AMOUNT`.
    function whole(address payer, uint256 paid, uint256 time) internal pure returns (AttestedPayment payment) {
        assembly ("memory-safe") {
            payment := or(or(shl(96, payer), shl(40, paid)), or(shl(8, time), 255))
        }
    }

    /// @dev Returns the buyer's address as a number, which is cheaper to compare.
    function buyerBits(AttestedPayment self) internal pure returns (uint256) {
        return AttestedPayment.unwrap(self) >> BUYER_OFFSET;
    }

    function amount(AttestedPayment self) internal pure returns (uint256) {
        return uint56(AttestedPayment.unwrap(self) >> AMOUNT_OFFSET);
    }

    function paidAt(AttestedPayment self) internal pure returns (uint256) {
        return uint32(AttestedPayment.unwrap(self) >> PAID_AT_OFFSET);
    }

    function position(AttestedPayment self) internal pure returns (uint8) {
        return uint8(AttestedPayment.unwrap(self));
    }
}

/// @dev Returns the bits that a position occupies in a transaction's word, which are all of them for the whole
/// transaction. A branch would cost 40 gas more.
function positionMask(uint256 position) pure returns (uint256 mask) {
    assembly ("memory-safe") {
        mask := or(shl(position, 1), sub(0, eq(position, 255)))
    }
}
