// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Cheats} from "./Cheats.sol";

/// @title Conditions without branches, because each branch would double the prover's paths
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

    /// @dev Returns `a` if the condition holds, else `b`.
    function _select(bool condition, uint256 a, uint256 b) internal pure returns (uint256 c) {
        assembly ("memory-safe") {
            c := xor(b, and(xor(a, b), sub(0, condition)))
        }
    }
}

/// @title Base of every proof
abstract contract Proof is Cheats, Branchless {
    /// @dev Wraps every proof. A proof with contradictory assumptions, or whose calls all revert, never reaches its end
    /// and would pass. So the prover runs again with `REACH` set. It must then find inputs that pass all statements
    /// and reach a final false one.
    modifier reachesItsEnd() {
        _;
        assert(!VM.envOr("REACH", false));
    }

    /// @dev Asserts a statement of the proof.
    function _prove(bool statement) internal pure {
        assert(statement);
    }
}
