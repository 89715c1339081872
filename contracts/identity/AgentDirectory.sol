// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {LibString} from "solady/src/utils/LibString.sol";
import {IAgentDirectory} from "../interfaces/IAgentDirectory.sol";
import {AgentToken} from "./AgentToken.sol";

/// @title Agents by domain, and the agent that an account speaks as
abstract contract AgentDirectory is AgentToken, IAgentDirectory {
    using LibString for string;
    using LibString for LibString.StringStorage;

    /// @dev The domain of an agent, as it was given; empty: none.
    mapping(uint256 agentId => LibString.StringStorage domain) private _domains;

    /// @dev The agent that holds a domain, by the hash of the domain in lower case; 0: free.
    mapping(bytes32 domainHash => uint256 agentId) private _domainHolders;

    /// @dev The id of the next agent. It starts at 1 rather than 0, so that the first registration costs no more than
    /// the others.
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
            require(!_hasAgent(newAgentAddress), AddressAlreadyRegistered());
            _handOver(owner, newAgentAddress, agentId);
        }

        AgentInfo memory agent = _describe(agentId);
        emit AgentUpdated(agentId, agent.agentDomain, agent.agentAddress);
        return true;
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

    /// @dev The wallet of an agent; zero if there is none or the agent is unknown.
    function getAgentWallet(uint256 agentId) public view virtual returns (address wallet);

    /// @inheritdoc IAgentDirectory
    function agentOf(address account) public view returns (uint256 agentId) {
        return _account(account).word >> PRIMARY_AGENT_OFFSET;
    }

    /// @dev Registers the caller's agent: the one way to become an agent.
    function _enrol(string memory agentURI) internal virtual returns (uint256 agentId);

    /// @dev Mints the next agent to the caller, who speaks as it if it speaks as none yet. There is no receiver to
    /// protect, the caller asked for the token, so it is not called back and nothing can re-enter.
    function _mintNextAgent() internal returns (uint256 agentId) {
        agentId = _nextAgentId;
        _nextAgentId = agentId + 1;
        _speakAsFirst(msg.sender, agentId);
        _mint(msg.sender, agentId);
    }

    /// @dev Makes an agent the primary agent of an account that has none.
    function _speakAsFirst(address account, uint256 agentId) internal {
        if (agentOf(account) == 0) _speakAs(account, agentId);
    }

    /// @dev Leaves an account without a primary agent if it is this one.
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
        require(holder == 0 || holder == agentId, DomainAlreadyRegistered());

        string memory formerDomain = _domains[agentId].get();
        if (bytes(formerDomain).length != 0) delete _domainHolders[_hashDomain(formerDomain)];
        _domainHolders[newHash] = agentId;
        _domains[agentId].set(newDomain);
    }

    /// @dev Reverts for an unknown agent; 0, which stands for "none found", is unknown too.
    function _describe(uint256 agentId) private view returns (AgentInfo memory agent) {
        address owner = _ownerOf(agentId);
        require(owner != address(0), AgentNotFound());
        address wallet = getAgentWallet(agentId);
        return AgentInfo(agentId, _domains[agentId].get(), wallet == address(0) ? owner : wallet);
    }

    /// @dev An account that got an agent by transfer has one, although it does not speak as it.
    function _hasAgent(address account) private view returns (bool) {
        return agentOf(account) != 0 || balanceOf(account) != 0;
    }

    /// @dev Only ASCII letters have a case here: bytes of other characters are left as they are.
    function _hashDomain(string memory domain) private pure returns (bytes32 domainHash) {
        return keccak256(bytes(domain.lower()));
    }
}
