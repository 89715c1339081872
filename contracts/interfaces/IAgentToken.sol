// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title What the agents' token adds to ERC-721
/// @dev All other errors are those of ERC-6093, as in the deployed registries.
interface IAgentToken {
    /// @notice Emitted when the URI of a token changes (ERC-4906).
    /// @param _tokenId The id of the token.
    event MetadataUpdate(uint256 _tokenId);

    /// @notice The call sent ether, which the registry could never return.
    /// @param value The amount sent, in wei.
    error EtherNotAccepted(uint256 value);
}
