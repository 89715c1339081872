// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IdentityTurncoat} from "./IdentityTurncoat.sol";

/// @title Identity registry that burns all gas that it gets
contract IdentityBurnsGas is IdentityTurncoat {
    /// @param honest The registry that it resembles until it turns.
    constructor(address honest) IdentityTurncoat(honest) {}

    function _misbehave(bytes calldata) internal pure override returns (bytes memory) {
        assembly ("memory-safe") {
            invalid()
        }
    }
}
