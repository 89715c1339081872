// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {LibString} from "solady/src/utils/LibString.sol";
import {IAgentDirectory} from "../interfaces/IAgentDirectory.sol";
import {AgentToken} from "./AgentToken.sol";

/// @title Directory of agents by domain and address, and the primary agent of each account
abstract contract AgentDirectory is AgentToken, IAgentDirectory {
    using LibString for string;
    using LibString for LibString.StringStorage;

    /// @dev The domain of an agent, as spelt by its owner; empty if it has no domain.
    mapping(uint256 agentId => LibString.StringStorage domain) private _domains;

    /// @dev The agent to which a domain belongs, by the hash of the domain in lower case; 0 if the domain is available.
    mapping(bytes32 domainHash => uint256 agentId) private _domainHolders;

    /// @dev The id of the next agent. It starts at 1, so the first registration is no more expensive than later ones.
    uint256 private _nextAgentId = 1;

    /// @inheritdoc IAgentDirectory
    function newAgent(string calldata agentDomain, address agentAddress) external returns (uint256 agentId) {
        require(msg.sender == agentAddress, UnauthorizedRegistration());
        require(bytes(agentDomain).length != 0, InvalidDomain());
        require(agentAddress != address(0), InvalidAddress());
        bytes32 domainHash = _hashDomain(agentDomain);
        require(_domainHolders[domainHash] == 0, DomainAlreadyRegistered());
        require(!_hasAgent(agentAddress), AddressAlreadyRegistered());

        agentId = _enrol("");
        _domainHolders[domainHash] = agentId;
        _domains[agentId].set(agentDomain);
        emit AgentRegistered(agentId, agentDomain, agentAddress);
    }

    /// @inheritdoc IAgentDirectory
    function updateAgent(
        uint256 agentId,
        string calldata newAgentDomain,
        address newAgentAddress
    ) external returns (bool success) {
        address owner = _ownerOf(agentId);
        require(owner != address(0), AgentNotFound());
        require(msg.sender == owner, UnauthorizedUpdate());

        if (bytes(newAgentDomain).length != 0) _replaceDomain(agentId, newAgentDomain);
        if (newAgentAddress != address(0)) {
            require(!_hasOtherAgent(newAgentAddress, agentId), AddressAlreadyRegistered());
            _handOver(owner, newAgentAddress, agentId);
        }
        _emitUpdate(agentId);
        return true;
    }

    /// @inheritdoc IAgentDirectory
    function releaseAgentDomain(uint256 agentId) external {
        address owner = _ownerOf(agentId);
        require(owner != address(0), AgentNotFound());
        require(msg.sender == owner, UnauthorizedUpdate());

        _freeDomain(agentId);
        _domains[agentId].clear();
        _emitUpdate(agentId);
    }

    /// @inheritdoc IAgentDirectory
    function setPrimaryAgent(uint256 agentId) external {
        require(
            msg.sender == ownerOf(agentId) || (msg.sender == getAgentWallet(agentId) && msg.sender != address(0)),
            NotOwnerOrWallet(msg.sender, agentId)
        );
        _speakAs(msg.sender, agentId);
        emit PrimaryAgentSet(msg.sender, agentId);
    }

    /// @inheritdoc IAgentDirectory
    function getAgent(uint256 agentId) external view returns (AgentInfo memory agent) {
        return _describe(agentId);
    }

    /// @inheritdoc IAgentDirectory
    function resolveByDomain(string calldata agentDomain) external view returns (AgentInfo memory agent) {
        return _describe(_domainHolders[_hashDomain(agentDomain)]);
    }

    /// @inheritdoc IAgentDirectory
    function resolveByAddress(address agentAddress) external view returns (AgentInfo memory agent) {
        return _describe(agentOf(agentAddress));
    }

    /// @inheritdoc IAgentDirectory
    function agentExists(uint256 agentId) external view returns (bool exists) {
        return _exists(agentId);
    }

    /// @inheritdoc IAgentDirectory
    function getAgentCount() external view returns (uint256 count) {
        return _nextAgentId - 1;
    }

    /// @inheritdoc IAgentDirectory
    function resolveRating(
        address rater,
        uint256 subjectId
    ) external view returns (uint256 raterId, bool subjectExists) {
        return (agentOf(rater), _exists(subjectId));
    }

    /// @dev Returns the wallet of an agent; zero if the agent has no wallet or is unknown.
    function getAgentWallet(uint256 agentId) public view virtual returns (address wallet);

    /// @inheritdoc IAgentDirectory
    function agentOf(address account) public view returns (uint256 agentId) {
        return _account(account).word >> PRIMARY_AGENT_OFFSET;
    }

    /// @dev Registers an agent for the caller. Every registration ends here.
    function _enrol(string memory agentURI) internal virtual returns (uint256 agentId);

    /// @dev Mints the next agent to the caller. The agent becomes the caller's primary agent if the caller has none.
    /// Since the caller requested the token, there is no receiver check, and therefore no callback and no reentrancy.
    function _mintNextAgent() internal returns (uint256 agentId) {
        agentId = _nextAgentId;
        _nextAgentId = agentId + 1;
        _speakAsFirst(msg.sender, agentId);
        _mint(msg.sender, agentId);
    }

    /// @dev Makes an agent the primary agent of an account, unless the account has one.
    function _speakAsFirst(address account, uint256 agentId) internal {
        if (agentOf(account) == 0) _speakAs(account, agentId);
    }

    /// @dev Clears the primary agent of an account if it is this one.
    function _ceaseToSpeakAs(address account, uint256 agentId) internal {
        if (agentOf(account) == agentId) _speakAs(account, 0);
    }

    function _speakAs(address account, uint256 agentId) private {
        Account storage slot = _account(account);
        slot.word = uint32(slot.word) | (agentId << PRIMARY_AGENT_OFFSET);
    }

    function _replaceDomain(uint256 agentId, string calldata newDomain) private {
        bytes32 newHash = _hashDomain(newDomain);
        uint256 holder = _domainHolders[newHash];
        bool isTaken = holder != 0 && holder != agentId;
        require(!isTaken || _ownerOf(holder) == msg.sender, DomainAlreadyRegistered());

        _freeDomain(agentId);
        if (isTaken) {
            _domains[holder].clear();
            _emitUpdate(holder);
        }
        _domainHolders[newHash] = agentId;
        _domains[agentId].set(newDomain);
    }

    /// @dev Releases the domain of an agent, if it has one. The calling function then clears or replaces the agent's
    /// own text.
    function _freeDomain(uint256 agentId) private {
        string memory domain = _domains[agentId].get();
        if (bytes(domain).length != 0) delete _domainHolders[_hashDomain(domain)];
    }

    function _emitUpdate(uint256 agentId) private {
        AgentInfo memory agent = _describe(agentId);
        emit AgentUpdated(agentId, agent.agentDomain, agent.agentAddress);
    }

    /// @dev Reverts for an unknown agent. Id 0, which means "not found", counts as unknown.
    function _describe(uint256 agentId) private view returns (AgentInfo memory agent) {
        address owner = _ownerOf(agentId);
        require(owner != address(0), AgentNotFound());
        address wallet = getAgentWallet(agentId);
        return AgentInfo(agentId, _domains[agentId].get(), wallet == address(0) ? owner : wallet);
    }

    /// @dev Returns true for the owner of any agent, and for an account that has a primary agent. An account that
    /// received an agent by transfer owns it, although it is not its primary agent.
    function _hasAgent(address account) private view returns (bool) {
        return agentOf(account) != 0 || balanceOf(account) != 0;
    }

    /// @dev Like `_hasAgent`, but returns false for an account whose primary agent is `agentId` and that owns no agent,
    /// which is the agent's wallet.
    function _hasOtherAgent(address account, uint256 agentId) private view returns (bool) {
        uint256 primaryAgent = agentOf(account);
        return (primaryAgent != 0 && primaryAgent != agentId) || balanceOf(account) != 0;
    }

    /// @dev Converts ASCII letters to lower case, and leaves the bytes of all other characters unchanged.
    function _hashDomain(string memory domain) private pure returns (bytes32 domainHash) {
        return keccak256(bytes(domain.lower()));
    }
}
