// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IBlindRatings} from "../../contracts/interfaces/IBlindRatings.sol";
import {BidirectionalReputationRegistry} from "../../contracts/reputation/BidirectionalReputationRegistry.sol";
import {UnpredictableIdentity} from "./Parties.sol";
import {Proof} from "./Proof.sol";

/// @title A sealed rating changes only by the opening of its own pair
/// @notice The proofs start from any storage, and so cover any history, any caller, and any answer of the identity
/// registry. They assume of the storage only what they prove of every call: a stored pair has a byte that is not free.
/// The proofs about other functions of the registry are in `RatingsProof`.
contract BlindRatingsProof is Proof {
    /// @dev The stored state of one client and one server.
    /// @param packed The byte of the rating.
    /// @param word The stored pair.
    struct State {
        uint8 packed;
        uint256 word;
    }

    /// @dev The slots of the registry's variables.
    uint256 private constant CLIENT_RATINGS_SLOT = 5;
    uint256 private constant VALIDATOR_RATINGS_SLOT = 6;
    uint256 private constant AUTHORIZED_CLIENTS_SLOT = 7;
    uint256 private constant SEALED_PAIRS_SLOT = 8;

    uint8 private constant SEALED = 128;
    uint256 private constant MAX_RATING = 100;

    BidirectionalReputationRegistry private _registry;
    UnpredictableIdentity private _identity;

    /// @dev Runs a call about a pair. Asserts that no state of another client or server changes, and neither ratings of
    /// validators nor authorisations. The byte of the pair stays, or moves from free to sealed or blind, or from sealed
    /// to blind. A stored pair still has a byte that is not free.
    modifier changesOnlyThePair(IBlindRatings.Pair memory pair) {
        (uint256 clientId, uint256 serverId) = (SVM.createUint(256, "clientId"), SVM.createUint(256, "serverId"));
        State memory former = _reachable(clientId, serverId);
        bytes32 validators = _word(VALIDATOR_RATINGS_SLOT, clientId, serverId);
        bytes32 authorized = _word(AUTHORIZED_CLIENTS_SLOT, clientId, serverId);
        _;
        State memory state = _state(clientId, serverId);
        bool same = state.packed == former.packed && state.word == former.word;
        _prove(same || (clientId == pair.clientId && serverId == pair.serverId));
        _prove(state.packed == former.packed || former.packed == 0 || former.packed == SEALED);
        _prove(state.packed == former.packed || (state.packed >= SEALED && state.packed <= SEALED + 1 + MAX_RATING));
        _prove(state.word == 0 || state.packed >= SEALED);
        _prove(_word(VALIDATOR_RATINGS_SLOT, clientId, serverId) == validators);
        _prove(_word(AUTHORIZED_CLIENTS_SLOT, clientId, serverId) == authorized);
    }

    function setUp() external {
        _identity = new UnpredictableIdentity();
        _registry = new BidirectionalReputationRegistry(address(_identity));
        SVM.enableSymbolicStorage(address(_registry));
        SVM.enableSymbolicStorage(address(_identity));
    }

    function check_sealStoresTheOnePair(
        IBlindRatings.Pair memory pair
    ) external reachesItsEnd changesOnlyThePair(pair) {
        _assumeOutsiders(pair);
        State memory former = _reachable(pair.clientId, pair.serverId);
        _registry.seal(pair, _signature("client"), _signature("server"));
        State memory state = _state(pair.clientId, pair.serverId);
        _prove(former.packed == 0 && former.word == 0);
        _prove(state.packed == SEALED && state.word == _hash(pair));
        _prove(pair.clientId != 0 && _identity.agentOf(pair.client) == pair.clientId);
        _prove(pair.serverId != 0 && _identity.agentOf(pair.server) == pair.serverId);
    }

    function check_openNeedsTheStoredPairAndClearsIt(
        IBlindRatings.Pair memory pair,
        bytes32 clientSalt,
        uint8 rating,
        bytes32 serverSalt
    ) external reachesItsEnd changesOnlyThePair(pair) {
        State memory former = _reachable(pair.clientId, pair.serverId);
        _registry.open(pair, _feedback(), clientSalt, rating, serverSalt);
        State memory state = _state(pair.clientId, pair.serverId);
        _prove(former.packed == SEALED && former.word == _hash(pair));
        _prove(state.word == 0);
        _proveBlind(state.packed, rating);
    }

    function check_openFeedbackSetsOneBitOfTheStoredPair(
        IBlindRatings.Pair memory pair,
        bytes32 clientSalt
    ) external reachesItsEnd changesOnlyThePair(pair) {
        // A pair that is not stored has the word 0. To open one, its hash would have to be 0 or 1: such a preimage of
        // keccak256 is as far out of reach as any collision. `open` and `openRating` need a reserved byte, too.
        VM.assume(_hash(pair) != 0);
        State memory former = _reachable(pair.clientId, pair.serverId);
        _registry.openFeedback(pair, _feedback(), clientSalt);
        State memory state = _state(pair.clientId, pair.serverId);
        _prove(former.word == _hash(pair) && state.word == former.word | 1);
        _prove(state.packed == former.packed);
    }

    function check_openRatingNeedsTheStoredPairAndKeepsIt(
        IBlindRatings.Pair memory pair,
        uint8 rating,
        bytes32 serverSalt
    ) external reachesItsEnd changesOnlyThePair(pair) {
        State memory former = _reachable(pair.clientId, pair.serverId);
        _registry.openRating(pair, rating, serverSalt);
        State memory state = _state(pair.clientId, pair.serverId);
        _prove(former.packed == SEALED && former.word | 1 == _hash(pair) | 1);
        _prove(state.word == former.word);
        _proveBlind(state.packed, rating);
    }

    function check_exchangeFillsAFreeByteAndStoresNoPair(
        IBlindRatings.Pair memory pair,
        bytes32 clientSalt,
        uint8 rating,
        bytes32 serverSalt
    ) external reachesItsEnd changesOnlyThePair(pair) {
        _assumeOutsiders(pair);
        State memory former = _reachable(pair.clientId, pair.serverId);
        (bytes memory client, bytes memory server) = (_signature("client"), _signature("server"));
        _registry.exchange(pair, client, server, _feedback(), clientSalt, rating, serverSalt);
        State memory state = _state(pair.clientId, pair.serverId);
        _prove(former.packed == 0 && state.word == former.word);
        _proveBlind(state.packed, rating);
    }

    function check_statesAreWhereTheProofsLook(uint256 clientId, uint256 serverId) external view reachesItsEnd {
        State memory state = _state(clientId, serverId);
        uint8 number = uint8(_registry.ratingStateOf(clientId, serverId));
        _prove((number == 0) == (state.packed == 0) && (number == 2) == (state.packed == SEALED));
        _prove((number == 3) == (state.packed > SEALED));
        (uint256 pairHash, bool isFeedbackOpen) = _registry.getSealedPair(clientId, serverId);
        _prove(pairHash | (isFeedbackOpen ? 1 : 0) == state.word && pairHash & 1 == 0);
    }

    function check_sealedRatingIsReadAsNone(uint256 clientId, uint256 serverId) external view reachesItsEnd {
        uint8 packed = _state(clientId, serverId).packed;
        (bool hasRating, uint8 rating) = _registry.getClientRating(clientId, serverId);
        _prove((packed != 0 && packed != SEALED) || (!hasRating && rating == 0));
    }

    /// @dev Excludes wallets that are contracts of the proof, whose code would run.
    function _assumeOutsiders(IBlindRatings.Pair memory pair) private view {
        address[2] memory sides = [pair.client, pair.server];
        for (uint256 i = 0; i < 2; ++i) {
            VM.assume(sides[i] != address(_registry) && sides[i] != address(_identity) && sides[i] != address(this));
        }
    }

    /// @dev Returns the state of a client and a server before a call: a stored pair has a byte that is not free.
    function _reachable(uint256 clientId, uint256 serverId) private view returns (State memory state) {
        state = _state(clientId, serverId);
        VM.assume(state.word == 0 || state.packed >= SEALED);
    }

    /// @dev Returns the state of a client and a server.
    function _state(uint256 clientId, uint256 serverId) private view returns (State memory state) {
        uint256 page = uint256(_word(CLIENT_RATINGS_SLOT, clientId >> 5, serverId));
        state = State(uint8(page >> ((clientId & 31) << 3)), uint256(_word(SEALED_PAIRS_SLOT, clientId, serverId)));
    }

    function _word(uint256 slot, uint256 key, uint256 serverId) private view returns (bytes32 word) {
        return VM.load(address(_registry), keccak256(abi.encode(key, keccak256(abi.encode(serverId, slot)))));
    }

    function _signature(string memory side) private view returns (bytes memory signature) {
        bytes32 r = SVM.createBytes32(string.concat(side, " r"));
        bytes32 s = SVM.createBytes32(string.concat(side, " s"));
        return abi.encodePacked(r, s, uint8(SVM.createUint(8, string.concat(side, " v"))));
    }

    function _feedback() private pure returns (IBlindRatings.BlindFeedback memory feedback) {
        (feedback.value, feedback.tag1, feedback.feedbackURI) = (87, "tag", "ipfs://feedback");
    }

    function _hash(IBlindRatings.Pair memory pair) private pure returns (uint256 pairHash) {
        return uint256(keccak256(abi.encode(pair))) & ~uint256(1);
    }

    /// @dev Asserts that a byte holds this rating, blind.
    function _proveBlind(uint8 packed, uint8 rating) private pure {
        _prove(rating <= MAX_RATING && packed == SEALED + 1 + rating);
    }
}
