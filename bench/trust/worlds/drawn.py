"""Attacks drawn at random from parts: sources of funds, times, structures, values, payments and cover.

Named families are few, and what is learned on them does not hold for others. These have no names. They train the
ranking by weak signs (`bench.trust.train`), and no figure is reported on them.
"""

from typing import Final

import numpy as np

from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.lookalikes import add_look_alikes
from bench.trust.worlds.structures import SCHEMES, STRUCTURES, Plan, new_owner
from bench.trust.worlds.world import DAY, HOUR, START, Account, Attack, Settings, World

_FUNDERS: Final = {"one": 1, "chain": 1, "mules": 1, "mixed": 1, "several": 3}
"""The number of accounts of the attacker that funds come from, by source."""


_CHILDREN: Final = {"mules": 3}
"""The number of members that one account funds before another does, by source."""


FAMILY: Final = "drawn"
"""The family that drawn attacks are recorded under, with the names of their structures behind it."""


EVERY: Final = STRUCTURES + SCHEMES
"""All structures, the usual ones several times."""


def drawn(world: World, attack: Attack) -> None:
    """Add an attack whose parts are drawn. Three in ten do two things with the same accounts.

    Args:
        world: The world.
        attack: The attack.
    """
    draw, plan = world.random, _plan(world, attack)
    members = _bought(world, attack, plan) if world.happens(0.08) else _members(world, attack, plan)
    chosen = [world.one_of(EVERY) for _ in range(1 + (world.happens(0.3)))]
    for structure in chosen:
        structure(world, plan, members)
    attack.family = f"{FAMILY}: {', '.join(account.__name__[1:] for account in chosen)}"
    for account in members:
        for _ in range(draw.poisson(plan.cover) if account.role != "bought" else 0):
            agent, at = world.server(popular=plan.popular), world.time(max(account.born, plan.covered))
            if plan.unused:
                at = max(at, agent.ts)
                world.say(account, agent, agent.quality_at(at) + account.bias + draw.normal(0, 8), at)
            else:
                world.meet(account, agent, at)
    if plan.collected:
        sink = world.mule(attack, plan.at)
        for account in members:
            world.transfer(account, sink, draw.uniform(0.5, 4), world.time(plan.at + plan.spread, world.end))


def _plan(world: World, attack: Attack) -> Plan:
    at = world.time(START + 10 * DAY, world.end - 40 * DAY)
    low = world.random.uniform(65, 95)
    sources = (
        *("exchange", "exchange", "exchange", "exchange", "one", "chain", "mules", "people", "nothing", "one exchange"),
        *("several", "relay", "mixed"),
    )
    payments = (
        *("none", "none", "none", "real", "real", "real", "some", "dust", "returned", "by mule", "claimed"),
        *("in part", "late", "pooled"),
    )
    payment = str(world.random.choice(payments))
    source = str(world.random.choice(sources))
    pool = world.mule(attack, at) if payment == "pooled" else None
    if pool is not None:
        world.fund(pool)
    purse = world.mule(attack, at) if world.happens(0.1) else None
    return Plan(
        attack=attack,
        source=source,
        at=at,
        spread=float(min(np.exp(world.random.uniform(np.log(HOUR), np.log(60 * DAY))), world.end - at - 10 * DAY)),
        pause=float(np.exp(world.random.uniform(np.log(HOUR), np.log(30 * DAY)))),
        together=bool(world.happens(0.4)),
        praise=(low, float(world.random.uniform(low + 3, 100))),
        blame=float(world.random.uniform(5, 40)),
        payment=payment,
        cover=float(world.random.choice([0, 0, 1, 2, 4, 6, 10])),
        popular=bool(world.happens(0.4)),
        lured=float(world.random.choice([0, 0, 2, 5, 8])),
        answered=float(world.random.choice([0, 0, 0, 0.3, 0.6])),
        repeated=int(world.random.choice([1, 1, 1, 3])),
        share=float(world.random.uniform(0.4, 1)),
        collected=bool(world.happens(0.15)),
        purse=purse,
        covered=START if world.happens(0.7) else world.time(at),
        unused=bool(world.happens(0.2)),
        owners=float(world.random.choice([0, 0, 1, 4])),
        served=float(world.random.choice([0, 0, 0, 3, 8])),
        turned=float(world.random.choice([0, 0, 0, 0.7])),
        tag="starred" if world.happens(0.93) else f"tag {attack.number}",
        funders=tuple(world.mastermind(attack, at) for _ in range(_FUNDERS.get(source, 0))),
        known=float(world.random.choice([0, 0, 0.5, 1])),
        pool=pool,
    )


def _bought(world: World, attack: Attack, plan: Plan) -> list[Account]:
    """Return honest accounts that sell their opinions, some of them for money that shows."""
    out, pays = world.some_of(world.honest, attack.size), world.happens(0.4)
    payer = new_owner(world, plan)
    for account in out:
        account.role, account.attack = "bought", attack.number
        if pays:
            world.transfer(payer, account, world.random.uniform(1, 4), world.time(max(plan.at, account.born)))
    return out


def _members(world: World, attack: Attack, plan: Plan) -> list[Account]:
    """Return the new accounts of an attack, funded as planned."""
    draw, out = world.random, []
    sources = plan.funders
    exchange = world.one_of(world.exchanges)
    middle, width = draw.lognormal(1.5, 0.7), draw.choice([0.01, 0.2, 0.8])
    giver, aged = sources[0] if sources else None, not sources and world.happens(0.3)
    for place in range(attack.size):
        earlier = draw.uniform(0, plan.at - START - DAY) if aged else 0.0
        account = world.account(plan.at - earlier + draw.uniform(0, plan.spread), role="sybil", attack=attack.number)
        account.quality = 80.0 if world.happens(0.7) else float(draw.uniform(10, 60))
        amount = middle * draw.lognormal(0, width)
        if place % _CHILDREN.get(plan.source, 1) == 0:
            giver = _giver(world, plan, account, sources, giver, 4 * amount)
        if giver is not None:
            world.fund(account, giver, amount)
        elif plan.source in {"exchange", "mixed"}:
            world.fund(account)
        elif plan.source == "one exchange":
            world.transfer(exchange, account, amount, account.born)
        if plan.source == "chain":
            giver = account
        out.append(account)
    return out


def _giver(  # noqa: PLR0913, PLR0917
    world: World, plan: Plan, account: Account, sources: tuple[Account, ...], before: Account | None, amount: float
) -> Account | None:
    """Return the account that funds a member; None if exchanges do, or nobody.

    Args:
        world: The world.
        plan: The parts of the attack.
        account: The member.
        sources: The accounts of the attacker that funds come from.
        before: The account that funded the member before, or was to fund the first.
        amount: The amount for an account that passes funds on.
    """
    if plan.source == "several":
        return world.one_of(sources)
    if plan.source == "mixed":
        return sources[0] if world.happens(0.5) else None
    if plan.source == "people":
        return world.some_of(world.honest, 1)[0]
    if plan.source in {"mules", "relay"}:
        return world.funded(
            min(plan.at, account.born) - HOUR, sources[0] if sources else None, amount, role="mule", attack=plan.number
        )
    return before


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
            refunding=float(draw.choice([0, 0.1, 0.3, 0.6])),
            cashback=float(draw.choice([0, 0, 0.1, 0.3])),
        ),
    )
    add_look_alikes(world)
    for _ in range(int(draw.choice([18, 24, 30]))):
        drawn(world, world.begin(FAMILY, int(draw.choice([3, 4, 5, 6, 8, 10, 15, 20, 30]))))
    return world
