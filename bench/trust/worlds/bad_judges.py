"""Attack families of validators who pass bad agents, and of servers who rate bad clients well."""

from __future__ import annotations

from bench.trust.worlds.attacks import camouflage, funded_owner, some_time, sybils, target
from bench.trust.worlds.world import DAY, HOUR, Attack, World


def lone_validator(world: World, attack: Attack) -> None:
    """A validator passes bad agents whose owners send it money."""
    at = some_time(world)
    owner = world.account(at, role="owner", attack=attack.number)
    world.fund(owner)
    validator = world.agent(owner, at + HOUR, 50.0, is_validator=True, role="beneficiary", attack=attack.number)
    for account in sybils(world, attack, at, 30 * DAY):
        agent = target(world, attack, account, account.born + 600)
        when = account.born + world.random.uniform(DAY, 5 * DAY)
        world.transfer(account, owner, world.random.uniform(1, 3), when)
        world.validate(validator, agent, world.random.uniform(94, 100), when + DAY, attack.number)
        world.rate_validator(validator, agent, world.random.uniform(92, 100), when + 2 * DAY, attack.number)


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


def judge_shopping(world: World, attack: Attack) -> None:
    """Validators judge honest agents rightly, and pass the bad agents of those who rate them well."""
    at = some_time(world)
    judges = []
    for _ in range(3):
        owner = funded_owner(world, attack, at + world.random.uniform(0, 10 * DAY))
        judge = world.agent(owner, owner.born + HOUR, 50.0, is_validator=True, role="beneficiary", attack=attack.number)
        for place in world.random.choice(len(world.servers), 8, replace=False):
            agent = world.servers[place]
            world.validate(judge, agent, agent.quality + world.random.normal(0, 5), world.time(max(judge.ts, agent.ts)))
        judges.append(judge)
    accounts = sybils(world, attack, at, 40 * DAY)
    camouflage(world, accounts, 4.0, at)
    for account in accounts:
        agent, judge = target(world, attack, account, account.born + HOUR), judges[world.random.integers(3)]
        when = world.time(max(agent.ts, at + 15 * DAY), at + 58 * DAY)
        world.validate(judge, agent, world.random.uniform(88, 100), when, attack.number)
        if world.random.random() < 0.6:  # noqa: PLR2004
            world.rate_validator(judge, agent, world.random.uniform(85, 100), when + DAY, attack.number)


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


def shell_suppliers(world: World, attack: Attack) -> None:
    """A bad client buys from shells of its own, which rate it well. The money leaves them by exchanges."""
    at = some_time(world)
    buyers = []
    for _ in range(max(2, attack.size // 5)):
        buyer = world.account(at + world.random.uniform(0, 10 * DAY), role="sybil", attack=attack.number)
        buyer.quality = float(world.random.uniform(10, 40))
        world.fund(buyer, amount=60.0)
        camouflage(world, [buyer], 8.0, buyer.born)
        buyers.append(buyer)
    for shell in sybils(world, attack, at, 25 * DAY):
        agent = target(world, attack, shell, shell.born + HOUR)
        agent.quality = float(world.random.uniform(60, 85))
        for place in world.random.choice(len(world.honest), world.random.integers(1, 5), replace=False):
            client = world.honest[place]
            world.meet(client, agent, world.time(max(agent.ts, client.born)))
        for buyer in buyers:
            if world.random.random() < 0.6:  # noqa: PLR2004
                when = max(agent.ts, buyer.born) + world.random.exponential(12 * DAY)
                world.pay(buyer, agent, world.random.lognormal(-0.5, 1), when)
                world.rate_client(buyer, agent, world.random.uniform(84, 99), when + 5 * HOUR, attack.number)
        exchange = world.exchanges[world.random.integers(len(world.exchanges))]
        world.transfer(shell, exchange, world.random.uniform(1, 3), world.time(at + 40 * DAY, at + 60 * DAY))
