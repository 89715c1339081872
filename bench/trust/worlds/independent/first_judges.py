"""The families of `first` that corrupt ratings of clients and validations."""

from __future__ import annotations

from bench.trust.worlds.independent.first_parts import (
    available,
    beginning,
    by_size,
    cover,
    first_agents,
    lie,
    meet,
    new_owner,
    newcomer,
    one_of,
    public,
    recruit,
    send,
    some_of,
    target,
    true_feedbacks,
    when,
    with_agents,
)
from bench.trust.worlds.world import DAY, HOUR, Agent, Attack, World


def client_laundering(world: World, attack: Attack) -> None:
    """Bad clients and bad servers rate each other well. Honest servers rate these clients low."""
    draw, at, count = world.random, beginning(world), by_size(attack, {4: 2, 10: 4, 20: 7})
    agents = with_agents(world, [new_owner(world, attack, at + draw.uniform(-15, 10) * DAY) for _ in range(count)])
    share = 0.95 if count < 4 else 0.7  # noqa: PLR2004
    for _ in range(attack.size):
        born, quality = at + draw.uniform(0, 30) * DAY, draw.uniform(8, 35)
        account = newcomer(world, "sybil", attack.number, born, quality=quality)
        cover(world, account, 9)
        for agent in agents:
            for _ in range(1 + world.happens(0.35)):
                if not world.happens(share):
                    continue
                ts = world.time(account.born + DAY, account.born + 50 * DAY)
                lie(world, account, agent, draw.normal(92, 4), ts)
                if world.happens(0.85):
                    ts = when(world, account, agent, ts) + draw.exponential(18 * HOUR)
                    world.rate_client(account, agent, draw.normal(94, 3), ts, attack.number)
    for agent in agents:
        public(world, agent, draw.poisson(6))


def captured_validator(world: World, attack: Attack) -> None:
    """Validators pass the bad agents of the members, often for money, and judge others rightly. Some clients praise."""
    draw, at = world.random, beginning(world)
    count, clients = by_size(attack, {5: (1, 2), 12: (2, 4), 22: (3, 7)})
    validators = [_judge(world, attack, at + draw.uniform(-15, -2) * DAY) for _ in range(count)]
    owners = [new_owner(world, attack, at + draw.uniform(-5, 40) * DAY) for _ in range(attack.size)]
    agents = [
        target(world, account, account.born + draw.exponential(2 * DAY), (25, 50), turning=0) for account in owners
    ]
    for agent in agents:
        for judge in some_of(world, validators, 1 + world.happens(0.4)):
            ts = min(max(agent.ts, judge.ts) + draw.exponential(6 * DAY) + HOUR, world.end - HOUR)
            world.validate(judge, agent, draw.normal(93, 3), ts, attack.number)
            if world.happens(0.5):
                send(world, agent.owner, judge.owner, draw.lognormal(1.5, 0.4), ts - draw.uniform(0.1, 0.9) * HOUR)
            if world.happens(0.7):
                world.rate_validator(judge, agent, draw.normal(96, 2), ts + draw.exponential(DAY), attack.number)
        if world.happens(0.4):
            fair = one_of(world, world.validators)
            world.validate(fair, agent, agent.quality + draw.normal(0, 5), world.time(max(agent.ts, fair.ts) + 60))
        public(world, agent, draw.poisson(5))
    for _ in range(clients):
        account = newcomer(world, "sybil", attack.number, at + draw.uniform(0, 30) * DAY)
        cover(world, account, 2)
        for agent in some_of(world, agents, 4):
            ts = max(agent.ts, account.born) + draw.exponential(10 * DAY)
            lie(world, account, agent, draw.normal(92, 4), ts, proven=0.9)


def _judge(world: World, attack: Attack, born: float) -> Agent:
    """Return a new validator of an attack that judged some honest agents rightly."""
    draw = world.random
    owner = newcomer(world, "sybil", attack.number, born)
    judge = world.agent(
        owner, owner.born + DAY, 90.0, popularity=0.01, is_validator=True, role="colluder", attack=attack.number
    )
    for agent in some_of(world, world.servers, int(draw.integers(10, 18))):
        ts = world.time(max(agent.ts, judge.ts) + 60)
        quality = agent.turns[1] if agent.turns and ts > agent.turns[0] else agent.quality
        world.validate(judge, agent, quality + draw.normal(0, 5), ts)
        if world.happens(0.4):
            world.rate_validator(judge, agent, 85 + draw.normal(0, 8), ts + draw.exponential(DAY))
    return judge


def blacklist_cartel(world: World, attack: Attack) -> None:
    """Servers of one community in business for long rate the same good clients down."""
    draw, at, servers = world.random, *_cartel(world, attack)
    owners = recruit(world, attack, [agent.owner for agent in servers.values()], attack.size, "sybil")
    agents, feedback_of = [servers[account.address] for account in owners], true_feedbacks(world)
    good = [
        account
        for account in available(world.honest)
        if account.community == agents[0].community and account.quality >= 70  # noqa: PLR2004
        if feedback_of[account.address] >= 3 and account.born < at + 20 * DAY  # noqa: PLR2004
    ]
    for victim in some_of(world, good, by_size(attack, {3: 5, 7: 9, 14: 16})):
        start = at + draw.uniform(0, 45) * DAY
        cover(world, victim, 4)
        for agent in agents:
            if world.happens(0.7):
                ts = when(world, victim, agent, start + draw.exponential(8 * DAY))
                if world.happens(0.5):
                    meet(world, victim, agent, ts - draw.uniform(0.1, 2) * DAY)
                world.rate_client(victim, agent, draw.uniform(5, 35), ts, attack.number)
    for agent in agents:
        agent.role, agent.attack = "retaliator", attack.number
        public(world, agent, draw.poisson(3))


def _cartel(world: World, attack: Attack) -> tuple[float, dict[str, Agent]]:
    """Return a time, and by owner the servers of one community that were there before: enough for an attack."""
    for _ in range(100):
        at, community = beginning(world), int(world.random.integers(world.settings.communities))
        servers = first_agents(
            [
                agent
                for agent in world.servers
                if agent.community == community and agent.ts < at and agent.popularity > 0.5 and agent.attack < 0  # noqa: PLR2004
            ]
        )
        if len(available([agent.owner for agent in servers.values()])) >= attack.size:
            break
    return at, servers
