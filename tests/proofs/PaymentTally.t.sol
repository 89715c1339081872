// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {PaymentTallies, PaymentTally} from "../../contracts/libraries/PaymentTally.sol";
import {Proof} from "./Proof.sol";

/// @title A payment, a review or a vote changes its own fields of a buyer's word, and none carries into another
contract PaymentTallyProof is Proof {
    uint256 private constant MAX_PAYMENTS = type(uint32).max;
    uint256 private constant MAX_VOLUME = type(uint64).max;

    /// @dev A word without payments has neither times nor volume, and no payment is later than the block.
    function check_paymentNowIsAPaymentAtTheTimeOfTheBlock(
        uint256 anything,
        uint64 amount,
        uint32 time
    ) external reachesItsEnd {
        PaymentTally before = PaymentTally.wrap(anything);
        _assumePast(before, time);
        VM.assume(_or(before.payments() != 0, _and(before.volume() == 0, before.lastPaymentAt() == 0)));
        VM.warp(time);
        PaymentTally later = before.withPaymentNow(amount);
        _prove(PaymentTally.unwrap(later) == PaymentTally.unwrap(before.withPayment(amount, time)));
    }

    function check_settlementIsAPaymentNowAndASellersBit(
        uint256 anything,
        uint256 amount,
        uint256 sellerId,
        uint32 time
    ) external reachesItsEnd {
        PaymentTally before = PaymentTally.wrap(anything);
        _assumePast(before, time);
        VM.warp(time);
        PaymentTally later = before.withSettlement(amount, sellerId);
        _prove(uint160(PaymentTally.unwrap(later)) == uint160(PaymentTally.unwrap(before.withPayment(amount, time))));
        _prove(later.sellerBits() == before.sellerBits() | (1 << (sellerId % PaymentTallies.SELLER_BITS)));
    }

    /// @dev Any word, any amount, and any time that fits: number and volume stop at their highest values.
    function check_paymentChangesFourFields(
        uint256 anything,
        uint256 amount,
        uint32 paidAt
    ) external view reachesItsEnd {
        VM.assume(paidAt != 0);
        PaymentTally before = PaymentTally.wrap(anything);
        PaymentTally later = before.withPayment(amount, paidAt);
        _proveCounted(before, later, amount);
        uint256 first = before.firstPaymentAt();
        _prove(later.firstPaymentAt() == _select(_or(first == 0, paidAt < first), paidAt, first));
        uint256 last = before.lastPaymentAt();
        _prove(later.lastPaymentAt() == _select(paidAt > last, paidAt, last));
        _prove(later.sellerBits() == before.sellerBits());
    }

    /// @dev After a payment, the word has a payment, and its first one is not later than its last: the words of the
    /// proofs above stay of their kind.
    function check_paymentKeepsTheOrderOfTimes(
        uint256 anything,
        uint256 amount,
        uint32 paidAt
    ) external view reachesItsEnd {
        PaymentTally before = PaymentTally.wrap(anything);
        VM.assume(paidAt != 0);
        VM.assume(_or(before.payments() == 0, before.firstPaymentAt() != 0));
        VM.assume(_or(before.payments() != 0, _and(before.firstPaymentAt() == 0, before.lastPaymentAt() == 0)));
        VM.assume(before.firstPaymentAt() <= before.lastPaymentAt());
        PaymentTally later = before.withPayment(amount, paidAt);
        _prove(later.payments() != 0 && later.firstPaymentAt() != 0);
        _prove(later.firstPaymentAt() <= later.lastPaymentAt());
    }

    function check_reviewsReplaceThreeFields(
        uint256 anything,
        uint16 reviews,
        uint24 sum,
        uint16 disputes
    ) external view reachesItsEnd {
        PaymentTally before = PaymentTally.wrap(anything);
        PaymentTally later = before.withReviews(reviews, sum, disputes);
        _prove(later.reviews() == reviews && later.reviewSum() == sum && later.disputes() == disputes);
        _prove(later.feedbackSellers() == before.feedbackSellers() && later.feedbackSum() == before.feedbackSum());
        _proveSamePayments(before, later);
    }

    /// @dev The registry takes no vote above 100, and no first vote when the number of sellers is at its highest.
    function check_firstVoteAddsOneSellerAndItsScore(uint256 anything, uint8 score) external view reachesItsEnd {
        PaymentTally before = PaymentTally.wrap(anything);
        _assumeVotes(before, score);
        VM.assume(before.feedbackSellers() < PaymentTallies.MAX_SELLERS);
        PaymentTally later = before.withFirstVote(score);
        _prove(later.feedbackSellers() == before.feedbackSellers() + 1);
        _prove(later.feedbackSum() == before.feedbackSum() + score);
        _prove(later.feedbackSum() <= 100 * later.feedbackSellers());
        _proveSameReviews(before, later);
        _proveSamePayments(before, later);
    }

    function check_laterVoteReplacesTheFormerOne(
        uint256 anything,
        uint8 former,
        uint8 score
    ) external view reachesItsEnd {
        PaymentTally before = PaymentTally.wrap(anything);
        _assumeVotes(before, score);
        // The former vote is one of those that the sum has, and the others are at most 100 each.
        VM.assume(before.feedbackSellers() != 0 && former <= before.feedbackSum());
        VM.assume(before.feedbackSum() - former <= 100 * (before.feedbackSellers() - 1));
        PaymentTally later = before.withVote(former, score);
        _prove(later.feedbackSum() == before.feedbackSum() - former + score);
        _prove(later.feedbackSum() <= 100 * later.feedbackSellers());
        _prove(later.feedbackSellers() == before.feedbackSellers());
        _proveSameReviews(before, later);
        _proveSamePayments(before, later);
    }

    /// @dev Different words differ in a field: every bit belongs to one field.
    function check_partsTellWordsApart(uint256 one, uint256 other) external view reachesItsEnd {
        (PaymentTally a, PaymentTally b) = (PaymentTally.wrap(one), PaymentTally.wrap(other));
        VM.assume(a.payments() == b.payments() && a.volume() == b.volume());
        VM.assume(a.firstPaymentAt() == b.firstPaymentAt() && a.lastPaymentAt() == b.lastPaymentAt());
        VM.assume(a.reviews() == b.reviews() && a.reviewSum() == b.reviewSum() && a.disputes() == b.disputes());
        VM.assume(a.feedbackSellers() == b.feedbackSellers() && a.feedbackSum() == b.feedbackSum());
        _prove(one == other);
    }

    /// @dev Excludes words whose payments are later than a time, or that have times without payments.
    function _assumePast(PaymentTally tally, uint32 time) private pure {
        VM.assume(time != 0 && tally.firstPaymentAt() <= time && tally.lastPaymentAt() <= time);
        VM.assume((tally.payments() == 0) == (tally.firstPaymentAt() == 0));
    }

    /// @dev Excludes words whose sum of votes is higher than the number of sellers allows.
    function _assumeVotes(PaymentTally tally, uint8 score) private pure {
        VM.assume(score <= 100 && tally.feedbackSum() <= 100 * tally.feedbackSellers());
    }

    /// @dev Asserts that number and volume grew by one payment, or stopped at their highest values.
    function _proveCounted(PaymentTally before, PaymentTally later, uint256 amount) private pure {
        (uint256 payments, uint256 volume) = (before.payments(), before.volume());
        _prove(later.payments() == _select(payments == MAX_PAYMENTS, MAX_PAYMENTS, payments + 1));
        uint256 room = MAX_VOLUME - volume;
        _prove(later.volume() == volume + _select(amount > room, room, amount));
    }

    /// @dev Asserts that the lower part of a word, that of the payments, is the same.
    function _proveSamePayments(PaymentTally before, PaymentTally later) private pure {
        _prove(uint160(PaymentTally.unwrap(before)) == uint160(PaymentTally.unwrap(later)));
    }

    /// @dev Asserts that reviews and disputes are the same.
    function _proveSameReviews(PaymentTally before, PaymentTally later) private pure {
        _prove(later.reviews() == before.reviews() && later.reviewSum() == before.reviewSum());
        _prove(later.disputes() == before.disputes());
    }
}
