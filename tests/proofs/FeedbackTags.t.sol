// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {FeedbackWord} from "../../contracts/libraries/FeedbackWord.sol";
import {OpenFeedbackStore} from "./FeedbackStore.t.sol";
import {Proof} from "./Proof.sol";

/// @title A feedback keeps its tags, and a tag keeps its id
/// @notice The proofs start from any storage in which each tag with an id is stored under that id. Each writing
/// function preserves this property. Tags have four bytes.
contract FeedbackTagsProof is Proof {
    /// @dev The slot of the store's `_tags`: the ids by tag, then the tags by id, then the number of tags.
    uint256 private constant TAGS_SLOT = 1;

    OpenFeedbackStore private _store;

    /// @dev Assumes that any tag is stored under its id, runs a call, and asserts that the tag still is, and keeps an
    /// earlier id.
    modifier keepsTags() {
        bytes4 tag = bytes4(SVM.createBytes32("tag"));
        uint256 id = _idOf(tag);
        VM.assume(_isEnteredRightly(tag));
        _;
        _prove(_isEnteredRightly(tag) && (id == 0 || _idOf(tag) == id));
    }

    function setUp() external {
        _store = new OpenFeedbackStore();
        SVM.enableSymbolicStorage(address(_store));
    }

    function check_feedbackWithTwoTagsIsReadAsGiven(
        uint256 agentId,
        address client,
        int128 value,
        uint8 decimals,
        bytes4 tag1,
        bytes4 tag2
    ) external reachesItsEnd keepsTags {
        VM.assume(tag1 != tag2);
        _checkTags(agentId, client, value, decimals, tag1, tag2);
    }

    function check_feedbackWithOneTagTwiceIsReadAsGiven(
        uint256 agentId,
        address client,
        int128 value,
        uint8 decimals,
        bytes4 tag
    ) external reachesItsEnd keepsTags {
        _checkTags(agentId, client, value, decimals, tag, tag);
    }

    function check_revokingKeepsTags(uint256 agentId, address client, uint64 index) external reachesItsEnd keepsTags {
        _store.revoke(agentId, client, index);
    }

    function check_respondingKeepsTags(
        uint256 agentId,
        address client,
        uint64 index,
        address responder
    ) external reachesItsEnd keepsTags {
        _store.respond(agentId, client, index, responder);
    }

    function check_tagIsReadFromItsWord(uint256 id, bytes4 tag) external reachesItsEnd {
        VM.assume(id != 0);
        VM.store(address(_store), _tagSlot(id), _packed(tag));
        bytes memory text = bytes(_store.tagOf(id));
        _prove(text.length == 4 && bytes4(text) == tag);
    }

    function _checkTags(
        uint256 agentId,
        address client,
        int128 value,
        uint8 decimals,
        bytes4 tag1,
        bytes4 tag2
    ) private {
        VM.assume(decimals <= 18 && _isEnteredRightly(tag1) && _isEnteredRightly(tag2));
        uint64 index = _store.give(agentId, client, value, decimals, _text(tag1), _text(tag2));
        FeedbackWord feedback = _store.read(agentId, client, index);
        _prove(feedback.value() == value && feedback.decimals() == decimals);
        _prove(feedback.tag1Id() == _idOf(tag1) && feedback.tag2Id() == _idOf(tag2));
        _prove(feedback.tag1Id() != 0 && _isEnteredRightly(tag1));
        _prove(feedback.tag2Id() != 0 && _isEnteredRightly(tag2));
        _prove(!feedback.isRevoked() && feedback.responses() == 0);
    }

    /// @dev Returns true if a tag has no id, or has an assigned id and is stored under it.
    function _isEnteredRightly(bytes4 tag) private view returns (bool holds) {
        uint256 id = _idOf(tag);
        uint256 count = uint256(VM.load(address(_store), bytes32(TAGS_SLOT + 2)));
        bool isStored = VM.load(address(_store), _tagSlot(id)) == _packed(tag);
        return _or(id == 0, _and(isStored, _and(id <= count, count <= type(uint40).max)));
    }

    /// @dev Returns the id of a tag; 0: the tag has no id.
    function _idOf(bytes4 tag) private view returns (uint256 id) {
        return uint256(VM.load(address(_store), keccak256(abi.encodePacked(tag, TAGS_SLOT))));
    }

    /// @dev Returns the slot of the tag with an id.
    function _tagSlot(uint256 id) private pure returns (bytes32 slot) {
        return keccak256(abi.encode(id, TAGS_SLOT + 1));
    }

    /// @dev Returns a tag as Solady packs a short text.
    function _packed(bytes4 tag) private pure returns (bytes32 word) {
        return bytes32(tag) | bytes32(uint256(4));
    }

    function _text(bytes4 tag) private pure returns (string memory text) {
        return string(abi.encodePacked(tag));
    }
}
