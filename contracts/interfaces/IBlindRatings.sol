// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Blind ratings: a server and its client rate each other, and neither sees the other's rating first
/// @notice Each side signs an envelope that holds the hash of its rating. `seal` stores both envelopes in one word, and
/// closes the open path for the pair. Both ratings are opened later, or never: nobody can change one.
/// @dev A blind rating has the events and views of an open one: `ClientRated`, `NewFeedback`, `getClientRating`,
/// `readFeedback`. Any account may send these functions. The envelopes are EIP-712 structs in the domain
/// `ERC8004ReputationRegistry` version `1`:
/// ```
/// SealedFeedback(uint256 clientId,address client,uint256 serverId,address server,
///     bytes32 interaction,bytes32 seal,uint256 deadline)
/// SealedRating(uint256 clientId,address client,uint256 serverId,address server,
///     bytes32 interaction,bytes32 seal,uint256 deadline)
/// clientSeal = keccak256(abi.encode(salt, client, serverId, feedback)); // feedback: BlindFeedback
/// serverSeal = keccak256(abi.encode(salt, rating, clientId, serverId));
/// ```
/// The salt is 32 random bytes. Without one, 101 hashes reveal a rating. Signatures are as in `giveFeedbackBySig`.
/// The client opens first, or both at once: only the server's open path is closed. The client can still give open
/// feedback and revoke.
///
/// WARNING: `exchange` shows both ratings to readers of a public mempool, before anything is stored. There, use `seal`,
/// wait until it is final, and then `open`. The registry does not check `interaction`. `voidSignaturesThrough` voids no
/// envelope: sign with near deadlines. A blind rating can still be praise by a friend.
///
/// Sample:
/// ```
/// registry.seal(pair, clientSignature, serverSignature);
/// registry.open(pair, feedback, clientSalt, 95, serverSalt); // after confirmations
/// ```
interface IBlindRatings {
    /// @notice The state of a server's rating of a client.
    /// @dev `None`: not rated. `Open`: rated openly. `Sealed`: reserved, not opened. `Blind`: opened after a seal.
    enum RatingState {
        None,
        Open,
        Sealed,
        Blind
    }

    /// @notice Both envelopes.
    /// @dev In this order of the fields, no function of this interface has a lower selector than `giveFeedback`. Each
    /// lower one would add 22 gas to a feedback.
    /// @param interaction The id of the paid interaction; any value, the same in both envelopes.
    /// @param clientId The client: the primary agent of the account `client` at sealing time.
    /// @param client The account that gives the feedback.
    /// @param serverId The server: the primary agent of the account `server` at sealing time.
    /// @param server The account that rates the client.
    /// @param clientSeal The hash of the feedback and its salt.
    /// @param clientDeadline The last second in which the client's envelope can be sealed, in Unix time.
    /// @param serverSeal The hash of the rating and its salt.
    /// @param serverDeadline The last second in which the server's envelope can be sealed, in Unix time.
    struct Pair {
        bytes32 interaction;
        uint256 clientId;
        address client;
        uint256 serverId;
        address server;
        bytes32 clientSeal;
        uint256 clientDeadline;
        bytes32 serverSeal;
        uint256 serverDeadline;
    }

    /// @notice A feedback about the server of a pair. It gets its index when it is opened.
    /// @param value The value, times `10 ** valueDecimals`; from -1e38 to 1e38.
    /// @param valueDecimals The decimals of `value`, 0 to 18.
    /// @param tag1 The first tag; may be empty.
    /// @param tag2 The second tag; may be empty.
    /// @param endpoint The endpoint that the client used; may be empty.
    /// @param feedbackURI The URI of the feedback file; may be empty.
    /// @param feedbackHash The keccak256 of that file; zero without a file.
    struct BlindFeedback {
        int128 value;
        uint8 valueDecimals;
        string tag1;
        string tag2;
        string endpoint;
        string feedbackURI;
        bytes32 feedbackHash;
    }

    /// @notice A client and a server sealed their ratings of each other.
    /// @param clientId The client.
    /// @param serverId The server.
    /// @param interaction The id of the interaction.
    event RatingsSealed(uint256 indexed clientId, uint256 indexed serverId, bytes32 indexed interaction);

    /// @notice Blind ratings were opened: `ClientRated` or `NewFeedback`, or both, precede this event.
    /// @param clientId The client.
    /// @param serverId The server.
    /// @param interaction The id of the interaction.
    /// @param client The account whose feedback belongs to the pair.
    /// @param feedbackIndex The index of the opened feedback; 0 if only the rating was opened.
    event RatingsOpened(
        uint256 indexed clientId,
        uint256 indexed serverId,
        bytes32 indexed interaction,
        address client,
        uint64 feedbackIndex
    );

    /// @notice The deadline of an envelope has passed.
    /// @param deadline The earlier deadline of both envelopes, in Unix time.
    /// @param time The time of the block, in Unix time.
    error EnvelopeExpired(uint256 deadline, uint256 time);

    /// @notice The client's account speaks as another agent than the envelopes say, or as none.
    /// @param expected The client in the envelopes.
    /// @param found The primary agent of the client's account.
    error UnexpectedClient(uint256 expected, uint256 found);

