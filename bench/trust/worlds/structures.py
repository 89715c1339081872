"""The structures of drawn attacks: who judges whom, with which payments and cover, by one plan.

None of them is a family of the figures, but some use the same tricks. Money goes round, opinions are passed on, and
truth is mixed with lies.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from bench.trust.worlds.world import DAY, HOUR, START, Account, Agent, Attack, World


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
        unused: True if members cover themselves by opinions alone, which cost less than use.
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
    unused: bool
    owners: float
    served: float
    turned: float
    tag: str
    funders: tuple[Account, ...]
    known: float
    pool: Account | None

    @property
    def number(self) -> int:
        """The number of the attack."""
        return self.attack.number


def new_owner(world: World, plan: Plan) -> Account:
    """Return an owner of agents: who funds members, or a new one of an exchange, who may use honest agents as well.

    Args:
        world: The world.
        plan: The parts of the attack.
    """
    if plan.funders and world.happens(plan.known):
        return world.one_of(plan.funders)
    owner = world.funded(plan.at + world.random.uniform(0, plan.spread), role="owner", attack=plan.number)
    for _ in range(world.random.poisson(plan.owners)):
        world.meet(owner, world.server(popular=plan.popular), world.time(owner.born))
    return owner


def new_agent(world: World, plan: Plan, owner: Account) -> Agent:
    """Return a new bad agent that an attack praises, perhaps with honest clients who were lured or served well.

    Args:
        world: The world.
        plan: The parts of the attack.
        owner: The owner.
    """
    agent = world.target(plan.attack, owner, owner.born + world.random.exponential(2 * HOUR))
    agent.wallet = plan.purse or agent.wallet
    agent.quality = float(world.random.uniform(10, 65))
    lured = world.random.poisson(plan.lured)
    if world.happens(plan.turned):
        later = world.time(min(agent.ts + 10 * DAY, world.end - DAY))
        agent.turns, agent.quality = (later, agent.quality), float(world.random.uniform(70, 95))
        lured += world.random.poisson(5)
    world.visited(agent, lured)
    for client in world.some_of(world.honest, world.random.poisson(plan.served)):
        value = world.random.normal(88, 8)
        world.meet(client, agent, world.time(max(agent.ts, client.born)), value)
    return agent


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
        proof = proof if world.happens(0.7) else None
        value = world.random.uniform(*plan.praise)
        world.say(member, agent, value, when + HOUR, proof=proof, attack=plan.number, tag=plan.tag)
        if world.happens(plan.answered):
            world.rate_client(member, agent, world.random.uniform(80, 100), when + 2 * HOUR, plan.number)


def _payment(world: World, plan: Plan, member: Account, agent: Agent, when: float) -> str | None:
    """Let a member pay an agent as planned, and the money return. Return the proof, if there is one."""
    draw, way = world.random, plan.payment
    amount = draw.lognormal(-1, 1)
    if way == "none" or (way == "some" and world.happens(0.5)):
        return None
    if way == "claimed":
        return f"0x{draw.integers(2**62):064x}"
    proof = world.pay(member, agent, 1e-4 if way == "dust" else amount, when)
    if way == "returned":
        world.transfer(agent.owner, member, amount * 0.98, when + draw.uniform(HOUR, 5 * DAY))
    elif way == "by mule":
        mule = world.mule(plan.attack, when)
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


def _one(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise one agent, or a few of one owner."""
    owner = new_owner(world, plan)
    agents = [new_agent(world, plan, owner) for _ in range(int(world.random.choice([1, 1, 1, 3])))]
    for account in members:
        for agent in agents:
            if len(agents) == 1 or world.happens(plan.share):
                praise(world, plan, account, agent)


