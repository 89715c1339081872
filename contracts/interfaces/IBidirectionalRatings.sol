// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title Ratings that servers give (EIP-8004a)
/// @notice The other direction of trust: a server rates its clients and validators from 0 to 100, so that others can
/// ask before they serve.
/// @dev A rating is final: it is given once per pair of agents and kind, and nothing changes or removes it. The rater
/// is the agent that the caller speaks as (`IAgentDirectory.agentOf`).
///
/// The scale: 0 to 30 poor, 31 to 60 below average, 61 to 80 good, 81 to 100 excellent.
///
/// WARNING: whoever registers an agent can rate, so a rating is worth as much as the server that gave it.
///
/// Sample:
/// ```
/// (bool hasRating, uint8 rating) = registry.getClientRating(clientId, myServerId);
/// if (hasRating && rating < 70) revert("Client has poor reputation, declining service");
/// ```
interface IBidirectionalRatings {
    /// @notice A server rated a client.
    /// @param clientId The client.
    /// @param serverId The server.
    /// @param rating The rating, 0 to 100.
    event ClientRated(uint256 indexed clientId, uint256 indexed serverId, uint8 rating);

    /// @notice A server rated a validator.
    /// @param validatorId The validator.
    /// @param serverId The server.
    /// @param rating The rating, 0 to 100.
    event ValidatorRated(uint256 indexed validatorId, uint256 indexed serverId, uint8 rating);

    /// @notice The caller does not speak as an agent.
    /// @param account The caller.
    error RaterNotRegistered(address account);

    /// @notice There is no agent with the id that is to be rated.
    /// @param agentId The id.
    error SubjectNotRegistered(uint256 agentId);

    /// @notice The rating is above the scale.
    /// @param rating The rating.
    /// @param maximum The highest rating there is.
    error RatingTooHigh(uint8 rating, uint8 maximum);

    /// @notice An agent does not rate itself.
    error CannotRateSelf();

    /// @notice The server has rated this agent already, and ratings are final.
    /// @param subjectId The agent that was rated.
    /// @param serverId The server.
    error AlreadyRated(uint256 subjectId, uint256 serverId);

    /// @notice A batch has no element.
    error EmptyBatch();

    /// @notice A batch has not as many ratings as agents.
    /// @param agents How many agents.
    /// @param ratings How many ratings.
    error UnequalBatch(uint256 agents, uint256 ratings);

    /// @notice One rating of a batch is refused, and so the whole batch is.
    /// @param position Its position in the batch, from 0.
    /// @param reason The error, ABI encoded, that the same rating alone would be refused with.
    error RatingRefused(uint256 position, bytes reason);

    /// @notice Rates a client.
    /// @dev For accounts that speak as an agent. Emits `ClientRated`. Reverts, in this order, with
    /// `RaterNotRegistered`, `SubjectNotRegistered`, `RatingTooHigh`, `CannotRateSelf`, `AlreadyRated`.
    /// @param agentClientId The client.
    /// @param rating The rating, 0 to 100.
    function rateClient(uint256 agentClientId, uint8 rating) external;

    /// @notice Rates a validator.
    /// @dev For accounts that speak as an agent. Emits `ValidatorRated`. Reverts as `rateClient` does. A rating as a
    /// client and one as a validator have nothing to do with each other.
    /// @param agentValidatorId The validator.
    /// @param rating The rating, 0 to 100.
    function rateValidator(uint256 agentValidatorId, uint8 rating) external;

    /// @notice Rates many clients, all or none. Clients with neighbouring ids, in this order, are the cheapest.
    /// @dev For accounts that speak as an agent. Emits `ClientRated` for each. Reverts with `EmptyBatch`,
    /// `UnequalBatch`, `RaterNotRegistered`, and with `RatingRefused` for the first rating that `rateClient` would
    /// refuse, which a second one of the same client is.
    /// @param agentClientIds The clients.
    /// @param ratings The rating of each, 0 to 100.
    function rateClients(uint256[] calldata agentClientIds, uint8[] calldata ratings) external;

    /// @notice Rates many validators, all or none.
    /// @dev For accounts that speak as an agent. Emits `ValidatorRated` for each. Reverts as `rateClients` does.
    /// @param agentValidatorIds The validators.
    /// @param ratings The rating of each, 0 to 100.
    function rateValidators(uint256[] calldata agentValidatorIds, uint8[] calldata ratings) external;

    /// @notice The rating that a server gave a client.
    /// @dev Never reverts: agents that are unknown have no rating.
    /// @param agentClientId The client.
    /// @param agentServerId The server.
    /// @return hasRating Whether the server rated the client.
    /// @return rating The rating, 0 to 100; 0 if there is none.
    function getClientRating(
        uint256 agentClientId,
        uint256 agentServerId
    ) external view returns (bool hasRating, uint8 rating);

    /// @notice The rating that a server gave a validator.
    /// @dev Never reverts: agents that are unknown have no rating.
    /// @param agentValidatorId The validator.
    /// @param agentServerId The server.
    /// @return hasRating Whether the server rated the validator.
    /// @return rating The rating, 0 to 100; 0 if there is none.
    function getValidatorRating(
        uint256 agentValidatorId,
        uint256 agentServerId
    ) external view returns (bool hasRating, uint8 rating);

    /// @notice The ratings that a server gave many clients.
    /// @dev Never reverts. Costs one storage word per client, and less for neighbouring ids.
    /// @param agentClientIds The clients; any number, in any order.
    /// @param agentServerId The server.
    /// @return hasRating Whether the server rated each of them.
    /// @return ratings The ratings, 0 to 100; 0 where there is none.
    function getClientRatings(
        uint256[] calldata agentClientIds,
        uint256 agentServerId
    ) external view returns (bool[] memory hasRating, uint8[] memory ratings);
}
