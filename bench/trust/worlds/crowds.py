"""Crowds of fresh accounts around a hub, with agents that have genuine customers, and cover."""

from collections import Counter
from collections.abc import Callable

import numpy as np

from bench.trust.worlds.world import DAY, HOUR, Account, Agent, Attack, World


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
