"""Attacks whose members praise each other: rings, gangs, cycles, swaps and cliques."""

from itertools import permutations

from bench.trust.worlds import crowds, personas
from bench.trust.worlds.world import DAY, HOUR, Account, Attack, World


def _ring(world: World, attack: Attack, spread: float, density: float, *, one: bool) -> tuple[list[Account], float]:
    at, accounts, agents = world.gang(attack, spread, one=one)
    for first in accounts:
        for second in agents:
            if second.owner is not first and world.happens(density):
                when = world.time(at + spread, at + spread + 40 * DAY)
                world.say(first, second, world.random.uniform(90, 100), when, attack=attack.number)
                if world.happens(0.5):
                    world.rate_client(first, second, world.random.uniform(90, 100), when + HOUR, attack.number)
    return accounts, at


def ring(world: World, attack: Attack) -> None:
    """Owners with one funder praise each other."""
    _ring(world, attack, 2 * DAY, 0.8, one=True)


def camouflaged_ring(world: World, attack: Attack) -> None:
    """Owners with one funder praise each other, and use honest agents as well."""
    accounts, at = _ring(world, attack, 2 * DAY, 0.8, one=True)
    world.camouflage(accounts, 6.0, at)


def exchange_ring(world: World, attack: Attack) -> None:
    """Owners funded by exchanges praise each other, and use honest agents as well."""
    accounts, at = _ring(world, attack, 30 * DAY, 0.7, one=False)
    world.camouflage(accounts, 4.0, at)


def cycle(world: World, attack: Attack) -> None:
    """Owners praise each other in a directed cycle, so that nobody answers a praise."""
    at, accounts, agents = world.gang(attack, 20 * DAY)
    for step in (1, 2):
        for place, account in enumerate(accounts):
            agent = agents[(place + step) % len(agents)]
            for _ in range(2):
                value, when = world.random.uniform(92, 100), world.time(at + 20 * DAY, at + 50 * DAY)
                world.say(account, agent, value, when, attack=attack.number)


def oneway_ring(world: World, attack: Attack) -> None:
    """Owners with no common funder praise the next ones in a ring, so that nobody answers a praise."""
    draw, at, size = world.random, world.some_time(20, 75), attack.size
    owners = [personas.new_owner(world, attack, at + draw.uniform(-10, 35) * DAY) for _ in range(size)]
    agents = [personas.target(world, account, account.born + draw.exponential(3 * DAY)) for account in owners]
    share = attack.by_size({5: 1.0, 11: 0.75, 23: 0.5})
    for place, account in enumerate(owners):
        for step in range(1, (size - 1) // 2 + 1):
            agent = agents[(place + step) % size]
            if world.happens(share):
                ts = max(account.born, agent.ts) + draw.exponential(14 * DAY)
                personas.lie(world, account, agent, draw.normal(91, 5), ts, answered=0.3)
        personas.cover(world, account, 3)
        personas.public(world, agents[place], draw.poisson(4))


def hidden_circle(world: World, attack: Attack) -> None:
    """Owners praise the next two or three in a hidden circle, so that no pair praises each other."""
    draw, at, size = world.random, world.some_time(25, 70), attack.size
    _, members = crowds.crowd(world, attack, at, 6 * DAY, "mix")
    agents = [crowds.agent_of(world, attack, account, 2 * DAY, (20, 55)) for account in members]
    order = draw.permutation(size)
    for place in range(size):
        for step in (1, 2) if size < 8 else (1, 2, 3):  # noqa: PLR2004
            account, agent = members[order[place]], agents[order[(place + step) % size]]
            if step > 1 and world.happens(0.15):
                continue
            for _ in range(int(draw.integers(1, 3))):
                world.lie(world.say, attack, account, agent, world.time(at + 8 * DAY, at + 50 * DAY), (90, 100))
            if world.happens(0.3):
                world.lie(world.rate_client, attack, account, agent, world.time(at + 8 * DAY, at + 50 * DAY), (88, 100))
        crowds.cover(world, members[place], 2)
        crowds.traffic(world, agents[place], 1)


def cycle_ring(world: World, attack: Attack) -> None:
    """Members hand money on from one to the next, and praise the next two again and again, but never back."""
    draw, at = world.random, world.some_time()
    members = crowds.funded(world, attack, attack.size, (at, at + 15 * DAY), crowds.by_chain)
    agents = [crowds.bad_agent(world, account) for account in members]
    for place, account in enumerate(members):
        for step in (1, 2) if attack.size > 4 else (1,):  # noqa: PLR2004
            agent = agents[(place + step) % attack.size]
            for _ in range(int(draw.integers(1, 4))):
                value, ts = draw.uniform(84, 97), world.time(at + 15 * DAY, at + 55 * DAY)
                crowds.claim(world, account, agent, value, ts, paid=0.3)
        if world.happens(0.4):
            when = world.time(at + 16 * DAY, at + 55 * DAY)
            world.rate_client(members[place - 1], agents[place], draw.uniform(85, 98), when, attack.number)
        crowds.live(world, account, 2)
        crowds.served(world, [agents[place]], 1)


def _cliques(world: World, size: int) -> list[range]:
    """Return cliques of four to six places, each of which shares two with the next."""
    place, out = 0, []
    while True:
        count = int(world.random.integers(4, 7))
        out.append(range(place, min(place + count, size)))
        if place + count >= size:
            return out
        place += count - 2


def overlapping_cliques(world: World, attack: Attack) -> None:
    """Accounts of one exchange and half a day praise each other in cliques that share members, with much cover."""
    draw, at = world.random, world.some_time()
    members = crowds.funded(world, attack, attack.size, (at, at + 0.5 * DAY), crowds.from_one_exchange)
    agents = [crowds.bad_agent(world, account, at=account.born + draw.uniform(0.1, 15) * DAY) for account in members]
    share = 0.9 if attack.size < 5 else 0.6  # noqa: PLR2004
    pairs = (pair for clique in _cliques(world, attack.size) for pair in permutations(clique, 2))
    for first, second in sorted(set(world.part(pairs, share))):
        value = draw.uniform(90, 100) if world.happens(0.6) else draw.uniform(70, 90)
        crowds.claim(world, members[first], agents[second], value, world.time(at + 15 * DAY, at + 58 * DAY), paid=0.35)
        if world.happens(0.25):
            when = world.time(at + 16 * DAY, at + 58 * DAY)
            world.rate_client(members[first], agents[second], draw.uniform(80, 100), when, attack.number)
    for account, agent in zip(members, agents, strict=True):
        crowds.live(world, account, 5)
        crowds.served(world, [agent], 1.5)
