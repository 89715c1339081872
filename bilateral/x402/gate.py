"""The gate before a service: decline clients that this server has rated badly, before they pay (EIP-8004a).

    reputable = Depends(reputable_client(verifier, server_agent=42, minimum=70))

    @app.get("/weather")
    async def weather(standing: ClientStanding | None = reputable): ...

A declined request is answered with 403, and its payment is not settled.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from fastapi import HTTPException
from starlette.requests import Request

from bilateral.errors import BilateralError
from bilateral.x402.errors import InvalidMessageError, PaymentRefusedError
from bilateral.x402.server import claim_of
from bilateral.x402.standing import ClientStanding

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bilateral.client import Client, Handle, Rating
    from bilateral.identifiers import GlobalAgentId
    from bilateral.index.readers import Reader
    from bilateral.x402.verifier import AsyncVerifier

logger = logging.getLogger("bilateral.x402")


def reputable_client(  # noqa: PLR0913  # settings, all but three with a default
    verifier: AsyncVerifier,
    *,
    server_agent: int,
    minimum: int,
    anonymous: bool = False,
    newcomers: bool = True,
    index: Reader | None = None,
) -> Callable[[Request], Awaitable[ClientStanding | None]]:
    """Return a dependency of FastAPI that serves only reputable clients.

    Args:
        verifier: Reads the chain. Its deployments are the allow-list of registries.
        server_agent: The server's agent.
        minimum: The lowest rating that this server gave a client which it serves, 0 to 100.
        anonymous: True to serve clients that claim no agent.
        newcomers: False to serve only clients that this server has rated.
        index: Reads an index, which is asked for the rating before the chain. Owner and wallet are always read from the
            chain, because they change. If the index fails or lags, the chain answers.

    Returns:
        The dependency. Its value is the client's checked standing; None for a client that claims no agent. It raises
        an `HTTPException` with status 403 and the reason.
    """

    async def check(request: Request) -> ClientStanding | None:
        payload = getattr(request.state, "payment_payload", None)
        try:
            claim = claim_of(payload)
            if claim is None:
                if anonymous:
                    return None
                raise _declined("anonymous_client", "this service is for clients that are agents")
            known = None
            if index is not None:
                known = await asyncio.to_thread(_indexed_rating, index, verifier, claim.agent, server_agent)
            standing = await verifier.check_client(claim, _payer_of(payload), server_agent, known_rating=known)
        except InvalidMessageError as error:
            raise _declined("invalid_client_agent", str(error)) from None
        except PaymentRefusedError as error:
            raise _declined(error.code, str(error)) from None
        if standing.rating is None and not newcomers:
            raise _declined("unrated_client", f"{standing.agent} has no rating from this service")
        if standing.rating is not None and standing.rating < minimum:
            raise _declined("low_rating", f"the rating {standing.rating} is below the minimum {minimum}")
        return standing

    return check


def rate_client(client: Client, standing: ClientStanding, rating: int) -> Handle[Rating]:
    """Rate a client agent that was served (EIP-8004a, `rateClient`). A rating is final.

    The registry checks that the agent still has the owner of the payment's time.

    Args:
        client: The SDK's client of the server, whose signer's primary agent rates.
        standing: The client, from `reputable_client`.
        rating: 0 to 100.
    """
    return client.rate_client(standing.agent, rating, owner=standing.owner)


def _indexed_rating(index: Reader, verifier: AsyncVerifier, client: GlobalAgentId, server_agent: int) -> int | None:
    """Return the rating that the index has; None if it has none, or if it fails."""
    deployment = verifier.deployment_on(str(client.registry.chain))
    if deployment is None or deployment.reputation is None:
        return None
    from bilateral.index.queries.ratings import client_rating  # noqa: PLC0415  # needs the extra `index`
    from bilateral.index.queries.registries import AgentKey  # noqa: PLC0415

    reputation = deployment.reputation
    if client.registry != deployment.agent_registry:
        return None
    key = AgentKey(deployment.chain_id, deployment.identity, client.agent_id.token_id, (reputation,))
    try:
        return index.read(client_rating, key, server_agent, reputation)
    except BilateralError:
        logger.warning("the index fails, and the chain is asked instead", exc_info=True)
        return None


def _payer_of(payload: Any) -> str:
    """Return the account that pays. The facilitator has verified its signature."""
    inner = payload.payload if isinstance(getattr(payload, "payload", None), dict) else {}
    signed = inner.get("authorization") or inner.get("permit2Authorization")
    payer = signed.get("from") if isinstance(signed, dict) else None
    return payer if isinstance(payer, str) else ""


def _declined(code: str, reason: str) -> HTTPException:
    """Return the refusal to serve a client."""
    return HTTPException(403, {"error": code, "reason": reason})
