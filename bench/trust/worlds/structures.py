"""The structures of drawn attacks: who judges whom, and with which payments and cover.

None of them is a family of the figures, but some use the same tricks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.trust.worlds.attacks import target
from bench.trust.worlds.world import DAY, HOUR, Account, Agent, Attack, World

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Plan:
    """The parts of one attack.

    Attributes:
        source: The source of the members' funds.
        at: The time of the first birth.
        spread: The time in which members are born, in seconds.
        pause: The mean time from a birth, or from the end of the spread, to an opinion, in seconds.
        together: True if opinions wait until all members are born.
        praise: The lowest and highest value of praise.
        blame: The highest value of slander.
        payment: The use of payments.
        cover: The mean number of ordinary interactions of a member.
        popular: True if members cover themselves by popular agents, as honest clients mostly use them.
        lured: The mean number of honest clients that a praised agent lures.
        answered: The share of praise that the server answers with a rating of the client.
        repeated: The largest number of opinions about one subject by one member.
        share: The share of pairs of member and subject that are used.
        collected: True if members send money on to one account.
        purse: The wallet that all agents of the attack are paid into; None for a wallet each.
        covered: The time from which members cover themselves.
        owners: The mean number of ordinary interactions of an owner of praised agents.
        served: The mean number of honest clients whom an agent of the attack serves well before.
        turned: The share of agents of the attack that are good at first, and turn bad.
    """

    source: str
    at: float
    spread: float
    pause: float
    together: bool
    praise: tuple[float, float]
    blame: float
    payment: str
    cover: float
    popular: bool
    lured: float
    answered: float
    repeated: int
    share: float
    collected: bool
    purse: Account | None
    covered: float
    owners: float
    served: float
    turned: float


def some_server(world: World, *, popular: bool) -> Agent:
    """Return an honest agent: any, or one by its popularity.

    Args:
        world: The world.
        popular: True for one by its popularity.
    """
    if not popular:
        return world.servers[world.random.integers(len(world.servers))]
    some = world.random.integers(len(world.servers), size=12)
    return world.servers[max(some, key=lambda place: world.servers[place].popularity * world.random.random())]


def some_people(world: World, count: int) -> list[Account]:
    """Return some honest accounts.

    Args:
        world: The world.
        count: Their number.
    """
    return [world.honest[place] for place in world.random.choice(len(world.honest), count, replace=False)]


def new_owner(world: World, attack: Attack, plan: Plan) -> Account:
    """Return a new owner of agents, funded by an exchange, who may use honest agents as well.

    Args:
        world: The world.
        attack: The attack.
        plan: Its parts.
    """
    owner = world.account(plan.at + world.random.uniform(0, plan.spread), role="owner", attack=attack.number)
    world.fund(owner)
    for _ in range(world.random.poisson(plan.owners)):
        world.meet(owner, some_server(world, popular=plan.popular), world.time(owner.born))
    return owner


def _agent(world: World, attack: Attack, plan: Plan, owner: Account) -> Agent:
    agent = target(world, attack, owner, owner.born + world.random.exponential(2 * HOUR))
    agent.wallet = plan.purse or agent.wallet
    agent.quality = float(world.random.uniform(10, 65))
    lured = world.random.poisson(plan.lured)
    if world.random.random() < plan.turned:
        later = world.time(min(agent.ts + 10 * DAY, world.end - DAY))
        agent.turns, agent.quality = (later, agent.quality), float(world.random.uniform(70, 95))
        lured += world.random.poisson(5)
    for client in some_people(world, lured):
        world.meet(client, agent, world.time(max(agent.ts, client.born)))
    for client in some_people(world, world.random.poisson(plan.served)):
        value = world.random.normal(88, 8)
        world.meet(client, agent, world.time(max(agent.ts, client.born)), value)
    return agent


def _when(world: World, plan: Plan, member: Account) -> float:
    start = max(member.born, plan.at + plan.spread) if plan.together else max(member.born, plan.at)
    return float(start + world.random.exponential(plan.pause))


def _praise(world: World, attack: Attack, plan: Plan, member: Account, agent: Agent) -> None:
    """Let a member praise an agent, with the payments of the plan."""
    for _ in range(int(world.random.integers(1, plan.repeated + 1))):
        when, proof = _when(world, plan, member), None
        amount = world.random.lognormal(-1, 1)
        if plan.payment in {"real", "returned", "by mule"} or (plan.payment == "some" and world.random.random() < 0.5):  # noqa: PLR2004
            proof = world.pay(member, agent, amount, when)
        elif plan.payment == "dust":
            proof = world.pay(member, agent, 1e-4, when)
        elif plan.payment == "claimed":
            proof = f"0x{world.random.integers(2**62):064x}"
        if plan.payment == "returned":
            world.transfer(agent.owner, member, amount * 0.98, when + world.random.uniform(HOUR, 5 * DAY))
        elif plan.payment == "by mule":
            mule = world.account(when, role="mule", attack=attack.number)
            world.transfer(agent.owner, mule, amount * 0.98, when + DAY)
            world.transfer(mule, member, amount * 0.95, when + 2 * DAY)
        proof = proof if world.random.random() < 0.7 else None  # noqa: PLR2004
        value = world.random.uniform(*plan.praise)
        world.say(member, agent, value, when + HOUR, proof=proof, attack=attack.number)
        if world.random.random() < plan.answered:
            world.rate_client(member, agent, world.random.uniform(80, 100), when + 2 * HOUR, attack.number)


def _one(world: World, attack: Attack, plan: Plan, members: list[Account]) -> None:
    """Praise one agent, or a few of one owner."""
    owner = new_owner(world, attack, plan)
    agents = [_agent(world, attack, plan, owner) for _ in range(int(world.random.choice([1, 1, 1, 3])))]
    for one in members:
        for agent in agents:
            if len(agents) == 1 or world.random.random() < plan.share:
                _praise(world, attack, plan, one, agent)


def _hired(world: World, attack: Attack, plan: Plan, members: list[Account]) -> None:
    """Praise the agents of several strangers, who may pay for it."""
    paid = world.random.random() < 0.4  # noqa: PLR2004
    for _ in range(max(2, attack.size // 3)):
        owner = new_owner(world, attack, plan)
        agent = _agent(world, attack, plan, owner)
        for one in members:
            if world.random.random() < plan.share:
                _praise(world, attack, plan, one, agent)
        if paid:
            one = members[0] if world.random.random() < 0.5 else members[world.random.integers(len(members))]  # noqa: PLR2004
            world.transfer(owner, one, world.random.uniform(1, 4), world.time(owner.born))


def _circle(world: World, attack: Attack, plan: Plan, members: list[Account]) -> None:
    """Praise the agents of each other: all, a few, or the next ones in a cycle."""
    agents = [_agent(world, attack, plan, one) for one in members]
    size, way = len(members), world.random.integers(3)
    for place, one in enumerate(members):
        others = np.setdiff1d(np.arange(size), [place])
        if way == 0:
            chosen = others[world.random.random(len(others)) < plan.share]
        elif way == 1:
            chosen = world.random.choice(others, min(int(world.random.integers(1, 4)), len(others)), replace=False)
        else:
            chosen = (place + np.arange(1, world.random.integers(2, 4))) % size
        for other in chosen:
            if other != place:
                _praise(world, attack, plan, one, agents[other])


def _slander(world: World, attack: Attack, plan: Plan, members: list[Account]) -> None:
    """Slander some honest agents, perhaps to lift one's own."""
    victims = [some_server(world, popular=plan.popular) for _ in range(int(world.random.choice([1, 1, 2, 4])))]
    own = _agent(world, attack, plan, new_owner(world, attack, plan)) if world.random.random() < 0.4 else None  # noqa: PLR2004
    for one in members:
        for victim in victims:
            if len(victims) == 1 or world.random.random() < plan.share:
                value = world.random.uniform(0, plan.blame)
                world.say(one, victim, value, _when(world, plan, one), attack=attack.number)
        if own is not None:
            _praise(world, attack, plan, one, own)


