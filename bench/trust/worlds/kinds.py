"""The kinds of worlds that are measured: their families, the sizes of attacks, and the seeds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from bench.trust.worlds import harm, hired, judges, praise, rings, sold, turning, wash
from bench.trust.worlds.hired import add_customs
from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.lookalikes import add_bystanders
from bench.trust.worlds.world import Attack, World

Family = Callable[[World, Attack], None]

SIZES: Final = (5, 10, 20)
_PLENTY: Final = {"retaliation": (6,), "self_rating": (8,), "framing": (8,)}


@dataclass(frozen=True)
class Kind:
    """A kind of worlds.

    Attributes:
        about: The families, in a few words.
        seeds: The seeds of the worlds.
        families: The families by name.
        sizes: The sizes of the attacks of a family in one world, where they are not `SIZES`.
        add: Adds further honest accounts.
    """

    about: str
    seeds: range
    families: Mapping[str, Family]
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: _PLENTY)
    add: Callable[[World], None] | None = None

    def world(self, seed: int) -> World:
        """Return a world of this kind.

        Args:
            seed: The seed.
        """
        made = honest_world(seed)
        if self.add is not None:
            self.add(made)
        for name, family in self.families.items():
            for size in self.sizes.get(name, SIZES):
                family(made, made.begin(name, size))
        return made


def _families(names: str, **others: str) -> dict[str, Family]:
    """Return families by name. A name that two authors gave is that of another function."""
    schemes = (harm, hired, judges, praise, rings, sold, turning, wash)
    return {
        name: next(vars(scheme)[function] for scheme in schemes if function in vars(scheme))
        for name in names.split()
        for function in [others.get(name, name)]
    }


_VISIBLE: Final = _families("star slow_drip slander ring camouflaged_ring retaliation self_rating")
_SEEN: Final = _families(
    "funding_chain mule_tree exchange_star exchange_drip exchange_ring cycle wash_ring sleepers bribery "
    "validator_cartel punishing_gang modest_star framing"
)
FAMILIES: Final = _VISIBLE | _SEEN
"""The first families by name."""

_FIRST_SIZES: Final = {
    "peel_chain": (5, 12, 28), "cell_rotation": (9, 16, 32), "oneway_ring": (5, 11, 23), "wash_circuit": (4, 10, 24),
    "kickback": (6, 12, 24), "review_farm": (8, 16, 26), "captured_validator": (5, 12, 22),
    "bought_accounts": (4, 9, 18), "client_laundering": (4, 10, 20), "score_defence": (6, 12, 22),
    "rival_takedown": (5, 12, 25), "blacklist_cartel": (3, 7, 14),
}  # fmt: skip
"""The families of a first author, who knew the visible generator alone, with their sizes. These count the main members:
the accounts that lie, or the owners if these are the members."""

_SECOND_AUTHOR: Final = _families(
    "cex_star fund_chain mule_tree review_farm smear_campaign cycle_ring wash_trading validator_cartel whitewash "
    "client_boost blacklist_cartel paid_sleepers",
    mule_tree="mule_forest",
    review_farm="covered_farm",
    cycle_ring="hidden_circle",
    validator_cartel="bought_validator",
    whitewash="identity_series",
    blacklist_cartel="revenge_cartel",
)
"""The families of a second author, by the author's names. Numbers, times, amounts and values are the author's."""

_THIRD_AUTHOR: Final = _families(
    "bipartite_farm cycle_ring pyramid overlapping_cliques aged_sleepers wash_payers rival_slander client_blacklist "
    "client_laundry validator_cartel exit_traitor broker_hub relay_waves",
    client_laundry="laundry_hub",
    validator_cartel="failing_validators",
)
"""The families of a third author, by the author's names. Sizes count raters and owners, not mules and funders."""

_HIRED: Final = _families(
    "bribed_validators escrowed_verdicts review_market coupon_market account_shop leased_accounts"
)

_ROTA: Final = ((5, 15, 50), (4, 8, 20, 40), (3, 10, 30))
"""The sizes of the third author's families in turns, as the source has them for its seed 1."""

KINDS: Final[dict[str, Kind]] = {
    "visible": Kind("families that everybody knows", range(1001, 1004), _VISIBLE),
    "seen": Kind("families of our own, looked at while the engine was built", range(1011, 1014), _SEEN),
    "watched": Kind(
        "families written after the first engine, and watched since",
        range(1021, 1024),
        _families("bought_clients slow_slander lone_validator"),
    ),
    "latest": Kind(
        "families written before the ranking was learned",
        range(1051, 1054),
        _families("shill_pool client_laundry own_money"),
    ),
    "newest": Kind(
        "families written before honest accounts were born until the end",
        range(1061, 1064),
        _families("whitewash extortion exit_scam referral judge_shopping copycats"),
    ),
    "fresh": Kind(
        "families written before the ranking was trained on more structures",
        range(1071, 1074),
        _families("poisoned_launch judge_ring thin_spread coercion booster"),
    ),
    "strange": Kind(
        "families of our own that were written last",
        range(1081, 1084),
        _families("shell_suppliers review_panel judge_toll penny_orders wolf_pack"),
    ),
    "first author": Kind(
        "families and look-alikes of a first author who does not know the engine",
        range(1091, 1094),
        *(_families(" ".join(_FIRST_SIZES)), _FIRST_SIZES, add_bystanders),
    ),
    "second author": Kind(
        "families of a second author who does not know the engine",
        range(1101, 1104),
        _SECOND_AUTHOR,
        {name: (5, 10, 20, 40) for name in _SECOND_AUTHOR if name != "blacklist_cartel"},
    ),
    "third author": Kind(
        "families of a third author who does not know the engine",
        range(1111, 1114),
        _THIRD_AUTHOR,
        {name: _ROTA[place % len(_ROTA)] for place, name in enumerate(_THIRD_AUTHOR)},
    ),
    "hired": Kind(
        "families of hired accounts beside honest fees, rewards and returns",
        range(1121, 1124),
        _HIRED,
        dict.fromkeys(_HIRED, (5, 12, 25, 40)),
        add_customs,
    ),
}
"""The kinds by name."""


def add(world: World, family: str, size: int) -> None:
    """Add one attack to a world.

    Args:
        world: The world.
        family: One of `FAMILIES`.
        size: The number of accounts, or of agents, that attack.
    """
    FAMILIES[family](world, world.begin(family, size))
