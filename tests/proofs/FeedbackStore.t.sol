// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ClientLedger} from "../../contracts/libraries/ClientLedger.sol";
import {FeedbackWord} from "../../contracts/libraries/FeedbackWord.sol";
import {FeedbackStore} from "../../contracts/reputation/FeedbackStore.sol";
import {Proof} from "./Proof.sol";

/// @title Feedback store with external functions
contract OpenFeedbackStore is FeedbackStore {
    /// @dev The slot of `_reputations`.
    uint256 private constant REPUTATIONS_SLOT = 0;

    /// @notice Stores a feedback.
    /// @param agentId The agent.
    /// @param client The client.
    /// @param value Its value.
    /// @param decimals The value's decimals.
    /// @param tag1 The first tag.
    /// @param tag2 The second tag.
    /// @return index Its index.
    function give(
        uint256 agentId,
        address client,
        int128 value,
        uint8 decimals,
        string calldata tag1,
        string calldata tag2
    ) external returns (uint64 index) {
        return _store(agentId, client, value, decimals, tag1, tag2);
    }

    /// @notice Revokes a feedback.
    /// @param agentId The agent.
    /// @param client The client.
    /// @param index Its index.
    function revoke(uint256 agentId, address client, uint64 index) external {
        _revoke(agentId, client, index);
    }

    /// @notice Counts a response to a feedback.
    /// @param agentId The agent.
    /// @param client The client.
    /// @param index Its index.
    /// @param responder The account that responds.
    function respond(uint256 agentId, address client, uint64 index, address responder) external {
        _countResponse(agentId, client, index, responder);
    }

    /// @notice Returns a feedback. Reverts for an unknown one.
    /// @param agentId The agent.
    /// @param client The client.
    /// @param index Its index.
    /// @return feedback Its word.
    function read(uint256 agentId, address client, uint64 index) external view returns (FeedbackWord feedback) {
        return _requireFeedback(agentId, client, index);
    }

    /// @notice Returns the index of the next feedback.
    /// @param agentId The agent.
    /// @param client The client.
    /// @return index Its index.
    function nextIndex(uint256 agentId, address client) external view returns (uint64 index) {
        return _nextIndex(agentId, client);
    }

    /// @notice Returns the stored ledger.
    /// @param agentId The agent.
    /// @param client The client.
    /// @return word The ledger.
    function ledger(uint256 agentId, address client) external view returns (ClientLedger word) {
        // The ledger is the first field of `History`, and the histories are the second field of `Reputation`.
        uint256 histories = uint256(keccak256(abi.encode(agentId, REPUTATIONS_SLOT))) + 1;
        bytes32 slot = keccak256(abi.encode(client, histories));
        assembly ("memory-safe") {
            word := sload(slot)
        }
    }

    /// @notice Returns a tag.
    /// @param id The tag's id.
    /// @return tag The tag.
    function tagOf(uint256 id) external view returns (string memory tag) {
        return _tagOf(id);
    }
}

