// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title Client that makes many calls
/// @notice Makes any call as a client, for any caller.
contract MockFeedbackGiver {
    /// @notice Calls a registry as the client.
    /// @param registry The registry.
    /// @param data The call.
    function perform(address registry, bytes calldata data) external {
        Address.functionCall(registry, data);
    }

    /// @notice Makes the same call several times as the client.
    /// @param registry The registry.
    /// @param data The call.
    /// @param times The number of calls.
    function repeat(address registry, bytes calldata data, uint256 times) external {
        for (uint256 i = 0; i < times; ++i) Address.functionCall(registry, data);
    }
}
