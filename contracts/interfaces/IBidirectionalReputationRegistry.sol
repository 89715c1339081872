// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title What EIP-8004a's reputation registry keeps of ERC-8004 as of August 2025
/// @notice A server lets a client rate it: a mark for off-chain feedback, which is all that generation stored.
/// @dev The feedback of January 2026 (`IReputationRegistry`) needs no such mark. The functions revert with the August
/// 2025 generation's own errors, checked in the order in which they are declared here.
interface IBidirectionalReputationRegistry {
    /// @notice A server authorised a client to rate it.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    /// @param feedbackAuthId The authorisation's id.
    event AuthFeedback(uint256 indexed agentClientId, uint256 indexed agentServerId, bytes32 indexed feedbackAuthId);

    /// @notice There is no agent with this id.
    error AgentNotFound();

    /// @notice A server's feedback is authorised by its owner or its wallet only.
    error UnauthorizedFeedback();

    /// @notice An agent is not its own client.
    error SelfFeedbackNotAllowed();

    /// @notice The server has authorised this client already.
    error FeedbackAlreadyAuthorized();

    /// @notice Authorises a client to rate a server. This is done once per pair, and is final.
    /// @dev For the server's owner and its wallet. Emits `AuthFeedback`. Reverts, in this order, with `AgentNotFound`
    /// for an unknown client or server, `UnauthorizedFeedback`, `SelfFeedbackNotAllowed`, `FeedbackAlreadyAuthorized`.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    function acceptFeedback(uint256 agentClientId, uint256 agentServerId) external;

    /// @notice Whether a server authorised a client to rate it.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    /// @return isAuthorized Whether it did.
    /// @return feedbackAuthId The authorisation's id; zero if there is none.
    function isFeedbackAuthorized(
        uint256 agentClientId,
        uint256 agentServerId
    ) external view returns (bool isAuthorized, bytes32 feedbackAuthId);

    /// @notice The id of a server's authorisation of a client.
    /// @dev `keccak256(abi.encode(agentClientId, agentServerId, registry, chain id))`, `registry` being this address.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    /// @return feedbackAuthId The id; zero if there is no authorisation.
    function getFeedbackAuthId(
        uint256 agentClientId,
        uint256 agentServerId
    ) external view returns (bytes32 feedbackAuthId);
}
