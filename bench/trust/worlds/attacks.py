"""The attack families. Each is a function that adds one attack of a size to a world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bench.trust.worlds.world import DAY, HOUR, START, Account, Agent, Attack, World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def sybils(world: World, attack: Attack, at: float, spread: float, source: Account | None = None) -> list[Account]:
    """Return new accounts of an attacker, born within a time after another.

    Args:
        world: The world.
        attack: The attack.
        at: The time of the first.
        spread: The time in which they are born, in seconds.
        source: The account that funds them; exchanges if None.
    """
    out = []
    for _ in range(attack.size):
        account = world.account(at + world.random.uniform(0, spread), role="sybil", attack=attack.number, quality=80.0)
        world.fund(account, source, world.random.uniform(4.9, 5.1) if source else None)
        out.append(account)
    return out


def mastermind(world: World, attack: Attack, at: float) -> Account:
    """Return a new account from which an attacker funds others."""
    account = world.account(at - DAY, role="funder", attack=attack.number)
    world.fund(account, amount=50.0 * attack.size)
    return account


def target(world: World, attack: Attack, owner: Account, at: float) -> Agent:
    """Return a new bad agent that an attack praises."""
    quality = world.random.uniform(20, 50)
    return world.agent(owner, at, quality, role="beneficiary", attack=attack.number)


def camouflage(world: World, accounts: Sequence[Account], mean: float, at: float) -> None:
    """Let accounts use some honest agents as honest clients do."""
    for account in accounts:
        for _ in range(world.random.poisson(mean)):
            world.meet(account, world.servers[world.random.integers(len(world.servers))], world.time(at))


def some_time(world: World) -> float:
    """Return a time at which an attack may begin."""
    return world.time(START + 20 * DAY, world.end - 60 * DAY)


def funded_owner(world: World, attack: Attack, at: float) -> Account:
    """Return a new owner that an exchange funds."""
    owner = world.account(at, role="owner", attack=attack.number)
    world.fund(owner)
    return owner


def _praise(
    world: World, attack: Attack, accounts: Sequence[Account], agent: Agent, pause: float, **other: float
) -> None:
    low, high = other.get("low", 94.0), other.get("high", 100.0)
    for account in accounts:
        at = account.born + (world.random.exponential(pause) if pause > 2 * HOUR else world.random.uniform(60, 7200))
        world.say(account, agent, world.random.uniform(low, high), at, attack=attack.number)


def star(world: World, attack: Attack) -> None:
    """Accounts of one funder praise its agent at once."""
    at = some_time(world)
    source = mastermind(world, attack, at)
    _praise(world, attack, sybils(world, attack, at, 2 * HOUR, source), target(world, attack, source, at), HOUR)


def slow_drip(world: World, attack: Attack) -> None:
    """Accounts of one funder praise its agent over months."""
    at = some_time(world)
    source = mastermind(world, attack, at)
    _praise(world, attack, sybils(world, attack, at, 50 * DAY, source), target(world, attack, source, at), 5 * DAY)


def slander(world: World, attack: Attack) -> None:
    """Accounts of one funder slander an honest agent."""
    at = some_time(world)
    agent = world.servers[world.random.integers(len(world.servers))]
    accounts = sybils(world, attack, at, 2 * HOUR, mastermind(world, attack, at))
    _praise(world, attack, accounts, agent, HOUR, low=0.0, high=8.0)


def _ring(
    world: World, attack: Attack, source: Account | None, spread: float, density: float
) -> tuple[list[Account], list[Agent], float]:
    at = some_time(world)
    accounts = sybils(world, attack, at, spread, source and mastermind(world, attack, at))
    agents = [target(world, attack, account, account.born + 600) for account in accounts]
    for first in accounts:
        for second in agents:
            if second.owner is not first and world.random.random() < density:
                when = world.time(at + spread, at + spread + 40 * DAY)
                world.say(first, second, world.random.uniform(90, 100), when, attack=attack.number)
                if world.random.random() < 0.5:  # noqa: PLR2004
                    world.rate_client(first, second, world.random.uniform(90, 100), when + HOUR, attack.number)
    return accounts, agents, at


def ring(world: World, attack: Attack) -> None:
    """Owners with one funder praise each other."""
    _ring(world, attack, world.exchanges[0], 2 * DAY, 0.8)


def camouflaged_ring(world: World, attack: Attack) -> None:
    """Owners with one funder praise each other, and use honest agents as well."""
    accounts, _, at = _ring(world, attack, world.exchanges[0], 2 * DAY, 0.8)
    camouflage(world, accounts, 6.0, at)


def retaliation(world: World, attack: Attack) -> None:
    """Servers rate clients down who gave them a low feedback."""
    for _ in range(attack.size):
        agent = world.servers[world.random.integers(len(world.servers))]
        agent.role, agent.attack = "retaliator", attack.number
        for place in world.random.choice(len(world.honest), 8, replace=False):
            client = world.honest[place]
            when = world.time(max(agent.ts, client.born) + 600)
            world.say(client, agent, world.random.uniform(10, 45), when)
            if client.quality >= 60:  # noqa: PLR2004
                later = when + world.random.uniform(60, 20 * HOUR)
                world.rate_client(client, agent, world.random.uniform(0, 10), later, attack.number)


def self_rating(world: World, attack: Attack) -> None:
    """Owners rate their agents from a fresh account that they funded."""
    for _ in range(attack.size):
        agent = world.servers[world.random.integers(len(world.servers))]
        agent.role, agent.attack = "beneficiary", attack.number
        at = world.time(agent.ts)
        account = world.account(at - DAY, role="sybil", attack=attack.number)
        world.fund(account, agent.owner, 3.0)
        for _ in range(int(world.random.integers(1, 4))):
            world.say(account, agent, 100, at + world.random.exponential(DAY), attack=attack.number)


def funding_chain(world: World, attack: Attack) -> None:
    """Each account funds the next, and all praise one agent."""
    at = some_time(world)
    source = first = mastermind(world, attack, at)
    accounts = []
    for place in range(attack.size):
        account = world.account(at + place * HOUR, role="sybil", attack=attack.number)
        world.fund(account, source, 50.0 - place * 0.1)
        source = account
        accounts.append(account)
    _praise(world, attack, accounts, target(world, attack, first, at), DAY)


def mule_tree(world: World, attack: Attack) -> None:
    """A funder pays mules, and each mule funds a few accounts."""
    at = some_time(world)
    source = mastermind(world, attack, at)
    accounts: list[Account] = []
    while len(accounts) < attack.size:
        mule = world.account(at, role="mule", attack=attack.number)
        world.fund(mule, source, 20.0)
        for _ in range(3):
            account = world.account(at + world.random.uniform(0, 5 * DAY), role="sybil", attack=attack.number)
            world.fund(account, mule, world.random.uniform(3, 7))
            accounts.append(account)
    _praise(world, attack, accounts, target(world, attack, source, at), DAY)


def exchange_star(world: World, attack: Attack) -> None:
    """Fresh accounts funded by exchanges praise one agent within days."""
    at = some_time(world)
    owner = funded_owner(world, attack, at)
    _praise(world, attack, sybils(world, attack, at, DAY), target(world, attack, owner, at), HOUR)


def exchange_drip(world: World, attack: Attack) -> None:
    """Accounts funded by exchanges praise one agent over months, and do little else."""
    at = some_time(world)
    owner = funded_owner(world, attack, at)
    accounts = sybils(world, attack, at, 50 * DAY)
    _praise(world, attack, accounts, target(world, attack, owner, at), 5 * DAY)
    camouflage(world, accounts, 1.0, at)


def exchange_ring(world: World, attack: Attack) -> None:
    """Owners funded by exchanges praise each other, and use honest agents as well."""
    accounts, _, at = _ring(world, attack, None, 30 * DAY, 0.7)
    camouflage(world, accounts, 4.0, at)


def cycle(world: World, attack: Attack) -> None:
    """Owners praise each other in a directed cycle, so that nobody answers a praise."""
    at = some_time(world)
    accounts = sybils(world, attack, at, 20 * DAY)
    agents = [target(world, attack, account, account.born + 600) for account in accounts]
    for step in (1, 2):
        for place, account in enumerate(accounts):
            agent = agents[(place + step) % len(agents)]
            for _ in range(2):
                world.say(
                    account,
                    agent,
                    world.random.uniform(92, 100),
                    world.time(at + 20 * DAY, at + 50 * DAY),
                    attack=attack.number,
                )


def wash_ring(world: World, attack: Attack) -> None:
    """Owners pay and praise each other, and the money comes back."""
    at = some_time(world)
    accounts = sybils(world, attack, at, 20 * DAY)
    agents = [target(world, attack, account, account.born + 600) for account in accounts]
    for place, account in enumerate(accounts):
        for step in (1, 2, 3):
            agent = agents[(place + step) % len(agents)]
            when = world.time(at + 20 * DAY, at + 50 * DAY)
            amount = world.random.lognormal(-0.5, 0.6)
            proof = world.pay(account, agent, amount, when)
            world.transfer(agent.owner, account, amount * 0.99, when + world.random.uniform(HOUR, 2 * DAY))
            world.say(account, agent, world.random.uniform(90, 100), when + HOUR, proof=proof, attack=attack.number)


def dense_block(world: World, attack: Attack) -> None:
    """Accounts funded by exchanges praise the same few agents of one owner."""
    at = some_time(world)
    owner = funded_owner(world, attack, at)
    agents = [target(world, attack, owner, at) for _ in range(4)]
    accounts = sybils(world, attack, at, 40 * DAY)
    for account in accounts:
        for agent in agents:
            if world.random.random() < 0.75:  # noqa: PLR2004
                world.say(
                    account,
                    agent,
                    world.random.uniform(88, 100),
                    world.time(at + 40 * DAY, at + 55 * DAY),
                    attack=attack.number,
                )
    camouflage(world, accounts, 2.0, at)


def sleepers(world: World, attack: Attack) -> None:
    """Accounts behave for months, then praise one agent together."""
    at = world.time(START + 10 * DAY, START + 30 * DAY)
    accounts = sybils(world, attack, at, 5 * DAY, mastermind(world, attack, at))
    camouflage(world, accounts, 4.0, at)
    owner = funded_owner(world, attack, at)
    later = world.time(START + 100 * DAY, START + 150 * DAY)
    agent = target(world, attack, owner, later - DAY)
    for account in accounts:
        world.say(
            account,
            agent,
            world.random.uniform(92, 100),
            later + world.random.uniform(0, 3 * DAY),
            attack=attack.number,
        )


def bribery(world: World, attack: Attack) -> None:
    """An owner sends money to honest clients, who praise its agent for it."""
    at = some_time(world)
    owner = funded_owner(world, attack, at)
    agent = target(world, attack, owner, at)
    for place in world.random.choice(len(world.honest), attack.size, replace=False):
        client = world.honest[place]
        client.role, client.attack = "bribed", attack.number
        when = max(client.born, at) + world.random.uniform(0, 20 * DAY)
        world.transfer(owner, client, world.random.uniform(2, 4), when)
        world.say(
            client,
            agent,
            world.random.uniform(92, 100),
            when + world.random.uniform(HOUR, 2 * DAY),
            attack=attack.number,
        )


def collector(world: World, attack: Attack) -> None:
    """Accounts funded by exchanges praise one agent and send what is left to one collector."""
    at = some_time(world)
    owner = funded_owner(world, attack, at)
    sink = world.account(at, role="mule", attack=attack.number)
    accounts = sybils(world, attack, at, 40 * DAY)
    _praise(world, attack, accounts, target(world, attack, owner, at), 5 * DAY)
    for account in accounts:
        world.transfer(account, sink, world.random.uniform(1, 4), world.time(at + 45 * DAY, at + 55 * DAY))


def validator_cartel(world: World, attack: Attack) -> None:
    """A validator passes the bad agents of its friends, and they praise it."""
    at = some_time(world)
    source = mastermind(world, attack, at)
    accounts = sybils(world, attack, at, 5 * DAY, source)
    validator = world.agent(
        accounts[0], accounts[0].born + 600, 50.0, is_validator=True, role="beneficiary", attack=attack.number
    )
    for account in accounts[1:]:
        agent = target(world, attack, account, account.born + 600)
        world.validate(
            validator, agent, world.random.uniform(95, 100), world.time(at + 5 * DAY, at + 30 * DAY), attack.number
        )
        world.rate_validator(
            validator, agent, world.random.uniform(95, 100), world.time(at + 5 * DAY, at + 30 * DAY), attack.number
        )


def punishing_gang(world: World, attack: Attack) -> None:
    """Servers of one funder rate the same honest clients down."""
    at = some_time(world)
    accounts = sybils(world, attack, at, 5 * DAY, mastermind(world, attack, at))
    agents = [target(world, attack, account, account.born + 600) for account in accounts]
    for place in world.random.choice(len(world.honest), 3, replace=False):
        for agent in agents:
            world.rate_client(
                world.honest[place],
                agent,
                world.random.uniform(0, 10),
                world.time(at + 6 * DAY, at + 40 * DAY),
                attack.number,
            )


def dust_proofs(world: World, attack: Attack) -> None:
    """Fresh accounts pay dust to one agent and prove their praise by it."""
    at = some_time(world)
    owner = funded_owner(world, attack, at)
    agent = target(world, attack, owner, at)
    for account in sybils(world, attack, at, 20 * DAY):
        when = account.born + world.random.exponential(2 * DAY)
        proof = world.pay(account, agent, 1e-4, when)
        world.say(account, agent, world.random.uniform(88, 100), when + HOUR, proof=proof, attack=attack.number)


def modest_star(world: World, attack: Attack) -> None:
    """Accounts of one funder praise its agent modestly, and use honest agents as well."""
    at = some_time(world)
    source = mastermind(world, attack, at)
    accounts = sybils(world, attack, at, 30 * DAY, source)
    _praise(world, attack, accounts, target(world, attack, source, at), 5 * DAY, low=72.0, high=92.0)
    camouflage(world, accounts, 4.0, at)


def framing(world: World, attack: Attack) -> None:
    """Accounts of one funder praise a rival's honest agent, so that the rival looks guilty."""
    at = some_time(world)
    agent = world.servers[world.random.integers(len(world.servers))]
    agent.owner.group = "framed"
    _praise(world, attack, sybils(world, attack, at, 2 * DAY, mastermind(world, attack, at)), agent, DAY)


