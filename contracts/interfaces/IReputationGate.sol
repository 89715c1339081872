// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title A service that asks for a client's rating before it serves
/// @notice EIP-8004a's usage pattern, made reusable by `ReputationGated`.
interface IReputationGate {
    /// @notice The contract that is to be asked for ratings does not say that it has any (ERC-165).
    /// @param ratings Its address.
    error NotARatingsRegistry(address ratings);

    /// @notice The server rated the client too badly.
    /// @param clientId The client.
    /// @param serverId The server.
    /// @param rating The rating.
    /// @param minimum The lowest rating that is served.
    error ClientDeclined(uint256 clientId, uint256 serverId, uint8 rating, uint8 minimum);

    /// @notice The server has not rated the client, and newcomers are not served; or the client is no agent.
    /// @param clientId The client; zero if it is no agent.
    /// @param serverId The server.
    error ClientNotRated(uint256 clientId, uint256 serverId);

    /// @notice The registry that is asked for ratings.
    /// @return ratings Its address.
    function getRatingsRegistry() external view returns (address ratings);
}
