// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Identity registry without a directory, which answers with any words, or refuses
/// @notice The answers come from its storage, which is symbolic in the proofs. The words need not be valid.
contract UnpredictableRegistry {
    /// @notice True if the registry reverts with data for an agent.
    mapping(uint256 agentId => bool isRefused) public refuses;

    /// @notice The answer to `ownerOf`.
    mapping(uint256 agentId => uint256 word) public owners;

    /// @notice The answer to `getAgentWallet`.
    mapping(uint256 agentId => uint256 word) public wallets;

    /// @notice The answer to `getApproved`.
    mapping(uint256 agentId => uint256 word) public approved;

    /// @notice The answer to `isApprovedForAll`.
    mapping(uint256 owner => mapping(uint256 operator => uint256 word)) public operators;

    /// @notice The registry refuses to tell about an agent.
    error Refused();

    /// @notice Answers `ownerOf`.
    /// @param agentId The agent.
    /// @return word Any word.
    function ownerOf(uint256 agentId) external view returns (uint256 word) {
        require(!refuses[agentId], Refused());
        return owners[agentId];
    }

    /// @notice Answers `getAgentWallet`.
    /// @param agentId The agent.
    /// @return word Any word.
    function getAgentWallet(uint256 agentId) external view returns (uint256 word) {
        require(!refuses[agentId], Refused());
        return wallets[agentId];
    }

    /// @notice Answers `getApproved`.
    /// @param agentId The agent.
    /// @return word Any word.
    function getApproved(uint256 agentId) external view returns (uint256 word) {
        require(!refuses[agentId], Refused());
        return approved[agentId];
    }

    /// @notice Answers `isApprovedForAll`.
    /// @param owner The owner.
    /// @param operator The operator.
    /// @return word Any word.
    function isApprovedForAll(uint256 owner, uint256 operator) external view returns (uint256 word) {
        return operators[owner][operator];
    }

    /// @notice Answers as ERC-721 asks (ERC-165).
    /// @param interfaceId An interface.
    /// @return supported True for ERC-165 and ERC-721.
    function supportsInterface(bytes4 interfaceId) external pure returns (bool supported) {
        return interfaceId == 0x01ffc9a7 || interfaceId == 0x80ac58cd;
    }
}