def many_slanders(world: World, attack: Attack) -> None:
    """Accounts of one funder slander several honest agents, each a few of them."""
    at = some_time(world)
    accounts = sybils(world, attack, at, 10 * DAY, mastermind(world, attack, at))
    victims = [world.servers[place] for place in world.random.choice(len(world.servers), 6, replace=False)]
    for account in accounts:
        for place in world.random.choice(len(victims), 2, replace=False):
            world.say(
                account,
                victims[place],
                world.random.uniform(0, 12),
                world.time(at + 10 * DAY, at + 30 * DAY),
                attack=attack.number,
            )


VISIBLE: Final[tuple[str, ...]] = (
    "star", "slow_drip", "slander", "ring", "camouflaged_ring", "retaliation", "self_rating",
)  # fmt: skip
"""The families that everybody knows."""

FAMILIES: Final[dict[str, Callable[[World, Attack], None]]] = {
    made.__name__: made
    for made in (
        star, slow_drip, slander, ring, camouflaged_ring, retaliation, self_rating, funding_chain, mule_tree,
        exchange_star, exchange_drip, exchange_ring, cycle, wash_ring, dense_block, sleepers, bribery, collector,
        validator_cartel, punishing_gang, dust_proofs, modest_star, framing, many_slanders,
    )
}  # fmt: skip
"""All families of attacks by name."""


def add(world: World, family: str, size: int) -> None:
    """Add one attack to a world.

    Args:
        world: The world.
        family: One of `FAMILIES`.
        size: The number of accounts, or of agents, that attack.
    """
    FAMILIES[family](world, world.begin(family, size))
