"""The honest part of a world, with groups that look like attackers and are not."""

import numpy as np

from bench.trust.worlds.world import DAY, HOUR, START, Account, Settings, World


def honest_world(seed: int, settings: Settings | None = None) -> World:
    """Return a world without attacks.

    Args:
        seed: The seed.
        settings: The size and habits.
    """
    world = World(seed, settings or Settings())
    world.exchanges = [world.account(START, role="exchange") for _ in range(world.settings.exchanges)]
    for add in (_people, _platforms, _airdrop, _validators):
        add(world)
    world.servers = [agent for agent in world.agents if not agent.is_validator]
    for add in (_terms, _launch_crowd, _team, _turn, _business, _clubs, _vouchers, _validations):
        add(world)
    return world


def person(world: World, born: float, group: str = "") -> Account:
    """Return an honest account with a character of its own."""
    draw, habits = world.random, world.settings
    kind = draw.random()
    bad = world.happens(habits.bad_clients)
    return world.account(
        born,
        bias=-25.0 if kind <= habits.harsh else float(draw.normal(0, 6)),
        generous=bool(kind > 1 - habits.generous),
        quality=float(draw.uniform(10, 40) if bad else draw.uniform(60, 98)),
        community=int(draw.integers(habits.communities)),
        group=group or ("bad client" if bad else ""),
    )


def _people(world: World) -> None:
    draw, habits = world.random, world.settings
    for _ in range(habits.clients + habits.owners):
        account = person(world, world.time(START, START + habits.newcomers * (habits.days - 1) * DAY))
        world.fund(account)
        world.honest.append(account)
    for owner in world.some_of(world.honest, habits.owners):
        count = 1 if world.happens(0.85) else int(min(draw.zipf(2.2) + 1, 12))
        for _ in range(count):
            quality = float(np.clip(draw.beta(5, 1.6) * 100, 5, 99))
            popularity, ts = float(draw.pareto(1.3) + 0.2), owner.born + draw.exponential(3 * DAY)
            world.agent(owner, ts, quality, community=owner.community, popularity=popularity)


def _platforms(world: World) -> None:
    """Add platforms that register many agents at once, with wallets that their treasury funds."""
    for _ in range(world.settings.platforms):
        owner = person(world, world.time(START, START + 60 * DAY), "platform")
        world.fund(owner)
        world.honest.append(owner)
        for _ in range(int(world.random.integers(40, 150))):
            at = owner.born + DAY
            wallet = world.account(at, group="platform")
            world.transfer(owner, wallet, 5.0, at)
            quality = float(np.clip(world.random.normal(80, 8), 20, 99))
            ts, popularity = at + world.random.uniform(0, HOUR), float(world.random.pareto(1.8) + 0.05)
            world.agent(owner, ts, quality, community=owner.community, popularity=popularity, wallet=wallet)


def _airdrop(world: World) -> None:
    """Add a wave of honest newcomers, funded by one exchange with one amount within hours."""
    at = world.time(START + 30 * DAY, world.end - 10 * DAY)
    for _ in range(150):
        account = person(world, at + world.random.uniform(0, 6 * HOUR), "airdrop")
        world.fund(account, world.exchanges[0], 10.0)
        world.honest.append(account)


def _terms(world: World) -> None:
    """Let agents refund failed jobs, or give each buyer a part of the price back."""
    draw, habits = world.random, world.settings
    if not habits.refunding and not habits.cashback:
        return
    for agent in world.servers:
        if world.happens(habits.refunding):
            agent.refunds, label = float(draw.choice([0.5, 0.9, 1.0])), "refunds"
        elif world.happens(habits.cashback):
            agent.cashback, label = float(draw.uniform(0.02, 0.12)), "cashback"
        else:
            continue
        agent.owner.group = agent.owner.group or label


def _launch_crowd(world: World) -> None:
    """Add newcomers who come for the launch of one good agent, use it, and later use others."""
    draw, at = world.random, world.time(START + 30 * DAY, world.end - 30 * DAY)
    agent = world.agent(world.one_of(world.honest), at, 88.0, popularity=3.0)
    world.servers.append(agent)
    crowd = []
    for _ in range(40):
        account = person(world, at + draw.exponential(2 * DAY), "launch crowd")
        world.fund(account)
        world.meet(account, agent, account.born + draw.exponential(2 * DAY))
        for _ in range(int(min(draw.zipf(1.9), 30))):
            world.meet(account, world.one_of(world.servers), world.time(account.born))
        crowd.append(account)
    world.honest += crowd


