// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {EIP712} from "solady/src/utils/EIP712.sol";
import {IAuthorizedReputationRegistry} from "../interfaces/IAuthorizedReputationRegistry.sol";
import {IIdentityRegistry} from "../interfaces/IIdentityRegistry.sol";
import {IdentityBound} from "../base/IdentityBound.sol";
import {Signatures} from "../libraries/Signatures.sol";

/// @title Reputation registry for feedback that the agent's owner authorises
/// @notice Immutable: it has no owner and no proxy, and cannot be paused. The manual is
/// `IAuthorizedReputationRegistry`.
contract AuthorizedReputationRegistry is IdentityBound, EIP712, ERC165, IAuthorizedReputationRegistry {
    /// @dev The two tags of a feedback entry.
    struct TagPair {
        bytes32 tag1;
        bytes32 tag2;
    }

    /// @notice The highest score.
    uint8 public constant MAX_SCORE = 100;

    bytes32 private constant FEEDBACK_AUTH_TYPEHASH = keccak256(
        "FeedbackAuth(uint256 agentId,address clientAddress,uint64 indexLimit,uint256 expiry,uint256 chainId)"
    );

    /// @dev The length of the five fields before the signature in `feedbackAuth`, in bytes.
    uint256 private constant FIELDS_LENGTH = 5 * 32;

    /// @dev The length of an ECDSA signature, in bytes.
    uint256 private constant ECDSA_LENGTH = 65;

    /// @dev The number of 48-bit numbers in a page of a client's record.
    uint256 private constant PAGE_SIZE = 5;

    /// @dev The number of an agent's feedback entries, and the sum of their scores:
    /// ```
    ///   255                     64 63       0
    ///   |  sum of the scores      |  count  |
    /// ```
    mapping(uint256 agentId => uint256 word) private _summaries;

    /// @dev An agent's feedback, one word per entry:
    /// ```
    ///   255      96 95    88 87        48 47             0
    ///   |  client  |  score  |  timestamp  |  tag pair's id |
    /// ```
    /// The client is never zero, so a stored word is never zero.
    mapping(uint256 agentId => mapping(uint256 position => uint256 word)) private _feedback;

    /// @dev One client's record for an agent: 48-bit numbers, five per page, the first one in the lowest bits. Number 0
    /// is the client's index, which is the number of its feedback entries. Number `n` is the position of its `n`-th
    /// entry:
    /// ```
    ///           255      240 239   192 191   144 143    96 95     48 47      0
    ///   page 0  |  unused   |   4th   |   3rd   |   2nd   |   1st   |  index  |
    ///   page 1  |  unused   |   9th   |   8th   |   7th   |   6th   |   5th   |
    /// ```
    /// The first four positions therefore need no additional word.
    mapping(uint256 agentId => mapping(address client => mapping(uint256 page => uint256 word))) private _records;

    /// @dev The id of each pair of tags, by the hash of both; 0 if the pair is not stored. Ids and positions have 48
    /// bits. Each costs more than 60,000 gas, so 2^48 of them cost over 1e19 gas, which takes centuries at 1e9 gas per
    /// second.
    mapping(bytes32 pairHash => uint256 id) private _tagPairIds;

    /// @dev Pairs of tags by id. The pair of two empty tags has the id 0, and is not stored.
    mapping(uint256 id => TagPair pair) private _tagPairs;

    /// @dev The id of the next pair of tags. It starts at 1, because 0 means two empty tags.
    uint256 private _nextTagPairId = 1;

    /// @param identityRegistry The identity registry of the agents.
    constructor(address identityRegistry) IdentityBound(identityRegistry) {}

    /// @inheritdoc IAuthorizedReputationRegistry
    function giveFeedback(
        uint256 agentId,
        uint8 score,
        bytes32 tag1,
        bytes32 tag2,
        string calldata fileuri,
        bytes32 filehash,
        bytes calldata feedbackAuth
    ) external {
        require(score <= MAX_SCORE, ScoreTooHigh(score, MAX_SCORE));
        mapping(uint256 page => uint256 word) storage record = _records[agentId][msg.sender];
        uint256 firstPage = record[0];
        _requireAuthorized(agentId, uint48(firstPage), feedbackAuth);

        uint256 summary = _summaries[agentId];
        uint256 position = uint64(summary);
        _summaries[agentId] = summary + (uint256(score) << 64) + 1;
        _feedback[agentId][position] =
            (uint256(uint160(msg.sender)) << 96) |
            (uint256(score) << 88) |
            (uint256(uint40(block.timestamp)) << 48) |
            _tagPairId(tag1, tag2);
        _addToRecord(record, firstPage, position);
        emit NewFeedback(agentId, msg.sender, score, tag1, tag2, fileuri, filehash);
    }

    /// @inheritdoc IAuthorizedReputationRegistry
    function getSummary(uint256 agentId) external view returns (uint64 count, uint8 averageScore) {
        uint256 summary = _summaries[agentId];
        count = uint64(summary);
        if (count != 0) averageScore = uint8((summary >> 64) / count);
    }

    /// @inheritdoc IAuthorizedReputationRegistry
    function getFeedback(uint256 agentId, uint64 position) external view returns (Feedback memory feedback) {
        feedback = _read(agentId, position);
        // `require` would evaluate the error's arguments, and so read the count, even for existing feedback.
        if (feedback.clientAddress == address(0)) {
            revert PositionOutOfBounds(agentId, position, getFeedbackCount(agentId));
        }
    }

    /// @inheritdoc IAuthorizedReputationRegistry
    function getFeedbackPage(
        uint256 agentId,
        uint256 offset,
        uint256 limit
    ) external view returns (Feedback[] memory page) {
        page = new Feedback[](_pageLength(getFeedbackCount(agentId), offset, limit));
        for (uint256 i = 0; i < page.length; ++i) {
            page[i] = _read(agentId, offset + i);
        }
    }

    /// @inheritdoc IAuthorizedReputationRegistry
    function getClientFeedbackPage(
        uint256 agentId,
        address clientAddress,
        uint256 offset,
        uint256 limit
    ) external view returns (Feedback[] memory page) {
        page = new Feedback[](_pageLength(getLastIndex(agentId, clientAddress), offset, limit));
        for (uint256 i = 0; i < page.length; ++i) {
            page[i] = _read(agentId, _recorded(agentId, clientAddress, offset + i + 1));
        }
    }

    /// @inheritdoc IAuthorizedReputationRegistry
    function hashFeedbackAuth(FeedbackAuth calldata auth) external view returns (bytes32 digest) {
        return _hashTypedData(keccak256(abi.encode(FEEDBACK_AUTH_TYPEHASH, auth)));
    }

    /// @inheritdoc IAuthorizedReputationRegistry
    function getLastIndex(uint256 agentId, address clientAddress) public view returns (uint64 lastIndex) {
        return uint64(_recorded(agentId, clientAddress, 0));
    }

    /// @inheritdoc IAuthorizedReputationRegistry
    function getFeedbackCount(uint256 agentId) public view returns (uint64 count) {
        return uint64(_summaries[agentId]);
    }

    /// @inheritdoc ERC165
    function supportsInterface(bytes4 interfaceId) public view override returns (bool supported) {
        return interfaceId == type(IAuthorizedReputationRegistry).interfaceId || super.supportsInterface(interfaceId);
    }

    /// @inheritdoc EIP712
    function _domainNameAndVersion() internal pure override returns (string memory, string memory) {
        return ("AuthorizedReputationRegistry", "1");
    }

    /// @dev Adds the position of a new feedback entry to a client's record. `firstPage` is its page 0, as stored.
    function _addToRecord(
        mapping(uint256 page => uint256 word) storage record,
        uint256 firstPage,
        uint256 position
    ) private {
        ++firstPage; // the index is in its lowest bits
        (uint256 page, uint256 shift) = _placeInRecord(uint48(firstPage));
        if (page == 0) {
            record[0] = firstPage | (position << shift);
        } else {
            record[0] = firstPage;
            record[page] |= position << shift;
        }
    }

    /// @dev Returns the id of a pair of tags, and stores the pair if it is new.
    function _tagPairId(bytes32 tag1, bytes32 tag2) private returns (uint256 id) {
        if (tag1 | tag2 == 0) return 0;
        bytes32 pairHash = keccak256(abi.encode(tag1, tag2));
        id = _tagPairIds[pairHash];
        if (id != 0) return id;
        id = _nextTagPairId;
        _nextTagPairId = id + 1;
        _tagPairIds[pairHash] = id;
        _tagPairs[id] = TagPair(tag1, tag2);
    }

    /// @dev Reverts with the errors of `giveFeedback` unless `feedbackAuth` authorises the caller to give feedback
    /// number `lastIndex + 1`. Reads the fields as plain words, because Solidity's decoder reverts without a reason if
    /// a word is out of range.
    function _requireAuthorized(uint256 agentId, uint64 lastIndex, bytes calldata feedbackAuth) private view {
        require(feedbackAuth.length >= FIELDS_LENGTH, FeedbackAuthTooShort(feedbackAuth.length, FIELDS_LENGTH));
        bytes calldata fields = feedbackAuth[:FIELDS_LENGTH];
        (uint256 authorizedAgentId, uint256 client, uint256 indexLimit, uint256 expiry, uint256 chainId) = abi.decode(
            fields,
            (uint256, uint256, uint256, uint256, uint256)
        );
        require(client <= type(uint160).max, ClientAddressOutOfRange(client));
        require(indexLimit <= type(uint64).max, IndexLimitOutOfRange(indexLimit));
        require(agentId == authorizedAgentId, AgentNotAuthorized(agentId, authorizedAgentId));
        require(msg.sender == address(uint160(client)), ClientNotAuthorized(msg.sender, address(uint160(client))));
        require(chainId == block.chainid, ChainNotAuthorized(block.chainid, chainId));
        require(block.timestamp <= expiry, FeedbackAuthExpired(expiry, block.timestamp));
        require(lastIndex < indexLimit, IndexLimitReached(lastIndex, uint64(indexLimit)));

        address owner = IERC721(IDENTITY_REGISTRY).ownerOf(agentId);
        require(
            !IIdentityRegistry(IDENTITY_REGISTRY).isAuthorizedOrOwner(msg.sender, agentId),
            SelfFeedbackNotAllowed(agentId, msg.sender)
        );
        // The words are in range, so they equal the struct's EIP-712 encoding.
        bytes32 digest = _hashTypedData(keccak256(abi.encodePacked(FEEDBACK_AUTH_TYPEHASH, fields)));
        bytes calldata signature = feedbackAuth[FIELDS_LENGTH:];
        if (!Signatures.isSignedBy(owner, digest, signature)) _revertForSignature(owner, digest, signature);
    }

    /// @dev Returns number `n` of a client's record.
    function _recorded(uint256 agentId, address client, uint256 n) private view returns (uint256 number) {
        (uint256 page, uint256 shift) = _placeInRecord(n);
        return uint48(_records[agentId][client][page] >> shift);
    }

    /// @dev Returns the feedback entry at a position; its client is the zero address if the position is empty.
    function _read(uint256 agentId, uint256 position) private view returns (Feedback memory feedback) {
        uint256 word = _feedback[agentId][position];
        TagPair memory pair = _tagPairs[uint48(word)];
        return
            Feedback({
                position: uint64(position),
                clientAddress: address(uint160(word >> 96)),
                score: uint8(word >> 88),
                tag1: pair.tag1,
                tag2: pair.tag2,
                timestamp: uint40(word >> 48)
            });
    }

    /// @dev Reverts with the reason why the signature is not a valid one by the owner.
    function _revertForSignature(address owner, bytes32 digest, bytes calldata signature) private view {
        require(owner.code.length == 0, SignatureRefused(owner, digest));
        (address signer, ECDSA.RecoverError err, bytes32 s) = ECDSA.tryRecoverCalldata(digest, signature);
        require(
            err != ECDSA.RecoverError.InvalidSignatureLength,
            SignatureLengthInvalid(signature.length, ECDSA_LENGTH)
        );
        require(err != ECDSA.RecoverError.InvalidSignatureS, SignatureMalleable(s));
        require(err != ECDSA.RecoverError.InvalidSignature, SignatureUnrecoverable(digest));
        revert SignerNotOwner(signer, owner);
    }

    /// @dev Returns the location of number `n` in a client's record: its page, and its shift in bits.
    function _placeInRecord(uint256 n) private pure returns (uint256 page, uint256 shift) {
        return (n / PAGE_SIZE, (n % PAGE_SIZE) * 48);
    }

    /// @dev Returns the number of `count` entries after the first `offset`, at most `limit`.
    function _pageLength(uint256 count, uint256 offset, uint256 limit) private pure returns (uint256 length) {
        return Math.min(Math.saturatingSub(count, offset), limit);
    }
}
