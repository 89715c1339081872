"""The structures of drawn attacks: who judges whom, and with which payments and cover.

None of them is a family of the figures, but some use the same tricks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bench.trust.worlds.attacks import target
from bench.trust.worlds.parts import Plan, moment, new_agent, new_owner, praise, some_people, some_server
from bench.trust.worlds.world import DAY, HOUR, Account, World

if TYPE_CHECKING:
    from collections.abc import Callable


def _one(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise one agent, or a few of one owner."""
    owner = new_owner(world, plan)
    agents = [new_agent(world, plan, owner) for _ in range(int(world.random.choice([1, 1, 1, 3])))]
    for account in members:
        for agent in agents:
            if len(agents) == 1 or world.random.random() < plan.share:
                praise(world, plan, account, agent)


def _hired(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise the agents of several strangers, who may pay for it."""
    paid = world.random.random() < 0.4  # noqa: PLR2004
    for _ in range(max(2, plan.attack.size // 3)):
        owner = new_owner(world, plan)
        agent = new_agent(world, plan, owner)
        for account in members:
            if world.random.random() < plan.share:
                praise(world, plan, account, agent)
        if paid:
            account = members[0] if world.random.random() < 0.5 else members[world.random.integers(len(members))]  # noqa: PLR2004
            world.transfer(owner, account, world.random.uniform(1, 4), world.time(owner.born))


def _circle(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise the agents of each other: all, a few, or the next ones in a cycle."""
    agents = [new_agent(world, plan, account) for account in members]
    size, way = len(members), world.random.integers(3)
    for place, account in enumerate(members):
        others = np.setdiff1d(np.arange(size), [place])
        if way == 0:
            chosen = others[world.random.random(len(others)) < plan.share]
        elif way == 1:
            chosen = world.random.choice(others, min(int(world.random.integers(1, 4)), len(others)), replace=False)
        else:
            chosen = (place + np.arange(1, world.random.integers(2, 4))) % size
        for other in chosen:
            if other != place:
                praise(world, plan, account, agents[other])


def _slander(world: World, plan: Plan, members: list[Account]) -> None:
    """Slander some honest agents, perhaps to lift one's own."""
    victims = [some_server(world, popular=plan.popular) for _ in range(int(world.random.choice([1, 1, 2, 4])))]
    own = new_agent(world, plan, new_owner(world, plan)) if world.random.random() < 0.4 else None  # noqa: PLR2004
    for account in members:
        for victim in victims:
            if len(victims) == 1 or world.random.random() < plan.share:
                value = world.random.uniform(0, plan.blame)
                world.say(account, victim, value, moment(world, plan, account), attack=plan.attack.number)
        if own is not None:
            praise(world, plan, account, own)


def _clients(world: World, plan: Plan, members: list[Account]) -> None:
    """Let some servers of one hand rate the members well, or honest clients down."""
    lift = world.random.random() < 0.6  # noqa: PLR2004
    servers = [new_agent(world, plan, new_owner(world, plan)) for _ in range(max(2, plan.attack.size // 3))]
    clients = members if lift else some_people(world, int(world.random.integers(2, 8)))
    if not lift:
        servers = [new_agent(world, plan, account) for account in members]
    for account in clients:
        account.quality = float(world.random.uniform(5, 40)) if lift else account.quality
        for server in servers:
            if world.random.random() < plan.share:
                value = world.random.uniform(*plan.praise) if lift else world.random.uniform(0, plan.blame)
                world.rate_client(account, server, value, moment(world, plan, account), plan.attack.number)


def _validated(world: World, plan: Plan, members: list[Account]) -> None:
    """Let one validator pass the agents of the members, who may rate it well or pay for it."""
    owner = new_owner(world, plan)
    validator = world.agent(
        owner, owner.born + HOUR, 50.0, is_validator=True, role="beneficiary", attack=plan.attack.number
    )
    rates, pays = world.random.random() < 0.6, world.random.random() < 0.4  # noqa: PLR2004
    for account in members:
        agent, when = new_agent(world, plan, account), moment(world, plan, account)
        world.validate(validator, agent, world.random.uniform(*plan.praise), when, plan.attack.number)
        if rates:
            world.rate_validator(validator, agent, world.random.uniform(*plan.praise), when + DAY, plan.attack.number)
        if pays:
            world.transfer(account, owner, world.random.uniform(1, 3), when)


def _itself(world: World, plan: Plan, members: list[Account]) -> None:
    """Let owners of agents, new or honest until now, praise them by one or two accounts each."""
    old = world.random.random() < 0.5  # noqa: PLR2004
    for account in members:
        if old:
            agent = some_server(world, popular=False)
            agent.role, agent.attack = "beneficiary", plan.attack.number
        else:
            agent = new_agent(world, plan, new_owner(world, plan))
        praise(world, plan, account, agent)


def _punished(world: World, plan: Plan, members: list[Account]) -> None:
    """Let the members' servers, or some honest until now, rate down who criticised them, or rival servers' clients."""
    old = world.random.random() < 0.5  # noqa: PLR2004
    for account in members[: max(3, len(members) // 2)]:
        agent = some_server(world, popular=False) if old else new_agent(world, plan, account)
        agent.role, agent.attack = "retaliator", plan.attack.number
        for client in some_people(world, int(world.random.integers(3, 9))):
            when = world.time(max(agent.ts, client.born) + 600)
            world.say(client, agent, world.random.uniform(10, 50), when)
            later = when + world.random.exponential(plan.pause)
            world.rate_client(client, agent, world.random.uniform(0, plan.blame), later, plan.attack.number)


def _failed(world: World, plan: Plan, members: list[Account]) -> None:
    """Let validators of the members fail honest agents, or pass bad ones."""
    victims = [some_server(world, popular=plan.popular) for _ in range(int(world.random.integers(1, 5)))]
    for account in members[: max(3, len(members) // 3)]:
        born = account.born + HOUR
        validator = world.agent(account, born, 50.0, is_validator=True, role="beneficiary", attack=plan.attack.number)
        for victim in victims:
            if world.random.random() < plan.share:
                value = world.random.uniform(0, plan.blame)
                world.validate(validator, victim, value, moment(world, plan, account), plan.attack.number)


def _divided(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise several agents, each by a few members alone. Their owners may have money from one source."""
    draw, source = world.random, None
    if draw.random() < 0.5:  # noqa: PLR2004
        source = world.account(plan.at - DAY, role="mule", attack=plan.attack.number)
        world.fund(source, amount=80.0)
    agents = []
    for _ in range(max(2, len(members) // int(draw.integers(1, 4)))):
        owner = new_owner(world, plan) if source is None else _paid_owner(world, plan, source)
        agents.append(new_agent(world, plan, owner))
    praises = int(draw.integers(1, 3))
    for place, account in enumerate(members):
        for step in range(praises):
            praise(world, plan, account, agents[(place + step) % len(agents)])


def _paid_owner(world: World, plan: Plan, source: Account) -> Account:
    """Return a new owner whose money comes from a source through one account or two."""
    for _ in range(int(world.random.integers(0, 3))):
        middle = world.account(plan.at, role="mule", attack=plan.attack.number)
        world.fund(middle, source, 15.0)
        source = middle
    born = plan.at + world.random.uniform(0, max(plan.spread, DAY))
    owner = world.account(born, role="owner", attack=plan.attack.number)
    world.fund(owner, source, world.random.uniform(3, 12))
    return owner


def _anew(world: World, plan: Plan, members: list[Account]) -> None:
    """Let owners of agents that clients found bad register others, which two or three members praise."""
    draw = world.random
    for start in range(0, len(members), 3):
        owner = new_owner(world, plan)
        old = target(world, plan.attack, owner, owner.born + HOUR)
        for client in some_people(world, int(draw.integers(2, 7))):
            world.meet(client, old, world.time(max(old.ts, client.born)))
        new = new_agent(world, plan, owner)
        for account in members[start : start + 3]:
            praise(world, plan, account, new)


def _copied(world: World, plan: Plan, members: list[Account]) -> None:
    """Repeat opinions of honest raters, without any use, and praise one agent."""
    draw, feedback = world.random, [row for row in world.feedback if row[3] == "starred" and row[6] < 0]
    numbers = {agent.number: agent for agent in world.agents}
    agent = new_agent(world, plan, new_owner(world, plan))
    for account in members:
        for place in draw.choice(len(feedback), int(draw.integers(1, 6)), replace=False):
            row = feedback[place]
            when = max(row[4], account.born) + draw.exponential(plan.pause)
            world.say(account, numbers[row[1]], row[2] + draw.normal(0, 4), when, attack=plan.attack.number)
        if draw.random() < plan.share:
            praise(world, plan, account, agent)


def _extorted(world: World, plan: Plan, members: list[Account]) -> None:
    """Rate honest agents low, each its own or all the same, and higher if their owners pay."""
    draw = world.random
    same = [some_server(world, popular=plan.popular) for _ in range(3)] if draw.random() < 0.3 else []  # noqa: PLR2004
    pays = float(draw.choice([0, 0.3, 0.7]))
    for account in members:
        for _ in range(int(draw.integers(1, 5))):
            victim = same[draw.integers(3)] if same else some_server(world, popular=plan.popular)
            when = max(account.born, victim.ts) + draw.exponential(plan.pause)
            world.say(account, victim, draw.uniform(0, plan.blame), when, attack=plan.attack.number)
            if draw.random() < pays:
                world.transfer(victim.owner, account, draw.uniform(1, 6), when + DAY)
                world.say(account, victim, draw.uniform(75, 100), when + 2 * DAY, attack=plan.attack.number)


def _judged(world: World, plan: Plan, members: list[Account]) -> None:
    """Let validators that judge honest agents rightly pass bad agents of members, or fail honest ones."""
    draw, judges = world.random, []
    for _ in range(int(draw.integers(1, 4))):
        owner = new_owner(world, plan)
        judge = world.agent(
            owner, owner.born + HOUR, 50.0, is_validator=True, role="beneficiary", attack=plan.attack.number
        )
        for _ in range(int(draw.integers(2, 12))):
            agent = some_server(world, popular=False)
            world.validate(judge, agent, agent.quality + draw.normal(0, 5), world.time(max(judge.ts, agent.ts)))
        judges.append(judge)
    fails, rates = draw.random() < 0.3, float(draw.choice([0, 0.4, 0.8]))  # noqa: PLR2004
    for account in members:
        agent, judge, when = (
            new_agent(world, plan, account),
            judges[draw.integers(len(judges))],
            moment(world, plan, account),
        )
        world.validate(judge, agent, draw.uniform(*plan.praise), when, plan.attack.number)
        if draw.random() < rates:
            world.rate_validator(judge, agent, draw.uniform(*plan.praise), when + DAY, plan.attack.number)
    for judge in judges if fails else []:
        for _ in range(int(draw.integers(1, 4))):
            victim = some_server(world, popular=plan.popular)
            world.validate(
                judge, victim, draw.uniform(0, plan.blame), moment(world, plan, judge.owner), plan.attack.number
            )


def _lifted(world: World, plan: Plan, members: list[Account]) -> None:
    """Say the truth a little too well about agents of the members, which honest clients use, too."""
    draw = world.random
    agents = [new_agent(world, plan, account) for account in members[: max(2, len(members) // 2)]]
    lift = float(draw.uniform(10, 35))
    for agent in agents:
        agent.quality = float(draw.uniform(40, 75))
        for client in some_people(world, int(draw.integers(2, 8))):
            world.meet(client, agent, world.time(max(agent.ts, client.born)))
    for account in members:
        for place in draw.choice(len(agents), min(len(agents), int(draw.integers(1, 4))), replace=False):
            agent, when = agents[place], moment(world, plan, account)
            if agent.owner is not account:
                proof = world.pay(account, agent, draw.lognormal(-1, 1), when) if draw.random() < plan.share else None
                value = min(agent.quality + lift + draw.normal(0, 5), 100)
                world.say(account, agent, value, when + HOUR, proof=proof, attack=plan.attack.number)


STRUCTURES: Final[tuple[Callable[[World, Plan, list[Account]], None], ...]] = (
    *(_one, _one, _one, _one, _hired, _hired, _hired, _circle, _circle, _circle, _slander, _slander, _slander),
    *(_clients, _clients, _validated, _itself, _punished, _failed),
    *(_divided, _divided, _anew, _anew, _copied, _extorted, _judged, _judged, _lifted),
)
"""The structures, the usual ones several times. Each adds opinions of members to a world."""
