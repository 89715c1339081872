"""The parts of drawn attacks: their plan, owners, agents, times, payments and praise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bench.trust.worlds.attacks import target
from bench.trust.worlds.world import DAY, HOUR, Account, Agent, Attack, World

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Plan:
    """The parts of one attack.

    Attributes:
        attack: The attack.
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
        tag: The tag of praise.
        funders: The accounts of the attacker that funds come from.
        known: The share of owners of praised agents who are among these.
        pool: The account that owners send their income to, and that pays the members; None for none.
    """

    attack: Attack
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
    tag: str
    funders: tuple[Account, ...]
    known: float
    pool: Account | None


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


def new_owner(world: World, plan: Plan) -> Account:
    """Return an owner of agents: who funds members, or a new one of an exchange, who may use honest agents as well.

    Args:
        world: The world.
        plan: The parts of the attack.
    """
    if plan.funders and world.random.random() < plan.known:
        return plan.funders[world.random.integers(len(plan.funders))]
    owner = world.account(plan.at + world.random.uniform(0, plan.spread), role="owner", attack=plan.attack.number)
    world.fund(owner)
    for _ in range(world.random.poisson(plan.owners)):
        world.meet(owner, some_server(world, popular=plan.popular), world.time(owner.born))
    return owner


def new_agent(world: World, plan: Plan, owner: Account) -> Agent:
    """Return a new bad agent that an attack praises, perhaps with honest clients who were lured or served well.

    Args:
        world: The world.
        plan: The parts of the attack.
        owner: The owner.
    """
    agent = target(world, plan.attack, owner, owner.born + world.random.exponential(2 * HOUR))
    agent.wallet = plan.purse or agent.wallet
    agent.quality = float(world.random.uniform(10, 65))
    lured = world.random.poisson(plan.lured)
    if world.random.random() < plan.turned:
        later = world.time(min(agent.ts + 10 * DAY, world.end - DAY))
        agent.turns, agent.quality = (later, agent.quality), float(world.random.uniform(70, 95))
        lured += world.random.poisson(5)
    visited(world, agent, lured)
    for client in some_people(world, world.random.poisson(plan.served)):
        value = world.random.normal(88, 8)
        world.meet(client, agent, world.time(max(agent.ts, client.born)), value)
    return agent


def visited(world: World, agent: Agent, count: int, start: float = 0.0, stop: float | None = None) -> None:
    """Let honest clients use an agent, and say what they found.

    Args:
        world: The world.
        agent: The agent.
        count: The number of clients.
        start: The earliest time.
        stop: The latest time; the world's end if None.
    """
    for client in some_people(world, count):
        world.meet(client, agent, world.time(max(agent.ts, client.born, start), stop))


def moment(world: World, plan: Plan, member: Account) -> float:
    """Return the time of an opinion of a member.

    Args:
        world: The world.
        plan: The parts of the attack.
        member: The member.
    """
    start = max(member.born, plan.at + plan.spread) if plan.together else max(member.born, plan.at)
    return float(start + world.random.exponential(plan.pause))


def praise(world: World, plan: Plan, member: Account, agent: Agent, *, at: float | None = None) -> None:
    """Let a member praise an agent, with the payments of the plan.

    Args:
        world: The world.
        plan: The parts of the attack.
        member: The member.
        agent: The agent.
        at: The time; by the plan if None.
    """
    for _ in range(int(world.random.integers(1, plan.repeated + 1))):
        when = moment(world, plan, member) if at is None else at
        proof = _payment(world, plan, member, agent, when)
        proof = proof if world.random.random() < 0.7 else None  # noqa: PLR2004
        value = world.random.uniform(*plan.praise)
        world.say(member, agent, value, when + HOUR, proof=proof, attack=plan.attack.number, tag=plan.tag)
        if world.random.random() < plan.answered:
            world.rate_client(member, agent, world.random.uniform(80, 100), when + 2 * HOUR, plan.attack.number)


def _payment(world: World, plan: Plan, member: Account, agent: Agent, when: float) -> str | None:
    """Let a member pay an agent as planned, and the money return. Return the proof, if there is one."""
    draw, way = world.random, plan.payment
    amount = draw.lognormal(-1, 1)
    if way == "none" or (way == "some" and draw.random() < 0.5):  # noqa: PLR2004
        return None
    if way == "claimed":
        return f"0x{draw.integers(2**62):064x}"
    proof = world.pay(member, agent, 1e-4 if way == "dust" else amount, when)
    if way == "returned":
        world.transfer(agent.owner, member, amount * 0.98, when + draw.uniform(HOUR, 5 * DAY))
    elif way == "by mule":
        mule = world.account(when, role="mule", attack=plan.attack.number)
        world.transfer(agent.owner, mule, amount * 0.98, when + DAY)
        world.transfer(mule, member, amount * 0.95, when + 2 * DAY)
    elif way == "in part":
        world.transfer(agent.owner, member, amount * draw.uniform(0.3, 0.8), when + draw.uniform(HOUR, 10 * DAY))
    elif way == "late":
        world.transfer(agent.owner, member, amount * 0.95, when + draw.uniform(25, 50) * DAY)
    elif way == "pooled" and plan.pool is not None:
        world.transfer(agent.owner, plan.pool, amount * 0.98, when + draw.uniform(HOUR, 5 * DAY))
        world.transfer(plan.pool, member, amount * draw.uniform(0.5, 1.5), when - draw.uniform(HOUR, 5 * DAY))
    return proof


def usual_servers(world: World, account: Account, mean: float) -> Iterator[Agent]:
    """Yield agents that an account may use as honest clients do: mostly of its community, the popular ones most.

    Args:
        world: The world.
        account: The account.
        mean: The mean number of agents.
    """
    popularity = np.array([agent.popularity for agent in world.servers])
    near = popularity * np.array([agent.community == account.community for agent in world.servers])
    for _ in range(world.random.poisson(mean)):
        weight = near if world.happens(0.7) else popularity
        yield world.servers[world.random.choice(len(weight), p=weight / weight.sum())]
