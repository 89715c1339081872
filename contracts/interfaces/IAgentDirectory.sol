// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Agent directory: the August 2025 functions on which EIP-8004a builds, and primary agents
/// @notice Finds agents by domain and by address, and returns the agent that an account acts as.
/// @dev The functions of August 2025 revert with the errors of that version, which are checked in the order in which
/// this file declares them.
///
/// An account may own several agents and be the wallet of others. It acts as one of them, its *primary agent*. An
/// account without a primary agent gets one when it registers an agent, or when it becomes the verified wallet of one.
/// It can choose another of its agents at any time. While `agentOf(account)` is not zero, the account is the current
/// owner or wallet of that agent. Receiving a token never changes the receiver's primary agent, so nobody can make you
/// act as an agent that you did not choose.
///
/// Sample:
/// ```
/// uint256 raterId = directory.agentOf(msg.sender); // 0: no primary agent
/// ```
interface IAgentDirectory {
    /// @notice An agent as the August 2025 generation describes it.
    /// @param agentId The id of the agent.
    /// @param agentDomain Its domain, as spelt by its owner; empty if it has no domain.
    /// @param agentAddress Its wallet, or its owner if it has no wallet.
    struct AgentInfo {
        uint256 agentId;
        string agentDomain;
        address agentAddress;
    }

    /// @notice Emitted when `newAgent` registers an agent.
    /// @param agentId The id of the new agent.
    /// @param agentDomain Its domain.
    /// @param agentAddress The account that registered it.
    event AgentRegistered(uint256 indexed agentId, string agentDomain, address agentAddress);

    /// @notice Emitted when `updateAgent` or `releaseAgentDomain` changes the domain or the address of an agent.
    /// @param agentId The id of the agent.
    /// @param agentDomain Its current domain; empty if it has no domain.
    /// @param agentAddress Its current wallet, or its owner if it has no wallet.
    event AgentUpdated(uint256 indexed agentId, string agentDomain, address agentAddress);

    /// @notice Emitted when an account chooses its primary agent.
    /// @dev Emitted only by `setPrimaryAgent`. All other changes of primary agents follow from `Transfer` events and
    /// from `MetadataSet` events of the key `agentWallet`: if an account without a primary agent registers an agent, or
    /// becomes the wallet of one, that agent becomes its primary agent; and if an account is no longer the owner or the
    /// wallet of its primary agent, it has none.
    /// @param account The account.
    /// @param agentId Its new primary agent.
    event PrimaryAgentSet(address indexed account, uint256 indexed agentId);

    /// @notice No agent has this id, domain or address.
    error AgentNotFound();

    /// @notice The caller tried to register an agent for another address.
    error UnauthorizedRegistration();

    /// @notice The caller does not own the agent.
    error UnauthorizedUpdate();

    /// @notice The domain is empty.
    error InvalidDomain();

    /// @notice The address is zero.
    error InvalidAddress();

    /// @notice The domain belongs to another agent.
    error DomainAlreadyRegistered();

    /// @notice The address already owns an agent or has a primary agent.
    error AddressAlreadyRegistered();

    /// @notice The account is neither the owner nor the wallet of the agent.
    /// @param account The account.
    /// @param agentId The agent that it tried to choose.
    error NotOwnerOrWallet(address account, uint256 agentId);

    /// @notice Registers an agent for the caller under a domain.
    /// @dev Emits the events of `register()`, followed by `AgentRegistered`. Reverts with the first applicable error:
    /// `UnauthorizedRegistration` if the address is not the caller's, `InvalidDomain` for an empty domain,
    /// `InvalidAddress` for the zero address, `DomainAlreadyRegistered`, `AddressAlreadyRegistered`.
    /// WARNING: the registry does not verify that the caller controls the domain. An account that received an agent by
    /// transfer cannot call this function, but `register` followed by `updateAgent` has the same result.
    /// @param agentDomain The domain; ASCII letters are case-insensitive.
    /// @param agentAddress The address of the caller.
    /// @return agentId The id of the new agent.
    function newAgent(string calldata agentDomain, address agentAddress) external returns (uint256 agentId);

