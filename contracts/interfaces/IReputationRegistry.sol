// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Reputation registry of ERC-8004 (January 2026)
/// @notice Stores the feedback of clients about agents: signed fixed-point values with two tags each. Anybody can read
/// feedback, average it on chain, and respond to it.
/// @dev Feedback is written once. Its value, decimals and tags never change; its client can revoke it, once. Indexes
/// count from 1 per agent and client. Endpoint, feedback URI and feedback hash are in the event only.
/// The reason texts equal those of the deployed registries, because clients match on them. Functions beyond that
/// surface use custom errors. `getIdentityRegistry()` belongs to the same surface and comes from `IdentityBound`.
/// WARNING: anybody except the agent's own side can give feedback, from any number of addresses. A summary is worth as
/// much as its list of clients.
///
/// Sample:
/// ```
/// registry.giveFeedback(agentId, 9977, 2, "uptime", "", "", "", 0); // 99.77 %
/// (uint64 count, int128 value, uint8 decimals) = registry.getSummary(agentId, trustedClients, "uptime", "");
/// ```
interface IReputationRegistry {
    /// @notice A feedback that a client signs and another account sends.
    /// @param agentId The agent.
    /// @param feedbackIndex The index of the new feedback: `getLastIndex(agentId, clientAddress) + 1`.
    /// @param value The value, times `10 ** valueDecimals`; from -1e38 to 1e38.
    /// @param valueDecimals The decimals of `value`, 0 to 18.
    /// @param tag1 The first tag; may be empty.
    /// @param tag2 The second tag; may be empty.
    /// @param endpoint The endpoint that the client used; may be empty.
    /// @param feedbackURI The URI of the feedback file; may be empty.
    /// @param feedbackHash The keccak256 of that file; zero without a file or if the URI commits to its content.
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

    /// @notice A client gave feedback.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @param feedbackIndex The index of the feedback, from 1 per agent and client.
    /// @param value The value, times `10 ** valueDecimals`.
    /// @param valueDecimals The decimals of `value`.
    /// @param indexedTag1 The hash of the first tag, for filters.
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

    /// @notice A client revoked its feedback.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @param feedbackIndex The index of the feedback.
    event FeedbackRevoked(uint256 indexed agentId, address indexed clientAddress, uint64 indexed feedbackIndex);

    /// @notice An account responded to a feedback.
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

    /// @notice A client voided its signed feedback up to a deadline.
    /// @param clientAddress The client.
    /// @param deadline The latest voided deadline, in Unix time.
    event SignaturesVoided(address indexed clientAddress, uint256 deadline);

    /// @notice The deadline of a signed feedback has passed.
    /// @param deadline The last second in which the signature was valid, in Unix time.
    /// @param time The time of the block, in Unix time.
    error SignatureExpired(uint256 deadline, uint256 time);

    /// @notice The client has voided its signed feedback with this deadline.
    /// @param deadline The deadline of the signed feedback, in Unix time.
    /// @param voidedDeadline The latest deadline that the client has voided, in Unix time.
    error SignatureVoided(uint256 deadline, uint256 voidedDeadline);

    /// @notice The client has already voided this deadline, and voiding is final.
    /// @param deadline The deadline that the client wants to void, in Unix time.
    /// @param voidedDeadline The latest deadline that the client has voided, in Unix time.
    error DeadlineAlreadyVoided(uint256 deadline, uint256 voidedDeadline);

    /// @notice The index of a signed feedback is not the client's next index for the agent.
    /// @param given The index in the signed feedback.
    /// @param expected The client's next index for the agent.
    error UnexpectedFeedbackIndex(uint64 given, uint64 expected);

    /// @notice The signature is invalid for this client, this feedback, this registry, or this chain.
    /// @param signer The client.
    error InvalidSignature(address signer);

    /// @notice The client has given the agent the most feedback that the registry can store for both.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @param limit The highest index.
    error TooMuchFeedback(uint256 agentId, address clientAddress, uint256 limit);

    /// @notice Gives feedback as the caller.
    /// @dev For any account except the agent's owner, its operators and its approved address. The agent's wallet may
    /// give feedback. Emits `NewFeedback`. Reverts, in this order, with "too many decimals", "value too large",
    /// `ERC721NonexistentToken` for an unknown agent, "Self-feedback not allowed", `TooMuchFeedback`.
    /// @param agentId The agent.
    /// @param value The value, times `10 ** valueDecimals`; from -1e38 to 1e38.
    /// @param valueDecimals The decimals of `value`, 0 to 18.
    /// @param tag1 The first tag, of any length; may be empty. A new tag costs two more storage words.
    /// @param tag2 The second tag, likewise.
    /// @param endpoint The endpoint that the client used; may be empty. Not stored.
    /// @param feedbackURI The URI of the feedback file; may be empty. Not stored.
    /// @param feedbackHash The keccak256 of the feedback file; zero without a file. Not stored.
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

    /// @notice Gives feedback that a client signed. The caller pays the gas.
    /// @dev For any account. The client signs, in the EIP-712 domain `ERC8004ReputationRegistry` version `1`,
    /// `Feedback(uint256 agentId,address clientAddress,uint64 feedbackIndex,int128 value,uint8 valueDecimals,`
    /// `string tag1,string tag2,string endpoint,string feedbackURI,bytes32 feedbackHash,uint256 deadline)`. ECDSA (65
    /// bytes, low `s`) comes first, then ERC-1271. The index is the nonce: a signature is valid once, as the client's
    /// next feedback for the agent. `voidSignaturesThrough` voids it before its deadline. Reverts, in this order, with
    /// `SignatureExpired`, `SignatureVoided`, `UnexpectedFeedbackIndex`, `InvalidSignature`, and then as `giveFeedback`
    /// does, with the client as the caller.
    /// WARNING: the caller also pays for a revert. A client can void a signature just before, and a client that is a
    /// contract can refuse at any time and use up the gas.
    /// @param clientAddress The client.
    /// @param params The feedback.
    /// @param deadline The last second in which the signature is valid, in Unix time.
    /// @param signature The client's signature.
    function giveFeedbackBySig(
        address clientAddress,
        FeedbackParams calldata params,
        uint256 deadline,
        bytes calldata signature
    ) external;

