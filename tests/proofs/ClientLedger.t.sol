// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ClientLedger, MAX_FEEDBACK_INDEX} from "../../contracts/libraries/ClientLedger.sol";
import {Proof} from "./Proof.sol";

/// @title A client's ledger is the sum of its history
contract ClientLedgerProof is Proof {
    int128 private constant MAX_ABS_VALUE = 1e38;
    int256 private constant MOST = 2 ** 159 - 1 - 1e38;

    function check_ledgerOfTwo(
        int128 value1,
        uint8 decimals1,
        int128 value2,
        uint8 decimals2
    ) external view reachesItsEnd {
        ClientLedger ledger = _add(_add(ClientLedger.wrap(0), value1, decimals1), value2, decimals2);
        _assertLedger(ledger, 2, 2, int256(value1) + value2, decimals1 == decimals2 ? decimals1 : 255);
    }

    function check_ledgerOfThree(
        int128 value1,
        uint8 decimals1,
        int128 value2,
        uint8 decimals2,
        int128 value3,
        uint8 decimals3
    ) external view reachesItsEnd {
        ClientLedger ledger = _add(_add(ClientLedger.wrap(0), value1, decimals1), value2, decimals2);
        ledger = _add(ledger, value3, decimals3);
        bool same = decimals1 == decimals2 && decimals2 == decimals3;
        _assertLedger(ledger, 3, 3, int256(value1) + value2 + value3, same ? decimals1 : 255);
    }

    function check_ledgerOfThreeWithOneRevoked(
        int128 value1,
        int128 value2,
        int128 value3,
        uint8 decimals
    ) external view reachesItsEnd {
        ClientLedger ledger = _add(_add(ClientLedger.wrap(0), value1, decimals), value2, decimals);
        ledger = _add(ledger.withoutFeedback(value1), value3, decimals);
        _assertLedger(ledger, 3, 2, int256(value2) + value3, decimals);
    }

    function check_ledgerStartsAnewWhenAllIsRevoked(
        int128 value1,
        uint8 decimals1,
        int128 value2,
        uint8 decimals2
    ) external view reachesItsEnd {
        ClientLedger ledger = _add(ClientLedger.wrap(0), value1, decimals1).withoutFeedback(value1);
        _prove(ledger.activeCount() == 0 && ledger.activeSum() == 0);
        _assertLedger(_add(ledger, value2, decimals2), 2, 1, value2, decimals2);
    }

    /// @dev Three feedbacks, each revoked at any later time or never. The ledger equals the sum of the active ones.
    function check_ledgerOfThreeWithAnyRevoked(
        int128[3] calldata values,
        uint8[3] calldata decimals,
        uint8[3] calldata revokedAfter
    ) external view reachesItsEnd {
        ClientLedger ledger = ClientLedger.wrap(0);
        bool[3] memory active;
        uint256 kept = 0;
        uint256 count = 0;
        for (uint256 i = 0; i < 3; ++i) {
            ledger = _add(ledger, values[i], decimals[i]);
            kept = count == 0 || kept == decimals[i] ? decimals[i] : 255;
            active[i] = true;
            ++count;
            for (uint256 j = 0; j <= i; ++j) {
                if (active[j] && revokedAfter[j] == i) {
                    ledger = ledger.withoutFeedback(values[j]);
                    active[j] = false;
                    --count;
                }
            }
        }
        int256 sum = 0;
        for (uint256 i = 0; i < 3; ++i) {
            if (active[i]) sum += values[i];
        }
        _prove(ClientLedger.unwrap(ledger) == (uint256(sum) << 96) | (kept << 64) | (count << 32) | 3);
    }

    /// @dev One step from any possible ledger: the number of values bounds the sum.
    function check_eachFeedbackAddsItself(uint256 anything, int128 value, uint8 decimals) external view reachesItsEnd {
        ClientLedger ledger = ClientLedger.wrap(anything);
        _assumePossible(ledger);
        ClientLedger next = _add(ledger, value, decimals);
        bool same = ledger.activeCount() == 0 || ledger.decimals() == decimals;
        _assertLedger(
            next,
            ledger.lastIndex() + 1,
            ledger.activeCount() + 1,
            ledger.activeSum() + value,
            same ? decimals : 255
        );
    }

    /// @dev One step from any possible ledger with active feedback.
    function check_eachRevocationTakesItselfAway(uint256 anything, int128 value) external view reachesItsEnd {
        ClientLedger ledger = ClientLedger.wrap(anything);
        _assumePossible(ledger);
        VM.assume(ledger.activeCount() != 0);
        VM.assume(value >= -MAX_ABS_VALUE && value <= MAX_ABS_VALUE);
        ClientLedger next = ledger.withoutFeedback(value);
        _assertLedger(
            next,
            ledger.lastIndex(),
            ledger.activeCount() - 1,
            ledger.activeSum() - value,
            ledger.decimals()
        );
    }

    function _add(ClientLedger ledger, int128 value, uint8 decimals) private pure returns (ClientLedger next) {
        VM.assume(decimals <= 18);
        VM.assume(value >= -MAX_ABS_VALUE && value <= MAX_ABS_VALUE);
        return ledger.withFeedback(value, decimals);
    }

    /// @dev 2^32 values of at most 1e38 sum to less than `MOST`.
    function _assumePossible(ClientLedger ledger) private pure {
        VM.assume(ledger.lastIndex() < MAX_FEEDBACK_INDEX && ledger.activeCount() <= ledger.lastIndex());
        VM.assume(ledger.activeSum() >= -MOST && ledger.activeSum() <= MOST);
        VM.assume(uint24(ClientLedger.unwrap(ledger) >> 72) == 0);
    }

    function _assertLedger(
        ClientLedger ledger,
        uint256 lastIndex,
        uint256 activeCount,
        int256 activeSum,
        uint256 decimals
    ) private pure {
        _prove(ledger.lastIndex() == lastIndex);
        _prove(ledger.activeCount() == activeCount);
        _prove(ledger.activeSum() == activeSum);
        _prove(ledger.decimals() == decimals);
        _prove(uint24(ClientLedger.unwrap(ledger) >> 72) == 0);
    }
}