    /// @notice Changes the domain of an agent, transfers the agent to another address, or both.
    /// @dev Can only be called by the agent's owner. The previous domain becomes available immediately. If the caller
    /// also owns the agent that currently has the new domain, that agent loses the domain in the same call, so the
    /// domain is never available in between. A new address receives the token, and the agent's wallet is cleared. If
    /// the agent was already the primary agent of its new owner, as it can be for the agent's wallet, it remains so;
    /// any other new owner must call `setPrimaryAgent`, and `resolveByAddress` finds nothing until then. Emits
    /// `AgentUpdated` for the agent that lost the domain, the events of a transfer if there is a new address, and
    /// `AgentUpdated` for this agent. Reverts with the first applicable error: `AgentNotFound`, `UnauthorizedUpdate`,
    /// `DomainAlreadyRegistered` if the domain belongs to an agent of another owner, `AddressAlreadyRegistered`.
    /// WARNING: the receiver is not checked: if it is a contract that cannot handle tokens, the agent is stuck there
    /// forever.
    /// @param agentId The id of the agent.
    /// @param newAgentDomain The new domain; empty to keep the current one.
    /// @param newAgentAddress The new owner; zero to keep the current one. It must not own an agent, nor have a primary
    /// agent other than this one.
    /// @return success Always true.
    function updateAgent(
        uint256 agentId,
        string calldata newAgentDomain,
        address newAgentAddress
    ) external returns (bool success);

    /// @notice Releases the domain of an agent, which anyone can then claim immediately.
    /// @dev Can only be called by the agent's owner. Emits `AgentUpdated`, even if the agent has no domain. Reverts
    /// with the first applicable error: `AgentNotFound`, `UnauthorizedUpdate`. Not part of the August 2025 interface.
    /// The compiler compares selectors in ascending order, and this name has the highest one, so the function makes no
    /// other function more expensive.
    /// @param agentId The id of the agent.
    function releaseAgentDomain(uint256 agentId) external;

    /// @notice Chooses the caller's primary agent.
    /// @dev Can only be called by the owner and the wallet of the agent. Reverts with `ERC721NonexistentToken` for an
    /// unknown agent, and with `NotOwnerOrWallet` for any other caller.
    /// @param agentId The id of the agent.
    function setPrimaryAgent(uint256 agentId) external;

    /// @notice Returns the description of an agent.
    /// @dev Reverts with `AgentNotFound` for an unknown agent.
    /// @param agentId The id of the agent.
    /// @return agent Its id, domain and address.
    function getAgent(uint256 agentId) external view returns (AgentInfo memory agent);

    /// @notice Finds the agent to which a domain belongs.
    /// @dev Reverts with `AgentNotFound` if the domain belongs to no agent.
    /// @param agentDomain The domain; ASCII letters are case-insensitive.
    /// @return agent Its id, its domain as spelt by its owner, and its address.
    function resolveByDomain(string calldata agentDomain) external view returns (AgentInfo memory agent);

    /// @notice Finds the primary agent of an account.
    /// @dev Reverts with `AgentNotFound` if the account has no primary agent, even if it owns agents that it received
    /// by transfer: otherwise, anyone could decide which agent others find at your address. The returned address is the
    /// agent's wallet if it has one, so it may differ from the argument if the argument is the agent's owner.
    /// @param agentAddress The account.
    /// @return agent The id, domain and address of its primary agent.
    function resolveByAddress(address agentAddress) external view returns (AgentInfo memory agent);

    /// @notice Returns whether an agent exists.
    /// @param agentId The id of the agent.
    /// @return exists True if this id was registered.
    function agentExists(uint256 agentId) external view returns (bool exists);

    /// @notice Returns the number of registered agents, which is also the highest id.
    /// @return count The number.
    function getAgentCount() external view returns (uint256 count);

    /// @notice Returns the primary agent of an account.
    /// @param account The account.
    /// @return agentId The id of the agent; 0 if the account has no primary agent.
    function agentOf(address account) external view returns (uint256 agentId);

    /// @notice Returns, in one call, everything that a ratings registry needs to know about a rating.
    /// @param rater The account that rates.
    /// @param subjectId The id of the rated agent.
    /// @return raterId The primary agent of `rater`; 0 if it has none.
    /// @return subjectExists True if agent `subjectId` exists.
    function resolveRating(
        address rater,
        uint256 subjectId
    ) external view returns (uint256 raterId, bool subjectExists);
}
