// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Reputation registry for feedback that the agent's owner has authorised
/// @notice A client rates an agent with a score from 0 to 100, at most as often as the owner of the agent's token has
/// signed for. What is given stays for ever: nobody can alter, revoke or remove it.
/// @dev The owner signs, as EIP-712 typed data in this registry's domain (`AuthorizedReputationRegistry`, version `1`),
/// `FeedbackAuth(uint256 agentId,address clientAddress,uint64 indexLimit,uint256 expiry,uint256 chainId)`. The client
/// hands in `feedbackAuth`: the five fields as five words (`abi.encode`), followed by the signature.
///
/// A client's index for an agent counts the feedback that it has given to that agent. It starts at 0 and never falls.
/// An authorisation may be used as long as the index is below its `indexLimit`, however often that is: a limit of the
/// present index plus three stands for three more.
///
/// There is no revocation of an authorisation. It ends with its expiry, with its limit, and when the agent's token is
/// transferred; should the token come back to the owner who signed, what is left of it is valid again.
///
/// Sample:
/// ```
/// // the agent's owner signs hashFeedbackAuth(FeedbackAuth(agentId, client, getLastIndex(agentId, client) + 1, ...))
/// registry.giveFeedback(agentId, 92, "defi", "swap", "ipfs://...", filehash, feedbackAuth);
/// (uint64 count, uint8 averageScore) = registry.getSummary(agentId);
/// ```
interface IAuthorizedReputationRegistry {
    /// @notice What an agent's owner signs.
    /// @param agentId The agent that may be rated.
    /// @param clientAddress The account that may rate it.
    /// @param indexLimit The client's index must be below this when it rates: an exclusive upper bound.
    /// @param expiry The last second, in Unix time, in which the authorisation is valid.
    /// @param chainId The EIP-155 id of the chain on which it is valid.
    struct FeedbackAuth {
        uint256 agentId;
        address clientAddress;
        uint64 indexLimit;
        uint256 expiry;
        uint256 chainId;
    }

    /// @notice One feedback, as it was given.
    /// @param position Where it stands among all feedback of the agent, from 0.
    /// @param clientAddress Who gave it.
    /// @param score The score, from 0 to 100.
    /// @param tag1 The first tag: UTF-8, padded on the right with zeros; zero: none.
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

    /// @notice A client has rated an agent.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @param score The score, from 0 to 100.
    /// @param tag1 The first tag; zero: none.
    /// @param tag2 The second tag; zero: none.
    /// @param fileuri The URI of a file with details; may be empty. It is not stored.
    /// @param filehash The hash of that file; may be zero. It is not stored.
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
    /// @param maximum The highest score that is taken.
    error ScoreTooHigh(uint8 score, uint8 maximum);

    /// @notice `feedbackAuth` ends before its five fields do.
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
    /// @param agentId The agent that was to be rated.
    /// @param authorizedAgentId The agent that it is for.
    error AgentNotAuthorized(uint256 agentId, uint256 authorizedAgentId);

    /// @notice The authorisation is for another client.
    /// @param caller The account that wanted to rate.
    /// @param authorizedClient The client that it is for.
    error ClientNotAuthorized(address caller, address authorizedClient);

    /// @notice The authorisation is for another chain.
    /// @param chainId This chain.
    /// @param authorizedChainId The chain that it is for.
    error ChainNotAuthorized(uint256 chainId, uint256 authorizedChainId);

    /// @notice The authorisation is no longer valid.
    /// @param expiry The last second in which it was, in Unix time.
    /// @param timestamp The present time, in Unix seconds.
    error FeedbackAuthExpired(uint256 expiry, uint256 timestamp);

    /// @notice The client has already given all the feedback that this authorisation covers.
    /// @param lastIndex How much feedback the client has given to the agent.
    /// @param indexLimit The authorisation's limit, which `lastIndex` must be below.
    error IndexLimitReached(uint64 lastIndex, uint64 indexLimit);

    /// @notice There is no such agent. The error of the identity registry, passed on.
    /// @param tokenId The agent.
    error ERC721NonexistentToken(uint256 tokenId);

    /// @notice The client may act for the agent, so it may not rate it.
    /// @param agentId The agent.
    /// @param clientAddress Its owner, an operator of the owner, or the address approved for it.
    error SelfFeedbackNotAllowed(uint256 agentId, address clientAddress);

    /// @notice The owner of the agent is an account without code, whose signatures have another length.
    /// @param length The length of the signature, in bytes.
    /// @param expected The length that it must have, in bytes.
    error SignatureLengthInvalid(uint256 length, uint256 expected);

    /// @notice The signature is the malleable twin of another: its `s` is in the upper half of the curve's order.
    /// @param s That `s`.
    error SignatureMalleable(bytes32 s);

    /// @notice The signature is nobody's: `v` is neither 27 nor 28, or `r` or `s` are not those of any signature.
    /// @param digest What should have been signed.
    error SignatureUnrecoverable(bytes32 digest);

