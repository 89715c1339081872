"""Ratings that servers give their clients and validators (EIP-8004a)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bilateral.arguments import checked_class
from bilateral.client.core import ratings
from bilateral.client.inputs import AgentLike
from bilateral.client.results import RatingKind
from bilateral.client.shell.base import Shell

if TYPE_CHECKING:
    from bilateral.client.handle import Handle
    from bilateral.client.results import Rating


@checked_class
class RatingMethods(Shell):
    """Ratings that servers give their clients and validators (EIP-8004a). They are final."""

    def rate_client(self, client_id: AgentLike, rating: int) -> Handle[Rating]:
        """Rate a client, as the agent that the signer speaks as (EIP-8004a, `rateClient`).

        Args:
            client_id: The client, an agent.
            rating: 0 to 100.

        Raises:
            InvalidArgumentError: The rating is no uint8.
            ContractRevertError: The registry refuses: `rater_not_registered`, `subject_not_registered`,
                `rating_too_high`, `cannot_rate_self`, `already_rated`.
        """
        return self._write(ratings.rate(self._session, RatingKind.CLIENT, client_id, rating))

    def rate_validator(self, validator_id: AgentLike, rating: int) -> Handle[Rating]:
        """Rate a validator, as the agent that the signer speaks as (EIP-8004a, `rateValidator`).

        Args:
            validator_id: The validator, an agent.
            rating: 0 to 100.

        Raises:
            InvalidArgumentError: The rating is no uint8.
            ContractRevertError: The registry refuses, as with `rate_client`.
        """
        return self._write(ratings.rate(self._session, RatingKind.VALIDATOR, validator_id, rating))

    def rate_clients(self, client_ratings: Mapping[AgentLike, int]) -> Handle[tuple[Rating, ...]]:
        """Rate many clients at once, all or none (`rateClients`). Neighbouring ids cost least.

        Args:
            client_ratings: The rating of each client, 0 to 100.

        Raises:
            InvalidArgumentError: A rating is no uint8, or two keys name the same client.
            ContractRevertError: The registry refuses: `empty_batch`, `rater_not_registered`, `rating_refused`.
        """
        return self._write(ratings.rate_many(self._session, RatingKind.CLIENT, client_ratings))

    def rate_validators(self, validator_ratings: Mapping[AgentLike, int]) -> Handle[tuple[Rating, ...]]:
        """Rate many validators at once, all or none (`rateValidators`).

        Args:
            validator_ratings: The rating of each validator, 0 to 100.

        Raises:
            InvalidArgumentError: A rating is no uint8, or two keys name the same validator.
            ContractRevertError: The registry refuses, as with `rate_clients`.
        """
        return self._write(ratings.rate_many(self._session, RatingKind.VALIDATOR, validator_ratings))

    def get_client_rating(self, client_id: AgentLike, server_id: AgentLike) -> Rating:
        """The rating that a server gave a client (EIP-8004a, `getClientRating`).

        Args:
            client_id: The client.
            server_id: The server.

        Returns:
            The rating, whose `rating` is None if there is none.
        """
        return self._run(ratings.get(self._session, RatingKind.CLIENT, client_id, server_id))

    def get_client_ratings(self, client_ids: Sequence[AgentLike], server_id: AgentLike) -> list[Rating]:
        """The ratings that a server gave many clients, in their order (`getClientRatings`).

        Args:
            client_ids: The clients.
            server_id: The server.
        """
        return self._run(ratings.get_many(self._session, client_ids, server_id))

    def get_validator_rating(self, validator_id: AgentLike, server_id: AgentLike) -> Rating:
        """The rating that a server gave a validator (EIP-8004a, `getValidatorRating`).

        Args:
            validator_id: The validator.
            server_id: The server.

        Returns:
            The rating, whose `rating` is None if there is none.
        """
        return self._run(ratings.get(self._session, RatingKind.VALIDATOR, validator_id, server_id))
