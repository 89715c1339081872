// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {Reentry} from "./Reentry.sol";

/// @title An identity registry that makes a call of its own while it is asked, and answers when that has failed
/// @notice It answers as an honest registry does, so whoever it answers has let it in nowhere.
contract IdentityReenters is Reentry {
    /// @dev The honest registry.
    address private immutable HONEST;

    /// @notice The call succeeded.
    error GotIn();

    /// @param honest The honest registry.
    constructor(address honest) {
        HONEST = honest;
    }

    /// @notice Answers any question.
    fallback(bytes calldata question) external returns (bytes memory answer) {
        return _answer(question);
    }

    function _answer(bytes calldata question) private returns (bytes memory answer) {
        require(!_getsIn(), GotIn());
        return Address.functionStaticCall(HONEST, question);
    }
}
