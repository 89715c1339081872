"""Honest groups that look like the families in `first`: add them to a world before its attacks.

The world's ordinary public does not include their newcomers and agents. Attacks recruit nobody of them but `dispute`.
"""

from __future__ import annotations

from bench.trust.worlds.independent.first_parts import cover, meet, newcomer, one_of, register, send, some_of
from bench.trust.worlds.world import DAY, HOUR, START, World

_LOW = 40
"""The value below which a feedback tells of a failed job."""


def add_bystanders(world: World) -> None:
    """Add all groups to a world.

    Args:
        world: A world without attacks.
    """
    disputes(world)
    for _ in range(3):
        launch_campaign(world)
    for _ in range(2):
        dao_team(world)
    refund_merchants(world)


def disputes(world: World) -> None:
    """Let fair servers rate a client low now and then."""
    agents = {agent.number: agent for agent in world.agents}
    for place, row in enumerate(world.ratings):
        if row[0] == "client" and world.happens(0.02):
            world.ratings[place] = (*row[:4], float(round(world.random.uniform(5, 45))), *row[5:])
            owner = agents[row[3]].owner
            owner.group = owner.group or "dispute"


def launch_campaign(world: World) -> None:
    """Let a good new agent draw a burst of real first users, a third of them fresh."""
    draw, at = world.random, world.time(START + 30 * DAY, world.end - 40 * DAY)
    owner = newcomer(world, "honest", -1, at - 2 * DAY)
    owner.group = "launch campaign"
    agent = register(world, owner, at, draw.uniform(80, 95), community=owner.community, popularity=3.0)
    near = [account for account in world.honest if account.community == owner.community]
    for _ in range(int(draw.integers(30, 60))):
        if world.happens(0.33):
            client = newcomer(world, "honest", -1, at + draw.uniform(0, 3 * DAY))
            client.group = "launch campaign"
            cover(world, client, 1.5)
        else:
            client = one_of(world, near)
        meet(world, client, agent, at + draw.exponential(1.5 * DAY))


def dao_team(world: World) -> None:
    """Let a treasury pay members who use the same few tools and judge them honestly. Some return the rest."""
    draw, at = world.random, world.time(START + 15 * DAY, world.end - 80 * DAY)
    treasury = newcomer(world, "honest", -1, at - 2 * DAY)
    treasury.group = "DAO team"
    tools = some_of(world, [agent for agent in world.servers if agent.community == treasury.community], 5)
    for _ in range(int(draw.integers(20, 35))):
        born, amount = at + draw.uniform(0, 10 * DAY), draw.normal(25, 1)
        account = newcomer(world, "honest", -1, born, treasury, amount=amount, community=treasury.community)
        account.group = "DAO team"
        cover(world, account, 3)
        for tool in tools:
            if world.happens(0.55):
                meet(world, account, tool, world.time(account.born + 600))
        if world.happens(0.3):
            send(world, account, treasury, draw.uniform(1, 10), world.time(world.end - 30 * DAY))


def refund_merchants(world: World) -> None:
    """Let three merchants refund failed jobs, and three pay all buyers cashback."""
    draw, accounts = world.random, {account.address: account for account in world.accounts}
    paid: dict[int, list[tuple[str, float, float]]] = {}
    for _, payer, _, number, amount, ts in world.payments:
        paid.setdefault(number, []).append((payer, amount, ts))
    busy = sorted(paid, key=lambda number: -len(paid[number]))[5:60]
    failed = {(row[0], row[1]) for row in world.feedback if row[2] < _LOW}
    for place, number in enumerate(some_of(world, busy, 6)):
        agent, refunds = world.agents[number], place < 3  # noqa: PLR2004
        for payer, amount, ts in paid[number]:
            if not refunds:
                send(world, agent.wallet, accounts[payer], amount * 0.05, ts + draw.uniform(60, DAY))
            elif (payer, number) in failed:
                send(world, agent.wallet, accounts[payer], amount, ts + draw.uniform(8 * HOUR, 2 * DAY))
        agent.owner.group = "refund merchant"
