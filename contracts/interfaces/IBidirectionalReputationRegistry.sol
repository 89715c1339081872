// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Feedback authorisations of ERC-8004 as of August 2025, which EIP-8004a keeps
/// @notice Servers authorise clients to rate them. In August 2025 the feedback itself stayed off chain.
/// @dev The feedback of January 2026 (`IReputationRegistry`) needs no authorisation. The functions revert with the
/// errors of August 2025. This file declares them in the order of the checks.
interface IBidirectionalReputationRegistry {
    /// @notice A server authorised a client to rate it.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    /// @param feedbackAuthId The authorisation's id.
    event AuthFeedback(uint256 indexed agentClientId, uint256 indexed agentServerId, bytes32 indexed feedbackAuthId);

    /// @notice The client or the server does not exist.
    error AgentNotFound();

    /// @notice The caller is neither the server's owner nor its wallet.
    error UnauthorizedFeedback();

    /// @notice The client and the server are the same agent.
    error SelfFeedbackNotAllowed();

    /// @notice The server has already authorised this client.
    error FeedbackAlreadyAuthorized();

    /// @notice Authorises a client to rate a server, once for each pair. This is final.
    /// @dev For the server's owner and its wallet. Emits `AuthFeedback`. Reverts, in this order, with `AgentNotFound`
    /// for an unknown client or server, `UnauthorizedFeedback`, `SelfFeedbackNotAllowed`, `FeedbackAlreadyAuthorized`.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    function acceptFeedback(uint256 agentClientId, uint256 agentServerId) external;

    /// @notice Returns a server's authorisation of a client.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    /// @return isAuthorized True if the server authorised the client.
    /// @return feedbackAuthId The authorisation's id; zero without an authorisation.
    function isFeedbackAuthorized(
        uint256 agentClientId,
        uint256 agentServerId
    ) external view returns (bool isAuthorized, bytes32 feedbackAuthId);

    /// @notice Returns the id of a server's authorisation of a client.
    /// @dev `keccak256(abi.encode(agentClientId, agentServerId, registry, chain id))`; `registry` is this address.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    /// @return feedbackAuthId The id; zero without an authorisation.
    function getFeedbackAuthId(
        uint256 agentClientId,
        uint256 agentServerId
    ) external view returns (bytes32 feedbackAuthId);
}
