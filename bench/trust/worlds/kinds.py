"""The kinds of worlds that are measured: their families, the sizes of attacks, and the seeds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from bench.trust.worlds import harm, judges, praise, rings, sold, turning, wash
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


def _by_name(*families: Family, **others: Family) -> dict[str, Family]:
    return {family.__name__: family for family in families} | others


FAMILIES: Final = _by_name(
    *(praise.star, praise.slow_drip, harm.slander, rings.ring, rings.camouflaged_ring, harm.retaliation),
    *(praise.self_rating, praise.funding_chain, praise.mule_tree, praise.exchange_star, praise.exchange_drip),
    *(rings.exchange_ring, rings.cycle, wash.wash_ring, praise.dense_block, turning.sleepers, sold.bribery),
    *(praise.collector, judges.validator_cartel, harm.punishing_gang, wash.dust_proofs, praise.modest_star),
    *(harm.framing, harm.many_slanders),
)
"""The first families by name."""

_VISIBLE: Final = ("star", "slow_drip", "slander", "ring", "camouflaged_ring", "retaliation", "self_rating")
"""The families that everybody knows."""

_FIRST_AUTHOR: Final[dict[Family, tuple[int, ...]]] = {
    praise.peel_chain: (5, 12, 28),
    praise.cell_rotation: (9, 16, 32),
    rings.oneway_ring: (5, 11, 23),
    wash.wash_circuit: (4, 10, 24),
    sold.kickback: (6, 12, 24),
    sold.review_farm: (8, 16, 26),
    judges.captured_validator: (5, 12, 22),
    sold.bought_accounts: (4, 9, 18),
    judges.client_laundering: (4, 10, 20),
    turning.score_defence: (6, 12, 22),
    harm.rival_takedown: (5, 12, 25),
    harm.blacklist_cartel: (3, 7, 14),
}
"""The families of a first author, who knew the visible generator alone, with their sizes. These count the main members:
the accounts that lie, or the owners if these are the members."""

_SECOND_AUTHOR: Final[dict[str, Family]] = {
    "cex_star": praise.cex_star,
    "fund_chain": praise.fund_chain,
    "mule_tree": praise.mule_forest,
    "review_farm": sold.covered_farm,
    "smear_campaign": harm.smear_campaign,
    "cycle_ring": rings.hidden_circle,
    "wash_trading": wash.wash_trading,
    "validator_cartel": judges.bought_validator,
    "whitewash": turning.identity_series,
    "client_boost": judges.client_boost,
    "blacklist_cartel": harm.revenge_cartel,
    "paid_sleepers": sold.paid_sleepers,
}
"""The families of a second author, by the author's names. Numbers, times, amounts and values are the author's."""

_THIRD_AUTHOR: Final[dict[str, Family]] = {
    **_by_name(praise.bipartite_farm, rings.cycle_ring, praise.pyramid, rings.overlapping_cliques),
    **_by_name(turning.aged_sleepers, wash.wash_payers, harm.rival_slander, harm.client_blacklist),
    "client_laundry": judges.laundry_hub,
    "validator_cartel": judges.failing_validators,
    **_by_name(turning.exit_traitor, sold.broker_hub, praise.relay_waves),
}
"""The families of a third author, by the author's names. Sizes count raters and owners, not mules and funders."""

_ROTA: Final = ((5, 15, 50), (4, 8, 20, 40), (3, 10, 30))
"""The sizes of the third author's families in turns, as the source has them for its seed 1."""

KINDS: Final[dict[str, Kind]] = {
    "visible": Kind(
        "families that everybody knows", range(1001, 1004), "#4477aa", {name: FAMILIES[name] for name in _VISIBLE}
    ),
    "seen": Kind(
        "families of our own, looked at while the engine was built",
        range(1011, 1014),
        "#228833",
        {name: family for name, family in FAMILIES.items() if name not in _VISIBLE},
    ),
    "watched": Kind(
        "families written after the first engine, and watched since",
        range(1021, 1024),
        "#ccbb44",
        _by_name(
            *(sold.bought_clients, rings.two_gangs, wash.layered_wash, harm.slow_slander, rings.swap_market),
            *(praise.own_tag, judges.lone_validator),
        ),
    ),
    "latest": Kind(
        "families written before the ranking was learned, measured now",
        range(1051, 1054),
        "#ee6677",
        _by_name(
            *(sold.shill_pool, sold.payroll, harm.rival_war, judges.client_laundry, wash.own_money, rings.one_purse)
        ),
    ),
    "newest": Kind(
        "families written before honest accounts were born until the end, measured now",
        range(1061, 1064),
        "#aa3377",
        _by_name(
            *(turning.whitewash, harm.extortion, turning.exit_scam, praise.referral, judges.judge_shopping),
            praise.copycats,
        ),
    ),
    "fresh": Kind(
        "families written before the ranking was trained on more structures, measured now",
        range(1071, 1074),
        "#66ccee",
        _by_name(
            *(wash.ghost_demand, harm.poisoned_launch, judges.judge_ring, sold.thin_spread, harm.coercion), sold.booster
        ),
    ),
    "strange": Kind(
        "families of our own that were written last, measured now",
        range(1081, 1084),
        "#bbbbbb",
        _by_name(judges.shell_suppliers, sold.review_panel, judges.judge_toll, wash.penny_orders, harm.wolf_pack),
    ),
    "first author": Kind(
        "families and look-alikes of a first author who does not know the engine, measured now",
        range(1091, 1094),
        "#332288",
        _by_name(*_FIRST_AUTHOR),
        {family.__name__: sizes for family, sizes in _FIRST_AUTHOR.items()},
        add_bystanders,
    ),
    "second author": Kind(
        "families of a second author who does not know the engine, measured now",
        range(1101, 1104),
        "#44aa99",
        _SECOND_AUTHOR,
        {name: (5, 10, 20, 40) for name in _SECOND_AUTHOR if name != "blacklist_cartel"},
    ),
    "third author": Kind(
        "families of a third author who does not know the engine, measured now",
        range(1111, 1114),
        "#999933",
        _THIRD_AUTHOR,
        {name: _ROTA[place % len(_ROTA)] for place, name in enumerate(_THIRD_AUTHOR)},
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
