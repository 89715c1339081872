"""The answers about buyers, and the batch that asks for many of them."""

# ruff: noqa: N815  # the specification's names

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, Field

from bilateral.buyers.moderation import MessageAbout
from bilateral.buyers.records import BuyerProfile, Number, RecentTransaction
from bilateral.buyers.registry import RegistryRecords

_MOST_BUYERS: Final = 100
"""Buyers of one request: each is read by statements of its own."""


@dataclass(frozen=True)
class Profile(BuyerProfile):
    """A profile with what the registries of buyers on the chain say: settled and attested payments apart."""

    registryRecords: tuple[RegistryRecords, ...] = ()


@dataclass(frozen=True)
class ExpandedProfile(Profile):
    """A profile with the buyer's last payments (section 4.1), or with the messages about it."""

    recentTransactions: tuple[RecentTransaction, ...] | None = None
    messages: tuple[MessageAbout, ...] | None = None


@dataclass(frozen=True)
class DiscountTerms:
    """The discount of one buyer (section 5.2). `code` and `warnings` are ours."""

    percentage: Number
    reason: str
    appliesTo: tuple[str, ...]
    validUntil: str
    code: str
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class ServiceDiscount:
    """The discount of one buyer for one service, by the policy that was published with the service."""

    percentage: Number
    reason: str
    code: str


@dataclass(frozen=True)
class DiscountAnswer:
    """The discount that a seller offers a buyer (section 5.2). `scoringPolicy` and `services` are ours.

    `discount` is the largest one, and `appliesTo` names the services that have it. `services` has that of each.
    """

    buyerId: str
    sellerGlobalId: str
    buyerTier: str
    buyerScore: int
    discount: DiscountTerms
    originalPricing: dict[str, Number]
    discountedPricing: dict[str, Number]
    scoringPolicy: str
    services: dict[str, ServiceDiscount]


@dataclass(frozen=True)
class Profiles:
    """The profiles of several buyers, in the order of the request."""

    buyers: tuple[BuyerProfile, ...]


class Batch(BaseModel):
    """The buyers of a batch."""

    addresses: Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=_MOST_BUYERS)]
    chainId: Annotated[int | None, Field(ge=1, lt=2**63, strict=True)] = None
    policy: Annotated[str | None, Field(max_length=64)] = None
