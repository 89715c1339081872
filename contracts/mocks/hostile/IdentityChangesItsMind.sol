// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IdentityTurncoat} from "./IdentityTurncoat.sol";

/// @title Identity registry that answers a question honestly once in a transaction, and then with another address
/// @notice A view cannot count its calls, but it sees by the gas of an access that it was called before.
contract IdentityChangesItsMind is IdentityTurncoat {
    /// @dev An access costs 2,600 gas the first time, and 100 later.
    uint256 private constant WARM = 1_000;

    /// @dev An account that nothing else looks at.
    address private constant LANDMARK = address(uint160(uint256(keccak256("landmark"))));

    /// @dev The second answer.
    address private immutable OTHER;

    /// @param honest The registry that it resembles until it turns, and in its first answer.
    /// @param other The second answer.
    constructor(address honest, address other) IdentityTurncoat(honest) {
        OTHER = other;
    }

    function _misbehave(bytes calldata question) internal view override returns (bytes memory answer) {
        uint256 before = gasleft();
        uint256 balance = LANDMARK.balance;
        bool isFirst = before - gasleft() > WARM;
        return isFirst && balance == 0 ? _answerHonestly(question) : abi.encode(OTHER);
    }
}
