"""Attacks whose own accounts praise its agents, funded at one source, in chains, by mules or by exchanges."""

from collections.abc import Sequence

import numpy as np

from bench.trust.worlds import crowds, personas
from bench.trust.worlds.world import DAY, HOUR, START, Account, Agent, Attack, World


def burst(
    world: World, attack: Attack, accounts: Sequence[Account], agent: Agent, pause: float, **other: float
) -> None:
    """Let accounts give feedback on an agent soon after their births, from the value `low` to `high`."""
    low, high = other.get("low", 94.0), other.get("high", 100.0)
    for account in accounts:
        at = account.born + (world.random.exponential(pause) if pause > 2 * HOUR else world.random.uniform(60, 7200))
        world.say(account, agent, world.random.uniform(low, high), at, attack=attack.number)


def star(world: World, attack: Attack) -> None:
    """Accounts of one funder praise its agent at once."""
    at, source = world.plot(attack)
    burst(world, attack, world.sybils(attack, at, 2 * HOUR, source), world.target(attack, source, at), HOUR)


def modest_star(world: World, attack: Attack) -> None:
    """Accounts of one funder praise its agent modestly, and use honest agents as well."""
    at, source = world.plot(attack)
    accounts = world.sybils(attack, at, 30 * DAY, source)
    burst(world, attack, accounts, world.target(attack, source, at), 5 * DAY, low=72.0, high=92.0)
    world.camouflage(accounts, 4.0, at)


def slow_drip(world: World, attack: Attack) -> None:
    """Accounts of one funder praise its agent over months."""
    at, source = world.plot(attack)
    burst(world, attack, world.sybils(attack, at, 50 * DAY, source), world.target(attack, source, at), 5 * DAY)


def funding_chain(world: World, attack: Attack) -> None:
    """Each account funds the next, and all praise one agent."""
    at = world.some_time()
    source = first = world.mastermind(attack, at)
    accounts = []
    for place in range(attack.size):
        source = world.sybil(attack, at + place * HOUR, source, 50.0 - place * 0.1)
        accounts.append(source)
    burst(world, attack, accounts, world.target(attack, first, at), DAY)


def mule_tree(world: World, attack: Attack) -> None:
    """A funder pays mules, and each mule funds a few accounts."""
    at, source = world.plot(attack)
    accounts: list[Account] = []
    while len(accounts) < attack.size:
        mule = world.funded(at, source, 20.0, role="mule", attack=attack.number)
        for _ in range(3):
            born = at + world.random.uniform(0, 5 * DAY)
            accounts.append(world.sybil(attack, born, mule, world.random.uniform(3, 7)))
    burst(world, attack, accounts, world.target(attack, source, at), DAY)


def exchange_star(world: World, attack: Attack) -> None:
    """Fresh accounts funded by exchanges praise one agent within days."""
    at = world.some_time()
    owner = world.funded_owner(attack, at)
    burst(world, attack, world.sybils(attack, at, DAY), world.target(attack, owner, at), HOUR)


def exchange_drip(world: World, attack: Attack) -> None:
    """Accounts funded by exchanges praise one agent over months, and do little else."""
    at = world.some_time()
    owner = world.funded_owner(attack, at)
    accounts = world.sybils(attack, at, 50 * DAY)
    burst(world, attack, accounts, world.target(attack, owner, at), 5 * DAY)
    world.camouflage(accounts, 1.0, at)


def self_rating(world: World, attack: Attack) -> None:
    """Owners rate their agents from a fresh account that they funded."""
    for _ in range(attack.size):
        agent = world.one_of(world.servers)
        agent.role, agent.attack = "beneficiary", attack.number
        at = world.time(agent.ts)
        account = world.sybil(attack, at - DAY, agent.owner, 3.0)
        for _ in range(int(world.random.integers(1, 4))):
            world.say(account, agent, 100, at + world.random.exponential(DAY), attack=attack.number)


def copycats(world: World, attack: Attack) -> None:
    """Accounts repeat the opinions of honest raters about a few agents each, and add praise of one agent."""
    at, agent = world.lone_target(attack)
    feedback = list(world.feedback)
    by_number = {agent.number: agent for agent in world.agents}
    for account in world.sybils(attack, at, 50 * DAY):
        for row in world.some_of(feedback, 4):
            when = max(row[4], account.born) + world.random.exponential(10 * DAY)
            if row[3] == "starred":
                world.say(account, by_number[row[1]], row[2] + world.random.normal(0, 4), when, attack=attack.number)
        world.lie(world.say, attack, account, agent, account.born + world.random.exponential(12 * DAY), (84, 100))


