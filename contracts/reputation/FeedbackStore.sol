// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IReputationRegistry} from "../interfaces/IReputationRegistry.sol";
import {ClientLedger, MAX_FEEDBACK_INDEX} from "../libraries/ClientLedger.sol";
import {FeedbackFilter, FeedbackWord, FeedbackWords} from "../libraries/FeedbackWord.sol";
import {RevertReasons} from "../libraries/RevertReasons.sol";
import {TagDictionary} from "../libraries/TagDictionary.sol";
import {Tally} from "../libraries/Tally.sol";

/// @title How feedback is kept
/// @notice A feedback takes one word, and a client one more per agent, which a summary without tags needs alone.
abstract contract FeedbackStore {
    /// @dev What one client said about one agent. The feedback stands in sequence, so that a walk through it hashes
    /// once; what was not given is zero.
    /// @param ledger What it amounts to.
    /// @param responses How often somebody answered a feedback.
    /// @param feedback The feedback, by its index.
    struct History {
        ClientLedger ledger;
        mapping(uint256 feedbackIndex => mapping(address responder => uint256 count)) responses;
        FeedbackWord[MAX_FEEDBACK_INDEX + 1] feedback;
    }

    /// @dev What was said about one agent.
    /// @param clients Who said something, in the order of their first feedback.
    /// @param histories What each of them said.
    struct Reputation {
        address[] clients;
        mapping(address client => History history) histories;
    }

    /// @dev What was said about each agent.
    mapping(uint256 agentId => Reputation reputation) private _reputations;

    /// @dev The tags of all feedback.
    TagDictionary private _tags;

    /// @dev Stores a feedback whose value and decimals are in range.
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

    /// @dev Marks a feedback as revoked, and takes it out of its client's ledger.
    function _revoke(uint256 agentId, address client, uint64 feedbackIndex) internal {
        FeedbackWord feedback = _requireFeedback(agentId, client, feedbackIndex);
        require(!feedback.isRevoked(), RevertReasons.ALREADY_REVOKED);

        History storage history = _history(agentId, client);
        history.feedback[feedbackIndex] = feedback.asRevoked();
        history.ledger = history.ledger.withoutFeedback(feedback.value());
    }

    /// @dev Counts an answer, both of the feedback and of its responder.
    function _countResponse(uint256 agentId, address client, uint64 feedbackIndex, address responder) internal {
        FeedbackWord feedback = _requireFeedback(agentId, client, feedbackIndex);
        History storage history = _history(agentId, client);
        history.feedback[feedbackIndex] = feedback.withResponse();
        ++history.responses[feedbackIndex][responder];
    }

    /// @dev The average of these clients' active feedback with these tags.
    function _summarize(
        uint256 agentId,
        address[] calldata clients,
        string calldata tag1,
        string calldata tag2
    ) internal view returns (uint64 count, int128 value, uint8 decimals) {
        (FeedbackFilter memory filter, bool anyTags, bool possible) = _filter(tag1, tag2, false);
        if (!possible) return (0, 0, 0);

        // It starts with nothing tallied.
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

    /// @dev These clients' feedback with these tags, with who gave it and its index; no clients: everybody's.
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

        // Counting first costs 200 gas a feedback, but takes memory for what is found only, whose price grows faster
        // than its size.
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
                ++found;
            }
        }
    }

    /// @dev A tag of each feedback. A run of equal tags is read once.
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

    /// @dev The answers to all of a client's feedback by these responders; none: by everybody.
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

    /// @dev The answers to a feedback by these responders; none: by everybody.
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

    function _requireFeedback(
        uint256 agentId,
        address client,
        uint64 feedbackIndex
    ) internal view returns (FeedbackWord feedback) {
        require(feedbackIndex != 0, RevertReasons.INDEX_ZERO);
        feedback = _feedback(agentId, client, feedbackIndex);
        require(feedback.exists(), RevertReasons.INDEX_OUT_OF_BOUNDS);
    }

    function _clientsOf(uint256 agentId) internal view returns (address[] memory clients) {
        return _reputations[agentId].clients;
    }

    /// @dev The index of a client's next feedback for an agent.
    function _nextIndex(uint256 agentId, address client) internal view returns (uint64 index) {
        return _history(agentId, client).ledger.nextIndex();
    }

    /// @dev Adds up, one by one, a client's feedback before the index `end`.
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

    /// @dev How much feedback of these clients meets a filter.
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

    /// @dev A filter for feedback with these tags; whether it lets any tags through; and whether any feedback can meet
    /// it, which none can if a tag was never used.
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

    /// @dev A feedback; zero if there is none with this index.
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
