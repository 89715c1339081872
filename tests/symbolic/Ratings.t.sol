// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IReputationRegistry} from "../../contracts/interfaces/IReputationRegistry.sol";
import {BidirectionalReputationRegistry} from "../../contracts/reputation/BidirectionalReputationRegistry.sol";
import {UnpredictableIdentity} from "./Parties.sol";
import {Proof} from "./Proof.sol";

/// @title Nothing that the registry can do changes a rating, or an authorisation, once it is there
/// @notice From any storage, so after any history, whoever calls, and whatever the identity registry answers. Each
/// proof shows it of one function; those that rate or authorise show besides that what appears is what the caller said,
/// and nothing else. Batches have two elements here.
contract RatingsProof is Proof {
    /// @dev A word of each kind, of one server.
    /// @param clientRatings The ratings of 32 clients.
    /// @param validatorRatings The ratings of 32 validators.
    /// @param authorizedClients The authorisations of 256 clients.
    struct Words {
        bytes32 clientRatings;
        bytes32 validatorRatings;
        bytes32 authorizedClients;
    }

    /// @dev The slots of the registry's variables.
    uint256 private constant CLIENT_RATINGS_SLOT = 4;
    uint256 private constant VALIDATOR_RATINGS_SLOT = 5;
    uint256 private constant AUTHORIZED_CLIENTS_SLOT = 6;

    BidirectionalReputationRegistry private _registry;
    UnpredictableIdentity private _identity;

    /// @dev Lets `caller` give these ratings of the kind that is kept in `slot`, and states of both kinds of any rating
    /// what becomes of it: one that was there stays, and one that was not is as the caller's agent says, or not there.
    /// No word of authorisations changes.
    modifier rates(uint256 slot, address caller, uint256[2] memory subjectIds, uint8[2] memory ratings) {
        (uint256 subjectId, uint256 serverId) = (SVM.createUint(256, "subjectId"), SVM.createUint(256, "serverId"));
        uint256 otherSlot = slot == CLIENT_RATINGS_SLOT ? VALIDATOR_RATINGS_SLOT : CLIENT_RATINGS_SLOT;
        uint256 former = _packedRating(slot, subjectId, serverId);
        uint256 formerOther = _packedRating(otherSlot, subjectId, serverId);
        uint256 bucket = SVM.createUint(256, "bucket");
        bytes32 authorized = _word(AUTHORIZED_CLIENTS_SLOT, bucket, serverId);
        uint256 raterId = _identity.agentOf(caller);
        VM.prank(caller);
        _;
        uint256 packed = _packedRating(slot, subjectId, serverId);
        uint256 given = 0;
        for (uint256 i = 0; i < 2; ++i) {
            if (serverId == raterId && subjectId == subjectIds[i]) given = uint256(ratings[i]) + 1;
        }
        _prove(former == 0 || packed == former);
        _prove(former != 0 || (packed == given && given <= 101));
        _prove(_packedRating(otherSlot, subjectId, serverId) == formerOther);
        _prove(_word(AUTHORIZED_CLIENTS_SLOT, bucket, serverId) == authorized);
    }

    /// @dev Lets `caller` authorise a client for a server, and states that this sets one bit, and that no other bit of
    /// any word of authorisations changed, and no word of ratings.
    modifier authorizes(address caller, uint256 clientId, uint256 serverId) {
        (uint256 page, uint256 anyServerId) = (SVM.createUint(256, "page"), SVM.createUint(256, "anyServerId"));
        Words memory words = _words(page, anyServerId);
        VM.prank(caller);
        _;
        if (anyServerId == serverId && page == clientId >> 8) {
            words.authorizedClients |= bytes32(1 << (clientId & 255));
        }
        _proveWords(page, anyServerId, words);
    }

    /// @dev Lets `caller` do something else, and states that no word of ratings or of authorisations changed.
    modifier leavesWordsAlone(address caller) {
        (uint256 page, uint256 serverId) = (SVM.createUint(256, "page"), SVM.createUint(256, "serverId"));
        Words memory words = _words(page, serverId);
        VM.prank(caller);
        _;
        _proveWords(page, serverId, words);
    }

    function setUp() external {
        _identity = new UnpredictableIdentity();
        _registry = new BidirectionalReputationRegistry(address(_identity));
        SVM.enableSymbolicStorage(address(_registry));
        SVM.enableSymbolicStorage(address(_identity));
    }

    function check_rateClient(
        address caller,
        uint256 clientId,
        uint8 rating
    ) external reachesItsEnd rates(CLIENT_RATINGS_SLOT, caller, [clientId, clientId], [rating, rating]) {
        _registry.rateClient(clientId, rating);
    }

    function check_rateValidator(
        address caller,
        uint256 validatorId,
        uint8 rating
    ) external reachesItsEnd rates(VALIDATOR_RATINGS_SLOT, caller, [validatorId, validatorId], [rating, rating]) {
        _registry.rateValidator(validatorId, rating);
    }

    function check_rateClients(
        address caller,
        uint256[2] memory ids,
        uint8[2] memory ratings
    ) external reachesItsEnd rates(CLIENT_RATINGS_SLOT, caller, ids, ratings) {
        (uint256[] memory clientIds, uint8[] memory values) = _lists(ids, ratings);
        _registry.rateClients(clientIds, values);
    }

    function check_rateValidators(
        address caller,
        uint256[2] memory ids,
        uint8[2] memory ratings
    ) external reachesItsEnd rates(VALIDATOR_RATINGS_SLOT, caller, ids, ratings) {
        (uint256[] memory validatorIds, uint8[] memory values) = _lists(ids, ratings);
        _registry.rateValidators(validatorIds, values);
    }

    function check_acceptFeedback(
        address caller,
        uint256 clientId,
        uint256 serverId
    ) external reachesItsEnd authorizes(caller, clientId, serverId) {
        _registry.acceptFeedback(clientId, serverId);
    }

    function check_giveFeedback(
        address caller,
        uint256 agentId,
        int128 value,
        uint8 decimals
    ) external reachesItsEnd leavesWordsAlone(caller) {
        _registry.giveFeedback(agentId, value, decimals, "tag", "", "endpoint", "ipfs://feedback", 0);
    }

    function check_giveFeedbackBySig(
        address caller,
        address client,
        uint256 agentId,
        uint64 index,
        int128 value,
        uint8 decimals,
        bytes32 r,
        bytes32 s,
        uint8 v
    ) external reachesItsEnd leavesWordsAlone(caller) {
        VM.assume(client != address(_registry) && client != address(_identity) && client != address(this));
        IReputationRegistry.FeedbackParams memory params;
        (params.agentId, params.feedbackIndex, params.value, params.valueDecimals) = (agentId, index, value, decimals);
        _registry.giveFeedbackBySig(client, params, type(uint256).max, abi.encodePacked(r, s, v));
    }

    function check_revokeFeedback(
        address caller,
        uint256 agentId,
        uint64 index
    ) external reachesItsEnd leavesWordsAlone(caller) {
        _registry.revokeFeedback(agentId, index);
    }

    function check_appendResponse(
        address caller,
        uint256 agentId,
        address client,
        uint64 index
    ) external reachesItsEnd leavesWordsAlone(caller) {
        _registry.appendResponse(agentId, client, index, "ipfs://response", 0);
    }

    function check_ratingsAreWhereTheProofsLook(uint256 subjectId, uint256 serverId) external view reachesItsEnd {
        uint8 packed = _packedRating(CLIENT_RATINGS_SLOT, subjectId, serverId);
        (bool has, uint8 rating) = _registry.getClientRating(subjectId, serverId);
        _prove(has == (packed != 0) && (!has || rating == packed - 1));
        packed = _packedRating(VALIDATOR_RATINGS_SLOT, subjectId, serverId);
        (has, rating) = _registry.getValidatorRating(subjectId, serverId);
        _prove(has == (packed != 0) && (!has || rating == packed - 1));
    }

    function check_authorisationsAreWhereTheProofsLook(uint256 clientId, uint256 serverId) external view reachesItsEnd {
        uint256 word = uint256(_word(AUTHORIZED_CLIENTS_SLOT, clientId >> 8, serverId));
        (bool isAuthorized, ) = _registry.isFeedbackAuthorized(clientId, serverId);
        _prove(isAuthorized == ((word >> (clientId & 255)) & 1 == 1));
    }

    function _packedRating(uint256 slot, uint256 subjectId, uint256 serverId) private view returns (uint8 packed) {
        return uint8(uint256(_word(slot, subjectId >> 5, serverId)) >> ((subjectId & 31) << 3));
    }

    function _proveWords(uint256 page, uint256 serverId, Words memory words) private view {
        Words memory now_ = _words(page, serverId);
        _prove(now_.clientRatings == words.clientRatings);
        _prove(now_.validatorRatings == words.validatorRatings);
        _prove(now_.authorizedClients == words.authorizedClients);
    }

    /// @dev The words that stand in the same place of each mapping.
    function _words(uint256 page, uint256 serverId) private view returns (Words memory words) {
        return
            Words(
                _word(CLIENT_RATINGS_SLOT, page, serverId),
                _word(VALIDATOR_RATINGS_SLOT, page, serverId),
                _word(AUTHORIZED_CLIENTS_SLOT, page, serverId)
            );
    }

    function _word(uint256 slot, uint256 page, uint256 serverId) private view returns (bytes32 word) {
        return VM.load(address(_registry), keccak256(abi.encode(page, keccak256(abi.encode(serverId, slot)))));
    }

    function _lists(
        uint256[2] memory ids,
        uint8[2] memory ratings
    ) private pure returns (uint256[] memory idList, uint8[] memory ratingList) {
        (idList, ratingList) = (new uint256[](2), new uint8[](2));
        (idList[0], idList[1]) = (ids[0], ids[1]);
        (ratingList[0], ratingList[1]) = (ratings[0], ratings[1]);
    }
}
