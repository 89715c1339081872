// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Feedback authorisations of ERC-8004 as of August 2025, which EIP-8004a retains
/// @notice Servers authorise clients to rate them. In the August 2025 version, the feedback itself stayed off chain.
/// @dev The feedback of January 2026 (`IReputationRegistry`) needs no authorisation. The functions revert with the
/// errors of August 2025, which this file declares in the order in which they are checked.
interface IBidirectionalReputationRegistry {
    /// @notice Emitted when a server authorises a client to rate it.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    /// @param feedbackAuthId The id of the authorisation.
    event AuthFeedback(uint256 indexed agentClientId, uint256 indexed agentServerId, bytes32 indexed feedbackAuthId);

    /// @notice The client or the server does not exist.
    error AgentNotFound();

    /// @notice The caller is neither the server's owner nor its wallet.
    error UnauthorizedFeedback();

    /// @notice The client and the server are the same agent.
    error SelfFeedbackNotAllowed();

    /// @notice The server has already authorised this client.
    error FeedbackAlreadyAuthorized();

    /// @notice Authorises a client to rate a server. This can be done once for each pair, and is final.
    /// @dev Can only be called by the server's owner and the server's wallet. Emits `AuthFeedback`. Reverts with the
    /// first applicable error: `AgentNotFound` for an unknown client or server, `UnauthorizedFeedback`,
    /// `SelfFeedbackNotAllowed`, `FeedbackAlreadyAuthorized`.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    function acceptFeedback(uint256 agentClientId, uint256 agentServerId) external;

    /// @notice Returns a server's authorisation of a client.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    /// @return isAuthorized True if the server has authorised the client.
    /// @return feedbackAuthId The id of the authorisation; zero if there is none.
    function isFeedbackAuthorized(
        uint256 agentClientId,
        uint256 agentServerId
    ) external view returns (bool isAuthorized, bytes32 feedbackAuthId);

    /// @notice Returns the id of a server's authorisation of a client.
    /// @dev The id is `keccak256(abi.encode(agentClientId, agentServerId, registry, chain id))`, where `registry` is
    /// the address of this contract.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    /// @return feedbackAuthId The id; zero if there is no authorisation.
    function getFeedbackAuthId(
        uint256 agentClientId,
        uint256 agentServerId
    ) external view returns (bytes32 feedbackAuthId);
}
