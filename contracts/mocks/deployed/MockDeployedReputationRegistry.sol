// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {SignedMath} from "@openzeppelin/contracts/utils/math/SignedMath.sol";
import {IIdentityRegistry} from "../../interfaces/IIdentityRegistry.sol";
import {IReputationRegistry} from "../../interfaces/IReputationRegistry.sol";
import {RevertReasons} from "../../libraries/RevertReasons.sol";
import {MockDeployedFeedback} from "./MockDeployedFeedback.sol";

/// @title Stand-in for the deployed reputation registry
/// @notice It differs from `ReputationRegistry` as the deployed one does: every view walks all feedback of the named
/// clients, nobody gives feedback by a signature, and the code can be replaced.
contract MockDeployedReputationRegistry is MockDeployedFeedback {
    uint8 private constant MAX_DECIMALS = 18;
    uint256 private constant MAX_ABS_VALUE = 1e38;

    address private _identityRegistry;

    /// @notice Prepares a proxy.
    /// @param owner The account that can replace the code.
    /// @param identityRegistry The identity registry of the agents.
    function initialize(address owner, address identityRegistry) external initializer {
        require(identityRegistry != address(0), RevertReasons.BAD_IDENTITY);
        _transferOwnership(owner);
        _identityRegistry = identityRegistry;
    }

    /// @notice Gives feedback on an agent.
    /// @param agentId The agent.
    /// @param value The value, times ten to the power of `valueDecimals`.
    /// @param valueDecimals The decimals of the value.
    /// @param tag1 The first tag.
    /// @param tag2 The second tag.
    /// @param endpoint The used endpoint.
    /// @param feedbackURI The URI of the feedback file.
    /// @param feedbackHash The hash of the file.
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
        require(valueDecimals <= MAX_DECIMALS, RevertReasons.TOO_MANY_DECIMALS);
        require(SignedMath.abs(value) <= MAX_ABS_VALUE, RevertReasons.VALUE_TOO_LARGE);
        bool mayAct = IIdentityRegistry(_identityRegistry).isAuthorizedOrOwner(msg.sender, agentId);
        require(!mayAct, RevertReasons.SELF_FEEDBACK);

        Feedback[] storage given = _feedback[agentId][msg.sender];
        if (given.length == 0) _clients[agentId].push(msg.sender);
        Feedback storage feedback = given.push();
        (feedback.value, feedback.valueDecimals) = (value, valueDecimals);
        (feedback.tag1, feedback.tag2) = (tag1, tag2);
        emit IReputationRegistry.NewFeedback(
            agentId,
            msg.sender,
            uint64(given.length),
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

    /// @notice Revokes a feedback of the caller.
    /// @param agentId The agent.
    /// @param feedbackIndex The index, from 1.
    function revokeFeedback(uint256 agentId, uint64 feedbackIndex) external {
        Feedback storage feedback = _find(agentId, msg.sender, feedbackIndex);
        require(!feedback.isRevoked, RevertReasons.ALREADY_REVOKED);
        feedback.isRevoked = true;
        emit IReputationRegistry.FeedbackRevoked(agentId, msg.sender, feedbackIndex);
    }

    /// @notice Answers a feedback.
    /// @param agentId The agent.
    /// @param clientAddress The client that gave the feedback.
    /// @param feedbackIndex The index, from 1.
    /// @param responseURI The URI of the answer.
    /// @param responseHash The hash of the answer.
    function appendResponse(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex,
        string calldata responseURI,
        bytes32 responseHash
    ) external {
        require(feedbackIndex != 0, RevertReasons.INDEX_ZERO);
        require(bytes(responseURI).length != 0, RevertReasons.EMPTY_URI);
        Feedback storage feedback = _find(agentId, clientAddress, feedbackIndex);
        if (feedback.responses[msg.sender] == 0) feedback.responders.push(msg.sender);
        ++feedback.responses[msg.sender];
        emit IReputationRegistry.ResponseAppended(
            agentId,
            clientAddress,
            feedbackIndex,
            msg.sender,
            responseURI,
            responseHash
        );
    }

    /// @notice Returns the identity registry.
    /// @return identityRegistry Its address.
    function getIdentityRegistry() external view returns (address identityRegistry) {
        return _identityRegistry;
    }

    /// @notice Returns the average of the feedback of some clients.
    /// @param agentId The agent.
    /// @param clientAddresses The clients.
    /// @param tag1 The first tag; empty: any.
    /// @param tag2 The second tag; empty: any.
    /// @return count The number of values.
    /// @return summaryValue The average.
    /// @return summaryValueDecimals Its decimals: those of most values.
    function getSummary(
        uint256 agentId,
        address[] calldata clientAddresses,
        string calldata tag1,
        string calldata tag2
    ) external view returns (uint64 count, int128 summaryValue, uint8 summaryValueDecimals) {
        require(clientAddresses.length != 0, RevertReasons.CLIENTS_REQUIRED);
        Match[] memory matches = _select(agentId, clientAddresses, tag1, tag2, false);
        if (matches.length == 0) return (0, 0, 0);

        int256 sum;
        uint256[MAX_DECIMALS + 1] memory frequency;
        for (uint256 i = 0; i < matches.length; ++i) {
            Feedback storage feedback = _at(agentId, matches[i]);
            sum += feedback.value * int256(10 ** (MAX_DECIMALS - feedback.valueDecimals));
            ++frequency[feedback.valueDecimals];
        }
        for (uint8 decimals = 1; decimals <= MAX_DECIMALS; ++decimals) {
            if (frequency[decimals] > frequency[summaryValueDecimals]) summaryValueDecimals = decimals;
        }
        int256 average = sum / int256(matches.length);
        summaryValue = int128(average / int256(10 ** (MAX_DECIMALS - summaryValueDecimals)));
        count = uint64(matches.length);
    }

    /// @notice Returns one feedback.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @param feedbackIndex The index, from 1.
    /// @return value The value.
    /// @return valueDecimals Its decimals.
    /// @return tag1 The first tag.
    /// @return tag2 The second tag.
    /// @return isRevoked True if the client revoked it.
    function readFeedback(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex
    )
        external
        view
        returns (int128 value, uint8 valueDecimals, string memory tag1, string memory tag2, bool isRevoked)
    {
        Feedback storage feedback = _find(agentId, clientAddress, feedbackIndex);
        return (feedback.value, feedback.valueDecimals, feedback.tag1, feedback.tag2, feedback.isRevoked);
    }

    /// @notice Returns all feedback of some clients.
    /// @param agentId The agent.
    /// @param clientAddresses The clients; none: all.
    /// @param tag1 The first tag; empty: any.
    /// @param tag2 The second tag; empty: any.
    /// @param includeRevoked True to include revoked feedback.
    /// @return clients The client of each feedback.
    /// @return feedbackIndexes Its index.
    /// @return values Its value.
    /// @return valueDecimals The decimals of its value.
    /// @return tag1s Its first tag.
    /// @return tag2s Its second tag.
    /// @return revokedStatuses True if the client revoked it.
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
        address[] memory asked = clientAddresses;
        if (asked.length == 0) asked = _clients[agentId];
        Match[] memory matches = _select(agentId, asked, tag1, tag2, includeRevoked);
        clients = new address[](matches.length);
        feedbackIndexes = new uint64[](matches.length);
        values = new int128[](matches.length);
        valueDecimals = new uint8[](matches.length);
        tag1s = new string[](matches.length);
        tag2s = new string[](matches.length);
        revokedStatuses = new bool[](matches.length);
        for (uint256 i = 0; i < matches.length; ++i) {
            Feedback storage feedback = _at(agentId, matches[i]);
            (clients[i], feedbackIndexes[i]) = (matches[i].client, matches[i].index);
            (values[i], valueDecimals[i]) = (feedback.value, feedback.valueDecimals);
            (tag1s[i], tag2s[i], revokedStatuses[i]) = (feedback.tag1, feedback.tag2, feedback.isRevoked);
        }
    }

    /// @notice Counts answers.
    /// @param agentId The agent.
    /// @param clientAddress The client; zero: all clients.
    /// @param feedbackIndex The index, from 1; 0: all of the client's.
    /// @param responders The accounts that answered; none: all.
    /// @return count The number of answers.
    function getResponseCount(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex,
        address[] calldata responders
    ) external view returns (uint64 count) {
        if (clientAddress != address(0)) return _countOf(agentId, clientAddress, feedbackIndex, responders);
        address[] memory clients = _clients[agentId];
        for (uint256 i = 0; i < clients.length; ++i) count += _countOf(agentId, clients[i], 0, responders);
    }

    /// @notice Returns the clients of an agent.
    /// @param agentId The agent.
    /// @return clients The clients, in the order of their first feedback.
    function getClients(uint256 agentId) external view returns (address[] memory clients) {
        return _clients[agentId];
    }

    /// @notice Returns the index of a client's last feedback.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @return lastIndex The index; 0: none.
    function getLastIndex(uint256 agentId, address clientAddress) external view returns (uint64 lastIndex) {
        return uint64(_feedback[agentId][clientAddress].length);
    }
}
