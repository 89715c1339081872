"""Attack families by a third author, who knew the visible generator and its facts alone, and not the engine.

The size of an attack is the number of its raters and owners. Mules and funders are not counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bench.trust.worlds.attacks import some_time
from bench.trust.worlds.independent.third_parts import (
    alone,
    bad_agent,
    born,
    by_chain,
    by_mules,
    by_peeling,
    by_tree,
    claim,
    from_one_exchange,
    funded,
    live,
    mule,
    served,
    some,
)
from bench.trust.worlds.world import DAY, HOUR, START, Account, Agent, Attack, World

if TYPE_CHECKING:
    from collections.abc import Callable


def bipartite_farm(world: World, attack: Attack) -> None:
    """Raters on mules of their own moderately praise a part of the agents of owners funded by exchanges."""
    draw, at, count = world.random, some_time(world), max(1, attack.size // 4)
    owners = funded(world, attack, count, (at - 10 * DAY, at), alone, role="beneficiary")
    raters = funded(world, attack, attack.size - count, (at, at + 25 * DAY), by_mules)
    agents = [bad_agent(world, owner) for owner in owners for _ in range(4 if count == 1 else 2)]
    for agent in agents:
        served(world, agent, 3)
    for account in raters:
        for agent in some(world, agents, 0.8 if len(agents) < 6 else 0.5):  # noqa: PLR2004
            claim(world, account, agent, draw.uniform(78, 94), account.born + draw.exponential(8 * DAY), paid=0.15)
        live(world, account, 1.5)


def cycle_ring(world: World, attack: Attack) -> None:
    """Members hand money on from one to the next, and praise the next two again and again, but never back."""
    draw, at = world.random, some_time(world)
    members = funded(world, attack, attack.size, (at, at + 15 * DAY), by_chain)
    agents = [bad_agent(world, account) for account in members]
    for place, account in enumerate(members):
        for step in (1, 2) if attack.size > 4 else (1,):  # noqa: PLR2004
            agent = agents[(place + step) % attack.size]
            for _ in range(int(draw.integers(1, 4))):
                claim(world, account, agent, draw.uniform(84, 97), world.time(at + 15 * DAY, at + 55 * DAY), paid=0.3)
        if world.happens(0.4):
            when = world.time(at + 16 * DAY, at + 55 * DAY)
            world.rate_client(members[place - 1], agents[place], draw.uniform(85, 98), when, attack.number)
        live(world, account, 2)
        served(world, agents[place], 1)


def pyramid(world: World, attack: Attack) -> None:
    """A tree of funds grows over six weeks. Children praise the agents of parents and grandparents."""
    draw, at = world.random, some_time(world) - 10 * DAY
    members = funded(world, attack, attack.size, (at, at + 45 * DAY), by_tree)
    agents = [bad_agent(world, account) for account in members[: max(1, attack.size // 2)]]
    for place, account in enumerate(members[1:], start=1):
        parent = (place - 1) // 2
        for spot in {parent, (parent - 1) // 2 if parent else parent}:
            for _ in range(1 if world.happens(0.6) else 2):
                value = draw.uniform(94, 100) if world.happens(0.7) else draw.uniform(62, 74)
                claim(world, account, agents[spot], value, account.born + draw.exponential(10 * DAY), paid=0.2)
        live(world, account, 2)
    for agent in agents:
        served(world, agent, 3)


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
    draw, at = world.random, some_time(world)
    members = funded(world, attack, attack.size, (at, at + 0.5 * DAY), from_one_exchange)
    agents = [bad_agent(world, account, at=account.born + draw.uniform(0.1, 15) * DAY) for account in members]
    share = 0.9 if attack.size < 5 else 0.6  # noqa: PLR2004
    pairs = {
        (first, second)
        for clique in _cliques(world, attack.size)
        for first in clique
        for second in clique
        if first != second and world.happens(share)
    }
    for first, second in sorted(pairs):
        value = draw.uniform(90, 100) if world.happens(0.6) else draw.uniform(70, 90)
        claim(world, members[first], agents[second], value, world.time(at + 15 * DAY, at + 58 * DAY), paid=0.35)
        if world.happens(0.25):
            when = world.time(at + 16 * DAY, at + 58 * DAY)
            world.rate_client(members[first], agents[second], draw.uniform(80, 100), when, attack.number)
    for account, agent in zip(members, agents, strict=True):
        live(world, account, 5)
        served(world, agent, 1.5)


def aged_sleepers(world: World, attack: Attack) -> None:
    """Aged accounts with an ordinary past and a pause praise the same few agents within four days."""
    draw = world.random
    sleepers = funded(world, attack, attack.size - 1, (START, START + 45 * DAY), alone)
    at = world.time(START + 95 * DAY, world.end - 10 * DAY)
    owner = funded(world, attack, 1, (at - 25 * DAY, at - 5 * DAY), alone, role="beneficiary")[0]
    agents = [bad_agent(world, owner) for _ in range(3 + attack.size // 15)]
    for agent in agents:
        served(world, agent, 3)
    for account in sleepers:
        live(world, account, 4, START + 75 * DAY)
        for agent in some(world, agents, 0.8):
            claim(world, account, agent, draw.uniform(86, 100), at + draw.uniform(0, 4 * DAY), paid=0.3)


def wash_payers(world: World, attack: Attack) -> None:
    """Accounts pay and prove their praise. The agents' wallet sends the money back by a mule, round after round."""
    draw, at = world.random, some_time(world)
    owner = funded(world, attack, 1, (at - 5 * DAY, at - DAY), alone, role="beneficiary")[0]
    payers = funded(world, attack, attack.size - 1, (at, at + 12 * DAY), by_mules)
    wallet = world.account(owner.born, role="mule", attack=attack.number)
    world.transfer(owner, wallet, 3, owner.born + 300)
    agents = [
        bad_agent(world, owner, at=at + draw.uniform(0, DAY), wallet=wallet) for _ in range(1 + attack.size // 10)
    ]
    back = mule(world, attack.number, at + 13 * DAY, wallet, 2.0)
    for turn in range(int(draw.integers(3, 6))):
        begin = at + (14 + 7 * turn) * DAY
        for account in some(world, payers, 0.75) if turn else payers:
            for _ in range(int(draw.integers(1, 4))):
                agent = agents[draw.integers(len(agents))]
                when = min(begin + draw.uniform(0, 4 * DAY), world.end - DAY)
                claim(world, account, agent, draw.uniform(88, 100), when, paid=0.95, proven=0.9)
        when = min(begin + 4.5 * DAY, world.end - 2 * HOUR)
        world.transfer(wallet, back, len(payers) * draw.uniform(0.5, 1), when)
        for account in payers:
            when = min(begin + draw.uniform(4.6, 6.5) * DAY, world.end - draw.uniform(0, HOUR))
            world.transfer(back, account, draw.uniform(0.3, 1.5), when)
    for account in payers:
        live(world, account, 1)
    for agent in agents:
        served(world, agent, 3)


def _rivals(world: World, owner: Account, at: float, count: int) -> list[Agent]:
    """Return good agents of an owner's community from before a time, the popular ones most."""
    near = [agent for agent in world.servers if agent.community == owner.community]
    good = [agent for agent in near if agent.ts < at and agent.quality > 60]  # noqa: PLR2004
    weight = np.array([agent.popularity for agent in good])
    places = world.random.choice(len(good), min(count, len(good)), replace=False, p=weight / weight.sum())
    return [good[place] for place in places]


def rival_slander(world: World, attack: Attack) -> None:
    """Accounts on peeled money call rivals of one community bad and praise the owner's agents, for three weeks."""
    draw, at = world.random, some_time(world)
    owner = funded(world, attack, 1, (at - 5 * DAY, at), alone, role="beneficiary")[0]
    raters = funded(world, attack, attack.size - 1, (at, at + 20 * DAY), by_peeling, community=owner.community)
    agents = [bad_agent(world, owner) for _ in range(1 + attack.size // 20)]
    rivals = _rivals(world, owner, at, 3 + attack.size // 10)
    for account in raters:
        for rival in some(world, rivals, 0.75):
            claim(world, account, rival, draw.uniform(10, 40), account.born + draw.uniform(0.1, 20) * DAY, paid=0.5)
        for agent in some(world, agents, 0.6):
            claim(world, account, agent, draw.uniform(80, 97), account.born + draw.uniform(0.1, 20) * DAY, paid=0.5)
        live(world, account, 2)
    for agent in agents:
        served(world, agent, 3)


def client_blacklist(world: World, attack: Attack) -> None:
    """Servers of normal quality and age rate the same honest clients low, and other clients fairly."""
    draw = world.random
    owners = funded(world, attack, attack.size, (START, START + 40 * DAY), alone)
    at = world.time(START + 60 * DAY, world.end - 45 * DAY)
    agents = [bad_agent(world, owner, (55, 85)) for owner in owners]
    good = [account for account in world.honest if account.quality >= 60 and account.born < at - DAY]  # noqa: PLR2004
    victims = [good[place] for place in draw.choice(len(good), 4 + attack.size // 5, replace=False)]
    for owner, agent in zip(owners, agents, strict=True):
        served(world, agent, 6)
        live(world, owner, 1)
        for victim in some(world, victims, 0.75):
            when = at + draw.uniform(0, 40 * DAY)
            if world.happens(0.4):
                world.pay(victim, agent, draw.lognormal(-1, 1.2), when - 600)
                world.say(victim, agent, agent.quality + victim.bias + draw.normal(0, 8), when - 300)
            value = draw.uniform(0, 18) if world.happens(0.7) else draw.uniform(30, 50)
            world.rate_client(victim, agent, value, when, attack.number)


def client_laundry(world: World, attack: Attack) -> None:
    """Bad clients of one exchange get high ratings from a hub of shell servers, with washed payments."""
    draw, at, count = world.random, some_time(world), max(1, attack.size // 5)
    owners = funded(world, attack, count, (at - 12 * DAY, at), by_chain)
    agents = [bad_agent(world, owner, (40, 70)) for owner in owners for _ in range(3 if count == 1 else 1)]
    clients = born(world, attack, attack.size - count, (at, at + 2 * DAY))
    from_one_exchange(world, clients)
    for account in clients:
        account.quality = float(draw.uniform(8, 35))
        live(world, account, 5)
        for agent in some(world, agents, 0.7):
            _launder(world, account, agent, at)
    for agent in agents:
        served(world, agent, 2)


def _launder(world: World, client: Account, agent: Agent, at: float) -> None:
    """Let a shell server rate a bad client well, and send its payments back."""
    draw = world.random
    for _ in range(int(draw.integers(1, 4))):
        when = world.time(client.born + DAY, at + 50 * DAY)
        if world.happens(0.6):
            amount = draw.lognormal(-1.5, 1)
            world.pay(client, agent, amount, when)
            world.transfer(agent.owner, client, amount * 0.97, when + draw.uniform(1, 30) * HOUR)
        world.rate_client(client, agent, draw.uniform(85, 100), when + draw.uniform(1, 20) * HOUR, client.attack)
    if world.happens(0.35):
        claim(world, client, agent, draw.uniform(75, 95), world.time(at + 3 * DAY, at + 50 * DAY))


def validator_cartel(world: World, attack: Attack) -> None:
    """Validators praise poor agents of their own and fail some rivals, and the agents praise the validators."""
    draw, at, count = world.random, some_time(world), max(1, attack.size // 6)
    members = funded(world, attack, attack.size, (at, at + 12 * DAY), by_tree)
    validators = [
        bad_agent(world, account, (40, 60), popularity=0.01, is_validator=True) for account in members[:count]
    ]
    owners = members[count:]
    agents = [bad_agent(world, account) for account in owners for _ in range(2 if attack.size < 8 else 1)]  # noqa: PLR2004
    for agent in agents:
        for validator in some(world, validators, 0.6):
            when = at
            for _ in range(int(draw.integers(1, 3))):
                when = world.time(at + 14 * DAY, at + 55 * DAY)
                world.validate(validator, agent, draw.uniform(84, 98), when, attack.number)
            if world.happens(0.7):
                later = when + draw.uniform(1, 72) * HOUR
                world.rate_validator(validator, agent, draw.uniform(86, 100), later, attack.number)
        served(world, agent, 4)
    for place, account in enumerate(owners):
        live(world, account, 2)
        if world.happens(0.5):
            choices = (agents[(place + 2) % len(agents)], agents[0], agents[-1])
            agent = next((agent for agent in choices if agent.owner is not account), agents[-1])
            claim(world, account, agent, draw.uniform(75, 92), world.time(at + 14 * DAY, at + 55 * DAY))
    for validator in validators:
        _judge_others(world, attack, validator, at)


def _judge_others(world: World, attack: Attack, validator: Agent, at: float) -> None:
    """Let a validator judge honest agents, four fifths of them rightly."""
    draw = world.random
    for place in draw.choice(len(world.servers), int(draw.integers(4, 10)), replace=False):
        agent = world.servers[place]
        lies = world.happens(0.2)
        when = world.time(max(agent.ts, at + 14 * DAY))
        quality = agent.turns[1] if agent.turns and when > agent.turns[0] else agent.quality
        value = draw.uniform(8, 30) if lies else quality + draw.normal(0, 5)
        world.validate(validator, agent, value, when, attack.number if lies else -1)


def exit_traitor(world: World, attack: Attack) -> None:
    """Agents serve well for months, then fail. Raters on mules hide the fall by high values in the weeks after it."""
    draw = world.random
    owner = funded(world, attack, 1, (START + 5 * DAY, START + 35 * DAY), alone, role="beneficiary")[0]
    fall = world.time(START + 80 * DAY, world.end - 40 * DAY)
    count = 1 + attack.size // 12 + (attack.size < 8)  # noqa: PLR2004
    agents = [bad_agent(world, owner, (82, 95)) for _ in range(count)]
    raters = funded(world, attack, attack.size - 1, (fall - 12 * DAY, fall + 8 * DAY), by_mules)
    for agent in agents:
        agent.turns = (fall + draw.uniform(0, 3 * DAY), float(draw.uniform(5, 22)))
        served(world, agent, 35, stop=fall)
        served(world, agent, 18, start=fall)
    for account in raters:
        live(world, account, 2)
        for agent in some(world, agents, 0.8):
            for _ in range(int(draw.integers(1, 3))):
                value = draw.uniform(92, 100) if world.happens(0.6) else draw.uniform(76, 92)
                when = max(fall, account.born) + draw.uniform(0.2, 25) * DAY
                claim(world, account, agent, value, when, paid=0.5)


def broker_hub(world: World, attack: Attack) -> None:
    """Buyers pay a broker, and its few raters on peeled money praise the buyers' agents soon after."""
    draw, at, count = world.random, some_time(world) - 10 * DAY, max(2, attack.size // 5)
    buyers = funded(world, attack, attack.size - count, (START, at), alone, role="beneficiary")
    raters = funded(world, attack, count, (at - 6 * DAY, at), by_peeling)
    broker = world.account(at - 9 * DAY, role="funder", attack=attack.number)
    world.fund(broker)
    for account in raters:
        live(world, account, 8)
    for buyer in buyers:
        few = 3 if attack.size < 6 else int(draw.integers(1, 3))  # noqa: PLR2004
        agents = [bad_agent(world, buyer, (30, 65)) for _ in range(few)]
        when = world.time(at + DAY, at + 58 * DAY)
        world.transfer(buyer, broker, draw.lognormal(2, 0.5), when)
        live(world, buyer, 3)
        for agent in agents:
            served(world, agent, 3)
            for account in some(world, raters, 0.7):
                claim(world, account, agent, draw.uniform(80, 98), when + draw.uniform(0.1, 5) * DAY, paid=0.25)
    for account in raters:
        world.transfer(broker, account, draw.lognormal(2, 0.5), at + draw.uniform(59, 63) * DAY)


def relay_waves(world: World, attack: Attack) -> None:
    """Waves of a few accounts, each funded by the wave before, praise the same agents for a week and fall silent."""
    draw, count = world.random, max(2, int(np.ceil((attack.size - 1) / 5)))
    at = world.time(START + 20 * DAY, START + 60 * DAY)
    gap = min(9, 95 / count) * DAY
    owner = funded(world, attack, 1, (at - 8 * DAY, at), alone, role="beneficiary")[0]
    agents = [bad_agent(world, owner) for _ in range(2 + attack.size // 20)]
    waves = [len(wave) for wave in np.array_split(np.arange(attack.size - 1), count) if len(wave)]
    before: list[Account] = []
    for turn, size in enumerate(waves):
        begin = at + turn * gap + DAY
        wave = born(world, attack, size, (begin, begin + 0.3 * gap))
        if not before:
            from_one_exchange(world, wave)
        for account in wave:
            if before:
                source = before[draw.integers(len(before))]
                world.transfer(source, account, draw.lognormal(2.6, 0.4), account.born - draw.uniform(300, 0.3 * gap))
            for agent in some(world, agents, 0.8):
                usual = world.happens(0.9)
                value = float(np.clip(draw.normal(83, 5), 70, 95)) if usual else draw.uniform(50, 65)
                claim(world, account, agent, value, account.born + draw.uniform(0.1 * gap, 7 * DAY), paid=0.3)
            live(world, account, 1.5, min(account.born + 9 * DAY, world.end))
        before = wave
    for agent in agents:
        served(world, agent, 4)


THIRD: Final[dict[str, Callable[[World, Attack], None]]] = {
    made.__name__: made
    for made in (
        bipartite_farm, cycle_ring, pyramid, overlapping_cliques, aged_sleepers, wash_payers, rival_slander,
        client_blacklist, client_laundry, validator_cartel, exit_traitor, broker_hub, relay_waves,
    )
}  # fmt: skip
"""The families by name."""

_ROTA: Final = ((3, 10, 30), (5, 15, 50), (4, 8, 20, 40))

SIZES: Final[dict[str, tuple[int, ...]]] = {
    family: _ROTA[(place + 1) % len(_ROTA)] for place, family in enumerate(THIRD)
}
"""The sizes of each family's attacks in a world, as the source has them for its seed 1."""
