"""Crowds of fresh accounts: the ways of their first money, their agents with genuine customers, and their cover."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from bench.trust.worlds.world import DAY, HOUR, Account, Agent, Attack, Range, World

_Item = TypeVar("_Item")


def some(world: World, items: Sequence[_Item], share: float) -> list[_Item]:
    """Return a random part of a sequence, at least one item."""
    return [item for item in items if world.happens(share)] or [items[int(world.random.integers(len(items)))]]


def born(world: World, attack: Attack, count: int, between: Range, **truth: Any) -> list[Account]:
    """Return new accounts of an attacker in the order of their births, without funds.

    Args:
        world: The world.
        attack: The attack.
        count: Their number.
        between: The earliest and the latest birth.
        truth: The truth about them, if it is not the usual one.
    """
    draw, out = world.random, []
    for at in np.sort(draw.uniform(*between, count)):
        bias, quality = float(draw.normal(0, 6)), float(draw.uniform(60, 98))
        usual = {"role": "sybil", "bias": bias, "quality": quality}
        community = int(draw.integers(world.settings.communities))
        out.append(world.account(float(at), attack=attack.number, **{**usual, "community": community, **truth}))
    return out


def funded(
    world: World, attack: Attack, count: int, between: Range, way: Callable[[World, list[Account]], None], **truth: Any
) -> list[Account]:
    """Return new accounts of an attacker in the order of their births, with funds.

    Args:
        world: The world.
        attack: The attack.
        count: Their number.
        between: The earliest and the latest birth.
        way: The way of their first money.
        truth: The truth about them, if it is not the usual one.
    """
    out = born(world, attack, count, between, **truth)
    way(world, out)
    return out


def alone(world: World, members: list[Account]) -> None:
    """Fund members as honest accounts are funded."""
    for account in members:
        world.fund(account)


def from_one_exchange(world: World, members: list[Account]) -> None:
    """Fund members from one exchange, shortly before their births."""
    exchange = world.one_of(world.exchanges)
    for account in members:
        world.transfer(exchange, account, _first_amount(world), account.born - world.random.uniform(600, 7200))


def by_mules(world: World, members: list[Account]) -> None:
    """Fund one to three members each from a mule, a third of which are two deep."""
    draw, place = world.random, 0
    while place < len(members):
        count = int(draw.integers(1, 4))
        group = members[place : place + count]
        place += count
        at = group[0].born - draw.uniform(2, 36) * HOUR
        source = mule(world, group[0].attack, at - HOUR)
        if world.happens(0.33):
            source = mule(world, group[0].attack, at, source)
        for account in group:
            world.transfer(source, account, _first_amount(world), account.born - draw.uniform(300, HOUR))


def by_peeling(world: World, members: list[Account]) -> None:
    """Fund members along a chain of mules. Each pays one member and hands the rest on."""
    draw, count = world.random, len(members)
    source = mule(world, members[0].attack, members[0].born - 8 * HOUR, amount=30.0 * count)
    for place, account in enumerate(members):
        at = account.born - draw.uniform(300, 1200)
        world.transfer(source, account, _first_amount(world), at)
        if place < count - 1:
            later = min(at + draw.uniform(60, HOUR), members[place + 1].born - 1300)
            source = mule(world, account.attack, later, source, 25.0 * (count - place))


def by_chain(world: World, members: list[Account]) -> None:
    """Fund the first member, and let each hand the rest on to the next."""
    draw, count = world.random, len(members)
    world.fund(members[0], amount=20.0 * count)
    for place in range(1, count):
        source, account = members[place - 1], members[place]
        at = draw.uniform(max(source.born, account.born - DAY), account.born)
        world.transfer(source, account, 20 * (count - place) * draw.uniform(0.9, 1), at)


def by_tree(world: World, members: list[Account]) -> None:
    """Fund the first member, and let each fund two others."""
    draw, count = world.random, len(members)
    world.fund(members[0], amount=20.0 * count)
    for place in range(1, count):
        source, account = members[(place - 1) // 2], members[place]
        at = draw.uniform(max(source.born, account.born - DAY), account.born)
        world.transfer(source, account, 20 * count / (place + 1) * draw.uniform(0.8, 1), at)


def mule(world: World, attack: int, at: float, source: Account | None = None, amount: float | None = None) -> Account:
    """Return a new account that money passes through.

    Args:
        world: The world.
        attack: The number of the attack.
        at: The time of its first money.
        source: The account that funds it; an exchange if None.
        amount: The amount; a drawn one if None.
    """
    out = world.account(at, role="mule", attack=attack)
    source = source or world.one_of(world.exchanges)
    world.transfer(source, out, world.random.lognormal(4, 0.6) if amount is None else amount, at)
    return out


def bad_agent(
    world: World, owner: Account, quality: tuple[float, float] = (20, 50), at: float | None = None, **other: Any
) -> Agent:
    """Return a new agent of an attacker.

    Args:
        world: The world.
        owner: The owner.
        quality: The lowest and the highest quality.
        at: The time of registration; within a day after the owner's birth if None.
        other: More facts about the agent.
    """
    when = owner.born + world.random.uniform(600, DAY) if at is None else at
    value = world.random.uniform(*quality)
    about = {"community": owner.community, "role": "beneficiary", "attack": owner.attack}
    return world.agent(owner, when, value, **about, **other)


def live(world: World, account: Account, mean: float, stop: float | None = None) -> None:
    """Let a member use honest agents, chosen as honest clients choose.

    Args:
        world: The world.
        account: The member.
        mean: The mean number of interactions.
        stop: The latest time; the world's end if None.
    """
    draw, stop = world.random, world.end if stop is None else stop
    for agent in world.usual_servers(account, mean):
        start = max(account.born, agent.ts) + 600
        if start < stop:
            world.meet(account, agent, world.time(start, stop))
    if world.happens(0.15):
        other = world.one_of(world.honest)
        world.transfer(account, other, draw.lognormal(2, 1), world.time(account.born, stop))


def served(
    world: World, agents: Sequence[Agent], mean: float, start: float | None = None, stop: float | None = None
) -> None:
    """Let honest clients use agents of an attacker, and say what they found.

    Args:
        world: The world.
        agents: The agents.
        mean: The mean number of interactions.
        start: The earliest time; the agent's registration if None.
        stop: The latest time; the world's end if None.
    """
    latest = world.end if stop is None else stop
    for agent in agents:
        earliest = (agent.ts if start is None else max(start, agent.ts)) + 600
        for _ in range(world.random.poisson(mean) if earliest < latest else 0):
            when = world.time(earliest, latest)
            if clients := [account for account in world.honest if account.born < when - 600]:
                world.meet(world.one_of(clients), agent, when)


def claim(world: World, account: Account, agent: Agent, value: float, at: float, **share: float) -> None:
    """Let a member give false feedback, after both it and the agent are there.

    Args:
        world: The world.
        account: The member.
        agent: The agent.
        value: The value.
        at: The time, if it is late enough.
        share: `paid` is the share of payments (0), `proven` that of proofs of payments (0.5).
    """
    at = max(at, max(account.born, agent.ts) + world.random.uniform(600, 2 * DAY))
    at = min(at, world.end - world.random.uniform(0, DAY))
    proof = None
    if world.happens(share.get("paid", 0.0)):
        proof = world.pay(account, agent, world.random.lognormal(-1.5, 1), at - world.random.uniform(30, 500))
    proof = proof if world.happens(share.get("proven", 0.5)) else None
    world.say(account, agent, value, at, proof=proof, attack=account.attack)


def _first_amount(world: World) -> float:
    """Return the amount of a member's first money."""
    return float(world.random.lognormal(2.6, 0.7))


