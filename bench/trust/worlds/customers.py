"""Honest groups with one source, or one destination, of money: customers, staff and members, as strangers build them.

None of them trains the ranking. Each has one label, and is measured alone (`bench.trust.worlds.kinds` has none).
"""

from collections.abc import Callable
from typing import Final

from bench.trust.worlds.honest import person
from bench.trust.worlds.world import DAY, HOUR, START, Account, World


def _newcomers(world: World, count: int, group: str, at: float, span: float) -> list[Account]:
    """Return new accounts without funds, born within a span."""
    accounts = [person(world, min(at + world.random.uniform(0, span), world.end - DAY), group) for _ in range(count)]
    world.honest += accounts
    return accounts


def _wallet(world: World, group: str, at: float) -> Account:
    """Return a funded account that serves others."""
    account = person(world, at, group)
    world.fund(account)
    return account


def _some_day(world: World, rest: float = 60 * DAY) -> float:
    return world.time(START + 10 * DAY, world.end - rest)


def platform(world: World) -> None:
    """A platform's wallet onboards its users, who buy mostly from the platform's many agents, and others."""
    draw, at = world.random, _some_day(world)
    owner = _wallet(world, "platform", at)
    agents = [
        world.agent(owner, at + draw.uniform(0, 5 * DAY), draw.uniform(60, 95), popularity=1.0)
        for _ in range(int(draw.integers(20, 60)))
    ]
    world.servers += agents
    for user in _newcomers(world, int(draw.integers(30, 120)), "platform user", at, 50 * DAY):
        world.fund(user, owner, float(draw.uniform(2, 5)))
        for agent in world.some_of(agents, int(draw.integers(1, 5))):
            world.meet(user, agent, world.time(max(user.born, agent.ts)))
        for _ in range(draw.poisson(2)):
            world.use(user, world.server(popular=True))


def plain_customers(world: World) -> None:
    """A shop's customers pay by plain transfers, to its owner, and say what they found."""
    draw, at = world.random, _some_day(world)
    owner = _wallet(world, "shop", at)
    shop = world.agent(owner, at, draw.uniform(70, 95), popularity=0.5)
    world.servers.append(shop)
    for client in _newcomers(world, int(draw.integers(8, 40)), "plain customer", at, 50 * DAY):
        world.fund(client)
        for _ in range(int(draw.integers(1, 3))):
            ts = world.time(client.born)
            world.transfer(client, owner, draw.lognormal(0, 0.7), ts)
            world.say(client, shop, shop.quality + client.bias + draw.normal(0, 8), ts + HOUR)
        for _ in range(draw.poisson(1)):
            world.use(client, world.server(popular=True))


def escrow(world: World) -> None:
    """Buyers pay a marketplace's escrow, which pays a few sellers of one trade; none of it is a recorded payment."""
    draw, at = world.random, _some_day(world)
    purse = _wallet(world, "escrow", at)
    shops = [
        world.agent(_wallet(world, "escrow seller", at), at + DAY, draw.uniform(65, 95), popularity=0.3)
        for _ in range(int(draw.integers(2, 6)))
    ]
    world.servers += shops
    for client in _newcomers(world, int(draw.integers(20, 80)), "escrow customer", at, 50 * DAY):
        world.fund(client)
        for shop in world.some_of(shops, int(draw.integers(1, 3))):
            ts, amount = world.time(max(client.born, shop.ts)), draw.lognormal(0, 0.7)
            world.transfer(client, purse, amount, ts)
            world.transfer(purse, shop.owner, 0.95 * amount, ts + DAY)
            world.say(client, shop, shop.quality + client.bias + draw.normal(0, 8), ts + HOUR)
        for _ in range(draw.poisson(1)):
            world.use(client, world.server(popular=True))


def bridge(world: World) -> None:
    """A small bridge funds newcomers from another chain, who share its community's agents, and return money by it."""
    draw, at = world.random, _some_day(world)
    gate = _wallet(world, "bridge", at)
    community = int(draw.integers(world.settings.communities))
    for client in _newcomers(world, int(draw.integers(15, 60)), "bridged", at, 40 * DAY):
        client.community = community
        world.fund(client, gate, draw.lognormal(2, 1))
        for agent in world.usual_servers(client, 3):
            world.use(client, agent)
        if world.happens(0.4):
            world.transfer(client, gate, draw.uniform(0.5, 5), world.time(max(client.born, world.end - 30 * DAY)))


def payroll(world: World) -> None:
    """An employer pays staff each month from one wallet; they use the employer's agent, paid, and its tools."""
    draw, at = world.random, _some_day(world, 80 * DAY)
    employer = _wallet(world, "employer", at)
    own = world.agent(employer, at, draw.uniform(70, 95), popularity=0.5)
    tools = [world.server(popular=False) for _ in range(4)]
    for worker in _newcomers(world, int(draw.integers(6, 25)), "payroll", at, 10 * DAY):
        for month in range(3):
            world.transfer(employer, worker, 20.0, worker.born + 30 * month * DAY)
        for tool in world.part(tools, 0.7):
            world.use(worker, tool)
        if world.happens(0.3):
            world.meet(worker, own, world.time(worker.born + DAY))
    world.servers.append(own)


def hackathon(world: World) -> None:
    """A host gives each team one amount in an afternoon; teams register agents and try each other's, unpaid."""
    draw, at = world.random, _some_day(world)
    host = _wallet(world, "hackathon host", at - DAY)
    teams = _newcomers(world, int(draw.integers(8, 30)), "hackathon", at, 4 * HOUR)
    for team in teams:
        world.fund(team, host, 10.0)
    agents = [world.agent(team, team.born + draw.uniform(HOUR, DAY), draw.uniform(30, 90)) for team in teams]
    for team in teams:
        for agent in world.some_of([agent for agent in agents if agent.owner is not team], int(draw.integers(1, 4))):
            world.say(team, agent, agent.quality + team.bias + draw.normal(0, 10), at + DAY + draw.uniform(0, DAY))
        for _ in range(draw.poisson(3)):
            world.use(team, world.server(popular=True))
    for agent in agents:
        world.visited(agent, int(draw.poisson(2)))
    world.servers += agents


def launch(world: World) -> None:
    """A new agent gives gifts to buyers who then try it, free or paid, and say what they found."""
    draw, at = world.random, _some_day(world)
    owner = _wallet(world, "launch", at - DAY)
    agent = world.agent(owner, at, draw.uniform(70, 95), popularity=1.0)
    free = world.happens(0.5)
    fresh = _newcomers(world, int(draw.integers(5, 15)), "launch crowd", at, 3 * DAY)
    for account in fresh:
        world.fund(account)
        for _ in range(draw.poisson(1)):
            world.use(account, world.server(popular=True))
    for client in [*fresh, *world.some_of(world.honest, int(draw.integers(8, 20)))]:
        ts = max(at, client.born) + draw.uniform(HOUR, 4 * DAY)
        world.transfer(owner, client, 2.0, ts - HOUR / 2)
        proof = None if free else world.pay(client, agent, draw.uniform(1, 2), ts)
        world.say(client, agent, agent.quality + client.bias + draw.normal(0, 8), ts + HOUR, proof=proof)
    world.visited(agent, int(draw.poisson(6)))
    world.servers.append(agent)


GROUPS: Final[tuple[Callable[[World], None], ...]] = (
    *(platform, plain_customers, escrow, bridge, payroll, hackathon, launch),
)
"""All groups."""
