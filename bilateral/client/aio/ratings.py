"""Methods for rating clients and validators (EIP-8004a), and for the validation of work (ERC-8004)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bilateral.client.aio.runner import AsyncHandle, AsyncRunner
from bilateral.client.operations import ratings, validation
from bilateral.client.operations.ratings import Rating, RatingKind
from bilateral.client.state import TIMEOUT, AgentLike
from bilateral.core.values.arguments import checked_class


@checked_class
class AsyncRatingMethods(AsyncRunner):
    """Methods for servers to rate their clients and validators (EIP-8004a). Ratings are final."""

    async def rate_client(  # noqa: PLR0913  # a rating and the facts that it depends on
        self,
        client_id: AgentLike,
        rating: int,
        *,
        server_id: AgentLike | None = None,
        owner: str | None = None,
        confirmations: int = 1,
        timeout: float = TIMEOUT,
    ) -> AsyncHandle[Rating]:
        """As the signer's primary agent, rate a client (EIP-8004a, `rateClient`). Ratings are final.

        The registry checks that the rater and the client's owner are as expected (`rateClientAs`), because a
        reorganisation can assign the client's id to another agent. If the registry lacks this function, the SDK calls
        `rateClient`, which checks neither; if you passed `server_id` or `owner`, it raises an error instead.

        Args:
            rating: The rating, from 0 to 100.
            server_id: The server that rates; by default the signer's primary agent at the time of the call.
            owner: The client's expected owner; by default its owner at the time of the call.
            confirmations: The number of blocks, including the latest, for which the client must have had its current
                owner. With the default of 1, the call does not wait. Choose as many blocks as a reorganisation may
                replace. The node must still have the state of the first of these blocks; most nodes retain the states
                of the last 128 blocks.
            timeout: How many seconds to wait for these blocks.

        Raises:
            InvalidArgumentError: The rating is not a uint8, `confirmations` is 0 or less, or the registry cannot check
                `server_id` or `owner`.
            AgentUnsettledError: When the timeout expired, the client had not had the same owner for that many blocks.
                Nothing was sent.
            ContractRevertError: The registry reverts with `unexpected_rater`, `unexpected_owner`,
                `erc721_nonexistent_token`, `rater_not_registered`, `rating_too_high`, `cannot_rate_self` or
                `already_rated`.
        """
        expected = ratings.Expectation(server_id, owner, confirmations, timeout)
        return await self._write(ratings.rate(self.state, RatingKind.CLIENT, client_id, rating, expected))

    async def rate_validator(  # noqa: PLR0913  # a rating and the facts that it depends on
        self,
        validator_id: AgentLike,
        rating: int,
        *,
        server_id: AgentLike | None = None,
        owner: str | None = None,
        confirmations: int = 1,
        timeout: float = TIMEOUT,
    ) -> AsyncHandle[Rating]:
        """As the signer's primary agent, rate a validator (EIP-8004a, `rateValidator`). Ratings are final.

        The registry checks the rater and the validator's owner (`rateValidatorAs`), as with `rate_client`.

        Args:
            validator_id: The validator, an agent.
            rating: The rating, from 0 to 100.
            server_id: See `rate_client`.
            owner: The validator's expected owner; by default its owner at the time of the call.
            confirmations: See `rate_client`.
            timeout: See `rate_client`.

        Raises:
            BilateralError: The same errors as `rate_client`.
        """
        expected = ratings.Expectation(server_id, owner, confirmations, timeout)
        return await self._write(ratings.rate(self.state, RatingKind.VALIDATOR, validator_id, rating, expected))

    async def rate_clients(
        self,
        client_ratings: Mapping[AgentLike, int],
        *,
        server_id: AgentLike | None = None,
        confirmations: int = 1,
        timeout: float = TIMEOUT,
    ) -> AsyncHandle[tuple[Rating, ...]]:
        """Rate many clients in one call, all or none (`rateClientsAs`). Consecutive ids cost the least gas.

        The registry checks the rater and each owner, as with `rate_client`.

        Args:
            server_id: See `rate_client`.
            confirmations: See `rate_client`.
            timeout: See `rate_client`.

        Raises:
            InvalidArgumentError: A rating is not a uint8, two keys identify the same client, or `confirmations` is 0 or
                less.
            AgentUnsettledError: When the timeout expired, a client had not had the same owner for that many blocks.
                Nothing was sent.
            ContractRevertError: The registry reverts with `empty_batch`, `unexpected_rater`, `unexpected_owner`,
                `erc721_nonexistent_token`, `rater_not_registered` or `rating_refused`.
        """
        expected = ratings.Expectation(server_id, None, confirmations, timeout)
        return await self._write(ratings.rate_many(self.state, RatingKind.CLIENT, client_ratings, expected))

    async def rate_validators(
        self,
        validator_ratings: Mapping[AgentLike, int],
        *,
        server_id: AgentLike | None = None,
        confirmations: int = 1,
        timeout: float = TIMEOUT,
    ) -> AsyncHandle[tuple[Rating, ...]]:
        """Rate many validators in one call, all or none (`rateValidatorsAs`). Consecutive ids cost the least gas.

        The registry checks the rater and each owner, as with `rate_validator`.

        Args:
            server_id: See `rate_client`.
            confirmations: See `rate_client`.
            timeout: See `rate_client`.

        Raises:
            BilateralError: The same errors as `rate_clients`.
        """
        expected = ratings.Expectation(server_id, None, confirmations, timeout)
        return await self._write(ratings.rate_many(self.state, RatingKind.VALIDATOR, validator_ratings, expected))

    async def get_client_rating(self, client_id: AgentLike, server_id: AgentLike) -> Rating:
        """Return the rating that a server gave a client (EIP-8004a, `getClientRating`).

        Returns:
            The result. Its `rating` is None if the server has not rated the client.
        """
        return await self._run(ratings.get(self.state, RatingKind.CLIENT, client_id, server_id))

    async def get_client_ratings(self, client_ids: Sequence[AgentLike], server_id: AgentLike) -> list[Rating]:
        """Return the ratings that a server gave many clients, in the order of `client_ids` (`getClientRatings`)."""
        return await self._run(ratings.get_many(self.state, client_ids, server_id))

    async def get_validator_rating(self, validator_id: AgentLike, server_id: AgentLike) -> Rating:
        """Return the rating that a server gave a validator (EIP-8004a, `getValidatorRating`)."""
        return await self._run(ratings.get(self.state, RatingKind.VALIDATOR, validator_id, server_id))


@checked_class
class AsyncValidationMethods(AsyncRunner):
    """Methods for the validation of an agent's work (ERC-8004)."""

    async def request_validation(
        self,
        agent_id: AgentLike,
        validator_address: str,
        request_uri: str = "",
        request_hash: bytes | str | None = None,
        *,
        document: bytes | None = None,
    ) -> AsyncHandle[validation.ValidationRequested]:
        """Request validation of an agent's work from a validator (ERC-8004, `validationRequest`).

        Args:
            agent_id: The agent; the signer must own it or be allowed to act for it.
            validator_address: The validator, the only account that may respond.
            request_uri: The URI of the material for the validator.
            request_hash: The keccak-256 hash of the material, which identifies the request.
            document: The material for the validator, as an alternative to `request_uri` and `request_hash`. It is saved
                to the client's store.

        Raises:
            InvalidArgumentError: Neither a document nor a hash is passed, or both are.
            ContractRevertError: The registry reverts with `bad_validator`, `request_exists`, `not_authorized` or
                `erc721_nonexistent_token`.
        """
        return await self._write(
            validation.request(self.state, agent_id, validator_address, (request_uri, request_hash), document)
        )

    async def respond_to_validation(
        self,
        request_hash: bytes | str,
        response: int,
        response_uri: str = "",
        response_hash: bytes | str | None = None,
        tag: str = "",
    ) -> AsyncHandle[validation.ValidationAnswered]:
        """As the validator, respond to a request, replacing any earlier response (ERC-8004, `validationResponse`).

        Args:
            response: The result, from 0 (failed) to 100 (passed).
            response_uri: The URI of the evidence; may be empty.
            response_hash: The hash of the evidence; None if there is no hash.
            tag: A category of the validator's choice; may be empty.

        Raises:
            InvalidArgumentError: The response does not fit in a uint8, or a hash is malformed.
            ContractRevertError: The registry reverts with `unknown_request`, `not_validator` or `response_too_high`.
        """
        return await self._write(
            validation.respond(self.state, request_hash, response, (response_uri, response_hash), tag)
        )

    async def get_validation_status(self, request_hash: bytes | str) -> validation.ValidationStatus:
        """Read a validation request and its last response (ERC-8004, `getValidationStatus`).

        Raises:
            ContractRevertError: The request does not exist (`unknown_request`).
        """
        return await self._run(validation.status(self.state, request_hash))

    async def get_validation_summary(
        self, agent_id: AgentLike, *, validators: Sequence[str] = (), tag: str = ""
    ) -> validation.ValidationSummary:
        """Average the latest responses to an agent's validation requests (ERC-8004, `getSummary`).

        The average is read in a single call, which a node may reject if the agent has a very large number of requests.

        Args:
            validators: The validators whose responses to include. By default, all validators are included, even any
                that belong to the agent's owner.
            tag: The tag that responses must have; an empty string matches any tag.
        """
        return await self._run(validation.summarize(self.state, agent_id, validators, tag))

    async def get_agent_validations(self, agent_id: AgentLike) -> list[bytes]:
        """Return the hashes of all requests for an agent, oldest first (ERC-8004, `getAgentValidations`)."""
        return await self._run(validation.of_agent(self.state, agent_id))

    async def get_validator_requests(self, validator_address: str) -> list[bytes]:
        """Return the hashes of all requests to a validator, oldest first (ERC-8004, `getValidatorRequests`)."""
        return await self._run(validation.of_validator(self.state, validator_address))