def untouched(world: World) -> list[Agent]:
    """Return honest agents of small owners that no attack has touched and that do not turn, in random order."""
    owned = Counter(agent.owner.address for agent in world.agents)
    struck = {row[1] for row in world.feedback if row[6] >= 0}
    touched = {agent.owner.address for agent in world.agents if agent.attack >= 0 or agent.number in struck}
    order = [world.servers[place] for place in world.random.permutation(len(world.servers))]
    return [
        agent
        for agent in order
        if agent.turns is None and agent.owner.address not in touched and owned[agent.owner.address] <= 3  # noqa: PLR2004
    ]


def pick(pool: list[Agent], fits: Callable[[Agent], bool]) -> Agent:
    """Return the first agent of a pool that fits, and take all agents of its owner out of the pool."""
    chosen = next(agent for agent in pool if fits(agent))
    pool[:] = [agent for agent in pool if agent.owner is not chosen.owner]
    return chosen


def traffic(world: World, agent: Agent, mean: float, stop: float | None = None) -> None:
    """Let genuine customers use an agent, and say what it is worth."""
    for _ in range(world.random.poisson(mean)):
        client = world.one_of(world.honest)
        earliest = max(agent.ts, client.born) + 600
        if earliest < (world.end if stop is None else stop):
            world.meet(client, agent, world.time(earliest, stop))


