// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ERC165Checker} from "@openzeppelin/contracts/utils/introspection/ERC165Checker.sol";
import {IBidirectionalRatings} from "../interfaces/IBidirectionalRatings.sol";
import {IReputationGate} from "../interfaces/IReputationGate.sol";

/// @title A base for services that decline badly rated clients
/// @notice For other people's contracts: inherit it, and guard a function with `onlyReputableClient`.
/// @dev WARNING: the gate believes the client's id that it is given. Take it from the caller, as
/// `IAgentDirectory.agentOf(msg.sender)`, or a client with a poor rating names somebody else. Who trusts newcomers
/// trusts a client that comes back under a new id.
///
/// Sample:
/// ```
/// function serve() external onlyReputableClient(directory.agentOf(msg.sender), MY_SERVER_ID, 70, true) { … }
/// ```
abstract contract ReputationGated is IReputationGate {
    /// @dev The registry that is asked for ratings.
    IBidirectionalRatings internal immutable RATINGS;

    /// @dev Lets a client pass that a server rated at least so well. Reverts with `ClientDeclined` for a lower rating,
    /// and with `ClientNotRated` if there is none.
    /// @param clientId The client. Zero, which is no agent, never passes.
    /// @param serverId The server whose rating counts.
    /// @param minimum The lowest rating that passes.
    /// @param trustNewcomers Whether a client passes that the server has not rated.
    modifier onlyReputableClient(uint256 clientId, uint256 serverId, uint8 minimum, bool trustNewcomers) {
        _requireReputableClient(clientId, serverId, minimum, trustNewcomers);
        _;
    }

    /// @param ratings The registry that is asked for ratings. Reverts with `NotARatingsRegistry` if it does not say, by
    /// ERC-165, that it is one.
    constructor(IBidirectionalRatings ratings) {
        require(
            ERC165Checker.supportsInterface(address(ratings), type(IBidirectionalRatings).interfaceId),
            NotARatingsRegistry(address(ratings))
        );
        RATINGS = ratings;
    }

    /// @inheritdoc IReputationGate
    function getRatingsRegistry() external view returns (address ratings) {
        return address(RATINGS);
    }

    function _requireReputableClient(
        uint256 clientId,
        uint256 serverId,
        uint8 minimum,
        bool trustNewcomers
    ) private view {
        (bool hasRating, uint8 rating) = RATINGS.getClientRating(clientId, serverId);
        if (hasRating) require(rating >= minimum, ClientDeclined(clientId, serverId, rating, minimum));
        else require(clientId != 0 && trustNewcomers, ClientNotRated(clientId, serverId));
    }
}
