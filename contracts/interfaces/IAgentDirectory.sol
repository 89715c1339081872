// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Agent directory: the August 2025 base of EIP-8004a, and the agent that an account speaks as
/// @notice Finds agents by domain and by address, and tells as which agent an account rates.
/// @dev The August 2025 functions revert with that generation's own errors, checked in the order in which they are
/// declared here.
///
/// An account may hold several agents and be the wallet of others, so it has one *primary agent*: its first
/// registration, or the first agent that it became the proven wallet of while it had none, until it chooses another.
/// Whenever `agentOf(account)` is not zero, the account is now the owner or the wallet of that agent. Receiving a token
/// never changes the receiver's primary agent: nobody can make you speak as an agent that you did not choose.
///
/// Sample:
/// ```
/// uint256 raterId = directory.agentOf(msg.sender); // 0: no agent
/// ```
interface IAgentDirectory {
    /// @notice An agent as the August 2025 generation describes it.
    /// @param agentId The agent's id.
    /// @param agentDomain Its domain as it was given; empty if it has none.
    /// @param agentAddress Its wallet, or its owner if it has no wallet.
    struct AgentInfo {
        uint256 agentId;
        string agentDomain;
        address agentAddress;
    }

    /// @notice An agent was registered with a domain.
    /// @param agentId The new agent's id.
    /// @param agentDomain Its domain.
    /// @param agentAddress The account that registered it.
    event AgentRegistered(uint256 indexed agentId, string agentDomain, address agentAddress);

    /// @notice An agent's domain or address was updated through `updateAgent`.
    /// @param agentId The agent.
    /// @param agentDomain Its domain now.
    /// @param agentAddress Its wallet now, or its owner if it has no wallet.
    event AgentUpdated(uint256 indexed agentId, string agentDomain, address agentAddress);

    /// @notice An account chose the agent that it speaks as.
    /// @dev Emitted by `setPrimaryAgent` alone. Every other change of a primary agent follows from `Transfer` and the
    /// `MetadataSet` of `agentWallet`: an account that registers an agent, or becomes the wallet of one, speaks as it
    /// if it spoke as none; an account that is no longer the owner or the wallet of its primary agent speaks as none.
    /// @param account The account.
    /// @param agentId Its primary agent now.
    event PrimaryAgentSet(address indexed account, uint256 indexed agentId);

    /// @notice There is no agent with this id, domain or address.
    error AgentNotFound();

    /// @notice An agent is registered by its own address only.
    error UnauthorizedRegistration();

    /// @notice An agent is updated by its owner only.
    error UnauthorizedUpdate();

    /// @notice The domain is empty.
    error InvalidDomain();

    /// @notice The address is zero.
    error InvalidAddress();

    /// @notice Another agent holds the domain.
    error DomainAlreadyRegistered();

    /// @notice The address owns an agent already, or speaks as one.
    error AddressAlreadyRegistered();

    /// @notice An account may speak only as an agent that it owns or is the wallet of.
    /// @param account The account.
    /// @param agentId The agent that it asked for.
    error NotOwnerOrWallet(address account, uint256 agentId);

    /// @notice Registers the caller's agent under a domain.
    /// @dev Emits what `register()` emits, then `AgentRegistered`. Reverts, in this order, with
    /// `UnauthorizedRegistration` for somebody else's address, `InvalidDomain` for an empty domain, `InvalidAddress`
    /// for the zero address, `DomainAlreadyRegistered`, `AddressAlreadyRegistered`.
    /// WARNING: nothing proves that the caller controls the domain. An account to which somebody has transferred an
    /// agent has one; if it wants one of its own nevertheless, `register` and `updateAgent` lead to the same result.
    /// @param agentDomain The domain, compared without regard to the case of ASCII letters.
    /// @param agentAddress The caller.
    /// @return agentId The new id.
    function newAgent(string calldata agentDomain, address agentAddress) external returns (uint256 agentId);

    /// @notice Changes an agent's domain, hands the agent to another address, or both.
    /// @dev For the owner only. The former domain is free again at once. A new address receives the token, without a
    /// wallet; it speaks as the agent only when it chooses to, by `setPrimaryAgent`. Emits what a transfer emits if
    /// there is a new address, then `AgentUpdated`. Reverts, in this order, with `AgentNotFound`, `UnauthorizedUpdate`,
    /// `DomainAlreadyRegistered` if another agent holds the domain, `AddressAlreadyRegistered`. The receiver is not
    /// asked whether it takes tokens.
    /// @param agentId The agent.
    /// @param newAgentDomain The new domain; empty leaves it as it is.
    /// @param newAgentAddress The new owner, which must have no agent; zero leaves it as it is.
    /// @return success Always true.
    function updateAgent(
        uint256 agentId,
        string calldata newAgentDomain,
        address newAgentAddress
    ) external returns (bool success);

    /// @notice Chooses the agent that the caller speaks as.
    /// @dev For the agent's owner and its wallet. Reverts with `ERC721NonexistentToken` for an unknown agent and with
    /// `NotOwnerOrWallet` for anybody else.
    /// @param agentId The agent.
    function setPrimaryAgent(uint256 agentId) external;

    /// @notice Describes an agent.
    /// @dev Reverts with `AgentNotFound` if there is none.
    /// @param agentId The agent.
    /// @return agent Its id, domain and address.
    function getAgent(uint256 agentId) external view returns (AgentInfo memory agent);

    /// @notice Finds the agent that holds a domain.
    /// @dev Reverts with `AgentNotFound` if there is none.
    /// @param agentDomain The domain, in any case.
    /// @return agent Its id, domain as it was given, and address.
    function resolveByDomain(string calldata agentDomain) external view returns (AgentInfo memory agent);

    /// @notice Finds the agent that an account speaks as.
    /// @dev Reverts with `AgentNotFound` if there is none. The agent's address is its wallet if set, so it differs from
    /// the account asked for when that is the owner.
    /// @param agentAddress The account.
    /// @return agent Its primary agent's id, domain and address.
    function resolveByAddress(address agentAddress) external view returns (AgentInfo memory agent);

    /// @notice Whether an agent has been registered under this id.
    /// @param agentId The id.
    /// @return exists Whether it has.
    function agentExists(uint256 agentId) external view returns (bool exists);

    /// @notice How many agents have been registered; also the highest id.
    /// @return count The number.
    function getAgentCount() external view returns (uint256 count);

    /// @notice The agent that an account speaks as.
    /// @param account The account.
    /// @return agentId Its primary agent; 0 if it has none.
    function agentOf(address account) external view returns (uint256 agentId);

    /// @notice All that a registry of ratings asks about one rating, in one call.
    /// @param rater The account that rates.
    /// @param subjectId The agent that is rated.
    /// @return raterId The agent that `rater` speaks as; 0 if it has none.
    /// @return subjectExists Whether there is an agent with the id `subjectId`.
    function resolveRating(
        address rater,
        uint256 subjectId
    ) external view returns (uint256 raterId, bool subjectExists);
}
