// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Ratings of clients and validators by servers (EIP-8004a)
/// @notice A server rates its clients and validators from 0 to 100. Anyone can read these ratings before serving a
/// client.
/// @dev Ratings are final. A server can rate each agent once as a client and once as a validator, and nothing can
/// change or remove the rating. The rater is the caller's primary agent (`IAgentDirectory.agentOf`).
///
/// The scale: 0 to 30 is poor, 31 to 60 below average, 61 to 80 good, and 81 to 100 excellent.
///
/// A chain reorganization can give the same id to another agent, and `setPrimaryAgent` can change the rater before the
/// transaction is included. `rateClientAs`, `rateValidatorAs`, `rateClientsAs` and `rateValidatorsAs` revert in these
/// cases. They cannot distinguish two agents of the same owner, so wait until a registration is final.
///
/// WARNING: anyone can register an agent and rate others. A rating is only as trustworthy as the server that gave it.
///
/// Sample:
/// ```
/// (bool hasRating, uint8 rating) = registry.getClientRating(clientId, myServerId);
/// if (hasRating && rating < 70) revert("Client has poor reputation, declining service");
/// ```
interface IBidirectionalRatings {
    /// @notice Emitted when a server rates a client.
    /// @param clientId The client.
    /// @param serverId The server.
    /// @param rating The rating, 0 to 100.
    event ClientRated(uint256 indexed clientId, uint256 indexed serverId, uint8 rating);

    /// @notice Emitted when a server rates a validator.
    /// @param validatorId The validator.
    /// @param serverId The server.
    /// @param rating The rating, 0 to 100.
    event ValidatorRated(uint256 indexed validatorId, uint256 indexed serverId, uint8 rating);

    /// @notice The caller has no primary agent.
    /// @param account The caller.
    error RaterNotRegistered(address account);

    /// @notice The caller's primary agent is not the agent that the caller expected.
    /// @param expected The agent that the caller expected.
    /// @param found The caller's primary agent.
    error UnexpectedRater(uint256 expected, uint256 found);

    /// @notice No agent has the id that the caller wants to rate.
    /// @param agentId The id.
    error SubjectNotRegistered(uint256 agentId);

    /// @notice The owner of the agent to be rated is not the owner that the caller expected.
    /// @param agentId The agent.
    /// @param expected The owner that the caller expected.
    /// @param found The current owner.
    error UnexpectedOwner(uint256 agentId, address expected, address found);

    /// @notice The rating is higher than the scale allows.
    /// @param rating The rating.
    /// @param maximum The highest valid rating.
    error RatingTooHigh(uint8 rating, uint8 maximum);

    /// @notice An agent cannot rate itself.
    error CannotRateSelf();

    /// @notice The server has already rated this agent, and ratings are final.
    /// @param subjectId The rated agent.
    /// @param serverId The server.
    error AlreadyRated(uint256 subjectId, uint256 serverId);

    /// @notice A batch is empty.
    error EmptyBatch();

    /// @notice The lists of a batch have different lengths.
    /// @param agents The number of agents.
    /// @param others The number of ratings, or of owners.
    error UnequalBatch(uint256 agents, uint256 others);

    /// @notice One rating of a batch is invalid, so the whole batch reverts.
    /// @param position The position of the rating in the batch, from 0.
    /// @param reason The ABI-encoded error with which this rating would revert on its own.
    error RatingRefused(uint256 position, bytes reason);

    /// @notice Rates a client.
    /// @dev Can be called by any account that has a primary agent. Emits `ClientRated`. Reverts with the first
    /// applicable error: `RaterNotRegistered`, `SubjectNotRegistered`, `RatingTooHigh`, `CannotRateSelf`,
    /// `AlreadyRated`.
    /// @param agentClientId The client.
    /// @param rating The rating, 0 to 100.
    function rateClient(uint256 agentClientId, uint8 rating) external;

    /// @notice Rates a validator.
    /// @dev Can be called by any account that has a primary agent. Emits `ValidatorRated`. Reverts as `rateClient`
    /// does. An agent's ratings as a client and as a validator are independent of each other.
    /// @param agentValidatorId The validator.
    /// @param rating The rating, 0 to 100.
    function rateValidator(uint256 agentValidatorId, uint8 rating) external;

    /// @notice Rates many clients, all or none. A batch is cheapest if clients with neighbouring ids follow each other.
    /// @dev Can be called by any account that has a primary agent. Emits `ClientRated` for each client. Reverts with
    /// `EmptyBatch`, `UnequalBatch` or `RaterNotRegistered`, or with `RatingRefused` for the first rating that
    /// `rateClient` would reject, such as a second rating of the same client.
    /// @param agentClientIds The clients.
    /// @param ratings The rating of each client, 0 to 100.
    function rateClients(uint256[] calldata agentClientIds, uint8[] calldata ratings) external;

