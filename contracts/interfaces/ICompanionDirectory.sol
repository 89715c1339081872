// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Companion directory: primary agents for an identity registry that has no directory
/// @notice Gives the agents of a deployed ERC-8004 identity registry what the other registries of this project ask of
/// one, so that these registries are deployed on top of it unchanged.
/// @dev The companion belongs to one identity registry, `getIdentityRegistry()`, for ever. The agents stay there: the
/// companion passes questions about them on, and stores two things of its own. The first is the primary agent that
/// each account chose (`IAgentDirectory`). The identity registry tells nobody of transfers, so every use checks that
/// the account still is the agent's owner or wallet. The choice stays: an account that gets the agent back speaks as it
/// again. The second is the highest agent id that was ever proven to exist.
///
/// An agent with id 0 exists like any other, and others rate it. Nobody speaks as it, because 0 means "no agent".
///
/// The identity registry answers a question in one of three ways. It returns a valid value. Or it reverts with data:
/// that is a refusal, which means "no such agent". Or it fails to answer: it reverts without data, as after all gas is
/// spent, returns an invalid value, or has lost its code. The question then reverts with `NoAnswer`. So no caller can
/// make an agent seem missing by giving too little gas.
///
/// `IAgentDirectory`'s functions about domains revert with `NotInCompanion`: `newAgent`, `updateAgent`,
/// `releaseAgentDomain`, `resolveByDomain`. `getAgent` and `resolveByAddress` return an empty domain. No registration
/// makes an agent the primary agent of its owner; `setPrimaryAgent` does, and nothing else.
///
/// WARNING: whoever can change the identity registry's code decides who owns an agent, and so who speaks as it from
/// then on. Ratings and feedback that exist are out of its reach.
///
/// Sample:
/// ```
/// companion.setPrimaryAgent(agentId); // once, by the owner or the wallet
/// ratings.rateClient(clientId, 90); // by the same account, as that agent
/// ```
interface ICompanionDirectory {
    /// @notice Emitted when a proof raises the count of agents.
    /// @param agentCount The new count: the highest id that was ever proven to exist.
    event AgentCountRaised(uint256 agentCount);

    /// @notice The contract lacks a function that the companion needs, or answers it wrongly.
    /// @param identityRegistry The contract.
    /// @param selector The function.
    error NotAnIdentityRegistry(address identityRegistry, bytes4 selector);

    /// @notice The identity registry did not answer: it ran out of gas, returned an invalid value, or has no code.
    /// @param identityRegistry The identity registry.
    /// @param selector The function that was called.
    error NoAnswer(address identityRegistry, bytes4 selector);

    /// @notice The companion does not have this function; the project's own `IdentityRegistry` does.
    /// @param selector The function.
    error NotInCompanion(bytes4 selector);

    /// @notice Nobody speaks as agent 0, because 0 means "no agent".
    /// @param account The account that tried.
    error NobodySpeaksAsAgentZero(address account);

    /// @notice Proves to the companion that an agent exists.
    /// @dev For anybody. Raises `getAgentCount()` to the agent's id and emits `AgentCountRaised`. Does nothing if the
    /// count is that high already: a proof that somebody else overtook succeeds, too. A batch of ratings refuses
    /// agents above the count, so prove the newest agent before you rate it in a batch. Reverts with the identity
    /// registry's own error for an unknown agent (`ERC721NonexistentToken` in ERC-8004), or with `NoAnswer`.
    /// WARNING: the count never decreases. If the identity registry ever lies, batches accept ids of agents that do
    /// not exist, up to the highest that it claimed. A single rating asks for its agent.
    /// @param agentId The id of the agent.
    /// @return agentCount The count now, at least `agentId`.
    function proveAgent(uint256 agentId) external returns (uint256 agentCount);

    /// @notice Returns the owner of an agent, as the identity registry does.
    /// @dev Reverts with the identity registry's own error for an unknown agent, with `ERC721NonexistentToken` if the
    /// registry returns the zero address instead, or with `NoAnswer`.
    /// @param agentId The id of the agent.
    /// @return owner The owner; never zero.
    function ownerOf(uint256 agentId) external view returns (address owner);

    /// @notice Returns the wallet of an agent, as the identity registry does.
    /// @dev Reverts with the identity registry's own error if that reverts, or with `NoAnswer`.
    /// @param agentId The id of the agent.
    /// @return wallet The wallet; zero: none.
    function getAgentWallet(uint256 agentId) external view returns (address wallet);

    /// @notice Tells whether an account may act for an agent, as the identity registry does.
    /// @dev For a registry that lacked this function at construction, the answer follows from `ownerOf`,
    /// `isApprovedForAll` and `getApproved`. Reverts like `ownerOf`.
    /// @param spender The account.
    /// @param agentId The id of the agent.
    /// @return authorized True for the owner, its operators, and the address approved for the agent.
    function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool authorized);
}
