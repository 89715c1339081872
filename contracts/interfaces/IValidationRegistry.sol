// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Validation registry of ERC-8004 (January 2026)
/// @notice An agent asks a validator to check its work. The validator responds with a number from 0 to 100. The work
/// and the check are off chain; the request's hash and URI commit to them.
/// @dev The accounts that may act for an agent in the identity registry may request for it: its owner, an operator
/// approved for all of the owner's tokens, and the address approved for the token. The reason texts are those of the
/// deployed registries, because their clients compare them. `getIdentityRegistry()` belongs to the same surface and
/// comes from `IdentityBound`.
///
/// WARNING: the agent's side chooses its validators, and may choose itself. Trust a response as far as you trust its
/// validator: pass `getSummary` the validators that you trust.
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
    /// @param responseURI The URI of the evidence; empty: no evidence.
    /// @param responseHash The hash of the evidence; zero for none.
    /// @param tag The validator's own category; empty: no category.
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
    /// @dev For the agent's owner, an operator or the approved address. Reverts, in this order, with "bad validator"
    /// for the zero address, "exists" for a hash that is in use, ERC-6093's `ERC721NonexistentToken(agentId)`
    /// for an unknown agent, "Not authorized". The validator may be anybody, the caller included.
    /// WARNING: a hash belongs to whoever uses it first. See `docs/security.md` for the attacks that follow from this.
    /// @param validatorAddress The validator; only it may respond.
    /// @param agentId The agent.
    /// @param requestURI The URI of the request's data, of any length; emitted, not stored.
    /// @param requestHash The keccak-256 hash of the request's data; every value is allowed, also zero.
    function validationRequest(
        address validatorAddress,
        uint256 agentId,
        string calldata requestURI,
        bytes32 requestHash
    ) external;

    /// @notice Responds to a request.
    /// @dev For the validator of the request, any number of times; the last response counts. Reverts, in this order,
    /// with "unknown" for an unused hash, "not validator", "resp>100".
    /// @param requestHash The request.
    /// @param response The result: 0 means failed, 100 means passed; values between are allowed.
    /// @param responseURI The URI of the evidence, of any length; emitted, not stored.
    /// @param responseHash The hash of the evidence; zero for none.
    /// @param tag The validator's own category, of any length; empty: no category.
    function validationResponse(
        bytes32 requestHash,
        uint8 response,
        string calldata responseURI,
        bytes32 responseHash,
        string calldata tag
    ) external;

    /// @notice Returns a request and its last response.
    /// @dev Reverts with "unknown" for an unused hash. A request without a response returns response 0, response hash 0
    /// and an empty tag. A response can have the same values, so this view cannot tell the two apart.
    /// @param requestHash The request.
    /// @return validatorAddress The validator.
    /// @return agentId The agent.
    /// @return response The last response, 0 to 100; 0 without a response.
    /// @return responseHash Its hash of the evidence.
    /// @return tag Its tag.
    /// @return lastUpdate Its time, in Unix time; the time of the request without a response.
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

    /// @notice Returns the number and the average of an agent's last responses.
    /// @dev Counts a request once, with its last response, if the response has the tag and its validator is listed.
    /// Requests without a response do not count. The count of an unknown agent is 0. The cost grows with the agent's
    /// requests: one storage read (about 2,600 gas) each, and at most 100 gas more per listed validator if the request
    /// has a response.
    /// @param agentId The agent.
    /// @param validatorAddresses The validators that count; duplicates count once; empty: all validators.
    /// @param tag The tag that counts, compared byte by byte; empty: all tags.
    /// @return count The number of counted responses.
    /// @return averageResponse Their average, rounded down; 0 if the count is 0.
    function getSummary(
        uint256 agentId,
        address[] calldata validatorAddresses,
        string calldata tag
    ) external view returns (uint64 count, uint8 averageResponse);

    /// @notice Returns all requests for an agent, with or without a response.
    /// @dev The cost grows with their number: about 2,300 gas each.
    /// @param agentId The agent.
    /// @return requestHashes The requests, oldest first; empty for an unknown agent.
    function getAgentValidations(uint256 agentId) external view returns (bytes32[] memory requestHashes);

    /// @notice Returns all requests for a validator, with or without a response.
    /// @dev The cost grows with their number: about 4,700 gas each.
    /// WARNING: anybody with an agent can add to this list. Only the validator should use it.
    /// @param validatorAddress The validator.
    /// @return requestHashes The requests, oldest first.
    function getValidatorRequests(address validatorAddress) external view returns (bytes32[] memory requestHashes);

    /// @notice Returns the version of the ERC-8004 surface that this registry implements.
    /// @return version "2.0.0".
    function getVersion() external pure returns (string memory version);
}
