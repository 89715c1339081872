// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Reputation registry for feedback that the agent's owner has authorised
/// @notice Clients rate agents from 0 to 100, as often as the owner of the agent's token authorised by signature.
/// Feedback is permanent: nobody can change, revoke or remove it.
/// @dev The owner signs, as EIP-712 typed data in this registry's domain (`AuthorizedReputationRegistry`, version `1`),
/// `FeedbackAuth(uint256 agentId,address clientAddress,uint64 indexLimit,uint256 expiry,uint256 chainId)`. The client
/// sends `feedbackAuth`: the five fields as five words (`abi.encode`), followed by the signature.
///
/// A client's index for an agent is the number of its feedbacks on that agent. It starts at 0 and never falls. An
/// authorisation is valid while the index is below `indexLimit`. A limit of the present index plus three therefore
/// allows three more.
///
/// An authorisation cannot be revoked. It ends with its expiry or its limit. It also ends with a transfer of the
/// agent's token, unless the new owner accepts the same signature. If the token returns to the owner who signed, the
/// rest of the authorisation is valid again.
/// WARNING: the specification fixes the signed struct, which does not name the owner. Two wallets that accept the same
/// key, and do not bind the digest to their own address, accept each other's authorisations (ERC-1271).
///
/// Sample:
/// ```
/// // the agent's owner signs hashFeedbackAuth(FeedbackAuth(agentId, client, getLastIndex(agentId, client) + 1, ...))
/// registry.giveFeedback(agentId, 92, "defi", "swap", "ipfs://...", filehash, feedbackAuth);
/// (uint64 count, uint8 averageScore) = registry.getSummary(agentId);
/// ```
interface IAuthorizedReputationRegistry {
    /// @notice An authorisation, which the agent's owner signs.
    /// @param agentId The agent that the client may rate.
    /// @param clientAddress The client.
    /// @param indexLimit The exclusive upper bound of the client's index when it rates.
    /// @param expiry The last valid second, in Unix time.
    /// @param chainId The EIP-155 id of the chain on which the authorisation is valid.
    struct FeedbackAuth {
        uint256 agentId;
        address clientAddress;
        uint64 indexLimit;
        uint256 expiry;
        uint256 chainId;
    }

    /// @notice One feedback, as the client gave it.
    /// @param position Its position among all feedback of the agent, from 0.
    /// @param clientAddress The client.
    /// @param score The score, from 0 to 100.
    /// @param tag1 The first tag: UTF-8, padded on the right with zeros; zero without a tag.
    /// @param tag2 The second tag, likewise.
    /// @param timestamp The time of its block, in Unix seconds.
    struct Feedback {
        uint64 position;
        address clientAddress;
        uint8 score;
        bytes32 tag1;
        bytes32 tag2;
        uint64 timestamp;
    }

    /// @notice A client rated an agent.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @param score The score, from 0 to 100.
    /// @param tag1 The first tag; zero without a tag.
    /// @param tag2 The second tag; zero without a tag.
    /// @param fileuri The URI of a file with details; may be empty. Not stored.
    /// @param filehash The hash of that file; may be zero. Not stored.
    event NewFeedback(
        uint256 indexed agentId,
        address indexed clientAddress,
        uint8 score,
        bytes32 indexed tag1,
        bytes32 tag2,
        string fileuri,
        bytes32 filehash
    );

    /// @notice The score is out of range.
    /// @param score The score.
    /// @param maximum The highest valid score.
    error ScoreTooHigh(uint8 score, uint8 maximum);

    /// @notice `feedbackAuth` is shorter than its five fields.
    /// @param length Its length, in bytes.
    /// @param minimum The length of the fields, in bytes.
    error FeedbackAuthTooShort(uint256 length, uint256 minimum);

    /// @notice The word for the client in `feedbackAuth` is not an address.
    /// @param word The word.
    error ClientAddressOutOfRange(uint256 word);

