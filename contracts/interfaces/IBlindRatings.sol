// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Blind ratings: a server and its client rate each other, and neither sees the other's rating first
/// @notice Each side signs an envelope that contains the hash of its rating. `seal` commits to both envelopes in one
/// storage word, after which the server can no longer rate this client openly. The ratings are opened later or never,
/// but neither can be changed.
/// @dev A blind rating has the same events and views as an open one: `ClientRated`, `NewFeedback`, `getClientRating`,
/// `readFeedback`. Any account may call these functions. The envelopes are EIP-712 structs in the domain
/// `ERC8004ReputationRegistry` version `1`:
/// ```
/// SealedFeedback(uint256 clientId,address client,uint256 serverId,address server,
///     bytes32 interaction,bytes32 seal,uint256 deadline)
/// SealedRating(uint256 clientId,address client,uint256 serverId,address server,
///     bytes32 interaction,bytes32 seal,uint256 deadline)
/// clientSeal = keccak256(abi.encode(salt, client, serverId, feedback)); // feedback: BlindFeedback
/// serverSeal = keccak256(abi.encode(salt, rating, clientId, serverId));
/// ```
/// The salt consists of 32 random bytes. Without it, hashing all 101 possible ratings would reveal the sealed one.
/// Signatures work as in `giveFeedbackBySig`. Open the client's feedback first, or open both together: sealing prevents
/// only the server from rating openly, so the client can still give open feedback and revoke feedback.
///
/// WARNING: `exchange` reveals both ratings to anyone who watches a public mempool, before anything is stored. On a
/// chain with a public mempool, call `seal`, wait until it is final, and then call `open`. The registry does not check
/// `interaction`. `voidSignaturesThrough` does not void envelopes, so sign them with deadlines in the near future.
/// Blind rating does not prevent friends from praising each other.
///
/// Sample:
/// ```
/// registry.seal(pair, clientSignature, serverSignature);
/// registry.open(pair, feedback, clientSalt, 95, serverSalt); // after confirmations
/// ```
interface IBlindRatings {
    /// @notice The state of a server's rating of a client.
    /// @dev `None`: not rated. `Open`: rated openly. `Sealed`: sealed, but not yet opened. `Blind`: sealed and then
    /// opened.
    enum RatingState {
        None,
        Open,
        Sealed,
        Blind
    }

    /// @notice The envelopes of both sides.
    /// @dev The order of the fields determines the selectors. With this order, no function of this interface has a
    /// lower selector than `giveFeedback`; each one that did would add 22 gas to the cost of giving feedback.
    /// @param interaction The id of the paid interaction; any value, but the same in both envelopes.
    /// @param clientId The client: the primary agent of the account `client` at the time of sealing.
    /// @param client The account that gives the feedback.
    /// @param serverId The server: the primary agent of the account `server` at the time of sealing.
    /// @param server The account that rates the client.
    /// @param clientSeal The hash of the feedback and its salt.
    /// @param clientDeadline The last second in which the client's envelope can be sealed, as a Unix timestamp.
    /// @param serverSeal The hash of the rating and its salt.
    /// @param serverDeadline The last second in which the server's envelope can be sealed, as a Unix timestamp.
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

    /// @notice A feedback entry about the server of a pair. It is assigned an index when it is opened.
    /// @param value The value, times `10 ** valueDecimals`; from -1e38 to 1e38.
    /// @param valueDecimals The decimals of `value`, 0 to 18.
    /// @param tag1 The first tag; may be empty.
    /// @param tag2 The second tag; may be empty.
    /// @param endpoint The endpoint that the client used; may be empty.
    /// @param feedbackURI The URI of the feedback file; may be empty.
    /// @param feedbackHash The keccak256 of that file; zero if there is no file.
    struct BlindFeedback {
        int128 value;
        uint8 valueDecimals;
        string tag1;
        string tag2;
        string endpoint;
        string feedbackURI;
        bytes32 feedbackHash;
    }

    /// @notice Emitted when a client and a server seal their ratings of each other.
    /// @param clientId The client.
    /// @param serverId The server.
    /// @param interaction The id of the interaction.
    event RatingsSealed(uint256 indexed clientId, uint256 indexed serverId, bytes32 indexed interaction);

    /// @notice Emitted when blind ratings are opened, after `ClientRated`, `NewFeedback` or both.
    /// @param clientId The client.
    /// @param serverId The server.
    /// @param interaction The id of the interaction.
    /// @param client The account whose feedback is part of the pair.
    /// @param feedbackIndex The index of the opened feedback; 0 if only the rating was opened.
    event RatingsOpened(
        uint256 indexed clientId,
        uint256 indexed serverId,
        bytes32 indexed interaction,
        address client,
        uint64 feedbackIndex
    );

