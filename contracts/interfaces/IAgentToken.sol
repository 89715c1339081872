// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title What the agents' ERC-721 token adds to the standard
/// @dev The standard's own errors are those of ERC-6093, as in the registries that are already deployed.
interface IAgentToken {
    /// @notice The URI of a token has changed (ERC-4906).
    /// @param _tokenId The token.
    event MetadataUpdate(uint256 _tokenId);

    /// @notice The transfer functions take no ether: it could never be got out again.
    /// @param value What was sent, in wei.
    error EtherNotAccepted(uint256 value);
}
