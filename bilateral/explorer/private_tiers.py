"""The page of private tiers: who learns what of a proof, and the size of the groups. It names no buyer and no proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from bilateral.buyers.private.members import read_last_groups
from bilateral.index.operating.chains import ChainProgress, chains

LEAST: Final = 20
"""The members below which the prover refuses a group."""

LINES: Final = (
    ("The seller", "learns a tier of at least t, the payer, and one number for a buyer there and on that day."),
    ("The service", "learns the buyer and its commitment, but neither where nor when the tier is used."),
    ("Everybody", "sees the members of each group and the numbers that were used, but not which member acts."),
    ("A fresh wallet", "that the main wallet funded shows the main wallet. No proof repairs that."),
    ("A small group", "hides badly: a proof says that one of its members acts."),
)
"""Who learns what, a line each."""


@dataclass(frozen=True, slots=True)
class TierGroup:
    """The members of one group.

    Attributes:
        policy: The scoring policy.
        epoch: The UTC day, in days since the beginning of Unix time.
        tier: The tier that a proof in the group shows.
        members: The number of members.
        is_small: True if the prover refuses the group.
    """

    policy: str
    epoch: int
    tier: str
    members: int
    is_small: bool


@dataclass(frozen=True, slots=True)
class PrivateTiersPage:
    """The content of the page.

    Attributes:
        lines: Pairs of a party and what it learns.
        groups: The groups of the last day of each policy.
        chains: The indexed chains.
    """

    lines: tuple[tuple[str, str], ...]
    groups: tuple[TierGroup, ...]
    chains: tuple[ChainProgress, ...]


def private_tiers_page(connection: Connection) -> PrivateTiersPage:
    """Return the content of the page."""
    groups = tuple(
        TierGroup(policy, epoch, tier, members, members < LEAST)
        for policy, epoch, sizes in read_last_groups(connection)
        for tier, members in sizes.items()
    )
    return PrivateTiersPage(LINES, groups, tuple(chains(connection)))
