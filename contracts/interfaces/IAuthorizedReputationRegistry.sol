// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Reputation registry for feedback that the agent's owner authorises
/// @notice Clients rate agents from 0 to 100, as often as the owner of the agent's token has authorised by signature.
/// Feedback is permanent: nobody can change, revoke or remove it.
/// @dev The owner signs the following EIP-712 typed data in this registry's domain (`AuthorizedReputationRegistry`,
/// version `1`):
/// `FeedbackAuth(uint256 agentId,address clientAddress,uint64 indexLimit,uint256 expiry,uint256 chainId)`. The client
/// passes it as `feedbackAuth`: the five fields as five words (`abi.encode`), followed by the signature.
///
/// A client's index for an agent is the number of feedback entries that the client has given the agent. It starts at 0
/// and never decreases. An authorisation is valid while the index is below `indexLimit`, so a limit of the current
/// index plus three allows three more entries.
///
/// An authorisation cannot be revoked. It becomes invalid when it expires, when its limit is reached, or when the
/// agent's token is transferred, unless the new owner accepts the same signature. If the token returns to the owner who
/// signed, the remainder of the authorisation becomes valid again.
/// WARNING: the specification prescribes the signed struct, which does not name the owner. If two contract wallets
/// accept signatures by the same key, and neither binds the digest to its own address, each accepts the other's
/// authorisations (ERC-1271).
///
/// Sample:
/// ```
/// // the agent's owner signs hashFeedbackAuth(FeedbackAuth(agentId, client, getLastIndex(agentId, client) + 1, ...))
/// registry.giveFeedback(agentId, 92, "defi", "swap", "ipfs://...", filehash, feedbackAuth);
/// (uint64 count, uint8 averageScore) = registry.getSummary(agentId);
/// ```
interface IAuthorizedReputationRegistry {
    /// @notice An authorisation, to be signed by the agent's owner.
    /// @param agentId The agent that the client may rate.
    /// @param clientAddress The client.
    /// @param indexLimit The exclusive upper bound of the client's index when it rates.
    /// @param expiry The last second in which it is valid, as a Unix timestamp.
    /// @param chainId The EIP-155 id of the chain on which the authorisation is valid.
    struct FeedbackAuth {
        uint256 agentId;
        address clientAddress;
        uint64 indexLimit;
        uint256 expiry;
        uint256 chainId;
    }

    /// @notice A feedback entry, as the client gave it.
    /// @param position Its position among the agent's feedback entries, counted from 0.
    /// @param clientAddress The client.
    /// @param score The score, from 0 to 100.
    /// @param tag1 The first tag: UTF-8, right-padded with zeros; zero if there is no tag.
    /// @param tag2 The second tag, in the same format.
    /// @param timestamp The timestamp of its block.
    struct Feedback {
        uint64 position;
        address clientAddress;
        uint8 score;
        bytes32 tag1;
        bytes32 tag2;
        uint64 timestamp;
    }

    /// @notice Emitted when a client rates an agent.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @param score The score, from 0 to 100.
    /// @param tag1 The first tag; zero if there is no tag.
    /// @param tag2 The second tag; zero if there is no tag.
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

    /// @notice The word for the client in `feedbackAuth` is not a valid address.
    /// @param word The word.
    error ClientAddressOutOfRange(uint256 word);

    /// @notice The word for the index limit in `feedbackAuth` is not a valid `uint64`.
    /// @param word The word.
    error IndexLimitOutOfRange(uint256 word);

    /// @notice The authorisation is for another agent.
    /// @param agentId The agent that the client wants to rate.
    /// @param authorizedAgentId The agent named in the authorisation.
    error AgentNotAuthorized(uint256 agentId, uint256 authorizedAgentId);

    /// @notice The authorisation is for another client.
    /// @param caller The account that wants to rate.
    /// @param authorizedClient The client named in the authorisation.
    error ClientNotAuthorized(address caller, address authorizedClient);

    /// @notice The authorisation is for another chain.
    /// @param chainId This chain.
    /// @param authorizedChainId The chain named in the authorisation.
    error ChainNotAuthorized(uint256 chainId, uint256 authorizedChainId);

    /// @notice The authorisation has expired.
    /// @param expiry The last second in which it was valid, as a Unix timestamp.
    /// @param timestamp The block's timestamp.
    error FeedbackAuthExpired(uint256 expiry, uint256 timestamp);

    /// @notice The client's index has reached the limit of the authorisation.
    /// @param lastIndex The client's index: the number of feedback entries that it has given the agent.
    /// @param indexLimit The limit; `lastIndex` must be below it.
    error IndexLimitReached(uint64 lastIndex, uint64 indexLimit);

    /// @notice The agent does not exist. The identity registry reverts with this error.
    /// @param tokenId The agent.
    error ERC721NonexistentToken(uint256 tokenId);

    /// @notice The client may act for the agent, and therefore cannot rate it.
    /// @param agentId The agent.
    /// @param clientAddress The client: the agent's owner, an operator, or the approved address.
    error SelfFeedbackNotAllowed(uint256 agentId, address clientAddress);

    /// @notice The owner is an account without code, and the signature has the wrong length.
    /// @param length The length of the signature, in bytes.
    /// @param expected The valid length, in bytes.
    error SignatureLengthInvalid(uint256 length, uint256 expected);

    /// @notice The signature is malleable: its `s` is in the upper half of the curve's order.
    /// @param s The signature's `s`.
    error SignatureMalleable(bytes32 s);

    /// @notice No signer can be recovered: `v` is neither 27 nor 28, or `r` or `s` is invalid.
    /// @param digest The EIP-712 digest of the authorisation.
    error SignatureUnrecoverable(bytes32 digest);

