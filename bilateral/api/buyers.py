"""The parts that the routes of buyers share: their settings, what reads a buyer, and refusals as problems."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from bilateral.api.problems import ProblemError
from bilateral.api.service import service_of
from bilateral.buyers.policies import policy_of
from bilateral.buyers.records import Standing, parse_buyer, read_cursors, read_standing

if TYPE_CHECKING:
    from fastapi import Request
    from sqlalchemy import Connection

    from bilateral.buyers.errors import BuyerRefusalError


def read_buyer(
    connection: Connection, text: str, chain_id: int | None, policy: str, *, now: int | None = None
) -> Standing:
    """Read a buyer as callers name it.

    Args:
        connection: The database.
        text: Its address or its global id.
        chain_id: The chain that the caller names; None for the one of the id, or the service's first one.
        policy: The scoring policy.
        now: The time, in Unix seconds; the present one if left out.

    Raises:
        MalformedIdentifierError: The text is neither.
        InvalidArgumentError: The policy is unknown.
        ProblemError: The service learns no payments of the chain, or the id is of another one.
    """
    named, buyer = parse_buyer(text)
    if None not in (named, chain_id) and named != chain_id:
        detail = f"the buyer is of chain {named}, and chainId is {chain_id}"
        raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid_argument", detail)
    cursors = read_cursors(connection)
    wanted = chain_id or named or next(iter(cursors), None)
    if wanted is None or wanted not in cursors:
        known = ", ".join(map(str, cursors)) or "none"
        detail = f"the service learns no payments of chain {wanted}: it does of {known}"
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "unsupported_chain", detail)
    moment = int(time.time()) if now is None else now
    return read_standing(connection, wanted, buyer, policy_of(policy), moment, cursors[wanted])


def provider_of(request: Request) -> str:
    """Return the public URL of this service.

    Args:
        request: The request, whose URL counts if the settings name none.
    """
    return service_of(request).settings.buyers.provider.rstrip("/") or str(request.base_url).rstrip("/")


def problem_of_refusal(refusal: BuyerRefusalError) -> ProblemError:
    """Return the problem of a refusal.

    Args:
        refusal: The refusal.
    """
    headers = {} if refusal.retry_seconds is None else {"Retry-After": str(refusal.retry_seconds)}
    members: dict[str, Any] = refusal.members
    return ProblemError(refusal.status, refusal.code, refusal.detail, headers=headers, **members)


def end_of_day(now: int) -> datetime:
    """Return the last second of the day in UTC.

    Args:
        now: A time of the day, in Unix seconds.
    """
    day = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0)
    return day + timedelta(days=1) - timedelta(seconds=1)
