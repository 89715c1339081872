// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Cheats} from "./Cheats.sol";

/// @title Conditions without branches, of which each would double the paths that the prover has to follow
abstract contract Branchless {
    function _and(bool a, bool b) internal pure returns (bool c) {
        assembly ("memory-safe") {
            c := and(a, b)
        }
    }

    function _or(bool a, bool b) internal pure returns (bool c) {
        assembly ("memory-safe") {
            c := or(a, b)
        }
    }
}

/// @title What every proof is made of
abstract contract Proof is Cheats, Branchless {
    /// @dev States what is to be proved. A proof whose assumptions contradict each other, or whose calls all revert,
    /// never gets here, and would pass. So the prover runs a second time, with `REACH` set, and must then find inputs
    /// that get here: every statement is false.
    function _prove(bool statement) internal view {
        assert(statement && !VM.envOr("REACH", false));
    }
}
