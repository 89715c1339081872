// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IdentityTurncoat} from "./IdentityTurncoat.sol";

/// @title Identity registry that returns any data
contract IdentityReturnsJunk is IdentityTurncoat {
    /// @dev The data.
    bytes private _junk;

    /// @param honest The registry that it resembles until it turns.
    constructor(address honest) IdentityTurncoat(honest) {}

    /// @notice Makes the registry return some data from now on.
    /// @param selector The function that returns them; zero: all.
    /// @param junk The data.
    function turn(bytes4 selector, bytes calldata junk) external {
        _junk = junk;
        turn(selector);
    }

    function _misbehave(bytes calldata) internal view override returns (bytes memory junk) {
        return _junk;
    }
}
