"""Attacks drawn at random from parts: sources of funds, times, structures, values, payments and cover.

Named families are few, and what is learned on them does not hold for others. These have no names. They train the
ranking by weak signs (`bench.trust.train`), and no figure is reported on them.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bench.trust.worlds.attacks import mastermind
from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.structures import STRUCTURES, Plan, new_owner, some_people, some_server
from bench.trust.worlds.world import DAY, HOUR, START, Account, Attack, Settings, World

FAMILY: Final = "drawn"
"""The family that drawn attacks are recorded under."""


def drawn(world: World, attack: Attack) -> None:
    """Add an attack whose parts are drawn. Three in ten do two things with the same accounts.

    Args:
        world: The world.
        attack: The attack.
    """
    draw, plan = world.random, _plan(world, attack)
    members = _bought(world, attack, plan) if draw.random() < 0.08 else _members(world, attack, plan)  # noqa: PLR2004
    for _ in range(1 + (draw.random() < 0.3)):  # noqa: PLR2004
        STRUCTURES[draw.integers(len(STRUCTURES))](world, attack, plan, members)
    for one in members:
        for _ in range(draw.poisson(plan.cover) if one.role != "bought" else 0):
            world.meet(one, some_server(world, popular=plan.popular), world.time(max(one.born, plan.covered)))
    if plan.collected:
        sink = world.account(plan.at, role="mule", attack=attack.number)
        for one in members:
            world.transfer(one, sink, draw.uniform(0.5, 4), world.time(plan.at + plan.spread, world.end))


def _plan(world: World, attack: Attack) -> Plan:
    draw = world.random
    at = world.time(START + 10 * DAY, world.end - 40 * DAY)
    low = draw.uniform(65, 95)
    sources = ("exchange", "exchange", "exchange", "one", "chain", "mules", "people", "nothing", "one exchange")
    payments = ("none", "none", "real", "real", "some", "dust", "returned", "by mule", "claimed")
    purse = world.account(at, role="mule", attack=attack.number) if draw.random() < 0.1 else None  # noqa: PLR2004
    return Plan(
        source=str(draw.choice(sources)),
        at=at,
        spread=float(min(np.exp(draw.uniform(np.log(HOUR), np.log(60 * DAY))), world.end - at - 10 * DAY)),
        pause=float(np.exp(draw.uniform(np.log(HOUR), np.log(30 * DAY)))),
        together=bool(draw.random() < 0.4),  # noqa: PLR2004
        praise=(low, float(draw.uniform(low + 3, 100))),
        blame=float(draw.uniform(5, 40)),
        payment=str(draw.choice(payments)),
        cover=float(draw.choice([0, 0, 1, 2, 4, 6, 10])),
        popular=bool(draw.random() < 0.4),  # noqa: PLR2004
        lured=float(draw.choice([0, 0, 2, 5, 8])),
        answered=float(draw.choice([0, 0, 0, 0.3, 0.6])),
        repeated=int(draw.choice([1, 1, 1, 3])),
        share=float(draw.uniform(0.4, 1)),
        collected=bool(draw.random() < 0.15),  # noqa: PLR2004
        purse=purse,
        covered=START if draw.random() < 0.7 else world.time(at),  # noqa: PLR2004
        owners=float(draw.choice([0, 0, 1, 4])),
        served=float(draw.choice([0, 0, 0, 3, 8])),
        turned=float(draw.choice([0, 0, 0, 0.7])),
    )


def _bought(world: World, attack: Attack, plan: Plan) -> list[Account]:
    """Return honest accounts that sell their opinions, some of them for money that shows."""
    out, pays = some_people(world, attack.size), world.random.random() < 0.4  # noqa: PLR2004
    payer = new_owner(world, attack, plan)
    for one in out:
        one.role, one.attack = "bought", attack.number
        if pays:
            world.transfer(payer, one, world.random.uniform(1, 4), world.time(max(plan.at, one.born)))
    return out


def _members(world: World, attack: Attack, plan: Plan) -> list[Account]:
    """Return the new accounts of an attack, funded as planned."""
    draw, out = world.random, []
    source = mastermind(world, attack, plan.at) if plan.source in {"one", "chain", "mules"} else None
    exchange = world.exchanges[draw.integers(len(world.exchanges))]
    middle, width = draw.lognormal(1.5, 0.7), draw.choice([0.01, 0.2, 0.8])
    giver, aged = source, source is None and draw.random() < 0.3  # noqa: PLR2004
    for place in range(attack.size):
        earlier = draw.uniform(0, plan.at - START - DAY) if aged else 0.0
        one = world.account(plan.at - earlier + draw.uniform(0, plan.spread), role="sybil", attack=attack.number)
        one.quality = 80.0 if draw.random() < 0.7 else float(draw.uniform(10, 60))  # noqa: PLR2004
        amount = middle * draw.lognormal(0, width)
        if plan.source == "exchange":
            world.fund(one, None)
        elif plan.source == "one exchange":
            world.transfer(exchange, one, amount, one.born)
        elif plan.source == "people":
            world.fund(one, some_people(world, 1)[0], amount)
        elif plan.source == "mules" and place % 3 == 0:
            giver = world.account(plan.at, role="mule", attack=attack.number)
            world.fund(giver, source, 4 * amount)
        if giver is not None:
            world.fund(one, giver, amount)
        if plan.source == "chain":
            giver = one
        out.append(one)
    return out


def drawn_world(seed: int) -> World:
    """Return a world with drawn habits and drawn attacks.

    Args:
        seed: The seed.
    """
    draw = np.random.default_rng(seed)
    world = honest_world(
        seed,
        Settings(
            days=int(draw.choice([180, 180, 240])),
            clients=int(draw.choice([1500, 3000, 3000, 4500])),
            owners=int(draw.choice([600, 1200, 1200])),
            paid=float(draw.choice([0.4, 0.6, 0.6, 0.75])),
            spoken=float(draw.choice([0.35, 0.45, 0.45, 0.6])),
            proven=float(draw.choice([0.3, 0.5, 0.5, 0.8])),
            answered=float(draw.choice([0.15, 0.3, 0.3, 0.5])),
            communities=int(draw.choice([4, 8, 8, 12])),
            validated=float(draw.choice([0.15, 0.25, 0.25, 0.4])),
            newcomers=float(draw.choice([0.7, 0.9, 1.0, 1.0])),
        ),
    )
    for _ in range(int(draw.choice([18, 24, 30]))):
        drawn(world, world.begin(FAMILY, int(draw.choice([3, 4, 5, 6, 8, 10, 15, 20, 30]))))
    return world
