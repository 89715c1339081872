"""Further structures of drawn attacks: those with several layers, several registries, or much honest business beside.

They follow principles: money that goes round, opinions passed on, patience, and truth mixed with lies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.trust.worlds.parts import Plan, moment, new_agent, new_owner, praise, some_people, some_server, visited
from bench.trust.worlds.world import DAY, HOUR, START, Account, World

if TYPE_CHECKING:
    from collections.abc import Callable


def _layered(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise middling agents, whose owners praise the agents that gain: their opinions then come from agents in use."""
    draw = world.random
    count = max(1, len(members) // 3)
    middle = [(account, new_agent(world, plan, account)) for account in members[:count]]
    for _, agent in middle:
        agent.quality = float(draw.uniform(50, 80))
        visited(world, agent, int(draw.poisson(3)))
    for account in members[count:]:
        for place in draw.choice(count, min(count, int(draw.integers(1, 3))), replace=False):
            praise(world, plan, account, middle[place][1])
    gains = [new_agent(world, plan, new_owner(world, plan)) for _ in range(int(draw.integers(1, 3)))]
    for account, _ in middle:
        for agent in gains:
            praise(world, plan, account, agent, at=moment(world, plan, account) + draw.exponential(5 * DAY))


def _crossed(world: World, plan: Plan, members: list[Account]) -> None:
    """Lift each other through different registries: feedback, ratings of clients and validators, and validations."""
    draw = world.random
    agents = [new_agent(world, plan, account) for account in members]
    judges = [
        world.agent(
            account, account.born + HOUR, 50.0, is_validator=True, role="beneficiary", attack=plan.attack.number
        )
        if draw.random() < 0.5  # noqa: PLR2004
        else None
        for account in members
    ]
    for place, account in enumerate(members):
        others = np.setdiff1d(np.arange(len(members)), [place])
        for other in draw.choice(others, min(len(others), int(draw.integers(1, 4))), replace=False):
            at, value, judge = moment(world, plan, account), draw.uniform(*plan.praise), judges[place]
            way = draw.integers(4)
            if way == 0:
                praise(world, plan, account, agents[other])
            elif way == 1:
                world.rate_client(members[other], agents[place], value, at, plan.attack.number)
            elif judge is not None and way == 2:  # noqa: PLR2004
                world.validate(judge, agents[other], value, at, plan.attack.number)
            elif judge is not None:
                world.rate_validator(judge, agents[other], value, at, plan.attack.number)


def _slept(world: World, plan: Plan, members: list[Account]) -> None:
    """Use honest agents for a long time, and then praise one agent, or slander some, within days."""
    draw = world.random
    strike = world.time(min(plan.at + 20 * DAY, world.end - 12 * DAY), world.end - 10 * DAY)
    span = draw.uniform(HOUR, 10 * DAY)
    slanders = draw.random() < 0.3  # noqa: PLR2004
    victims = [some_server(world, popular=plan.popular) for _ in range(int(draw.integers(1, 3)))]
    agent = None if slanders else new_agent(world, plan, new_owner(world, plan))
    for account in members:
        for _ in range(draw.poisson(4)):
            world.meet(
                account,
                some_server(world, popular=plan.popular),
                world.time(account.born, max(strike, account.born + 1)),
            )
        at = strike + draw.uniform(0, span)
        if agent is not None:
            praise(world, plan, account, agent, at=at)
        else:
            for victim in victims:
                world.say(account, victim, draw.uniform(0, plan.blame), at, attack=plan.attack.number)


def _farmed(world: World, plan: Plan, members: list[Account]) -> None:
    """Rate honest clients kindly, to look like servers in business, and praise each other's agents."""
    draw = world.random
    agents = [new_agent(world, plan, account) for account in members[: max(2, len(members) // 2)]]
    for agent in agents:
        for client in some_people(world, int(draw.integers(2, 9))):
            at = world.time(max(agent.ts, client.born))
            world.rate_client(client, agent, draw.uniform(85, 100), at, plan.attack.number)
    for account in members:
        for place in draw.choice(len(agents), min(len(agents), int(draw.integers(1, 4))), replace=False):
            if agents[place].owner is not account:
                praise(world, plan, account, agents[place])


def _betrayed(world: World, plan: Plan, members: list[Account]) -> None:
    """Serve honest clients well, turn bad, and cover what clients say since then by praise of other members."""
    draw = world.random
    agents = []
    for account in members[: max(2, len(members) // 2)]:
        agent = world.agent(
            account, account.born + HOUR, draw.uniform(75, 95), role="beneficiary", attack=plan.attack.number
        )
        turn = world.time(min(agent.ts + 15 * DAY, world.end - 15 * DAY), world.end - 10 * DAY)
        agent.turns = (turn, float(draw.uniform(5, 45)))
        visited(world, agent, int(draw.integers(3, 25)), stop=turn)
        visited(world, agent, int(draw.integers(2, 12)), start=turn)
        agents.append((agent, turn))
    for account in members:
        agent, turn = agents[draw.integers(len(agents))]
        if agent.owner is not account:
            praise(world, plan, account, agent, at=turn + draw.exponential(plan.pause))


def _belittled(world: World, plan: Plan, members: list[Account]) -> None:
    """Buy from honest agents of some kind, and call them worse than they are, though not bad."""
    draw = world.random
    fall, pays = draw.uniform(20, 55), draw.random() < 0.6  # noqa: PLR2004
    some = [some_server(world, popular=plan.popular) for _ in range(40)]
    some.sort(key=lambda agent: agent.ts if draw.random() < 0.5 else -agent.quality)  # noqa: PLR2004
    victims = some[-int(draw.integers(1, 5)) :]
    for account in members:
        for victim in victims:
            if draw.random() < plan.share:
                at = max(moment(world, plan, account), victim.ts + draw.exponential(3 * DAY))
                proof = world.pay(account, victim, draw.lognormal(-1, 1), at) if pays else None
                value = max(victim.quality - fall + draw.normal(0, 8), 0)
                world.say(account, victim, value, at + HOUR, proof=proof, attack=plan.attack.number)


def _rehired(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise for one stranger, and weeks later for others, by a part of the accounts each time."""
    draw, start = world.random, plan.at
    for _ in range(int(draw.integers(2, 5))):
        later = replace(plan, at=start, spread=min(plan.spread, 10 * DAY), payment=_way(world, plan))
        agent = new_agent(world, later, new_owner(world, later))
        for account in members:
            if draw.random() < plan.share:
                at = max(start, account.born, agent.ts) + draw.exponential(plan.pause)
                praise(world, later, account, agent, at=at)
        start = min(start + draw.uniform(5 * DAY, 40 * DAY), world.end - 12 * DAY)


def _way(world: World, plan: Plan) -> str:
    """Return the plan's way of payment, or a simple one."""
    return plan.payment if world.random.random() < 0.5 else str(world.random.choice(["none", "real", "some"]))  # noqa: PLR2004


def _traded(world: World, plan: Plan, members: list[Account]) -> None:
    """Run middling agents with honest clients, buy from each other, and add some points to the truth."""
    draw = world.random
    lift, chance = float(draw.uniform(10, 30)), float(draw.uniform(0.2, 0.8))
    agents = [new_agent(world, plan, account) for account in members]
    for agent in agents:
        agent.quality = float(draw.uniform(40, 78))
        visited(world, agent, int(draw.poisson(5)))
    for account in members:
        for agent in agents:
            if agent.owner is not account and draw.random() < chance * min(1.0, 6 / len(members)):
                at = moment(world, plan, account)
                proof = world.pay(account, agent, draw.lognormal(-1, 1), at)
                value = min(agent.quality + lift + draw.normal(0, 6), 100)
                world.say(account, agent, value, at + HOUR, proof=proof, attack=plan.attack.number)
                if draw.random() < 0.4:  # noqa: PLR2004
                    world.rate_client(account, agent, draw.uniform(80, 100), at + 2 * HOUR, plan.attack.number)


def _groomed(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise agents that were honest until now, each by a few members of its own."""
    draw, place = world.random, 0
    while place < len(members):
        count = int(draw.integers(2, 6))
        agent = some_server(world, popular=False)
        agent.role, agent.attack = "beneficiary", plan.attack.number
        for account in members[place : place + count]:
            praise(world, plan, account, agent)
        place += count


def _puppets(world: World, plan: Plan, members: list[Account]) -> None:
    """Let owners, new or honest until now, fund one to three fresh accounts each, which praise their agents."""
    draw = world.random
    for _ in range(max(2, len(members) // 2)):
        if draw.random() < 0.7:  # noqa: PLR2004
            agent = some_server(world, popular=False)
            agent.role, agent.attack = "beneficiary", plan.attack.number
        else:
            agent = new_agent(world, plan, new_owner(world, plan))
        for _ in range(int(draw.choice([1, 1, 2, 3]))):
            born = world.time(agent.ts)
            account = world.account(born, role="sybil", attack=plan.attack.number)
            world.fund(account, agent.owner, draw.lognormal(1, 0.5))
            for _ in range(draw.poisson(plan.cover / 2)):
                world.meet(account, some_server(world, popular=plan.popular), world.time(born))
            praise(world, plan, account, agent, at=born + draw.exponential(2 * DAY))


def _tipped(world: World, plan: Plan, members: list[Account]) -> None:
    """Send honest clients money, before or after they praise; some of them bought for real."""
    draw = world.random
    owner = new_owner(world, plan)
    agent = new_agent(world, plan, owner)
    before = draw.random() < 0.5  # noqa: PLR2004
    for account in some_people(world, max(3, len(members) // 2)):
        account.role, account.attack = "bribed", plan.attack.number
        at = max(account.born, agent.ts) + draw.exponential(plan.pause) + DAY
        world.transfer(owner, account, draw.uniform(0.5, 4), at + (-DAY if before else DAY) * draw.uniform(0.1, 1))
        proof = world.pay(account, agent, draw.lognormal(-1, 1), at) if draw.random() < 0.5 else None  # noqa: PLR2004
        world.say(account, agent, draw.uniform(*plan.praise), at + HOUR, proof=proof, attack=plan.attack.number)
    for account in members:
        praise(world, plan, account, agent)


def _leaned(world: World, plan: Plan, members: list[Account]) -> None:
    """Let servers answer by what clients say: who is not pleased is rated low, and who is, high."""
    draw = world.random
    limit = float(draw.uniform(50, 90))
    for account in members:
        agent = world.agent(
            account, account.born + HOUR, draw.uniform(35, 75), role="retaliator", attack=plan.attack.number
        )
        for client in some_people(world, int(draw.integers(3, 12))):
            at = world.time(max(agent.ts, client.born + HOUR))
            if draw.random() < 0.7:  # noqa: PLR2004
                world.pay(client, agent, draw.lognormal(-1, 1), at)
            value = agent.quality + client.bias + draw.normal(0, 10)
            world.say(client, agent, value, at + HOUR)
            low = value < limit
            answer = draw.uniform(0, plan.blame + 10) if low else draw.uniform(80, 100)
            world.rate_client(client, agent, answer, at + draw.exponential(plan.pause), plan.attack.number)


def _patient(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise one agent now and then over the whole world's time, each member born shortly before its opinion."""
    draw = world.random
    owner = new_owner(world, plan)
    agent = new_agent(world, plan, owner)
    step = (world.end - agent.ts) / (len(members) + 1)
    for place, account in enumerate(members):
        at = agent.ts + (place + draw.uniform(0.2, 1)) * step
        praise(world, plan, account, agent, at=max(at, account.born + HOUR))
        for _ in range(draw.poisson(1)):
            world.meet(account, some_server(world, popular=True), world.time(max(account.born, START)))


def _framed(world: World, plan: Plan, members: list[Account]) -> None:
    """Praise, pay and validate honest agents, so that they look guilty. Honest newcomers use the same agents.

    This teaches that the victims are honest. The members are left out, because some look like honest clients.
    """
    draw = world.random
    victims = [some_server(world, popular=False) for _ in range(int(draw.integers(1, 4)))]
    judges, sends = draw.random() < 0.3, draw.random() < 0.5  # noqa: PLR2004
    pays = draw.random() < 0.5  # noqa: PLR2004
    for account in members:
        account.role = "noise"
        for victim in victims:
            if draw.random() < plan.share:
                at = max(moment(world, plan, account), victim.ts)
                proof = world.pay(account, victim, draw.lognormal(-1, 1), at) if pays else None
                world.say(account, victim, draw.uniform(94, 100), at + HOUR, proof=proof, attack=plan.attack.number)
                if sends:
                    world.transfer(account, victim.owner, draw.lognormal(0, 1), at)
        if judges:
            judge = world.agent(
                account, account.born + HOUR, 50.0, is_validator=True, role="beneficiary", attack=plan.attack.number
            )
            world.validate(
                judge, victims[0], draw.uniform(*plan.praise), moment(world, plan, account), plan.attack.number
            )
    for _ in range(int(draw.integers(0, 6))):
        newcomer = world.account(world.time(plan.at, world.end - DAY))
        world.fund(newcomer)
        for agent in (victims[0], *(some_server(world, popular=True) for _ in range(draw.poisson(2)))):
            if agent.owner is not newcomer:
                world.meet(newcomer, agent, world.time(max(newcomer.born, agent.ts)))


SCHEMES: Final[tuple[Callable[[World, Plan, list[Account]], None], ...]] = (
    *(_layered, _crossed, _slept, _slept, _farmed, _betrayed, _belittled, _rehired, _rehired, _traded, _groomed),
    *(_puppets, _puppets, _tipped, _leaned, _patient, _patient, _framed, _framed, _framed),
)
"""The structures, the usual ones twice. Each adds opinions of members to a world."""
