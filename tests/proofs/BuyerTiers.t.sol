// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {BuyerScore, BuyerTier} from "../../contracts/libraries/BuyerScore.sol";
import {Proof} from "./Proof.sol";

/// @title The tier of a buyer is that of the specification, and a better record never has a lower one
/// @notice Fairness is `fair` of `whole`. Reviews and sellers are at most 2^16, so both are below 2^46.
contract BuyerTiersProof is Proof {
    uint256 private constant DOLLAR = 1_000_000;
    uint256 private constant MOST_PAYMENTS = 2 ** 34;
    uint256 private constant MOST_DISPUTES = 2 ** 16;
    uint256 private constant MOST_WHOLE = 2 ** 46;

    function check_tierIsTheHighestWhoseConditionsHold(
        uint256 payments,
        uint256 volume,
        uint256 disputes,
        uint256 fair,
        uint256 whole
    ) external view reachesItsEnd {
        _assumeCounts(payments, disputes, fair, whole);
        BuyerTier tier = BuyerScore.tierOf(payments, volume, disputes, fair, whole);
        bool isVerified = _and(payments >= 3, volume >= 10 * DOLLAR);
        bool isTrusted = _and(_and(payments >= 10, volume >= 50 * DOLLAR), fair >= 60 * whole);
        bool isPremium = _and(_and(payments >= 50, volume >= 500 * DOLLAR), fair >= 70 * whole);
        isPremium = _and(isPremium, disputes * 100 < 5 * payments);
        _prove((tier == BuyerTier.Premium) == isPremium);
        _prove((tier >= BuyerTier.Trusted) == isTrusted);
        _prove((tier >= BuyerTier.Verified) == isVerified);
    }

    function check_betterRecordNeverHasALowerTier(
        uint256 payments,
        uint256 volume,
        uint256 disputes,
        uint256 fair,
        uint256 whole,
        uint256[4] calldata more
    ) external view reachesItsEnd {
        _assumeCounts(payments, disputes, fair, whole);
        VM.assume(more[0] >= payments && more[0] < MOST_PAYMENTS && more[1] >= volume);
        VM.assume(more[2] <= disputes && more[3] >= fair && more[3] <= 100 * whole);
        BuyerTier tier = BuyerScore.tierOf(payments, volume, disputes, fair, whole);
        _prove(BuyerScore.tierOf(more[0], more[1], more[2], more[3], whole) >= tier);
    }

    /// @dev Excludes counts that no record can have.
    function _assumeCounts(uint256 payments, uint256 disputes, uint256 fair, uint256 whole) private pure {
        VM.assume(payments < MOST_PAYMENTS && disputes < MOST_DISPUTES);
        VM.assume(whole != 0 && whole < MOST_WHOLE && fair <= 100 * whole);
    }
}
