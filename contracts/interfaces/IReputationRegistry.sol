// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Reputation registry of ERC-8004 (January 2026)
/// @notice Keeps what clients say about agents: signed fixed-point values with two tags each, which anybody can read
/// and average on chain, and which anybody can answer.
/// @dev Feedback is written once. Nobody can change its value, decimals or tags; its client can revoke it, once. Per
/// agent and client it is counted from 1. Endpoint, feedback URI and feedback hash are in the event only.
///
/// The reason texts are those of the registries that are already deployed, because their clients match on them. Custom
/// errors belong to what is ours. `getIdentityRegistry()`, which is part of the same surface, comes from
/// `IdentityBound`.
///
/// WARNING: anybody but the agent's own side may give feedback, under as many addresses as they like. A summary is
/// worth as much as the list of clients that it was asked for.
///
/// Sample:
/// ```
/// registry.giveFeedback(agentId, 9977, 2, "uptime", "", "", "", 0); // 99.77 %
/// (uint64 count, int128 value, uint8 decimals) = registry.getSummary(agentId, trustedClients, "uptime", "");
/// ```
interface IReputationRegistry {
    /// @notice A feedback that its client has signed for somebody else to send.
    /// @param agentId The agent that is rated.
    /// @param feedbackIndex The index that the feedback will get: one more than `getLastIndex(agentId, clientAddress)`.
    /// @param value The value, times `10 ** valueDecimals`; from -1e38 to 1e38.
    /// @param valueDecimals The decimals of `value`, 0 to 18.
    /// @param tag1 The first tag; may be empty.
    /// @param tag2 The second tag; may be empty.
    /// @param endpoint What was used; may be empty.
    /// @param feedbackURI The URI of the feedback file; may be empty.
    /// @param feedbackHash The keccak256 of that file; zero if there is none or the URI commits to its content.
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
    /// @param agentId The agent that is rated.
    /// @param clientAddress The client.
    /// @param feedbackIndex The feedback's index, counted from 1 per agent and client.
    /// @param value The value, times `10 ** valueDecimals`.
    /// @param valueDecimals The decimals of `value`.
    /// @param indexedTag1 The first tag, hashed, for filters.
    /// @param tag1 The first tag in clear.
    /// @param tag2 The second tag.
    /// @param endpoint What was used.
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
    /// @param feedbackIndex The feedback.
    event FeedbackRevoked(uint256 indexed agentId, address indexed clientAddress, uint64 indexed feedbackIndex);

    /// @notice Somebody answered a feedback.
    /// @param agentId The agent that was rated.
    /// @param clientAddress The client that rated it.
    /// @param feedbackIndex The feedback.
    /// @param responder Who answered.
    /// @param responseURI The URI of the answer.
    /// @param responseHash The keccak256 of what is there; zero if the URI commits to its content.
    event ResponseAppended(
        uint256 indexed agentId,
        address indexed clientAddress,
        uint64 feedbackIndex,
        address indexed responder,
        string responseURI,
        bytes32 responseHash
    );

    /// @notice The deadline of a signed feedback has passed.
    /// @param deadline The last second in which it was taken, in Unix time.
    /// @param time The time of the block, in Unix time.
    error SignatureExpired(uint256 deadline, uint256 time);

    /// @notice A signed feedback is not the client's next: it was used already, or others must come first.
    /// @param given The index that was signed.
    /// @param expected The index of the client's next feedback for the agent.
    error UnexpectedFeedbackIndex(uint64 given, uint64 expected);

    /// @notice The client did not sign this, or not for this registry on this chain.
    /// @param signer The client that should have.
    error InvalidSignature(address signer);

    /// @notice A client has given one agent all the feedback that the registry can hold for the two.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @param limit The number.
    error TooMuchFeedback(uint256 agentId, address clientAddress, uint256 limit);

    /// @notice The average does not fit the 128 bits that a summary has for it.
    /// @param summaryValue The average, times `10 ** summaryValueDecimals`.
    /// @param summaryValueDecimals The most frequent decimals.
    error SummaryTooLarge(int256 summaryValue, uint8 summaryValueDecimals);

    /// @notice Rates an agent as the caller.
    /// @dev For anybody but the agent's owner, its operators and the address approved for it; the agent's wallet may.
    /// Emits `NewFeedback`. Reverts, in this order, with "too many decimals", "value too large",
    /// `ERC721NonexistentToken` for an unknown agent, "Self-feedback not allowed", `TooMuchFeedback`.
    /// @param agentId The agent.
    /// @param value The value, times `10 ** valueDecimals`; from -1e38 to 1e38.
    /// @param valueDecimals The decimals of `value`, 0 to 18.
    /// @param tag1 The first tag, of any length; may be empty. A tag that nobody used before costs two words more.
    /// @param tag2 The second tag, likewise.
    /// @param endpoint What was used; may be empty. Not stored.
    /// @param feedbackURI The URI of the feedback file; may be empty. Not stored.
    /// @param feedbackHash The keccak256 of that file; zero if there is none. Not stored.
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

