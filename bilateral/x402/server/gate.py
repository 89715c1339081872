"""A gate for a service: declines clients that this server has rated badly, before they pay (EIP-8004a).

    reputable = Depends(reputable_client(verifier, server_agent=42, minimum=70))

    @app.get("/weather")
    async def weather(standing: VerifiedClient | None = reputable): ...

A declined request gets status 403, and its payment is not settled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from fastapi import HTTPException
from starlette.requests import Request

from bilateral.client import Client, Handle, Rating
from bilateral.core.errors import BilateralError, InvalidArgumentError
from bilateral.core.identifiers import GlobalAgentId
from bilateral.core.values.failures import FailureCount
from bilateral.x402.proof.checking import VerifiedClient
from bilateral.x402.proof.errors import InvalidMessageError, PaymentRefusedError
from bilateral.x402.proof.payments import payer_of
from bilateral.x402.proof.verifier import AsyncVerifier
from bilateral.x402.server.exchange import CURRENT
from bilateral.x402.server.server import claim_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bilateral.checks import BuyerRecords, Check, Policy
    from bilateral.index.reading.readers import Reader
    from bilateral.x402.server.failures import FailedSettlements

logger = logging.getLogger("bilateral.x402")

MAX_RATING: Final = 100  # EIP-8004a rates from 0 to 100


def reputable_client(  # noqa: PLR0913  # settings, all but three with a default
    verifier: AsyncVerifier,
    *,
    server_agent: int,
    minimum: int,
    anonymous: bool = False,
    newcomers: bool = True,
    index: Reader | None = None,
    policy: Policy | None = None,
    buyers: BuyerRecords | None = None,
    failures: FailedSettlements | None = None,
    max_failed_settlements: int | None = None,
) -> Callable[[Request], Awaitable[VerifiedClient | None]]:
    """Return a FastAPI dependency that serves only reputable clients.

    Args:
        verifier: Reads the chain. Only the registries of its deployments are trusted.
        server_agent: The server's agent.
        minimum: The lowest rating, 0 to 100, at which this server still serves a client that it has rated.
        anonymous: True to serve clients that do not claim to be an agent.
        newcomers: False to serve only clients that this server has rated.
        index: A reader for an index. If it is set, `bilateral.checks.check_client` is used before the chain is queried.
            The owner and the wallet are always read from the chain, because they can change. If the index fails or lags
            behind, everything is read from the chain.
        policy: The policy for the index's check. A client that the policy declines, or that cannot be checked, is not
            served. Without a policy, only this server's own rating of the client matters.
        buyers: A source of buyers' records for the index's check.
        failures: This server's failed settlements, from its extension. The payer's count is returned as
            `VerifiedClient.failures`.
        max_failed_settlements: The maximum number of failed settlements; None for no limit. A payer with more is not
            served, whether or not it claims to be an agent.

    Returns:
        The dependency. Its value is the checked client, or None for a client that does not claim to be an agent. It
        raises an `HTTPException` with status 403 and the reason.

    Raises:
        InvalidArgumentError: `policy` or `buyers` is set without `index`, or `max_failed_settlements` without
            `failures`.
    """
    if max_failed_settlements is not None and failures is None:
        raise InvalidArgumentError("max_failed_settlements requires failures=FailedSettlements() from the extension")
    if index is None and (policy is not None or buyers is not None):
        raise InvalidArgumentError("policy and buyers require an index: pass index=Reader(url)")
    place = verifier, server_agent, minimum
    ask = None if index is None else _ask_index(index, *place, policy=policy, buyers=buyers)

    async def check(request: Request) -> VerifiedClient | None:
        payload = getattr(request.state, "payment_payload", None)
        payer = "" if payload is None else payer_of(payload.payload) or ""
        count = None
        try:
            if failures is not None and payload is not None:
                network = str(payload.accepted.network)
                count = await asyncio.to_thread(_count, failures, network, payer, max_failed_settlements)
            claim = claim_of(payload)
            if claim is None:
                if anonymous:
                    return None
                raise _declined("anonymous_client", "this service only accepts clients that are registered agents")
            check, indexed = (None, None) if ask is None else await asyncio.to_thread(ask, claim.agent, count)
            standing = await verifier.check_client(claim, payer, server_agent, indexed_rating=indexed)
        except InvalidMessageError as error:
            raise _declined("invalid_client_agent", str(error)) from None
        except PaymentRefusedError as error:
            raise _declined(error.code, str(error)) from None
        standing = replace(standing, check=check, failures=count)
        _require(standing, minimum, newcomers=newcomers)
        return standing

    return check


def _require(standing: VerifiedClient, minimum: int, *, newcomers: bool) -> None:
    if standing.rating is None and not newcomers:
        raise _declined("unrated_client", f"{standing.agent} has no rating from this service")
    if standing.rating is not None and standing.rating < minimum:
        raise _declined("low_rating", f"the rating {standing.rating} is below the minimum {minimum}")
    if standing.check is not None and standing.check.verdict == "decline":
        raise _declined(standing.check.reasons[0].code.value, standing.check.reasons[0].sentence)


def _count(failures: FailedSettlements, network: str, payer: str, limit: int | None) -> FailureCount | None:
    try:
        count = failures.count(network, payer)
    except BilateralError as error:
        if limit is not None:
            raise PaymentRefusedError("cannot_check", f"the failed settlements cannot be counted: {error}") from error
        logger.warning("the failed settlements of %s cannot be counted", payer, exc_info=True)
        return None
    if limit is not None and count.number > limit:
        problem = f"{count.number} payments by {payer} failed after the service was delivered; the limit is {limit}"
        raise _declined("failed_settlements", problem)
    return count


def _ask_index(
    index: Reader, verifier: AsyncVerifier, server_agent: int, minimum: int, *, policy: Policy | None, **sources: Any
) -> Callable[[GlobalAgentId, FailureCount | None], tuple[Check | None, int | None]]:
    """Return a function that reads an index's check and the server's rating of a client, each None if unavailable."""
    from bilateral import checks  # noqa: PLC0415  # needs the extra `index`
    from bilateral.index.ratings.queries import client_rating  # noqa: PLC0415
    from bilateral.index.reading.registries import AgentKey  # noqa: PLC0415

    applied = policy or checks.Policy(
        minimum_rating=Decimal(minimum),
        newcomers=checks.Newcomers.ACCEPT,
        severities={checks.Code.LOW_RATING: checks.Severity.CAUTION},  # anyone may have created the other raters
    )
    options = {"for_server": server_agent, "policy": applied, "findings": checks.stored_findings, **sources}

    def read(
        connection: Connection, client: GlobalAgentId, reputation: str, count: FailureCount | None
    ) -> tuple[Check, int | None]:
        chain_id = client.registry.chain.evm_chain_id
        key = AgentKey(chain_id, client.registry.address, client.agent_id.token_id, (reputation,))
        rating = client_rating(connection, key, server_agent, reputation)
        return checks.check_client(connection, client, failures=count, **options), rating

    def ask(client: GlobalAgentId, count: FailureCount | None) -> tuple[Check | None, int | None]:
        deployment = verifier.deployment_on(str(client.registry.chain))
        if deployment is None or deployment.reputation is None or client.registry != deployment.agent_registry:
            return None, None  # the verifier rejects it
        try:
            return index.read(read, client, deployment.reputation, count)
        except BilateralError as error:
            if policy is not None:
                raise PaymentRefusedError("cannot_check", f"the index did not respond: {error}") from error
            logger.warning("the index failed, so the chain is queried instead", exc_info=True)
            return None, None

    return ask


def _declined(code: str, reason: str) -> HTTPException:
    return HTTPException(403, {"error": code, "reason": reason})


def rate_client(client: Client, standing: VerifiedClient, rating: int) -> Handle[Rating]:
    """Rate a client agent that was served (EIP-8004a, `rateClient`). Ratings are final.

    The registry checks that the agent's owner has not changed since the payment.

    Args:
        client: The server's SDK client. The primary agent of its signer gives the rating.
        standing: The checked client, from `reputable_client`.
        rating: The rating, from 0 to 100.
    """
    return client.rate_client(standing.agent, rating, owner=standing.owner)


def rate_after_settlement(client: Client, standing: VerifiedClient, rating: int) -> None:
    """Rate a client agent once its payment is settled and the answer is sent. Call this in the endpoint.

    No rating is given if the payment is not settled. A failure is only logged, because the client already has its
    answer.

    Raises:
        InvalidArgumentError: No paid request is being processed, or the rating is out of range.
    """
    exchange = CURRENT.get()
    if exchange is None:
        raise InvalidArgumentError("no paid request is in progress: call `rate_after_settlement` in a paid endpoint")
    if not 0 <= rating <= MAX_RATING:
        raise InvalidArgumentError(f"rating {rating} is out of range 0..{MAX_RATING}")
    exchange.afterwards.append(lambda: rate_client(client, standing, rating).wait())
