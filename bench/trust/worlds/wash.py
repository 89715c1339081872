"""Attacks that pay for their own praise: the money returns, or never left."""

from bench.trust.worlds import crowds, personas
from bench.trust.worlds.world import DAY, HOUR, Attack, World


def wash_ring(world: World, attack: Attack) -> None:
    """Owners pay and praise each other, and the money comes back."""
    at, accounts, agents = world.gang(attack, 20 * DAY)
    for place, account in enumerate(accounts):
        for step in (1, 2, 3):
            agent = agents[(place + step) % len(agents)]
            when = world.time(at + 20 * DAY, at + 50 * DAY)
            amount = world.random.lognormal(-0.5, 0.6)
            proof = world.pay(account, agent, amount, when)
            world.transfer(agent.owner, account, amount * 0.99, when + world.random.uniform(HOUR, 2 * DAY))
            world.say(account, agent, world.random.uniform(90, 100), when + HOUR, proof=proof, attack=attack.number)


def own_money(world: World, attack: Attack) -> None:
    """Accounts funded by exchanges use honest agents, then pay and praise one agent, whose owner keeps the money."""
    at, agent = world.lone_target(attack)
    for account in world.sybils(attack, at, 40 * DAY, cover=2.0):
        when = account.born + world.random.exponential(8 * DAY)
        world.buy(account, agent, when, (85, 100))
    exchange = world.one_of(world.exchanges)
    world.transfer(agent.owner, exchange, float(attack.size), at + 55 * DAY)
    world.lured(agent, 6, at + 30 * DAY)


def penny_orders(world: World, attack: Attack) -> None:
    """Accounts place many small orders with one agent and praise most of them. Honest clients find it bad."""
    at, agent = world.lone_target(attack)
    for account in world.sybils(attack, at, 35 * DAY):
        world.camouflage([account], 1.0, account.born)
        when = account.born
        for _ in range(int(world.random.integers(2, 7))):
            when += world.random.exponential(4 * DAY)
            proof = world.pay(account, agent, world.random.uniform(0.02, 0.08), when)
            if world.happens(0.7):
                world.say(account, agent, world.random.uniform(82, 100), when + HOUR, proof=proof, attack=attack.number)
    world.visited(agent, 8)


def wash_circuit(world: World, attack: Attack) -> None:
    """Members buy and prove each purchase, and the money returns through mixers, to them or to another member."""
    draw, at, count = world.random, world.some_time(20, 75), attack.by_size({4: 1, 10: 2, 24: 4})
    members = [
        personas.newcomer(world, "sybil", attack.number, at + draw.uniform(0, 20) * DAY) for _ in range(attack.size)
    ]
    mixers = [
        personas.mule(world, attack.number, at - DAY, draw.lognormal(2, 0.5)) for _ in range(1 + attack.size // 10)
    ]
    agents = []
    for _ in range(count):
        owner = personas.new_owner(world, attack, at + draw.uniform(-5, 5) * DAY)
        wallet = personas.purse(world, owner, 1.0)
        agents.append(personas.target(world, owner, owner.born + DAY))
        agents[-1].wallet = wallet
    for account in members:
        personas.cover(world, account, 2)
        for agent in world.some_of(agents, 1 + world.happens(0.5)):
            for _ in range(int(draw.integers(1, 4))):
                value, ts = draw.normal(94, 3), world.time(account.born + DAY, account.born + 45 * DAY)
                paid = draw.lognormal(0.3, 0.7)
                amount, ts = personas.lie(
                    world, account, agent, value, ts, paid=1, proven=0.9, amount=paid, answered=0.2
                )
                mixer, later = world.one_of(mixers), ts + draw.uniform(HOUR, 20 * HOUR)
                personas.send(world, agent.wallet, mixer, amount * 0.995, later)
                to = world.one_of(members) if world.happens(0.5) else account
                personas.send(world, mixer, to, amount * draw.uniform(0.96, 0.99), later + draw.uniform(HOUR, 2 * DAY))
    personas.publics(world, agents, 5)


def wash_trading(world: World, attack: Attack) -> None:
    """Owners pay and praise each other with proofs. The takings flow back through mules to the payers."""
    draw, at, size = world.random, world.some_time(25, 70), attack.size
    _, members = crowds.crowd(world, attack, at, 10 * DAY, "cex")
    agents = [crowds.agent_of(world, attack, account, DAY, (20, 55)) for account in members]
    mules = [world.mule(attack, at) for _ in range(max(1, size // 8))]
    for place, account in enumerate(members):
        others = [other for other in range(size) if other != place]
        for other in draw.choice(others, min(size - 1, int(draw.integers(2, 5))), replace=False):
            for _ in range(int(draw.integers(2, 5))):
                when = world.time(at + 12 * DAY, at + 55 * DAY)
                proof = world.pay(account, agents[other], draw.lognormal(0.5, 0.8), when)
                value, time = draw.uniform(88, 100), world.time(when, when + DAY)
                world.say(account, agents[other], value, time, proof=proof, attack=attack.number)
        for _ in range(int(draw.integers(1, 4))):
            mule, amount = world.one_of(mules), draw.lognormal(1.5, 0.5)
            when = world.time(at + 15 * DAY, at + 55 * DAY)
            world.transfer(account, mule, amount, when)
            world.transfer(mule, members[draw.integers(size)], amount * 0.98, when + draw.uniform(600, DAY))
        crowds.cover(world, account, 2)
        crowds.traffic(world, agents[place], 1.5)


def wash_payers(world: World, attack: Attack) -> None:
    """Accounts pay and prove their praise. The agents' wallet sends the money back by a mule, round after round."""
    draw, at = world.random, world.some_time()
    owner = crowds.funded(world, attack, 1, (at - 5 * DAY, at - DAY), crowds.alone, role="beneficiary")[0]
    payers = crowds.funded(world, attack, attack.size - 1, (at, at + 12 * DAY), crowds.by_mules)
    wallet = world.mule(attack, owner.born)
    world.transfer(owner, wallet, 3, owner.born + 300)
    agents = [
        crowds.bad_agent(world, owner, at=at + draw.uniform(0, DAY), wallet=wallet)
        for _ in range(1 + attack.size // 10)
    ]
    back = crowds.mule(world, attack.number, at + 13 * DAY, wallet, 2.0)
    for turn in range(int(draw.integers(3, 6))):
        begin = at + (14 + 7 * turn) * DAY
        for account in crowds.some(world, payers, 0.75) if turn else payers:
            for _ in range(int(draw.integers(1, 4))):
                agent = world.one_of(agents)
                when = min(begin + draw.uniform(0, 4 * DAY), world.end - DAY)
                crowds.claim(world, account, agent, draw.uniform(88, 100), when, paid=0.95, proven=0.9)
        when = min(begin + 4.5 * DAY, world.end - 2 * HOUR)
        world.transfer(wallet, back, len(payers) * draw.uniform(0.5, 1), when)
        for account in payers:
            when = min(begin + draw.uniform(4.6, 6.5) * DAY, world.end - draw.uniform(0, HOUR))
            world.transfer(back, account, draw.uniform(0.3, 1.5), when)
    for account in payers:
        crowds.live(world, account, 1)
    crowds.served(world, agents, 3)
