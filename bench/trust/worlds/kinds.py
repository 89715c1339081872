"""The kinds of worlds that are measured: their families, the sizes of attacks, and the seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from bench.trust.worlds.attacks import FAMILIES, VISIBLE
from bench.trust.worlds.bad_judges import client_laundry, judge_ring, judge_shopping, lone_validator, shell_suppliers
from bench.trust.worlds.bought_praise import (
    booster,
    bought_clients,
    copycats,
    own_tag,
    payroll,
    referral,
    review_panel,
    shill_pool,
    thin_spread,
)
from bench.trust.worlds.extortion import coercion, extortion, judge_toll
from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.independent import first, second, third
from bench.trust.worlds.independent.bystanders import add_bystanders
from bench.trust.worlds.rings import one_purse, swap_market, two_gangs
from bench.trust.worlds.rival_slander import poisoned_launch, rival_war, slow_slander, wolf_pack
from bench.trust.worlds.turned_agents import exit_scam, whitewash
from bench.trust.worlds.wash_trades import ghost_demand, layered_wash, own_money, penny_orders
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
        colour: The colour of plots.
        families: The families by name.
        sizes: The sizes of the attacks of a family in one world, where they are not `SIZES`.
        add: Adds further honest accounts.
    """

    about: str
    seeds: range
    colour: str
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


def _named(*families: Family) -> dict[str, Family]:
    return {family.__name__: family for family in families}


KINDS: Final[dict[str, Kind]] = {
    "visible": Kind(
        "families that everybody knows", range(1001, 1004), "#4477aa", {name: FAMILIES[name] for name in VISIBLE}
    ),
    "seen": Kind(
        "families of our own, looked at while the engine was built",
        range(1011, 1014),
        "#228833",
        {name: family for name, family in FAMILIES.items() if name not in VISIBLE},
    ),
    "watched": Kind(
        "families written after the first engine, and watched since",
        range(1021, 1024),
        "#ccbb44",
        _named(bought_clients, two_gangs, layered_wash, slow_slander, swap_market, own_tag, lone_validator),
    ),
    "latest": Kind(
        "families written before the ranking was learned, measured now",
        range(1051, 1054),
        "#ee6677",
        _named(shill_pool, payroll, rival_war, client_laundry, own_money, one_purse),
    ),
    "newest": Kind(
        "families written before honest accounts were born until the end, measured now",
        range(1061, 1064),
        "#aa3377",
        _named(whitewash, extortion, exit_scam, referral, judge_shopping, copycats),
    ),
    "fresh": Kind(
        "families written before the ranking was trained on more structures, measured now",
        range(1071, 1074),
        "#66ccee",
        _named(ghost_demand, poisoned_launch, judge_ring, thin_spread, coercion, booster),
    ),
    "strange": Kind(
        "families of our own that were written last, measured now",
        range(1081, 1084),
        "#bbbbbb",
        _named(shell_suppliers, review_panel, judge_toll, penny_orders, wolf_pack),
    ),
    "first author": Kind(
        "families and look-alikes of a first author who does not know the engine, measured now",
        range(1091, 1094),
        "#332288",
        first.FIRST,
        first.SIZES,
        add_bystanders,
    ),
    "second author": Kind(
        "families of a second author who does not know the engine, measured now",
        range(1101, 1104),
        "#44aa99",
        second.SECOND,
        second.SIZES,
    ),
    "third author": Kind(
        "families of a third author who does not know the engine, measured now",
        range(1111, 1114),
        "#999933",
        third.THIRD,
        third.SIZES,
    ),
}
"""The kinds by name."""
