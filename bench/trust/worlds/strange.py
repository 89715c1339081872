"""Attack families that were written after the ranking was trained on more structures, and before it ever met them.

`python -m bench.trust --first-run` records the figures of the first run. They are kept, and never measured again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bench.trust.worlds.attacks import camouflage, funded_owner, some_time, sybils, target
from bench.trust.worlds.world import DAY, HOUR, START, Attack, World

if TYPE_CHECKING:
    from collections.abc import Callable


def shell_suppliers(world: World, attack: Attack) -> None:
    """A bad client buys from shells of its own, which rate it well. The money leaves them by exchanges."""
    at = some_time(world)
    buyers = []
    for _ in range(max(2, attack.size // 5)):
        buyer = world.account(at + world.random.uniform(0, 10 * DAY), role="sybil", attack=attack.number)
        buyer.quality = float(world.random.uniform(10, 40))
        world.fund(buyer, amount=60.0)
        camouflage(world, [buyer], 8.0, buyer.born)
        buyers.append(buyer)
    for shell in sybils(world, attack, at, 25 * DAY):
        agent = target(world, attack, shell, shell.born + HOUR)
        agent.quality = float(world.random.uniform(60, 85))
        for place in world.random.choice(len(world.honest), world.random.integers(1, 5), replace=False):
            client = world.honest[place]
            world.meet(client, agent, world.time(max(agent.ts, client.born)))
        for buyer in buyers:
            if world.random.random() < 0.6:  # noqa: PLR2004
                when = max(agent.ts, buyer.born) + world.random.exponential(12 * DAY)
                world.pay(buyer, agent, world.random.lognormal(-0.5, 1), when)
                world.rate_client(buyer, agent, world.random.uniform(84, 99), when + 5 * HOUR, attack.number)
        exchange = world.exchanges[world.random.integers(len(world.exchanges))]
        world.transfer(shell, exchange, world.random.uniform(1, 3), world.time(at + 40 * DAY, at + 60 * DAY))


def review_panel(world: World, attack: Attack) -> None:
    """Reviewers try many agents early on and say the truth, and sell one opinion each, four for each buyer."""
    start = world.time(START + 5 * DAY, START + 30 * DAY)
    panel = sybils(world, attack, start, 20 * DAY)
    for account in panel:
        for place in world.random.choice(len(world.servers), 12, replace=False):
            agent = world.servers[place]
            when = max(account.born, agent.ts) + world.random.uniform(0, 70 * DAY)
            world.say(account, agent, agent.quality + world.random.normal(0, 7), when)
    later = world.time(START + 90 * DAY, START + 120 * DAY)
    for place, account in enumerate(panel):
        if place % 4 == 0:
            owner = funded_owner(world, attack, later - world.random.uniform(5 * DAY, 20 * DAY))
            agent = target(world, attack, owner, owner.born + HOUR)
            for spot in world.random.choice(len(world.honest), 3, replace=False):
                client = world.honest[spot]
                world.meet(client, agent, world.time(max(agent.ts, client.born)))
        value = world.random.uniform(80, 95)
        world.say(account, agent, value, later + world.random.uniform(0, 40 * DAY), attack=attack.number)


def judge_toll(world: World, attack: Attack) -> None:
    """Validators fail honest agents, and pass them once their owners have paid. Others they judge rightly."""
    at = some_time(world)
    for account in sybils(world, attack, at, 20 * DAY):
        judge = world.agent(
            account, account.born + HOUR, 50.0, is_validator=True, role="beneficiary", attack=attack.number
        )
        for place in world.random.choice(len(world.servers), 8, replace=False):
            agent = world.servers[place]
            when = max(judge.ts, agent.ts) + world.random.exponential(15 * DAY)
            if world.random.random() < 0.5:  # noqa: PLR2004
                world.validate(judge, agent, agent.quality + world.random.normal(0, 5), when)
                continue
            world.validate(judge, agent, world.random.uniform(10, 45), when, attack.number)
            if world.random.random() < 0.6:  # noqa: PLR2004
                world.transfer(agent.owner, account, world.random.lognormal(0.5, 0.5), when + DAY)
                world.validate(judge, agent, world.random.uniform(80, 98), when + 2 * DAY, attack.number)


def penny_orders(world: World, attack: Attack) -> None:
    """Accounts place many small orders with one agent and praise most of them. Honest clients find it bad."""
    at = some_time(world)
    agent = target(world, attack, funded_owner(world, attack, at), at)
    for account in sybils(world, attack, at, 35 * DAY):
        camouflage(world, [account], 1.0, account.born)
        when = account.born
        for _ in range(int(world.random.integers(2, 7))):
            when += world.random.exponential(4 * DAY)
            proof = world.pay(account, agent, world.random.uniform(0.02, 0.08), when)
            if world.random.random() < 0.7:  # noqa: PLR2004
                value = world.random.uniform(82, 100)
                world.say(account, agent, value, when + HOUR, proof=proof, attack=attack.number)
    for place in world.random.choice(len(world.honest), 8, replace=False):
        client = world.honest[place]
        world.meet(client, agent, world.time(max(agent.ts, client.born)))


def wolf_pack(world: World, attack: Attack) -> None:
    """Accounts buy from the best agents of one community and call two each bad, beside ordinary use of others."""
    at = some_time(world)
    community = int(world.random.integers(world.settings.communities))
    rivals = [agent for agent in world.servers if agent.community == community and agent.ts < at]
    best = sorted(rivals, key=lambda agent: -agent.popularity)[:8]
    for account in sybils(world, attack, at, 40 * DAY):
        camouflage(world, [account], 3.0, account.born)
        for place in world.random.choice(len(best), 2, replace=False):
            when = account.born + world.random.exponential(12 * DAY)
            pays = world.random.random() < 0.5  # noqa: PLR2004
            proof = world.pay(account, best[place], world.random.lognormal(-1, 1.2), when) if pays else None
            value = world.random.uniform(10, 40)
            world.say(account, best[place], value, when + HOUR, proof=proof, attack=attack.number)


STRANGE: Final[dict[str, Callable[[World, Attack], None]]] = {
    made.__name__: made for made in (shell_suppliers, review_panel, judge_toll, penny_orders, wolf_pack)
}
"""The families by name."""