    /// @notice The signer is not the agent's current owner, or the owner signed a different message.
    /// @param signer The account recovered from the signature and the digest.
    /// @param owner The current owner of the agent.
    error SignerNotOwner(address signer, address owner);

    /// @notice The agent's owner is an account with code that neither signed nor accepts the signature under ERC-1271.
    /// @param owner The current owner of the agent.
    /// @param digest The EIP-712 digest of the authorisation.
    error SignatureRefused(address owner, bytes32 digest);

    /// @notice The agent has no feedback at this position.
    /// @param agentId The agent.
    /// @param position The position, from 0.
    /// @param count The number of the agent's feedback entries.
    error PositionOutOfBounds(uint256 agentId, uint64 position, uint64 count);

    /// @notice Rates an agent.
    /// @dev Can only be called by a client that the agent's owner has authorised. Increments the client's index for the
    /// agent. Emits `NewFeedback`. Reverts with the first applicable error: `ScoreTooHigh`; for a malformed
    /// `feedbackAuth`, `FeedbackAuthTooShort`, `ClientAddressOutOfRange`, `IndexLimitOutOfRange`; for its content,
    /// `AgentNotAuthorized`, `ClientNotAuthorized`, `ChainNotAuthorized`, `FeedbackAuthExpired`, `IndexLimitReached`;
    /// for the agent, `ERC721NonexistentToken`, `SelfFeedbackNotAllowed`; for the signature, `SignatureRefused` if the
    /// owner has code, and otherwise `SignatureLengthInvalid`, `SignatureMalleable`, `SignatureUnrecoverable`,
    /// `SignerNotOwner`.
    ///
    /// The signature is ECDSA (65 bytes: `r`, `s` in the lower half, `v` 27 or 28), or any bytes that the owner's code
    /// accepts under ERC-1271. A delegated account (EIP-7702) can use either. The registry validates neither the tags
    /// nor the file. FeedbackAuth FR-008 to FR-011, FR-014 to FR-017, FR-019 to FR-023.
    /// WARNING: an owner that is a contract can reject any signature at any time, and can consume the gas that is
    /// available for the check.
    /// @param agentId The agent.
    /// @param score The score, from 0 to 100.
    /// @param tag1 The first tag: UTF-8, right-padded with zeros; zero if there is no tag.
    /// @param tag2 The second tag, in the same format.
    /// @param fileuri The URI of a file with details, of any length; empty if there is no file. Not stored.
    /// @param filehash The hash of that file; zero if there is no file. Not stored.
    /// @param feedbackAuth The five fields of `FeedbackAuth`, one word each, followed by the owner's signature.
    function giveFeedback(
        uint256 agentId,
        uint8 score,
        bytes32 tag1,
        bytes32 tag2,
        string calldata fileuri,
        bytes32 filehash,
        bytes calldata feedbackAuth
    ) external;

    /// @notice Returns the average of all feedback for an agent. Every entry has the same weight, whichever client gave
    /// it.
    /// @dev Reads one storage word, however much feedback there is. FeedbackAuth FR-012, FR-013.
    /// @param agentId The agent.
    /// @return count The number of feedback entries; 0 for an unknown agent.
    /// @return averageScore The sum of the scores divided by `count`, rounded toward zero; 0 if there is no feedback.
    function getSummary(uint256 agentId) external view returns (uint64 count, uint8 averageScore);

    /// @notice Returns a client's index for an agent: the number of its feedback entries, which `indexLimit` bounds.
    /// @dev FeedbackAuth FR-020.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @return lastIndex The index; 0 if there is no feedback.
    function getLastIndex(uint256 agentId, address clientAddress) external view returns (uint64 lastIndex);

    /// @notice Returns the number of feedback entries for an agent.
    /// @param agentId The agent.
    /// @return count The number; 0 for an unknown agent.
    function getFeedbackCount(uint256 agentId) external view returns (uint64 count);

    /// @notice Returns one feedback entry for an agent.
    /// @dev Reverts with `PositionOutOfBounds` unless the position is below `getFeedbackCount(agentId)`.
    /// @param agentId The agent.
    /// @param position The position among the agent's feedback entries, counted from 0, oldest first.
    /// @return feedback The feedback entry.
    function getFeedback(uint256 agentId, uint64 position) external view returns (Feedback memory feedback);

    /// @notice Returns a page of an agent's feedback entries, oldest first.
    /// @dev Reads one to three storage words per entry.
    /// @param agentId The agent.
    /// @param offset The number of entries to skip.
    /// @param limit The maximum number of entries to return.
    /// @return page The entries; fewer than `limit`, or none, at the end.
    function getFeedbackPage(
        uint256 agentId,
        uint256 offset,
        uint256 limit
    ) external view returns (Feedback[] memory page);

    /// @notice Returns a page of one client's feedback entries for an agent, oldest first.
    /// @dev Reads two to four storage words per entry.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @param offset The number of entries to skip.
    /// @param limit The maximum number of entries to return.
    /// @return page The entries; fewer than `limit`, or none, at the end.
    function getClientFeedbackPage(
        uint256 agentId,
        address clientAddress,
        uint256 offset,
        uint256 limit
    ) external view returns (Feedback[] memory page);

    /// @notice Returns the digest that an agent's owner signs to authorise feedback.
    /// @dev The EIP-712 digest in the domain of this registry on this chain, whatever `auth.chainId` is.
    /// @param auth The authorisation.
    /// @return digest The digest.
    function hashFeedbackAuth(FeedbackAuth calldata auth) external view returns (bytes32 digest);
}
