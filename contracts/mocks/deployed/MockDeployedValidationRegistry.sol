// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {IValidationRegistry} from "../../interfaces/IValidationRegistry.sol";
import {RevertReasons} from "../../libraries/RevertReasons.sol";
import {MockDeployedRegistry} from "./MockDeployedRegistry.sol";

/// @title Stand-in for the validation registry of the deployed generation
/// @notice Its summary walks all requests of an agent, and its code can be replaced.
contract MockDeployedValidationRegistry is MockDeployedRegistry {
    struct Request {
        address validator;
        uint8 response;
        bool isAnswered;
        uint256 agentId;
        uint256 lastUpdate;
        bytes32 responseHash;
        string tag;
    }

    uint8 private constant MAX_RESPONSE = 100;

    address private _identityRegistry;
    mapping(bytes32 requestHash => Request request) private _requests;
    mapping(uint256 agentId => bytes32[] requestHashes) private _requestsOf;
    mapping(address validator => bytes32[] requestHashes) private _requestsTo;

    /// @notice Prepares a proxy.
    /// @param owner The account that can replace the code.
    /// @param identityRegistry The identity registry of the agents.
    function initialize(address owner, address identityRegistry) external initializer {
        require(identityRegistry != address(0), RevertReasons.BAD_IDENTITY);
        _transferOwnership(owner);
        _identityRegistry = identityRegistry;
    }

    /// @notice Asks a validator to check an agent's work.
    /// @param validatorAddress The validator.
    /// @param agentId The agent.
    /// @param requestURI The URI of the request.
    /// @param requestHash The hash that names it.
    function validationRequest(
        address validatorAddress,
        uint256 agentId,
        string calldata requestURI,
        bytes32 requestHash
    ) external {
        require(validatorAddress != address(0), RevertReasons.BAD_VALIDATOR);
        Request storage request = _requests[requestHash];
        require(request.validator == address(0), RevertReasons.EXISTS);
        require(_mayAct(msg.sender, agentId), RevertReasons.NOT_AUTHORIZED);

        (request.validator, request.agentId, request.lastUpdate) = (validatorAddress, agentId, block.timestamp);
        _requestsOf[agentId].push(requestHash);
        _requestsTo[validatorAddress].push(requestHash);
        emit IValidationRegistry.ValidationRequest(validatorAddress, agentId, requestURI, requestHash);
    }

    /// @notice Answers a request.
    /// @param requestHash The hash that names the request.
    /// @param response The answer, from 0 to 100.
    /// @param responseURI The URI of the answer.
    /// @param responseHash The hash of the answer.
    /// @param tag A tag.
    function validationResponse(
        bytes32 requestHash,
        uint8 response,
        string calldata responseURI,
        bytes32 responseHash,
        string calldata tag
    ) external {
        Request storage request = _requests[requestHash];
        address validator = request.validator;
        require(validator != address(0), RevertReasons.UNKNOWN);
        require(validator == msg.sender, RevertReasons.NOT_VALIDATOR);
        require(response <= MAX_RESPONSE, RevertReasons.RESPONSE_ABOVE_100);

        (request.response, request.isAnswered, request.lastUpdate) = (response, true, block.timestamp);
        (request.responseHash, request.tag) = (responseHash, tag);
        emit IValidationRegistry.ValidationResponse(
            validator,
            request.agentId,
            requestHash,
            response,
            responseURI,
            responseHash,
            tag
        );
    }

    /// @notice Returns the identity registry.
    /// @return identityRegistry Its address.
    function getIdentityRegistry() external view returns (address identityRegistry) {
        return _identityRegistry;
    }

    /// @notice Returns a request.
    /// @param requestHash The hash that names it.
    /// @return validatorAddress The validator.
    /// @return agentId The agent.
    /// @return response The last answer; 0: none.
    /// @return responseHash The hash of the answer.
    /// @return tag The tag of the answer.
    /// @return lastUpdate The time of the request or of the last answer, in seconds.
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
        Request storage r = _requests[requestHash];
        require(r.validator != address(0), RevertReasons.UNKNOWN);
        return (r.validator, r.agentId, r.response, r.responseHash, r.tag, r.lastUpdate);
    }

    /// @notice Returns the average answer of some validators.
    /// @param agentId The agent.
    /// @param validatorAddresses The validators; none: all.
    /// @param tag The tag; empty: any.
    /// @return count The number of answered requests.
    /// @return averageResponse The average.
    function getSummary(
        uint256 agentId,
        address[] calldata validatorAddresses,
        string calldata tag
    ) external view returns (uint64 count, uint8 averageResponse) {
        bytes32[] storage hashes = _requestsOf[agentId];
        uint256 sum = 0;
        for (uint256 i = 0; i < hashes.length; ++i) {
            Request storage request = _requests[hashes[i]];
            if (!request.isAnswered || !_isAmong(request.validator, validatorAddresses)) continue;
            if (bytes(tag).length != 0 && keccak256(bytes(request.tag)) != keccak256(bytes(tag))) continue;
            sum += request.response;
            ++count;
        }
        if (count != 0) averageResponse = uint8(sum / count);
    }

    /// @notice Returns the requests of an agent.
    /// @param agentId The agent.
    /// @return requestHashes Their hashes.
    function getAgentValidations(uint256 agentId) external view returns (bytes32[] memory requestHashes) {
        return _requestsOf[agentId];
    }

    /// @notice Returns the requests to a validator.
    /// @param validatorAddress The validator.
    /// @return requestHashes Their hashes.
    function getValidatorRequests(address validatorAddress) external view returns (bytes32[] memory requestHashes) {
        return _requestsTo[validatorAddress];
    }

    function _mayAct(address account, uint256 agentId) private view returns (bool allowed) {
        IERC721 token = IERC721(_identityRegistry);
        address owner = token.ownerOf(agentId);
        return account == owner || token.isApprovedForAll(owner, account) || token.getApproved(agentId) == account;
    }

    function _isAmong(address validator, address[] calldata asked) private pure returns (bool isAmong) {
        if (asked.length == 0) return true;
        for (uint256 i = 0; i < asked.length && !isAmong; ++i) isAmong = asked[i] == validator;
    }
}
