"""Attack families that were written last, after all detectors, and before the engine was ever run on them.

`python -m bench.trust --first-run` records the figures of the first run. They are kept, and never measured again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bench.trust.worlds.attacks import camouflage, funded_owner, some_time, sybils, target
from bench.trust.worlds.world import DAY, HOUR, Agent, Attack, World

if TYPE_CHECKING:
    from collections.abc import Callable


def _lured(world: World, agent: Agent, count: int, at: float) -> None:
    """Let honest clients believe the praise, use the agent, and say what they found."""
    for place in world.random.choice(len(world.honest), count, replace=False):
        client = world.honest[place]
        world.meet(client, agent, world.time(max(at, client.born + HOUR)))


def shill_pool(world: World, attack: Attack) -> None:
    """Shills funded by exchanges praise the agents of strangers, who pay the keeper of the pool."""
    at = some_time(world)
    keeper = world.account(at, role="mule", attack=attack.number)
    world.fund(keeper)
    agents = []
    for _ in range(max(3, attack.size // 2)):
        owner = funded_owner(world, attack, at + world.random.uniform(0, 20 * DAY))
        agents.append(target(world, attack, owner, owner.born + HOUR))
        world.transfer(owner, keeper, world.random.uniform(1, 3), owner.born + world.random.uniform(DAY, 10 * DAY))
    shills = sybils(world, attack, at, 40 * DAY)
    camouflage(world, shills, 3.0, at)
    for shill in shills:
        for agent in agents:
            if world.random.random() < 0.6:  # noqa: PLR2004
                when = world.time(at + 40 * DAY, at + 58 * DAY)
                world.say(shill, agent, world.random.uniform(80, 100), when, attack=attack.number)
    for agent in agents:
        _lured(world, agent, 3, at + 50 * DAY)


def payroll(world: World, attack: Attack) -> None:
    """Accounts without any transfer get their first money as a price for a service, and praise who paid it."""
    at = some_time(world)
    boss = funded_owner(world, attack, at)
    agent = target(world, attack, boss, at)
    for _ in range(attack.size):
        born = at + world.random.uniform(DAY, 30 * DAY)
        account = world.account(born, role="sybil", attack=attack.number, quality=80.0)
        service = target(world, attack, account, born)
        world.pay(boss, service, world.random.lognormal(-1, 1), born + HOUR)
        camouflage(world, [account], 2.0, born + 2 * HOUR)
        when = born + world.random.exponential(6 * DAY)
        world.say(account, agent, world.random.uniform(85, 100), when, attack=attack.number)


def rival_war(world: World, attack: Attack) -> None:
    """Accounts funded by exchanges praise one agent and slander two of its three rivals each, beside ordinary use."""
    at = some_time(world)
    agent = target(world, attack, funded_owner(world, attack, at), at)
    rivals = [world.servers[place] for place in world.random.choice(len(world.servers), 3, replace=False)]
    accounts = sybils(world, attack, at, 30 * DAY)
    camouflage(world, accounts, 3.0, at)
    for account in accounts:
        when = account.born + world.random.exponential(5 * DAY)
        world.say(account, agent, world.random.uniform(86, 100), when, attack=attack.number)
        for place in world.random.choice(3, 2, replace=False):
            later = when + world.random.exponential(4 * DAY)
            world.say(account, rivals[place], world.random.uniform(0, 25), later, attack=attack.number)
    _lured(world, agent, 4, at + 30 * DAY)


def client_laundry(world: World, attack: Attack) -> None:
    """Servers of one group rate bad clients well, whom honest servers rate low. Nobody praises a server."""
    at = some_time(world)
    clients = sybils(world, attack, at, 30 * DAY)
    for account in clients:
        account.quality = float(world.random.uniform(5, 35))
    camouflage(world, clients, 6.0, at)
    for _ in range(max(3, attack.size // 2)):
        owner = funded_owner(world, attack, at + world.random.uniform(0, 20 * DAY))
        server = target(world, attack, owner, owner.born + HOUR)
        for account in clients:
            if world.random.random() < 0.7:  # noqa: PLR2004
                when = world.time(at + 30 * DAY, at + 58 * DAY)
                world.rate_client(account, server, world.random.uniform(88, 100), when, attack.number)


def own_money(world: World, attack: Attack) -> None:
    """Accounts funded by exchanges use honest agents, then pay and praise one agent, whose owner keeps the money."""
    at = some_time(world)
    owner = funded_owner(world, attack, at)
    agent = target(world, attack, owner, at)
    accounts = sybils(world, attack, at, 40 * DAY)
    camouflage(world, accounts, 2.0, at)
    for account in accounts:
        when = account.born + world.random.exponential(8 * DAY)
        proof = world.pay(account, agent, world.random.lognormal(-1, 1.2), when)
        world.say(account, agent, world.random.uniform(85, 100), when + HOUR, proof=proof, attack=attack.number)
    exchange = world.exchanges[world.random.integers(len(world.exchanges))]
    world.transfer(owner, exchange, float(attack.size), at + 55 * DAY)
    _lured(world, agent, 6, at + 30 * DAY)


def one_purse(world: World, attack: Attack) -> None:
    """Owners funded by exchanges praise two others each. All their agents are paid into one wallet."""
    at = some_time(world)
    purse = world.account(at, role="mule", attack=attack.number)
    accounts = sybils(world, attack, at, 40 * DAY)
    agents = []
    for account in accounts:
        quality = world.random.uniform(20, 50)
        agents.append(
            world.agent(account, account.born + 600, quality, wallet=purse, role="beneficiary", attack=attack.number)
        )
    camouflage(world, accounts, 4.0, at)
    for place, account in enumerate(accounts):
        others = np.setdiff1d(np.arange(len(agents)), [place])
        for other in world.random.choice(others, 2, replace=False):
            when = world.time(at + 40 * DAY, at + 58 * DAY)
            world.say(account, agents[other], world.random.uniform(84, 100), when, attack=attack.number)
    for agent in agents:
        _lured(world, agent, 2, at + 45 * DAY)


LATEST: Final[dict[str, Callable[[World, Attack], None]]] = {
    made.__name__: made for made in (shill_pool, payroll, rival_war, client_laundry, own_money, one_purse)
}
"""The families by name."""
