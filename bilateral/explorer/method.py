"""The page that explains how each figure is computed, and what the API offers."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from bilateral.buyers.private.members import read_last_groups
from bilateral.explorer.words import words_of
from bilateral.index.operating.chains import ChainProgress, chains


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a figure.

    Attributes:
        anchor: The anchor in the page's URL. Figures on other pages link to it.
        name: The figure's name on the pages.
        text: The explanation.
    """

    anchor: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Entrance:
    """One part of the API.

    Attributes:
        path: The path, or a path pattern.
        link: A path for trying out this part of the API; None if a path alone is not enough.
        text: A description of what the path returns.
    """

    path: str
    link: str | None
    text: str


@dataclass(frozen=True, slots=True)
class MethodPage:
    """The page's content.

    Attributes:
        explanations: The explanation of each figure.
        api: The parts of the API.
    """

    explanations: tuple[Explanation, ...]
    api: tuple[Entrance, ...]
    chains: tuple[ChainProgress, ...]


_WORDS: Final = words_of("method")
EXPLANATIONS: Final = tuple(Explanation(**words) for words in _WORDS["explanations"])
API: Final = tuple(Entrance(words["path"], words.get("link"), words["text"]) for words in _WORDS["api"])


def method_page(chains: tuple[ChainProgress, ...]) -> MethodPage:
    """Return the page's content."""
    return MethodPage(EXPLANATIONS, API, chains)


LEAST: Final = 20
"""The minimum group size: the prover rejects smaller groups."""

LINES: Final = (
    ("The seller", "learns the proven tier, the payer, and a number that identifies the buyer there for one day."),
    ("The service", "learns the buyer and its commitment, but neither where nor when the tier is used."),
    ("Everybody", "sees the members of each group and the numbers that were used, but not which member used them."),
    ("A fresh wallet", "reveals the main wallet if the main wallet funded it. No proof can prevent that."),
    ("A small group", "hides its members poorly, because a proof reveals that one of them acted."),
)
"""What each party learns from a proof, one line per party."""


@dataclass(frozen=True, slots=True)
class TierGroup:
    """A group whose members can prove a buyer tier anonymously.

    Attributes:
        epoch: The UTC day, in days since the Unix epoch.
        tier: The tier that a member of the group can prove.
        members: The number of members.
        is_small: True if the prover rejects the group as too small.
    """

    policy: str
    epoch: int
    tier: str
    members: int
    is_small: bool


@dataclass(frozen=True, slots=True)
class PrivateTiersPage:
    """The page's content.

    Attributes:
        lines: Pairs of a party and what a private proof tells it.
        groups: Each policy's groups from the latest day that has any.
    """

    lines: tuple[tuple[str, str], ...]
    groups: tuple[TierGroup, ...]
    chains: tuple[ChainProgress, ...]


def private_tiers_page(connection: Connection) -> PrivateTiersPage:
    """Return the page's content."""
    groups = tuple(
        TierGroup(policy, epoch, tier, members, members < LEAST)
        for policy, epoch, sizes in read_last_groups(connection)
        for tier, members in sizes.items()
    )
    return PrivateTiersPage(LINES, groups, tuple(chains(connection)))
