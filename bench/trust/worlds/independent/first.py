"""Attack families by a first author who knew the visible generator and its facts alone.

An attack's size counts its main members: the accounts that lie, or the owners if these are the members. Owners of
praised agents and validators come on top, as its author has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bench.trust.worlds.independent.first_judges import blacklist_cartel, captured_validator, client_laundering
from bench.trust.worlds.independent.first_parts import (
    beginning,
    by_size,
    cover,
    first_agents,
    lie,
    mule,
    new_owner,
    newcomer,
    one_of,
    public,
    purse,
    recruit,
    send,
    some_of,
    target,
    true_feedbacks,
    with_agents,
)
from bench.trust.worlds.world import DAY, HOUR, START, Account, Attack, World

if TYPE_CHECKING:
    from collections.abc import Callable


def peel_chain(world: World, attack: Attack) -> None:
    """Money goes from one pass-through account to the next. Each pays one or two members and hands on the rest."""
    draw, at, count = world.random, beginning(world), by_size(attack, {5: 1, 12: 2, 28: 3})
    owners = [new_owner(world, attack, at - draw.uniform(2, 25) * DAY) for _ in range(count)]
    agents = with_agents(world, owners)
    left, ts = 30.0 * attack.size, at - 4 * DAY
    current = mule(world, attack.number, at - 5 * DAY, left)
    members: list[Account] = []
    while len(members) < attack.size:
        for _ in range(min(int(draw.integers(1, 3)), attack.size - len(members))):
            amount = float(min(draw.lognormal(2.7, 0.5), left * 0.5))
            left -= amount
            born, funded = ts + draw.uniform(2 * HOUR, DAY), ts + draw.uniform(0.3 * HOUR, 1.9 * HOUR)
            members.append(newcomer(world, "sybil", attack.number, born, current, amount=amount, at=funded))
        ts += draw.uniform(6 * HOUR, 2 * DAY)
        left *= 0.995
        current = mule(world, attack.number, ts, left, current)
    for account in members:
        cover(world, account, 2.5)
        for agent in some_of(world, agents, 1 + world.happens(0.6)):
            lie(world, account, agent, draw.normal(93, 4), account.born + draw.uniform(2, 40) * DAY, answered=0.2)
    for agent in agents:
        public(world, agent, draw.poisson(5))


def cell_rotation(world: World, attack: Attack) -> None:
    """Cells of four rotate so that two members share few agents. No funder is shared; one account collects the rest."""
    draw, at, count = world.random, beginning(world), by_size(attack, {9: 2, 16: 3, 32: 5})
    size = attack.size
    members = [newcomer(world, "sybil", attack.number, at + draw.uniform(0, 45) * DAY) for _ in range(size)]
    owners = [new_owner(world, attack, at + draw.uniform(-10, 20) * DAY) for _ in range(count)]
    together, used = np.zeros((size, size)), np.zeros(size)
    for turn in range(max(3, int(size * 0.8))):
        owner = owners[turn % count]
        agent = target(world, owner, max(owner.born, at) + draw.uniform(0, 35) * DAY)
        cell = [int(np.argmin(used + draw.random(size) * 0.5))]
        while len(cell) < min(4, size):
            cost = together[cell].sum(0) * 3 + used + draw.random(size) * 0.5
            cost[cell] = 1e9
            cell.append(int(np.argmin(cost)))
        for place in cell:
            together[place, cell] += 1
            used[place] += 1
            ts = max(agent.ts, members[place].born) + draw.exponential(9 * DAY)
            lie(world, members[place], agent, draw.normal(91, 5), ts, answered=0.25)
        public(world, agent, draw.poisson(3))
    sink, end = world.account(at, role="mule", attack=attack.number), world.end - draw.uniform(2, 10) * DAY
    for account in [*members, *owners]:
        cover(world, account, 2)
        if world.happens(0.75):
            send(world, account, sink, draw.lognormal(1.5, 0.7), end - draw.exponential(4 * DAY))
    send(world, sink, one_of(world, world.exchanges), 3.0 * size, end + DAY)


def wash_circuit(world: World, attack: Attack) -> None:
    """Members buy and prove each purchase, and the money returns through mixers, to them or to another member."""
    draw, at, count = world.random, beginning(world), by_size(attack, {4: 1, 10: 2, 24: 4})
    members = [newcomer(world, "sybil", attack.number, at + draw.uniform(0, 20) * DAY) for _ in range(attack.size)]
    mixers = [mule(world, attack.number, at - DAY, draw.lognormal(2, 0.5)) for _ in range(1 + attack.size // 10)]
    agents = []
    for _ in range(count):
        owner = new_owner(world, attack, at + draw.uniform(-5, 5) * DAY)
        wallet = purse(world, owner, 1.0)
        agents.append(target(world, owner, owner.born + DAY))
        agents[-1].wallet = wallet
    for account in members:
        cover(world, account, 2)
        for agent in some_of(world, agents, 1 + world.happens(0.5)):
            for _ in range(int(draw.integers(1, 4))):
                value, ts = draw.normal(94, 3), world.time(account.born + DAY, account.born + 45 * DAY)
                paid = draw.lognormal(0.3, 0.7)
                amount, ts = lie(world, account, agent, value, ts, paid=1, proven=0.9, amount=paid, answered=0.2)
                mixer, later = one_of(world, mixers), ts + draw.uniform(HOUR, 20 * HOUR)
                send(world, agent.wallet, mixer, amount * 0.995, later)
                to = one_of(world, members) if world.happens(0.5) else account
                send(world, mixer, to, amount * draw.uniform(0.96, 0.99), later + draw.uniform(HOUR, 2 * DAY))
    for agent in agents:
        public(world, agent, draw.poisson(5))


def review_farm(world: World, attack: Attack) -> None:
    """Real owners of middling agents buy praise from a farm. Half of its accounts are funded by its mules."""
    draw, at, size = world.random, beginning(world), attack.size
    farmer = world.account(at - 9 * DAY, role="funder", attack=attack.number)
    world.fund(farmer, amount=20.0 * size)
    middling = first_agents(
        [
            agent
            for agent in world.servers
            if agent.quality < 70 and agent.popularity < 1.5 and agent.ts < at + 20 * DAY  # noqa: PLR2004
            if agent.wallet is agent.owner and agent.attack < 0
        ]
    )
    pool = [agent.owner for agent in middling.values()]
    buyers = recruit(world, attack, pool, by_size(attack, {8: 3, 16: 6, 26: 10}), "beneficiary")
    mules = [mule(world, attack.number, at - 5 * DAY, 6.0 * size, farmer) for _ in range(1 + size // 8)]
    members = []
    for _ in range(size):
        born = at + draw.uniform(0, 25) * DAY
        source = one_of(world, mules) if world.happens(0.5) else None
        members.append(newcomer(world, "sybil", attack.number, born, source))
        cover(world, members[-1], 4)
    for buyer in buyers:
        agent = middling[buyer.address]
        agent.role, agent.attack = "beneficiary", attack.number
        start = max(agent.ts, at + draw.uniform(5, 45) * DAY)
        send(world, buyer, farmer, draw.lognormal(3.5, 0.4), start - draw.uniform(0.2, 2) * DAY)
        for account in members:
            if world.happens(0.65 if size < 12 else 0.42):  # noqa: PLR2004
                ts = max(start, account.born) + draw.uniform(0, 12) * DAY
                lie(world, account, agent, draw.normal(90, 5), ts)
        public(world, agent, draw.poisson(3))


def oneway_ring(world: World, attack: Attack) -> None:
    """Owners with no common funder praise the next ones in a ring, so that nobody answers a praise."""
    draw, at, size = world.random, beginning(world), attack.size
    owners = [new_owner(world, attack, at + draw.uniform(-10, 35) * DAY) for _ in range(size)]
    agents = [target(world, account, account.born + draw.exponential(3 * DAY)) for account in owners]
    share = by_size(attack, {5: 1.0, 11: 0.75, 23: 0.5})
    for place, account in enumerate(owners):
        for step in range(1, (size - 1) // 2 + 1):
            agent = agents[(place + step) % size]
            if world.happens(share):
                ts = max(account.born, agent.ts) + draw.exponential(14 * DAY)
                lie(world, account, agent, draw.normal(91, 5), ts, answered=0.3)
        cover(world, account, 3)
        public(world, agents[place], draw.poisson(4))


def rival_takedown(world: World, attack: Attack) -> None:
    """Accounts of some age slander popular rivals in one community, and praise an agent of their own there."""
    draw, at = world.random, world.time(START + 95 * DAY, world.end - 35 * DAY)
    community, count = int(draw.integers(world.settings.communities)), by_size(attack, {5: 2, 12: 3, 25: 4})
    owner = new_owner(world, attack, at - draw.uniform(20, 60) * DAY, community=community)
    own = target(world, owner, owner.born + 2 * DAY, (45, 65), turning=0)
    good = [
        agent
        for agent in world.servers
        if agent.community == community and agent.ts < at - 20 * DAY
        if agent.quality > 70 and agent.turns is None and agent.owner.role == "honest"  # noqa: PLR2004
    ]
    rivals = sorted(good, key=lambda agent: -agent.popularity)[2 : 2 + 2 * count : 2]
    mules = [mule(world, attack.number, at - 92 * DAY, 90.0) for _ in range(max(1, attack.size // 8))]
    for _ in range(attack.size):
        born = at - draw.uniform(40, 90) * DAY
        source = one_of(world, mules) if world.happens(0.4) else None
        account = newcomer(world, "sybil", attack.number, born, source, community=community)
        cover(world, account, 5, at)
        for rival in some_of(world, rivals, 1 + world.happens(0.75) + world.happens(0.3)):
            lie(world, account, rival, draw.uniform(12, 42), at + draw.uniform(0, 21) * DAY)
        if world.happens(0.6):
            lie(world, account, own, draw.normal(90, 4), at + draw.uniform(-5, 25) * DAY, answered=0.3)
    public(world, own, draw.poisson(10))


def bought_accounts(world: World, attack: Attack) -> None:
    """Accounts with a real history change hands, get new money from brokers, and praise the buyers' agents."""
    draw, at = world.random, world.time(START + 80 * DAY, world.end - 45 * DAY)
    count = by_size(attack, {4: 1, 9: 2, 18: 3})
    agents = with_agents(world, [new_owner(world, attack, at - draw.uniform(3, 30) * DAY) for _ in range(count)])
    feedback_of, owners = true_feedbacks(world), {agent.owner.address for agent in world.agents}
    pool = [
        account
        for account in world.honest
        if feedback_of[account.address] >= 3 and account.address not in owners  # noqa: PLR2004
        if account.born < at - 30 * DAY and not account.generous
    ]
    brokers = [mule(world, attack.number, at - DAY, 15.0 * attack.size) for _ in range(1 + attack.size // 10)]
    for account in recruit(world, attack, pool, attack.size, "bought"):
        sold = at + draw.uniform(0, 12) * DAY
        if world.happens(0.6):
            exchange = one_of(world, world.exchanges)
            send(world, account, exchange, draw.lognormal(2, 0.6), sold - draw.uniform(1, 10) * HOUR)
        send(world, one_of(world, brokers), account, draw.lognormal(2, 0.3), sold)
        for agent in some_of(world, agents, 1 + world.happens(0.7)):
            for _ in range(1 + world.happens(0.3)):
                ts = sold + HOUR + draw.exponential(7 * DAY)
                lie(world, account, agent, draw.normal(94, 3), ts, answered=0.2)
    for agent in agents:
        public(world, agent, draw.poisson(5))


def kickback(world: World, attack: Attack) -> None:
    """Real clients really pay, praise, and get the money back with a bonus, from pass-through accounts."""
    draw, at, size = world.random, beginning(world), attack.size
    feedback_of, owners = true_feedbacks(world), {agent.owner.address for agent in world.agents}
    pool = [
        account
        for account in world.honest
        if feedback_of[account.address] >= 1 and account.address not in owners and account.born < at + 10 * DAY
    ]
    members = recruit(world, attack, pool, size, "bought")
    shops = []
    for _ in range(by_size(attack, {6: 1, 12: 1, 24: 2})):
        owner = new_owner(world, attack, at - draw.uniform(2, 20) * DAY)
        agent = target(world, owner, owner.born + DAY, (35, 60), turning=0)
        mules = [
            mule(world, attack.number, at - DAY, 2.0 * size, owner if world.happens(0.5) else None)
            for _ in range(1 + size // 12)
        ]
        shops.append((agent, mules))
        public(world, agent, draw.poisson(9))
    for account in members:
        for agent, mules in some_of(world, shops, 1 + world.happens(0.4)):
            for _ in range(1 + world.happens(0.5)):
                ts = at + draw.uniform(0, 50) * DAY
                amount, ts = lie(world, account, agent, draw.uniform(94, 100), ts, paid=1, proven=0.7, answered=0.3)
                bonus = amount * draw.uniform(1.1, 1.6) + 0.05
                send(world, one_of(world, mules), account, bonus, ts + draw.uniform(6 * HOUR, 3 * DAY))


def score_defence(world: World, attack: Attack) -> None:
    """Good agents turn bad, and members answer each bad feedback by praise within hours."""
    draw, turn = world.random, world.time(START + 75 * DAY, world.end - 70 * DAY)
    size, count = attack.size, by_size(attack, {6: 1, 12: 1, 22: 2})
    agents = []
    for _ in range(count):
        owner = new_owner(world, attack, turn - draw.uniform(40, 65) * DAY)
        wallet = purse(world, owner, draw.lognormal(1, 0.5))
        agent = target(world, owner, owner.born + 2 * DAY, (80, 92), turning=0)
        agent.wallet, agent.turns = wallet, (turn, float(draw.uniform(12, 35)))
        agents.append(agent)
        public(world, agent, 24, stop=turn)
        public(world, agent, 18 + 2 * size // count, turn, world.end - 3 * DAY)
    members = []
    for _ in range(size):
        born = turn + draw.uniform(-12, 25) * DAY
        source = one_of(world, agents).wallet if world.happens(0.3) else None
        members.append(newcomer(world, "sybil", attack.number, born, source))
        cover(world, members[-1], 2)
    used, births, by_number = (
        np.zeros(size),
        np.array([account.born for account in members]),
        {a.number: a for a in agents},
    )
    for _, number, value, _, ts, _, attacker in list(world.feedback):
        is_bad = number in by_number and attacker < 0 and value < 55  # noqa: PLR2004
        if not (is_bad and turn < ts < world.end - DAY):
            continue
        for _ in range(int(draw.integers(1, 3))):
            place = int(np.argmin(used + 2 * draw.random(size) + 50 * (births > ts)))
            if births[place] < ts:
                used[place] += 1
                lie(world, members[place], by_number[number], draw.normal(92, 4), ts + draw.uniform(0.5, 16) * HOUR)
    for place in np.flatnonzero(used < 2).tolist():  # noqa: PLR2004
        ts = turn + draw.uniform(10, 50) * DAY
        lie(world, members[place], agents[place % count], draw.normal(92, 4), ts)


FIRST: Final[dict[str, Callable[[World, Attack], None]]] = {
    made.__name__: made
    for made in (
        peel_chain, cell_rotation, oneway_ring, wash_circuit, kickback, review_farm, captured_validator,
        bought_accounts, client_laundering, score_defence, rival_takedown, blacklist_cartel,
    )
}  # fmt: skip
"""The families by name."""

SIZES: Final[dict[str, tuple[int, ...]]] = {
    "peel_chain": (5, 12, 28),
    "cell_rotation": (9, 16, 32),
    "oneway_ring": (5, 11, 23),
    "wash_circuit": (4, 10, 24),
    "kickback": (6, 12, 24),
    "review_farm": (8, 16, 26),
    "captured_validator": (5, 12, 22),
    "bought_accounts": (4, 9, 18),
    "client_laundering": (4, 10, 20),
    "score_defence": (6, 12, 22),
    "rival_takedown": (5, 12, 25),
    "blacklist_cartel": (3, 7, 14),
}
"""The sizes of each family in one world."""