    /// @notice The registry holds no such pair, or the feedback of the pair is already open.
    /// @param pairHash The keccak256 of the pair, with bit 0 cleared.
    /// @param stored The stored word of this client and server: zero without a pair, and `pairHash + 1` for this pair
    /// if its feedback is open.
    error UnknownPair(uint256 pairHash, uint256 stored);

    /// @notice A salt or a rating differs from the sealed one.
    /// @param seal The hash in the envelope.
    /// @param opening The hash of the salt and the rating.
    error SealMismatch(bytes32 seal, bytes32 opening);

    /// @notice Stores both envelopes. From now on the server cannot rate the client openly.
    /// @dev For any account. Emits `RatingsSealed`. Reverts, in this order, with `EnvelopeExpired`, `UnexpectedRater`,
    /// `UnexpectedClient`, `CannotRateSelf`, `InvalidSignature` for the client and then for the server, `AlreadyRated`.
    /// The registry cannot check that a seal can be opened.
    /// @param pair Both envelopes.
    /// @param clientSignature The client's signature of `SealedFeedback`.
    /// @param serverSignature The server's signature of `SealedRating`.
    function seal(Pair calldata pair, bytes calldata clientSignature, bytes calldata serverSignature) external;

    /// @notice Opens both ratings of a sealed pair, or none.
    /// @dev For any account, at any time; the deadlines no longer count. Emits `ClientRated`, `NewFeedback`,
    /// `RatingsOpened`. Reverts, in this order, with `UnknownPair`, `SealMismatch` for the feedback and then for the
    /// rating, `RatingTooHigh`, `AlreadyRated` if the rating is already open, and then as `giveFeedback` does with the
    /// client's account as the caller.
    /// @param pair The sealed pair.
    /// @param feedback The client's feedback.
    /// @param clientSalt The salt of the client's seal.
    /// @param rating The server's rating, 0 to 100.
    /// @param serverSalt The salt of the server's seal.
    function open(
        Pair calldata pair,
        BlindFeedback calldata feedback,
        bytes32 clientSalt,
        uint8 rating,
        bytes32 serverSalt
    ) external;

    /// @notice Opens the client's feedback of a sealed pair. The rating stays sealed.
    /// @dev For any account. Emits `NewFeedback`, `RatingsOpened`. Reverts, in this order, with `UnknownPair`, also if
    /// the feedback is already open, `SealMismatch`, and then as `giveFeedback` does.
    /// @param pair The sealed pair.
    /// @param feedback The client's feedback.
    /// @param clientSalt The salt of the client's seal.
    function openFeedback(Pair calldata pair, BlindFeedback calldata feedback, bytes32 clientSalt) external;

    /// @notice Opens the server's rating of a sealed pair. Feedback that is not yet open stays sealed.
    /// @dev For any account. Emits `ClientRated`, `RatingsOpened`. Reverts, in this order, with `UnknownPair`,
    /// `SealMismatch`, `RatingTooHigh`, `AlreadyRated` if the rating is already open.
    /// WARNING: a server that opens first lets the client see the rating, and give open feedback instead.
    /// @param pair The sealed pair.
    /// @param rating The server's rating, 0 to 100.
    /// @param serverSalt The salt of the server's seal.
    function openRating(Pair calldata pair, uint8 rating, bytes32 serverSalt) external;

    /// @notice Seals and opens both ratings in one transaction.
    /// @dev For any account. Emits the events of `open`, and no `RatingsSealed`. Reverts, in this order, as `seal` does
    /// without `AlreadyRated`, with `SealMismatch` for the feedback and then for the rating, `RatingTooHigh`,
    /// `AlreadyRated`, and then as `giveFeedback` does.
    /// WARNING: only for chains without a public mempool.
    /// @param pair Both envelopes.
    /// @param clientSignature The client's signature of `SealedFeedback`.
    /// @param serverSignature The server's signature of `SealedRating`.
    /// @param feedback The client's feedback.
    /// @param clientSalt The salt of the client's seal.
    /// @param rating The server's rating, 0 to 100.
    /// @param serverSalt The salt of the server's seal.
    function exchange(
        Pair calldata pair,
        bytes calldata clientSignature,
        bytes calldata serverSignature,
        BlindFeedback calldata feedback,
        bytes32 clientSalt,
        uint8 rating,
        bytes32 serverSalt
    ) external;

    /// @notice Returns the state of a server's rating of a client. Never reverts.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    /// @return state The state. `getClientRating` returns the rating if it is `Open` or `Blind`.
    function ratingStateOf(uint256 agentClientId, uint256 agentServerId) external view returns (RatingState state);

    /// @notice Returns the stored word of a client and a server. Never reverts.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    /// @return pairHash The keccak256 of the sealed pair, ABI-encoded, with bit 0 cleared; zero without a sealed pair.
    /// @return isFeedbackOpen True if the feedback of the sealed pair is open.
    function getSealedPair(
        uint256 agentClientId,
        uint256 agentServerId
    ) external view returns (uint256 pairHash, bool isFeedbackOpen);
}
