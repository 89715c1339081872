// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {EIP712} from "solady/src/utils/EIP712.sol";
import {IIdentityRegistry} from "../interfaces/IIdentityRegistry.sol";
import {IReputationRegistry} from "../interfaces/IReputationRegistry.sol";
import {FeedbackWord, FeedbackWords} from "../libraries/FeedbackWord.sol";
import {IdentityBound} from "../base/IdentityBound.sol";
import {RevertReasons} from "../libraries/RevertReasons.sol";
import {Signatures} from "../libraries/Signatures.sol";
import {FeedbackStore} from "./FeedbackStore.sol";

/// @title Reputation registry of ERC-8004 (January 2026)
/// @notice Immutable: it has no owner and no proxy, and cannot be paused. The manual is `IReputationRegistry`.
contract ReputationRegistry is IdentityBound, EIP712, ERC165, FeedbackStore, IReputationRegistry {
    uint8 private constant MAX_DECIMALS = 18;
    int128 private constant MAX_ABS_VALUE = 1e38;

    bytes32 private constant FEEDBACK_TYPEHASH = keccak256(
        "Feedback(uint256 agentId,address clientAddress,uint64 feedbackIndex,int128 value,uint8 valueDecimals,"
        "string tag1,string tag2,string endpoint,string feedbackURI,bytes32 feedbackHash,uint256 deadline)"
    );

    /// @dev The latest deadline of signed feedback that each client has voided. Only the signed path reads it.
    mapping(address client => uint256 deadline) private _voidedDeadlines;

    /// @param identityRegistry The identity registry of the agents.
    constructor(address identityRegistry) IdentityBound(identityRegistry) {}

    /// @inheritdoc IReputationRegistry
    function giveFeedback(
        uint256 agentId,
        int128 value,
        uint8 valueDecimals,
        string calldata tag1,
        string calldata tag2,
        string calldata endpoint,
        string calldata feedbackURI,
        bytes32 feedbackHash
    ) external {
        uint64 index = _accept(agentId, msg.sender, value, valueDecimals, tag1, tag2);
        emit NewFeedback(
            agentId,
            msg.sender,
            index,
            value,
            valueDecimals,
            tag1,
            tag1,
            tag2,
            endpoint,
            feedbackURI,
            feedbackHash
        );
    }

    /// @inheritdoc IReputationRegistry
    function giveFeedbackBySig(
        address clientAddress,
        FeedbackParams calldata params,
        uint256 deadline,
        bytes calldata signature
    ) external {
        require(block.timestamp <= deadline, SignatureExpired(deadline, block.timestamp));
        uint256 voided = _voidedDeadlines[clientAddress];
        // A deadline of zero has expired on every chain, so zero can mean that nothing was voided.
        require(deadline > voided, SignatureVoided(deadline, voided));
        uint64 expected = _nextIndex(params.agentId, clientAddress);
        require(params.feedbackIndex == expected, UnexpectedFeedbackIndex(params.feedbackIndex, expected));
        bytes32 digest = _hashTypedData(_hashFeedback(clientAddress, params, deadline));
        require(Signatures.isSignedBy(clientAddress, digest, signature), InvalidSignature(clientAddress));

        _accept(params.agentId, clientAddress, params.value, params.valueDecimals, params.tag1, params.tag2);
        emit NewFeedback(
            params.agentId,
            clientAddress,
            params.feedbackIndex,
            params.value,
            params.valueDecimals,
            params.tag1,
            params.tag1,
            params.tag2,
            params.endpoint,
            params.feedbackURI,
            params.feedbackHash
        );
    }

    /// @inheritdoc IReputationRegistry
    function voidSignaturesThrough(uint256 deadline) external {
        uint256 voided = _voidedDeadlines[msg.sender];
        require(deadline > voided, DeadlineAlreadyVoided(deadline, voided));
        _voidedDeadlines[msg.sender] = deadline;
        emit SignaturesVoided(msg.sender, deadline);
    }

    /// @inheritdoc IReputationRegistry
    function revokeFeedback(uint256 agentId, uint64 feedbackIndex) external {
        _revoke(agentId, msg.sender, feedbackIndex);
        emit FeedbackRevoked(agentId, msg.sender, feedbackIndex);
    }

    /// @inheritdoc IReputationRegistry
    function appendResponse(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex,
        string calldata responseURI,
        bytes32 responseHash
    ) external {
        require(feedbackIndex != 0, RevertReasons.INDEX_ZERO);
        require(bytes(responseURI).length != 0, RevertReasons.EMPTY_URI);
        _countResponse(agentId, clientAddress, feedbackIndex, msg.sender);
        emit ResponseAppended(agentId, clientAddress, feedbackIndex, msg.sender, responseURI, responseHash);
    }

    /// @inheritdoc IReputationRegistry
    function getSummary(
        uint256 agentId,
        address[] calldata clientAddresses,
        string calldata tag1,
        string calldata tag2
    ) external view returns (uint64 count, int128 summaryValue, uint8 summaryValueDecimals) {
        require(clientAddresses.length != 0, RevertReasons.CLIENTS_REQUIRED);
        return _summarize(agentId, clientAddresses, tag1, tag2);
    }

    /// @inheritdoc IReputationRegistry
    function readFeedback(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex
    )
        external
        view
        returns (int128 value, uint8 valueDecimals, string memory tag1, string memory tag2, bool isRevoked)
    {
        require(feedbackIndex != 0, RevertReasons.INDEX_ZERO);
        FeedbackWord feedback = _requireFeedback(agentId, clientAddress, feedbackIndex);
        return (
            feedback.value(),
            feedback.decimals(),
            _tagOf(feedback.tag1Id()),
            _tagOf(feedback.tag2Id()),
            feedback.isRevoked()
        );
    }

    /// @inheritdoc IReputationRegistry
    function readAllFeedback(
        uint256 agentId,
        address[] calldata clientAddresses,
        string calldata tag1,
        string calldata tag2,
        bool includeRevoked
    )
        external
        view
        returns (
            address[] memory clients,
            uint64[] memory feedbackIndexes,
            int128[] memory values,
            uint8[] memory valueDecimals,
            string[] memory tag1s,
            string[] memory tag2s,
            bool[] memory revokedStatuses
        )
    {
        FeedbackWord[] memory words;
        (clients, feedbackIndexes, words) = _find(agentId, clientAddresses, tag1, tag2, includeRevoked);
        values = new int128[](words.length);
        valueDecimals = new uint8[](words.length);
        tag1s = _readTags(words, FeedbackWords.tag1Id);
        tag2s = _readTags(words, FeedbackWords.tag2Id);
        revokedStatuses = new bool[](words.length);
        for (uint256 i = 0; i < words.length; ++i) {
            FeedbackWord feedback = words[i];
            values[i] = feedback.value();
            valueDecimals[i] = feedback.decimals();
            revokedStatuses[i] = feedback.isRevoked();
        }
    }

    /// @inheritdoc IReputationRegistry
    function getResponseCount(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex,
        address[] calldata responders
    ) external view returns (uint64 count) {
        if (clientAddress != address(0)) {
            if (feedbackIndex != 0) return _countResponses(agentId, clientAddress, feedbackIndex, responders);
            return _countAllResponses(agentId, clientAddress, responders);
        }
        address[] memory clients = _clientsOf(agentId);
        for (uint256 i = 0; i < clients.length; ++i) {
            count += _countAllResponses(agentId, clients[i], responders);
        }
    }

    /// @inheritdoc IReputationRegistry
    function getClients(uint256 agentId) external view returns (address[] memory clients) {
        return _clientsOf(agentId);
    }

    /// @inheritdoc IReputationRegistry
    function getLastIndex(uint256 agentId, address clientAddress) external view returns (uint64 lastIndex) {
        return _nextIndex(agentId, clientAddress) - 1;
    }

    /// @inheritdoc IReputationRegistry
    function getVoidedDeadline(address clientAddress) external view returns (uint256 deadline) {
        return _voidedDeadlines[clientAddress];
    }

    /// @inheritdoc IReputationRegistry
    function getVersion() external pure returns (string memory version) {
        return "2.0.0";
    }

    /// @inheritdoc ERC165
    function supportsInterface(bytes4 interfaceId) public view virtual override returns (bool supported) {
        return interfaceId == type(IReputationRegistry).interfaceId || super.supportsInterface(interfaceId);
    }

    /// @dev Stores a feedback entry and returns its index. Reverts if the value is out of range, the agent is unknown,
    /// or the client may act for it.
    function _accept(
        uint256 agentId,
        address client,
        int128 value,
        uint8 valueDecimals,
        string calldata tag1,
        string calldata tag2
    ) internal returns (uint64 index) {
        require(valueDecimals <= MAX_DECIMALS, RevertReasons.TOO_MANY_DECIMALS);
        require(value >= -MAX_ABS_VALUE && value <= MAX_ABS_VALUE, RevertReasons.VALUE_TOO_LARGE);
        require(
            !IIdentityRegistry(IDENTITY_REGISTRY).isAuthorizedOrOwner(client, agentId),
            RevertReasons.SELF_FEEDBACK
        );
        return _store(agentId, client, value, valueDecimals, tag1, tag2);
    }

    /// @inheritdoc EIP712
    function _domainNameAndVersion() internal pure override returns (string memory, string memory) {
        return ("ERC8004ReputationRegistry", "1");
    }

    function _hashFeedback(
        address clientAddress,
        FeedbackParams calldata params,
        uint256 deadline
    ) private pure returns (bytes32 structHash) {
        return
            keccak256(
                abi.encode(
                    FEEDBACK_TYPEHASH,
                    params.agentId,
                    clientAddress,
                    params.feedbackIndex,
                    params.value,
                    params.valueDecimals,
                    keccak256(bytes(params.tag1)),
                    keccak256(bytes(params.tag2)),
                    keccak256(bytes(params.endpoint)),
                    keccak256(bytes(params.feedbackURI)),
                    params.feedbackHash,
                    deadline
                )
            );
    }
}
