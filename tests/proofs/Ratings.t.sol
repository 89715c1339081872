// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IReputationRegistry} from "../../contracts/interfaces/IReputationRegistry.sol";
import {BidirectionalReputationRegistry} from "../../contracts/reputation/BidirectionalReputationRegistry.sol";
import {UnpredictableIdentity} from "./Parties.sol";
import {Proof} from "./Proof.sol";

/// @title No call changes an existing rating or authorisation
/// @notice The proofs start from any storage, and so cover any history, any caller, and any answer of the identity
/// registry. Each proof covers one function. The proofs of functions that rate or authorise also show that the call
/// stores the caller's values and nothing else. Batches have two elements.
contract RatingsProof is Proof {
    /// @dev A word of each kind, of one server. The number of a page also serves as the id of a client.
    /// @param clientRatings The ratings of 32 clients.
    /// @param validatorRatings The ratings of 32 validators.
    /// @param authorizedClients The authorisations of 256 clients.
    /// @param sealedPair The sealed pair of one client.
    struct Words {
        bytes32 clientRatings;
        bytes32 validatorRatings;
        bytes32 authorizedClients;
        bytes32 sealedPair;
    }

    /// @dev The slots of the registry's variables.
    uint256 private constant CLIENT_RATINGS_SLOT = 5;
    uint256 private constant VALIDATOR_RATINGS_SLOT = 6;
    uint256 private constant AUTHORIZED_CLIENTS_SLOT = 7;
    uint256 private constant SEALED_PAIRS_SLOT = 8;

    BidirectionalReputationRegistry private _registry;
    UnpredictableIdentity private _identity;

    /// @dev Runs a call of `caller` that gives these ratings, of the kind stored in `slot`. Asserts for any rating of
    /// both kinds: an existing rating stays, and a new rating has the value that the caller's agent gave. No word of
    /// authorisations changes.
    modifier rates(uint256 slot, address caller, uint256[2] memory subjectIds, uint8[2] memory ratings) {
        (uint256 subjectId, uint256 serverId) = (SVM.createUint(256, "subjectId"), SVM.createUint(256, "serverId"));
        uint256 otherSlot = slot == CLIENT_RATINGS_SLOT ? VALIDATOR_RATINGS_SLOT : CLIENT_RATINGS_SLOT;
        uint256 former = _packedRating(slot, subjectId, serverId);
        uint256 formerOther = _packedRating(otherSlot, subjectId, serverId);
        uint256 bucket = SVM.createUint(256, "bucket");
        bytes32 authorized = _word(AUTHORIZED_CLIENTS_SLOT, bucket, serverId);
        bytes32 sealedPair = _word(SEALED_PAIRS_SLOT, subjectId, serverId);
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
        _prove(_word(SEALED_PAIRS_SLOT, subjectId, serverId) == sealedPair);
    }

    /// @dev Runs a call of `caller` that authorises a client for a server. Asserts that the call sets one bit, and
    /// changes no other bit of any word of authorisations and no word of ratings.
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

    /// @dev Runs another call of `caller`, and asserts that no word of ratings or authorisations changes.
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

    function check_rateClientAs(
        address caller,
        uint256 clientId,
        uint8 rating,
        uint256 expectedServerId,
        address expectedOwner
    ) external reachesItsEnd rates(CLIENT_RATINGS_SLOT, caller, [clientId, clientId], [rating, rating]) {
        _registry.rateClientAs(clientId, rating, expectedServerId, expectedOwner);
    }

    function check_rateValidatorAs(
        address caller,
        uint256 validatorId,
        uint8 rating,
        uint256 expectedServerId,
        address expectedOwner
    ) external reachesItsEnd rates(VALIDATOR_RATINGS_SLOT, caller, [validatorId, validatorId], [rating, rating]) {
        _registry.rateValidatorAs(validatorId, rating, expectedServerId, expectedOwner);
    }

    function check_rateClientsAs(
        address caller,
        uint256[2] memory ids,
        uint8[2] memory ratings,
        uint256 expectedServerId,
        address[2] memory owners
    ) external reachesItsEnd rates(CLIENT_RATINGS_SLOT, caller, ids, ratings) {
        (uint256[] memory clientIds, uint8[] memory values) = _lists(ids, ratings);
        _registry.rateClientsAs(clientIds, values, expectedServerId, _list(owners));
    }

    function check_rateValidatorsAs(
        address caller,
        uint256[2] memory ids,
        uint8[2] memory ratings,
        uint256 expectedServerId,
        address[2] memory owners
    ) external reachesItsEnd rates(VALIDATOR_RATINGS_SLOT, caller, ids, ratings) {
        (uint256[] memory validatorIds, uint8[] memory values) = _lists(ids, ratings);
        _registry.rateValidatorsAs(validatorIds, values, expectedServerId, _list(owners));
    }

    function check_voidSignaturesThrough(
        address caller,
        uint256 deadline
    ) external reachesItsEnd leavesWordsAlone(caller) {
        _registry.voidSignaturesThrough(deadline);
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
        // A sealed rating is read as none, and a blind one without its highest bit.
        _prove(has == (packed & 127 != 0) && (!has || rating == (packed & 127) - 1));
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
        _prove(now_.sealedPair == words.sealedPair);
    }

    /// @dev Returns the words at the same key of each mapping.
    function _words(uint256 page, uint256 serverId) private view returns (Words memory words) {
        return
            Words(
                _word(CLIENT_RATINGS_SLOT, page, serverId),
                _word(VALIDATOR_RATINGS_SLOT, page, serverId),
                _word(AUTHORIZED_CLIENTS_SLOT, page, serverId),
                _word(SEALED_PAIRS_SLOT, page, serverId)
            );
    }

    function _word(uint256 slot, uint256 page, uint256 serverId) private view returns (bytes32 word) {
        return VM.load(address(_registry), keccak256(abi.encode(page, keccak256(abi.encode(serverId, slot)))));
    }

    function _list(address[2] memory accounts) private pure returns (address[] memory list) {
        list = new address[](2);
        (list[0], list[1]) = (accounts[0], accounts[1]);
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
