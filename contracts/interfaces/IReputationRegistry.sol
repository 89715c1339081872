// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Reputation registry of ERC-8004 (January 2026)
/// @notice Stores clients' feedback about agents: signed fixed-point values with two tags each. Anyone can read
/// feedback, average it on chain, and respond to it.
/// @dev Feedback is written once. Its value, decimals and tags never change, but its client can revoke it, once.
/// Indexes count from 1 per agent and client. The endpoint, feedback URI and feedback hash are only in the event.
/// Revert strings are those of the deployed registries, because clients match on them; functions that those lack use
/// custom errors. `getIdentityRegistry()` belongs to the same interface and comes from `IdentityBound`.
/// WARNING: anyone except the agent's own side can give feedback, from any number of addresses. A summary is only as
/// trustworthy as the list of clients on which it is based.
///
/// Sample:
/// ```
/// registry.giveFeedback(agentId, 9977, 2, "uptime", "", "", "", 0); // 99.77 %
/// (uint64 count, int128 value, uint8 decimals) = registry.getSummary(agentId, trustedClients, "uptime", "");
/// ```
interface IReputationRegistry {
    /// @notice A feedback entry that a client signs and another account submits.
    /// @param agentId The agent.
    /// @param feedbackIndex The index of the new entry: `getLastIndex(agentId, clientAddress) + 1`.
    /// @param value The value, times `10 ** valueDecimals`; from -1e38 to 1e38.
    /// @param valueDecimals The decimals of `value`, 0 to 18.
    /// @param tag1 The first tag; may be empty.
    /// @param tag2 The second tag; may be empty.
    /// @param endpoint The endpoint that the client used; may be empty.
    /// @param feedbackURI The URI of the feedback file; may be empty.
    /// @param feedbackHash The keccak256 of that file; zero if there is no file, or if the URI commits to its content.
    struct FeedbackParams {
        uint256 agentId;
        uint64 feedbackIndex;
        int128 value;
        uint8 valueDecimals;
        string tag1;
        string tag2;
        string endpoint;
        string feedbackURI;
        bytes32 feedbackHash;
    }

    /// @notice Emitted when a client gives feedback.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @param feedbackIndex The index of the feedback, counted from 1 per agent and client.
    /// @param value The value, times `10 ** valueDecimals`.
    /// @param valueDecimals The decimals of `value`.
    /// @param indexedTag1 The hash of the first tag, for filtering.
    /// @param tag1 The first tag as text.
    /// @param tag2 The second tag.
    /// @param endpoint The endpoint that the client used.
    /// @param feedbackURI The URI of the feedback file.
    /// @param feedbackHash The keccak256 of that file.
    event NewFeedback(
        uint256 indexed agentId,
        address indexed clientAddress,
        uint64 feedbackIndex,
        int128 value,
        uint8 valueDecimals,
        string indexed indexedTag1,
        string tag1,
        string tag2,
        string endpoint,
        string feedbackURI,
        bytes32 feedbackHash
    );

    /// @notice Emitted when a client revokes its feedback.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @param feedbackIndex The index of the feedback.
    event FeedbackRevoked(uint256 indexed agentId, address indexed clientAddress, uint64 indexed feedbackIndex);

    /// @notice Emitted when an account responds to feedback.
    /// @param agentId The agent.
    /// @param clientAddress The client that gave the feedback.
    /// @param feedbackIndex The index of the feedback.
    /// @param responder The account that responded.
    /// @param responseURI The URI of the response.
    /// @param responseHash The keccak256 of the response; zero if the URI commits to its content.
    event ResponseAppended(
        uint256 indexed agentId,
        address indexed clientAddress,
        uint64 feedbackIndex,
        address indexed responder,
        string responseURI,
        bytes32 responseHash
    );

    /// @notice Emitted when a client voids its signed feedback up to a deadline.
    /// @param clientAddress The client.
    /// @param deadline The latest voided deadline, as a Unix timestamp.
    event SignaturesVoided(address indexed clientAddress, uint256 deadline);

    /// @notice The deadline of the signed feedback has passed.
    /// @param deadline The last second in which the signature was valid, as a Unix timestamp.
    /// @param time The block's timestamp.
    error SignatureExpired(uint256 deadline, uint256 time);

    /// @notice The client has voided its signed feedback with this deadline.
    /// @param deadline The deadline of the signed feedback, as a Unix timestamp.
    /// @param voidedDeadline The latest deadline that the client has voided, as a Unix timestamp.
    error SignatureVoided(uint256 deadline, uint256 voidedDeadline);

    /// @notice The client has already voided this deadline, and voiding is final.
    /// @param deadline The deadline that the client wants to void, as a Unix timestamp.
    /// @param voidedDeadline The latest deadline that the client has voided, as a Unix timestamp.
    error DeadlineAlreadyVoided(uint256 deadline, uint256 voidedDeadline);