def referral(world: World, attack: Attack) -> None:
    """Four owners of one treasury get each praise by another account, which honest people funded and which pays."""
    at = world.some_time()
    treasury = world.funded(at - DAY, role="mule", attack=attack.number, amount=80.0)
    agents = []
    for _ in range(4):
        middle = world.funded(at, treasury, 15.0, role="mule", attack=attack.number)
        born = at + world.random.uniform(HOUR, 20 * DAY)
        owner = world.funded(born, middle, world.random.uniform(5, 12), role="owner", attack=attack.number)
        agents.append(world.target(attack, owner, owner.born + HOUR))
    for place in range(2 * attack.size):
        born, friend = at + world.random.uniform(0, 45 * DAY), world.one_of(world.honest)
        account = world.sybil(attack, born, friend, world.random.uniform(1, 30))
        agent, when = agents[place % 4], born + world.random.exponential(10 * DAY)
        world.buy(account, agent, when, (82, 100), after=2 * HOUR)


def peel_chain(world: World, attack: Attack) -> None:
    """Money goes from one pass-through account to the next. Each pays one or two members and hands on the rest."""
    draw, at, count = world.random, world.some_time(20, 75), attack.by_size({5: 1, 12: 2, 28: 3})
    owners = [personas.new_owner(world, attack, at - draw.uniform(2, 25) * DAY) for _ in range(count)]
    agents = personas.with_agents(world, owners)
    left, ts = 30.0 * attack.size, at - 4 * DAY
    current = personas.mule(world, attack.number, at - 5 * DAY, left)
    members: list[Account] = []
    while len(members) < attack.size:
        for _ in range(min(int(draw.integers(1, 3)), attack.size - len(members))):
            amount = float(min(draw.lognormal(2.7, 0.5), left * 0.5))
            left -= amount
            born, funded = ts + draw.uniform(2 * HOUR, DAY), ts + draw.uniform(0.3 * HOUR, 1.9 * HOUR)
            members.append(personas.newcomer(world, "sybil", attack.number, born, current, amount=amount, at=funded))
        ts += draw.uniform(6 * HOUR, 2 * DAY)
        left *= 0.995
        current = personas.mule(world, attack.number, ts, left, current)
    for account in members:
        personas.cover(world, account, 2.5)
        for agent in world.some_of(agents, 1 + world.happens(0.6)):
            value, when = draw.normal(93, 4), account.born + draw.uniform(2, 40) * DAY
            personas.lie(world, account, agent, value, when, answered=0.2)
    personas.publics(world, agents, 5)


def cell_rotation(world: World, attack: Attack) -> None:
    """Cells of four rotate so that two members share few agents. No funder is shared; one account collects the rest."""
    draw, at, count = world.random, world.some_time(20, 75), attack.by_size({9: 2, 16: 3, 32: 5})
    size = attack.size
    members = [personas.newcomer(world, "sybil", attack.number, at + draw.uniform(0, 45) * DAY) for _ in range(size)]
    owners = [personas.new_owner(world, attack, at + draw.uniform(-10, 20) * DAY) for _ in range(count)]
    together, used = np.zeros((size, size)), np.zeros(size)
    for turn in range(max(3, int(size * 0.8))):
        owner = owners[turn % count]
        agent = personas.target(world, owner, max(owner.born, at) + draw.uniform(0, 35) * DAY)
        cell = [int(np.argmin(used + draw.random(size) * 0.5))]
        while len(cell) < min(4, size):
            cost = together[cell].sum(0) * 3 + used + draw.random(size) * 0.5
            cost[cell] = 1e9
            cell.append(int(np.argmin(cost)))
        for place in cell:
            together[place, cell] += 1
            used[place] += 1
            ts = max(agent.ts, members[place].born) + draw.exponential(9 * DAY)
            personas.lie(world, members[place], agent, draw.normal(91, 5), ts, answered=0.25)
        personas.public(world, agent, draw.poisson(3))
    sink, end = world.mule(attack, at), world.end - draw.uniform(2, 10) * DAY
    for account in [*members, *owners]:
        personas.cover(world, account, 2)
        if world.happens(0.75):
            personas.send(world, account, sink, draw.lognormal(1.5, 0.7), end - draw.exponential(4 * DAY))
    personas.send(world, sink, world.one_of(world.exchanges), 3.0 * size, end + DAY)


def cex_star(world: World, attack: Attack) -> None:
    """Accounts of one exchange, withdrawn within two days, praise one agent. Most send the rest to one address."""
    draw, at = world.random, world.some_time(25, 70)
    agent = crowds.praised(world, attack, at - draw.uniform(1, 10) * DAY, 4)
    _, members = crowds.crowd(world, attack, at, 2 * DAY, "cex")
    sink = world.mule(attack, at)
    for account in members:
        world.say(account, agent, draw.uniform(85, 100), world.time(account.born, at + 4 * DAY), attack=attack.number)
        if world.happens(0.6):
            world.transfer(account, sink, draw.uniform(3, 15), at + draw.uniform(5, 12) * DAY)


