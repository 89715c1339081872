"""Attack families of a second author, who knew the visible generator and its facts alone, and not the engine.

Numbers, times, amounts and values are the author's. The honest world is the project's own.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.trust.worlds.world import DAY, HOUR, START, Account, Agent, Attack, World

if TYPE_CHECKING:
    from collections.abc import Callable


def _start(world: World) -> float:
    return world.time(START + 25 * DAY, world.end - 70 * DAY)


def _mule(world: World, attack: Attack, at: float) -> Account:
    return world.account(at, role="mule", attack=attack.number)


def _untouched(world: World) -> list[Agent]:
    """Return honest agents of small owners that no attack has touched and that do not turn, in random order."""
    owned = Counter(agent.owner.address for agent in world.agents)
    struck = {row[1] for row in world.feedback if row[6] >= 0}
    touched = {agent.owner.address for agent in world.agents if agent.attack >= 0 or agent.number in struck}
    order = [world.servers[place] for place in world.random.permutation(len(world.servers))]
    return [
        agent
        for agent in order
        if agent.turns is None and agent.owner.address not in touched and owned[agent.owner.address] <= 3  # noqa: PLR2004
    ]


def _pick(pool: list[Agent], fits: Callable[[Agent], bool]) -> Agent:
    """Return the first agent of a pool that fits, and take all agents of its owner out of the pool."""
    chosen = next(agent for agent in pool if fits(agent))
    pool[:] = [agent for agent in pool if agent.owner is not chosen.owner]
    return chosen


def _traffic(world: World, agent: Agent, mean: float, stop: float | None = None) -> None:
    """Let genuine customers use an agent, and say what it is worth."""
    for _ in range(world.random.poisson(mean)):
        client = world.honest[world.random.integers(len(world.honest))]
        earliest = max(agent.ts, client.born) + 600
        if earliest < (world.end if stop is None else stop):
            world.meet(client, agent, world.time(earliest, stop))


def _cover(world: World, account: Account, mean: float, stop: float | None = None, least: int = 0) -> None:
    """Let an account use honest agents, drawn by popularity, as an honest client does."""
    account.bias = float(world.random.normal(0, 6))
    popularity = np.array([agent.popularity for agent in world.servers])
    count = least + world.random.poisson(mean)
    for place in world.random.choice(len(world.servers), count, p=popularity / popularity.sum()):
        agent = world.servers[place]
        earliest = max(account.born, agent.ts) + 600
        if earliest < (world.end if stop is None else stop):
            world.meet(account, agent, world.time(earliest, stop))


def _praised(world: World, attack: Attack, at: float, mean: float) -> Agent:
    """Return a bad agent of a new owner, with a mean number of genuine customers."""
    owner = world.account(at, role="beneficiary", attack=attack.number)
    world.fund(owner)
    ts, quality = at + world.random.uniform(600, DAY), world.random.uniform(20, 50)
    agent = world.agent(owner, ts, quality, role="beneficiary", attack=attack.number)
    _traffic(world, agent, mean)
    return agent


def _agent_of(world: World, attack: Attack, account: Account, pause: float, quality: tuple[float, float]) -> Agent:
    """Return an agent of a member, registered within a pause after its birth."""
    ts = account.born + world.random.uniform(600, pause)
    return world.agent(account, ts, world.random.uniform(*quality), role="beneficiary", attack=attack.number)


def _mules(world: World, attack: Attack, hub: Account, at: float, count: int) -> list[Account]:
    """Return the accounts that pass a hub's money on. A third have a second one behind them."""
    mules = []
    for _ in range(max(2, count // 4)):
        when = at - world.random.uniform(2, 5) * DAY
        mule = _mule(world, attack, when)
        world.transfer(hub, mule, world.random.uniform(60, 120), when)
        if world.happens(0.35):
            later = at - world.random.uniform(0.2, 1.8) * DAY
            behind = _mule(world, attack, later)
            world.transfer(mule, behind, world.random.uniform(50, 60), later)
            mule = behind
        mules.append(mule)
    return mules


def _crowd(
    world: World, attack: Attack, at: float, spread: float, how: str, **other: int
) -> tuple[Account, list[Account]]:
    """Return a hub and fresh accounts, born within a time after another.

    Args:
        world: The world.
        attack: The attack.
        at: The time after which they are born.
        spread: The time in which they are born, in seconds.
        how: The source of their money. "cex": one exchange, like amounts. "mule": the hub, by mules. "chain": each
            funds the next. "mix": half of them by mules, half of them by the exchange.
        **other: `count`, the number of accounts; the size of the attack by default.
    """
    draw, count = world.random, other.get("count", attack.size)
    hub = world.account(at - 6 * DAY, role="funder", attack=attack.number)
    world.fund(hub, amount=60.0 * count)
    exchange, usual = world.exchanges[draw.integers(len(world.exchanges))], draw.lognormal(3, 0.6)
    births, left = np.sort(at + draw.uniform(0, spread, count)), 12.0 * count
    mules = _mules(world, attack, hub, at, count) if how in {"mule", "mix"} else []
    out: list[Account] = []
    for born in births.tolist():
        account = world.account(born, role="sybil", attack=attack.number, quality=80.0)
        source = ("mule" if world.happens(0.5) else "cex") if how == "mix" else how
        if source == "cex":
            world.transfer(exchange, account, usual * draw.uniform(0.85, 1.15), born - draw.uniform(600, 12 * HOUR))
        elif source == "mule":
            mule = mules[draw.integers(len(mules))]
            world.transfer(mule, account, draw.lognormal(1.6, 0.4), born - draw.uniform(60, 2 * HOUR))
        else:
            world.transfer(out[-1] if out else hub, account, left, born)
            left -= draw.uniform(4, 10)
        out.append(account)
    return hub, out


def cex_star(world: World, attack: Attack) -> None:
    """Accounts of one exchange, withdrawn within two days, praise one agent. Most send the rest to one address."""
    draw, at = world.random, _start(world)
    agent = _praised(world, attack, at - draw.uniform(1, 10) * DAY, 4)
    _, members = _crowd(world, attack, at, 2 * DAY, "cex")
    sink = _mule(world, attack, at)
    for account in members:
        world.say(account, agent, draw.uniform(85, 100), world.time(account.born, at + 4 * DAY), attack=attack.number)
        if world.happens(0.6):
            world.transfer(account, sink, draw.uniform(3, 15), at + draw.uniform(5, 12) * DAY)


def fund_chain(world: World, attack: Attack) -> None:
    """Each account funds the next one, and praise follows along the chain over weeks."""
    draw, at = world.random, _start(world)
    agent = _praised(world, attack, at - draw.uniform(0, 5) * DAY, 3)
    _, members = _crowd(world, attack, at, draw.uniform(10, 30) * DAY, "chain")
    for account in members:
        world.say(
            account,
            agent,
            draw.uniform(88, 100),
            world.time(account.born, account.born + 3 * DAY),
            attack=attack.number,
        )
        _cover(world, account, 0.7)


def mule_tree(world: World, attack: Attack) -> None:
    """Accounts that mules funded praise two or three agents, slowly and with varied values."""
    draw, at = world.random, _start(world)
    count = 2 if attack.size < 20 else 3  # noqa: PLR2004
    agents = [_praised(world, attack, at + draw.uniform(-10, 5) * DAY, 3) for _ in range(count)]
    _, members = _crowd(world, attack, at, 25 * DAY, "mule")
    for account in members:
        _cover(world, account, 1)
        for agent in agents:
            if world.happens(0.75) or agent is agents[0]:
                when = world.time(account.born, account.born + 15 * DAY)
                world.say(account, agent, draw.uniform(82, 100), when, attack=attack.number)


def review_farm(world: World, attack: Attack) -> None:
    """Covered workers praise the agents of several paying customers, who are otherwise ordinary."""
    draw, at = world.random, _start(world)
    hub, members = _crowd(world, attack, at, 10 * DAY, "mix")
    for account in members:
        _cover(world, account, 4)
    pool = _untouched(world)
    for _ in range(max(3, attack.size // 4)):
        agent = _pick(pool, lambda a: a.quality < 72 and a.ts < at + 20 * DAY)  # noqa: PLR2004
        agent.role, agent.attack = "beneficiary", attack.number
        campaign = max(at + 10 * DAY, agent.ts) + draw.uniform(0, 40) * DAY
        price = 4 * attack.size * draw.uniform(0.8, 1.2)
        world.transfer(agent.owner, hub, price, campaign - draw.uniform(0.1, 2) * DAY)
        for account in members:
            if world.happens(0.65):
                when = world.time(campaign, campaign + 7 * DAY)
                world.say(account, agent, draw.uniform(90, 100), when, attack=attack.number)


def smear_campaign(world: World, attack: Attack) -> None:
    """Covered accounts run down two or three competitors and lift their own agent."""
    draw, at = world.random, _start(world)
    agent = _praised(world, attack, at - 5 * DAY, 4)
    agent.community = community = int(draw.integers(world.settings.communities))
    pool = _untouched(world)
    victims = [
        _pick(pool, lambda a: a.community == community and a.quality > 65 and a.ts < at + 10 * DAY)  # noqa: PLR2004
        for _ in range(int(draw.integers(2, 4)))
    ]
    _, members = _crowd(world, attack, at, 12 * DAY, "mix")
    for account in members:
        _cover(world, account, 3)
        for victim in victims:
            if world.happens(0.8):
                when = world.time(at + 12 * DAY, at + 30 * DAY)
                world.say(account, victim, draw.uniform(0, 22), when, attack=attack.number)
        if world.happens(0.6):
            when = world.time(at + 5 * DAY, at + 40 * DAY)
            world.say(account, agent, draw.uniform(85, 100), when, attack=attack.number)


def cycle_ring(world: World, attack: Attack) -> None:
    """Owners praise the next two or three in a hidden circle, so that no pair praises each other."""
    draw, at, size = world.random, _start(world), attack.size
    _, members = _crowd(world, attack, at, 6 * DAY, "mix")
    agents = [_agent_of(world, attack, account, 2 * DAY, (20, 55)) for account in members]
    order = draw.permutation(size)
    for place in range(size):
        for step in (1, 2) if size < 8 else (1, 2, 3):  # noqa: PLR2004
            account, agent = members[order[place]], agents[order[(place + step) % size]]
            if step > 1 and world.happens(0.15):
                continue
            for _ in range(int(draw.integers(1, 3))):
                when = world.time(at + 8 * DAY, at + 50 * DAY)
                world.say(account, agent, draw.uniform(90, 100), when, attack=attack.number)
            if world.happens(0.3):
                when = world.time(at + 8 * DAY, at + 50 * DAY)
                world.rate_client(account, agent, draw.uniform(88, 100), when, attack.number)
        _cover(world, members[place], 2)
        _traffic(world, agents[place], 1)


def wash_trading(world: World, attack: Attack) -> None:
    """Owners pay and praise each other with proofs. The takings flow back through mules to the payers."""
    draw, at, size = world.random, _start(world), attack.size
    _, members = _crowd(world, attack, at, 10 * DAY, "cex")
    agents = [_agent_of(world, attack, account, DAY, (20, 55)) for account in members]
    mules = [_mule(world, attack, at) for _ in range(max(1, size // 8))]
    for place, account in enumerate(members):
        others = [other for other in range(size) if other != place]
        for other in draw.choice(others, min(size - 1, int(draw.integers(2, 5))), replace=False):
            for _ in range(int(draw.integers(2, 5))):
                when = world.time(at + 12 * DAY, at + 55 * DAY)
                proof = world.pay(account, agents[other], draw.lognormal(0.5, 0.8), when)
                value, time = draw.uniform(88, 100), world.time(when, when + DAY)
                world.say(account, agents[other], value, time, proof=proof, attack=attack.number)
        for _ in range(int(draw.integers(1, 4))):
            mule, amount = mules[draw.integers(len(mules))], draw.lognormal(1.5, 0.5)
            when = world.time(at + 15 * DAY, at + 55 * DAY)
            world.transfer(account, mule, amount, when)
            world.transfer(mule, members[draw.integers(size)], amount * 0.98, when + draw.uniform(600, DAY))
        _cover(world, account, 2)
        _traffic(world, agents[place], 1.5)


def validator_cartel(world: World, attack: Attack) -> None:
    """A bought validator passes poor agents, which praise and pay it, and vouch thinly for each other.

    It judges all others honestly.
    """
    draw, at = world.random, _start(world)
    owner = world.account(at - 10 * DAY, role="sybil", attack=attack.number, quality=80.0)
    world.fund(owner)
    validator = world.agent(
        owner, at - 9 * DAY, 90, popularity=0.01, role="sybil", attack=attack.number, is_validator=True
    )
    _, members = _crowd(world, attack, at, 15 * DAY, "mix")
    agents = [_agent_of(world, attack, account, DAY, (15, 45)) for account in members]
    for place, (account, agent) in enumerate(zip(members, agents, strict=True)):
        when = world.time(agent.ts + 600, at + 40 * DAY)
        world.transfer(account, owner, draw.uniform(4, 6), when - 300)
        world.validate(validator, agent, draw.uniform(90, 100), when, attack.number)
        _traffic(world, agent, 4)
        if world.happens(0.8):
            later = when + draw.exponential(DAY)
            world.rate_validator(validator, agent, draw.uniform(92, 100), later, attack.number)
        for other in draw.choice(attack.size, 2, replace=False):
            if other != place:
                time = world.time(at + 15 * DAY, at + 50 * DAY)
                world.say(account, agents[other], draw.uniform(90, 100), time, attack=attack.number)
    for spot in draw.choice(len(world.servers), attack.size):
        _judge(world, validator, world.servers[spot], at)


def _judge(world: World, validator: Agent, agent: Agent, at: float) -> None:
    """Let a validator judge an honest agent rightly: one that turns as early as possible, others at any time."""
    early = max(agent.ts + 600, validator.ts + 60)
    when = world.time(max(at, agent.ts)) if agent.turns is None else early
    quality = agent.turns[1] if agent.turns is not None and when >= agent.turns[0] else agent.quality
    world.validate(validator, agent, quality + world.random.normal(0, 5), when)


def whitewash(world: World, attack: Attack) -> None:
    """One crew praises a series of identities. Each is dropped when spoilt, and it or a mule pays for the next."""
    draw, at = world.random, _start(world)
    count = max(3, min(8, attack.size // 2))
    life = draw.uniform(60, 85) * DAY / count
    _, crew = _crowd(world, attack, at, life, "mix", count=max(3, attack.size - count))
    last, quality = None, draw.uniform(15, 40)
    for place in range(count):
        born = max(at + place * life - draw.uniform(0, 0.3) * life, at)
        owner = world.account(born, role="beneficiary", attack=attack.number)
        if last is None or world.happens(0.3):
            mule = _mule(world, attack, born - 2 * DAY)
            world.transfer(last or world.exchanges[0], mule, 15, born - 2 * DAY)
            world.transfer(mule, owner, 12, born - HOUR)
        else:
            world.transfer(last, owner, draw.uniform(5, 15), born - HOUR)
        worth = quality + draw.normal(0, 4)
        agent = world.agent(owner, born + 600, worth, role="beneficiary", attack=attack.number)
        _traffic(world, agent, 4, min(world.end, born + 1.3 * life))
        last = owner
        for account in crew:
            if world.happens(0.55):
                when = world.time(born, born + 0.5 * life)
                world.say(account, agent, draw.uniform(90, 100), when, attack=attack.number)
    for account in crew:
        _cover(world, account, 1.5)


def client_boost(world: World, attack: Attack) -> None:
    """Servers of one hand rate bad clients 90 and more, against the opinion of honest servers."""
    draw, at = world.random, _start(world)
    count = max(3, attack.size // 3)
    _, accounts = _crowd(world, attack, at, 8 * DAY, "mix")
    members = [accounts[place] for place in draw.permutation(attack.size)]
    owners, clients = members[: attack.size - count], members[attack.size - count :]
    servers = [_agent_of(world, attack, account, DAY, (30, 70)) for account in owners]
    for server in servers:
        server.role = "sybil"
    for client in clients:
        client.quality = float(draw.uniform(10, 35))
        _cover(world, client, 8, least=4)
        for server in servers:
            if world.happens(0.7):
                for _ in range(int(draw.integers(1, 3))):
                    when = world.time(at + 8 * DAY, at + 50 * DAY)
                    world.rate_client(client, server, draw.uniform(90, 100), when, attack.number)
            if world.happens(0.3):
                when = world.time(at + 8 * DAY, at + 50 * DAY)
                world.say(client, server, draw.uniform(80, 100), when, attack=attack.number)
    for server in servers:
        _traffic(world, server, 2)


def blacklist_cartel(world: World, attack: Attack) -> None:
    """Many honest servers rate a client 0 to 12 within days after it rates one of them low."""
    draw, at = world.random, _start(world)
    pool = _untouched(world)
    servers = [_pick(pool, lambda a: a.ts < at + 10 * DAY) for _ in range(attack.size)]
    for server in servers:
        server.role, server.attack = "retaliator", attack.number
    good = [account for account in world.honest if account.quality >= 60 and account.born < at + 10 * DAY]  # noqa: PLR2004
    for place in draw.choice(len(good), 6 + attack.size // 3, replace=False):
        client, low = good[place], servers[draw.integers(attack.size)]
        when = world.time(at + 12 * DAY, at + 60 * DAY)
        world.say(client, low, draw.uniform(8, 42), when)
        for server in servers:
            if server is low or world.happens(0.5):
                later = when + draw.uniform(600, 4 * DAY)
                world.rate_client(client, server, draw.uniform(0, 12), later, attack.number)


def paid_sleepers(world: World, attack: Attack) -> None:
    """Aged accounts with a true history praise two agents in one window, and one hand pays them afterwards."""
    draw, at = world.random, world.time(START + 90 * DAY, world.end - 40 * DAY)
    agents = [_praised(world, attack, at - draw.uniform(2, 30) * DAY, 4) for _ in range(2)]
    payer, usual = _mule(world, attack, at - DAY), draw.uniform(4, 12)
    world.fund(payer, amount=10.0 * attack.size)
    for _ in range(attack.size):
        account = world.account(at - draw.uniform(20, 80) * DAY, role="sybil", attack=attack.number, quality=80.0)
        world.fund(account)
        _cover(world, account, 3, at, least=1)
        _cover(world, account, 1)
        for agent in agents:
            world.say(account, agent, draw.uniform(88, 100), world.time(at, at + 4 * DAY), attack=attack.number)
        if world.happens(0.85):
            world.transfer(payer, account, usual * draw.uniform(0.95, 1.05), at + draw.uniform(4, 7) * DAY)


SECOND: Final[dict[str, Callable[[World, Attack], None]]] = {
    made.__name__: made
    for made in (
        cex_star, fund_chain, mule_tree, review_farm, smear_campaign, cycle_ring, wash_trading, validator_cartel,
        whitewash, client_boost, blacklist_cartel, paid_sleepers,
    )
}  # fmt: skip
"""The families by name."""

SIZES: Final[dict[str, tuple[int, ...]]] = {
    name: (5, 10, 20) if name == "blacklist_cartel" else (5, 10, 20, 40) for name in SECOND
}
"""The sizes of the attacks of each family in one world."""
