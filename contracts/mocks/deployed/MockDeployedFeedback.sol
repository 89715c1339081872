// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {RevertReasons} from "../../libraries/RevertReasons.sol";
import {MockDeployedRegistry} from "./MockDeployedRegistry.sol";

/// @title Feedback as the stand-in for the deployed reputation registry stores it
/// @notice Nothing is summed up in advance, so reading costs more with every feedback.
abstract contract MockDeployedFeedback is MockDeployedRegistry {
    struct Feedback {
        int128 value;
        uint8 valueDecimals;
        bool isRevoked;
        string tag1;
        string tag2;
        address[] responders;
        mapping(address responder => uint64 count) responses;
    }

    /// @dev A feedback that a view found.
    struct Match {
        address client;
        uint64 index;
    }

    /// @dev The feedback that a view asks for.
    struct Filter {
        string tag1;
        string tag2;
        bool includeRevoked;
    }

    mapping(uint256 agentId => mapping(address client => Feedback[] given)) internal _feedback;
    mapping(uint256 agentId => address[] clients) internal _clients;

    /// @dev Counts the answers to one feedback of a client, or to all for index 0. An unknown index has none.
    function _countOf(
        uint256 agentId,
        address client,
        uint64 index,
        address[] calldata responders
    ) internal view returns (uint64 count) {
        Feedback[] storage given = _feedback[agentId][client];
        for (uint256 i = 0; i < given.length; ++i) {
            if (index != 0 && i + 1 != index) continue;
            Feedback storage feedback = given[i];
            address[] memory asked = responders;
            if (asked.length == 0) asked = feedback.responders;
            for (uint256 j = 0; j < asked.length; ++j) count += feedback.responses[asked[j]];
        }
    }

    /// @dev Returns the feedback of some clients that has the tags. It walks all their feedback twice.
    function _select(
        uint256 agentId,
        address[] memory clients,
        string memory tag1,
        string memory tag2,
        bool includeRevoked
    ) internal view returns (Match[] memory matches) {
        Filter memory filter = Filter(tag1, tag2, includeRevoked);
        matches = new Match[](_walk(agentId, clients, filter, new Match[](0)));
        _walk(agentId, clients, filter, matches);
    }

    function _find(uint256 agentId, address client, uint64 index) internal view returns (Feedback storage feedback) {
        require(index != 0, RevertReasons.INDEX_ZERO);
        require(index <= _feedback[agentId][client].length, RevertReasons.INDEX_OUT_OF_BOUNDS);
        return _at(agentId, Match(client, index));
    }

    function _at(uint256 agentId, Match memory found) internal view returns (Feedback storage feedback) {
        return _feedback[agentId][found.client][found.index - 1];
    }

    /// @dev Counts the matches, and notes them if there is room.
    function _walk(
        uint256 agentId,
        address[] memory clients,
        Filter memory filter,
        Match[] memory matches
    ) private view returns (uint256 count) {
        for (uint256 i = 0; i < clients.length; ++i) {
            Feedback[] storage given = _feedback[agentId][clients[i]];
            for (uint256 j = 0; j < given.length; ++j) {
                if (!_fits(given[j], filter)) continue;
                if (count < matches.length) matches[count] = Match(clients[i], uint64(j + 1));
                ++count;
            }
        }
    }

    /// @dev An empty tag asks for nothing.
    function _fits(Feedback storage feedback, Filter memory filter) private view returns (bool fits) {
        if (feedback.isRevoked && !filter.includeRevoked) return false;
        return
            (bytes(filter.tag1).length == 0 || Strings.equal(feedback.tag1, filter.tag1)) &&
            (bytes(filter.tag2).length == 0 || Strings.equal(feedback.tag2, filter.tag2));
    }
}
