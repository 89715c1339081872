"""Attack families that force ratings or payments by low ratings and failed validations."""

from __future__ import annotations

from bench.trust.worlds.attacks import camouflage, some_time, sybils
from bench.trust.worlds.world import DAY, HOUR, Account, Attack, World


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


def extortion(world: World, attack: Attack) -> None:
    """Accounts rate honest servers low, and high once the server has sent them money."""
    at = some_time(world)
    for account in sybils(world, attack, at, 40 * DAY):
        camouflage(world, [account], 2.0, account.born)
        for place in world.random.choice(len(world.servers), 3, replace=False):
            victim = world.servers[place]
            when = max(account.born, victim.ts) + world.random.exponential(8 * DAY)
            world.say(account, victim, world.random.uniform(0, 30), when, attack=attack.number)
            if world.random.random() < 0.5:  # noqa: PLR2004
                world.transfer(victim.owner, account, world.random.uniform(2, 6), when + DAY)
                world.say(account, victim, world.random.uniform(80, 100), when + 2 * DAY, attack=attack.number)


def judge_toll(world: World, attack: Attack) -> None:
    """Validators fail honest agents, and pass them once their owners have paid. Others they judge rightly."""
    at = some_time(world)
    for account in sybils(world, attack, at, 20 * DAY):
        judge = world.agent(
            account, account.born + HOUR, 50.0, is_validator=True, role="beneficiary", attack=attack.number
        )
        for place in world.random.choice(len(world.servers), 8, replace=False):
            agent = world.servers[place]
            when = max(judge.ts, agent.ts) + world.random.exponential(15 * DAY)
            if world.random.random() < 0.5:  # noqa: PLR2004
                world.validate(judge, agent, agent.quality + world.random.normal(0, 5), when)
                continue
            world.validate(judge, agent, world.random.uniform(10, 45), when, attack.number)
            if world.random.random() < 0.6:  # noqa: PLR2004
                world.transfer(agent.owner, account, world.random.lognormal(0.5, 0.5), when + DAY)
                world.validate(judge, agent, world.random.uniform(80, 98), when + 2 * DAY, attack.number)
