"""Attack families whose owners praise each other, in pairs, gangs or by one purse."""

from __future__ import annotations

import numpy as np

from bench.trust.worlds.attacks import camouflage, mastermind, some_time, sybils, target
from bench.trust.worlds.honest import lured
from bench.trust.worlds.world import DAY, Attack, World


def two_gangs(world: World, attack: Attack) -> None:
    """Two groups with a funder each praise the agents of the other group."""
    at = some_time(world)
    first = sybils(world, attack, at, 20 * DAY, mastermind(world, attack, at))
    second = sybils(world, attack, at, 20 * DAY, mastermind(world, attack, at))
    for own, others in ((first, second), (second, first)):
        agents = [target(world, attack, account, account.born + 600) for account in others]
        for account in own:
            for place in world.random.choice(len(agents), min(3, len(agents)), replace=False):
                when = world.time(at + 20 * DAY, at + 50 * DAY)
                world.say(account, agents[place], world.random.uniform(85, 100), when, attack=attack.number)


def swap_market(world: World, attack: Attack) -> None:
    """Owners funded by exchanges swap praise in pairs, each with three partners, and use honest agents as well."""
    at = some_time(world)
    accounts = sybils(world, attack, at, 40 * DAY)
    agents = [target(world, attack, account, account.born + 600) for account in accounts]
    size = len(accounts)
    for place in range(size):
        for step in range(1, min(4, size)):
            other = (place + step) % size
            for client, agent in ((place, other), (other, place)):
                when = world.time(at + 40 * DAY, at + 58 * DAY)
                world.say(accounts[client], agents[agent], world.random.uniform(82, 100), when, attack=attack.number)
    camouflage(world, accounts, 5.0, at)


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
        lured(world, agent, 2, at + 45 * DAY)
