// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title A client with much to say
/// @notice Does for anybody whatever a client does, many times in one transaction.
contract MockFeedbackGiver {
    /// @notice Calls a registry as the client.
    /// @param registry The registry.
    /// @param data The call.
    function perform(address registry, bytes calldata data) external {
        Address.functionCall(registry, data);
    }

    /// @notice Makes the same call as the client again and again.
    /// @param registry The registry.
    /// @param data The call.
    /// @param times How often.
    function repeat(address registry, bytes calldata data, uint256 times) external {
        for (uint256 i = 0; i < times; ++i) Address.functionCall(registry, data);
    }
}
