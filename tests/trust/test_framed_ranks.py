"""An attacker raises the rank of honest accounts by weak signs up to a limit, in a market with payments and ratings."""

from __future__ import annotations

from copy import deepcopy
from functools import cache

import pytest

from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.world import DAY, HOUR, START, Settings
from bilateral.trust.engine import Engine

AT = START + 110 * DAY


@cache
def market():
    return honest_world(5, Settings(clients=500, owners=250, platforms=1, communities=2))


def ranks(world):
    """The rank by weak signs of each account, and whether it is flagged."""
    engine = Engine().fit(world.tables()[0])
    weak, flagged = engine.suspicion_.parts["weak signs"], engine.suspicion_.flagged
    addresses = engine.context_.ledger.addresses.to_pylist()
    return {address: (weak[place], bool(flagged[place])) for place, address in enumerate(addresses)}


@cache
def before():
    return ranks(deepcopy(market()))


def framed(world, way):
    """Let eight fresh accounts frame honest ones, and return those by name."""
    known = [server for server in world.servers if server.wallet is server.owner and server.ts < START + 90 * DAY]
    praised, paid, funded = known[7], known[60], known[33]
    client, beside, own = world.honest[3], praised, None
    targets = {"praised": praised.owner, "paid": paid.owner, "given": funded.owner, "client": client}
    if way == "company":
        owner = world.account(START + 100 * DAY, role="sybil", attack=0)
        world.fund(owner)
        beside = world.agent(owner, START + 100 * DAY, 50.0)
        newcomer = world.account(START + 120 * DAY)
        world.fund(newcomer)
        for agent in (*known[1:4], beside):
            world.say(newcomer, agent, 80, START + 121 * DAY)
        targets = {"newcomer": newcomer}
    for number in range(8):
        at = AT + 3 * HOUR * number
        fresh = world.account(at, role="sybil", attack=0)
        world.fund(fresh)
        if way in {"ratings", "validations"}:
            own = world.agent(fresh, at, 50.0, is_validator=way == "validations")
        if way == "money":
            world.pay(fresh, paid, 1.0, at)
            world.transfer(fresh, funded.owner, 1.0, at)
            world.transfer(fresh, client, 1.0, at)
            world.say(fresh, paid, 80, at + HOUR)
        if way == "ratings":
            world.rate_client(client, own, 0, at)
        elif way == "validations":
            world.validate(own, praised, 100, at)
        else:
            world.say(fresh, beside, 0 if way == "slander" else 100, at)
    return targets


@pytest.mark.parametrize(
    ("way", "limits"),
    [
        ("praise", {"praised": 0.6}),
        ("money", {"praised": 1.1, "paid": 1.0, "given": 0.02, "client": 0.02}),
        ("company", {"newcomer": 1.7}),
        ("slander", {"praised": 0.05}),
        ("ratings", {}),
        ("validations", {"praised": 0.7}),
    ],
)
def test_an_attacker_raises_honest_accounts_up_to_a_limit_and_gets_none_flagged(way, limits):
    world = deepcopy(market())
    targets = framed(world, way)
    after = ranks(world)
    for name, target in targets.items():
        rise = after[target.address][0] - before().get(target.address, (0.0, False))[0]
        assert rise < limits.get(name, 0.02), name
        assert not after[target.address][1]
    honest = [account.address for account in market().accounts if account.address in before()]
    assert [entry for entry in honest if after[entry][1]] == [entry for entry in honest if before()[entry][1]]
