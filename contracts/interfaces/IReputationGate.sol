// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Service that checks a client's rating before serving it
/// @notice The usage pattern of EIP-8004a. Implemented by `ReputationGated`.
interface IReputationGate {
    /// @notice The address is not a ratings registry: it does not report support for the interface through ERC-165, or
    /// it is an account with an EIP-7702 delegation.
    /// @param ratings The rejected address.
    error NotARatingsRegistry(address ratings);

    /// @notice The server's rating of the client is too low.
    /// @param clientId The client.
    /// @param serverId The server.
    /// @param rating The rating.
    /// @param minimum The lowest rating that the service accepts.
    error ClientDeclined(uint256 clientId, uint256 serverId, uint8 rating, uint8 minimum);

    /// @notice The server has not rated the client and the service declines newcomers, or the caller has no agent.
    /// @param clientId The client; 0 if the caller has no agent.
    /// @param serverId The server.
    error ClientNotRated(uint256 clientId, uint256 serverId);

    /// @notice Returns the ratings registry.
    /// @return ratings The address of the registry.
    function getRatingsRegistry() external view returns (address ratings);
}
