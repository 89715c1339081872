"""Attacks drawn at random from parts: sources of funds, times, structures, values, payments and cover.

Named families are few, and what is learned on them does not hold for others. These have no names. They train the
ranking by weak signs (`bench.trust.train`), and no figure is reported on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.trust.worlds.attacks import mastermind, target
from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.world import DAY, HOUR, START, Account, Agent, Attack, Settings, World

if TYPE_CHECKING:
    from collections.abc import Callable

FAMILY: Final = "drawn"
"""The family that drawn attacks are recorded under."""


@dataclass(frozen=True)
class _Plan:
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


def drawn(world: World, attack: Attack) -> None:
    """Add an attack whose parts are drawn. Three in ten do two things with the same accounts.

    Args:
        world: The world.
        attack: The attack.
    """
    draw, plan = world.random, _plan(world, attack)
    members = _bought(world, attack, plan) if draw.random() < 0.06 else _members(world, attack, plan)  # noqa: PLR2004
    for _ in range(1 + (draw.random() < 0.3)):  # noqa: PLR2004
        _STRUCTURES[draw.integers(len(_STRUCTURES))](world, attack, plan, members)
    for one in members:
        for _ in range(draw.poisson(plan.cover) if one.role != "bought" else 0):
            world.meet(one, _server(world, popular=plan.popular), world.time(max(one.born, plan.covered)))
    if plan.collected:
        sink = world.account(plan.at, role="mule", attack=attack.number)
        for one in members:
            world.transfer(one, sink, draw.uniform(0.5, 4), world.time(plan.at + plan.spread, world.end))


def _plan(world: World, attack: Attack) -> _Plan:
    draw = world.random
    at = world.time(START + 10 * DAY, world.end - 40 * DAY)
    low = draw.uniform(65, 95)
    sources = ("exchange", "exchange", "exchange", "one", "chain", "mules", "people", "nothing", "one exchange")
    payments = ("none", "none", "real", "some", "dust", "returned", "by mule", "claimed")
    purse = world.account(at, role="mule", attack=attack.number) if draw.random() < 0.1 else None  # noqa: PLR2004
    return _Plan(
        source=str(draw.choice(sources)),
        at=at,
        spread=float(np.exp(draw.uniform(np.log(HOUR), np.log(60 * DAY)))),
        pause=float(np.exp(draw.uniform(np.log(HOUR), np.log(30 * DAY)))),
        together=bool(draw.random() < 0.4),  # noqa: PLR2004
        praise=(low, float(draw.uniform(low + 3, 100))),
        blame=float(draw.uniform(5, 40)),
        payment=str(draw.choice(payments)),
        cover=float(draw.choice([0, 0, 1, 2, 4, 6, 10])),
        popular=bool(draw.random() < 0.4),  # noqa: PLR2004
        lured=float(draw.choice([0, 0, 2, 5])),
        answered=float(draw.choice([0, 0, 0, 0.3, 0.6])),
        repeated=int(draw.choice([1, 1, 1, 3])),
        share=float(draw.uniform(0.4, 1)),
        collected=bool(draw.random() < 0.15),  # noqa: PLR2004
        purse=purse,
        covered=at if draw.random() < 0.7 else world.time(at),  # noqa: PLR2004
    )


def _server(world: World, *, popular: bool) -> Agent:
    """Return an honest agent: any, or one by its popularity."""
    if not popular:
        return world.servers[world.random.integers(len(world.servers))]
    some = world.random.integers(len(world.servers), size=12)
    return world.servers[max(some, key=lambda place: world.servers[place].popularity * world.random.random())]


def _people(world: World, count: int) -> list[Account]:
    return [world.honest[place] for place in world.random.choice(len(world.honest), count, replace=False)]


def _bought(world: World, attack: Attack, plan: _Plan) -> list[Account]:
    """Return honest accounts that sell their opinions, some of them for money that shows."""
    out, pays = _people(world, attack.size), world.random.random() < 0.4  # noqa: PLR2004
    payer = _owner(world, attack, plan)
    for one in out:
        one.role, one.attack = "bought", attack.number
        if pays:
            world.transfer(payer, one, world.random.uniform(1, 4), world.time(max(plan.at, one.born)))
    return out


def _members(world: World, attack: Attack, plan: _Plan) -> list[Account]:
    """Return the new accounts of an attack, funded as planned."""
    draw, out = world.random, []
    source = mastermind(world, attack, plan.at) if plan.source in {"one", "chain", "mules"} else None
    exchange = world.exchanges[draw.integers(len(world.exchanges))]
    middle, width = draw.lognormal(1.5, 0.7), draw.choice([0.01, 0.2, 0.8])
    giver = source
    for place in range(attack.size):
        one = world.account(plan.at + draw.uniform(0, plan.spread), role="sybil", attack=attack.number)
        one.quality = 80.0 if draw.random() < 0.7 else float(draw.uniform(10, 60))  # noqa: PLR2004
        amount = middle * draw.lognormal(0, width)
        if plan.source == "exchange":
            world.fund(one, None)
        elif plan.source == "one exchange":
            world.transfer(exchange, one, amount, one.born)
        elif plan.source == "people":
            world.fund(one, _people(world, 1)[0], amount)
        elif plan.source == "mules" and place % 3 == 0:
            giver = world.account(plan.at, role="mule", attack=attack.number)
            world.fund(giver, source, 4 * amount)
        if giver is not None:
            world.fund(one, giver, amount)
        if plan.source == "chain":
            giver = one
        out.append(one)
    return out


def _owner(world: World, attack: Attack, plan: _Plan) -> Account:
    """Return a new owner of agents, funded by an exchange."""
    owner = world.account(plan.at + world.random.uniform(0, plan.spread), role="owner", attack=attack.number)
    world.fund(owner)
    return owner


def _agent(world: World, attack: Attack, plan: _Plan, owner: Account) -> Agent:
    agent = target(world, attack, owner, owner.born + world.random.exponential(2 * HOUR))
    agent.wallet = plan.purse or agent.wallet
    agent.quality = float(world.random.uniform(10, 65))
    for client in _people(world, world.random.poisson(plan.lured)):
        world.meet(client, agent, world.time(max(agent.ts, client.born)))
    return agent


def _when(world: World, plan: _Plan, member: Account) -> float:
    start = max(member.born, plan.at + plan.spread) if plan.together else max(member.born, plan.at)
    return float(start + world.random.exponential(plan.pause))


def _praise(world: World, attack: Attack, plan: _Plan, member: Account, agent: Agent) -> None:
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


def _one(world: World, attack: Attack, plan: _Plan, members: list[Account]) -> None:
    """Praise one agent, or a few of one owner."""
    owner = _owner(world, attack, plan)
    agents = [_agent(world, attack, plan, owner) for _ in range(int(world.random.choice([1, 1, 1, 3])))]
    for one in members:
        for agent in agents:
            if len(agents) == 1 or world.random.random() < plan.share:
                _praise(world, attack, plan, one, agent)


def _hired(world: World, attack: Attack, plan: _Plan, members: list[Account]) -> None:
    """Praise the agents of several strangers, who may pay for it."""
    paid = world.random.random() < 0.4  # noqa: PLR2004
    for _ in range(max(2, attack.size // 3)):
        owner = _owner(world, attack, plan)
        agent = _agent(world, attack, plan, owner)
        for one in members:
            if world.random.random() < plan.share:
                _praise(world, attack, plan, one, agent)
        if paid:
            one = members[0] if world.random.random() < 0.5 else members[world.random.integers(len(members))]  # noqa: PLR2004
            world.transfer(owner, one, world.random.uniform(1, 4), world.time(owner.born))


def _circle(world: World, attack: Attack, plan: _Plan, members: list[Account]) -> None:
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


def _slander(world: World, attack: Attack, plan: _Plan, members: list[Account]) -> None:
    """Slander some honest agents, perhaps to lift one's own."""
    victims = [_server(world, popular=plan.popular) for _ in range(int(world.random.choice([1, 1, 2, 4])))]
    own = _agent(world, attack, plan, _owner(world, attack, plan)) if world.random.random() < 0.4 else None  # noqa: PLR2004
    for one in members:
        for victim in victims:
            if len(victims) == 1 or world.random.random() < plan.share:
                value = world.random.uniform(0, plan.blame)
                world.say(one, victim, value, _when(world, plan, one), attack=attack.number)
        if own is not None:
            _praise(world, attack, plan, one, own)


