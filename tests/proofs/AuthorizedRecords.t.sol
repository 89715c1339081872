// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IAuthorizedReputationRegistry} from "../../contracts/interfaces/IAuthorizedReputationRegistry.sol";
import {AuthorizedReputationRegistry} from "../../contracts/reputation/AuthorizedReputationRegistry.sol";
import {UnpredictableIdentity} from "./Parties.sol";
import {Proof} from "./Proof.sol";

/// @title Authorised feedback stays unchanged, and its packed fields are independent
/// @notice The proofs cover the packed words of `AuthorizedReputationRegistry`: an agent's summary, a feedback, and a
/// page of a client's record. They start from any storage with three properties: counts and ids have 48 bits, which no
/// chain has the gas to exceed; a pair of tags has the id of its slot; a record is empty after its last number. Any
/// client calls.
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
    address private _client;

    /// @dev Runs a call that gives feedback to an agent: entry `5 * page + place` of the client's record. Asserts for
    /// any page of any record: the entry is the feedback's position, the index counts it, and other entries stay.
    modifier addsToRecord(uint256 agentId, uint256 place) {
        (uint256 otherAgentId, address otherClient) = (
            SVM.createUint(256, "otherAgentId"),
            SVM.createAddress("otherClient")
        );
        uint256 otherPage = SVM.createUint(256, "otherPage");
        uint256 number = _registry.getLastIndex(agentId, _client) + 1;
        uint256 page = number / 5;
        uint256 position = _registry.getFeedbackCount(agentId);
        VM.assume(number % 5 == place && _page(agentId, _client, page) >> (place * 48) == 0);
        uint256 former = _page(otherAgentId, otherClient, otherPage);
        _;
        bool isOwn = agentId == otherAgentId && otherClient == _client;
        uint256 added = isOwn && otherPage == page ? position << (place * 48) : 0;
        uint256 counted = isOwn && otherPage == 0 ? 1 : 0;
        _prove(_page(otherAgentId, otherClient, otherPage) == (former | added) + counted);
        _prove(_registry.getLastIndex(agentId, _client) == number);
    }

    function setUp() external {
        _identity = new UnpredictableIdentity();
        _registry = new AuthorizedReputationRegistry(address(_identity));
        _client = SVM.createAddress("client");
        SVM.enableSymbolicStorage(address(_registry));
        SVM.enableSymbolicStorage(address(_identity));
        VM.store(address(_registry), bytes32(NEXT_TAG_PAIR_ID_SLOT), SVM.createBytes32("nextTagPairId"));
    }

    function check_feedbackIsReadAsGiven(
        uint256 agentId,
        uint8 score,
        bytes32 tag1,
        bytes32 tag2
    ) external reachesItsEnd {
        uint64 count = _registry.getFeedbackCount(agentId);
        _assumePossible(agentId, tag1, tag2);
        _give(agentId, score, tag1, tag2);
        IAuthorizedReputationRegistry.Feedback memory feedback = _registry.getFeedback(agentId, count);
        _prove(feedback.clientAddress == _client && feedback.score == score && feedback.position == count);
        _prove(feedback.timestamp == uint40(block.timestamp));
        _prove(feedback.tag1 == tag1 && feedback.tag2 == tag2);
    }

    function check_summaryCountsAndSums(
        uint256 agentId,
        uint8 score,
        bytes32 tag1,
        uint256 otherAgentId
    ) external reachesItsEnd {
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
    ) external reachesItsEnd {
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
    ) external reachesItsEnd {
        _assumePossible(agentId, tag1, tag2);
        VM.assume(id < uint256(VM.load(address(_registry), bytes32(NEXT_TAG_PAIR_ID_SLOT))));
        bytes32 slot = keccak256(abi.encode(id, TAG_PAIRS_SLOT));
        bytes32 stored1 = VM.load(address(_registry), slot);
        bytes32 stored2 = VM.load(address(_registry), bytes32(uint256(slot) + 1));
        _give(agentId, score, tag1, tag2);
        _prove(VM.load(address(_registry), slot) == stored1);
        _prove(VM.load(address(_registry), bytes32(uint256(slot) + 1)) == stored2);
    }

    function check_giveFeedbackWritesLowestNumberOfAPage(
        uint256 agentId
    ) external reachesItsEnd addsToRecord(agentId, 0) {
        _assumePossible(agentId, 0, 0);
        _give(agentId, 100, 0, 0);
    }

    function check_giveFeedbackWritesSecondNumberOfAPage(
        uint256 agentId
    ) external reachesItsEnd addsToRecord(agentId, 1) {
        _assumePossible(agentId, 0, 0);
        _give(agentId, 100, 0, 0);
    }

    function check_giveFeedbackWritesThirdNumberOfAPage(
        uint256 agentId
    ) external reachesItsEnd addsToRecord(agentId, 2) {
        _assumePossible(agentId, 0, 0);
        _give(agentId, 100, 0, 0);
    }

    function check_giveFeedbackWritesFourthNumberOfAPage(
        uint256 agentId
    ) external reachesItsEnd addsToRecord(agentId, 3) {
        _assumePossible(agentId, 0, 0);
        _give(agentId, 100, 0, 0);
    }

    function check_giveFeedbackWritesHighestNumberOfAPage(
        uint256 agentId
    ) external reachesItsEnd addsToRecord(agentId, 4) {
        _assumePossible(agentId, 0, 0);
        _give(agentId, 100, 0, 0);
    }

    /// @dev Reads two pages, so that each place occurs on one of them.
    function check_recordIsReadAsWritten(
        uint256 agentId,
        address client,
        uint208 firstPositions
    ) external reachesItsEnd {
        VM.store(address(_registry), _pageSlot(agentId, client, 0), bytes32((uint256(firstPositions) << 48) | 9));
        IAuthorizedReputationRegistry.Feedback[] memory feedback = _registry.getClientFeedbackPage(
            agentId,
            client,
            0,
            9
        );
        for (uint256 n = 1; n <= 9; ++n) {
            _prove(feedback[n - 1].position == uint48(_page(agentId, client, n / 5) >> ((n % 5) * 48)));
        }
        _prove(feedback.length == 9 && _registry.getLastIndex(agentId, client) == 9);
    }

    function _give(uint256 agentId, uint8 score, bytes32 tag1, bytes32 tag2) private {
        bytes memory auth = abi.encode(agentId, _client, type(uint64).max, type(uint256).max, block.chainid);
        bytes memory signature = abi.encodePacked(SVM.createBytes32("r"), SVM.createBytes32("s"), uint8(27));
        VM.prank(_client);
        _registry.giveFeedback(agentId, score, tag1, tag2, "ipfs://feedback", 0, bytes.concat(auth, signature));
    }

    function _assumePossible(uint256 agentId, bytes32 tag1, bytes32 tag2) private view {
        address owner = _identity.ownerOf(agentId);
        VM.assume(_and(owner != address(this), _and(owner != address(_identity), owner != address(_registry))));
        VM.assume(_registry.getFeedbackCount(agentId) < type(uint48).max);
        VM.assume(_registry.getLastIndex(agentId, _client) < type(uint48).max - 1);
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

    function _page(uint256 agentId, address client, uint256 page) private view returns (uint256 word) {
        return uint256(VM.load(address(_registry), _pageSlot(agentId, client, page)));
    }

    /// @dev Returns the slot of a page of a client's record.
    function _pageSlot(uint256 agentId, address client, uint256 page) private pure returns (bytes32 slot) {
        slot = keccak256(abi.encode(client, keccak256(abi.encode(agentId, RECORDS_SLOT))));
        return keccak256(abi.encode(page, slot));
    }
}
