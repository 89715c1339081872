// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {LowLevelCall} from "@openzeppelin/contracts/utils/LowLevelCall.sol";
import {IdentityTurncoat} from "./IdentityTurncoat.sol";

/// @title Identity registry that reverts
contract IdentityReverts is IdentityTurncoat {
    /// @dev The data of the revert; empty: none.
    bytes private _reason;

    /// @param honest The registry that it resembles until it turns.
    constructor(address honest) IdentityTurncoat(honest) {}

    /// @notice Makes the registry revert from now on.
    /// @param selector The function that reverts; zero: all.
    /// @param reason The data of the revert.
    function turn(bytes4 selector, bytes calldata reason) external {
        _reason = reason;
        turn(selector);
    }

    function _misbehave(bytes calldata) internal view override returns (bytes memory) {
        LowLevelCall.bubbleRevert(_reason);
    }
}
