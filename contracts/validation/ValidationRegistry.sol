// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {LibString} from "solady/src/utils/LibString.sol";
import {IIdentityRegistry} from "../interfaces/IIdentityRegistry.sol";
import {IValidationRegistry} from "../interfaces/IValidationRegistry.sol";
import {IdentityBound} from "../base/IdentityBound.sol";
import {RevertReasons} from "../libraries/RevertReasons.sol";

/// @title Validation registry of ERC-8004 (January 2026)
/// @notice Immutable: it has no owner and no proxy, and cannot be paused. The manual is `IValidationRegistry`.
contract ValidationRegistry is IdentityBound, ERC165, IValidationRegistry {
    using LibString for string;
    using LibString for LibString.StringStorage;

    /// @dev A request. `getSummary` reads only its first word:
    /// ```
    ///             255    168   167                    160   159                  0
    ///   summary  |  tag id  |  0, or the answer plus one  |  validator's address  |
    /// ```
    struct Request {
        uint256 summary;
        bytes32 requestHash;
        bytes32 responseHash;
    }

    /// @dev The highest response.
    uint256 private constant MAX_RESPONSE = 100;

    uint256 private constant ANSWER_OFFSET = 160;
    uint256 private constant TAG_OFFSET = 168;

    /// @dev A position identifies a request by the id of its agent and its number among that agent's requests, counted
    /// from 0. 2^40 requests would take more than 10^16 gas, so the number is not checked, but the id is.
    /// ```
    ///   103       40   39      0
    ///  |  agent's id  |  number  |
    /// ```
    uint256 private constant NUMBER_BITS = 40;
    uint256 private constant POSITION_BITS = 104;

    uint256 private constant LAST_UPDATE_OFFSET = 208;

    /// @dev The place of a request by its hash; 0 if the hash is unused. The requests of one validator form a linked
    /// list from the last to the first. Compared to an array, the list saves one new word (22,100 gas) per request.
    /// ```
    ///   255  248   247       208   207                                  104   103      0
    ///  |  unused  |  last update  |  position of the validator's previous  |  position  |
    /// ```
    mapping(bytes32 requestHash => uint256 place) private _places;

    /// @dev The requests for an agent, by their number.
    mapping(uint256 agentId => mapping(uint256 number => Request request)) private _requests;

    /// @dev The number of requests for an agent.
    mapping(uint256 agentId => uint256 count) private _requestCounts;

    /// @dev The last request for a validator, and the number of its requests:
    /// ```
    ///   255                104   103                  0
    ///  |  number of requests  |  position of the last  |
    /// ```
    mapping(address validator => uint256 tail) private _validatorTails;

    /// @dev Every tag that has been used, stored once under its id (see `_tagIdOf`).
    mapping(uint256 tagId => LibString.StringStorage tag) private _tags;

    /// @param identityRegistry The identity registry: a contract, not an account with an EIP-7702 delegation.
    constructor(address identityRegistry) IdentityBound(identityRegistry) {}

    /// @inheritdoc IValidationRegistry
    function validationRequest(
        address validatorAddress,
        uint256 agentId,
        string calldata requestURI,
        bytes32 requestHash
    ) external {
        require(validatorAddress != address(0), RevertReasons.BAD_VALIDATOR);
        // A place contains a time; the comparison with 0 only checks whether the place was written.
        // slither-disable-next-line incorrect-equality
        require(_places[requestHash] == 0, RevertReasons.EXISTS);
        require(
            IIdentityRegistry(IDENTITY_REGISTRY).isAuthorizedOrOwner(msg.sender, agentId),
            RevertReasons.NOT_AUTHORIZED
        );

        uint256 number = _requestCounts[agentId];
        uint256 position = (uint256(SafeCast.toUint64(agentId)) << NUMBER_BITS) | number;
        uint256 tail = _validatorTails[validatorAddress];
        uint256 validatorCount = (tail >> POSITION_BITS) + 1;
        _requestCounts[agentId] = number + 1;
        _validatorTails[validatorAddress] = (validatorCount << POSITION_BITS) | position;
        _places[requestHash] = _place(position, uint104(tail));
        Request storage request = _requests[agentId][number];
        request.summary = uint160(validatorAddress);
        request.requestHash = requestHash;
        emit ValidationRequest(validatorAddress, agentId, requestURI, requestHash);
    }

    /// @inheritdoc IValidationRegistry
    function validationResponse(
        bytes32 requestHash,
        uint8 response,
        string calldata responseURI,
        bytes32 responseHash,
        string calldata tag
    ) external {
        (uint256 place, uint256 agentId, Request storage request) = _find(requestHash);
        require(msg.sender == address(uint160(request.summary)), RevertReasons.NOT_VALIDATOR);
        require(response <= MAX_RESPONSE, RevertReasons.RESPONSE_ABOVE_100);

        uint256 tagId = _tagIdOf(tag);
        if (tagId != 0 && _tags[tagId].isEmpty()) _tags[tagId].setCalldata(tag);
        uint256 answer = uint256(response) + 1;
        request.summary = uint160(msg.sender) | (answer << ANSWER_OFFSET) | (tagId << TAG_OFFSET);
        request.responseHash = responseHash;
        _places[requestHash] = _place(uint104(place), uint104(place >> POSITION_BITS));
        emit ValidationResponse(msg.sender, agentId, requestHash, response, responseURI, responseHash, tag);
    }

    /// @inheritdoc IValidationRegistry
    function getValidationStatus(
        bytes32 requestHash
    )
        external
        view
        returns (
            address validatorAddress,
            uint256 agentId,
            uint8 response,
            bytes32 responseHash,
            string memory tag,
            uint256 lastUpdate
        )
    {
        uint256 place;
        Request storage request;
        (place, agentId, request) = _find(requestHash);
        uint256 summary = request.summary;
        uint8 answer = uint8(summary >> ANSWER_OFFSET);
        return (
            address(uint160(summary)),
            agentId,
            answer == 0 ? 0 : answer - 1,
            request.responseHash,
            _tags[summary >> TAG_OFFSET].get(),
            place >> LAST_UPDATE_OFFSET
        );
    }

    /// @inheritdoc IValidationRegistry
    function getSummary(
        uint256 agentId,
        address[] calldata validatorAddresses,
        string calldata tag
    ) external view returns (uint64 count, uint8 averageResponse) {
        uint256 wantedTagId = _tagIdOf(tag);
        uint256 sum = 0;
        uint256 requestCount = _requestCounts[agentId];
        mapping(uint256 number => Request request) storage requests = _requests[agentId];
        for (uint256 number = 0; number < requestCount; ++number) {
            uint256 summary = requests[number].summary;
            uint8 answer = uint8(summary >> ANSWER_OFFSET);
            if (answer == 0) continue;
            if (wantedTagId != 0 && wantedTagId != summary >> TAG_OFFSET) continue;
            if (!_isWanted(address(uint160(summary)), validatorAddresses)) continue;
            sum += answer - 1;
            ++count;
        }
        if (count != 0) averageResponse = uint8(sum / count);
    }

    /// @inheritdoc IValidationRegistry
    function getAgentValidations(uint256 agentId) external view returns (bytes32[] memory requestHashes) {
        requestHashes = new bytes32[](_requestCounts[agentId]);
        mapping(uint256 number => Request request) storage requests = _requests[agentId];
        for (uint256 number = 0; number < requestHashes.length; ++number) {
            requestHashes[number] = requests[number].requestHash;
        }
    }

    /// @inheritdoc IValidationRegistry
    function getValidatorRequests(address validatorAddress) external view returns (bytes32[] memory requestHashes) {
        uint256 tail = _validatorTails[validatorAddress];
        requestHashes = new bytes32[](tail >> POSITION_BITS);
        uint256 position = uint104(tail);
        for (uint256 left = requestHashes.length; left > 0; --left) {
            bytes32 requestHash = _requestAt(position).requestHash;
            requestHashes[left - 1] = requestHash;
            position = uint104(_places[requestHash] >> POSITION_BITS);
        }
    }

    /// @inheritdoc IValidationRegistry
    function getVersion() external pure returns (string memory version) {
        return "2.0.0";
    }

    /// @inheritdoc ERC165
    function supportsInterface(bytes4 interfaceId) public view override returns (bool supported) {
        return interfaceId == type(IValidationRegistry).interfaceId || super.supportsInterface(interfaceId);
    }

    /// @dev Returns a request by its hash. Reverts with "unknown" for an unused hash.
    function _find(bytes32 requestHash) private view returns (uint256 place, uint256 agentId, Request storage request) {
        place = _places[requestHash];
        require(place != 0, RevertReasons.UNKNOWN);
        return (place, uint104(place) >> NUMBER_BITS, _requestAt(uint104(place)));
    }

    /// @dev Returns the id of a tag: 0 for the empty tag, the id in `_tags` for a stored tag, or an unused id for a new
    /// tag. The id is derived from the tag's hash instead of a counter, so a new tag takes one word of storage instead
    /// of three. The lowest bit is set, because 0 is the empty tag. If two tags have the same 87 bits, the later one
    /// gets the next unused id. It takes 2^44 hashes to find such a pair, and 2^87 to find a match for a given tag, so
    /// nobody can make the search long.
    function _tagIdOf(string calldata tag) private view returns (uint256 tagId) {
        if (bytes(tag).length == 0) return 0;
        tagId = uint88(uint256(keccak256(bytes(tag)))) | 1;
        while (!_tags[tagId].isEmpty() && !_tags[tagId].get().eq(tag)) {
            tagId = uint88(tagId + 2);
        }
    }

    /// @dev Returns the word of `_places` for a request that is being made or answered.
    function _place(uint256 position, uint256 previousPosition) private view returns (uint256 place) {
        return (block.timestamp << LAST_UPDATE_OFFSET) | (previousPosition << POSITION_BITS) | position;
    }

    /// @dev Returns the request at a position.
    function _requestAt(uint256 position) private view returns (Request storage request) {
        return _requests[position >> NUMBER_BITS][uint40(position)];
    }

    /// @dev Returns true if the validator is in the list, or if the list is empty.
    function _isWanted(address validator, address[] calldata wanted) private pure returns (bool) {
        if (wanted.length == 0) return true;
        for (uint256 i = 0; i < wanted.length; ++i) {
            if (validator == wanted[i]) return true;
        }
        return false;
    }
}
