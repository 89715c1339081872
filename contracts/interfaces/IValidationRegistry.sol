// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Validation registry of ERC-8004 (January 2026)
/// @notice An agent asks a validator to check its work, and the validator responds with a number from 0 to 100. The
/// work and the check take place off chain; the request's hash and URI commit to them.
/// @dev A validation can be requested by the accounts that may act for the agent in the identity registry: its owner,
/// an operator approved for all of the owner's tokens, and the address approved for the token. The revert strings are
/// those of the deployed registries, because clients compare them. `getIdentityRegistry()` belongs to the same
/// interface and comes from `IdentityBound`.
///
/// WARNING: the agent's side chooses its validators, and may choose itself. A response is only as trustworthy as its
/// validator, so pass the validators that you trust to `getSummary`.
///
/// Sample:
/// ```
/// registry.validationRequest(validator, agentId, "ipfs://request", requestHash); // as the agent's owner
/// registry.validationResponse(requestHash, 100, "ipfs://evidence", evidenceHash, "hard-finality"); // as `validator`
/// (uint64 count, uint8 average) = registry.getSummary(agentId, trustedValidators, "hard-finality");
/// ```
interface IValidationRegistry {
    /// @notice Emitted when a validation is requested.
    /// @param validatorAddress The validator.
    /// @param agentId The agent.
    /// @param requestURI The URI of the request's data.
    /// @param requestHash The hash that identifies the request.
    event ValidationRequest(
        address indexed validatorAddress,
        uint256 indexed agentId,
        string requestURI,
        bytes32 indexed requestHash
    );

    /// @notice Emitted when a validator responds to a request, for the first time or again.
    /// @param validatorAddress The validator.
    /// @param agentId The agent.
    /// @param requestHash The request.
    /// @param response The result, 0 to 100.
    /// @param responseURI The URI of the evidence; empty if there is none.
    /// @param responseHash The hash of the evidence; zero if there is none.
    /// @param tag The validator's own category; may be empty.
    event ValidationResponse(
        address indexed validatorAddress,
        uint256 indexed agentId,
        bytes32 indexed requestHash,
        uint8 response,
        string responseURI,
        bytes32 responseHash,
        string tag
    );

    /// @notice Requests a validation of an agent's work.
    /// @dev Can only be called by the agent's owner, an operator, or the approved address. Reverts with the first
    /// applicable error: "bad validator" for the zero address, "exists" for a hash that is in use, ERC-6093's
    /// `ERC721NonexistentToken(agentId)` for an unknown agent, "Not authorized". The validator may be anyone, including
    /// the caller.
    /// WARNING: a hash belongs to whoever uses it first. See `docs/security.md` for the attacks that follow from this.
    /// @param validatorAddress The validator, which alone may respond.
    /// @param agentId The agent.
    /// @param requestURI The URI of the request's data, of any length; emitted, but not stored.
    /// @param requestHash The keccak-256 hash of the request's data; every value is allowed, including zero.
    function validationRequest(
        address validatorAddress,
        uint256 agentId,
        string calldata requestURI,
        bytes32 requestHash
    ) external;

    /// @notice Responds to a request.
    /// @dev Can only be called by the validator of the request, any number of times; the latest response counts.
    /// Reverts with the first applicable error: "unknown" for an unused hash, "not validator", "resp>100".
    /// @param requestHash The request.
    /// @param response The result: 0 means failed, 100 means passed; values in between are allowed.
    /// @param responseURI The URI of the evidence, of any length; emitted, but not stored.
    /// @param responseHash The hash of the evidence; zero if there is none.
    /// @param tag The validator's own category, of any length; may be empty.
    function validationResponse(
        bytes32 requestHash,
        uint8 response,
        string calldata responseURI,
        bytes32 responseHash,
        string calldata tag
    ) external;

    /// @notice Returns a request and its latest response.
    /// @dev Reverts with "unknown" for an unused hash. For a request without a response, the response and the response
    /// hash are 0, and the tag is empty. An actual response can have the same values, so this view cannot distinguish
    /// the two cases.
    /// @param requestHash The request.
    /// @return validatorAddress The validator.
    /// @return agentId The agent.
    /// @return response The latest response, 0 to 100; 0 if there is none.
    /// @return responseHash The hash of the evidence.
    /// @return tag The tag of the response.
    /// @return lastUpdate The time of the latest response, as a Unix timestamp; the time of the request if there is no
    /// response.
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
        );

    /// @notice Returns the number and the average of the latest responses for an agent.
    /// @dev Each request counts once, with its latest response, if that response has the tag and its validator is
    /// listed. Requests without a response do not count. The count for an unknown agent is 0. The cost grows with the
    /// number of the agent's requests: one storage read (about 2,600 gas) for each, and at most 100 gas more per listed
    /// validator for each request that has a response.
    /// @param agentId The agent.
    /// @param validatorAddresses The validators that count; duplicates count once; empty for all validators.
    /// @param tag The tag that counts, compared byte by byte; empty for all tags.
    /// @return count The number of counted responses.
    /// @return averageResponse Their average, rounded down; 0 if the count is 0.
    function getSummary(
        uint256 agentId,
        address[] calldata validatorAddresses,
        string calldata tag
    ) external view returns (uint64 count, uint8 averageResponse);

    /// @notice Returns all requests for an agent, with or without a response.
    /// @dev The cost grows with the number of requests: about 2,300 gas for each.
    /// @param agentId The agent.
    /// @return requestHashes The requests, oldest first; empty for an unknown agent.
    function getAgentValidations(uint256 agentId) external view returns (bytes32[] memory requestHashes);

    /// @notice Returns all requests for a validator, with or without a response.
    /// @dev The cost grows with the number of requests: about 4,700 gas for each.
    /// WARNING: anyone with an agent can add to this list. Only the validator should use it.
    /// @param validatorAddress The validator.
    /// @return requestHashes The requests, oldest first.
    function getValidatorRequests(address validatorAddress) external view returns (bytes32[] memory requestHashes);

    /// @notice Returns the version of the ERC-8004 interface that this registry implements.
    /// @return version "2.0.0".
    function getVersion() external pure returns (string memory version);
}