    /// @notice Rates many validators, all or none.
    /// @dev Can be called by any account that has a primary agent. Emits `ValidatorRated` for each validator. Reverts
    /// as `rateClients` does.
    /// @param agentValidatorIds The validators.
    /// @param ratings The rating of each validator, 0 to 100.
    function rateValidators(uint256[] calldata agentValidatorIds, uint8[] calldata ratings) external;

    /// @notice Rates a client, provided that the rater and the client's owner are as expected.
    /// @dev Can be called by any account that has a primary agent. Emits `ClientRated`. Reverts with the first
    /// applicable error: `UnexpectedRater`, `ERC721NonexistentToken` for an unknown client, `UnexpectedOwner`, or an
    /// error of `rateClient`.
    /// @param agentClientId The client.
    /// @param rating The rating, 0 to 100.
    /// @param agentServerId The server that rates: the caller's primary agent.
    /// @param clientOwner The owner of the client.
    function rateClientAs(uint256 agentClientId, uint8 rating, uint256 agentServerId, address clientOwner) external;

    /// @notice Rates a validator, provided that the rater and the validator's owner are as expected.
    /// @dev Can be called by any account that has a primary agent. Emits `ValidatorRated`. Reverts as `rateClientAs`
    /// does.
    /// @param agentValidatorId The validator.
    /// @param rating The rating, 0 to 100.
    /// @param agentServerId The server that rates: the caller's primary agent.
    /// @param validatorOwner The owner of the validator.
    function rateValidatorAs(
        uint256 agentValidatorId,
        uint8 rating,
        uint256 agentServerId,
        address validatorOwner
    ) external;

    /// @notice Rates many clients, all or none, provided that the rater and the clients' owners are as expected.
    /// @dev Can be called by any account that has a primary agent. Emits `ClientRated` for each client. Reverts with
    /// the first applicable error: `UnexpectedRater`, `UnequalBatch` for the list of owners, `ERC721NonexistentToken`
    /// or `UnexpectedOwner` for the first client with such an error, or an error of `rateClients`. Reads one storage
    /// word of the identity registry per client.
    /// @param agentClientIds The clients.
    /// @param ratings The rating of each client, 0 to 100.
    /// @param agentServerId The server that rates: the caller's primary agent.
    /// @param clientOwners The owner of each client.
    function rateClientsAs(
        uint256[] calldata agentClientIds,
        uint8[] calldata ratings,
        uint256 agentServerId,
        address[] calldata clientOwners
    ) external;

    /// @notice Rates many validators, all or none, provided that the rater and the validators' owners are as expected.
    /// @dev Can be called by any account that has a primary agent. Emits `ValidatorRated` for each validator. Reverts
    /// as `rateClientsAs` does.
    /// @param agentValidatorIds The validators.
    /// @param ratings The rating of each validator, 0 to 100.
    /// @param agentServerId The server that rates: the caller's primary agent.
    /// @param validatorOwners The owner of each validator.
    function rateValidatorsAs(
        uint256[] calldata agentValidatorIds,
        uint8[] calldata ratings,
        uint256 agentServerId,
        address[] calldata validatorOwners
    ) external;

    /// @notice Returns the rating that a server gave a client.
    /// @dev Never reverts. Unknown agents have no rating.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    /// @return hasRating True if the server has rated the client.
    /// @return rating The rating, 0 to 100; 0 if there is none.
    function getClientRating(
        uint256 agentClientId,
        uint256 agentServerId
    ) external view returns (bool hasRating, uint8 rating);

    /// @notice Returns the rating that a server gave a validator.
    /// @dev Never reverts. Unknown agents have no rating.
    /// @param agentValidatorId The validator.
    /// @param agentServerId The server.
    /// @return hasRating True if the server has rated the validator.
    /// @return rating The rating, 0 to 100; 0 if there is none.
    function getValidatorRating(
        uint256 agentValidatorId,
        uint256 agentServerId
    ) external view returns (bool hasRating, uint8 rating);

    /// @notice Returns the ratings that a server gave many clients.
    /// @dev Never reverts. Reads one storage word per client. Clients with neighbouring ids that follow each other
    /// share a word and cost less.
    /// @param agentClientIds The clients, any number of them, in any order.
    /// @param agentServerId The server.
    /// @return hasRating For each client, true if the server has rated it.
    /// @return ratings The ratings, 0 to 100; 0 for each client without a rating.
    function getClientRatings(
        uint256[] calldata agentClientIds,
        uint256 agentServerId
    ) external view returns (bool[] memory hasRating, uint8[] memory ratings);
}
