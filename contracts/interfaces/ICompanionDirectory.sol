// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Companion directory: primary agents for an identity registry that has no directory
/// @notice Provides, for the agents of a deployed ERC-8004 identity registry, everything that the other registries of
/// this project need from an identity registry, so that they can be deployed on top of it unchanged.
/// @dev The companion is permanently bound to one identity registry, `getIdentityRegistry()`. The agents remain there:
/// the companion forwards queries about them, and stores only two things of its own. The first is the primary agent
/// that each account has chosen (`IAgentDirectory`). The identity registry does not notify anyone of transfers, so
/// every use checks that the account is still the agent's owner or wallet. The choice remains stored: if an account
/// gets the agent back, the agent is its primary agent again. The second is the highest agent id that was ever proven
/// to exist.
///
/// An agent with id 0 is an agent like any other, and can be rated. It cannot be anyone's primary agent, however,
/// because 0 means "no agent".
///
/// A query to the identity registry has one of three outcomes. Either the registry returns a valid value. Or it reverts
/// with data, which counts as a refusal and means "no such agent". Or it does not answer: it reverts without data, for
/// example because it ran out of gas, returns an invalid value, or no longer has code. In the last case, the query
/// reverts with `NoAnswer`, so a caller cannot make an agent appear to be missing by providing too little gas.
///
/// The functions of `IAgentDirectory` that deal with domains (`newAgent`, `updateAgent`, `releaseAgentDomain` and
/// `resolveByDomain`) revert with `NotInCompanion`. `getAgent` and `resolveByAddress` return an empty domain.
/// Registering an agent does not make it the primary agent of its owner; only `setPrimaryAgent` does.
///
/// WARNING: whoever can change the identity registry's code decides who owns an agent, and therefore who acts as it
/// from then on. Existing ratings and feedback cannot be changed in this way.
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

    /// @notice The contract lacks a function that the companion needs, or its answer is invalid.
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

    /// @notice Agent 0 cannot be anyone's primary agent, because 0 means "no agent".
    /// @param account The account that tried to choose it.
    error NobodySpeaksAsAgentZero(address account);

    /// @notice Proves to the companion that an agent exists.
    /// @dev Can be called by anyone. Raises `getAgentCount()` to the agent's id and emits `AgentCountRaised`. Does
    /// nothing if the count is already that high, so the call also succeeds if someone else has proven a later agent
    /// first. A batch of ratings rejects agents above the count, so prove the newest agent before rating it in a batch.
    /// Reverts with the identity registry's own error for an unknown agent (`ERC721NonexistentToken` in ERC-8004), or
    /// with `NoAnswer`.
    /// WARNING: the count never decreases. If the identity registry ever lies, batches accept the ids of nonexistent
    /// agents, up to the highest id that it claimed. A single rating queries its agent instead.
    /// @param agentId The id of the agent.
    /// @return agentCount The new count, at least `agentId`.
    function proveAgent(uint256 agentId) external returns (uint256 agentCount);

    /// @notice Returns the owner of an agent, as reported by the identity registry.
    /// @dev Reverts with the identity registry's own error for an unknown agent, with `ERC721NonexistentToken` if the
    /// registry returns the zero address instead, or with `NoAnswer`.
    /// @param agentId The id of the agent.
    /// @return owner The owner; never zero.
    function ownerOf(uint256 agentId) external view returns (address owner);

    /// @notice Returns the wallet of an agent, as reported by the identity registry.
    /// @dev Reverts with the identity registry's own error if there is one, or with `NoAnswer`.
    /// @param agentId The id of the agent.
    /// @return wallet The wallet; zero if there is none.
    function getAgentWallet(uint256 agentId) external view returns (address wallet);

    /// @notice Returns whether an account may act for an agent, as reported by the identity registry.
    /// @dev If the identity registry lacked this function when the companion was constructed, the answer is derived
    /// from `ownerOf`, `isApprovedForAll` and `getApproved`. Reverts like `ownerOf`.
    /// @param spender The account.
    /// @param agentId The id of the agent.
    /// @return authorized True for the owner, its operators, and the address approved for the agent.
    function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool authorized);
}