    /// @notice Rates an agent for a client that has signed the feedback, so that the caller pays the gas.
    /// @dev For anybody. The client signs, in the EIP-712 domain `ERC8004ReputationRegistry` version `1`,
    /// `Feedback(uint256 agentId,address clientAddress,uint64 feedbackIndex,int128 value,uint8 valueDecimals,`
    /// `string tag1,string tag2,string endpoint,string feedbackURI,bytes32 feedbackHash,uint256 deadline)`: ECDSA (65
    /// bytes, low `s`) first, ERC-1271 else. The index is the nonce: a signature counts once, and only as the client's
    /// next feedback for the agent. Reverts, in this order, with `SignatureExpired`, `UnexpectedFeedbackIndex`,
    /// `InvalidSignature`, and then as `giveFeedback` does; what is said there of the caller holds for the client.
    /// To withdraw a signature before its deadline, the client gives any feedback with the same index itself.
    /// WARNING: a client can do so just before, and one that is a contract may change its mind at any time and use up
    /// the gas that it is given: the caller pays for what is then refused.
    /// @param clientAddress The client that rates.
    /// @param params The feedback.
    /// @param deadline The last second, in Unix time, in which the signature is taken.
    /// @param signature The client's signature.
    function giveFeedbackBySig(
        address clientAddress,
        FeedbackParams calldata params,
        uint256 deadline,
        bytes calldata signature
    ) external;

    /// @notice Revokes a feedback of the caller's: it counts in no summary any more. It stays readable.
    /// @dev Emits `FeedbackRevoked`. Reverts, in this order, with "index must be > 0", "index out of bounds",
    /// "Already revoked".
    /// @param agentId The agent that was rated.
    /// @param feedbackIndex The feedback's index.
    function revokeFeedback(uint256 agentId, uint64 feedbackIndex) external;

    /// @notice Answers a feedback: the agent to explain, an aggregator to mark spam, anybody.
    /// @dev For anybody, any number of times. An answer changes nothing of the feedback. Emits `ResponseAppended`.
    /// Reverts, in this order, with "index must be > 0", "Empty URI", "index out of bounds".
    /// WARNING: the number of answers says nothing unless their responders are known.
    /// @param agentId The agent that was rated.
    /// @param clientAddress The client that rated it.
    /// @param feedbackIndex The feedback's index.
    /// @param responseURI The URI of the answer, not empty. Not stored.
    /// @param responseHash The keccak256 of what is there; zero if the URI commits to its content. Not stored.
    function appendResponse(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex,
        string calldata responseURI,
        bytes32 responseHash
    ) external;

    /// @notice Averages the feedback of chosen clients for an agent. Revoked feedback does not count.
    /// @dev Each value is scaled to 18 decimals; their sum is divided by their number, and the result is scaled to the
    /// most frequent decimals, the smallest such on a tie, both toward zero. Reverts with "clientAddresses required"
    /// for an empty list. Costs one storage word per client; with a tag, or where a client's feedback differs in
    /// decimals, one per feedback as well.
    /// Reverts with `SummaryTooLarge` if values near 1e38, averaged with feedback of more decimals, exceed 128 bits,
    /// where the deployed registries answer with the low 128 bits: a wrong number. No value below 1e20 can do that.
    /// @param agentId The agent.
    /// @param clientAddresses The clients that the caller trusts. A client that is listed twice counts twice.
    /// @param tag1 The first tag that feedback must have; empty: any.
    /// @param tag2 The second tag that feedback must have; empty: any.
    /// @return count How much feedback there is; 0 with zeros if there is none.
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
    /// @param agentId The agent that was rated.
    /// @param clientAddress The client that rated it.
    /// @param feedbackIndex The feedback's index.
    /// @return value The value, times `10 ** valueDecimals`.
    /// @return valueDecimals The decimals of `value`.
    /// @return tag1 The first tag.
    /// @return tag2 The second tag.
    /// @return isRevoked Whether its client revoked it.
    function readFeedback(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex
    ) external view returns (int128 value, uint8 valueDecimals, string memory tag1, string memory tag2, bool isRevoked);

    /// @notice Reads much feedback: item `i` of each array belongs to the same feedback.
    /// @dev Costs one storage word per client and one per feedback of theirs, and memory for what is found. Clients
    /// choose how long their tags are: list those that you trust.
    /// @param agentId The agent that was rated.
    /// @param clientAddresses The clients, in the order in which their feedback is returned, which for each is that of
    /// its indexes; none: all clients, in the order of their first feedback. A client that is listed twice is read
    /// twice.
    /// @param tag1 The first tag that feedback must have; empty: any.
    /// @param tag2 The second tag that feedback must have; empty: any.
    /// @param includeRevoked Whether revoked feedback is read too.
    /// @return clients Who gave each feedback.
    /// @return feedbackIndexes Its index.
    /// @return values Its value, times ten to the power of its decimals.
    /// @return valueDecimals Its decimals.
    /// @return tag1s Its first tag.
    /// @return tag2s Its second tag.
    /// @return revokedStatuses Whether it is revoked.
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

    /// @notice Counts answers.
    /// @dev Never reverts. Costs one storage word per feedback, or one per feedback and responder.
    /// @param agentId The agent that was rated.
    /// @param clientAddress The client that rated it; zero: all clients, whatever `feedbackIndex` is.
    /// @param feedbackIndex The feedback's index; 0: all of the client's.
    /// @param responders Whose answers count; none: everybody's. A responder that is listed twice counts twice.
    /// @return count The number of answers.
    function getResponseCount(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex,
        address[] calldata responders
    ) external view returns (uint64 count);

    /// @notice Who has ever given feedback for an agent, in the order of their first.
    /// @dev Costs one storage word per client.
    /// @param agentId The agent.
    /// @return clients The clients.
    function getClients(uint256 agentId) external view returns (address[] memory clients);

    /// @notice The index of a client's last feedback for an agent.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @return lastIndex The index, which is also the number of feedbacks; 0: none.
    function getLastIndex(uint256 agentId, address clientAddress) external view returns (uint64 lastIndex);

    /// @notice The version of the ERC-8004 surface that this registry implements.
    /// @return version "2.0.0".
    function getVersion() external pure returns (string memory version);
}
