// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {LowLevelCall} from "@openzeppelin/contracts/utils/LowLevelCall.sol";
import {IAgentDirectory} from "../interfaces/IAgentDirectory.sol";
import {IBidirectionalRatings} from "../interfaces/IBidirectionalRatings.sol";
import {IBlindRatings} from "../interfaces/IBlindRatings.sol";
import {IdentityBound} from "../base/IdentityBound.sol";
import {PackedRatings, PackedRatingsLib, RatingsPage} from "../libraries/PackedRatings.sol";

/// @title Ratings of clients and validators by servers (EIP-8004a)
/// @notice The manual is `IBidirectionalRatings`.
abstract contract BidirectionalRatings is IdentityBound, IBidirectionalRatings {
    uint8 private constant MAX_RATING = 100;

    /// @dev Each server's ratings of clients.
    mapping(uint256 serverId => PackedRatings ratings) private _clientRatings;

    /// @dev Each server's ratings of validators.
    mapping(uint256 serverId => PackedRatings ratings) private _validatorRatings;

    /// @inheritdoc IBidirectionalRatings
    function rateClientAs(uint256 agentClientId, uint8 rating, uint256 agentServerId, address clientOwner) external {
        _requireRater(agentServerId);
        _requireOwner(agentClientId, clientOwner);
        rateClient(agentClientId, rating);
    }

    /// @inheritdoc IBidirectionalRatings
    function rateValidatorAs(
        uint256 agentValidatorId,
        uint8 rating,
        uint256 agentServerId,
        address validatorOwner
    ) external {
        _requireRater(agentServerId);
        _requireOwner(agentValidatorId, validatorOwner);
        rateValidator(agentValidatorId, rating);
    }

    /// @inheritdoc IBidirectionalRatings
    function rateClientsAs(
        uint256[] calldata agentClientIds,
        uint8[] calldata ratings,
        uint256 agentServerId,
        address[] calldata clientOwners
    ) external {
        _requireRater(agentServerId);
        _requireOwners(agentClientIds, clientOwners);
        rateClients(agentClientIds, ratings);
    }

    /// @inheritdoc IBidirectionalRatings
    function rateValidatorsAs(
        uint256[] calldata agentValidatorIds,
        uint8[] calldata ratings,
        uint256 agentServerId,
        address[] calldata validatorOwners
    ) external {
        _requireRater(agentServerId);
        _requireOwners(agentValidatorIds, validatorOwners);
        rateValidators(agentValidatorIds, ratings);
    }

    /// @inheritdoc IBidirectionalRatings
    function getClientRating(
        uint256 agentClientId,
        uint256 agentServerId
    ) external view returns (bool hasRating, uint8 rating) {
        return _clientRatings[agentServerId].get(agentClientId);
    }

    /// @inheritdoc IBidirectionalRatings
    function getValidatorRating(
        uint256 agentValidatorId,
        uint256 agentServerId
    ) external view returns (bool hasRating, uint8 rating) {
        return _validatorRatings[agentServerId].get(agentValidatorId);
    }

    /// @inheritdoc IBidirectionalRatings
    function getClientRatings(
        uint256[] calldata agentClientIds,
        uint256 agentServerId
    ) external view returns (bool[] memory hasRating, uint8[] memory ratings) {
        hasRating = new bool[](agentClientIds.length);
        ratings = new uint8[](agentClientIds.length);
        PackedRatings storage given = _clientRatings[agentServerId];
        for (uint256 i = 0; i < agentClientIds.length; ++i) {
            (hasRating[i], ratings[i]) = given.get(agentClientIds[i]);
        }
    }

    /// @inheritdoc IBidirectionalRatings
    function rateClient(uint256 agentClientId, uint8 rating) public {
        uint256 serverId = _rate(_clientRatings, agentClientId, rating);
        emit ClientRated(agentClientId, serverId, rating);
    }

    /// @inheritdoc IBidirectionalRatings
    function rateValidator(uint256 agentValidatorId, uint8 rating) public {
        uint256 serverId = _rate(_validatorRatings, agentValidatorId, rating);
        emit ValidatorRated(agentValidatorId, serverId, rating);
    }

    /// @inheritdoc IBidirectionalRatings
    function rateClients(uint256[] calldata agentClientIds, uint8[] calldata ratings) public {
        _rateBatch(_clientRatings, agentClientIds, ratings, true);
    }

    /// @inheritdoc IBidirectionalRatings
    function rateValidators(uint256[] calldata agentValidatorIds, uint8[] calldata ratings) public {
        _rateBatch(_validatorRatings, agentValidatorIds, ratings, false);
    }

    /// @dev Reserves the slot of a sealed rating, which only `_writeBlind` can fill from then on.
    function _reserve(uint256 clientId, uint256 serverId) internal {
        require(_clientRatings[serverId].reserve(clientId), AlreadyRated(clientId, serverId));
    }

    /// @dev Stores a blind rating, in its reserved slot if it was sealed before.
    function _writeBlind(uint256 clientId, uint256 serverId, uint8 rating, bool wasSealed) internal {
        require(_clientRatings[serverId].putBlind(clientId, rating, wasSealed), AlreadyRated(clientId, serverId));
        emit ClientRated(clientId, serverId, rating);
    }

    /// @dev Returns the primary agent of an account; 0 if it has none.
    function _agentOf(address account) internal view returns (uint256 agentId) {
        return IAgentDirectory(IDENTITY_REGISTRY).agentOf(account);
    }

    /// @dev Returns the state of a server's rating of a client.
    function _stateOf(uint256 clientId, uint256 serverId) internal view returns (IBlindRatings.RatingState state) {
        return _clientRatings[serverId].stateOf(clientId);
    }

    /// @dev Reverts if a rating is higher than the scale allows.
    function _requireOnScale(uint8 rating) internal pure {
        require(rating <= MAX_RATING, RatingTooHigh(rating, MAX_RATING));
    }

    /// @dev Checks and stores one rating by the caller's primary agent.
    function _rate(
        mapping(uint256 serverId => PackedRatings ratings) storage given,
        uint256 subjectId,
        uint8 rating
    ) private returns (uint256 serverId) {
        bool subjectExists;
        (serverId, subjectExists) = IAgentDirectory(IDENTITY_REGISTRY).resolveRating(msg.sender, subjectId);
        require(serverId != 0, RaterNotRegistered(msg.sender));
        bytes memory refusal = _tryRate(given[serverId], serverId, subjectId, rating, subjectExists);
        if (refusal.length != 0) LowLevelCall.bubbleRevert(refusal);
    }

    /// @dev Checks and stores a batch. Agents with neighbouring ids that follow each other share one update of their
    /// word.
    function _rateBatch(
        mapping(uint256 serverId => PackedRatings ratings) storage allRatings,
        uint256[] calldata subjectIds,
        uint8[] calldata ratings,
        bool areClients
    ) private {
        (uint256 serverId, uint256 lastAgentId) = _startBatch(subjectIds, ratings);
        PackedRatings storage given = allRatings[serverId];
        uint256 pageId = subjectIds[0] >> 5;
        RatingsPage storage page = given.pages[pageId];
        uint256 word = page.word;
        for (uint256 i = 0; i < subjectIds.length; ++i) {
            uint256 subjectId;
            uint256 rating;
            // Access by index would check the length and the range again, and cost 100 gas more per rating.
            assembly ("memory-safe") {
                subjectId := calldataload(add(subjectIds.offset, shl(5, i)))
                rating := calldataload(add(ratings.offset, shl(5, i)))
            }
            if (subjectId >> 5 != pageId) {
                page.word = word;
                pageId = subjectId >> 5;
                page = given.pages[pageId];
                word = page.word;
            }
            if (!_isRatable(word, serverId, subjectId, rating, lastAgentId)) {
                page.word = word; // `_tryRate` reads the ratings of this batch there
                bool subjectExists = subjectId != 0 && subjectId <= lastAgentId;
                revert RatingRefused(i, _tryRate(given, serverId, subjectId, ratings[i], subjectExists));
            }
            word = PackedRatingsLib.withRating(word, subjectId, rating);
            if (areClients) emit ClientRated(subjectId, serverId, uint8(rating));
            else emit ValidatorRated(subjectId, serverId, uint8(rating));
        }
        page.word = word;
    }

    /// @dev Stores a rating, or returns the ABI-encoded error if the rating is invalid.
    function _tryRate(
        PackedRatings storage given,
        uint256 serverId,
        uint256 subjectId,
        uint8 rating,
        bool subjectExists
    ) private returns (bytes memory refusal) {
        if (!subjectExists) return abi.encodeWithSelector(SubjectNotRegistered.selector, subjectId);
        if (rating > MAX_RATING) return abi.encodeWithSelector(RatingTooHigh.selector, rating, MAX_RATING);
        if (subjectId == serverId) return abi.encodeWithSelector(CannotRateSelf.selector);
        if (!given.put(subjectId, rating)) {
            return abi.encodeWithSelector(AlreadyRated.selector, subjectId, serverId);
        }
    }

    /// @dev Returns the caller's primary agent and the highest agent id. Ids are sequential and agents are never
    /// removed, so one call is enough for the whole batch. A query for each agent would cost 3,200 gas each.
    function _startBatch(
        uint256[] calldata subjectIds,
        uint8[] calldata ratings
    ) private view returns (uint256 serverId, uint256 lastAgentId) {
        require(subjectIds.length != 0, EmptyBatch());
        require(subjectIds.length == ratings.length, UnequalBatch(subjectIds.length, ratings.length));
        serverId = _agentOf(msg.sender);
        require(serverId != 0, RaterNotRegistered(msg.sender));
        lastAgentId = IAgentDirectory(IDENTITY_REGISTRY).getAgentCount();
    }

    /// @dev Reverts unless the caller's primary agent is the expected one.
    function _requireRater(uint256 expected) private view {
        uint256 found = _agentOf(msg.sender);
        require(found == expected, UnexpectedRater(expected, found));
    }

    /// @dev Reverts unless each agent has the expected owner.
    function _requireOwners(uint256[] calldata agentIds, address[] calldata expected) private view {
        require(agentIds.length == expected.length, UnequalBatch(agentIds.length, expected.length));
        for (uint256 i = 0; i < agentIds.length; ++i) {
            _requireOwner(agentIds[i], expected[i]);
        }
    }

    /// @dev Reverts unless an agent has the expected owner. The identity registry reverts for an unknown agent.
    function _requireOwner(uint256 agentId, address expected) private view {
        address found = IERC721(IDENTITY_REGISTRY).ownerOf(agentId);
        require(found == expected, UnexpectedOwner(agentId, expected, found));
    }

    /// @dev Returns true if `_tryRate` would store a rating, given the word of the subject's page. Nested conditions
    /// cost 130 gas less than `&&`.
    function _isRatable(
        uint256 word,
        uint256 serverId,
        uint256 subjectId,
        uint256 rating,
        uint256 lastAgentId
    ) private pure returns (bool isRatable) {
        unchecked {
            // The id 0 wraps around, and is then greater than the last id.
            if (subjectId - 1 < lastAgentId)
                if (rating <= MAX_RATING)
                    if (subjectId != serverId) return PackedRatingsLib.isFree(word, subjectId);
        }
    }
}
