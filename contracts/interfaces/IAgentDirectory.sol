// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Agent directory: the August 2025 base of EIP-8004a, and primary agents
/// @notice Finds agents by domain and by address, and returns the agent that an account speaks as.
/// @dev The August 2025 functions revert with the errors of that generation. Each function checks them in the order in
/// which this file declares them.
///
/// An account may own several agents and be the wallet of others. It speaks as one of them, its *primary agent*. It
/// starts with its first registration, or with the first agent whose proven wallet it became without a primary agent.
/// It can choose another. If `agentOf(account)` is not zero, the account is the owner or the wallet of that agent
/// now. A received token never changes the receiver's primary agent: nobody can make you speak as an agent that you
/// did not choose.
///
/// Sample:
/// ```
/// uint256 raterId = directory.agentOf(msg.sender); // 0: no primary agent
/// ```
interface IAgentDirectory {
    /// @notice An agent as the August 2025 generation describes it.
    /// @param agentId The id of the agent.
    /// @param agentDomain Its domain, spelt as its owner gave it; empty: no domain.
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
    /// @param agentDomain Its domain now; empty: no domain.
    /// @param agentAddress Its wallet now, or its owner if it has no wallet.
    event AgentUpdated(uint256 indexed agentId, string agentDomain, address agentAddress);

    /// @notice Emitted when an account chooses its primary agent.
    /// @dev Only `setPrimaryAgent` emits it. All other changes of primary agents follow from `Transfer` and from
    /// `MetadataSet` of `agentWallet`. An account that registers an agent, or becomes the wallet of one, speaks as that
    /// agent if it had no primary agent. An account that is no longer owner or wallet of its primary agent has none.
    /// @param account The account.
    /// @param agentId Its primary agent now.
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

    /// @notice Another agent holds the domain.
    error DomainAlreadyRegistered();

    /// @notice The address owns an agent, or has a primary agent.
    error AddressAlreadyRegistered();

    /// @notice The account is neither the owner nor the wallet of the agent.
    /// @param account The account.
    /// @param agentId The agent that it tried to choose.
    error NotOwnerOrWallet(address account, uint256 agentId);

    /// @notice Registers an agent of the caller under a domain.
    /// @dev Emits the events of `register()`, then `AgentRegistered`. Reverts, in this order, with
    /// `UnauthorizedRegistration` for the address of another account, `InvalidDomain` for an empty domain,
    /// `InvalidAddress` for the zero address, `DomainAlreadyRegistered`, `AddressAlreadyRegistered`.
    /// WARNING: the registry does not check that the caller controls the domain. An account that received an agent by
    /// transfer cannot call this function; `register` and then `updateAgent` have the same result.
    /// @param agentDomain The domain; the case of ASCII letters does not matter.
    /// @param agentAddress The caller.
    /// @return agentId The id of the new agent.
    function newAgent(string calldata agentDomain, address agentAddress) external returns (uint256 agentId);

    /// @notice Changes the domain of an agent, transfers the agent to another address, or both.
    /// @dev For the owner only. The former domain is free at once. If the caller also owns the agent that holds the new
    /// domain, that agent loses the domain in the same call: the domain is never free in between. A new address
    /// receives the token, and the agent's wallet is cleared. The new owner speaks as the agent if it was the agent's
    /// wallet and spoke as it before; any other new owner does after `setPrimaryAgent`, and `resolveByAddress` finds
    /// nothing until then. Emits `AgentUpdated` for the agent that lost the domain, the events of a transfer if there
    /// is a new address, and `AgentUpdated` for this agent. Reverts, in this order, with `AgentNotFound`,
    /// `UnauthorizedUpdate`, `DomainAlreadyRegistered` if an agent of another owner holds the domain,
    /// `AddressAlreadyRegistered`.
    /// WARNING: no receiver check: a contract that cannot handle tokens keeps the agent for ever.
    /// @param agentId The id of the agent.
    /// @param newAgentDomain The new domain; empty: no change.
    /// @param newAgentAddress The new owner; zero: no change. It must own no agent and have no primary agent but this.
    /// @return success Always true.
    function updateAgent(
        uint256 agentId,
        string calldata newAgentDomain,
        address newAgentAddress
    ) external returns (bool success);

    /// @notice Releases the domain of an agent: it is free at once, for anybody.
    /// @dev For the owner only. Emits `AgentUpdated`, also if the agent has no domain. Reverts, in this order, with
    /// `AgentNotFound`, `UnauthorizedUpdate`. Not part of the August 2025 surface. The compiler compares selectors in
    /// ascending order: this name has the highest, so no other function costs more for it.
    /// @param agentId The id of the agent.
    function releaseAgentDomain(uint256 agentId) external;

    /// @notice Chooses the caller's primary agent.
    /// @dev For the owner and the wallet of the agent. Reverts with `ERC721NonexistentToken` for an unknown agent and
    /// with `NotOwnerOrWallet` for any other caller.
    /// @param agentId The id of the agent.
    function setPrimaryAgent(uint256 agentId) external;

    /// @notice Describes an agent.
    /// @dev Reverts with `AgentNotFound` for an unknown agent.
    /// @param agentId The id of the agent.
    /// @return agent Its id, domain and address.
    function getAgent(uint256 agentId) external view returns (AgentInfo memory agent);

    /// @notice Finds the agent that holds a domain.
    /// @dev Reverts with `AgentNotFound` for a free domain.
    /// @param agentDomain The domain, in any case.
    /// @return agent Its id, domain as its owner spelt it, and address.
    function resolveByDomain(string calldata agentDomain) external view returns (AgentInfo memory agent);

    /// @notice Finds the primary agent of an account.
    /// @dev Reverts with `AgentNotFound` for an account without a primary agent, even if it owns agents that it
    /// received: otherwise any account could decide which agent others find at your address. The agent's address is
    /// its wallet if it has one, so it differs from `agentAddress` if that is the owner.
    /// @param agentAddress The account.
    /// @return agent The id, domain and address of its primary agent.
    function resolveByAddress(address agentAddress) external view returns (AgentInfo memory agent);

    /// @notice Tells whether an agent exists.
    /// @param agentId The id of the agent.
    /// @return exists True if this id was registered.
    function agentExists(uint256 agentId) external view returns (bool exists);

    /// @notice Returns the number of registered agents, which is also the highest id.
    /// @return count The number.
    function getAgentCount() external view returns (uint256 count);

    /// @notice Returns the primary agent of an account.
    /// @param account The account.
    /// @return agentId The id of the agent; 0: no primary agent.
    function agentOf(address account) external view returns (uint256 agentId);

    /// @notice Returns in one call all that a registry of ratings needs for one rating.
    /// @param rater The account that rates.
    /// @param subjectId The id of the rated agent.
    /// @return raterId The primary agent of `rater`; 0: no primary agent.
    /// @return subjectExists True if agent `subjectId` exists.
    function resolveRating(
        address rater,
        uint256 subjectId
    ) external view returns (uint256 raterId, bool subjectExists);
}