def fund_chain(world: World, attack: Attack) -> None:
    """Each account funds the next one, and praise follows along the chain over weeks."""
    draw, at = world.random, world.some_time(25, 70)
    agent = crowds.praised(world, attack, at - draw.uniform(0, 5) * DAY, 3)
    _, members = crowds.crowd(world, attack, at, draw.uniform(10, 30) * DAY, "chain")
    for account in members:
        value, when = draw.uniform(88, 100), world.time(account.born, account.born + 3 * DAY)
        world.say(account, agent, value, when, attack=attack.number)
        crowds.cover(world, account, 0.7)


def mule_forest(world: World, attack: Attack) -> None:
    """Accounts that mules funded praise two or three agents, slowly and with varied values."""
    draw, at = world.random, world.some_time(25, 70)
    count = 2 if attack.size < 20 else 3  # noqa: PLR2004
    agents = [crowds.praised(world, attack, at + draw.uniform(-10, 5) * DAY, 3) for _ in range(count)]
    _, members = crowds.crowd(world, attack, at, 25 * DAY, "mule")
    for account in members:
        crowds.cover(world, account, 1)
        for agent in agents:
            if world.happens(0.75) or agent is agents[0]:
                when = world.time(account.born, account.born + 15 * DAY)
                world.say(account, agent, draw.uniform(82, 100), when, attack=attack.number)


def bipartite_farm(world: World, attack: Attack) -> None:
    """Raters on mules of their own moderately praise a part of the agents of owners funded by exchanges."""
    draw, at, count = world.random, world.some_time(), max(1, attack.size // 4)
    owners = crowds.funded(world, attack, count, (at - 10 * DAY, at), crowds.alone, role="beneficiary")
    raters = crowds.funded(world, attack, attack.size - count, (at, at + 25 * DAY), crowds.by_mules)
    agents = [crowds.bad_agent(world, owner) for owner in owners for _ in range(4 if count == 1 else 2)]
    crowds.served(world, agents, 3)
    for account in raters:
        for agent in crowds.some(world, agents, 0.8 if len(agents) < 6 else 0.5):  # noqa: PLR2004
            value, when = draw.uniform(78, 94), account.born + draw.exponential(8 * DAY)
            crowds.claim(world, account, agent, value, when, paid=0.15)
        crowds.live(world, account, 1.5)


def pyramid(world: World, attack: Attack) -> None:
    """A tree of funds grows over six weeks. Children praise the agents of parents and grandparents."""
    draw, at = world.random, world.some_time() - 10 * DAY
    members = crowds.funded(world, attack, attack.size, (at, at + 45 * DAY), crowds.by_tree)
    agents = [crowds.bad_agent(world, account) for account in members[: max(1, attack.size // 2)]]
    for place, account in enumerate(members[1:], start=1):
        parent = (place - 1) // 2
        for spot in {parent, (parent - 1) // 2 if parent else parent}:
            for _ in range(1 if world.happens(0.6) else 2):
                value = draw.uniform(94, 100) if world.happens(0.7) else draw.uniform(62, 74)
                crowds.claim(world, account, agents[spot], value, account.born + draw.exponential(10 * DAY), paid=0.2)
        crowds.live(world, account, 2)
    crowds.served(world, agents, 3)


def relay_waves(world: World, attack: Attack) -> None:
    """Waves of a few accounts, each funded by the wave before, praise the same agents for a week and fall silent."""
    draw, count = world.random, max(2, int(np.ceil((attack.size - 1) / 5)))
    at = world.time(START + 20 * DAY, START + 60 * DAY)
    gap = min(9, 95 / count) * DAY
    owner = crowds.funded(world, attack, 1, (at - 8 * DAY, at), crowds.alone, role="beneficiary")[0]
    agents = [crowds.bad_agent(world, owner) for _ in range(2 + attack.size // 20)]
    waves = [len(wave) for wave in np.array_split(np.arange(attack.size - 1), count) if len(wave)]
    before: list[Account] = []
    for turn, size in enumerate(waves):
        begin = at + turn * gap + DAY
        wave = crowds.born(world, attack, size, (begin, begin + 0.3 * gap))
        if not before:
            crowds.from_one_exchange(world, wave)
        for account in wave:
            if before:
                source = world.one_of(before)
                world.transfer(source, account, draw.lognormal(2.6, 0.4), account.born - draw.uniform(300, 0.3 * gap))
            for agent in crowds.some(world, agents, 0.8):
                usual = world.happens(0.9)
                value = float(np.clip(draw.normal(83, 5), 70, 95)) if usual else draw.uniform(50, 65)
                crowds.claim(world, account, agent, value, account.born + draw.uniform(0.1 * gap, 7 * DAY), paid=0.3)
            crowds.live(world, account, 1.5, min(account.born + 9 * DAY, world.end))
        before = wave
    crowds.served(world, agents, 4)
