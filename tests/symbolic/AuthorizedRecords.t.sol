// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IAuthorizedReputationRegistry} from "../../contracts/interfaces/IAuthorizedReputationRegistry.sol";
import {AuthorizedReputationRegistry} from "../../contracts/reputation/AuthorizedReputationRegistry.sol";
import {UnpredictableIdentity} from "./Parties.sol";
import {Proof} from "./Proof.sol";

/// @title Authorised feedback is kept as it was given, each part apart from the others
/// @notice Of the words that `AuthorizedReputationRegistry` packs: an agent's summary, a feedback, and a page of a
/// client's record. From any storage in which counts and ids have the 48 bits that no chain has the gas to exceed, and
/// in which a pair of tags has the id that it was stored under.
contract AuthorizedRecordsProof is Proof {
    /// @dev The slots of the registry's variables.
    uint256 private constant SUMMARIES_SLOT = 0;
    uint256 private constant FEEDBACK_SLOT = 1;
    uint256 private constant RECORDS_SLOT = 2;
    uint256 private constant TAG_PAIR_IDS_SLOT = 3;
    uint256 private constant TAG_PAIRS_SLOT = 4;
    uint256 private constant NEXT_TAG_PAIR_ID_SLOT = 5;

    AuthorizedReputationRegistry private _registry;
    UnpredictableIdentity private _identity;

    function setUp() external {
        _identity = new UnpredictableIdentity();
        _registry = new AuthorizedReputationRegistry(address(_identity));
        SVM.enableSymbolicStorage(address(_registry));
        SVM.enableSymbolicStorage(address(_identity));
        VM.store(address(_registry), bytes32(NEXT_TAG_PAIR_ID_SLOT), SVM.createBytes32("nextTagPairId"));
    }

    function check_feedbackIsReadAsGiven(uint256 agentId, uint8 score, bytes32 tag1, bytes32 tag2) external {
        uint64 count = _registry.getFeedbackCount(agentId);
        _assumePossible(agentId, tag1, tag2);
        _give(agentId, score, tag1, tag2);
        IAuthorizedReputationRegistry.Feedback memory feedback = _registry.getFeedback(agentId, count);
        _prove(feedback.clientAddress == address(this) && feedback.score == score && feedback.position == count);
        _prove(feedback.timestamp == uint40(block.timestamp));
        _prove(feedback.tag1 == tag1 && feedback.tag2 == tag2);
    }

    function check_summaryCountsAndSums(uint256 agentId, uint8 score, bytes32 tag1, uint256 otherAgentId) external {
        uint256 former = uint256(_load(SUMMARIES_SLOT, bytes32(otherAgentId)));
        VM.assume(former >> 64 < 2 ** 128);
        _assumePossible(agentId, tag1, 0);
        _assumePossible(otherAgentId, tag1, 0);
        _give(agentId, score, tag1, 0);
        uint256 summary = uint256(_load(SUMMARIES_SLOT, bytes32(otherAgentId)));
        bool isMeant = agentId == otherAgentId;
        _prove(uint64(summary) == uint64(former) + (isMeant ? 1 : 0));
        _prove(summary >> 64 == (former >> 64) + (isMeant ? score : 0));
    }

    function check_otherFeedbackIsLeftAlone(
        uint256 agentId,
        uint8 score,
        bytes32 tag1,
        bytes32 tag2,
        uint256 otherAgentId,
        uint48 position
    ) external {
        VM.assume(position < _registry.getFeedbackCount(otherAgentId));
        _assumePossible(agentId, tag1, tag2);
        bytes32 slot = keccak256(abi.encode(position, keccak256(abi.encode(otherAgentId, FEEDBACK_SLOT))));
        bytes32 word = VM.load(address(_registry), slot);
        _give(agentId, score, tag1, tag2);
        _prove(VM.load(address(_registry), slot) == word);
    }

    function check_storedTagsAreLeftAlone(
        uint256 agentId,
        uint8 score,
        bytes32 tag1,
        bytes32 tag2,
        uint48 id
    ) external {
        _assumePossible(agentId, tag1, tag2);
        VM.assume(id < uint256(VM.load(address(_registry), bytes32(NEXT_TAG_PAIR_ID_SLOT))));
        bytes32 slot = keccak256(abi.encode(id, TAG_PAIRS_SLOT));
        bytes32 stored1 = VM.load(address(_registry), slot);
        bytes32 stored2 = VM.load(address(_registry), bytes32(uint256(slot) + 1));
        _give(agentId, score, tag1, tag2);
        _prove(VM.load(address(_registry), slot) == stored1);
        _prove(VM.load(address(_registry), bytes32(uint256(slot) + 1)) == stored2);
    }

    function check_recordGetsItsFirstEntry() external {
        _checkRecord(0);
    }

    function check_recordGetsTheLastEntryOfItsFirstPage() external {
        _checkRecord(3);
    }

    function check_recordGetsTheFirstEntryOfItsSecondPage() external {
        _checkRecord(4);
    }

    function check_recordGetsTheLastEntryOfItsSecondPage() external {
        _checkRecord(8);
    }

    /// @dev Of a client that has given so much feedback: its next one is added to its record, in which any other
    /// number, of the pages that exist, and any other client's record stay.
    function _checkRecord(uint48 lastIndex) private {
        (uint256 agentId, uint256 otherAgentId) = (SVM.createUint(256, "agentId"), SVM.createUint(256, "otherAgentId"));
        address otherClient = SVM.createAddress("otherClient");
        uint256 page = SVM.createUint(256, "page");
        uint64 position = _registry.getFeedbackCount(agentId);
        _assumePossible(agentId, 0, 0);
        VM.assume(_registry.getLastIndex(agentId, address(this)) == lastIndex);
        uint256 pageOfNext = (lastIndex + 1) / 5;
        uint256 shift = ((lastIndex + 1) % 5) * 48;
        bytes32 slotOfNext = _pageSlot(agentId, address(this), pageOfNext);
        VM.assume(uint256(VM.load(address(_registry), slotOfNext)) >> shift == 0);
        bytes32 slot = _pageSlot(otherAgentId, otherClient, page);
        uint256 former = uint256(VM.load(address(_registry), slot));

        _give(agentId, 100, 0, 0);
        uint256 word = uint256(VM.load(address(_registry), slot));
        uint256 expected = former;
        if (agentId == otherAgentId && otherClient == address(this)) {
            if (page == 0) ++expected;
            if (page == pageOfNext) expected |= uint256(position) << shift;
        }
        _prove(word == expected);
        _prove(_registry.getLastIndex(agentId, address(this)) == lastIndex + 1);
    }

    function _give(uint256 agentId, uint8 score, bytes32 tag1, bytes32 tag2) private {
        bytes memory auth = abi.encode(agentId, address(this), type(uint64).max, type(uint256).max, block.chainid);
        bytes memory signature = abi.encodePacked(SVM.createBytes32("r"), SVM.createBytes32("s"), uint8(27));
        _registry.giveFeedback(agentId, score, tag1, tag2, "ipfs://feedback", 0, bytes.concat(auth, signature));
    }

    function _assumePossible(uint256 agentId, bytes32 tag1, bytes32 tag2) private view {
        address owner = _identity.ownerOf(agentId);
        VM.assume(_and(owner != address(this), _and(owner != address(_identity), owner != address(_registry))));
        VM.assume(_registry.getFeedbackCount(agentId) < type(uint48).max);
        VM.assume(_registry.getLastIndex(agentId, address(this)) < type(uint48).max - 1);
        uint256 nextId = uint256(VM.load(address(_registry), bytes32(NEXT_TAG_PAIR_ID_SLOT)));
        VM.assume(_and(nextId != 0, nextId < type(uint48).max));
        uint256 id = uint256(_load(TAG_PAIR_IDS_SLOT, keccak256(abi.encode(tag1, tag2))));
        VM.assume(_and(id < nextId, _or(id == 0, _isPair(id, tag1, tag2))));
        VM.assume(_isPair(0, 0, 0));
    }

    function _isPair(uint256 id, bytes32 tag1, bytes32 tag2) private view returns (bool stored) {
        bytes32 slot = keccak256(abi.encode(id, TAG_PAIRS_SLOT));
        bytes32 next = bytes32(uint256(slot) + 1);
        return _and(VM.load(address(_registry), slot) == tag1, VM.load(address(_registry), next) == tag2);
    }

    function _load(uint256 slot, bytes32 key) private view returns (bytes32 word) {
        return VM.load(address(_registry), keccak256(abi.encode(key, slot)));
    }

    function _pageSlot(uint256 agentId, address client, uint256 page) private pure returns (bytes32 slot) {
        slot = keccak256(abi.encode(client, keccak256(abi.encode(agentId, RECORDS_SLOT))));
        return keccak256(abi.encode(page, slot));
    }
}
