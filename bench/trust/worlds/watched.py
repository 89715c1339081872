"""Attack families that were written after the first engine, and whose figures were watched while it was changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bench.trust.worlds.attacks import camouflage, mastermind, some_time, sybils, target
from bench.trust.worlds.world import DAY, HOUR, Attack, World

if TYPE_CHECKING:
    from collections.abc import Callable


def bought_clients(world: World, attack: Attack) -> None:
    """Old honest clients praise one agent within days, for money that no table shows."""
    at = some_time(world)
    owner = world.account(at, role="owner", attack=attack.number)
    world.fund(owner)
    agent = target(world, attack, owner, at)
    for place in world.random.choice(len(world.honest), attack.size, replace=False):
        client = world.honest[place]
        client.role, client.attack = "bought", attack.number
        when = max(at, client.born) + world.random.uniform(0, 10 * DAY)
        world.say(client, agent, world.random.uniform(90, 100), when, attack=attack.number)


def two_gangs(world: World, attack: Attack) -> None:
    """Two groups with a funder each praise the agents of the other group."""
    at = some_time(world)
    first = sybils(world, attack, at, 20 * DAY, mastermind(world, attack, at))
    second = sybils(world, attack, at, 20 * DAY, mastermind(world, attack, at))
    for own, others in ((first, second), (second, first)):
        agents = [target(world, attack, account, account.born + 600) for account in others]
        for account in own:
            for place in world.random.choice(len(agents), min(3, len(agents)), replace=False):
                when = world.time(at + 20 * DAY, at + 50 * DAY)
                world.say(account, agents[place], world.random.uniform(85, 100), when, attack=attack.number)


def layered_wash(world: World, attack: Attack) -> None:
    """Clients funded by exchanges pay and praise one agent; the money returns through a new account each time."""
    at = some_time(world)
    owner = world.account(at, role="owner", attack=attack.number)
    world.fund(owner)
    agent = target(world, attack, owner, at)
    for account in sybils(world, attack, at, 30 * DAY):
        when, amount = account.born + world.random.uniform(DAY, 10 * DAY), world.random.lognormal(0, 0.5)
        proof = world.pay(account, agent, amount, when)
        mule = world.account(when, role="mule", attack=attack.number)
        world.transfer(owner, mule, amount * 0.98, when + DAY)
        world.transfer(mule, account, amount * 0.96, when + 2 * DAY)
        world.say(account, agent, world.random.uniform(88, 100), when + HOUR, proof=proof, attack=attack.number)


def slow_slander(world: World, attack: Attack) -> None:
    """Accounts funded by exchanges slander one honest agent over months."""
    at = some_time(world)
    victim = world.servers[world.random.integers(len(world.servers))]
    accounts = sybils(world, attack, at, 50 * DAY)
    for account in accounts:
        when = account.born + world.random.exponential(4 * DAY)
        world.say(account, victim, world.random.uniform(0, 15), when, attack=attack.number)


def swap_market(world: World, attack: Attack) -> None:
    """Owners funded by exchanges swap praise in pairs, each with three partners, and use honest agents as well."""
    at = some_time(world)
    accounts = sybils(world, attack, at, 40 * DAY)
    agents = [target(world, attack, account, account.born + 600) for account in accounts]
    size = len(accounts)
    for place in range(size):
        for step in range(1, min(4, size)):
            other = (place + step) % size
            for client, agent in ((place, other), (other, place)):
                when = world.time(at + 40 * DAY, at + 58 * DAY)
                world.say(accounts[client], agents[agent], world.random.uniform(82, 100), when, attack=attack.number)
    camouflage(world, accounts, 5.0, at)


def own_tag(world: World, attack: Attack) -> None:
    """Accounts of one funder praise its agent under a tag of their own, with one value."""
    at = some_time(world)
    source = mastermind(world, attack, at)
    agent = target(world, attack, source, at)
    for account in sybils(world, attack, at, 10 * DAY, source):
        when = account.born + world.random.exponential(3 * DAY)
        world.say(account, agent, 100, when, attack=attack.number, tag=f"quality{attack.number}")


def lone_validator(world: World, attack: Attack) -> None:
    """A validator passes bad agents whose owners send it money."""
    at = some_time(world)
    owner = world.account(at, role="owner", attack=attack.number)
    world.fund(owner)
    validator = world.agent(owner, at + HOUR, 50.0, is_validator=True, role="beneficiary", attack=attack.number)
    for account in sybils(world, attack, at, 30 * DAY):
        agent = target(world, attack, account, account.born + 600)
        when = account.born + world.random.uniform(DAY, 5 * DAY)
        world.transfer(account, owner, world.random.uniform(1, 3), when)
        world.validate(validator, agent, world.random.uniform(94, 100), when + DAY, attack.number)
        world.rate_validator(validator, agent, world.random.uniform(92, 100), when + 2 * DAY, attack.number)


WATCHED: Final[dict[str, Callable[[World, Attack], None]]] = {
    made.__name__: made
    for made in (bought_clients, two_gangs, layered_wash, slow_slander, swap_market, own_tag, lone_validator)
}
"""The families by name."""
