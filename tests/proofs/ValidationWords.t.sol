// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ValidationRegistry} from "../../contracts/validation/ValidationRegistry.sol";
import {UnpredictableIdentity} from "./Parties.sol";
import {Proof} from "./Proof.sol";

/// @title A request and its answer keep each field, independent of the others
/// @notice The proofs cover the packed words of `ValidationRegistry`: a request's summary, its place, and a validator's
/// tail. They start from any storage in which numbers and times have 40 bits, and each hash has a correct place. Each
/// writing function preserves this property. Any account calls. Tags have fixed lengths.
contract ValidationWordsProof is Proof {
    /// @dev The slots of the registry's variables.
    uint256 private constant PLACES_SLOT = 0;
    uint256 private constant REQUESTS_SLOT = 1;
    uint256 private constant REQUEST_COUNTS_SLOT = 2;
    uint256 private constant VALIDATOR_TAILS_SLOT = 3;
    uint256 private constant TAGS_SLOT = 4;

    ValidationRegistry private _registry;
    UnpredictableIdentity private _identity;
    address private _caller;

    /// @dev Assumes correct places of a request and of any hash, and runs a call on the request. Asserts that the place
    /// of the hash stays correct, and that the request of any other hash stays unchanged.
    modifier keepsPlaces(bytes32 requestHash) {
        bytes32 otherHash = SVM.createBytes32("otherHash");
        uint256 place = _place(otherHash);
        VM.assume(_isPlacedRightly(requestHash) && _isPlacedRightly(otherHash));
        (bytes32 summary, bytes32 responseHash) = (_summary(place), _responseHash(place));
        _;
        bool isSame = otherHash == requestHash || place == 0;
        _prove(_isPlacedRightly(otherHash));
        _prove(isSame || (_place(otherHash) == place && _summary(place) == summary));
        _prove(isSame || _responseHash(place) == responseHash);
    }

    function setUp() external {
        _identity = new UnpredictableIdentity();
        _registry = new ValidationRegistry(address(_identity));
        _caller = SVM.createAddress("caller");
        SVM.enableSymbolicStorage(address(_registry));
        SVM.enableSymbolicStorage(address(_identity));
        VM.store(address(_registry), keccak256(abi.encode(uint256(0), TAGS_SLOT)), 0);
    }

    function check_requestIsReadAsMade(address validator, uint256 agentId, bytes32 requestHash) external reachesItsEnd {
        uint256 count = _count(agentId);
        uint256 tail = _tail(validator);
        VM.assume(count < type(uint40).max && tail >> 104 < type(uint128).max && block.timestamp <= type(uint40).max);
        VM.prank(_caller);
        _registry.validationRequest(validator, agentId, "ipfs://request", requestHash);
        _assertRequest(validator, agentId, requestHash, count, tail);
    }

    function check_validationRequest(
        address validator,
        uint256 agentId,
        bytes32 requestHash
    ) external reachesItsEnd keepsPlaces(requestHash) {
        VM.assume(_count(agentId) < type(uint40).max);
        VM.prank(_caller);
        _registry.validationRequest(validator, agentId, "ipfs://request", requestHash);
    }

    function check_validationResponse(
        bytes32 requestHash,
        uint8 response,
        bytes32 responseHash
    ) external reachesItsEnd keepsPlaces(requestHash) {
        VM.prank(_caller);
        _registry.validationResponse(requestHash, response, "ipfs://response", responseHash, "");
    }

    function check_validationResponseWithTag(
        bytes32 requestHash,
        uint8 response,
        bytes5 tag
    ) external reachesItsEnd keepsPlaces(requestHash) {
        _storeTag(tag, 0);
        VM.prank(_caller);
        _registry.validationResponse(requestHash, response, "ipfs://response", 0, string(abi.encodePacked(tag)));
    }

    /// @dev A second request to the same validator: the list has both requests, in order.
    function check_requestsOfAValidatorAreListed(
        address validator,
        uint256 agentId,
        bytes32 requestHash
    ) external reachesItsEnd {
        VM.assume(_count(agentId) < type(uint40).max && _tail(validator) >> 104 == 1);
        bytes32[] memory former = _registry.getValidatorRequests(validator);
        VM.assume(_isPlacedRightly(former[0]) && uint104(_place(former[0])) == uint104(_tail(validator)));
        VM.assume(_place(former[0]) != 0);
        VM.prank(_caller);
        _registry.validationRequest(validator, agentId, "ipfs://request", requestHash);
        _prove(_tail(validator) >> 104 == 2);
        bytes32[] memory hashes = _registry.getValidatorRequests(validator);
        _prove(hashes.length == 2 && hashes[0] == former[0] && hashes[1] == requestHash);
    }

    function check_answerIsReadAsGiven(
        bytes32 requestHash,
        uint8 response,
        bytes32 responseHash
    ) external reachesItsEnd {
        uint256 place = _place(requestHash);
        VM.assume(place >> 208 <= type(uint40).max && block.timestamp <= type(uint40).max);
        VM.prank(_caller);
        _registry.validationResponse(requestHash, response, "ipfs://response", responseHash, "");
        _assertStatus(requestHash, uint104(place) >> 40, response, responseHash);
        _prove(uint208(_place(requestHash)) == uint208(place));
        _prove(uint8(uint256(_summary(place)) >> 160) == response + 1);
    }

    function check_answerWithNewTagIsReadAsGiven(
        bytes32 requestHash,
        uint8 response,
        bytes32 responseHash,
        bytes5 tag
    ) external reachesItsEnd {
        _checkTag(requestHash, response, responseHash, tag, 0);
    }

    function check_answerWithKnownTagIsReadAsGiven(
        bytes32 requestHash,
        uint8 response,
        bytes32 responseHash,
        bytes5 tag
    ) external reachesItsEnd {
        _checkTag(requestHash, response, responseHash, tag, bytes32(tag) | bytes32(uint256(5)));
    }

    function _checkTag(bytes32 requestHash, uint8 response, bytes32 responseHash, bytes5 tag, bytes32 stored) private {
        uint256 place = _place(requestHash);
        VM.assume(place >> 208 <= type(uint40).max && block.timestamp <= type(uint40).max);
        uint256 tagId = _storeTag(tag, stored);
        VM.prank(_caller);
        string memory text = string(abi.encodePacked(tag));
        _registry.validationResponse(requestHash, response, "ipfs://response", responseHash, text);
        uint256 summary = uint256(_summary(place));
        _prove(address(uint160(summary)) == _caller);
        _prove(uint8(summary >> 160) == response + 1 && summary >> 168 == tagId);
        _prove(_responseHash(place) == responseHash);
        _prove(_load(TAGS_SLOT, bytes32(tagId)) == bytes32(tag) | bytes32(uint256(5)));
    }

    /// @dev Stores the word of a tag.
    function _storeTag(bytes5 tag, bytes32 stored) private returns (uint256 tagId) {
        tagId = uint88(uint256(keccak256(abi.encodePacked(tag)))) | 1;
        VM.store(address(_registry), keccak256(abi.encode(tagId, TAGS_SLOT)), stored);
    }

    function _assertRequest(
        address validator,
        uint256 agentId,
        bytes32 requestHash,
        uint256 count,
        uint256 tail
    ) private view {
        uint256 place = _place(requestHash);
        _prove(uint40(place) == count && uint64(place >> 40) == agentId);
        _prove(uint104(place >> 104) == uint104(tail) && place >> 208 == block.timestamp);
        uint256 newTail = _tail(validator);
        _prove(uint104(newTail) == uint104(place) && newTail >> 104 == (tail >> 104) + 1);
        _prove(uint256(_summary(place)) == uint160(validator) && _count(agentId) == count + 1);
    }

    function _assertStatus(bytes32 requestHash, uint256 agentId, uint8 response, bytes32 responseHash) private view {
        (
            address validator,
            uint256 agentId_,
            uint8 response_,
            bytes32 responseHash_,
            string memory tag,
            uint256 lastUpdate
        ) = _registry.getValidationStatus(requestHash);
        _prove(validator == _caller && agentId_ == agentId && response_ == response && responseHash_ == responseHash);
        _prove(bytes(tag).length == 0 && lastUpdate == block.timestamp);
    }

    /// @dev Returns true if the place of a used hash points to an existing request with the same hash. So two hashes
    /// never share a position.
    function _isPlacedRightly(bytes32 requestHash) private view returns (bool holds) {
        uint256 place = _place(requestHash);
        bytes32 slot = _requestSlot(place);
        bytes32 stored = VM.load(address(_registry), bytes32(uint256(slot) + 1));
        return _or(place == 0, _and(uint40(place) < _count(uint64(place >> 40)), stored == requestHash));
    }

    function _count(uint256 agentId) private view returns (uint256 count) {
        return uint256(_load(REQUEST_COUNTS_SLOT, bytes32(agentId)));
    }

    function _place(bytes32 requestHash) private view returns (uint256 place) {
        return uint256(_load(PLACES_SLOT, requestHash));
    }

    function _tail(address validator) private view returns (uint256 tail) {
        return uint256(_load(VALIDATOR_TAILS_SLOT, bytes32(uint256(uint160(validator)))));
    }

    function _summary(uint256 place) private view returns (bytes32 summary) {
        return VM.load(address(_registry), _requestSlot(place));
    }

    function _responseHash(uint256 place) private view returns (bytes32 responseHash) {
        return VM.load(address(_registry), bytes32(uint256(_requestSlot(place)) + 2));
    }

    function _load(uint256 slot, bytes32 key) private view returns (bytes32 word) {
        return VM.load(address(_registry), keccak256(abi.encode(key, slot)));
    }

    function _requestSlot(uint256 place) private pure returns (bytes32 slot) {
        return keccak256(abi.encode(uint40(place), keccak256(abi.encode(uint64(place >> 40), REQUESTS_SLOT))));
    }
}
