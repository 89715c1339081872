"""Attack families that buy or borrow praise: from clients, shills, panels and customers."""

from __future__ import annotations

import numpy as np

from bench.trust.worlds.attacks import camouflage, funded_owner, mastermind, some_time, sybils, target
from bench.trust.worlds.honest import lured
from bench.trust.worlds.world import DAY, HOUR, START, Attack, World


def bought_clients(world: World, attack: Attack) -> None:
    """Old honest clients praise one agent within days, for money that no table shows."""
    at = some_time(world)
    owner = world.account(at, role="owner", attack=attack.number)
    world.fund(owner)
    agent = target(world, attack, owner, at)
    for place in world.random.choice(len(world.honest), attack.size, replace=False):
        client = world.honest[place]
        client.role, client.attack = "bought", attack.number
        when = max(at, client.born) + world.random.uniform(0, 10 * DAY)
        world.say(client, agent, world.random.uniform(90, 100), when, attack=attack.number)


def own_tag(world: World, attack: Attack) -> None:
    """Accounts of one funder praise its agent under a tag of their own, with one value."""
    at = some_time(world)
    source = mastermind(world, attack, at)
    agent = target(world, attack, source, at)
    for account in sybils(world, attack, at, 10 * DAY, source):
        when = account.born + world.random.exponential(3 * DAY)
        world.say(account, agent, 100, when, attack=attack.number, tag=f"quality{attack.number}")


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


def referral(world: World, attack: Attack) -> None:
    """Four owners of one treasury get each praise by another account, which honest people funded and which pays."""
    at = some_time(world)
    treasury = world.account(at - DAY, role="mule", attack=attack.number)
    world.fund(treasury, amount=80.0)
    agents = []
    for _ in range(4):
        middle = world.account(at, role="mule", attack=attack.number)
        world.fund(middle, treasury, 15.0)
        owner = world.account(at + world.random.uniform(HOUR, 20 * DAY), role="owner", attack=attack.number)
        world.fund(owner, middle, world.random.uniform(5, 12))
        agents.append(target(world, attack, owner, owner.born + HOUR))
    for place in range(2 * attack.size):
        account = world.account(at + world.random.uniform(0, 45 * DAY), role="sybil", attack=attack.number)
        world.fund(account, world.honest[world.random.integers(len(world.honest))], world.random.uniform(1, 30))
        agent, when = agents[place % 4], account.born + world.random.exponential(10 * DAY)
        proof = world.pay(account, agent, world.random.lognormal(-1, 1.2), when)
        world.say(account, agent, world.random.uniform(82, 100), when + 2 * HOUR, proof=proof, attack=attack.number)


def copycats(world: World, attack: Attack) -> None:
    """Accounts repeat the opinions of honest raters about a few agents each, and add praise of one agent."""
    at = some_time(world)
    agent = target(world, attack, funded_owner(world, attack, at), at)
    feedback = list(world.feedback)
    by_number = {agent.number: agent for agent in world.agents}
    for account in sybils(world, attack, at, 50 * DAY):
        for place in world.random.choice(len(feedback), 4, replace=False):
            row = feedback[place]
            when = max(row[4], account.born) + world.random.exponential(10 * DAY)
            if row[3] == "starred":
                world.say(account, by_number[row[1]], row[2] + world.random.normal(0, 4), when, attack=attack.number)
        when = account.born + world.random.exponential(12 * DAY)
        world.say(account, agent, world.random.uniform(84, 100), when, attack=attack.number)


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
        lured(world, agent, 3, at + 50 * DAY)


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


def review_panel(world: World, attack: Attack) -> None:
    """Reviewers try many agents early on and say the truth, and sell one opinion each, four for each buyer."""
    start = world.time(START + 5 * DAY, START + 30 * DAY)
    panel = sybils(world, attack, start, 20 * DAY)
    for account in panel:
        for place in world.random.choice(len(world.servers), 12, replace=False):
            agent = world.servers[place]
            when = max(account.born, agent.ts) + world.random.uniform(0, 70 * DAY)
            world.say(account, agent, agent.quality + world.random.normal(0, 7), when)
    later = world.time(START + 90 * DAY, START + 120 * DAY)
    for place, account in enumerate(panel):
        if place % 4 == 0:
            owner = funded_owner(world, attack, later - world.random.uniform(5 * DAY, 20 * DAY))
            agent = target(world, attack, owner, owner.born + HOUR)
            for spot in world.random.choice(len(world.honest), 3, replace=False):
                client = world.honest[spot]
                world.meet(client, agent, world.time(max(agent.ts, client.born)))
        value = world.random.uniform(80, 95)
        world.say(account, agent, value, later + world.random.uniform(0, 40 * DAY), attack=attack.number)