    /// @notice The index in the signed feedback is not the client's next index for the agent.
    /// @param given The index in the signed feedback.
    /// @param expected The client's next index for the agent.
    error UnexpectedFeedbackIndex(uint64 given, uint64 expected);

    /// @notice The signature is invalid for this client, this feedback, this registry, or this chain.
    /// @param signer The client.
    error InvalidSignature(address signer);

    /// @notice The client has given this agent as much feedback as the registry can store.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @param limit The highest index.
    error TooMuchFeedback(uint256 agentId, address clientAddress, uint256 limit);

    /// @notice Gives feedback as the caller.
    /// @dev Can be called by anyone, including the agent's wallet, except the agent's owner, operators and approved
    /// address. Emits `NewFeedback`. Reverts with the first applicable error: "too many decimals", "value too large",
    /// `ERC721NonexistentToken` for an unknown agent, "Self-feedback not allowed", `TooMuchFeedback`.
    /// @param agentId The agent.
    /// @param value The value, times `10 ** valueDecimals`; from -1e38 to 1e38.
    /// @param valueDecimals The decimals of `value`, 0 to 18.
    /// @param tag1 The first tag, of any length; may be empty. A new tag takes two more storage words.
    /// @param tag2 The second tag, also of any length; may be empty.
    /// @param endpoint The endpoint that the client used; may be empty. Not stored.
    /// @param feedbackURI The URI of the feedback file; may be empty. Not stored.
    /// @param feedbackHash The keccak256 of the feedback file; zero if there is no file. Not stored.
    function giveFeedback(
        uint256 agentId,
        int128 value,
        uint8 valueDecimals,
        string calldata tag1,
        string calldata tag2,
        string calldata endpoint,
        string calldata feedbackURI,
        bytes32 feedbackHash
    ) external;

    /// @notice Gives feedback that a client has signed. The caller pays for the gas.
    /// @dev Can be called by anyone. The client signs, in the EIP-712 domain `ERC8004ReputationRegistry` version `1`,
    /// `Feedback(uint256 agentId,address clientAddress,uint64 feedbackIndex,int128 value,uint8 valueDecimals,`
    /// `string tag1,string tag2,string endpoint,string feedbackURI,bytes32 feedbackHash,uint256 deadline)`. ECDSA (65
    /// bytes, low `s`) is tried before ERC-1271. The index is the nonce, so a signature is valid once, in order.
    /// `voidSignaturesThrough` can void it early. Reverts with the first applicable error: `SignatureExpired`,
    /// `SignatureVoided`, `UnexpectedFeedbackIndex`, `InvalidSignature`, or an error of `giveFeedback`, with the client
    /// as the caller.
    /// WARNING: the caller also pays if the call reverts. A client can void a signature just before the call, and a
    /// client that is a contract can reject it at any time and consume the gas.
    /// @param clientAddress The client.
    /// @param params The feedback.
    /// @param deadline The last second in which the signature is valid, as a Unix timestamp.
    /// @param signature The client's signature.
    function giveFeedbackBySig(
        address clientAddress,
        FeedbackParams calldata params,
        uint256 deadline,
        bytes calldata signature
    ) external;

    /// @notice Voids all of the caller's signed feedback, for any agent, whose deadline is not later than `deadline`.
    /// @dev Can be called by anyone. This is final: new signatures need a later deadline. Emits `SignaturesVoided`.
    /// Reverts with `DeadlineAlreadyVoided` unless `deadline` is later than `getVoidedDeadline(caller)`.
    /// WARNING: `type(uint256).max` voids all signatures of the caller forever. Prefer to sign with near deadlines.
    /// @param deadline The latest deadline to void, as a Unix timestamp; any value, in the past or in the future.
    function voidSignaturesThrough(uint256 deadline) external;

    /// @notice Revokes the caller's feedback. It stays readable, but summaries exclude it. Emits `FeedbackRevoked`.
    /// Reverts with the first applicable error: "index must be > 0", "index out of bounds", "Already revoked".
    /// @param agentId The agent.
    /// @param feedbackIndex The index of the feedback.
    function revokeFeedback(uint256 agentId, uint64 feedbackIndex) external;

    /// @notice Responds to feedback. For example, the agent can explain itself, or an aggregator can flag spam.
    /// @dev Can be called by anyone, any number of times. The feedback does not change. Emits `ResponseAppended`.
    /// Reverts with the first applicable error: "index must be > 0", "Empty URI", "index out of bounds".
    /// WARNING: the number of responses proves nothing unless you know the responders.
    /// @param agentId The agent.
    /// @param clientAddress The client that gave the feedback.
    /// @param feedbackIndex The index of the feedback.
    /// @param responseURI The URI of the response, not empty. Not stored.
    /// @param responseHash The keccak256 of the response; zero if the URI commits to its content. Not stored.
    function appendResponse(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex,
        string calldata responseURI,
        bytes32 responseHash
    ) external;

