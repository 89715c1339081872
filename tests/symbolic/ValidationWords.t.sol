// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ValidationRegistry} from "../../contracts/validation/ValidationRegistry.sol";
import {UnpredictableIdentity} from "./Parties.sol";
import {Proof} from "./Proof.sol";

/// @title A request and its answer are kept as they were given, each part apart from the others
/// @notice Of the words that `ValidationRegistry` packs: a request's summary, its place, and a validator's tail. From
/// any storage in which numbers have the 40 bits, and times the 40 bits, that their places leave them. A tag has the
/// length that is given here.
contract ValidationWordsProof is Proof {
    /// @dev The slots of the registry's variables.
    uint256 private constant PLACES_SLOT = 0;
    uint256 private constant REQUESTS_SLOT = 1;
    uint256 private constant REQUEST_COUNTS_SLOT = 2;
    uint256 private constant VALIDATOR_TAILS_SLOT = 3;
    uint256 private constant TAGS_SLOT = 4;

    ValidationRegistry private _registry;
    UnpredictableIdentity private _identity;

    function setUp() external {
        _identity = new UnpredictableIdentity();
        _registry = new ValidationRegistry(address(_identity));
        SVM.enableSymbolicStorage(address(_registry));
        SVM.enableSymbolicStorage(address(_identity));
        VM.store(address(_registry), keccak256(abi.encode(uint256(0), TAGS_SLOT)), 0);
    }

    function check_requestIsReadAsMade(address validator, uint256 agentId, bytes32 requestHash) external {
        uint256 count = _count(agentId);
        uint256 tail = uint256(_load(VALIDATOR_TAILS_SLOT, bytes32(uint256(uint160(validator)))));
        VM.assume(count < type(uint40).max && tail >> 104 < type(uint128).max && block.timestamp <= type(uint40).max);
        _registry.validationRequest(validator, agentId, "ipfs://request", requestHash);
        _assertRequest(validator, agentId, requestHash, count, tail);
    }

    function check_requestLeavesOthersAlone(
        address validator,
        uint256 agentId,
        bytes32 requestHash,
        bytes32 otherHash
    ) external {
        uint256 place = uint256(_load(PLACES_SLOT, otherHash));
        _assumeTaken(place);
        VM.assume(_count(agentId) < type(uint40).max);
        bytes32 summary = _summary(place);
        _registry.validationRequest(validator, agentId, "ipfs://request", requestHash);
        _prove(uint256(_load(PLACES_SLOT, otherHash)) == place);
        _prove(_summary(place) == summary);
    }

    function check_answerIsReadAsGiven(bytes32 requestHash, uint8 response, bytes32 responseHash) external {
        uint256 place = uint256(_load(PLACES_SLOT, requestHash));
        VM.assume(place >> 208 <= type(uint40).max && block.timestamp <= type(uint40).max);
        _registry.validationResponse(requestHash, response, "ipfs://response", responseHash, "");
        _assertStatus(requestHash, uint104(place) >> 40, response);
        _prove(uint208(uint256(_load(PLACES_SLOT, requestHash))) == uint208(place));
        _prove(uint8(uint256(_summary(place)) >> 160) == response + 1);
    }

    function check_answerWithNewTagIsReadAsGiven(bytes32 requestHash, uint8 response, bytes5 tag) external {
        _checkTag(requestHash, response, tag, 0);
    }

    function check_answerWithKnownTagIsReadAsGiven(bytes32 requestHash, uint8 response, bytes5 tag) external {
        _checkTag(requestHash, response, tag, bytes32(tag) | bytes32(uint256(5)));
    }

    function check_answerLeavesOthersAlone(bytes32 requestHash, uint8 response, bytes32 otherHash) external {
        (uint256 place, uint256 otherPlace) = (
            uint256(_load(PLACES_SLOT, requestHash)),
            uint256(_load(PLACES_SLOT, otherHash))
        );
        VM.assume(requestHash != otherHash && uint104(place) != uint104(otherPlace));
        bytes32 summary = _summary(otherPlace);
        _registry.validationResponse(requestHash, response, "ipfs://response", 0, "");
        _prove(uint256(_load(PLACES_SLOT, otherHash)) == otherPlace);
        _prove(_summary(otherPlace) == summary);
    }

    function _checkTag(bytes32 requestHash, uint8 response, bytes5 tag, bytes32 stored) private {
        uint256 place = uint256(_load(PLACES_SLOT, requestHash));
        VM.assume(place >> 208 <= type(uint40).max && block.timestamp <= type(uint40).max);
        uint256 tagId = uint88(uint256(keccak256(abi.encodePacked(tag)))) | 1;
        VM.store(address(_registry), keccak256(abi.encode(tagId, TAGS_SLOT)), stored);
        _registry.validationResponse(requestHash, response, "ipfs://response", 0, string(abi.encodePacked(tag)));
        uint256 summary = uint256(_summary(place));
        _prove(address(uint160(summary)) == address(this));
        _prove(uint8(summary >> 160) == response + 1 && summary >> 168 == tagId);
        _prove(_load(TAGS_SLOT, bytes32(tagId)) == bytes32(tag) | bytes32(uint256(5)));
    }

    function _assertRequest(
        address validator,
        uint256 agentId,
        bytes32 requestHash,
        uint256 count,
        uint256 tail
    ) private view {
        uint256 place = uint256(_load(PLACES_SLOT, requestHash));
        _prove(uint40(place) == count && uint64(place >> 40) == agentId);
        _prove(uint104(place >> 104) == uint104(tail) && place >> 208 == block.timestamp);
        uint256 newTail = uint256(_load(VALIDATOR_TAILS_SLOT, bytes32(uint256(uint160(validator)))));
        _prove(uint104(newTail) == uint104(place) && newTail >> 104 == (tail >> 104) + 1);
        _prove(uint256(_summary(place)) == uint160(validator) && _count(agentId) == count + 1);
    }

    function _assertStatus(bytes32 requestHash, uint256 agentId, uint8 response) private view {
        (address validator, uint256 agentId_, uint8 response_, , string memory tag, uint256 lastUpdate) = _registry
            .getValidationStatus(requestHash);
        _prove(validator == address(this) && agentId_ == agentId && response_ == response);
        _prove(bytes(tag).length == 0 && lastUpdate == block.timestamp);
    }

    /// @dev A place that is in use is that of a request, whose number is below its agent's count.
    function _assumeTaken(uint256 place) private view {
        VM.assume(place != 0 && uint40(place) < _count(uint64(place >> 40)));
    }

    function _count(uint256 agentId) private view returns (uint256 count) {
        return uint256(_load(REQUEST_COUNTS_SLOT, bytes32(agentId)));
    }

    function _summary(uint256 place) private view returns (bytes32 summary) {
        bytes32 requests = keccak256(abi.encode(uint64(place >> 40), REQUESTS_SLOT));
        return VM.load(address(_registry), keccak256(abi.encode(uint40(place), requests)));
    }

    function _load(uint256 slot, bytes32 key) private view returns (bytes32 word) {
        return VM.load(address(_registry), keccak256(abi.encode(key, slot)));
    }
}
