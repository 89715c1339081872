"""Attack families that harm honest agents by low ratings."""

from __future__ import annotations

from bench.trust.worlds.attacks import camouflage, funded_owner, some_time, sybils, target
from bench.trust.worlds.honest import lured
from bench.trust.worlds.world import DAY, HOUR, START, Attack, World


def slow_slander(world: World, attack: Attack) -> None:
    """Accounts funded by exchanges slander one honest agent over months."""
    at = some_time(world)
    victim = world.servers[world.random.integers(len(world.servers))]
    accounts = sybils(world, attack, at, 50 * DAY)
    for account in accounts:
        when = account.born + world.random.exponential(4 * DAY)
        world.say(account, victim, world.random.uniform(0, 15), when, attack=attack.number)


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
    lured(world, agent, 4, at + 30 * DAY)


def wolf_pack(world: World, attack: Attack) -> None:
    """Accounts buy from the best agents of one community and call two each bad, beside ordinary use of others."""
    at = some_time(world)
    community = int(world.random.integers(world.settings.communities))
    rivals = [agent for agent in world.servers if agent.community == community and agent.ts < at]
    best = sorted(rivals, key=lambda agent: -agent.popularity)[:8]
    for account in sybils(world, attack, at, 40 * DAY):
        camouflage(world, [account], 3.0, account.born)
        for place in world.random.choice(len(best), 2, replace=False):
            when = account.born + world.random.exponential(12 * DAY)
            pays = world.random.random() < 0.5  # noqa: PLR2004
            proof = world.pay(account, best[place], world.random.lognormal(-1, 1.2), when) if pays else None
            value = world.random.uniform(10, 40)
            world.say(account, best[place], value, when + HOUR, proof=proof, attack=attack.number)
