"""Attack families that pay for their own praise: the money returns, or never left."""

from __future__ import annotations

from bench.trust.worlds.attacks import camouflage, funded_owner, some_time, sybils, target
from bench.trust.worlds.honest import lured
from bench.trust.worlds.world import DAY, HOUR, Attack, World


def layered_wash(world: World, attack: Attack) -> None:
    """Clients funded by exchanges pay and praise one agent; the money returns through a new account each time."""
    at = some_time(world)
    owner = world.account(at, role="owner", attack=attack.number)
    world.fund(owner)
    agent = target(world, attack, owner, at)
    for account in sybils(world, attack, at, 30 * DAY):
        when, amount = account.born + world.random.uniform(DAY, 10 * DAY), world.random.lognormal(0, 0.5)
        proof = world.pay(account, agent, amount, when)
        mule = world.account(when, role="mule", attack=attack.number)
        world.transfer(owner, mule, amount * 0.98, when + DAY)
        world.transfer(mule, account, amount * 0.96, when + 2 * DAY)
        world.say(account, agent, world.random.uniform(88, 100), when + HOUR, proof=proof, attack=attack.number)


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
    lured(world, agent, 6, at + 30 * DAY)


def penny_orders(world: World, attack: Attack) -> None:
    """Accounts place many small orders with one agent and praise most of them. Honest clients find it bad."""
    at = some_time(world)
    agent = target(world, attack, funded_owner(world, attack, at), at)
    for account in sybils(world, attack, at, 35 * DAY):
        camouflage(world, [account], 1.0, account.born)
        when = account.born
        for _ in range(int(world.random.integers(2, 7))):
            when += world.random.exponential(4 * DAY)
            proof = world.pay(account, agent, world.random.uniform(0.02, 0.08), when)
            if world.random.random() < 0.7:  # noqa: PLR2004
                value = world.random.uniform(82, 100)
                world.say(account, agent, value, when + HOUR, proof=proof, attack=attack.number)
    for place in world.random.choice(len(world.honest), 8, replace=False):
        client = world.honest[place]
        world.meet(client, agent, world.time(max(agent.ts, client.born)))
