"""Honest groups that look like attackers: of drawn habits for training, and bystanders of a first author's attacks.

The worlds of the figures have groups of their own, of fixed habits (`bench.trust.worlds.honest`). The ordinary public
does not include the newcomers and agents of bystanders, and attacks recruit nobody of them but `dispute`.
"""

from collections.abc import Iterator
from typing import Final

from bench.trust.worlds import personas
from bench.trust.worlds.honest import person
from bench.trust.worlds.world import DAY, HOUR, START, Account, World

_CHANCE: Final = 0.35
"""The chance of each group in a world."""


def add_look_alikes(world: World) -> None:
    """Add each group to a world, or not, by chance.

    Args:
        world: A world without attacks.
    """
    for add in (
        *(_launch, _wave, _guild, _refunding, _customers, _staff, _free_service, _reviewers, _hosts, _niche),
        *(_regulars, _strict, _cashback, _quarrels, _fees, _returned),
    ):
        if world.happens(_CHANCE):
            add(world)


def _some_time(world: World, rest: float = 10 * DAY) -> float:
    return world.time(START + 10 * DAY, world.end - rest)


def _newcomer(
    world: World, born: float, group: str, source: Account | None = None, amount: float | None = None
) -> Account:
    account = person(world, min(born, world.end - DAY), group)
    world.fund(account, source, amount)
    return account


def _use(world: World, account: Account, mean: float) -> None:
    """Let an account use some agents, the popular ones mostly."""
    for _ in range(world.random.poisson(mean)):
        world.use(account, world.server(popular=True))


def _launch(world: World) -> None:
    """Newcomers come for one new agent of some quality, and use others or not."""
    draw, at = world.random, _some_time(world)
    agent = world.agent(world.some_of(world.honest, 1)[0], at, draw.uniform(60, 96), popularity=2.0)
    stay, pause = float(draw.choice([0, 1, 3])), float(draw.uniform(0.5, 6))
    crowd = []
    for _ in range(int(draw.integers(12, 100))):
        account = _newcomer(world, at + draw.exponential(pause * DAY), "launch crowd")
        world.meet(account, agent, account.born + draw.exponential(pause * DAY))
        _use(world, account, stay)
        crowd.append(account)
    world.servers.append(agent)
    world.honest += crowd


def _wave(world: World) -> None:
    """A distributor or an exchange sends many newcomers one amount within hours or days."""
    draw, at = world.random, _some_time(world)
    source = world.one_of(world.exchanges)
    if world.happens(0.5):
        source = world.funded(at - DAY, role="exchange", amount=5000.0)
    amount, span = draw.lognormal(1.5, 1), draw.uniform(2 * HOUR, 5 * DAY)
    active = float(draw.uniform(0.5, 3))
    for _ in range(int(draw.integers(40, 220))):
        account = _newcomer(world, at + draw.uniform(0, span), "airdrop", source, amount)
        _use(world, account, active)
        world.honest.append(account)


def _guild(world: World) -> None:
    """Owners who know each other buy from each other and say the truth; a treasury funds them or not."""
    draw, at = world.random, _some_time(world, 40 * DAY)
    treasury = _newcomer(world, at, "club") if world.happens(0.4) else None
    count = int(draw.integers(4, 14))
    members = [_newcomer(world, at + draw.uniform(0, 30 * DAY), "club", treasury) for _ in range(count)]
    agents = [world.agent(member, member.born + draw.exponential(3 * DAY), draw.uniform(65, 96)) for member in members]
    chance = float(draw.uniform(0.15, 0.7))
    for account in members:
        for agent in world.part([agent for agent in agents if agent.owner is not account], chance):
            for _ in range(int(draw.integers(1, 4))):
                world.use(account, agent)
        _use(world, account, 3)
    for agent in agents:
        world.visited(agent, int(draw.poisson(5)))
    world.servers += agents
    world.honest += members