    /// @notice The deadline of one of the envelopes has passed.
    /// @param deadline The earlier of the two deadlines, as a Unix timestamp.
    /// @param time The block's timestamp.
    error EnvelopeExpired(uint256 deadline, uint256 time);

    /// @notice The primary agent of the client's account is not the client named in the envelopes.
    /// @param expected The client named in the envelopes.
    /// @param found The primary agent of the client's account; 0 if it has none.
    error UnexpectedClient(uint256 expected, uint256 found);

    /// @notice The registry has not stored this pair, or the feedback of the pair is already open.
    /// @param pairHash The keccak256 of the pair, with bit 0 cleared.
    /// @param stored The stored word of this client and server: zero if they have no sealed pair, and `pairHash + 1` if
    /// the feedback of this pair is open.
    error UnknownPair(uint256 pairHash, uint256 stored);

    /// @notice The salt, or the rating or feedback being opened, does not match the sealed one.
    /// @param seal The hash in the envelope.
    /// @param opening The hash of the salt and of the rating or feedback that the caller passed.
    error SealMismatch(bytes32 seal, bytes32 opening);

    /// @notice Seals both envelopes. From then on, the server cannot rate the client openly.
    /// @dev Can be called by any account. Emits `RatingsSealed`. Reverts with the first applicable error:
    /// `EnvelopeExpired`, `UnexpectedRater`, `UnexpectedClient`, `CannotRateSelf`, `InvalidSignature` for the client
    /// and then for the server, `AlreadyRated`. The registry cannot verify that a seal can ever be opened.
    /// @param pair Both envelopes.
    /// @param clientSignature The client's signature of `SealedFeedback`.
    /// @param serverSignature The server's signature of `SealedRating`.
    function seal(Pair calldata pair, bytes calldata clientSignature, bytes calldata serverSignature) external;

    /// @notice Opens both ratings of a sealed pair, or neither of them.
    /// @dev Can be called by any account at any time, because the deadlines apply to sealing only. Emits `ClientRated`,
    /// `NewFeedback` and `RatingsOpened`. Reverts with the first applicable error: `UnknownPair`, `SealMismatch` for
    /// the feedback and then for the rating, `RatingTooHigh`, `AlreadyRated` if the rating is already open, or an error
    /// of `giveFeedback`, with the client's account as the caller.
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

    /// @notice Opens the client's feedback of a sealed pair. The server's rating stays sealed.
    /// @dev Can be called by any account. Emits `NewFeedback` and `RatingsOpened`. Reverts with the first applicable
    /// error: `UnknownPair`, including if the feedback is already open, `SealMismatch`, or an error of `giveFeedback`.
    /// @param pair The sealed pair.
    /// @param feedback The client's feedback.
    /// @param clientSalt The salt of the client's seal.
    function openFeedback(Pair calldata pair, BlindFeedback calldata feedback, bytes32 clientSalt) external;

    /// @notice Opens the server's rating of a sealed pair. If the client's feedback is not yet open, it stays sealed.
    /// @dev Can be called by any account. Emits `ClientRated` and `RatingsOpened`. Reverts with the first applicable
    /// error: `UnknownPair`, `SealMismatch`, `RatingTooHigh`, `AlreadyRated` if the rating is already open.
    /// WARNING: if the server opens its rating first, the client can see it and give open feedback instead of the
    /// sealed one.
    /// @param pair The sealed pair.
    /// @param rating The server's rating, 0 to 100.
    /// @param serverSalt The salt of the server's seal.
    function openRating(Pair calldata pair, uint8 rating, bytes32 serverSalt) external;

    /// @notice Seals and opens both ratings in one transaction.
    /// @dev Can be called by any account. Emits the events of `open`, but not `RatingsSealed`. Reverts with the first
    /// applicable error: those of `seal` except `AlreadyRated`, `SealMismatch` for the feedback and then for the
    /// rating, `RatingTooHigh`, `AlreadyRated`, or an error of `giveFeedback`.
    /// WARNING: use this function only on chains without a public mempool.
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
    /// @return pairHash The keccak256 of the sealed pair, ABI-encoded, with bit 0 cleared; zero if there is no sealed
    /// pair.
    /// @return isFeedbackOpen True if the feedback of the sealed pair is open.
    function getSealedPair(
        uint256 agentClientId,
        uint256 agentServerId
    ) external view returns (uint256 pairHash, bool isFeedbackOpen);
}