/// @title Only revocation and responses change a feedback
/// @notice The proofs start from any storage, and so cover any history.
contract FeedbackStoreProof is Proof {
    OpenFeedbackStore private _store;

    /// @dev Assumes a feedback, runs another call, and asserts that the feedback stays unchanged.
    modifier leavesFeedbackAlone() {
        (uint256 agentId, address client) = (SVM.createUint(256, "agentId"), SVM.createAddress("client"));
        uint64 index = uint64(SVM.createUint(32, "index"));
        VM.assume(index < _store.nextIndex(agentId, client));
        FeedbackWord feedback = _store.read(agentId, client, index);
        _;
        _prove(FeedbackWord.unwrap(_store.read(agentId, client, index)) == FeedbackWord.unwrap(feedback));
    }

    /// @dev Runs a call that gives, revokes or answers a feedback, and asserts that the ledgers of other clients and
    /// other agents stay unchanged.
    modifier leavesOtherLedgersAlone(uint256 agentId, address client) {
        (uint256 otherAgentId, address otherClient) = (
            SVM.createUint(256, "otherAgentId"),
            SVM.createAddress("otherClient")
        );
        ClientLedger ledger = _store.ledger(otherAgentId, otherClient);
        _;
        bool same = otherAgentId == agentId && otherClient == client;
        _prove(same || _isSame(_store.ledger(otherAgentId, otherClient), ledger));
    }

    function setUp() external {
        _store = new OpenFeedbackStore();
        SVM.enableSymbolicStorage(address(_store));
    }

    function check_feedbackIsReadAsGiven(
        uint256 agentId,
        address client,
        int128 value,
        uint8 decimals
    ) external reachesItsEnd {
        VM.assume(decimals <= 18);
        uint64 expected = _store.nextIndex(agentId, client);
        uint64 index = _store.give(agentId, client, value, decimals, "", "");
        FeedbackWord feedback = _store.read(agentId, client, index);
        _prove(index == expected && _store.nextIndex(agentId, client) == expected + 1);
        _prove(feedback.value() == value && feedback.decimals() == decimals);
        _prove(feedback.tag1Id() == 0 && feedback.tag2Id() == 0);
        _prove(!feedback.isRevoked() && feedback.responses() == 0);
    }

    function check_givingLeavesOtherFeedbackAlone(
        uint256 agentId,
        address client,
        int128 value,
        uint8 decimals
    ) external reachesItsEnd leavesFeedbackAlone {
        _store.give(agentId, client, value, decimals, "", "");
    }

    function check_givingWithTagsLeavesOtherFeedbackAlone(
        uint256 agentId,
        address client,
        int128 value,
        uint8 decimals,
        bytes4 tag1,
        bytes6 tag2
    ) external reachesItsEnd leavesFeedbackAlone {
        string memory longTag = "a tag that is longer than a word of storage";
        _store.give(
            agentId,
            client,
            value,
            decimals,
            string(abi.encodePacked(tag1)),
            string(abi.encodePacked(tag2, longTag))
        );
    }

    function check_revocationMarksOneFeedback(
        uint256 agentId,
        address client,
        uint64 index,
        uint256 otherAgentId,
        address otherClient,
        uint64 otherIndex
    ) external reachesItsEnd {
        bool same = agentId == otherAgentId && client == otherClient && index == otherIndex;
        uint256 word = FeedbackWord.unwrap(_store.read(otherAgentId, otherClient, otherIndex));
        _store.revoke(agentId, client, index);
        uint256 now_ = FeedbackWord.unwrap(_store.read(otherAgentId, otherClient, otherIndex));
        _prove(now_ == (same ? word | (1 << 214) : word));
    }

    function check_revokedFeedbackStaysRevoked(uint256 agentId, address client, uint64 index) external reachesItsEnd {
        VM.assume(_store.read(agentId, client, index).isRevoked());
        bool refused;
        try _store.revoke(agentId, client, index) {
            refused = false;
        } catch {
            refused = true;
        }
        _prove(refused);
    }

    function check_responseCountsForOneFeedback(
        uint256 agentId,
        address client,
        uint64 index,
        address responder,
        uint256 otherAgentId,
        address otherClient,
        uint64 otherIndex
    ) external reachesItsEnd {
        bool same = agentId == otherAgentId && client == otherClient && index == otherIndex;
        uint256 word = FeedbackWord.unwrap(_store.read(otherAgentId, otherClient, otherIndex));
        _store.respond(agentId, client, index, responder);
        uint256 now_ = FeedbackWord.unwrap(_store.read(otherAgentId, otherClient, otherIndex));
        _prove(now_ == (same ? word + (1 << 216) : word));
    }

    function check_givingAddsToTheLedger(
        uint256 agentId,
        address client,
        int128 value,
        uint8 decimals
    ) external reachesItsEnd leavesOtherLedgersAlone(agentId, client) {
        ClientLedger ledger = _store.ledger(agentId, client);
        _store.give(agentId, client, value, decimals, "", "");
        _prove(_isSame(_store.ledger(agentId, client), ledger.withFeedback(value, decimals)));
    }

    function check_givingWithTagsAddsToTheLedger(
        uint256 agentId,
        address client,
        int128 value,
        uint8 decimals,
        bytes4 tag1,
        bytes4 tag2
    ) external reachesItsEnd leavesOtherLedgersAlone(agentId, client) {
        ClientLedger ledger = _store.ledger(agentId, client);
        _store.give(agentId, client, value, decimals, string(abi.encodePacked(tag1)), string(abi.encodePacked(tag2)));
        _prove(_isSame(_store.ledger(agentId, client), ledger.withFeedback(value, decimals)));
    }

    function check_revocationTakesOutOfTheLedger(
        uint256 agentId,
        address client,
        uint64 index
    ) external reachesItsEnd leavesOtherLedgersAlone(agentId, client) {
        ClientLedger ledger = _store.ledger(agentId, client);
        int128 value = _store.read(agentId, client, index).value();
        _store.revoke(agentId, client, index);
        _prove(_isSame(_store.ledger(agentId, client), ledger.withoutFeedback(value)));
    }

    function check_responseLeavesTheLedgerAlone(
        uint256 agentId,
        address client,
        uint64 index,
        address responder
    ) external reachesItsEnd leavesOtherLedgersAlone(agentId, client) {
        ClientLedger ledger = _store.ledger(agentId, client);
        _store.respond(agentId, client, index, responder);
        _prove(_isSame(_store.ledger(agentId, client), ledger));
    }

    function check_ledgersAreWhereTheProofsLook(uint256 agentId, address client) external view reachesItsEnd {
        _prove(_store.ledger(agentId, client).nextIndex() == _store.nextIndex(agentId, client));
    }

    function _isSame(ClientLedger one, ClientLedger other) private pure returns (bool same) {
        return ClientLedger.unwrap(one) == ClientLedger.unwrap(other);
    }
}