    /// @notice Somebody else than the agent's present owner has signed, or something else was signed.
    /// @param signer Whose signature of the digest it is.
    /// @param owner The present owner of the agent.
    error SignerNotOwner(address signer, address owner);

    /// @notice The agent's owner is a contract, or is delegated to one, and does not accept the signature.
    /// @param owner The present owner of the agent.
    /// @param digest What should have been signed.
    error SignatureRefused(address owner, bytes32 digest);

    /// @notice The agent has no feedback in this position.
    /// @param agentId The agent.
    /// @param position The position, from 0.
    /// @param count How much feedback the agent has.
    error PositionOutOfBounds(uint256 agentId, uint64 position, uint64 count);

    /// @notice Rates an agent.
    /// @dev For the client that the agent's owner has authorised. Adds one to that client's index for the agent. Emits
    /// `NewFeedback`. Reverts, in this order, with `ScoreTooHigh`; for the form of `feedbackAuth`
    /// `FeedbackAuthTooShort`, `ClientAddressOutOfRange`, `IndexLimitOutOfRange`; for what it says
    /// `AgentNotAuthorized`, `ClientNotAuthorized`, `ChainNotAuthorized`, `FeedbackAuthExpired`, `IndexLimitReached`;
    /// for the agent `ERC721NonexistentToken`, `SelfFeedbackNotAllowed`; for the signature `SignatureRefused` if the
    /// owner has code, else `SignatureLengthInvalid`, `SignatureMalleable`, `SignatureUnrecoverable`, `SignerNotOwner`.
    ///
    /// The owner's signature is ECDSA (65 bytes: `r`, `s` in the lower half, `v` 27 or 28), also for an account that is
    /// delegated (EIP-7702), or what its contract accepts by ERC-1271, of any length.
    /// Neither tags nor file are checked. FeedbackAuth FR-008 to FR-011, FR-014 to FR-017, FR-019 to FR-023.
    /// WARNING: an owner that is a contract may change its mind at any time, and may use up the gas that it is given.
    /// @param agentId The agent.
    /// @param score The score, from 0 to 100.
    /// @param tag1 The first tag: UTF-8, padded on the right with zeros; zero: none.
    /// @param tag2 The second tag, likewise.
    /// @param fileuri The URI of a file with details, of any length; empty: none.
    /// @param filehash The hash of that file; zero: none.
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

    /// @notice Sums up all feedback of an agent. Every feedback counts the same, whoever gave it.
    /// @dev One storage read, however much feedback there is. FeedbackAuth FR-012, FR-013.
    /// @param agentId The agent.
    /// @return count How much feedback it has; 0 for an unknown agent.
    /// @return averageScore The sum of the scores divided by `count`, rounded toward zero; 0 if there is none.
    function getSummary(uint256 agentId) external view returns (uint64 count, uint8 averageScore);

    /// @notice How much feedback a client has given to an agent: the index that `indexLimit` is compared with.
    /// @dev FeedbackAuth FR-020.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @return lastIndex The number; 0 if it has given none.
    function getLastIndex(uint256 agentId, address clientAddress) external view returns (uint64 lastIndex);

    /// @notice How much feedback an agent has.
    /// @param agentId The agent.
    /// @return count The number; 0 for an unknown agent.
    function getFeedbackCount(uint256 agentId) external view returns (uint64 count);

    /// @notice Reads one feedback of an agent.
    /// @dev Reverts with `PositionOutOfBounds` if there is none in that position.
    /// @param agentId The agent.
    /// @param position The position among all its feedback, from 0, in the order in which it was given.
    /// @return feedback The feedback.
    function getFeedback(uint256 agentId, uint64 position) external view returns (Feedback memory feedback);

    /// @notice Reads feedback of an agent, in the order in which it was given.
    /// @dev Reads one to three words per feedback.
    /// @param agentId The agent.
    /// @param offset How much of it to pass over.
    /// @param limit How much to return at most.
    /// @return page The feedback; shorter than `limit`, or empty, at the end.
    function getFeedbackPage(
        uint256 agentId,
        uint256 offset,
        uint256 limit
    ) external view returns (Feedback[] memory page);

    /// @notice Reads the feedback that one client has given to an agent, in the order in which it was given.
    /// @dev Reads two to four words per feedback.
    /// @param agentId The agent.
    /// @param clientAddress The client.
    /// @param offset How much of it to pass over.
    /// @param limit How much to return at most.
    /// @return page The feedback; shorter than `limit`, or empty, at the end.
    function getClientFeedbackPage(
        uint256 agentId,
        address clientAddress,
        uint256 offset,
        uint256 limit
    ) external view returns (Feedback[] memory page);

    /// @notice What an agent's owner must sign to authorise feedback.
    /// @dev The EIP-712 digest in the domain of this registry on this chain, whatever `auth.chainId` says.
    /// @param auth The authorisation.
    /// @return digest The digest.
    function hashFeedbackAuth(FeedbackAuth calldata auth) external view returns (bytes32 digest);
}