def cover(world: World, account: Account, mean: float, stop: float | None = None, least: int = 0) -> None:
    """Let an account use honest agents, drawn by popularity, as an honest client does."""
    account.bias = float(world.random.normal(0, 6))
    popularity = np.array([agent.popularity for agent in world.servers])
    count = least + world.random.poisson(mean)
    for place in world.random.choice(len(world.servers), count, p=popularity / popularity.sum()):
        agent = world.servers[place]
        earliest = max(account.born, agent.ts) + 600
        if earliest < (world.end if stop is None else stop):
            world.meet(account, agent, world.time(earliest, stop))


def praised(world: World, attack: Attack, at: float, mean: float) -> Agent:
    """Return a bad agent of a new owner, with a mean number of genuine customers."""
    owner = world.funded(at, role="beneficiary", attack=attack.number)
    agent = world.target(attack, owner, at + world.random.uniform(600, DAY))
    traffic(world, agent, mean)
    return agent


def agent_of(world: World, attack: Attack, account: Account, pause: float, quality: tuple[float, float]) -> Agent:
    """Return an agent of a member, registered within a pause after its birth."""
    ts = account.born + world.random.uniform(600, pause)
    return world.agent(account, ts, world.random.uniform(*quality), role="beneficiary", attack=attack.number)


def _mules(world: World, attack: Attack, hub: Account, at: float, count: int) -> list[Account]:
    """Return the accounts that pass a hub's money on. A third have a second one behind them."""
    mules = []
    for _ in range(max(2, count // 4)):
        when = at - world.random.uniform(2, 5) * DAY
        mule = world.mule(attack, when)
        world.transfer(hub, mule, world.random.uniform(60, 120), when)
        if world.happens(0.35):
            later = at - world.random.uniform(0.2, 1.8) * DAY
            behind = world.mule(attack, later)
            world.transfer(mule, behind, world.random.uniform(50, 60), later)
            mule = behind
        mules.append(mule)
    return mules


def crowd(
    world: World, attack: Attack, at: float, spread: float, how: str, **other: int
) -> tuple[Account, list[Account]]:
    """Return a hub and fresh accounts, born within a time after another.

    Args:
        world: The world.
        attack: The attack.
        at: The time after which they are born.
        spread: The time in which they are born, in seconds.
        how: The source of their money. "cex": one exchange, like amounts. "mule": the hub, by mules. "chain": each
            funds the next. "mix": half of them by mules, half of them by the exchange.
        **other: `count`, the number of accounts; the size of the attack by default.
    """
    draw, count = world.random, other.get("count", attack.size)
    hub = world.funded(at - 6 * DAY, role="funder", attack=attack.number, amount=60.0 * count)
    exchange, usual = world.one_of(world.exchanges), draw.lognormal(3, 0.6)
    births, left = np.sort(at + draw.uniform(0, spread, count)), 12.0 * count
    mules = _mules(world, attack, hub, at, count) if how in {"mule", "mix"} else []
    out: list[Account] = []
    for born in births.tolist():
        account = world.account(born, role="sybil", attack=attack.number, quality=80.0)
        source = ("mule" if world.happens(0.5) else "cex") if how == "mix" else how
        if source == "cex":
            world.transfer(exchange, account, usual * draw.uniform(0.85, 1.15), born - draw.uniform(600, 12 * HOUR))
        elif source == "mule":
            mule = world.one_of(mules)
            world.transfer(mule, account, draw.lognormal(1.6, 0.4), born - draw.uniform(60, 2 * HOUR))
        else:
            world.transfer(out[-1] if out else hub, account, left, born)
            left -= draw.uniform(4, 10)
        out.append(account)
    return hub, out
