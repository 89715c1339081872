// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {EIP7702Utils} from "@openzeppelin/contracts/account/utils/EIP7702Utils.sol";
import {ERC165Checker} from "@openzeppelin/contracts/utils/introspection/ERC165Checker.sol";
import {IBidirectionalRatings} from "../interfaces/IBidirectionalRatings.sol";
import {IReputationGate} from "../interfaces/IReputationGate.sol";

/// @title Base of services that decline clients with a low rating
/// @notice To use it in your own contract, inherit it and guard a function with `onlyReputableClient`.
/// @dev WARNING: the gate trusts the client id that it receives. Derive the id from the caller, as with
/// `IAgentDirectory.agentOf(msg.sender)`; otherwise, a client with a low rating can pass the id of another client. A
/// service that trusts newcomers also trusts a client that returns under a new id.
///
/// Sample:
/// ```
/// function serve() external onlyReputableClient(directory.agentOf(msg.sender), MY_SERVER_ID, 70, true) { … }
/// ```
abstract contract ReputationGated is IReputationGate {
    /// @dev The ratings registry.
    IBidirectionalRatings internal immutable RATINGS;

    /// @dev Requires that a server has rated a client at least `minimum`. Reverts with `ClientDeclined` if the rating
    /// is lower, and with `ClientNotRated` if there is none.
    /// @param clientId The client. Zero means "no agent" and never passes, although deployed registries have an agent 0
    /// that may have been rated.
    /// @param serverId The server whose rating counts.
    /// @param minimum The lowest rating that passes.
    /// @param trustNewcomers True to let clients without a rating pass.
    modifier onlyReputableClient(uint256 clientId, uint256 serverId, uint8 minimum, bool trustNewcomers) {
        _requireReputableClient(clientId, serverId, minimum, trustNewcomers);
        _;
    }

    /// @dev Reverts with `NotARatingsRegistry` for a contract that does not report support for the interface through
    /// ERC-165, and for an account with an EIP-7702 delegation, because the key of such an account can replace its
    /// code.
    /// @param ratings The ratings registry.
    constructor(IBidirectionalRatings ratings) {
        bool isRegistry =
            ERC165Checker.supportsInterface(address(ratings), type(IBidirectionalRatings).interfaceId) &&
                EIP7702Utils.fetchDelegate(address(ratings)) == address(0);
        if (!isRegistry) revert NotARatingsRegistry(address(ratings));
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
        if (clientId == 0) revert ClientNotRated(clientId, serverId);
        (bool hasRating, uint8 rating) = RATINGS.getClientRating(clientId, serverId);
        if (!hasRating && !trustNewcomers) revert ClientNotRated(clientId, serverId);
        if (hasRating && rating < minimum) revert ClientDeclined(clientId, serverId, rating, minimum);
    }
}
