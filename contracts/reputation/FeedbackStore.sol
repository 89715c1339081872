// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IReputationRegistry} from "../interfaces/IReputationRegistry.sol";
import {ClientLedger, MAX_FEEDBACK_INDEX} from "../libraries/ClientLedger.sol";
import {FeedbackFilter, FeedbackWord, FeedbackWords} from "../libraries/FeedbackWord.sol";
import {RevertReasons} from "../libraries/RevertReasons.sol";
import {TagDictionary} from "../libraries/TagDictionary.sol";
import {Tally} from "../libraries/Tally.sol";

/// @title Storage of feedback
/// @notice A feedback entry takes one word. A client takes one more word per agent, which is all that a summary without
/// tags reads.
abstract contract FeedbackStore {
    /// @dev One client's feedback on one agent. The words are consecutive, so a loop over them needs only one hash. The
    /// words of nonexistent feedback are zero.
    /// @param ledger The number, sum and decimals of the feedback.
    /// @param responses The number of responses of each account to each entry.
    /// @param feedback The entries by index.
    struct History {
        ClientLedger ledger;
        mapping(uint256 feedbackIndex => mapping(address responder => uint256 count)) responses;
        FeedbackWord[MAX_FEEDBACK_INDEX + 1] feedback;
    }

    /// @dev All feedback on one agent.
    /// @param clients The clients, in the order of their first feedback.
    /// @param histories The feedback of each client.
    struct Reputation {
        address[] clients;
        mapping(address client => History history) histories;
    }

    /// @dev The feedback on each agent.
    mapping(uint256 agentId => Reputation reputation) private _reputations;

    /// @dev The tags of all feedback.
    TagDictionary private _tags;

    /// @dev Stores a feedback entry, whose value and decimals are in range, and returns its index.
    function _store(
        uint256 agentId,
        address client,
        int128 value,
        uint8 valueDecimals,
        string calldata tag1,
        string calldata tag2
    ) internal returns (uint64 index) {
        Reputation storage reputation = _reputations[agentId];
        History storage history = reputation.histories[client];
        ClientLedger ledger = history.ledger;
        index = ledger.nextIndex();
        require(index <= MAX_FEEDBACK_INDEX, IReputationRegistry.TooMuchFeedback(agentId, client, MAX_FEEDBACK_INDEX));
        if (index == 1) reputation.clients.push(client);

        history.ledger = ledger.withFeedback(value, valueDecimals);
        history.feedback[index] = FeedbackWords.pack(value, valueDecimals, _tags.enter(tag1), _tags.enter(tag2));
    }

    /// @dev Marks a feedback entry as revoked, and subtracts it from its client's ledger.
    function _revoke(uint256 agentId, address client, uint64 feedbackIndex) internal {
        require(feedbackIndex != 0, RevertReasons.INDEX_ZERO);
        FeedbackWord feedback = _requireFeedback(agentId, client, feedbackIndex);
        require(!feedback.isRevoked(), RevertReasons.ALREADY_REVOKED);

        History storage history = _history(agentId, client);
        history.feedback[feedbackIndex] = feedback.asRevoked();
        history.ledger = history.ledger.withoutFeedback(feedback.value());
    }

    /// @dev Counts a response, both for the feedback and for the responder.
    function _countResponse(uint256 agentId, address client, uint64 feedbackIndex, address responder) internal {
        FeedbackWord feedback = _requireFeedback(agentId, client, feedbackIndex);
        History storage history = _history(agentId, client);
        history.feedback[feedbackIndex] = feedback.withResponse();
        ++history.responses[feedbackIndex][responder];
    }

    /// @dev Returns the average of these clients' active feedback with these tags.
    function _summarize(
        uint256 agentId,
        address[] calldata clients,
        string calldata tag1,
        string calldata tag2
    ) internal view returns (uint64 count, int128 value, uint8 decimals) {
        (FeedbackFilter memory filter, bool anyTags, bool possible) = _filter(tag1, tag2, false);
        if (!possible) return (0, 0, 0);

        // An empty tally is all zeros.
        // slither-disable-next-line uninitialized-local
        Tally memory tally;
        for (uint256 i = 0; i < clients.length; ++i) {
            History storage history = _history(agentId, clients[i]);
            ClientLedger ledger = history.ledger;
            if (ledger.activeCount() == 0) continue;
            if (anyTags && !ledger.isMixed()) {
                tally.add(ledger.decimals(), ledger.activeSum(), ledger.activeCount());
            } else {
                _addEach(tally, history, ledger.nextIndex(), filter);
            }
        }
        return tally.average();
    }

    /// @dev Returns the feedback of these clients with these tags; an empty list means all clients.
    function _find(
        uint256 agentId,
        address[] calldata clients,
        string calldata tag1,
        string calldata tag2,
        bool includeRevoked
    ) internal view returns (address[] memory givers, uint64[] memory indexes, FeedbackWord[] memory words) {
        (FeedbackFilter memory filter, , bool possible) = _filter(tag1, tag2, includeRevoked);
        if (!possible) return (givers, indexes, words);
        address[] memory candidates = clients;
        if (candidates.length == 0) candidates = _clientsOf(agentId);

        // Counting first costs 200 gas per entry, but then only the results need memory. The cost of memory grows
        // faster than its size.
        uint256 count = _count(agentId, candidates, filter);
        givers = new address[](count);
        indexes = new uint64[](count);
        words = new FeedbackWord[](count);
        uint256 found = 0;
        for (uint256 i = 0; found < count; ++i) {
            History storage history = _history(agentId, candidates[i]);
            uint256 end = history.ledger.nextIndex();
            for (uint256 index = 1; index < end; ++index) {
                FeedbackWord feedback = history.feedback[index];
                if (!filter.isMetBy(feedback)) continue;
                (givers[found], indexes[found], words[found]) = (candidates[i], uint64(index), feedback);
                // It cannot exceed `count`.
                unchecked {
                    ++found;
                }
            }
        }
    }

    /// @dev Returns the first or the second tag of each entry. Reads consecutive equal tags only once.
    function _readTags(
        FeedbackWord[] memory words,
        function(FeedbackWord) pure returns (uint256) idOf
    ) internal view returns (string[] memory tags) {
        tags = new string[](words.length);
        uint256 lastId = 0;
        string memory tag = "";
        for (uint256 i = 0; i < words.length; ++i) {
            uint256 id = idOf(words[i]);
            if (id != lastId) (lastId, tag) = (id, _tags.tagOf(id));
            tags[i] = tag;
        }
    }

    function _tagOf(uint256 id) internal view returns (string memory tag) {
        return _tags.tagOf(id);
    }

    /// @dev Returns the number of responses to all feedback of a client; an empty list means all responders.
    function _countAllResponses(
        uint256 agentId,
        address client,
        address[] calldata responders
    ) internal view returns (uint64 count) {
        uint256 end = _nextIndex(agentId, client);
        for (uint64 index = 1; index < end; ++index) {
            count += _countResponses(agentId, client, index, responders);
        }
    }

    /// @dev Returns the number of responses to a feedback entry; an empty list means all responders.
    function _countResponses(
        uint256 agentId,
        address client,
        uint64 feedbackIndex,
        address[] calldata responders
    ) internal view returns (uint64 count) {
        if (responders.length == 0) return _feedback(agentId, client, feedbackIndex).responses();
        History storage history = _history(agentId, client);
        for (uint256 i = 0; i < responders.length; ++i) {
            count += uint64(history.responses[feedbackIndex][responders[i]]);
        }
    }

    /// @dev Returns a feedback entry, or reverts with "index out of bounds", including for the index 0.
    function _requireFeedback(
        uint256 agentId,
        address client,
        uint64 feedbackIndex
    ) internal view returns (FeedbackWord feedback) {
        feedback = _feedback(agentId, client, feedbackIndex);
        require(feedback.exists(), RevertReasons.INDEX_OUT_OF_BOUNDS);
    }

    function _clientsOf(uint256 agentId) internal view returns (address[] memory clients) {
        return _reputations[agentId].clients;
    }

    /// @dev Returns the index of a client's next feedback entry for an agent.
    function _nextIndex(uint256 agentId, address client) internal view returns (uint64 index) {
        return _history(agentId, client).ledger.nextIndex();
    }

    /// @dev Adds each feedback entry of a client with an index below `end` to the tally, if it matches the filter.
    function _addEach(
        Tally memory tally,
        History storage history,
        uint256 end,
        FeedbackFilter memory filter
    ) private view {
        for (uint256 index = 1; index < end; ++index) {
            FeedbackWord feedback = history.feedback[index];
            if (filter.isMetBy(feedback)) tally.add(feedback.decimals(), feedback.value(), 1);
        }
    }

    /// @dev Returns the number of these clients' feedback entries that match a filter.
    function _count(
        uint256 agentId,
        address[] memory candidates,
        FeedbackFilter memory filter
    ) private view returns (uint256 count) {
        for (uint256 i = 0; i < candidates.length; ++i) {
            History storage history = _history(agentId, candidates[i]);
            uint256 end = history.ledger.nextIndex();
            for (uint256 index = 1; index < end; ++index) {
                if (filter.isMetBy(history.feedback[index])) ++count;
            }
        }
    }

    /// @dev Returns a filter for these tags, whether it accepts any tags, and whether any feedback can match it: if
    /// nobody has used one of the tags, none can.
    function _filter(
        string calldata tag1,
        string calldata tag2,
        bool includeRevoked
    ) private view returns (FeedbackFilter memory filter, bool anyTags, bool possible) {
        (uint256 tag1Id, bool tag1Known) = _tags.find(tag1);
        (uint256 tag2Id, bool tag2Known) = _tags.find(tag2);
        filter = FeedbackWords.filter(tag1Id, tag2Id, includeRevoked);
        return (filter, tag1Id | tag2Id == 0, tag1Known && tag2Known);
    }

    /// @dev Returns a feedback entry; zero if the client has not given it.
    function _feedback(
        uint256 agentId,
        address client,
        uint64 feedbackIndex
    ) private view returns (FeedbackWord feedback) {
        if (feedbackIndex <= MAX_FEEDBACK_INDEX) return _history(agentId, client).feedback[feedbackIndex];
    }

    function _history(uint256 agentId, address client) private view returns (History storage history) {
        return _reputations[agentId].histories[client];
    }
}
