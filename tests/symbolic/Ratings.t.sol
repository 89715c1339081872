// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IReputationRegistry} from "../../contracts/interfaces/IReputationRegistry.sol";
import {BidirectionalReputationRegistry} from "../../contracts/reputation/BidirectionalReputationRegistry.sol";
import {UnpredictableIdentity} from "./Parties.sol";
import {Proof} from "./Proof.sol";

/// @title Nothing that the registry can do changes a rating, or an authorisation, once it is there
/// @notice From any storage, so after any history, and whatever the identity registry answers. Each proof shows it of
/// one function; those that rate show besides that what appears is what the rater said, and nothing else. Batches have
/// two elements here.
contract RatingsProof is Proof {
    /// @dev The slots of the registry's `_clientRatings` and `_validatorRatings`.
    uint256 private constant CLIENT_RATINGS_SLOT = 4;
    uint256 private constant VALIDATOR_RATINGS_SLOT = 5;

    BidirectionalReputationRegistry private _registry;
    UnpredictableIdentity private _identity;

    /// @dev Assumes a rating of each kind, lets somebody rate, and states that they stay.
    modifier keepsRatings() {
        (uint256 subjectId, uint256 serverId) = (SVM.createUint(256, "subjectId"), SVM.createUint(256, "serverId"));
        uint8 client = _packedRating(CLIENT_RATINGS_SLOT, subjectId, serverId);
        uint8 validator = _packedRating(VALIDATOR_RATINGS_SLOT, subjectId, serverId);
        VM.assume(client != 0 && validator != 0);
        _;
        _prove(_packedRating(CLIENT_RATINGS_SLOT, subjectId, serverId) == client);
        _prove(_packedRating(VALIDATOR_RATINGS_SLOT, subjectId, serverId) == validator);
    }

    /// @dev Lets something else happen, and states that no word of ratings changed.
    modifier leavesRatingsAlone() {
        (uint256 page, uint256 serverId) = (SVM.createUint(256, "page"), SVM.createUint(256, "serverId"));
        bytes32 clients = _word(CLIENT_RATINGS_SLOT, page, serverId);
        bytes32 validators = _word(VALIDATOR_RATINGS_SLOT, page, serverId);
        _;
        _prove(_word(CLIENT_RATINGS_SLOT, page, serverId) == clients);
        _prove(_word(VALIDATOR_RATINGS_SLOT, page, serverId) == validators);
    }

    /// @dev Assumes that a pair has no rating, lets somebody rate, and states that the pair has one now only if its
    /// server is the rater, and then the one that is given.
    modifier ratesAsTold(bool asValidator, uint256 subjectId, uint8 rating) {
        (uint256 otherId, uint256 serverId) = (SVM.createUint(256, "subjectId"), SVM.createUint(256, "serverId"));
        (bool had, ) = _rating(asValidator, otherId, serverId);
        (bool hadOther, ) = _rating(!asValidator, otherId, serverId);
        VM.assume(!had && !hadOther);
        _;
        (bool has, uint8 value) = _rating(asValidator, otherId, serverId);
        (bool hasOther, ) = _rating(!asValidator, otherId, serverId);
        bool isMeant = otherId == subjectId && serverId == _identity.raterId();
        _prove(has == isMeant && !hasOther);
        _prove(!has || (value == rating && rating <= 100));
    }

    function setUp() external {
        _identity = new UnpredictableIdentity();
        _registry = new BidirectionalReputationRegistry(address(_identity));
        SVM.enableSymbolicStorage(address(_registry));
        SVM.enableSymbolicStorage(address(_identity));
    }

    function check_rateClientKeepsRatings(uint256 clientId, uint8 rating) external keepsRatings {
        _registry.rateClient(clientId, rating);
    }

    function check_rateValidatorKeepsRatings(uint256 validatorId, uint8 rating) external keepsRatings {
        _registry.rateValidator(validatorId, rating);
    }

    function check_rateClientRatesAsTold(uint256 clientId, uint8 rating) external ratesAsTold(false, clientId, rating) {
        _registry.rateClient(clientId, rating);
    }

    function check_rateValidatorRatesAsTold(
        uint256 validatorId,
        uint8 rating
    ) external ratesAsTold(true, validatorId, rating) {
        _registry.rateValidator(validatorId, rating);
    }

    function check_rateClientsKeepsRatings(uint256[2] calldata ids, uint8[2] calldata ratings) external keepsRatings {
        (uint256[] memory clientIds, uint8[] memory values) = _lists(ids, ratings);
        _registry.rateClients(clientIds, values);
    }

    function check_rateValidatorsKeepsRatings(
        uint256[2] calldata ids,
        uint8[2] calldata ratings
    ) external keepsRatings {
        (uint256[] memory validatorIds, uint8[] memory values) = _lists(ids, ratings);
        _registry.rateValidators(validatorIds, values);
    }

    function check_acceptFeedbackLeavesRatingsAlone(uint256 clientId, uint256 serverId) external leavesRatingsAlone {
        _registry.acceptFeedback(clientId, serverId);
    }

    function check_authorisationStays(
        uint256 clientId,
        uint256 serverId,
        uint256 otherClientId,
        uint256 otherServerId
    ) external {
        (bool had, ) = _registry.isFeedbackAuthorized(otherClientId, otherServerId);
        _registry.acceptFeedback(clientId, serverId);
        (bool has, ) = _registry.isFeedbackAuthorized(otherClientId, otherServerId);
        _prove(has == (had || (clientId == otherClientId && serverId == otherServerId)));
    }

    function check_giveFeedbackLeavesRatingsAlone(
        uint256 agentId,
        int128 value,
        uint8 decimals
    ) external leavesRatingsAlone {
        _registry.giveFeedback(agentId, value, decimals, "tag", "", "endpoint", "ipfs://feedback", 0);
    }

    function check_giveFeedbackBySigLeavesRatingsAlone(
        address client,
        uint256 agentId,
        uint64 index,
        int128 value,
        uint8 decimals,
        bytes32 r,
        bytes32 s,
        uint8 v
    ) external leavesRatingsAlone {
        VM.assume(client != address(_registry) && client != address(_identity) && client != address(this));
        IReputationRegistry.FeedbackParams memory params;
        (params.agentId, params.feedbackIndex, params.value, params.valueDecimals) = (agentId, index, value, decimals);
        _registry.giveFeedbackBySig(client, params, type(uint256).max, abi.encodePacked(r, s, v));
    }

    function check_revokeFeedbackLeavesRatingsAlone(uint256 agentId, uint64 index) external leavesRatingsAlone {
        _registry.revokeFeedback(agentId, index);
    }

    function check_appendResponseLeavesRatingsAlone(
        uint256 agentId,
        address client,
        uint64 index
    ) external leavesRatingsAlone {
        _registry.appendResponse(agentId, client, index, "ipfs://response", 0);
    }

    function check_ratingsAreWhereTheProofsLook(uint256 subjectId, uint256 serverId) external view {
        uint8 packed = _packedRating(CLIENT_RATINGS_SLOT, subjectId, serverId);
        (bool has, uint8 rating) = _registry.getClientRating(subjectId, serverId);
        _prove(has == (packed != 0) && (!has || rating == packed - 1));
        packed = _packedRating(VALIDATOR_RATINGS_SLOT, subjectId, serverId);
        (has, rating) = _registry.getValidatorRating(subjectId, serverId);
        _prove(has == (packed != 0) && (!has || rating == packed - 1));
    }

    function _packedRating(uint256 slot, uint256 subjectId, uint256 serverId) private view returns (uint8 packed) {
        return uint8(uint256(_word(slot, subjectId >> 5, serverId)) >> ((subjectId & 31) << 3));
    }

    function _word(uint256 slot, uint256 page, uint256 serverId) private view returns (bytes32 word) {
        return VM.load(address(_registry), keccak256(abi.encode(page, keccak256(abi.encode(serverId, slot)))));
    }

    function _rating(
        bool asValidator,
        uint256 subjectId,
        uint256 serverId
    ) private view returns (bool hasRating, uint8 rating) {
        if (asValidator) return _registry.getValidatorRating(subjectId, serverId);
        return _registry.getClientRating(subjectId, serverId);
    }

    function _lists(
        uint256[2] calldata ids,
        uint8[2] calldata ratings
    ) private pure returns (uint256[] memory idList, uint8[] memory ratingList) {
        (idList, ratingList) = (new uint256[](2), new uint8[](2));
        (idList[0], idList[1]) = (ids[0], ids[1]);
        (ratingList[0], ratingList[1]) = (ratings[0], ratings[1]);
    }
}
