"""Services and policies that sellers have published (section 6)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter
from typing import Any, Final

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, and_, select, tuple_

from bilateral.buyers.discounts import NOT_OFFERED, BuyerIncentives, Discount, Verdict, discount_for
from bilateral.buyers.proofs import operators_of
from bilateral.buyers.records import Standing
from bilateral.buyers.tables import agent_enrichment
from bilateral.core.values.standing import Side, Status
from bilateral.index.agents import tables as agent_tables
from bilateral.index.reading.registries import AgentKey
from bilateral.index.standing import tables as standings

_AGENT_KEY: Final = ("chain_id", "identity_registry", "agent_id")


@dataclass(frozen=True)
class SellerService:
    """A seller's service.

    Attributes:
        price: The price per call in dollars; None if no price is published.
        incentives: The policy for buyers that was published with this service, or None. It does not apply to any other
            service.
    """

    name: str
    price: Decimal | None
    incentives: BuyerIncentives | None


@dataclass(frozen=True)
class Offer:
    """A seller's services, ordered by name."""

    services: tuple[SellerService, ...] = ()

    @property
    def prices(self) -> dict[str, Decimal]:
        """The price per call in dollars, keyed by the service's name."""
        return {service.name: service.price for service in self.services if service.price is not None}

    def of_service(self, name: str) -> Offer | None:
        """Return an offer with only the named service, or None if the seller has no such service."""
        services = tuple(service for service in self.services if service.name == name)
        return Offer(services) if services else None

    def discounts_for(self, standing: Standing, *, is_withheld: bool = False) -> dict[str, Discount]:
        """Compute a buyer's discount for each service, under that service's policy."""
        return {
            service.name: discount_for(service.incentives, standing, is_withheld=is_withheld)
            for service in self.services
        }


def best_discount(discounts: Mapping[str, Discount]) -> tuple[Discount, tuple[str, ...]]:
    """Return a buyer's largest discount, and the services that offer it."""
    best = max(discounts.values(), key=_worth, default=NOT_OFFERED)
    return best, tuple(sorted(name for name, discount in discounts.items() if _worth(discount) == _worth(best)))


def _worth(discount: Discount) -> tuple[Decimal, bool]:
    return discount.percentage, discount.verdict is not Verdict.NOT_OFFERED


def is_withheld(connection: Connection, chain_id: int, buyer: str) -> bool:
    """Return whether the buyer is the wallet of an agent that the trust analysis holds back as a client (`held_back`).

    Agents that the buyer merely owns do not count, because anyone can transfer an agent to the buyer. A wallet, in
    contrast, agreed to its role.
    """
    agent, columns = agent_tables.agent.c, standings.standing.c
    query = (
        select(agent.agent_id)
        .join(standings.standing, _is_agent(columns))
        .where(agent.chain_id == chain_id, agent.wallet == buyer)
        .where(columns.side == Side.CLIENT, columns.status == Status.HELD_BACK)
    )
    return connection.execute(query.limit(1)).first() is not None


def _is_agent(columns: Any) -> ColumnElement[bool]:
    return and_(*(agent_tables.agent.c[name] == columns[name] for name in _AGENT_KEY))


def read_offers(connection: Connection, sellers: Iterable[AgentKey]) -> dict[tuple[int, str, int], Offer]:
    """Read sellers' services and policies, except those whose signer may no longer act for the seller."""
    table, agent = agent_enrichment.c, agent_tables.agent.c
    keys = [(seller.chain_id, seller.identity_registry, seller.agent_id) for seller in sellers]
    if not keys:
        return {}
    query = (
        select(agent_enrichment, agent.owner, agent.wallet)
        .join(agent_tables.agent, _is_agent(table))
        .where(tuple_(table.chain_id, table.identity_registry, table.agent_id).in_(keys))
    )
    services_of: dict[tuple[int, str, int], list[SellerService]] = {}
    for row in connection.execute(query).all():
        key = row.chain_id, row.identity_registry, int(row.agent_id)
        if row.signer in (row.owner, row.wallet) or operators_of(connection, *key, [row.signer]):
            service = _service(json.loads(row.content, parse_float=Decimal))
            services_of.setdefault(key, []).extend([service] if service is not None else [])
    return {key: Offer(tuple(sorted(services, key=attrgetter("name")))) for key, services in services_of.items()}


def _service(values: Mapping[str, Any]) -> SellerService | None:
    """Return a stored service, or None if it no longer passes validation by this version of the package."""
    price, policy = values.get("pricePerCallUsdc"), values.get("buyerIncentives")
    if isinstance(price, str):
        return None
    try:
        incentives = None if policy is None else BuyerIncentives.model_validate(policy)
    except ValidationError:
        return None
    return SellerService(values["serviceName"], None if price is None else Decimal(price), incentives)
