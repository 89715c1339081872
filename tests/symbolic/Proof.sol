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

    /// @dev `a` if the condition holds, else `b`.
    function _select(bool condition, uint256 a, uint256 b) internal pure returns (uint256 c) {
        assembly ("memory-safe") {
            c := xor(b, and(xor(a, b), sub(0, condition)))
        }
    }
}

/// @title What every proof is made of
abstract contract Proof is Cheats, Branchless {
    /// @dev Around every proof. One whose assumptions contradict each other, or whose calls all revert, never gets to
    /// its end, and would pass. So the prover runs a second time, with `REACH` set, and must then find inputs that get
    /// there: through all statements, which stand in a row, to one that is false.
    modifier reachesItsEnd() {
        _;
        assert(!VM.envOr("REACH", false));
    }

    /// @dev States what is to be proved.
    function _prove(bool statement) internal pure {
        assert(statement);
    }
}