def _refunding(world: World) -> None:
    """Shops give the money back to some of their clients."""
    draw = world.random
    for _ in range(int(draw.integers(1, 5))):
        agent, share = world.server(popular=True), draw.uniform(0.05, 0.4)
        for client in world.some_of(world.honest, int(draw.integers(5, 30))):
            at, amount = world.time(max(client.born, agent.ts)), draw.lognormal(-1, 1.2)
            proof = world.pay(client, agent, amount, at)
            refunds = world.happens(share)
            if refunds:
                world.transfer(agent.owner, client, amount * draw.choice([1.0, 0.5]), at + draw.uniform(HOUR, 6 * DAY))
            if world.happens(world.settings.spoken):
                value = agent.quality + client.bias + draw.normal(-10 if refunds else 0, 10)
                world.say(client, agent, value, at + draw.exponential(DAY), proof=proof)


def _customers(world: World) -> None:
    """Customers of one exchange withdraw in one hour, and use what is popular."""
    draw, at = world.random, _some_time(world)
    exchange = world.one_of(world.exchanges)
    for _ in range(int(draw.integers(8, 40))):
        account = _newcomer(world, at + draw.uniform(0, 2 * HOUR), "exchange customer", exchange, draw.lognormal(3, 1))
        _use(world, account, 2)
        world.honest.append(account)


def _staff(world: World) -> None:
    """A treasury pays staff, once or each month; they use and judge the same tools, and may send back what is left."""
    draw, at = world.random, _some_time(world, 60 * DAY)
    treasury = _newcomer(world, at, "staff")
    world.honest.append(treasury)
    popular, span = bool(world.happens(0.6)), draw.choice([3, 10, 40]) * DAY
    tools = [world.server(popular=popular) for _ in range(int(draw.integers(3, 10)))]
    wage, width, months = draw.lognormal(2, 0.7), draw.choice([0.0, 0.04, 0.2]), int(draw.choice([0, 2]))
    back, others = float(draw.choice([0, 0, 0.3])), float(draw.choice([0, 1, 3]))
    for _ in range(int(draw.integers(5, 36))):
        account = _newcomer(world, at + draw.uniform(0, span), "staff", treasury, wage * draw.lognormal(0, width))
        for month in range(1, months + 1):
            world.transfer(treasury, account, wage, account.born + 30 * month * DAY)
        for tool in world.part([tool for tool in tools if tool.owner is not account], 0.6):
            world.use(account, tool)
        _use(world, account, others)
        if world.happens(back):
            amount, when = wage * draw.uniform(0.05, 0.4), world.time(max(account.born, world.end - 30 * DAY))
            world.transfer(account, treasury, amount, when)
        world.honest.append(account)


def _cashback(world: World) -> None:
    """Shops give each buyer a small part of the price back, whatever it says of them."""
    draw, accounts = world.random, {account.address: account for account in world.accounts}
    shares = {world.server(popular=True).number: draw.uniform(0.02, 0.3) for _ in range(int(draw.integers(1, 5)))}
    for _, payer, _, number, amount, ts in world.payments:
        if number in shares:
            back = shares[number] * amount
            world.transfer(world.agents[number].wallet, accounts[payer], back, ts + draw.uniform(60, 2 * DAY))


def _quarrels(world: World) -> None:
    """Servers rate a good client low now and then, after a quarrel."""
    for _ in _quarrelling(world, float(world.random.choice([0.01, 0.03]))):
        pass


def _quarrelling(world: World, share: float) -> Iterator[int]:
    """Make a share of the ratings of clients low, and yield the servers that gave them."""
    for place, row in enumerate(world.ratings):
        if row[0] == "client" and world.happens(share):
            world.ratings[place] = (*row[:4], float(round(world.random.uniform(5, 45))), *row[5:])
            yield row[3]


def _free_service(world: World) -> None:
    """A good agent costs nothing, and many who use it do little else."""
    draw, at = world.random, _some_time(world, 50 * DAY)
    agent = world.agent(world.some_of(world.honest, 1)[0], at, draw.uniform(65, 96), popularity=1.0)
    for _ in range(int(draw.integers(8, 60))):
        account = _newcomer(world, world.time(at), "free service")
        value = 100.0 if account.generous else agent.quality + account.bias + draw.normal(0, 8)
        world.say(account, agent, value, account.born + draw.exponential(3 * DAY))
        _use(world, account, 1)
        world.honest.append(account)
    world.servers.append(agent)


