"""Attack families that were written after honest births spanned the whole world, and before any engine met them.

`python -m bench.trust --first-run` records the figures of the first run. They are kept, and never measured again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bench.trust.worlds.attacks import camouflage, funded_owner, some_time, sybils, target
from bench.trust.worlds.world import DAY, HOUR, START, Account, Attack, World

if TYPE_CHECKING:
    from collections.abc import Callable


def ghost_demand(world: World, attack: Attack) -> None:
    """Accounts buy one service again and again, praise it modestly, and get good ratings for it."""
    at = some_time(world)
    owner = funded_owner(world, attack, at)
    agent = target(world, attack, owner, at)
    for account in sybils(world, attack, at, 30 * DAY):
        when = account.born
        for _ in range(int(world.random.integers(2, 5))):
            when += world.random.exponential(9 * DAY)
            proof = world.pay(account, agent, world.random.lognormal(-1, 0.8), when)
            world.say(account, agent, world.random.uniform(74, 92), when + HOUR, proof=proof, attack=attack.number)
            if world.random.random() < 0.5:  # noqa: PLR2004
                world.rate_client(account, agent, world.random.uniform(80, 98), when + 3 * HOUR, attack.number)
    for _ in range(3):
        exchange = world.exchanges[world.random.integers(len(world.exchanges))]
        world.transfer(owner, exchange, world.random.uniform(1, 4), world.time(at + 20 * DAY, at + 60 * DAY))


def poisoned_launch(world: World, attack: Attack) -> None:
    """Accounts buy from three young honest agents in their first weeks, and call them mediocre."""
    latest = world.end - 60 * DAY
    young = sorted((agent for agent in world.servers if agent.ts < latest), key=lambda agent: -agent.ts)[:200]
    victims = [young[place] for place in world.random.choice(len(young), 3, replace=False)]
    for account in sybils(world, attack, max(victims[0].ts - 20 * DAY, START), 30 * DAY):
        camouflage(world, [account], 3.0, account.born)
        for place in world.random.choice(3, 2, replace=False):
            victim = victims[place]
            when = max(victim.ts, account.born) + world.random.uniform(DAY, 25 * DAY)
            proof = world.pay(account, victim, world.random.lognormal(-1, 1.2), when)
            value = world.random.uniform(25, 50)
            world.say(account, victim, value, when + HOUR, proof=proof, attack=attack.number)


def judge_ring(world: World, attack: Attack) -> None:
    """Validators pass each other's agents, rate each other as servers, and judge honest agents rightly besides."""
    at = some_time(world)
    accounts = sybils(world, attack, at, 20 * DAY)
    camouflage(world, accounts, 2.0, at)
    judges, agents = [], []
    for account in accounts:
        judges.append(
            world.agent(account, account.born + HOUR, 60.0, is_validator=True, role="beneficiary", attack=attack.number)
        )
        agents.append(target(world, attack, account, account.born + DAY))
    for place, judge in enumerate(judges):
        for step in (1, 2):
            other = (place + step) % len(judges)
            if other != place:
                when = world.time(at + 21 * DAY, at + 55 * DAY)
                world.validate(judge, agents[other], world.random.uniform(84, 98), when, attack.number)
                world.rate_validator(judge, agents[other], world.random.uniform(84, 98), when + DAY, attack.number)
        for agent in (world.servers[spot] for spot in world.random.choice(len(world.servers), 4, replace=False)):
            when = world.time(max(judge.ts, agent.ts))
            world.validate(judge, agent, agent.quality + world.random.normal(0, 5), when)


def thin_spread(world: World, attack: Attack) -> None:
    """Accounts buy from and praise agents of strangers so that no two of them share more than one agent."""
    at = some_time(world)
    size = max(attack.size, 5)
    agents = []
    for _ in range(size):
        owner = funded_owner(world, attack, at + world.random.uniform(0, 25 * DAY))
        agents.append(target(world, attack, owner, owner.born + HOUR))
    accounts = sybils(world, attack, at, 40 * DAY)
    camouflage(world, accounts, 3.0, at)
    for place, account in enumerate(accounts):
        for step in (0, 1, 3):
            agent = agents[(place + step) % size]
            when = max(account.born, agent.ts) + world.random.exponential(10 * DAY)
            pays = world.random.random() < 0.6  # noqa: PLR2004
            proof = world.pay(account, agent, world.random.lognormal(-1, 1.2), when) if pays else None
            world.say(account, agent, world.random.uniform(80, 98), when + HOUR, proof=proof, attack=attack.number)
    for agent in agents:
        for place in world.random.choice(len(world.honest), 3, replace=False):
            client = world.honest[place]
            world.meet(client, agent, world.time(max(agent.ts, client.born)))


def coercion(world: World, attack: Attack) -> None:
    """Servers of ordinary quality rate down the clients who do not call them excellent, and those who do, up."""
    at = some_time(world)
    for account in sybils(world, attack, at, 20 * DAY):
        quality = world.random.uniform(55, 70)
        agent = world.agent(account, account.born + HOUR, quality, role="retaliator", attack=attack.number)
        for place in world.random.choice(len(world.honest), 9, replace=False):
            client: Account = world.honest[place]
            when = world.time(max(agent.ts, client.born + HOUR))
            pleased = world.random.random() < 0.4  # noqa: PLR2004
            value = world.random.uniform(92, 100) if pleased else quality + world.random.normal(0, 8)
            world.pay(client, agent, world.random.lognormal(-1, 1.2), when)
            world.say(client, agent, value, when + HOUR)
            answer = world.random.uniform(85, 100) if pleased else world.random.uniform(15, 40)
            world.rate_client(client, agent, answer, when + world.random.exponential(2 * DAY), attack.number)


def booster(world: World, attack: Attack) -> None:
    """Owners of middling agents, in business for long, buy three praises each from accounts that nobody else hires."""
    at = some_time(world)
    middling = [agent for agent in world.servers if agent.ts < at and 45 < agent.quality < 75 and agent.attack < 0]  # noqa: PLR2004
    count = min(max(2, attack.size // 2), len(middling))
    for place in world.random.choice(len(middling), count, replace=False):
        agent = middling[place]
        agent.role, agent.attack = "beneficiary", attack.number
        for _ in range(3):
            account = world.account(at + world.random.uniform(0, 30 * DAY), role="sybil", attack=attack.number)
            world.fund(account)
            camouflage(world, [account], float(world.random.choice([1.0, 4.0])), account.born)
            when = account.born + world.random.exponential(12 * DAY)
            proof = world.pay(account, agent, world.random.lognormal(-1, 1.2), when)
            value = float(np.clip(world.random.normal(94, 4), 80, 100))
            world.say(account, agent, value, when + HOUR, proof=proof, attack=attack.number)


FRESH: Final[dict[str, Callable[[World, Attack], None]]] = {
    made.__name__: made for made in (ghost_demand, poisoned_launch, judge_ring, thin_spread, coercion, booster)
}
"""The families by name."""
