"""The registries on a chain of their own, beside their model."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.system.questions import REQUEST_HASHES
from tests.system.rpc_chain import running_chain
from tests.system.world import World

GIVEN = (87, 0, "uptime", "", "", "ipfs://short", bytes(32))
"""The arguments of `giveFeedback` after the agent."""

RESPONSE = ("ipfs://answer", bytes(32))
REQUEST = ("ipfs://request", REQUEST_HASHES[1])


@pytest.fixture(scope="session")
def system():
    """All registries. Each test undoes what it does with them."""
    with running_chain() as chain:
        yield chain


def world_with_agents(chain):
    """A world in which the first person has agent 1, and the second has agent 2 and gave agent 1 feedback."""
    world = World(chain, Counter())
    owner, client, *_ = world.everybody
    for account in owner, client:
        world.call(account, "identity", "register()")
    for registry in "open", "plain":
        world.call(client, registry, "giveFeedback", 1, *GIVEN)
    return world


@pytest.fixture
def world(system):
    """A world with agents, in which all must be well at the end."""
    world = world_with_agents(system)
    world.check()
    yield world
    world.check()
    world.end()
