"""Attack families that were written after the ranking by weak signs was trained, and before it ever met them.

`python -m bench.trust --first-run` records the figures of the first run. They are kept, and never measured again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bench.trust.worlds.attacks import camouflage, funded_owner, some_time, sybils, target
from bench.trust.worlds.world import DAY, HOUR, START, Attack, World

if TYPE_CHECKING:
    from collections.abc import Callable


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


NEWEST: Final[dict[str, Callable[[World, Attack], None]]] = {
    made.__name__: made for made in (whitewash, extortion, exit_scam, referral, judge_shopping, copycats)
}
"""The families by name."""
