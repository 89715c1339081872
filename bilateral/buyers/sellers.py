"""Services and policies that sellers published (section 6)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, tuple_

from bilateral.buyers.discounts import BuyerIncentives
from bilateral.index.payments.schema import agent_enrichment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from bilateral.index.queries.registries import AgentKey


@dataclass(frozen=True)
class Offer:
    """The services and the policy of a seller.

    Attributes:
        incentives: The policy for buyers: of the latest service that has one; None if none has.
        prices: The price of a call in dollars, by service.
        services: The names of all services.
    """

    incentives: BuyerIncentives | None
    prices: dict[str, Decimal]
    services: tuple[str, ...]


def read_offers(connection: Connection, sellers: Iterable[AgentKey]) -> dict[tuple[int, str, int], Offer]:
    """Read the services and policies of sellers.

    Args:
        connection: The database.
        sellers: The sellers.

    Returns:
        The offers by chain, registry and id. Sellers that published nothing are left out.
    """
    table = agent_enrichment.c
    keys = [(it.chain_id, it.identity_registry, it.agent_id) for it in sellers]
    if not keys:
        return {}
    query = select(agent_enrichment).where(tuple_(table.chain_id, table.identity_registry, table.agent_id).in_(keys))
    found: dict[tuple[int, str, int], list[dict[str, Any]]] = {}
    for row in connection.execute(query.order_by(table.issued_at, table.service_name)):
        content = json.loads(row.content, parse_float=Decimal)
        found.setdefault((row.chain_id, row.identity_registry, int(row.agent_id)), []).append(content)
    return {key: _offer(services) for key, services in found.items()}


def _offer(services: list[dict[str, Any]]) -> Offer:
    policies = [it["buyerIncentives"] for it in services if it.get("buyerIncentives") is not None]
    prices = {
        it["serviceName"]: Decimal(it["pricePerCallUsdc"]) for it in services if it.get("pricePerCallUsdc") is not None
    }
    return Offer(
        BuyerIncentives.model_validate(policies[-1]) if policies else None,
        prices,
        tuple(sorted(it["serviceName"] for it in services)),
    )
