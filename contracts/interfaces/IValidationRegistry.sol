// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Validation registry of ERC-8004 (January 2026)
/// @notice An agent asks a validator to check a piece of its work; the validator answers with a number from 0 to 100.
/// What was checked, and how, is outside the chain: the request's hash and URI commit to it.
/// @dev Who may request for an agent is who may act for it in the identity registry: its owner, an operator approved
/// for all of the owner's tokens, and the address approved for the token. The reason texts are those of the registries
/// that are already deployed, because their clients match on them. `getIdentityRegistry()`, which belongs to the same
/// surface, comes from `IdentityBound`.
///
/// WARNING: the agent's side chooses its validators, and may name itself. A response says no more than its validator
/// is worth: give `getSummary` the validators that you trust.
///
/// Sample:
/// ```
/// registry.validationRequest(validator, agentId, "ipfs://request", requestHash); // as the agent's owner
/// registry.validationResponse(requestHash, 100, "ipfs://evidence", evidenceHash, "hard-finality"); // as `validator`
/// (uint64 count, uint8 average) = registry.getSummary(agentId, trustedValidators, "hard-finality");
/// ```
interface IValidationRegistry {
    /// @notice A validation was requested.
    /// @param validatorAddress The validator that is asked.
    /// @param agentId The agent whose work is to be validated.
    /// @param requestURI Where the validator finds what it needs.
    /// @param requestHash The request's name from now on.
    event ValidationRequest(
        address indexed validatorAddress,
        uint256 indexed agentId,
        string requestURI,
        bytes32 indexed requestHash
    );

    /// @notice A validator answered a request, for the first time or anew.
    /// @param validatorAddress The validator.
    /// @param agentId The agent whose work was validated.
    /// @param requestHash The request.
    /// @param response The result, 0 to 100.
    /// @param responseURI Where the evidence is; empty for none.
    /// @param responseHash The hash of the evidence; zero for none.
    /// @param tag The validator's own category; empty for none.
    event ValidationResponse(
        address indexed validatorAddress,
        uint256 indexed agentId,
        bytes32 indexed requestHash,
        uint8 response,
        string responseURI,
        bytes32 responseHash,
        string tag
    );

    /// @notice Asks a validator to validate an agent's work.
    /// @dev For the agent's owner, an operator or the approved address. Reverts, in this order, with "bad validator"
    /// for the zero address, "exists" for a hash that was used before, ERC-6093's `ERC721NonexistentToken(agentId)`
    /// for an unknown agent, "Not authorized". The validator may be anybody, the caller included.
    /// WARNING: a hash belongs to whoever uses it first. See `docs/security.md` for what this lets others do.
    /// @param validatorAddress The validator, who alone may answer.
    /// @param agentId The agent.
    /// @param requestURI Where the validator finds what it needs, of any length; emitted, not stored.
    /// @param requestHash The keccak-256 hash of what is behind the URI; every value is allowed, zero included.
    function validationRequest(
        address validatorAddress,
        uint256 agentId,
        string calldata requestURI,
        bytes32 requestHash
    ) external;

    /// @notice Answers a request.
    /// @dev For the validator that the request names, as often as it likes: the last answer counts. Reverts, in this
    /// order, with "unknown" for a hash that nobody has requested, "not validator", "resp>100".
    /// @param requestHash The request.
    /// @param response The result: 0 for failed, 100 for passed, or anything between.
    /// @param responseURI Where the evidence is, of any length; emitted, not stored.
    /// @param responseHash The hash of the evidence; zero for none.
    /// @param tag A category of the validator's own choice, of any length; empty for none.
    function validationResponse(
        bytes32 requestHash,
        uint8 response,
        string calldata responseURI,
        bytes32 responseHash,
        string calldata tag
    ) external;

    /// @notice Reads a request and its last answer.
    /// @dev Reverts with "unknown" for a hash that nobody has requested. A request without an answer has response 0,
    /// response hash 0 and an empty tag; an answer may have the same, so this does not tell whether there is one.
    /// @param requestHash The request.
    /// @return validatorAddress The validator that was asked.
    /// @return agentId The agent.
    /// @return response The last answer, 0 to 100; 0 while there is none.
    /// @return responseHash The hash that came with it.
    /// @return tag The tag that came with it.
    /// @return lastUpdate When it came, in Unix time; when the request came while there is none.
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

    /// @notice The number and the average of an agent's last answers.
    /// @dev Counts a request once, with its last answer, if that has the tag and its validator is listed; requests
    /// without an answer do not count. An unknown agent has none. The cost grows with the agent's requests: one storage
    /// read, about 2,600 gas, for each, and 100 gas more at most per listed validator if it is answered.
    /// @param agentId The agent.
    /// @param validatorAddresses The validators that count; one listed twice counts once; none listed: all.
    /// @param tag The tag that counts, compared byte by byte; empty: all.
    /// @return count How many answers count.
    /// @return averageResponse Their average, rounded down; 0 if there is none.
    function getSummary(
        uint256 agentId,
        address[] calldata validatorAddresses,
        string calldata tag
    ) external view returns (uint64 count, uint8 averageResponse);

    /// @notice All requests for an agent, answered or not.
    /// @dev The cost grows with their number: about 2,300 gas each.
    /// @param agentId The agent.
    /// @return requestHashes The requests, oldest first; empty for an unknown agent.
    function getAgentValidations(uint256 agentId) external view returns (bytes32[] memory requestHashes);

    /// @notice All requests that name a validator, answered or not.
    /// @dev The cost grows with their number: about 4,700 gas each.
    /// WARNING: anybody with an agent can add to this list. Others than the validator should not rely on it.
    /// @param validatorAddress The validator.
    /// @return requestHashes The requests, oldest first.
    function getValidatorRequests(address validatorAddress) external view returns (bytes32[] memory requestHashes);

    /// @notice The version of the ERC-8004 surface that this registry implements.
    /// @return version "2.0.0".
    function getVersion() external pure returns (string memory version);
}
