// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {MockFeedbackGiver} from "./MockFeedbackGiver.sol";

/// @title Many clients in one contract
/// @notice Makes a whole history of their calls in one transaction.
contract MockFeedbackCrowd {
    /// @dev The clients.
    MockFeedbackGiver[] private _clients;

    /// @notice Adds clients.
    /// @param count The number of new clients.
    function gather(uint256 count) external {
        for (uint256 i = 0; i < count; ++i) _clients.push(new MockFeedbackGiver());
    }

    /// @notice Makes the same call by a range of clients.
    /// @param registry The registry.
    /// @param data The call.
    /// @param start The first client of the range.
    /// @param end The first client after the range.
    function performAll(address registry, bytes calldata data, uint256 start, uint256 end) external {
        for (uint256 i = start; i < end; ++i) _clients[i].perform(registry, data);
    }

    /// @notice Makes calls one after the other, all or none.
    /// @param registry The registry.
    /// @param actors The client that makes each call, by its number.
    /// @param calls The calls.
    function play(address registry, uint256[] calldata actors, bytes[] calldata calls) external {
        for (uint256 i = 0; i < calls.length; ++i) _clients[actors[i]].perform(registry, calls[i]);
    }

    /// @notice Returns the clients.
    /// @return all Their addresses.
    function clients() external view returns (MockFeedbackGiver[] memory all) {
        return _clients;
    }
}
