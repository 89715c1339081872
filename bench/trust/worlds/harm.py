"""Attacks that harm others: slander of rivals, framing, revenge, extortion and black lists of clients."""

from itertools import product

import numpy as np

from bench.trust.worlds import crowds, personas
from bench.trust.worlds.praise import burst
from bench.trust.worlds.world import DAY, HOUR, START, Account, Agent, Attack, World


def slander(world: World, attack: Attack) -> None:
    """Accounts of one funder slander an honest agent."""
    at = world.some_time()
    agent = world.one_of(world.servers)
    accounts = world.sybils(attack, at, 2 * HOUR, world.mastermind(attack, at))
    burst(world, attack, accounts, agent, HOUR, low=0.0, high=8.0)


def framing(world: World, attack: Attack) -> None:
    """Accounts of one funder praise a rival's honest agent, so that the rival looks guilty."""
    at = world.some_time()
    agent = world.one_of(world.servers)
    agent.owner.group = "framed"
    burst(world, attack, world.sybils(attack, at, 2 * DAY, world.mastermind(attack, at)), agent, DAY)


def retaliation(world: World, attack: Attack) -> None:
    """Servers rate clients down who gave them a low feedback."""
    for _ in range(attack.size):
        agent = world.one_of(world.servers)
        agent.role, agent.attack = "retaliator", attack.number
        for client in world.some_of(world.honest, 8):
            when = world.time(max(agent.ts, client.born) + 600)
            world.say(client, agent, world.random.uniform(10, 45), when)
            if client.quality >= 60:  # noqa: PLR2004
                later = when + world.random.uniform(60, 20 * HOUR)
                world.rate_client(client, agent, world.random.uniform(0, 10), later, attack.number)


def punishing_gang(world: World, attack: Attack) -> None:
    """Servers of one funder rate the same honest clients down."""
    at, _, agents = world.gang(attack, 5 * DAY, one=True)
    for client, agent in product(world.some_of(world.honest, 3), agents):
        value, when = world.random.uniform(0, 10), world.time(at + 6 * DAY, at + 40 * DAY)
        world.rate_client(client, agent, value, when, attack.number)


def slow_slander(world: World, attack: Attack) -> None:
    """Accounts funded by exchanges slander one honest agent over months."""
    at = world.some_time()
    victim = world.one_of(world.servers)
    for account in world.sybils(attack, at, 50 * DAY):
        world.lie(world.say, attack, account, victim, account.born + world.random.exponential(4 * DAY), (0, 15))


def poisoned_launch(world: World, attack: Attack) -> None:
    """Accounts buy from three young honest agents in their first weeks, and call them mediocre."""
    latest = world.end - 60 * DAY
    young = sorted((agent for agent in world.servers if agent.ts < latest), key=lambda agent: -agent.ts)[:200]
    victims = world.some_of(young, 3)
    for account in world.sybils(attack, max(victims[0].ts - 20 * DAY, START), 30 * DAY):
        world.camouflage([account], 3.0, account.born)
        for victim in world.some_of(victims, 2):
            when = max(victim.ts, account.born) + world.random.uniform(DAY, 25 * DAY)
            world.buy(account, victim, when, (25, 50))


def wolf_pack(world: World, attack: Attack) -> None:
    """Accounts buy from the best agents of one community and call two each bad, beside ordinary use of others."""
    at = world.some_time()
    community = int(world.random.integers(world.settings.communities))
    rivals = [agent for agent in world.servers if agent.community == community and agent.ts < at]
    best = sorted(rivals, key=lambda agent: -agent.popularity)[:8]
    for account in world.sybils(attack, at, 40 * DAY):
        world.camouflage([account], 3.0, account.born)
        for rival in world.some_of(best, 2):
            when = account.born + world.random.exponential(12 * DAY)
            world.buy(account, rival, when, (10, 40), pays=world.happens(0.5))


def coercion(world: World, attack: Attack) -> None:
    """Servers of ordinary quality rate down the clients who do not call them excellent, and those who do, up."""
    at = world.some_time()
    for account in world.sybils(attack, at, 20 * DAY):
        quality = world.random.uniform(55, 70)
        agent = world.agent(account, account.born + HOUR, quality, role="retaliator", attack=attack.number)
        for client in world.some_of(world.honest, 9):
            when = world.time(max(agent.ts, client.born + HOUR))
            pleased = world.happens(0.4)
            value = world.random.uniform(92, 100) if pleased else quality + world.random.normal(0, 8)
            world.pay(client, agent, world.random.lognormal(-1, 1.2), when)
            world.say(client, agent, value, when + HOUR)
            answer = world.random.uniform(85, 100) if pleased else world.random.uniform(15, 40)
            world.rate_client(client, agent, answer, when + world.random.exponential(2 * DAY), attack.number)


