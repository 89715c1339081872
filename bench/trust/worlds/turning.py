"""Attacks in time: accounts that sleep, agents that turn bad, and identities that begin anew."""

import numpy as np

from bench.trust.worlds import crowds, personas
from bench.trust.worlds.world import DAY, HOUR, START, Attack, World


def sleepers(world: World, attack: Attack) -> None:
    """Accounts behave for months, then praise one agent together."""
    at = world.time(START + 10 * DAY, START + 30 * DAY)
    accounts = world.sybils(attack, at, 5 * DAY, world.mastermind(attack, at))
    world.camouflage(accounts, 4.0, at)
    owner = world.funded_owner(attack, at)
    later = world.time(START + 100 * DAY, START + 150 * DAY)
    agent = world.target(attack, owner, later - DAY)
    for account in accounts:
        value, when = world.random.uniform(92, 100), later + world.random.uniform(0, 3 * DAY)
        world.say(account, agent, value, when, attack=attack.number)


def whitewash(world: World, attack: Attack) -> None:
    """Owners leave an agent that clients found bad, register it anew, and two accounts praise each new one."""
    at = world.some_time()
    for _ in range(max(2, attack.size // 3)):
        owner = world.funded_owner(attack, at + world.random.uniform(0, 10 * DAY))
        old = world.target(attack, owner, owner.born + HOUR)
        for client in world.some_of(world.honest, 5):
            world.meet(client, old, max(old.ts, client.born + HOUR) + world.random.exponential(8 * DAY))
        new = world.target(attack, owner, at + 25 * DAY)
        for _ in range(2):
            account = world.sybil(attack, at + world.random.uniform(0, 20 * DAY))
            world.camouflage([account], 3.0, account.born)
            when = at + 25 * DAY + world.random.exponential(6 * DAY)
            world.buy(account, new, when, (86, 100))


def exit_scam(world: World, attack: Attack) -> None:
    """Owners serve well for months. Then their agents turn bad, and they cover that by praise of each other."""
    at = world.time(START + 10 * DAY, START + 40 * DAY)
    accounts = world.sybils(attack, at, 30 * DAY)
    agents = []
    for account in accounts:
        agent = world.agent(account, account.born + HOUR, 82.0, role="beneficiary", attack=attack.number)
        agent.turns = (at + 90 * DAY, float(world.random.uniform(10, 30)))
        agents.append(agent)
    world.camouflage(accounts, 5.0, at)
    for agent in agents:
        world.lured(agent, 8, agent.ts)
    for place, account in enumerate(accounts):
        for step in (1, 2):
            agent = agents[(place + step) % len(agents)]
            if agent.owner is not account:
                when = at + 90 * DAY + world.random.uniform(0, 30 * DAY)
                proof = world.pay(account, agent, world.random.lognormal(-1, 1.2), when)
                keeps = world.happens(0.5)
                value = world.random.uniform(84, 100)
                world.say(account, agent, value, when + HOUR, proof=proof if keeps else None, attack=attack.number)


def score_defence(world: World, attack: Attack) -> None:
    """Good agents turn bad, and members answer each bad feedback by praise within hours."""
    draw, turn = world.random, world.time(START + 75 * DAY, world.end - 70 * DAY)
    size, count = attack.size, attack.by_size({6: 1, 12: 1, 22: 2})
    agents = []
    for _ in range(count):
        owner = personas.new_owner(world, attack, turn - draw.uniform(40, 65) * DAY)
        wallet = personas.purse(world, owner, draw.lognormal(1, 0.5))
        agent = personas.target(world, owner, owner.born + 2 * DAY, (80, 92), turning=0)
        agent.wallet, agent.turns = wallet, (turn, float(draw.uniform(12, 35)))
        agents.append(agent)
        personas.public(world, agent, 24, stop=turn)
        personas.public(world, agent, 18 + 2 * size // count, turn, world.end - 3 * DAY)
    members = []
    for _ in range(size):
        born = turn + draw.uniform(-12, 25) * DAY
        source = world.one_of(agents).wallet if world.happens(0.3) else None
        members.append(personas.newcomer(world, "sybil", attack.number, born, source))
        personas.cover(world, members[-1], 2)
    used, births = np.zeros(size), np.array([account.born for account in members])
    by_number = {agent.number: agent for agent in agents}
    for _, number, value, _, ts, _, attacker in list(world.feedback):
        is_bad = number in by_number and attacker < 0 and value < 55  # noqa: PLR2004
        if not (is_bad and turn < ts < world.end - DAY):
            continue
        for _ in range(int(draw.integers(1, 3))):
            place = int(np.argmin(used + 2 * draw.random(size) + 50 * (births > ts)))
            if births[place] < ts:
                used[place] += 1
                praise, when = draw.normal(92, 4), ts + draw.uniform(0.5, 16) * HOUR
                personas.lie(world, members[place], by_number[number], praise, when)
    for place in np.flatnonzero(used < 2).tolist():  # noqa: PLR2004
        ts = turn + draw.uniform(10, 50) * DAY
        personas.lie(world, members[place], agents[place % count], draw.normal(92, 4), ts)


def identity_series(world: World, attack: Attack) -> None:
    """One crew praises a series of identities. Each is dropped when spoilt, and it or a mule pays for the next."""
    draw, at = world.random, world.some_time(25, 70)
    count = max(3, min(8, attack.size // 2))
    life = draw.uniform(60, 85) * DAY / count
    _, crew = crowds.crowd(world, attack, at, life, "mix", count=max(3, attack.size - count))
    last, quality = None, draw.uniform(15, 40)
    for place in range(count):
        born = max(at + place * life - draw.uniform(0, 0.3) * life, at)
        owner = world.account(born, role="beneficiary", attack=attack.number)
        if last is None or world.happens(0.3):
            mule = world.mule(attack, born - 2 * DAY)
            world.transfer(last or world.exchanges[0], mule, 15, born - 2 * DAY)
            world.transfer(mule, owner, 12, born - HOUR)
        else:
            world.transfer(last, owner, draw.uniform(5, 15), born - HOUR)
        worth = quality + draw.normal(0, 4)
        agent = world.agent(owner, born + 600, worth, role="beneficiary", attack=attack.number)
        crowds.traffic(world, agent, 4, min(world.end, born + 1.3 * life))
        last = owner
        for account in world.part(crew, 0.55):
            world.lie(world.say, attack, account, agent, world.time(born, born + 0.5 * life), (90, 100))
    for account in crew:
        crowds.cover(world, account, 1.5)


def aged_sleepers(world: World, attack: Attack) -> None:
    """Aged accounts with an ordinary past and a pause praise the same few agents within four days."""
    draw = world.random
    sleepers = crowds.funded(world, attack, attack.size - 1, (START, START + 45 * DAY), crowds.alone)
    at = world.time(START + 95 * DAY, world.end - 10 * DAY)
    owner = crowds.funded(world, attack, 1, (at - 25 * DAY, at - 5 * DAY), crowds.alone, role="beneficiary")[0]
    agents = [crowds.bad_agent(world, owner) for _ in range(3 + attack.size // 15)]
    crowds.served(world, agents, 3)
    for account in sleepers:
        crowds.live(world, account, 4, START + 75 * DAY)
        for agent in crowds.some(world, agents, 0.8):
            crowds.claim(world, account, agent, draw.uniform(86, 100), at + draw.uniform(0, 4 * DAY), paid=0.3)


def exit_traitor(world: World, attack: Attack) -> None:
    """Agents serve well for months, then fail. Raters on mules hide the fall by high values in the weeks after it."""
    owner = crowds.funded(world, attack, 1, (START + 5 * DAY, START + 35 * DAY), crowds.alone, role="beneficiary")[0]
    fall = world.time(START + 80 * DAY, world.end - 40 * DAY)
    count = 1 + attack.size // 12 + (attack.size < 8)  # noqa: PLR2004
    agents = [crowds.bad_agent(world, owner, (82, 95)) for _ in range(count)]
    raters = crowds.funded(world, attack, attack.size - 1, (fall - 12 * DAY, fall + 8 * DAY), crowds.by_mules)
    for agent in agents:
        agent.turns = (fall + world.random.uniform(0, 3 * DAY), float(world.random.uniform(5, 22)))
        crowds.served(world, [agent], 35, stop=fall)
        crowds.served(world, [agent], 18, start=fall)
    for account in raters:
        crowds.live(world, account, 2)
        for agent in crowds.some(world, agents, 0.8):
            for _ in range(int(world.random.integers(1, 3))):
                value = world.random.uniform(92, 100) if world.happens(0.6) else world.random.uniform(76, 92)
                when = max(fall, account.born) + world.random.uniform(0.2, 25) * DAY
                crowds.claim(world, account, agent, value, when, paid=0.5)