    /// @notice The word for the index limit in `feedbackAuth` is not a `uint64`.
    /// @param word The word.
    error IndexLimitOutOfRange(uint256 word);

    /// @notice The authorisation is for another agent.
    /// @param agentId The agent that the client wants to rate.
    /// @param authorizedAgentId The agent of the authorisation.
    error AgentNotAuthorized(uint256 agentId, uint256 authorizedAgentId);

    /// @notice The authorisation is for another client.
    /// @param caller The account that wants to rate.
    /// @param authorizedClient The client of the authorisation.
    error ClientNotAuthorized(address caller, address authorizedClient);

    /// @notice The authorisation is for another chain.
    /// @param chainId This chain.
    /// @param authorizedChainId The chain of the authorisation.
    error ChainNotAuthorized(uint256 chainId, uint256 authorizedChainId);

    /// @notice The authorisation has expired.
    /// @param expiry Its last valid second, in Unix time.
    /// @param timestamp The time of the block, in Unix time.
    error FeedbackAuthExpired(uint256 expiry, uint256 timestamp);

    /// @notice The client's index has reached the limit of the authorisation.
    /// @param lastIndex The client's index: the number of its feedbacks on the agent.
    /// @param indexLimit The limit; `lastIndex` must be below it.
    error IndexLimitReached(uint64 lastIndex, uint64 indexLimit);

    /// @notice The agent does not exist. The identity registry reverts with this error.
    /// @param tokenId The agent.
    error ERC721NonexistentToken(uint256 tokenId);

    /// @notice The client can act for the agent, so it cannot rate it.
    /// @param agentId The agent.
    /// @param clientAddress The client: the agent's owner, an operator, or the approved address.
    error SelfFeedbackNotAllowed(uint256 agentId, address clientAddress);

    /// @notice The signature of an owner without code has the wrong length.
    /// @param length The length of the signature, in bytes.
    /// @param expected The valid length, in bytes.
    error SignatureLengthInvalid(uint256 length, uint256 expected);

    /// @notice The signature is malleable: its `s` is in the upper half of the curve's order.
    /// @param s The signature's `s`.
    error SignatureMalleable(bytes32 s);

    /// @notice No signer can be recovered: `v` is neither 27 nor 28, or `r` or `s` is invalid.
    /// @param digest The EIP-712 digest of the authorisation.
    error SignatureUnrecoverable(bytes32 digest);

    /// @notice Another account than the agent's present owner signed, or the owner signed another message.
    /// @param signer The account that is recovered from the signature and the digest.
    /// @param owner The present owner of the agent.
    error SignerNotOwner(address signer, address owner);

    /// @notice The agent's owner has code, did not sign, and does not accept the signature by ERC-1271.
    /// @param owner The present owner of the agent.
    /// @param digest The EIP-712 digest of the authorisation.
    error SignatureRefused(address owner, bytes32 digest);

    /// @notice The agent has no feedback in this position.
    /// @param agentId The agent.
    /// @param position The position, from 0.
    /// @param count The number of the agent's feedbacks.
    error PositionOutOfBounds(uint256 agentId, uint64 position, uint64 count);

