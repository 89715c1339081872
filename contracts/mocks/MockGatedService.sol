// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IAgentDirectory} from "../interfaces/IAgentDirectory.sol";
import {IBidirectionalRatings} from "../interfaces/IBidirectionalRatings.sol";
import {IdentityBound} from "../libraries/IdentityBound.sol";
import {ReputationGated} from "../reputation/ReputationGated.sol";

/// @title A service that declines clients which a server rated below 70
/// @notice The example of EIP-8004a's usage pattern. What it serves is a count.
contract MockGatedService is ReputationGated, IdentityBound {
    /// @notice The lowest rating that is served.
    uint8 public constant MINIMUM_RATING = 70;

    /// @notice The agent whose ratings count: the one that offers the service, or another that it trusts.
    uint256 public immutable SERVER_ID;

    /// @notice Whether clients are served that it has not rated.
    bool public immutable TRUSTS_NEWCOMERS;

    /// @notice How often each client was served.
    mapping(uint256 clientId => uint256 count) public served;

    /// @param ratings The registry of ratings.
    /// @param identityRegistry The identity registry that it is bound to.
    /// @param serverId The agent whose ratings count.
    /// @param trustsNewcomers Whether clients are served that it has not rated.
    constructor(
        IBidirectionalRatings ratings,
        address identityRegistry,
        uint256 serverId,
        bool trustsNewcomers
    ) ReputationGated(ratings) IdentityBound(identityRegistry) {
        SERVER_ID = serverId;
        TRUSTS_NEWCOMERS = trustsNewcomers;
    }

    /// @notice Serves the caller. Which client that is, the identity registry says, not the caller.
    function serve() external {
        _serve(IAgentDirectory(IDENTITY_REGISTRY).agentOf(msg.sender));
    }

    function _serve(
        uint256 clientId
    ) private onlyReputableClient(clientId, SERVER_ID, MINIMUM_RATING, TRUSTS_NEWCOMERS) {
        ++served[clientId];
    }
}