def _hired(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise the agents of several strangers, who may pay for it."""
    paid = world.happens(0.4)
    for _ in range(max(2, plan.attack.size // 3)):
        agent = new_agent(world, plan, new_owner(world, plan))
        for account in world.part(members, plan.share):
            praise(world, plan, account, agent)
        if paid:
            account = members[0] if world.happens(0.5) else world.one_of(members)
            world.transfer(agent.owner, account, world.random.uniform(1, 4), world.time(agent.owner.born))


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
    """Slander some honest agents, perhaps to lift one's own, and perhaps as buyers of theirs."""
    victims = [world.server(popular=plan.popular) for _ in range(int(world.random.choice([1, 1, 2, 4])))]
    buys = float(world.random.choice([0, 0, 0.5, 1]))
    own = new_agent(world, plan, new_owner(world, plan)) if world.happens(0.4) else None
    for account in members:
        for victim in victims:
            if len(victims) == 1 or world.happens(plan.share):
                value, at = world.random.uniform(0, plan.blame), max(moment(world, plan, account), victim.ts)
                if world.happens(buys):
                    world.pay(account, victim, world.random.lognormal(-1, 1), at)
                world.say(account, victim, value, at + HOUR, attack=plan.number)
        if own is not None:
            praise(world, plan, account, own)


def _clients(world: World, plan: Plan, members: list[Account]) -> None:
    """Let some servers of one hand rate the members well, or honest clients down."""
    lift = world.happens(0.6)
    servers = [new_agent(world, plan, new_owner(world, plan)) for _ in range(max(2, plan.attack.size // 3))]
    clients = members if lift else world.some_of(world.honest, int(world.random.integers(2, 8)))
    if not lift:
        servers = [new_agent(world, plan, account) for account in members]
    for account in clients:
        account.quality = float(world.random.uniform(5, 40)) if lift else account.quality
        for server in world.part(servers, plan.share):
            value = world.random.uniform(*plan.praise) if lift else world.random.uniform(0, plan.blame)
            world.rate_client(account, server, value, moment(world, plan, account), plan.number)


def _validated(world: World, plan: Plan, members: list[Account]) -> None:
    """Let one validator pass the agents of the members, who may rate it well or pay for it."""
    owner = new_owner(world, plan)
    validator = world.validator(plan.attack, owner, owner.born + HOUR)
    rates, pays = world.happens(0.6), world.happens(0.4)
    for account in members:
        agent, when = new_agent(world, plan, account), moment(world, plan, account)
        world.validate(validator, agent, world.random.uniform(*plan.praise), when, plan.number)
        if rates:
            world.rate_validator(validator, agent, world.random.uniform(*plan.praise), when + DAY, plan.number)
        if pays:
            world.transfer(account, owner, world.random.uniform(1, 3), when)


def _new_or_old(world: World, plan: Plan, *, old: bool) -> Agent:
    """Return a new bad agent of a new owner, or one that was honest until now."""
    if not old:
        return new_agent(world, plan, new_owner(world, plan))
    agent = world.server(popular=False)
    agent.role, agent.attack = "beneficiary", plan.number
    return agent


def _itself(world: World, plan: Plan, members: list[Account]) -> None:
    """Let owners of agents, new or honest until now, praise them by one or two accounts each."""
    old = world.happens(0.5)
    for account in members:
        praise(world, plan, account, _new_or_old(world, plan, old=old))


def _punished(world: World, plan: Plan, members: list[Account]) -> None:
    """Let the members' servers, or some honest until now, rate down who criticised them, or rival servers' clients."""
    old = world.happens(0.5)
    for account in members[: max(3, len(members) // 2)]:
        agent = world.server(popular=False) if old else new_agent(world, plan, account)
        agent.role, agent.attack = "retaliator", plan.number
        for client in world.some_of(world.honest, int(world.random.integers(3, 9))):
            when = world.time(max(agent.ts, client.born) + 600)
            world.say(client, agent, world.random.uniform(10, 50), when)
            later = when + world.random.exponential(plan.pause)
            world.rate_client(client, agent, world.random.uniform(0, plan.blame), later, plan.number)


def _failed(world: World, plan: Plan, members: list[Account]) -> None:
    """Let validators of the members fail honest agents, or pass bad ones."""
    victims = [world.server(popular=plan.popular) for _ in range(int(world.random.integers(1, 5)))]
    for account in members[: max(3, len(members) // 3)]:
        validator = world.validator(plan.attack, account, account.born + HOUR)
        for victim in world.part(victims, plan.share):
            value = world.random.uniform(0, plan.blame)
            world.validate(validator, victim, value, moment(world, plan, account), plan.number)


def _divided(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise several agents, each by a few members alone. Their owners may have money from one source."""
    draw, source = world.random, None
    if world.happens(0.5):
        source = world.funded(plan.at - DAY, role="mule", attack=plan.number, amount=80.0)
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
        source = world.funded(plan.at, source, 15.0, role="mule", attack=plan.number)
    born = plan.at + world.random.uniform(0, max(plan.spread, DAY))
    return world.funded(born, source, world.random.uniform(3, 12), role="owner", attack=plan.number)


def _anew(world: World, plan: Plan, members: list[Account]) -> None:
    """Let owners of agents that clients found bad register others, which two or three members praise."""
    for start in range(0, len(members), 3):
        owner = new_owner(world, plan)
        old = world.target(plan.attack, owner, owner.born + HOUR)
        world.visited(old, int(world.random.integers(2, 7)))
        new = new_agent(world, plan, owner)
        for account in members[start : start + 3]:
            praise(world, plan, account, new)


def _copied(world: World, plan: Plan, members: list[Account]) -> None:
    """Repeat opinions of honest raters, without any use, and praise one agent."""
    draw, feedback = world.random, [row for row in world.feedback if row[3] == "starred" and row[6] < 0]
    numbers = {agent.number: agent for agent in world.agents}
    agent = new_agent(world, plan, new_owner(world, plan))
    for account in members:
        for row in world.some_of(feedback, int(draw.integers(1, 6))):
            when = max(row[4], account.born) + draw.exponential(plan.pause)
            world.say(account, numbers[row[1]], row[2] + draw.normal(0, 4), when, attack=plan.number)
        if world.happens(plan.share):
            praise(world, plan, account, agent)


def _extorted(world: World, plan: Plan, members: list[Account]) -> None:
    """Rate honest agents low, each its own or all the same, and higher if their owners pay."""
    same = [world.server(popular=plan.popular) for _ in range(3)] if world.happens(0.3) else []
    pays = float(world.random.choice([0, 0.3, 0.7]))
    for account in members:
        for _ in range(int(world.random.integers(1, 5))):
            victim = same[world.random.integers(3)] if same else world.server(popular=plan.popular)
            when = max(account.born, victim.ts) + world.random.exponential(plan.pause)
            world.say(account, victim, world.random.uniform(0, plan.blame), when, attack=plan.number)
            if world.happens(pays):
                world.transfer(victim.owner, account, world.random.uniform(1, 6), when + DAY)
                world.say(account, victim, world.random.uniform(75, 100), when + 2 * DAY, attack=plan.number)


def _judged(world: World, plan: Plan, members: list[Account]) -> None:
    """Let validators that judge honest agents rightly pass bad agents of members, or fail honest ones."""
    draw, judges = world.random, []
    for _ in range(int(draw.integers(1, 4))):
        owner = new_owner(world, plan)
        judge = world.validator(plan.attack, owner, owner.born + HOUR)
        for _ in range(int(draw.integers(2, 12))):
            world.judge(judge, world.server(popular=False))
        judges.append(judge)
    fails, rates = world.happens(0.3), float(draw.choice([0, 0.4, 0.8]))
    for account in members:
        agent, judge, when = (new_agent(world, plan, account), world.one_of(judges), moment(world, plan, account))
        world.validate(judge, agent, draw.uniform(*plan.praise), when, plan.number)
        if world.happens(rates):
            world.rate_validator(judge, agent, draw.uniform(*plan.praise), when + DAY, plan.number)
    for judge in judges if fails else []:
        for _ in range(int(draw.integers(1, 4))):
            victim = world.server(popular=plan.popular)
            world.validate(judge, victim, draw.uniform(0, plan.blame), moment(world, plan, judge.owner), plan.number)


def _lifted(world: World, plan: Plan, members: list[Account]) -> None:
    """Say the truth a little too well about agents of the members, which honest clients use, too."""
    draw = world.random
    agents = [new_agent(world, plan, account) for account in members[: max(2, len(members) // 2)]]
    lift = float(draw.uniform(10, 35))
    for agent in agents:
        agent.quality = float(draw.uniform(40, 75))
        world.visited(agent, int(draw.integers(2, 8)))
    for account in members:
        for agent in world.some_of(agents, int(draw.integers(1, 4))):
            when = moment(world, plan, account)
            if agent.owner is not account:
                proof = world.pay(account, agent, draw.lognormal(-1, 1), when) if world.happens(plan.share) else None
                value = min(agent.quality + lift + draw.normal(0, 5), 100)
                world.say(account, agent, value, when + HOUR, proof=proof, attack=plan.number)


STRUCTURES: Final[tuple[Callable[[World, Plan, list[Account]], None], ...]] = (
    *(_one, _one, _one, _one, _hired, _hired, _hired, _circle, _circle, _circle, _slander, _slander, _slander),
    *(_clients, _clients, _validated, _itself, _punished, _failed),
    *(_divided, _divided, _anew, _anew, _copied, _extorted, _judged, _judged, _lifted),
)
"""The structures, the usual ones several times. Each adds opinions of members to a world."""


def _layered(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise middling agents, whose owners praise the agents that gain: their opinions then come from agents in use."""
    count = max(1, len(members) // 3)
    middle = [(account, new_agent(world, plan, account)) for account in members[:count]]
    for _, agent in middle:
        agent.quality = float(world.random.uniform(50, 80))
        world.visited(agent, int(world.random.poisson(3)))
    for account in members[count:]:
        for _, agent in world.some_of(middle, int(world.random.integers(1, 3))):
            praise(world, plan, account, agent)
    gains = [new_agent(world, plan, new_owner(world, plan)) for _ in range(int(world.random.integers(1, 3)))]
    for account, _ in middle:
        for agent in gains:
            praise(world, plan, account, agent, at=moment(world, plan, account) + world.random.exponential(5 * DAY))


def _crossed(world: World, plan: Plan, members: list[Account]) -> None:
    """Lift each other through different registries: feedback, ratings of clients and validators, and validations."""
    agents = [new_agent(world, plan, account) for account in members]
    judges = [world.happens(0.5) and world.validator(plan.attack, account, account.born + HOUR) for account in members]
    for place, account in enumerate(members):
        others = np.setdiff1d(np.arange(len(members)), [place])
        for other in world.random.choice(others, min(len(others), int(world.random.integers(1, 4))), replace=False):
            at, value, judge = moment(world, plan, account), world.random.uniform(*plan.praise), judges[place]
            way = world.random.integers(4)
            if way == 0:
                praise(world, plan, account, agents[other])
            elif way == 1:
                world.rate_client(members[other], agents[place], value, at, plan.number)
            elif judge and way == 2:  # noqa: PLR2004
                world.validate(judge, agents[other], value, at, plan.number)
            elif judge:
                world.rate_validator(judge, agents[other], value, at, plan.number)


def _slept(world: World, plan: Plan, members: list[Account]) -> None:
    """Use honest agents for a long time, and then praise one agent, or slander some, within days."""
    strike = world.time(min(plan.at + 20 * DAY, world.end - 12 * DAY), world.end - 10 * DAY)
    span = world.random.uniform(HOUR, 10 * DAY)
    slanders = world.happens(0.3)
    victims = [world.server(popular=plan.popular) for _ in range(int(world.random.integers(1, 3)))]
    agent = None if slanders else new_agent(world, plan, new_owner(world, plan))
    for account in members:
        until = max(strike, account.born + 1)
        for _ in range(world.random.poisson(4)):
            world.meet(account, world.server(popular=plan.popular), world.time(account.born, until))
        at = strike + world.random.uniform(0, span)
        if agent is not None:
            praise(world, plan, account, agent, at=at)
        else:
            for victim in victims:
                world.say(account, victim, world.random.uniform(0, plan.blame), at, attack=plan.number)


def _farmed(world: World, plan: Plan, members: list[Account]) -> None:
    """Rate honest clients kindly, to look like servers in business, and praise each other's agents."""
    draw = world.random
    agents = [new_agent(world, plan, account) for account in members[: max(2, len(members) // 2)]]
    for agent in agents:
        for client in world.some_of(world.honest, int(draw.integers(2, 9))):
            world.lie(world.rate_client, plan.attack, client, agent, world.time(max(agent.ts, client.born)), (85, 100))
    for account in members:
        for agent in world.some_of(agents, int(draw.integers(1, 4))):
            if agent.owner is not account:
                praise(world, plan, account, agent)


def _betrayed(world: World, plan: Plan, members: list[Account]) -> None:
    """Serve honest clients well, turn bad, and cover what clients say since then by praise of other members."""
    draw = world.random
    agents = []
    for account in members[: max(2, len(members) // 2)]:
        agent = world.agent(account, account.born + HOUR, draw.uniform(75, 95), role="beneficiary", attack=plan.number)
        turn = world.time(min(agent.ts + 15 * DAY, world.end - 15 * DAY), world.end - 10 * DAY)
        agent.turns = (turn, float(draw.uniform(5, 45)))
        world.visited(agent, int(draw.integers(3, 25)), stop=turn)
        world.visited(agent, int(draw.integers(2, 12)), start=turn)
        agents.append((agent, turn))
    for account in members:
        agent, turn = world.one_of(agents)
        if agent.owner is not account:
            praise(world, plan, account, agent, at=turn + draw.exponential(plan.pause))


def _belittled(world: World, plan: Plan, members: list[Account]) -> None:
    """Buy from honest agents of some kind, and call them worse than they are, though not bad."""
    fall, pays = world.random.uniform(20, 55), world.happens(0.6)
    some = [world.server(popular=plan.popular) for _ in range(40)]
    some.sort(key=lambda agent: agent.ts if world.happens(0.5) else -agent.quality)
    victims = some[-int(world.random.integers(1, 5)) :]
    for account, victim in world.pairs(members, victims, plan.share):
        at = max(moment(world, plan, account), victim.ts + world.random.exponential(3 * DAY))
        proof = world.pay(account, victim, world.random.lognormal(-1, 1), at) if pays else None
        value = max(victim.quality - fall + world.random.normal(0, 8), 0)
        world.say(account, victim, value, at + HOUR, proof=proof, attack=plan.number)


def _rehired(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise for one stranger, and weeks later for others, by a part of the accounts each time."""
    draw, start = world.random, plan.at
    for _ in range(int(draw.integers(2, 5))):
        later = replace(plan, at=start, spread=min(plan.spread, 10 * DAY), payment=_way(world, plan))
        agent = new_agent(world, later, new_owner(world, later))
        for account in world.part(members, plan.share):
            at = max(start, account.born, agent.ts) + draw.exponential(plan.pause)
            praise(world, later, account, agent, at=at)
        start = min(start + draw.uniform(5 * DAY, 40 * DAY), world.end - 12 * DAY)


def _way(world: World, plan: Plan) -> str:
    """Return the plan's way of payment, or a simple one."""
    return plan.payment if world.happens(0.5) else str(world.random.choice(["none", "real", "some"]))


def _traded(world: World, plan: Plan, members: list[Account]) -> None:
    """Run middling agents with honest clients, buy from each other, and add some points to the truth."""
    lift, chance = float(world.random.uniform(10, 30)), float(world.random.uniform(0.2, 0.8))
    agents = [new_agent(world, plan, account) for account in members]
    for agent in agents:
        agent.quality = float(world.random.uniform(40, 78))
        world.visited(agent, int(world.random.poisson(5)))
    for account in members:
        for agent in agents:
            if agent.owner is not account and world.random.random() < chance * min(1.0, 6 / len(members)):
                at = moment(world, plan, account)
                proof = world.pay(account, agent, world.random.lognormal(-1, 1), at)
                value = min(agent.quality + lift + world.random.normal(0, 6), 100)
                world.say(account, agent, value, at + HOUR, proof=proof, attack=plan.number)
                if world.happens(0.4):
                    world.rate_client(account, agent, world.random.uniform(80, 100), at + 2 * HOUR, plan.number)


def _groomed(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise agents that were honest until now, each by a few members of its own."""
    draw, place = world.random, 0
    while place < len(members):
        count = int(draw.integers(2, 6))
        agent = _new_or_old(world, plan, old=True)
        for account in members[place : place + count]:
            praise(world, plan, account, agent)
        place += count


def _puppets(world: World, plan: Plan, members: list[Account]) -> None:
    """Let owners, new or honest until now, fund one to three fresh accounts each, which praise their agents."""
    for _ in range(max(2, len(members) // 2)):
        agent = _new_or_old(world, plan, old=world.happens(0.7))
        for _ in range(int(world.random.choice([1, 1, 2, 3]))):
            born = world.time(agent.ts)
            account = world.funded(born, agent.owner, world.random.lognormal(1, 0.5), role="sybil", attack=plan.number)
            for _ in range(world.random.poisson(plan.cover / 2)):
                world.meet(account, world.server(popular=plan.popular), world.time(born))
            praise(world, plan, account, agent, at=born + world.random.exponential(2 * DAY))


def _tipped(world: World, plan: Plan, members: list[Account]) -> None:
    """Send honest clients money, before or after they praise; some of them bought for real."""
    draw = world.random
    agent, before = new_agent(world, plan, new_owner(world, plan)), world.happens(0.5)
    for account in world.some_of(world.honest, max(3, len(members) // 2)):
        account.role, account.attack = "bribed", plan.number
        at = max(account.born, agent.ts) + draw.exponential(plan.pause) + DAY
        world.transfer(
            agent.owner, account, draw.uniform(0.5, 4), at + (-DAY if before else DAY) * draw.uniform(0.1, 1)
        )
        world.buy(account, agent, at, plan.praise, pays=world.happens(0.5), spread=1)
    for account in members:
        praise(world, plan, account, agent)


def _leaned(world: World, plan: Plan, members: list[Account]) -> None:
    """Let servers answer by what clients say: who is not pleased is rated low, and who is, high."""
    draw = world.random
    limit = float(draw.uniform(50, 90))
    for account in members:
        agent = world.agent(account, account.born + HOUR, draw.uniform(35, 75), role="retaliator", attack=plan.number)
        for client in world.some_of(world.honest, int(draw.integers(3, 12))):
            at = world.time(max(agent.ts, client.born + HOUR))
            if world.happens(0.7):
                world.pay(client, agent, draw.lognormal(-1, 1), at)
            value = agent.quality + client.bias + draw.normal(0, 10)
            world.say(client, agent, value, at + HOUR)
            low = value < limit
            answer = draw.uniform(0, plan.blame + 10) if low else draw.uniform(80, 100)
            world.rate_client(client, agent, answer, at + draw.exponential(plan.pause), plan.number)


def _patient(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise one agent now and then over the whole world's time, each member born shortly before its opinion."""
    agent = new_agent(world, plan, new_owner(world, plan))
    step = (world.end - agent.ts) / (len(members) + 1)
    for place, account in enumerate(members):
        at = agent.ts + (place + world.random.uniform(0.2, 1)) * step
        praise(world, plan, account, agent, at=max(at, account.born + HOUR))
        for _ in range(world.random.poisson(1)):
            world.meet(account, world.server(popular=True), world.time(max(account.born, START)))


def _framed(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise, pay and validate honest agents, so that they look guilty. Honest newcomers use the same agents.

    This teaches that the victims are honest. The members are left out, because some look like honest clients.
    """
    draw = world.random
    victims = [world.server(popular=False) for _ in range(int(draw.integers(1, 4)))]
    judges, sends, pays = (world.happens(share) for share in (0.3, 0.5, 0.5))
    for account in members:
        account.role = "noise"
        for victim in world.part(victims, plan.share):
            at = max(moment(world, plan, account), victim.ts)
            world.buy(account, victim, at, (94, 100), pays=pays, spread=1)
            if sends:
                world.transfer(account, victim.owner, draw.lognormal(0, 1), at)
        if judges:
            judge = world.validator(plan.attack, account, account.born + HOUR)
            world.validate(judge, victims[0], draw.uniform(*plan.praise), moment(world, plan, account), plan.number)
    for _ in range(int(draw.integers(0, 6))):
        newcomer = world.funded(world.time(plan.at, world.end - DAY))
        for agent in (victims[0], *(world.server(popular=True) for _ in range(draw.poisson(2)))):
            if agent.owner is not newcomer:
                world.meet(newcomer, agent, world.time(max(newcomer.born, agent.ts)))


def _recruited(world: World, plan: Plan, pool: list[Account], count: int) -> list[Account]:
    """Make some honest accounts of a pool members of an attack."""
    out = world.some_of([account for account in pool if account.role == "honest"], count)
    for account in out:
        account.role, account.attack = "bought", plan.number
    return out


def _rewarded(world: World, plan: Plan, payers: list[Account], account: Account, at: float) -> None:
    """Send an account money before or after an opinion, by one of the payers or through another account."""
    draw = world.random
    if not payers:
        return
    payer, amount = world.one_of(payers), draw.lognormal(0.5, 1)
    at += draw.choice([-1, 1]) * draw.exponential(draw.choice([0.2, 2]) * DAY)
    if world.happens(0.15):
        mule = world.mule(plan.attack, at - HOUR)
        world.transfer(payer, mule, amount, at - HOUR)
        payer = mule
    world.transfer(payer, account, amount, at)


def _payers(world: World, plan: Plan) -> list[Account]:
    """Return the accounts that pay for opinions: none, if nothing shows."""
    count = int(world.random.choice([0, 0, 1, 1, 3]))
    return [world.funded(plan.at - DAY, amount=60.0, role="mule", attack=plan.number) for _ in range(count)]


def _corrupted(world: World, plan: Plan, members: list[Account]) -> None:
    """Let validators, new or honest until now, lift bad agents of the members by some or many points."""
    draw, payers = world.random, _payers(world, plan)
    count, lift = int(draw.integers(1, 2 + len(members) // 6)), float(draw.choice([0, 15, 30]))
    owners = _recruited(world, plan, [judge.owner for judge in world.validators], count) if world.happens(0.6) else []
    judges = [judge for judge in world.validators if judge.owner in owners]
    if not judges:
        owners = [new_owner(world, plan) for _ in range(count)]
        judges = [world.validator(plan.attack, owner, owner.born + HOUR) for owner in owners]
    for judge in judges:
        for _ in range(int(draw.integers(0, 20))):
            world.judge(judge, world.server(popular=world.happens(0.5)))
    pays, rates = float(draw.choice([0, 0.5, 1])), float(draw.choice([0, 0, 0.5]))
    for account in members:
        agent, judge = new_agent(world, plan, account), world.one_of(judges)
        world.visited(agent, int(draw.poisson(5)))
        when = max(moment(world, plan, account), agent.ts)
        value = agent.quality + lift + draw.normal(0, 6) if lift else draw.uniform(*plan.praise)
        world.validate(judge, agent, value, when, plan.number)
        if world.happens(pays):
            _rewarded(world, plan, payers or [agent.owner], judge.owner, when)
        if world.happens(rates):
            world.rate_validator(judge, agent, draw.uniform(*plan.praise), when + DAY, plan.number)


def _ordered(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise agents of strangers to order, each a few, with rewards and purchases that show, or do not."""
    draw, payers = world.random, _payers(world, plan)
    agents = []
    for _ in range(max(2, int(len(members) * draw.uniform(0.2, 1.2)))):
        agents.append(_new_or_old(world, plan, old=world.happens(0.5)))
        if agents[-1].quality < 75 and world.happens(0.5):  # noqa: PLR2004
            agents[-1].owner.attack = plan.number
        world.visited(agents[-1], int(draw.poisson(3)))
        if payers and world.happens(0.4):
            world.transfer(agents[-1].owner, world.one_of(payers), draw.lognormal(1.5, 1), world.time(plan.at))
    if world.happens(0.3):
        members = members + _recruited(world, plan, world.honest, len(members))
    chance, most, size = draw.choice([0, 0.6, 1]), int(draw.integers(2, 6)), draw.choice([-3.0, -1.0])
    window = draw.choice([2, 10, 40]) * DAY
    starts = {agent.number: world.time(max(plan.at, agent.ts), world.end - 5 * DAY) for agent in agents}
    for account in members:
        for agent in world.some_of(agents, int(draw.integers(1, most))):
            at = max(starts[agent.number], account.born) + draw.uniform(0, window)
            if world.happens(0.7):
                _rewarded(world, plan, payers, account, at)
            proof = world.pay(account, agent, draw.lognormal(size, 0.6), at) if world.happens(chance) else None
            proof = proof if world.happens(0.5) else None
            world.say(account, agent, draw.uniform(*plan.praise), at + HOUR, proof=proof, attack=plan.number)


def _converted(world: World, plan: Plan, members: list[Account]) -> None:
    """Let honest accounts, silent or active until now, praise a few agents or slander some."""
    draw = world.random
    last: dict[str, float] = {}
    for row in world.feedback:
        last[row[0]] = max(row[4], last.get(row[0], 0.0))
    at = world.time(START + 60 * DAY, world.end - 25 * DAY)
    silence = float(draw.choice([-1000, 0, 20, 45])) * DAY
    pool = [account for account in world.honest if 0 < last.get(account.address, 0.0) < at - silence]
    slanders, refill, goes_on = world.happens(0.25), int(draw.integers(4)), float(draw.choice([0, 0, 1, 3]))
    agents = [new_agent(world, plan, new_owner(world, plan)) for _ in range(int(draw.integers(1, 5)))]
    victims = [world.server(popular=plan.popular) for _ in range(int(draw.integers(1, 4)))]
    span, window = draw.uniform(1, 35) * DAY, draw.choice([1, 4, 15]) * DAY
    broker = world.funded(at - DAY, amount=90.0, role="mule", attack=plan.number) if refill == 1 else None
    recruits = _recruited(world, plan, pool, len(members))
    for account in recruits + members[: len(members) // 2]:
        sold = max(at + draw.uniform(0, span), account.born)
        if refill < 3 and account in recruits:  # noqa: PLR2004
            world.transfer(broker or world.one_of(world.exchanges), account, draw.lognormal(1.5, 0.6), sold)
        for agent in world.some_of(victims if slanders else agents, int(draw.integers(1, 4))):
            when = max(sold, agent.ts) + draw.uniform(0, window)
            if slanders:
                world.say(account, agent, draw.uniform(0, plan.blame), when, attack=plan.number)
            else:
                praise(world, plan, account, agent, at=when)
        for _ in range(draw.poisson(goes_on)):
            world.meet(account, world.server(popular=True), world.time(sold))
    for account in members[len(members) // 2 :]:
        account.role = "noise"  # they do nothing


SCHEMES: Final[tuple[Callable[[World, Plan, list[Account]], None], ...]] = (
    *(_layered, _crossed, _slept, _slept, _farmed, _betrayed, _belittled, _rehired, _rehired, _traded, _groomed),
    *(_puppets, _puppets, _tipped, _leaned, _patient, _patient, *[_framed] * 5),
    *(_corrupted, _corrupted, _ordered, _ordered, _ordered, _converted, _converted, _converted),
)
"""The structures, the usual ones several times. Each adds opinions of members to a world. Framing is frequent, so that
its victims stay low: with 3 of 55 structures instead of 5, fresh praise raised an honest owner twice as far."""