    /// @notice Rates an agent.
    /// @dev For the client that the agent's owner authorised. Adds one to the client's index for the agent. Emits
    /// `NewFeedback`. Reverts, in this order, with `ScoreTooHigh`; for the form of `feedbackAuth`
    /// `FeedbackAuthTooShort`, `ClientAddressOutOfRange`, `IndexLimitOutOfRange`; for its content
    /// `AgentNotAuthorized`, `ClientNotAuthorized`, `ChainNotAuthorized`, `FeedbackAuthExpired`, `IndexLimitReached`;
    /// for the agent `ERC721NonexistentToken`, `SelfFeedbackNotAllowed`; for the signature `SignatureRefused` if the
    /// owner has code, else `SignatureLengthInvalid`, `SignatureMalleable`, `SignatureUnrecoverable`, `SignerNotOwner`.
    ///
    /// The signature is ECDSA (65 bytes: `r`, `s` in the lower half, `v` 27 or 28), or any bytes that the owner's code
    /// accepts by ERC-1271. A delegated account (EIP-7702) can use either. The registry checks neither tags nor file.
    /// FeedbackAuth FR-008 to FR-011, FR-014 to FR-017, FR-019 to FR-023.
    /// WARNING: an owner that is a contract can refuse at any time, and can use up the gas of the check.
    /// @param agentId The agent.
    /// @param score The score, from 0 to 100.
    /// @param tag1 The first tag: UTF-8, padded on the right with zeros; zero without a tag.
    /// @param tag2 The second tag, likewise.
    /// @param fileuri The URI of a file with details, of any length; empty without a file. Not stored.
    /// @param filehash The hash of that file; zero without a file. Not stored.
    /// @param feedbackAuth The five fields of `FeedbackAuth`, a word each, and the owner's signature.
    function giveFeedback(
        uint256 agentId,
        uint8 score,
        bytes32 tag1,
        bytes32 tag2,
        string calldata fileuri,
        bytes32 filehash,
        bytes calldata feedbackAuth
    ) external;

    /// @notice Averages all feedback of an agent. Each feedback counts alike, from any client.
    /// @dev Reads one storage word, for any amount of feedback. FeedbackAuth FR-012, FR-013.
    /// @param agentId The agent.
    /// @return count The number of feedbacks; 0 for an unknown agent.
    /// @return averageScore The sum of the scores divided by `count`, rounded toward zero; 0 without feedback.
    function getSummary(uint256 agentId) external view returns (uint64 count, uint8 averageScore);

    /// @notice Returns a client's index for an agent: the number of its feedbacks, which `indexLimit` bounds.
    /// @dev FeedbackAuth FR-020.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @return lastIndex The index; 0 without feedback.
    function getLastIndex(uint256 agentId, address clientAddress) external view returns (uint64 lastIndex);

    /// @notice Returns the number of an agent's feedbacks.
    /// @param agentId The agent.
    /// @return count The number; 0 for an unknown agent.
    function getFeedbackCount(uint256 agentId) external view returns (uint64 count);

    /// @notice Reads one feedback of an agent.
    /// @dev Reverts with `PositionOutOfBounds` unless the position is below `getFeedbackCount(agentId)`.
    /// @param agentId The agent.
    /// @param position The position among all feedback of the agent, from 0, the oldest first.
    /// @return feedback The feedback.
    function getFeedback(uint256 agentId, uint64 position) external view returns (Feedback memory feedback);

    /// @notice Reads a page of an agent's feedback, the oldest first.
    /// @dev Reads one to three words per feedback.
    /// @param agentId The agent.
    /// @param offset The number of feedbacks to skip.
    /// @param limit The largest number of feedbacks to return.
    /// @return page The feedback; shorter than `limit`, or empty, at the end.
    function getFeedbackPage(
        uint256 agentId,
        uint256 offset,
        uint256 limit
    ) external view returns (Feedback[] memory page);

    /// @notice Reads a page of one client's feedback on an agent, the oldest first.
    /// @dev Reads two to four words per feedback.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @param offset The number of feedbacks to skip.
    /// @param limit The largest number of feedbacks to return.
    /// @return page The feedback; shorter than `limit`, or empty, at the end.
    function getClientFeedbackPage(
        uint256 agentId,
        address clientAddress,
        uint256 offset,
        uint256 limit
    ) external view returns (Feedback[] memory page);

    /// @notice Returns the digest that an agent's owner signs to authorise feedback.
    /// @dev The EIP-712 digest in the domain of this registry on this chain, for any `auth.chainId`.
    /// @param auth The authorisation.
    /// @return digest The digest.
    function hashFeedbackAuth(FeedbackAuth calldata auth) external view returns (bytes32 digest);
}
