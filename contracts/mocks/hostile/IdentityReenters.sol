// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {Reentry} from "./Reentry.sol";

/// @title Identity registry that tries a call of its own during every question
/// @notice It answers like an honest registry if that call fails.
contract IdentityReenters is Reentry {
    /// @dev The honest registry.
    address private immutable HONEST;

    /// @notice The call succeeded.
    error GotIn();

    /// @param honest The honest registry.
    constructor(address honest) {
        HONEST = honest;
    }

    /// @notice Answers any view like the honest registry.
    fallback(bytes calldata question) external returns (bytes memory answer) {
        return _answer(question);
    }

    function _answer(bytes calldata question) private returns (bytes memory answer) {
        require(!_getsIn(), GotIn());
        return Address.functionStaticCall(HONEST, question);
    }
}