def _turn(world: World) -> None:
    """Let some good agents turn bad. Their ratings are honest: this tests scores, not the search for liars."""
    early = [agent for agent in world.servers if agent.ts < START + 60 * DAY]
    popular = [agent for agent in early if agent.popularity > 1 and agent.quality > 60]  # noqa: PLR2004
    for place in world.random.choice(len(popular), min(12, len(popular)), replace=False):
        popular[place].turns = (world.time(START + 60 * DAY, START + 120 * DAY), float(world.random.uniform(10, 35)))


def _team(world: World) -> None:
    """Add a company whose treasury funds its workers; they use popular agents for their work."""
    treasury = person(world, world.time(START, START + 60 * DAY), "team")
    world.fund(treasury)
    world.honest.append(treasury)
    tools = sorted(world.servers, key=lambda agent: -agent.popularity)[:30]
    for _ in range(12):
        account = person(world, treasury.born + world.random.uniform(0, 60 * DAY), "team")
        world.fund(account, treasury)
        for place in world.random.choice(len(tools), 5, replace=False):
            world.meet(account, tools[place], world.time(max(account.born, tools[place].ts)))
        world.honest.append(account)


def _validators(world: World) -> None:
    for _ in range(20):
        owner = world.one_of(world.honest)
        agent = world.agent(owner, START + world.random.uniform(0, 20 * DAY), 90.0, popularity=0.01, is_validator=True)
        world.validators.append(agent)


def _business(world: World) -> None:
    """Let honest clients use agents, mostly of their community, the popular ones most."""
    popularity = np.array([agent.popularity for agent in world.servers])
    community = np.array([agent.community for agent in world.servers])
    every = popularity / popularity.sum()
    places = [np.flatnonzero(community == number) for number in range(world.settings.communities)]
    inside = [popularity[place] / popularity[place].sum() for place in places]
    for client in [account for account in world.honest if account.group != "launch crowd"]:
        count = int(min(world.random.zipf(1.9), 120))
        near = world.random.choice(places[client.community], count, p=inside[client.community])
        chosen = np.where(world.random.random(count) < 0.7, near, world.random.choice(len(popularity), count, p=every))  # noqa: PLR2004
        for place in chosen:
            agent = world.servers[place]
            if agent.owner is not client:
                world.meet(client, agent, world.time(max(client.born, agent.ts) + 600))
        if world.happens(0.15):
            other = world.one_of(world.honest)
            world.transfer(client, other, world.random.lognormal(2, 1), world.time(client.born))


def _clubs(world: World) -> None:
    """Add clubs: owners who really trade with each other, and so look like rings."""
    for _ in range(6):
        chosen = world.some_of(world.servers, int(world.random.integers(5, 12)))
        members = {agent.owner.address: agent for agent in chosen if agent.wallet is agent.owner}
        for first in members.values():
            first.owner.group = "club"
            for second in world.part([agent for agent in members.values() if agent is not first], 0.7):
                for _ in range(int(world.random.integers(1, 4))):
                    world.meet(first.owner, second, world.time(max(second.ts, START + 20 * DAY)))


def _vouchers(world: World) -> None:
    """Add machines that vouch for many agents with one constant value."""
    for _ in range(30):
        account = world.funded(world.time(START, START + 30 * DAY), role="noise", group="voucher")
        for agent in world.some_of(world.servers, min(100, len(world.servers))):
            world.say(account, agent, 1, world.time(max(account.born, agent.ts)), tag="miner-vouch")


def _validations(world: World) -> None:
    for agent in world.part(world.servers, world.settings.validated):
        validator = world.one_of(world.validators)
        if validator.owner is agent.owner:
            continue
        world.validate(validator, agent, agent.quality + world.random.normal(0, 5), world.time(agent.ts))
        if world.happens(0.4):
            world.rate_validator(validator, agent, 85 + world.random.normal(0, 8), world.time(agent.ts))
