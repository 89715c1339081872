// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @dev The payments of a buyer, in the lower part of a word.
/// ```
///   255            160 | 159         128 | 127          96 | 95         32 | 31         0
///   of the two records | lastPaymentAt   | firstPaymentAt  | volume        | payments
/// ```
/// `volume` is in millionths of a dollar. The times are Unix timestamps and last until 2106; 0 means that there is no
/// payment. `payments` and `volume` saturate at their highest values. The upper part of the settled record contains:
/// ```
///   255                                                  160
///   sellers: bit i for sellers whose id leaves remainder i by 96
/// ```
/// and that of the attested record:
/// ```
///   255       240 | 239         216 | 215              200 | 199       176 | 175     160
///   disputes      | feedbackSum     | feedbackSellers      | reviewSum     | reviews
/// ```
type PaymentTally is uint256;

/// @dev A record in storage. It is a struct because structs have storage references, which save a hash when the word is
/// read and then written.
struct BuyerRecord {
    PaymentTally tally;
}

using PaymentTallies for PaymentTally global;

/// @title Reads and updates a buyer's word
library PaymentTallies {
    /// @dev The number of remainders of sellers' ids that the settled record distinguishes.
    uint256 internal constant SELLER_BITS = 96;

    /// @dev The maximum number of sellers whose votes fit into a record.
    uint256 internal constant MAX_SELLERS = type(uint16).max;

    uint256 private constant VOLUME_OFFSET = 32;
    uint256 private constant FIRST_OFFSET = 96;
    uint256 private constant LAST_OFFSET = 128;
    uint256 private constant UPPER_OFFSET = 160;
    uint256 private constant REVIEW_SUM_OFFSET = 176;
    uint256 private constant SELLERS_OFFSET = 200;
    uint256 private constant FEEDBACK_SUM_OFFSET = 216;
    uint256 private constant DISPUTES_OFFSET = 240;

    /// @dev 2^128, which turns a time into the field of the last time when multiplied by it.
    uint256 private constant LAST = 0x100000000000000000000000000000000;

    /// @dev 2^128 + 2^96, which turns a time into the fields of both times when multiplied by it.
    uint256 private constant FIRST_AND_LAST = 0x100000001000000000000000000000000;

    /// @dev Like `withPayment`, for a payment at the time of the block whose amount fits into 64 bits. A buyer's first
    /// payment sets four zero fields in one addition. No recorded payment can be later, so each later payment replaces
    /// the last time. This saves 60 gas, and 100 gas for the first payment.
    function withPaymentNow(PaymentTally self, uint256 amount) internal view returns (PaymentTally tally) {
        assembly ("memory-safe") {
            let count := and(self, 0xffffffff)
            switch count
            case 0 {
                tally := add(self, or(mul(timestamp(), FIRST_AND_LAST), or(shl(32, amount), 1)))
            }
            default {
                let room := and(not(shr(32, self)), 0xffffffffffffffff)
                if lt(room, amount) {
                    amount := room
                }
                tally := add(add(self, shl(32, amount)), lt(count, 0xffffffff))
                tally := or(and(tally, not(shl(128, 0xffffffff))), shl(128, timestamp()))
            }
        }
    }

    /// @dev Returns a settled record's word after one more payment to a seller. Equals `withPaymentNow` plus the
    /// seller's bit. Because this is a separate function, the compiler inlines both functions, which saves 40 gas.
    function withSettlement(
        PaymentTally self,
        uint256 amount,
        uint256 sellerId
    ) internal view returns (PaymentTally tally) {
        assembly ("memory-safe") {
            let room := and(not(shr(32, self)), 0xffffffffffffffff)
            if lt(room, amount) {
                amount := room
            }
            let count := and(self, 0xffffffff)
            let times := mul(timestamp(), or(LAST, shl(96, iszero(count))))
            tally := or(and(self, not(shl(128, 0xffffffff))), times)
            // slither-disable-next-line incorrect-shift
            tally := or(tally, shl(add(160, mod(sellerId, 96)), 1))
            tally := add(add(tally, shl(32, amount)), lt(count, 0xffffffff))
        }
    }

    /// @dev Returns the word after one more payment. The upper part does not change. `paidAt` must not be 0 and must
    /// fit into 32 bits. Avoiding branches saves 120 gas, and the first time takes only one comparison: it is 0 if
    /// there is no payment yet, and 0 - 1 is the highest number.
    function withPayment(PaymentTally self, uint256 amount, uint256 paidAt) internal pure returns (PaymentTally tally) {
        assembly ("memory-safe") {
            let room := and(not(shr(32, self)), 0xffffffffffffffff)
            amount := xor(amount, mul(xor(amount, room), lt(room, amount)))
            tally := add(self, shl(32, amount))
            tally := add(tally, lt(and(tally, 0xffffffff), 0xffffffff))
            let first := and(shr(96, tally), 0xffffffff)
            tally := xor(tally, shl(96, mul(xor(first, paidAt), lt(sub(paidAt, 1), sub(first, 1)))))
            let last := and(shr(128, tally), 0xffffffff)
            tally := xor(tally, shl(128, mul(xor(last, paidAt), lt(last, paidAt))))
        }
    }

    /// @dev Returns an attested record's word with its reviews and disputes replaced.
    function withReviews(
        PaymentTally self,
        uint16 reviewCount,
        uint24 sum,
        uint16 disputeCount
    ) internal pure returns (PaymentTally) {
        uint256 replaced =
            (uint256(type(uint16).max) << DISPUTES_OFFSET) |
                (uint256(type(uint24).max) << REVIEW_SUM_OFFSET) |
                (uint256(type(uint16).max) << UPPER_OFFSET);
        uint256 word = PaymentTally.unwrap(self) & ~replaced;
        word |= uint256(disputeCount) << DISPUTES_OFFSET;
        return PaymentTally.wrap(word | (uint256(sum) << REVIEW_SUM_OFFSET) | (uint256(reviewCount) << UPPER_OFFSET));
    }

    /// @dev Returns an attested record's word with the first vote of a seller. `feedbackSellers` must be below
    /// `MAX_SELLERS`, so that the sum of votes up to 100 fits into 24 bits.
    function withFirstVote(PaymentTally self, uint256 score) internal pure returns (PaymentTally) {
        unchecked {
            return
                PaymentTally.wrap(PaymentTally.unwrap(self) + (score << FEEDBACK_SUM_OFFSET) + (1 << SELLERS_OFFSET));
        }
    }

    /// @dev Returns an attested record's word with a seller's previous vote replaced by a new one.
    function withVote(PaymentTally self, uint256 former, uint256 score) internal pure returns (PaymentTally) {
        unchecked {
            uint256 word = PaymentTally.unwrap(self) - (former << FEEDBACK_SUM_OFFSET);
            return PaymentTally.wrap(word + (score << FEEDBACK_SUM_OFFSET));
        }
    }

    function payments(PaymentTally self) internal pure returns (uint256) {
        return uint32(PaymentTally.unwrap(self));
    }

    function volume(PaymentTally self) internal pure returns (uint256) {
        return uint64(PaymentTally.unwrap(self) >> VOLUME_OFFSET);
    }

    function firstPaymentAt(PaymentTally self) internal pure returns (uint256) {
        return uint32(PaymentTally.unwrap(self) >> FIRST_OFFSET);
    }

    function lastPaymentAt(PaymentTally self) internal pure returns (uint256) {
        return uint32(PaymentTally.unwrap(self) >> LAST_OFFSET);
    }

    /// @dev Returns the sellers' bits of a settled record.
    function sellerBits(PaymentTally self) internal pure returns (uint256) {
        return PaymentTally.unwrap(self) >> UPPER_OFFSET;
    }

    function reviews(PaymentTally self) internal pure returns (uint256) {
        return uint16(PaymentTally.unwrap(self) >> UPPER_OFFSET);
    }

    function reviewSum(PaymentTally self) internal pure returns (uint256) {
        return uint24(PaymentTally.unwrap(self) >> REVIEW_SUM_OFFSET);
    }

    function feedbackSellers(PaymentTally self) internal pure returns (uint256) {
        return uint16(PaymentTally.unwrap(self) >> SELLERS_OFFSET);
    }

    function feedbackSum(PaymentTally self) internal pure returns (uint256) {
        return uint24(PaymentTally.unwrap(self) >> FEEDBACK_SUM_OFFSET);
    }

    function disputes(PaymentTally self) internal pure returns (uint256) {
        return PaymentTally.unwrap(self) >> DISPUTES_OFFSET;
    }
}
