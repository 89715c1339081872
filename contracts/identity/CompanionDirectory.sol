// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC721Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {LowLevelCall} from "@openzeppelin/contracts/utils/LowLevelCall.sol";
import {ERC165Checker} from "@openzeppelin/contracts/utils/introspection/ERC165Checker.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {IdentityBound} from "../base/IdentityBound.sol";
import {IAgentDirectory} from "../interfaces/IAgentDirectory.sol";
import {ICompanionDirectory} from "../interfaces/ICompanionDirectory.sol";
import {IIdentityRegistry} from "../interfaces/IIdentityRegistry.sol";

/// @title Directory for an identity registry that lacks one
/// @notice Immutable: it has no owner and no proxy, and cannot be paused. The manuals are `ICompanionDirectory` and
/// `IAgentDirectory`.
contract CompanionDirectory is IdentityBound, IAgentDirectory, ICompanionDirectory, IERC165 {
    /// @dev An id that no registry has reached. The constructor queries it.
    uint256 private constant UNKNOWN_AGENT = type(uint256).max;

    /// @dev True if the identity registry itself reports who may act for an agent.
    bool private immutable TELLS_WHO_MAY_ACT;

    /// @dev The agent that each account chose; 0 if none. The account may have lost it since.
    mapping(address account => uint256 agentId) private _chosenAgents;

    /// @dev The highest id that was ever proven to exist. It never decreases.
    uint256 private _agentCount;

    /// @dev Reverts with "bad identity" for an externally owned account, including one with an EIP-7702 delegation, and
    /// with `NotAnIdentityRegistry` for a contract that is not an ERC-721 token with `getAgentWallet`. If a contract
    /// reverts for an unknown agent, all these functions must revert with the same data, so a contract that lacks one
    /// of them and has a fallback function that reverts does not pass. A deployer cannot starve these calls of gas,
    /// because the 64th of the gas that would remain is not enough to deploy the code.
    /// @param identityRegistry The identity registry, or its proxy.
    constructor(address identityRegistry) IdentityBound(identityRegistry) {
        require(
            ERC165Checker.supportsInterface(identityRegistry, type(IERC721).interfaceId),
            NotAnIdentityRegistry(identityRegistry, IERC165.supportsInterface.selector)
        );
        (bool success, bytes memory data) = _probe(abi.encodeCall(IERC721.ownerOf, (UNKNOWN_AGENT)));
        require(_deniesAgent(success, data), NotAnIdentityRegistry(identityRegistry, IERC721.ownerOf.selector));
        bytes32 refusal = success ? bytes32(0) : keccak256(data);

        (success, data) = _probe(abi.encodeCall(IIdentityRegistry.getAgentWallet, (UNKNOWN_AGENT)));
        require(
            success ? _deniesAgent(true, data) : keccak256(data) == refusal,
            NotAnIdentityRegistry(identityRegistry, IIdentityRegistry.getAgentWallet.selector)
        );
        (success, data) = _probe(abi.encodeCall(IIdentityRegistry.isAuthorizedOrOwner, (address(this), UNKNOWN_AGENT)));
        TELLS_WHO_MAY_ACT = !success && keccak256(data) == refusal;
    }

    /// @inheritdoc IAgentDirectory
    /// @dev Reverts with the first applicable error: `NobodySpeaksAsAgentZero`, an error of `ownerOf`,
    /// `NotOwnerOrWallet`.
    function setPrimaryAgent(uint256 agentId) external {
        require(agentId != 0, NobodySpeaksAsAgentZero(msg.sender));
        require(
            msg.sender == ownerOf(agentId) || (msg.sender == getAgentWallet(agentId) && msg.sender != address(0)),
            NotOwnerOrWallet(msg.sender, agentId)
        );
        _chosenAgents[msg.sender] = agentId;
        emit PrimaryAgentSet(msg.sender, agentId);
    }

    /// @inheritdoc ICompanionDirectory
    function proveAgent(uint256 agentId) external returns (uint256 agentCount) {
        agentCount = _agentCount;
        if (agentId <= agentCount) return agentCount;
        ownerOf(agentId);
        _agentCount = agentId;
        emit AgentCountRaised(agentId);
        return agentId;
    }

    /// @inheritdoc IAgentDirectory
    /// @dev The highest id that was ever proven to exist (see `proveAgent`).
    function getAgentCount() external view returns (uint256 count) {
        return _agentCount;
    }

    /// @inheritdoc IAgentDirectory
    function resolveRating(
        address rater,
        uint256 subjectId
    ) external view returns (uint256 raterId, bool subjectExists) {
        return (agentOf(rater), agentExists(subjectId));
    }

    /// @inheritdoc IAgentDirectory
    function getAgent(uint256 agentId) external view returns (AgentInfo memory agent) {
        return _describe(agentId);
    }

    /// @inheritdoc IAgentDirectory
    function resolveByAddress(address agentAddress) external view returns (AgentInfo memory agent) {
        uint256 agentId = agentOf(agentAddress);
        require(agentId != 0, AgentNotFound());
        return _describe(agentId);
    }

    /// @inheritdoc ICompanionDirectory
    function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool authorized) {
        if (TELLS_WHO_MAY_ACT) {
            return _requireTruth(abi.encodeCall(IIdentityRegistry.isAuthorizedOrOwner, (spender, agentId)));
        }
        address owner = ownerOf(agentId);
        if (spender == owner) return true;
        if (_requireTruth(abi.encodeCall(IERC721.isApprovedForAll, (owner, spender)))) return true;
        return _requireAddress(IERC721.getApproved.selector, agentId) == spender && spender != address(0);
    }

    /// @inheritdoc IERC165
    /// @dev Answers for its own interfaces, and forwards all other queries. It lacks the functions for transfers and
    /// approvals, although the identity registry reports that it is an ERC-721 token.
    function supportsInterface(bytes4 interfaceId) external view returns (bool supported) {
        if (interfaceId == type(ICompanionDirectory).interfaceId || interfaceId == type(IERC165).interfaceId) {
            return true;
        }
        if (interfaceId == 0xffffffff) return false;
        return _requireTruth(abi.encodeCall(IERC165.supportsInterface, (interfaceId)));
    }

    /// @inheritdoc IAgentDirectory
    /// @dev Always reverts with `NotInCompanion`.
    function newAgent(string calldata, address) external pure returns (uint256) {
        revert NotInCompanion(IAgentDirectory.newAgent.selector);
    }

    /// @inheritdoc IAgentDirectory
    /// @dev Always reverts with `NotInCompanion`.
    function updateAgent(uint256, string calldata, address) external pure returns (bool) {
        revert NotInCompanion(IAgentDirectory.updateAgent.selector);
    }

    /// @inheritdoc IAgentDirectory
    /// @dev Always reverts with `NotInCompanion`.
    function releaseAgentDomain(uint256) external pure {
        revert NotInCompanion(IAgentDirectory.releaseAgentDomain.selector);
    }

    /// @inheritdoc IAgentDirectory
    /// @dev Always reverts with `NotInCompanion`.
    function resolveByDomain(string calldata) external pure returns (AgentInfo memory) {
        revert NotInCompanion(IAgentDirectory.resolveByDomain.selector);
    }

    /// @inheritdoc IAgentDirectory
    /// @dev Agent 0 may exist in the identity registry.
    function agentExists(uint256 agentId) public view returns (bool exists) {
        return _findOwner(agentId) != address(0);
    }

    /// @inheritdoc IAgentDirectory
    /// @dev Returns the agent that the account chose, if the account is its current owner or wallet. Reverts with
    /// `NoAnswer` if the identity registry does not answer.
    function agentOf(address account) public view returns (uint256 agentId) {
        agentId = _chosenAgents[account];
        if (agentId == 0) return 0;
        address owner = _findOwner(agentId);
        if (owner == account) return agentId;
        return owner != address(0) && _findWallet(agentId) == account ? agentId : 0;
    }

    /// @inheritdoc ICompanionDirectory
    function ownerOf(uint256 agentId) public view returns (address owner) {
        owner = _requireAddress(IERC721.ownerOf.selector, agentId);
        require(owner != address(0), IERC721Errors.ERC721NonexistentToken(agentId));
    }

    /// @inheritdoc ICompanionDirectory
    function getAgentWallet(uint256 agentId) public view returns (address wallet) {
        return _requireAddress(IIdentityRegistry.getAgentWallet.selector, agentId);
    }

    /// @dev Reverts for an unknown agent.
    function _describe(uint256 agentId) private view returns (AgentInfo memory agent) {
        address owner = _findOwner(agentId);
        require(owner != address(0), AgentNotFound());
        address wallet = _findWallet(agentId);
        return AgentInfo(agentId, "", wallet == address(0) ? owner : wallet);
    }

    /// @dev Returns the owner of an agent; zero if the identity registry refuses to return one.
    function _findOwner(uint256 agentId) private view returns (address owner) {
        (, owner) = _askAddress(IERC721.ownerOf.selector, agentId);
    }

    /// @dev Returns the wallet of an agent; zero if it has none, or if the identity registry refuses to return one.
    function _findWallet(uint256 agentId) private view returns (address wallet) {
        (, wallet) = _askAddress(IIdentityRegistry.getAgentWallet.selector, agentId);
    }

    /// @dev Returns an address of an agent. Reverts with the identity registry's own error if it refuses.
    function _requireAddress(bytes4 selector, uint256 agentId) private view returns (address answer) {
        bool answered;
        (answered, answer) = _askAddress(selector, agentId);
        if (!answered) LowLevelCall.bubbleRevert();
    }

    /// @dev Returns the boolean answer to a query. Reverts with the identity registry's own error if it refuses.
    function _requireTruth(bytes memory question) private view returns (bool answer) {
        // A boolean answer has one word; a second word is ignored.
        // slither-disable-next-line unused-return
        (bool answered, bytes32 word, ) = LowLevelCall.staticcallReturn64Bytes(IDENTITY_REGISTRY, question);
        uint256 size = LowLevelCall.returnDataSize();
        bool isValid = answered ? size >= 32 && uint256(word) <= 1 : size != 0;
        require(isValid, NoAnswer(IDENTITY_REGISTRY, bytes4(question)));
        if (!answered) LowLevelCall.bubbleRevert();
        return word != 0;
    }

    /// @dev Queries an address of an agent. Returns true and the address, or false and zero if the identity registry
    /// reverts with data; `LowLevelCall.bubbleRevert` can then repeat the data. Reads no more than one word of an
    /// answer. A query in scratch memory costs 440 gas less than one with `abi.encodeCall`, and a rating makes two.
    function _askAddress(bytes4 selector, uint256 agentId) private view returns (bool answered, address answer) {
        address registry = IDENTITY_REGISTRY;
        uint256 word;
        uint256 size;
        assembly ("memory-safe") {
            mstore(0x00, selector)
            mstore(0x04, agentId)
            answered := staticcall(gas(), registry, 0x00, 0x24, 0x00, 0x20)
            word := mload(0x00)
            size := returndatasize()
        }
        bool isValid = answered ? size >= 32 && word <= type(uint160).max : size != 0;
        require(isValid, NoAnswer(registry, selector));
        return (answered, answered ? address(uint160(word)) : address(0));
    }

    /// @dev Makes a query for the constructor, which interprets the outcome itself.
    function _probe(bytes memory question) private view returns (bool success, bytes memory data) {
        success = LowLevelCall.staticcallNoReturn(IDENTITY_REGISTRY, question);
        return (success, LowLevelCall.returnData());
    }

    /// @dev Returns true for a zero address, and for a revert with data.
    function _deniesAgent(bool success, bytes memory data) private pure returns (bool denies) {
        return success ? data.length >= 32 && bytes32(data) == 0 : data.length != 0;
    }
}
