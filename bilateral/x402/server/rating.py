"""Ratings of clients that were served (EIP-8004a): once the payment is settled, or later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bilateral.core.errors import InvalidArgumentError
from bilateral.x402.proof.client_claims import VerifiedClient
from bilateral.x402.server.exchange import CURRENT

if TYPE_CHECKING:
    from bilateral.client import Client, Handle, Rating

MAX_RATING: Final = 100  # EIP-8004a rates from 0 to 100


def rate_client(client: Client, standing: VerifiedClient, rating: int) -> Handle[Rating]:
    """Rate a client agent that was served (EIP-8004a, `rateClient`). A rating is final.

    The registry checks that the agent still has the owner of the payment's time.

    Args:
        client: The SDK's client of the server, whose signer's primary agent rates.
        standing: The client, from `reputable_client`.
        rating: 0 to 100.
    """
    return client.rate_client(standing.agent, rating, owner=standing.owner)


def rate_after_settlement(client: Client, standing: VerifiedClient, rating: int) -> None:
    """Rate a client agent once its payment is settled and the answer is sent. The endpoint calls it.

    Nothing is rated if the payment is not settled. A failure is logged, because the client has its answer by then.

    Args:
        client: As `rate_client`. It must stay open.
        standing: As `rate_client`.
        rating: As `rate_client`.

    Raises:
        InvalidArgumentError: No paid request runs, or the rating is out of range.
    """
    exchange = CURRENT.get()
    if exchange is None:
        raise InvalidArgumentError("no paid request runs here: call rate_after_settlement in its endpoint")
    if not 0 <= rating <= MAX_RATING:
        raise InvalidArgumentError(f"rating {rating} is out of range 0..{MAX_RATING}")
    exchange.afterwards.append(lambda: rate_client(client, standing, rating).wait())