def _clients(world: World, attack: Attack, plan: _Plan, members: list[Account]) -> None:
    """Let some servers of one hand rate the members well, or honest clients down."""
    lift = world.random.random() < 0.6  # noqa: PLR2004
    servers = [_agent(world, attack, plan, _owner(world, attack, plan)) for _ in range(max(2, attack.size // 3))]
    clients = members if lift else _people(world, int(world.random.integers(2, 8)))
    if not lift:
        servers = [_agent(world, attack, plan, one) for one in members]
    for one in clients:
        one.quality = float(world.random.uniform(5, 40)) if lift else one.quality
        for server in servers:
            if world.random.random() < plan.share:
                value = world.random.uniform(*plan.praise) if lift else world.random.uniform(0, plan.blame)
                world.rate_client(one, server, value, _when(world, plan, one), attack.number)


def _validated(world: World, attack: Attack, plan: _Plan, members: list[Account]) -> None:
    """Let one validator pass the agents of the members, who may rate it well or pay for it."""
    owner = _owner(world, attack, plan)
    validator = world.agent(owner, owner.born + HOUR, 50.0, is_validator=True, role="beneficiary", attack=attack.number)
    rates, pays = world.random.random() < 0.6, world.random.random() < 0.4  # noqa: PLR2004
    for one in members:
        agent, when = _agent(world, attack, plan, one), _when(world, plan, one)
        world.validate(validator, agent, world.random.uniform(*plan.praise), when, attack.number)
        if rates:
            world.rate_validator(validator, agent, world.random.uniform(*plan.praise), when + DAY, attack.number)
        if pays:
            world.transfer(one, owner, world.random.uniform(1, 3), when)


def _itself(world: World, attack: Attack, plan: _Plan, members: list[Account]) -> None:
    """Let owners of agents, new or honest until now, praise them by one or two accounts each."""
    old = world.random.random() < 0.5  # noqa: PLR2004
    for one in members:
        if old:
            agent = _server(world, popular=False)
            agent.role, agent.attack = "beneficiary", attack.number
        else:
            agent = _agent(world, attack, plan, _owner(world, attack, plan))
        _praise(world, attack, plan, one, agent)


def _punished(world: World, attack: Attack, plan: _Plan, members: list[Account]) -> None:
    """Let the members' servers, or some honest until now, rate down who criticised them, or rival servers' clients."""
    old = world.random.random() < 0.5  # noqa: PLR2004
    for one in members[: max(3, len(members) // 2)]:
        agent = _server(world, popular=False) if old else _agent(world, attack, plan, one)
        agent.role, agent.attack = "retaliator", attack.number
        for client in _people(world, int(world.random.integers(3, 9))):
            when = world.time(max(agent.ts, client.born) + 600)
            world.say(client, agent, world.random.uniform(10, 50), when)
            later = when + world.random.exponential(plan.pause)
            world.rate_client(client, agent, world.random.uniform(0, plan.blame), later, attack.number)


def _failed(world: World, attack: Attack, plan: _Plan, members: list[Account]) -> None:
    """Let validators of the members fail honest agents, or pass bad ones."""
    victims = [_server(world, popular=plan.popular) for _ in range(int(world.random.integers(1, 5)))]
    for one in members[: max(3, len(members) // 3)]:
        born = one.born + HOUR
        validator = world.agent(one, born, 50.0, is_validator=True, role="beneficiary", attack=attack.number)
        for victim in victims:
            if world.random.random() < plan.share:
                value = world.random.uniform(0, plan.blame)
                world.validate(validator, victim, value, _when(world, plan, one), attack.number)


_STRUCTURES: Final[tuple[Callable[[World, Attack, _Plan, list[Account]], None], ...]] = (
    *(_one, _one, _one, _one, _hired, _hired, _hired, _circle, _circle, _circle, _slander, _slander, _slander),
    *(_clients, _clients, _validated, _itself, _punished, _failed),
)


def drawn_world(seed: int) -> World:
    """Return a world with drawn habits and drawn attacks.

    Args:
        seed: The seed.
    """
    draw = np.random.default_rng(seed)
    world = honest_world(
        seed,
        Settings(
            days=int(draw.choice([180, 180, 240])),
            clients=int(draw.choice([1500, 3000, 3000, 4500])),
            owners=int(draw.choice([600, 1200, 1200])),
            paid=float(draw.choice([0.4, 0.6, 0.6, 0.75])),
            spoken=float(draw.choice([0.35, 0.45, 0.45, 0.6])),
            proven=float(draw.choice([0.3, 0.5, 0.5, 0.8])),
            answered=float(draw.choice([0.15, 0.3, 0.3, 0.5])),
            communities=int(draw.choice([4, 8, 8, 12])),
            validated=float(draw.choice([0.15, 0.25, 0.25, 0.4])),
        ),
    )
    for _ in range(int(draw.choice([18, 24, 30]))):
        drawn(world, world.begin(FAMILY, int(draw.choice([3, 4, 5, 6, 8, 10, 15, 20, 30]))))
    return world
