// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IdentityTurncoat} from "./IdentityTurncoat.sol";

/// @title Identity registry that returns a megabyte, or reverts with it
/// @notice A caller that copies it pays for the memory.
contract IdentityReturnsTooMuch is IdentityTurncoat {
    uint256 private constant SIZE = 1_000_000;

    /// @dev True to revert with the data.
    bool private _reverts;

    /// @param honest The registry that it resembles until it turns.
    constructor(address honest) IdentityTurncoat(honest) {}

    /// @notice Makes the registry return too much from now on.
    /// @param selector The function that does; zero: all.
    /// @param reverts True to revert with the data instead.
    function turn(bytes4 selector, bool reverts) external {
        _reverts = reverts;
        turn(selector);
    }

    /// @dev The first word is the honest answer.
    function _misbehave(bytes calldata question) internal view override returns (bytes memory) {
        bytes memory answer = _answerHonestly(question);
        bool reverts = _reverts;
        assembly ("memory-safe") {
            let data := mload(0x40)
            mcopy(data, add(answer, 0x20), mload(answer))
            if reverts {
                revert(data, SIZE)
            }
            return(data, SIZE)
        }
    }
}
