// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {IBlindRatings} from "../interfaces/IBlindRatings.sol";
import {Signatures} from "../libraries/Signatures.sol";
import {BidirectionalRatings} from "./BidirectionalRatings.sol";
import {ReputationRegistry} from "./ReputationRegistry.sol";

/// @title Blind ratings of servers and clients
/// @notice The manual is `IBlindRatings`. It declares no storage: the mapping is in the registry, after the older
/// variables.
abstract contract BlindRatings is ReputationRegistry, BidirectionalRatings, IBlindRatings {
    bytes32 private constant SEALED_FEEDBACK_TYPEHASH = keccak256(
        "SealedFeedback(uint256 clientId,address client,uint256 serverId,address server,"
        "bytes32 interaction,bytes32 seal,uint256 deadline)"
    );

    bytes32 private constant SEALED_RATING_TYPEHASH = keccak256(
        "SealedRating(uint256 clientId,address client,uint256 serverId,address server,"
        "bytes32 interaction,bytes32 seal,uint256 deadline)"
    );

    /// @dev The bit of a word of `_pairs` that is set if the feedback is open:
    /// ```
    ///   255                                     1 | 0
    ///   keccak256(abi.encode(pair)), bits 255 to 1 | feedback is open
    /// ```
    uint256 private constant FEEDBACK_IS_OPEN = 1;

    /// @dev The size of a pair, in bytes.
    uint256 private constant PAIR_SIZE = 9 * 32;

    /// @inheritdoc IBlindRatings
    function seal(Pair calldata pair, bytes calldata clientSignature, bytes calldata serverSignature) external {
        _requireEnvelopes(pair, clientSignature, serverSignature);
        _reserve(pair.clientId, pair.serverId);
        _pairs()[pair.serverId][pair.clientId] = _hashPair(pair);
        emit RatingsSealed(pair.clientId, pair.serverId, pair.interaction);
    }

    /// @inheritdoc IBlindRatings
    function open(
        Pair calldata pair,
        BlindFeedback calldata feedback,
        bytes32 clientSalt,
        uint8 rating,
        bytes32 serverSalt
    ) external {
        _requirePair(pair, 0);
        delete _pairs()[pair.serverId][pair.clientId];
        _openBoth(pair, feedback, clientSalt, rating, serverSalt, true);
    }

    /// @inheritdoc IBlindRatings
    function openFeedback(Pair calldata pair, BlindFeedback calldata feedback, bytes32 clientSalt) external {
        uint256 pairHash = _requirePair(pair, 0);
        _requireFeedback(pair, feedback, clientSalt);
        _pairs()[pair.serverId][pair.clientId] = pairHash | FEEDBACK_IS_OPEN;
        _give(pair, feedback);
    }

    /// @inheritdoc IBlindRatings
    function openRating(Pair calldata pair, uint8 rating, bytes32 serverSalt) external {
        _requirePair(pair, FEEDBACK_IS_OPEN);
        _requireRating(pair, rating, serverSalt);
        _writeBlind(pair.clientId, pair.serverId, rating, true);
        emit RatingsOpened(pair.clientId, pair.serverId, pair.interaction, pair.client, 0);
    }

    /// @inheritdoc IBlindRatings
    function exchange(
        Pair calldata pair,
        bytes calldata clientSignature,
        bytes calldata serverSignature,
        BlindFeedback calldata feedback,
        bytes32 clientSalt,
        uint8 rating,
        bytes32 serverSalt
    ) external {
        _requireEnvelopes(pair, clientSignature, serverSignature);
        _openBoth(pair, feedback, clientSalt, rating, serverSalt, false);
    }

    /// @inheritdoc IBlindRatings
    function ratingStateOf(uint256 agentClientId, uint256 agentServerId) external view returns (RatingState state) {
        return _stateOf(agentClientId, agentServerId);
    }

    /// @inheritdoc IBlindRatings
    function getSealedPair(
        uint256 agentClientId,
        uint256 agentServerId
    ) external view returns (uint256 pairHash, bool isFeedbackOpen) {
        uint256 word = _pairs()[agentServerId][agentClientId];
        return (word & ~FEEDBACK_IS_OPEN, word & FEEDBACK_IS_OPEN != 0);
    }

    /// @dev Returns the sealed pairs.
    function _pairs()
        internal
        view
        virtual
        returns (mapping(uint256 serverId => mapping(uint256 clientId => uint256 word)) storage pairs);

    /// @dev Opens both ratings. The rating takes its reserved slot, or an unused one if nothing was sealed before.
    function _openBoth(
        Pair calldata pair,
        BlindFeedback calldata feedback,
        bytes32 clientSalt,
        uint8 rating,
        bytes32 serverSalt,
        bool wasSealed
    ) private {
        _requireFeedback(pair, feedback, clientSalt);
        _requireRating(pair, rating, serverSalt);
        _writeBlind(pair.clientId, pair.serverId, rating, wasSealed);
        _give(pair, feedback);
    }

    /// @dev Stores the client's feedback under its next index. Reverts with the errors of `giveFeedback`.
    function _give(Pair calldata pair, BlindFeedback calldata feedback) private {
        uint64 index = _accept(
            pair.serverId,
            pair.client,
            feedback.value,
            feedback.valueDecimals,
            feedback.tag1,
            feedback.tag2
        );
        emit NewFeedback(
            pair.serverId,
            pair.client,
            index,
            feedback.value,
            feedback.valueDecimals,
            feedback.tag1,
            feedback.tag1,
            feedback.tag2,
            feedback.endpoint,
            feedback.feedbackURI,
            feedback.feedbackHash
        );
        emit RatingsOpened(pair.clientId, pair.serverId, pair.interaction, pair.client, index);
    }

    /// @dev Reverts unless both sides signed their envelopes and both envelopes are currently valid.
    function _requireEnvelopes(
        Pair calldata pair,
        bytes calldata clientSignature,
        bytes calldata serverSignature
    ) private view {
        uint256 deadline = Math.min(pair.clientDeadline, pair.serverDeadline);
        require(block.timestamp <= deadline, EnvelopeExpired(deadline, block.timestamp));
        uint256 found = _agentOf(pair.server);
        // The primary agent of an account without agents is 0, so the id 0 needs a separate check.
        require(found == pair.serverId && found != 0, UnexpectedRater(pair.serverId, found));
        found = _agentOf(pair.client);
        require(found == pair.clientId && found != 0, UnexpectedClient(pair.clientId, found));
        require(pair.clientId != pair.serverId, CannotRateSelf());
        _requireSigned(
            SEALED_FEEDBACK_TYPEHASH,
            pair,
            pair.client,
            pair.clientSeal,
            pair.clientDeadline,
            clientSignature
        );
        _requireSigned(
            SEALED_RATING_TYPEHASH,
            pair,
            pair.server,
            pair.serverSeal,
            pair.serverDeadline,
            serverSignature
        );
    }

    /// @dev Reverts unless an account signed its envelope.
    function _requireSigned(
        bytes32 typehash,
        Pair calldata pair,
        address signer,
        bytes32 sealHash,
        uint256 deadline,
        bytes calldata signature
    ) private view {
        bytes32 structHash = keccak256(
            abi.encode(
                typehash,
                pair.clientId,
                pair.client,
                pair.serverId,
                pair.server,
                pair.interaction,
                sealHash,
                deadline
            )
        );
        require(Signatures.isSignedBy(signer, _hashTypedData(structHash), signature), InvalidSignature(signer));
    }

    /// @dev Returns the hash of a pair, and reverts unless the pair is stored. Ignores the bits `ignored` of the word.
    function _requirePair(Pair calldata pair, uint256 ignored) private view returns (uint256 pairHash) {
        pairHash = _hashPair(pair);
        uint256 stored = _pairs()[pair.serverId][pair.clientId];
        require(stored & ~ignored == pairHash, UnknownPair(pairHash, stored));
    }

    /// @dev Reverts unless the client sealed this feedback.
    function _requireFeedback(Pair calldata pair, BlindFeedback calldata feedback, bytes32 salt) private pure {
        _requireSeal(pair.clientSeal, keccak256(abi.encode(salt, pair.client, pair.serverId, feedback)));
    }

    /// @dev Reverts unless the server sealed this rating, and the rating is on the scale.
    function _requireRating(Pair calldata pair, uint8 rating, bytes32 salt) private pure {
        _requireSeal(pair.serverSeal, keccak256(abi.encode(salt, rating, pair.clientId, pair.serverId)));
        _requireOnScale(rating);
    }

    function _requireSeal(bytes32 sealHash, bytes32 opening) private pure {
        require(sealHash == opening, SealMismatch(sealHash, opening));
    }

    /// @dev Returns the hash of a pair, with the bit for `FEEDBACK_IS_OPEN` cleared. `seal` reads both accounts of the
    /// pair, and so rejects words that are not valid addresses.
    function _hashPair(Pair calldata pair) private pure returns (uint256 pairHash) {
        // A pair in calldata is already encoded. `abi.encode` would copy it word by word, and cost 400 gas more.
        assembly ("memory-safe") {
            let encoded := mload(0x40)
            calldatacopy(encoded, pair, PAIR_SIZE)
            pairHash := and(keccak256(encoded, PAIR_SIZE), not(FEEDBACK_IS_OPEN))
        }
    }
}
