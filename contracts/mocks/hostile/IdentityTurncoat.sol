// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title Base of identity registries that are honest until they turn
/// @notice They answer any view like an honest registry, and after `turn` misbehave in the way that their name says.
abstract contract IdentityTurncoat {
    /// @dev The honest registry.
    address private immutable HONEST;

    /// @dev The beginning of the questions that it answers wrongly; zero: all.
    bytes4 private _selector;

    /// @dev True after `turn`.
    bool private _hasTurned;

    /// @param honest The honest registry.
    constructor(address honest) {
        HONEST = honest;
    }

    /// @notice Answers any view.
    fallback(bytes calldata question) external returns (bytes memory answer) {
        return _answer(question);
    }

    /// @notice Makes the registry misbehave from now on.
    /// @dev For anybody.
    /// @param selector The function that misbehaves; zero: all.
    function turn(bytes4 selector) public {
        (_selector, _hasTurned) = (selector, true);
    }

    /// @dev Answers a question wrongly.
    function _misbehave(bytes calldata question) internal virtual returns (bytes memory answer);

    /// @dev Answers a question honestly or not.
    function _answer(bytes calldata question) internal returns (bytes memory answer) {
        if (_hasTurned && (_selector == 0 || _selector == bytes4(question))) return _misbehave(question);
        return _answerHonestly(question);
    }

    /// @dev Answers a question as the honest registry does.
    function _answerHonestly(bytes calldata question) internal view returns (bytes memory answer) {
        return Address.functionStaticCall(HONEST, question);
    }
}
