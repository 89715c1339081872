"""Attack families that leave a past behind: agents that turn bad, or begin anew."""

from __future__ import annotations

from bench.trust.worlds.attacks import camouflage, funded_owner, some_time, sybils, target
from bench.trust.worlds.world import DAY, HOUR, START, Attack, World


def whitewash(world: World, attack: Attack) -> None:
    """Owners leave an agent that clients found bad, register it anew, and two accounts praise each new one."""
    at = some_time(world)
    for _ in range(max(2, attack.size // 3)):
        owner = funded_owner(world, attack, at + world.random.uniform(0, 10 * DAY))
        old = target(world, attack, owner, owner.born + HOUR)
        for place in world.random.choice(len(world.honest), 5, replace=False):
            client = world.honest[place]
            world.meet(client, old, max(old.ts, client.born + HOUR) + world.random.exponential(8 * DAY))
        new = target(world, attack, owner, at + 25 * DAY)
        for _ in range(2):
            account = world.account(at + world.random.uniform(0, 20 * DAY), role="sybil", attack=attack.number)
            world.fund(account)
            camouflage(world, [account], 3.0, account.born)
            when = at + 25 * DAY + world.random.exponential(6 * DAY)
            proof = world.pay(account, new, world.random.lognormal(-1, 1.2), when)
            world.say(account, new, world.random.uniform(86, 100), when + HOUR, proof=proof, attack=attack.number)


def exit_scam(world: World, attack: Attack) -> None:
    """Owners serve well for months. Then their agents turn bad, and they cover that by praise of each other."""
    at = world.time(START + 10 * DAY, START + 40 * DAY)
    accounts = sybils(world, attack, at, 30 * DAY)
    agents = []
    for account in accounts:
        agent = world.agent(account, account.born + HOUR, 82.0, role="beneficiary", attack=attack.number)
        agent.turns = (at + 90 * DAY, float(world.random.uniform(10, 30)))
        agents.append(agent)
    camouflage(world, accounts, 5.0, at)
    for agent in agents:
        for place in world.random.choice(len(world.honest), 8, replace=False):
            client = world.honest[place]
            world.meet(client, agent, world.time(max(agent.ts, client.born + HOUR)))
    for place, account in enumerate(accounts):
        for step in (1, 2):
            agent = agents[(place + step) % len(agents)]
            if agent.owner is not account:
                when = at + 90 * DAY + world.random.uniform(0, 30 * DAY)
                proof = world.pay(account, agent, world.random.lognormal(-1, 1.2), when)
                keeps = world.random.random() < 0.5  # noqa: PLR2004
                value = world.random.uniform(84, 100)
                world.say(account, agent, value, when + HOUR, proof=proof if keeps else None, attack=attack.number)