def _clients(world: World, attack: Attack, plan: Plan, members: list[Account]) -> None:
    """Let some servers of one hand rate the members well, or honest clients down."""
    lift = world.random.random() < 0.6  # noqa: PLR2004
    servers = [_agent(world, attack, plan, new_owner(world, attack, plan)) for _ in range(max(2, attack.size // 3))]
    clients = members if lift else some_people(world, int(world.random.integers(2, 8)))
    if not lift:
        servers = [_agent(world, attack, plan, one) for one in members]
    for one in clients:
        one.quality = float(world.random.uniform(5, 40)) if lift else one.quality
        for server in servers:
            if world.random.random() < plan.share:
                value = world.random.uniform(*plan.praise) if lift else world.random.uniform(0, plan.blame)
                world.rate_client(one, server, value, _when(world, plan, one), attack.number)


def _validated(world: World, attack: Attack, plan: Plan, members: list[Account]) -> None:
    """Let one validator pass the agents of the members, who may rate it well or pay for it."""
    owner = new_owner(world, attack, plan)
    validator = world.agent(owner, owner.born + HOUR, 50.0, is_validator=True, role="beneficiary", attack=attack.number)
    rates, pays = world.random.random() < 0.6, world.random.random() < 0.4  # noqa: PLR2004
    for one in members:
        agent, when = _agent(world, attack, plan, one), _when(world, plan, one)
        world.validate(validator, agent, world.random.uniform(*plan.praise), when, attack.number)
        if rates:
            world.rate_validator(validator, agent, world.random.uniform(*plan.praise), when + DAY, attack.number)
        if pays:
            world.transfer(one, owner, world.random.uniform(1, 3), when)


def _itself(world: World, attack: Attack, plan: Plan, members: list[Account]) -> None:
    """Let owners of agents, new or honest until now, praise them by one or two accounts each."""
    old = world.random.random() < 0.5  # noqa: PLR2004
    for one in members:
        if old:
            agent = some_server(world, popular=False)
            agent.role, agent.attack = "beneficiary", attack.number
        else:
            agent = _agent(world, attack, plan, new_owner(world, attack, plan))
        _praise(world, attack, plan, one, agent)


def _punished(world: World, attack: Attack, plan: Plan, members: list[Account]) -> None:
    """Let the members' servers, or some honest until now, rate down who criticised them, or rival servers' clients."""
    old = world.random.random() < 0.5  # noqa: PLR2004
    for one in members[: max(3, len(members) // 2)]:
        agent = some_server(world, popular=False) if old else _agent(world, attack, plan, one)
        agent.role, agent.attack = "retaliator", attack.number
        for client in some_people(world, int(world.random.integers(3, 9))):
            when = world.time(max(agent.ts, client.born) + 600)
            world.say(client, agent, world.random.uniform(10, 50), when)
            later = when + world.random.exponential(plan.pause)
            world.rate_client(client, agent, world.random.uniform(0, plan.blame), later, attack.number)


def _failed(world: World, attack: Attack, plan: Plan, members: list[Account]) -> None:
    """Let validators of the members fail honest agents, or pass bad ones."""
    victims = [some_server(world, popular=plan.popular) for _ in range(int(world.random.integers(1, 5)))]
    for one in members[: max(3, len(members) // 3)]:
        born = one.born + HOUR
        validator = world.agent(one, born, 50.0, is_validator=True, role="beneficiary", attack=attack.number)
        for victim in victims:
            if world.random.random() < plan.share:
                value = world.random.uniform(0, plan.blame)
                world.validate(validator, victim, value, _when(world, plan, one), attack.number)


def _divided(world: World, attack: Attack, plan: Plan, members: list[Account]) -> None:
    """Praise several agents, each by a few members alone. Their owners may have money from one source."""
    draw, source = world.random, None
    if draw.random() < 0.5:  # noqa: PLR2004
        source = world.account(plan.at - DAY, role="mule", attack=attack.number)
        world.fund(source, amount=80.0)
    agents = []
    for _ in range(max(2, len(members) // int(draw.integers(1, 4)))):
        owner = new_owner(world, attack, plan) if source is None else _paid_owner(world, attack, plan, source)
        agents.append(_agent(world, attack, plan, owner))
    each = int(draw.integers(1, 3))
    for place, one in enumerate(members):
        for step in range(each):
            _praise(world, attack, plan, one, agents[(place + step) % len(agents)])


def _paid_owner(world: World, attack: Attack, plan: Plan, source: Account) -> Account:
    """Return a new owner whose money comes from a source through one account or two."""
    for _ in range(int(world.random.integers(0, 3))):
        middle = world.account(plan.at, role="mule", attack=attack.number)
        world.fund(middle, source, 15.0)
        source = middle
    born = plan.at + world.random.uniform(0, max(plan.spread, DAY))
    owner = world.account(born, role="owner", attack=attack.number)
    world.fund(owner, source, world.random.uniform(3, 12))
    return owner


def _anew(world: World, attack: Attack, plan: Plan, members: list[Account]) -> None:
    """Let owners of agents that clients found bad register others, which two or three members praise."""
    draw = world.random
    for start in range(0, len(members), 3):
        owner = new_owner(world, attack, plan)
        old = target(world, attack, owner, owner.born + HOUR)
        for client in some_people(world, int(draw.integers(2, 7))):
            world.meet(client, old, world.time(max(old.ts, client.born)))
        new = _agent(world, attack, plan, owner)
        for one in members[start : start + 3]:
            _praise(world, attack, plan, one, new)


def _copied(world: World, attack: Attack, plan: Plan, members: list[Account]) -> None:
    """Repeat opinions of honest raters, without any use, and praise one agent."""
    draw, said = world.random, [row for row in world.feedback if row[3] == "starred" and row[6] < 0]
    numbers = {one.number: one for one in world.agents}
    agent = _agent(world, attack, plan, new_owner(world, attack, plan))
    for one in members:
        for place in draw.choice(len(said), int(draw.integers(1, 6)), replace=False):
            row = said[place]
            when = max(row[4], one.born) + draw.exponential(plan.pause)
            world.say(one, numbers[row[1]], row[2] + draw.normal(0, 4), when, attack=attack.number)
        if draw.random() < plan.share:
            _praise(world, attack, plan, one, agent)


def _extorted(world: World, attack: Attack, plan: Plan, members: list[Account]) -> None:
    """Rate honest agents low, each its own or all the same, and higher if their owners pay."""
    draw = world.random
    same = [some_server(world, popular=plan.popular) for _ in range(3)] if draw.random() < 0.3 else []  # noqa: PLR2004
    pays = float(draw.choice([0, 0.3, 0.7]))
    for one in members:
        for _ in range(int(draw.integers(1, 5))):
            victim = same[draw.integers(3)] if same else some_server(world, popular=plan.popular)
            when = max(one.born, victim.ts) + draw.exponential(plan.pause)
            world.say(one, victim, draw.uniform(0, plan.blame), when, attack=attack.number)
            if draw.random() < pays:
                world.transfer(victim.owner, one, draw.uniform(1, 6), when + DAY)
                world.say(one, victim, draw.uniform(75, 100), when + 2 * DAY, attack=attack.number)


def _judged(world: World, attack: Attack, plan: Plan, members: list[Account]) -> None:
    """Let validators that judge honest agents rightly pass bad agents of members, or fail honest ones."""
    draw, judges = world.random, []
    for _ in range(int(draw.integers(1, 4))):
        owner = new_owner(world, attack, plan)
        judge = world.agent(owner, owner.born + HOUR, 50.0, is_validator=True, role="beneficiary", attack=attack.number)
        for _ in range(int(draw.integers(2, 12))):
            agent = some_server(world, popular=False)
            world.validate(judge, agent, agent.quality + draw.normal(0, 5), world.time(max(judge.ts, agent.ts)))
        judges.append(judge)
    fails, rates = draw.random() < 0.3, float(draw.choice([0, 0.4, 0.8]))  # noqa: PLR2004
    for one in members:
        agent, judge, when = (
            _agent(world, attack, plan, one),
            judges[draw.integers(len(judges))],
            _when(world, plan, one),
        )
        world.validate(judge, agent, draw.uniform(*plan.praise), when, attack.number)
        if draw.random() < rates:
            world.rate_validator(judge, agent, draw.uniform(*plan.praise), when + DAY, attack.number)
    for judge in judges if fails else []:
        for _ in range(int(draw.integers(1, 4))):
            victim = some_server(world, popular=plan.popular)
            world.validate(judge, victim, draw.uniform(0, plan.blame), _when(world, plan, judge.owner), attack.number)


def _lifted(world: World, attack: Attack, plan: Plan, members: list[Account]) -> None:
    """Say the truth a little too well about agents of the members, which honest clients use, too."""
    draw = world.random
    agents = [_agent(world, attack, plan, one) for one in members[: max(2, len(members) // 2)]]
    lift = float(draw.uniform(10, 35))
    for agent in agents:
        agent.quality = float(draw.uniform(40, 75))
        for client in some_people(world, int(draw.integers(2, 8))):
            world.meet(client, agent, world.time(max(agent.ts, client.born)))
    for one in members:
        for place in draw.choice(len(agents), min(len(agents), int(draw.integers(1, 4))), replace=False):
            agent, when = agents[place], _when(world, plan, one)
            if agent.owner is not one:
                proof = world.pay(one, agent, draw.lognormal(-1, 1), when) if draw.random() < plan.share else None
                value = min(agent.quality + lift + draw.normal(0, 5), 100)
                world.say(one, agent, value, when + HOUR, proof=proof, attack=attack.number)


STRUCTURES: Final[tuple[Callable[[World, Attack, Plan, list[Account]], None], ...]] = (
    *(_one, _one, _one, _one, _hired, _hired, _hired, _circle, _circle, _circle, _slander, _slander, _slander),
    *(_clients, _clients, _validated, _itself, _punished, _failed),
    *(_divided, _divided, _anew, _anew, _copied, _extorted, _judged, _judged, _lifted),
)
"""The structures, the usual ones several times. Each adds opinions of members to a world."""