def _reviewers(world: World) -> None:
    """Accounts review many agents in a short time, without buying, and say the truth."""
    for _ in range(int(world.random.integers(1, 8))):
        account = _newcomer(world, _some_time(world, 30 * DAY), "reviewer")
        at, span = account.born + world.random.exponential(10 * DAY), world.random.uniform(HOUR, 20 * DAY)
        for _ in range(int(world.random.integers(8, 50))):
            agent = world.server(popular=False)
            value = agent.quality + account.bias + world.random.normal(0, 8)
            world.say(account, agent, value, max(at + world.random.uniform(0, span), agent.ts))
        world.honest.append(account)


def _hosts(world: World) -> None:
    """Honest people fund friends and pupils, who use agents of their own choice or some that all like."""
    draw = world.random
    for host in world.some_of(world.honest, int(draw.integers(2, 10))):
        at = world.time(max(host.born, START + DAY), max(world.end - 5 * DAY, host.born + DAY))
        liked = [world.server(popular=True) for _ in range(2)]
        for _ in range(int(draw.integers(2, 12))):
            account = _newcomer(world, at + draw.uniform(0, 3 * DAY), "friends", host, draw.lognormal(1, 0.3))
            for agent in world.part([agent for agent in liked if agent.owner is not host], 0.5):
                world.use(account, agent)
            _use(world, account, 1.5)
            world.honest.append(account)


def _niche(world: World) -> None:
    """People of one trade use the same few agents that nobody else uses."""
    draw, at = world.random, _some_time(world, 50 * DAY)
    owners = world.some_of(world.honest, int(draw.integers(2, 5)))
    agents = [world.agent(account, max(at, account.born), draw.uniform(55, 96), popularity=0.1) for account in owners]
    for account in world.some_of(world.honest, int(draw.integers(4, 16))):
        for agent in world.part([agent for agent in agents if agent.owner is not account], 0.7):
            world.use(account, agent)
    world.servers += agents


def _regulars(world: World) -> None:
    """Clients buy from one agent again and again, and say so each time."""
    for account in world.some_of(world.honest, int(world.random.integers(10, 60))):
        agent = world.server(popular=True)
        for _ in range(int(world.random.integers(3, 9)) if agent.owner is not account else 0):
            world.use(account, agent)


def _strict(world: World) -> None:
    """Servers expect much of their clients, and rate nearly all of them low."""
    for _ in range(int(world.random.integers(1, 6))):
        agent, level = world.server(popular=True), world.random.uniform(30, 65)
        for client in world.some_of(world.honest, int(world.random.integers(4, 20))):
            at = world.time(max(client.born, agent.ts))
            world.meet(client, agent, at)
            world.rate_client(client, agent, level * client.quality / 80 + world.random.normal(0, 8), at + DAY)


def _fees(world: World) -> None:
    """Owners pay validators whatever these say, and a programme gives clients money before a use."""
    draw, share = world.random, world.random.uniform(0.2, 1)
    for judge, agent, _, ts, _ in list(world.validations) if world.happens(0.7) else []:
        if world.happens(share):
            source, to = world.agents[agent].owner, world.agents[judge].owner
            world.transfer(source, to, draw.lognormal(1, 0.8), ts + draw.normal(0, 1) * DAY)
    programme = world.funded(START + 5 * DAY, amount=900.0, group="rewards")
    for account in world.some_of(world.honest, int(draw.integers(0, 150))):
        at = world.time(max(account.born, START + 6 * DAY))
        world.transfer(programme, account, draw.lognormal(0, 0.8), at)
        world.meet(account, world.server(popular=True), at + draw.exponential(DAY))