    /// @notice Voids the caller's signed feedback, for all agents, with a deadline up to and including `deadline`.
    /// @dev For any account. Final: new signatures need a later deadline. Emits `SignaturesVoided`. Reverts with
    /// `DeadlineAlreadyVoided` unless `deadline` is later than `getVoidedDeadline(caller)`.
    /// WARNING: `type(uint256).max` voids all signatures of the caller for ever. Sign with near deadlines.
    /// @param deadline The latest deadline to void, in Unix time; any value, in the past or the future.
    function voidSignaturesThrough(uint256 deadline) external;

    /// @notice Revokes a feedback of the caller. Later summaries leave it out; it stays readable. Emits
    /// `FeedbackRevoked`. Reverts, in this order, with "index must be > 0", "index out of bounds", "Already revoked".
    /// @param agentId The agent.
    /// @param feedbackIndex The index of the feedback.
    function revokeFeedback(uint256 agentId, uint64 feedbackIndex) external;

    /// @notice Responds to a feedback. For example, the agent explains, or an aggregator marks spam.
    /// @dev For any account, any number of times. The feedback stays as it is. Emits `ResponseAppended`. Reverts, in
    /// this order, with "index must be > 0", "Empty URI", "index out of bounds".
    /// WARNING: a number of responses proves nothing unless you know the responders.
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

    /// @notice Averages the feedback of listed clients for an agent, without revoked feedback.
    /// @dev Scales each value to 18 decimals, divides their sum by their number, and scales the result to the most
    /// frequent decimals, the smallest of equally frequent ones. Both divisions round toward zero. If that exceeds 128
    /// bits, `summaryValueDecimals` is the most with which it fits. Reverts with "clientAddresses required" for an
    /// empty list. Reads a word per client; with a tag, or if a client's decimals differ, also a word per feedback.
    /// @param agentId The agent.
    /// @param clientAddresses The clients that the caller trusts. A client that is listed twice counts twice.
    /// @param tag1 The first tag of the feedback; empty: any.
    /// @param tag2 The second tag of the feedback; empty: any.
    /// @return count The number of feedbacks; without feedback all three values are 0.
    /// @return summaryValue The average, times `10 ** summaryValueDecimals`.
    /// @return summaryValueDecimals The decimals of the average.
    function getSummary(
        uint256 agentId,
        address[] calldata clientAddresses,
        string calldata tag1,
        string calldata tag2
    ) external view returns (uint64 count, int128 summaryValue, uint8 summaryValueDecimals);

    /// @notice Reads one feedback.
    /// @dev Reverts, in this order, with "index must be > 0", "index out of bounds".
    /// @param agentId The agent.
    /// @param clientAddress The client that gave the feedback.
    /// @param feedbackIndex The index of the feedback.
    /// @return value The value, times `10 ** valueDecimals`.
    /// @return valueDecimals The decimals of `value`.
    /// @return tag1 The first tag.
    /// @return tag2 The second tag.
    /// @return isRevoked True if its client revoked it.
    function readFeedback(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex
    ) external view returns (int128 value, uint8 valueDecimals, string memory tag1, string memory tag2, bool isRevoked);

    /// @notice Reads all feedback of clients. Item `i` of each array belongs to the same feedback.
    /// @dev Reads a word per client and per feedback. Clients choose the length of their tags: list those you trust.
    /// @param agentId The agent.
    /// @param clientAddresses The clients; empty: all clients, in the order of their first feedback. The answer keeps
    /// the order of this list and, for each client, of its indexes. A client that is listed twice is read twice.
    /// @param tag1 The first tag of the feedback; empty: any.
    /// @param tag2 The second tag of the feedback; empty: any.
    /// @param includeRevoked True to read revoked feedback too.
    /// @return clients The client of each feedback.
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

    /// @notice Counts responses. Never reverts. Reads a word per feedback, or per feedback and responder.
    /// @param agentId The agent.
    /// @param clientAddress The client that gave the feedback; zero: all clients, and `feedbackIndex` is ignored.
    /// @param feedbackIndex The index of the feedback; 0: all feedback of the client.
    /// @param responders The responders to count; empty: all. A responder that is listed twice counts twice.
    /// @return count The number of responses.
    function getResponseCount(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex,
        address[] calldata responders
    ) external view returns (uint64 count);

    /// @notice Lists the clients of an agent, in the order of their first feedback. Reads a word per client.
    /// @param agentId The agent.
    /// @return clients The clients.
    function getClients(uint256 agentId) external view returns (address[] memory clients);

    /// @notice Returns the index of a client's last feedback for an agent.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @return lastIndex The index, which is also the number of feedbacks; 0 without feedback.
    function getLastIndex(uint256 agentId, address clientAddress) external view returns (uint64 lastIndex);

    /// @notice Returns the latest deadline that a client has voided: its signatures need a later one.
    /// @param clientAddress The client.
    /// @return deadline The deadline, in Unix time; 0 if the client has voided none.
    function getVoidedDeadline(address clientAddress) external view returns (uint256 deadline);

    /// @notice Returns the version of the ERC-8004 surface that this registry implements.
    /// @return version "2.0.0".
    function getVersion() external pure returns (string memory version);
}