    /// @notice Averages the feedback of the listed clients for an agent, excluding revoked feedback.
    /// @dev Scales each value to 18 decimals, divides their sum by their number, and scales the result to the most
    /// frequent number of decimals (the smallest in a tie). Both divisions round toward zero. If the result exceeds 128
    /// bits, it has the most decimals with which it fits. Reverts with "clientAddresses required" for an empty list.
    /// Reads one storage word per client, and one per feedback entry if a tag is given or a client's decimals differ.
    /// @param agentId The agent.
    /// @param clientAddresses The clients that the caller trusts. A client that is listed twice counts twice.
    /// @param tag1 The first tag of the feedback; empty for any tag.
    /// @param tag2 The second tag of the feedback; empty for any tag.
    /// @return count The number of feedback entries; if there are none, all three values are 0.
    /// @return summaryValue The average, times `10 ** summaryValueDecimals`.
    /// @return summaryValueDecimals The decimals of the average.
    function getSummary(
        uint256 agentId,
        address[] calldata clientAddresses,
        string calldata tag1,
        string calldata tag2
    ) external view returns (uint64 count, int128 summaryValue, uint8 summaryValueDecimals);

    /// @notice Returns one feedback entry.
    /// @dev Reverts with the first applicable error: "index must be > 0", "index out of bounds".
    /// @param agentId The agent.
    /// @param clientAddress The client that gave the feedback.
    /// @param feedbackIndex The index of the feedback.
    /// @return value The value, times `10 ** valueDecimals`.
    /// @return valueDecimals The decimals of `value`.
    /// @return tag1 The first tag.
    /// @return tag2 The second tag.
    /// @return isRevoked True if the client has revoked it.
    function readFeedback(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex
    ) external view returns (int128 value, uint8 valueDecimals, string memory tag1, string memory tag2, bool isRevoked);

    /// @notice Returns all feedback of the clients. Item `i` of each array belongs to the same feedback entry.
    /// @dev Reads one storage word per client and entry. Clients choose how long tags are: list only clients you trust.
    /// @param agentId The agent.
    /// @param clientAddresses The clients; empty for all clients, in the order of their first feedback. The results are
    /// in the order of this list and, for each client, of its indexes. A client that is listed twice is read twice.
    /// @param tag1 The first tag of the feedback; empty for any tag.
    /// @param tag2 The second tag of the feedback; empty for any tag.
    /// @param includeRevoked True to include revoked feedback.
    /// @return clients The client of each entry.
    /// @return feedbackIndexes Its index.
    /// @return values Its value, times ten to the power of its decimals.
    /// @return valueDecimals Its decimals.
    /// @return tag1s Its first tag.
    /// @return tag2s Its second tag.
    /// @return revokedStatuses True for revoked feedback.
    function readAllFeedback(
        uint256 agentId,
        address[] calldata clientAddresses,
        string calldata tag1,
        string calldata tag2,
        bool includeRevoked
    )
        external
        view
        returns (
            address[] memory clients,
            uint64[] memory feedbackIndexes,
            int128[] memory values,
            uint8[] memory valueDecimals,
            string[] memory tag1s,
            string[] memory tag2s,
            bool[] memory revokedStatuses
        );

    /// @notice Counts responses. Never reverts. Reads one storage word per feedback entry, or per entry and responder.
    /// @param agentId The agent.
    /// @param clientAddress The client that gave the feedback; zero for all clients, whatever `feedbackIndex` is.
    /// @param feedbackIndex The index of the feedback; 0 for all feedback of the client.
    /// @param responders The responders to count; empty for all. A responder that is listed twice counts twice.
    /// @return count The number of responses.
    function getResponseCount(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex,
        address[] calldata responders
    ) external view returns (uint64 count);

    /// @notice Lists the clients of an agent, in the order of their first feedback. Reads one storage word per client.
    /// @param agentId The agent.
    /// @return clients The clients.
    function getClients(uint256 agentId) external view returns (address[] memory clients);

    /// @notice Returns the index of a client's last feedback for an agent.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @return lastIndex The index, which is also the number of feedback entries; 0 if there are none.
    function getLastIndex(uint256 agentId, address clientAddress) external view returns (uint64 lastIndex);

    /// @notice Returns the latest deadline that a client has voided. The client's signatures need a later deadline.
    /// @param clientAddress The client.
    /// @return deadline The deadline, as a Unix timestamp; 0 if the client has voided none.
    function getVoidedDeadline(address clientAddress) external view returns (uint256 deadline);

    /// @notice Returns the version of the ERC-8004 interface that this registry implements.
    /// @return version "2.0.0".
    function getVersion() external pure returns (string memory version);
}