def extortion(world: World, attack: Attack) -> None:
    """Accounts rate honest servers low, and high once the server has sent them money."""
    at = world.some_time()
    for account in world.sybils(attack, at, 40 * DAY):
        world.camouflage([account], 2.0, account.born)
        for victim in world.some_of(world.servers, 3):
            when = max(account.born, victim.ts) + world.random.exponential(8 * DAY)
            world.say(account, victim, world.random.uniform(0, 30), when, attack=attack.number)
            if world.happens(0.5):
                world.transfer(victim.owner, account, world.random.uniform(2, 6), when + DAY)
                world.say(account, victim, world.random.uniform(80, 100), when + 2 * DAY, attack=attack.number)


def rival_takedown(world: World, attack: Attack) -> None:
    """Accounts of some age slander popular rivals in one community, and praise an agent of their own there."""
    draw, at = world.random, world.time(START + 95 * DAY, world.end - 35 * DAY)
    community, count = int(draw.integers(world.settings.communities)), attack.by_size({5: 2, 12: 3, 25: 4})
    owner = personas.new_owner(world, attack, at - draw.uniform(20, 60) * DAY, community=community)
    own = personas.target(world, owner, owner.born + 2 * DAY, (45, 65), turning=0)
    good = [
        agent
        for agent in world.servers
        if agent.community == community and agent.ts < at - 20 * DAY
        if agent.quality > 70 and agent.turns is None and agent.owner.role == "honest"  # noqa: PLR2004
    ]
    rivals = sorted(good, key=lambda agent: -agent.popularity)[2 : 2 + 2 * count : 2]
    mules = [personas.mule(world, attack.number, at - 92 * DAY, 90.0) for _ in range(max(1, attack.size // 8))]
    for _ in range(attack.size):
        born = at - draw.uniform(40, 90) * DAY
        source = world.one_of(mules) if world.happens(0.4) else None
        account = personas.newcomer(world, "sybil", attack.number, born, source, community=community)
        personas.cover(world, account, 5, at)
        for rival in world.some_of(rivals, 1 + world.happens(0.75) + world.happens(0.3)):
            personas.lie(world, account, rival, draw.uniform(12, 42), at + draw.uniform(0, 21) * DAY)
        if world.happens(0.6):
            personas.lie(world, account, own, draw.normal(90, 4), at + draw.uniform(-5, 25) * DAY, answered=0.3)
    personas.public(world, own, draw.poisson(10))


def blacklist_cartel(world: World, attack: Attack) -> None:
    """Servers of one community in business for long rate the same good clients down."""
    draw, at, servers = world.random, *_cartel(world, attack)
    owners = personas.recruit(world, attack, [agent.owner for agent in servers.values()], attack.size, "sybil")
    agents, feedback_of = [servers[account.address] for account in owners], personas.true_feedbacks(world)
    good = [
        account
        for account in personas.available(world.honest)
        if account.community == agents[0].community and account.quality >= 70  # noqa: PLR2004
        if feedback_of[account.address] >= 3 and account.born < at + 20 * DAY  # noqa: PLR2004
    ]
    for victim in world.some_of(good, attack.by_size({3: 5, 7: 9, 14: 16})):
        start = at + draw.uniform(0, 45) * DAY
        personas.cover(world, victim, 4)
        for agent in world.part(agents, 0.7):
            ts = personas.when(world, victim, agent, start + draw.exponential(8 * DAY))
            if world.happens(0.5):
                personas.meet(world, victim, agent, ts - draw.uniform(0.1, 2) * DAY)
            world.rate_client(victim, agent, draw.uniform(5, 35), ts, attack.number)
    for agent in agents:
        agent.role, agent.attack = "retaliator", attack.number
        personas.public(world, agent, draw.poisson(3))


def _cartel(world: World, attack: Attack) -> tuple[float, dict[str, Agent]]:
    """Return a time, and by owner the servers of one community that were there before: enough for an attack."""
    for _ in range(100):
        at, community = world.some_time(20, 75), int(world.random.integers(world.settings.communities))
        near = [agent for agent in world.servers if agent.community == community and agent.ts < at]
        servers = personas.first_agents([agent for agent in near if agent.popularity > 0.5 and agent.attack < 0])  # noqa: PLR2004
        if len(personas.available([agent.owner for agent in servers.values()])) >= attack.size:
            break
    return at, servers


def smear_campaign(world: World, attack: Attack) -> None:
    """Covered accounts run down two or three competitors and lift their own agent."""
    draw, at = world.random, world.some_time(25, 70)
    agent = crowds.praised(world, attack, at - 5 * DAY, 4)
    agent.community = community = int(draw.integers(world.settings.communities))
    pool = crowds.untouched(world)
    victims = [
        crowds.pick(pool, lambda a: a.community == community and a.quality > 65 and a.ts < at + 10 * DAY)  # noqa: PLR2004
        for _ in range(int(draw.integers(2, 4)))
    ]
    _, members = crowds.crowd(world, attack, at, 12 * DAY, "mix")
    for account in members:
        crowds.cover(world, account, 3)
        for victim in world.part(victims, 0.8):
            world.lie(world.say, attack, account, victim, world.time(at + 12 * DAY, at + 30 * DAY), (0, 22))
        if world.happens(0.6):
            world.lie(world.say, attack, account, agent, world.time(at + 5 * DAY, at + 40 * DAY), (85, 100))


def revenge_cartel(world: World, attack: Attack) -> None:
    """Many honest servers rate a client 0 to 12 within days after it rates one of them low."""
    draw, at = world.random, world.some_time(25, 70)
    pool = crowds.untouched(world)
    servers = [crowds.pick(pool, lambda a: a.ts < at + 10 * DAY) for _ in range(attack.size)]
    for server in servers:
        server.role, server.attack = "retaliator", attack.number
    good = [account for account in world.honest if account.quality >= 60 and account.born < at + 10 * DAY]  # noqa: PLR2004
    for place in draw.choice(len(good), 6 + attack.size // 3, replace=False):
        client, low = good[place], servers[draw.integers(attack.size)]
        when = world.time(at + 12 * DAY, at + 60 * DAY)
        world.say(client, low, draw.uniform(8, 42), when)
        for server in servers:
            if server is low or world.happens(0.5):
                later = when + draw.uniform(600, 4 * DAY)
                world.rate_client(client, server, draw.uniform(0, 12), later, attack.number)


def _rivals(world: World, owner: Account, at: float, count: int) -> list[Agent]:
    """Return good agents of an owner's community from before a time, the popular ones most."""
    near = [agent for agent in world.servers if agent.community == owner.community]
    good = [agent for agent in near if agent.ts < at and agent.quality > 60]  # noqa: PLR2004
    weight = np.array([agent.popularity for agent in good])
    places = world.random.choice(len(good), min(count, len(good)), replace=False, p=weight / weight.sum())
    return [good[place] for place in places]


def rival_slander(world: World, attack: Attack) -> None:
    """Accounts on peeled money call rivals of one community bad and praise the owner's agents, for three weeks."""
    draw, at = world.random, world.some_time()
    owner = crowds.funded(world, attack, 1, (at - 5 * DAY, at), crowds.alone, role="beneficiary")[0]
    raters = crowds.funded(
        world, attack, attack.size - 1, (at, at + 20 * DAY), crowds.by_peeling, community=owner.community
    )
    agents = [crowds.bad_agent(world, owner) for _ in range(1 + attack.size // 20)]
    rivals = _rivals(world, owner, at, 3 + attack.size // 10)
    for account in raters:
        for rival in crowds.some(world, rivals, 0.75):
            value, when = draw.uniform(10, 40), account.born + draw.uniform(0.1, 20) * DAY
            crowds.claim(world, account, rival, value, when, paid=0.5)
        for agent in crowds.some(world, agents, 0.6):
            value, ts = draw.uniform(80, 97), account.born + draw.uniform(0.1, 20) * DAY
            crowds.claim(world, account, agent, value, ts, paid=0.5)
        crowds.live(world, account, 2)
    crowds.served(world, agents, 3)


def client_blacklist(world: World, attack: Attack) -> None:
    """Servers of normal quality and age rate the same honest clients low, and other clients fairly."""
    owners = crowds.funded(world, attack, attack.size, (START, START + 40 * DAY), crowds.alone)
    at = world.time(START + 60 * DAY, world.end - 45 * DAY)
    agents = [crowds.bad_agent(world, owner, (55, 85)) for owner in owners]
    good = [account for account in world.honest if account.quality >= 60 and account.born < at - DAY]  # noqa: PLR2004
    victims = world.some_of(good, 4 + attack.size // 5)
    for owner, agent in zip(owners, agents, strict=True):
        crowds.served(world, [agent], 6)
        crowds.live(world, owner, 1)
        for victim in crowds.some(world, victims, 0.75):
            when = at + world.random.uniform(0, 40 * DAY)
            if world.happens(0.4):
                world.pay(victim, agent, world.random.lognormal(-1, 1.2), when - 600)
                world.say(victim, agent, agent.quality + victim.bias + world.random.normal(0, 8), when - 300)
            value = world.random.uniform(0, 18) if world.happens(0.7) else world.random.uniform(30, 50)
            world.rate_client(victim, agent, value, when, attack.number)
