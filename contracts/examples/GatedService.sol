// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IAgentDirectory} from "../interfaces/IAgentDirectory.sol";
import {IBidirectionalRatings} from "../interfaces/IBidirectionalRatings.sol";
import {IdentityBound} from "../base/IdentityBound.sol";
import {ReputationGated} from "../reputation/ReputationGated.sol";

/// @title Example: a service that declines clients with a rating below 70
/// @notice Shows EIP-8004a's usage pattern. The service counts its calls.
contract GatedService is ReputationGated, IdentityBound {
    /// @notice The lowest client rating that the service accepts.
    uint8 public constant MINIMUM_RATING = 70;

    /// @notice The agent whose ratings count: the agent that offers the service, or another agent that it trusts.
    uint256 public immutable SERVER_ID;

    /// @notice True if the service accepts clients without a rating.
    bool public immutable TRUSTS_NEWCOMERS;

    /// @notice The number of calls by client.
    mapping(uint256 clientId => uint256 count) public served;

    /// @param ratings The ratings registry.
    /// @param identityRegistry The identity registry of these ratings.
    /// @param serverId The agent whose ratings count.
    /// @param trustsNewcomers True if the service accepts clients without a rating.
    constructor(
        IBidirectionalRatings ratings,
        address identityRegistry,
        uint256 serverId,
        bool trustsNewcomers
    ) ReputationGated(ratings) IdentityBound(identityRegistry) {
        SERVER_ID = serverId;
        TRUSTS_NEWCOMERS = trustsNewcomers;
    }

    /// @notice Serves the caller. The client's id comes from the identity registry, not from the caller.
    function serve() external {
        _serve(IAgentDirectory(IDENTITY_REGISTRY).agentOf(msg.sender));
    }

    function _serve(
        uint256 clientId
    ) private onlyReputableClient(clientId, SERVER_ID, MINIMUM_RATING, TRUSTS_NEWCOMERS) {
        ++served[clientId];
    }
}
