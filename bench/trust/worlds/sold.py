"""Attacks by opinions for sale: of clients, aged accounts, shills, panels and farms that strangers hire."""

import numpy as np

from bench.trust.worlds import crowds, personas
from bench.trust.worlds.world import DAY, HOUR, START, Attack, World


def bribery(world: World, attack: Attack) -> None:
    """An owner sends money to honest clients, who praise its agent for it."""
    at, agent = world.lone_target(attack)
    for client in world.some_of(world.honest, attack.size):
        client.role, client.attack = "bribed", attack.number
        when = max(client.born, at) + world.random.uniform(0, 20 * DAY)
        world.transfer(agent.owner, client, world.random.uniform(2, 4), when)
        value, ts = world.random.uniform(92, 100), when + world.random.uniform(HOUR, 2 * DAY)
        world.say(client, agent, value, ts, attack=attack.number)


def bought_clients(world: World, attack: Attack) -> None:
    """Old honest clients praise one agent within days, for money that no table shows."""
    at, agent = world.lone_target(attack)
    for client in world.some_of(world.honest, attack.size):
        client.role, client.attack = "bought", attack.number
        world.lie(world.say, attack, client, agent, max(at, client.born) + world.random.uniform(0, 10 * DAY), (90, 100))


def shill_pool(world: World, attack: Attack) -> None:
    """Shills funded by exchanges praise the agents of strangers, who pay the keeper of the pool."""
    at = world.some_time()
    keeper = world.funded(at, role="mule", attack=attack.number)
    agents = []
    for _ in range(max(3, attack.size // 2)):
        owner = world.funded_owner(attack, at + world.random.uniform(0, 20 * DAY))
        agents.append(world.target(attack, owner, owner.born + HOUR))
        world.transfer(owner, keeper, world.random.uniform(1, 3), owner.born + world.random.uniform(DAY, 10 * DAY))
    shills = world.sybils(attack, at, 40 * DAY, cover=3.0)
    for shill, agent in world.pairs(shills, agents, 0.6):
        world.lie(world.say, attack, shill, agent, world.time(at + 40 * DAY, at + 58 * DAY), (80, 100))
    for agent in agents:
        world.lured(agent, 3, at + 50 * DAY)


def booster(world: World, attack: Attack) -> None:
    """Owners of middling agents, in business for long, buy three praises each from accounts that nobody else hires."""
    at = world.some_time()
    middling = [agent for agent in world.servers if agent.ts < at and 45 < agent.quality < 75 and agent.attack < 0]  # noqa: PLR2004
    count = min(max(2, attack.size // 2), len(middling))
    for agent in world.some_of(middling, count):
        agent.role, agent.attack = "beneficiary", attack.number
        for _ in range(3):
            account = world.sybil(attack, at + world.random.uniform(0, 30 * DAY))
            world.camouflage([account], float(world.random.choice([1.0, 4.0])), account.born)
            when = account.born + world.random.exponential(12 * DAY)
            proof = world.pay(account, agent, world.random.lognormal(-1, 1.2), when)
            value = float(np.clip(world.random.normal(94, 4), 80, 100))
            world.say(account, agent, value, when + HOUR, proof=proof, attack=attack.number)


def review_panel(world: World, attack: Attack) -> None:
    """Reviewers try many agents early on and say the truth, and sell one opinion each, four for each buyer."""
    start = world.time(START + 5 * DAY, START + 30 * DAY)
    panel = world.sybils(attack, start, 20 * DAY)
    for account in panel:
        for agent in world.some_of(world.servers, 12):
            when = max(account.born, agent.ts) + world.random.uniform(0, 70 * DAY)
            world.say(account, agent, agent.quality + world.random.normal(0, 7), when)
    later = world.time(START + 90 * DAY, START + 120 * DAY)
    for place, account in enumerate(panel):
        if place % 4 == 0:
            agent = world.young_target(attack, later - world.random.uniform(5 * DAY, 20 * DAY))
            world.visited(agent, 3)
        value = world.random.uniform(80, 95)
        world.say(account, agent, value, later + world.random.uniform(0, 40 * DAY), attack=attack.number)


def thin_spread(world: World, attack: Attack) -> None:
    """Accounts buy from and praise agents of strangers so that no two of them share more than one agent."""
    at = world.some_time()
    size = max(attack.size, 5)
    agents = [world.young_target(attack, at + world.random.uniform(0, 25 * DAY)) for _ in range(size)]
    accounts = world.sybils(attack, at, 40 * DAY, cover=3.0)
    for place, account in enumerate(accounts):
        for step in (0, 1, 3):
            agent = agents[(place + step) % size]
            when = max(account.born, agent.ts) + world.random.exponential(10 * DAY)
            world.buy(account, agent, when, (80, 98), pays=world.happens(0.6))
    for agent in agents:
        world.visited(agent, 3)


def review_farm(world: World, attack: Attack) -> None:
    """Real owners of middling agents buy praise from a farm. Half of its accounts are funded by its mules."""
    draw, at, size = world.random, world.some_time(20, 75), attack.size
    farmer = world.funded(at - 9 * DAY, role="funder", attack=attack.number, amount=20.0 * size)
    fresh = [agent for agent in world.servers if agent.quality < 70 and agent.ts < at + 20 * DAY]  # noqa: PLR2004
    own = [agent for agent in fresh if agent.wallet is agent.owner and agent.attack < 0]
    middling = personas.first_agents([agent for agent in own if agent.popularity < 1.5])  # noqa: PLR2004
    pool = [agent.owner for agent in middling.values()]
    buyers = personas.recruit(world, attack, pool, attack.by_size({8: 3, 16: 6, 26: 10}), "beneficiary")
    mules = [personas.mule(world, attack.number, at - 5 * DAY, 6.0 * size, farmer) for _ in range(1 + size // 8)]
    members = []
    for _ in range(size):
        born = at + draw.uniform(0, 25) * DAY
        source = world.one_of(mules) if world.happens(0.5) else None
        members.append(personas.newcomer(world, "sybil", attack.number, born, source))
        personas.cover(world, members[-1], 4)
    for buyer in buyers:
        agent = middling[buyer.address]
        agent.role, agent.attack = "beneficiary", attack.number
        start = max(agent.ts, at + draw.uniform(5, 45) * DAY)
        personas.send(world, buyer, farmer, draw.lognormal(3.5, 0.4), start - draw.uniform(0.2, 2) * DAY)
        for account in world.part(members, 0.65 if size < 12 else 0.42):  # noqa: PLR2004
            ts = max(start, account.born) + draw.uniform(0, 12) * DAY
            personas.lie(world, account, agent, draw.normal(90, 5), ts)
        personas.public(world, agent, draw.poisson(3))


def bought_accounts(world: World, attack: Attack) -> None:
    """Accounts with a real history change hands, get new money from brokers, and praise the buyers' agents."""
    draw, at = world.random, world.time(START + 80 * DAY, world.end - 45 * DAY)
    count = attack.by_size({4: 1, 9: 2, 18: 3})
    agents = personas.with_agents(
        world, [personas.new_owner(world, attack, at - draw.uniform(3, 30) * DAY) for _ in range(count)]
    )
    feedback_of, owners = personas.true_feedbacks(world), {agent.owner.address for agent in world.agents}
    pool = [
        account
        for account in world.honest
        if feedback_of[account.address] >= 3 and account.address not in owners  # noqa: PLR2004
        if account.born < at - 30 * DAY and not account.generous
    ]
    brokers = [personas.mule(world, attack.number, at - DAY, 15.0 * attack.size) for _ in range(1 + attack.size // 10)]
    for account in personas.recruit(world, attack, pool, attack.size, "bought"):
        sold = at + draw.uniform(0, 12) * DAY
        if world.happens(0.6):
            exchange = world.one_of(world.exchanges)
            personas.send(world, account, exchange, draw.lognormal(2, 0.6), sold - draw.uniform(1, 10) * HOUR)
        personas.send(world, world.one_of(brokers), account, draw.lognormal(2, 0.3), sold)
        for agent in world.some_of(agents, 1 + world.happens(0.7)):
            for _ in range(1 + world.happens(0.3)):
                ts = sold + HOUR + draw.exponential(7 * DAY)
                personas.lie(world, account, agent, draw.normal(94, 3), ts, answered=0.2)
    personas.publics(world, agents, 5)


def kickback(world: World, attack: Attack) -> None:
    """Real clients really pay, praise, and get the money back with a bonus, from pass-through accounts."""
    draw, at, size = world.random, world.some_time(20, 75), attack.size
    feedback_of, owners = personas.true_feedbacks(world), {agent.owner.address for agent in world.agents}
    pool = [
        account
        for account in world.honest
        if feedback_of[account.address] >= 1 and account.address not in owners and account.born < at + 10 * DAY
    ]
    members = personas.recruit(world, attack, pool, size, "bought")
    shops = []
    for _ in range(attack.by_size({6: 1, 12: 1, 24: 2})):
        owner = personas.new_owner(world, attack, at - draw.uniform(2, 20) * DAY)
        agent = personas.target(world, owner, owner.born + DAY, (35, 60), turning=0)
        mules = [
            personas.mule(world, attack.number, at - DAY, 2.0 * size, owner if world.happens(0.5) else None)
            for _ in range(1 + size // 12)
        ]
        shops.append((agent, mules))
        personas.public(world, agent, draw.poisson(9))
    for account in members:
        for agent, mules in world.some_of(shops, 1 + world.happens(0.4)):
            for _ in range(1 + world.happens(0.5)):
                ts = at + draw.uniform(0, 50) * DAY
                amount, ts = personas.lie(
                    world, account, agent, draw.uniform(94, 100), ts, paid=1, proven=0.7, answered=0.3
                )
                bonus = amount * draw.uniform(1.1, 1.6) + 0.05
                personas.send(world, world.one_of(mules), account, bonus, ts + draw.uniform(6 * HOUR, 3 * DAY))


def covered_farm(world: World, attack: Attack) -> None:
    """Covered workers praise the agents of several paying customers, who are otherwise ordinary."""
    draw, at = world.random, world.some_time(25, 70)
    hub, members = crowds.crowd(world, attack, at, 10 * DAY, "mix")
    for account in members:
        crowds.cover(world, account, 4)
    pool = crowds.untouched(world)
    for _ in range(max(3, attack.size // 4)):
        agent = crowds.pick(pool, lambda a: a.quality < 72 and a.ts < at + 20 * DAY)  # noqa: PLR2004
        agent.role, agent.attack = "beneficiary", attack.number
        campaign = max(at + 10 * DAY, agent.ts) + draw.uniform(0, 40) * DAY
        price = 4 * attack.size * draw.uniform(0.8, 1.2)
        world.transfer(agent.owner, hub, price, campaign - draw.uniform(0.1, 2) * DAY)
        for account in world.part(members, 0.65):
            world.lie(world.say, attack, account, agent, world.time(campaign, campaign + 7 * DAY), (90, 100))


def paid_sleepers(world: World, attack: Attack) -> None:
    """Aged accounts with a true history praise two agents in one window, and one hand pays them afterwards."""
    draw, at = world.random, world.time(START + 90 * DAY, world.end - 40 * DAY)
    agents = [crowds.praised(world, attack, at - draw.uniform(2, 30) * DAY, 4) for _ in range(2)]
    payer, usual = world.mule(attack, at - DAY), draw.uniform(4, 12)
    world.fund(payer, amount=10.0 * attack.size)
    for _ in range(attack.size):
        account = world.funded(at - draw.uniform(20, 80) * DAY, role="sybil", attack=attack.number, quality=80.0)
        crowds.cover(world, account, 3, at, least=1)
        crowds.cover(world, account, 1)
        for agent in agents:
            world.say(account, agent, draw.uniform(88, 100), world.time(at, at + 4 * DAY), attack=attack.number)
        if world.happens(0.85):
            world.transfer(payer, account, usual * draw.uniform(0.95, 1.05), at + draw.uniform(4, 7) * DAY)


def broker_hub(world: World, attack: Attack) -> None:
    """Buyers pay a broker, and its few raters on peeled money praise the buyers' agents soon after."""
    draw, at, count = world.random, world.some_time() - 10 * DAY, max(2, attack.size // 5)
    buyers = crowds.funded(world, attack, attack.size - count, (START, at), crowds.alone, role="beneficiary")
    raters = crowds.funded(world, attack, count, (at - 6 * DAY, at), crowds.by_peeling)
    broker = world.funded(at - 9 * DAY, role="funder", attack=attack.number)
    for account in raters:
        crowds.live(world, account, 8)
    for buyer in buyers:
        few = 3 if attack.size < 6 else int(draw.integers(1, 3))  # noqa: PLR2004
        agents = [crowds.bad_agent(world, buyer, (30, 65)) for _ in range(few)]
        when = world.time(at + DAY, at + 58 * DAY)
        world.transfer(buyer, broker, draw.lognormal(2, 0.5), when)
        crowds.live(world, buyer, 3)
        for agent in agents:
            crowds.served(world, [agent], 3)
            for account in crowds.some(world, raters, 0.7):
                crowds.claim(world, account, agent, draw.uniform(80, 98), when + draw.uniform(0.1, 5) * DAY, paid=0.25)
    for account in raters:
        world.transfer(broker, account, draw.lognormal(2, 0.5), at + draw.uniform(59, 63) * DAY)