def _returned(world: World) -> None:
    """Clients come back after months, with new money or without, and use what is popular or new."""
    draw, popular = world.random, world.happens(0.6)
    early = [account for account in world.honest if account.born < START + 70 * DAY]
    for account in world.some_of(early, int(draw.integers(10, 120))):
        at = world.time(START + 90 * DAY, world.end - DAY)
        if world.happens(0.6):
            world.transfer(world.one_of(world.exchanges), account, draw.lognormal(1.5, 0.8), at)
        for _ in range(int(draw.integers(1, 5))):
            agent = world.server(popular=bool(popular))
            if agent.owner is not account:
                world.meet(account, agent, at + draw.exponential(4 * DAY))


_LOW = 40
"""The value below which a feedback tells of a failed job."""


def add_bystanders(world: World) -> None:
    """Add all groups to a world.

    Args:
        world: A world without attacks.
    """
    for add in (disputes, *[launch_campaign] * 3, *[dao_team] * 2, refund_merchants):
        add(world)


def disputes(world: World) -> None:
    """Let fair servers rate a client low now and then."""
    agents = {agent.number: agent for agent in world.agents}
    for number in _quarrelling(world, 0.02):
        owner = agents[number].owner
        owner.group = owner.group or "dispute"


def launch_campaign(world: World) -> None:
    """Let a good new agent draw a burst of real first users, a third of them fresh."""
    draw, at = world.random, world.time(START + 30 * DAY, world.end - 40 * DAY)
    owner = personas.newcomer(world, "honest", -1, at - 2 * DAY)
    owner.group = "launch campaign"
    agent = personas.register(world, owner, at, draw.uniform(80, 95), community=owner.community, popularity=3.0)
    near = [account for account in world.honest if account.community == owner.community]
    for _ in range(int(draw.integers(30, 60))):
        if world.happens(0.33):
            client = personas.newcomer(world, "honest", -1, at + draw.uniform(0, 3 * DAY))
            client.group = "launch campaign"
            personas.cover(world, client, 1.5)
        else:
            client = world.one_of(near)
        personas.meet(world, client, agent, at + draw.exponential(1.5 * DAY))


def dao_team(world: World) -> None:
    """Let a treasury pay members who use the same few tools and judge them honestly. Some return the rest."""
    draw, at = world.random, world.time(START + 15 * DAY, world.end - 80 * DAY)
    treasury = personas.newcomer(world, "honest", -1, at - 2 * DAY)
    treasury.group = "DAO team"
    tools = world.some_of([agent for agent in world.servers if agent.community == treasury.community], 5)
    for _ in range(int(draw.integers(20, 35))):
        born, amount = at + draw.uniform(0, 10 * DAY), draw.normal(25, 1)
        account = personas.newcomer(world, "honest", -1, born, treasury, amount=amount, community=treasury.community)
        account.group = "DAO team"
        personas.cover(world, account, 3)
        for tool in world.part(tools, 0.55):
            personas.meet(world, account, tool, world.time(account.born + 600))
        if world.happens(0.3):
            personas.send(world, account, treasury, draw.uniform(1, 10), world.time(world.end - 30 * DAY))


def refund_merchants(world: World) -> None:
    """Let three merchants refund failed jobs, and three pay all buyers cashback."""
    draw, accounts = world.random, {account.address: account for account in world.accounts}
    paid: dict[int, list[tuple[str, float, float]]] = {}
    for _, payer, _, number, amount, ts in world.payments:
        paid.setdefault(number, []).append((payer, amount, ts))
    busy = sorted(paid, key=lambda number: -len(paid[number]))[5:60]
    failed = {(row[0], row[1]) for row in world.feedback if row[2] < _LOW}
    for place, number in enumerate(world.some_of(busy, 6)):
        agent, refunds = world.agents[number], place < 3  # noqa: PLR2004
        for payer, amount, ts in paid[number]:
            if not refunds:
                personas.send(world, agent.wallet, accounts[payer], amount * 0.05, ts + draw.uniform(60, DAY))
            elif (payer, number) in failed:
                personas.send(world, agent.wallet, accounts[payer], amount, ts + draw.uniform(8 * HOUR, 2 * DAY))
        agent.owner.group = "refund merchant"
