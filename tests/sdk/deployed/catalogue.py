"""The scenarios of all methods by name, and the small steps that they share."""

from __future__ import annotations

from contextlib import suppress

from eth_account import Account
from eth_utils import keccak

from bilateral.core.errors import MissingFunctionError, MissingRegistryError

SCENARIOS = {}


def scenario(function):
    """Register a scenario under the name of its method."""
    SCENARIOS[function.__name__] = function
    return function


def outcome(name, world):
    """Return how a method does in a world: `yes`, or the reason of the error that says that it cannot work."""
    try:
        SCENARIOS[name](world)
    except (MissingFunctionError, MissingRegistryError) as error:
        return f"`{error.reason}`"
    return "yes"


def fresh(world):
    """Register a new agent of the owner's."""
    return world.owner.register_agent().wait().agent


def new_address():
    """Return an address that nobody used before."""
    return Account.create().address


def new_hash():
    """Return a hash that nobody used before."""
    return keccak(text=new_address())


def named(document):
    """Return a document that no other request has."""
    return document + Account.create().address.encode()


def fresh_of_reviewer(world):
    """Register a new agent of the reviewer's."""
    return world.reviewer.register_agent().wait().agent


def proven(world, agents):
    """Prove the newest of some agents to the companion, if there is one."""
    with suppress(MissingRegistryError):
        world.payer.prove_agent(agents[-1]).wait()
    return agents


def speaker(world):
    """Return a client that speaks as an agent of its own, if the deployment has a directory, and the agent."""
    client = world.newcomer()
    agent = client.register_agent().wait().agent
    with suppress(MissingFunctionError):
        client.set_primary_agent(agent).wait()
    return client, agent


def rater(world):
    """Return a client that speaks as an agent of its own, if the deployment has a directory."""
    return speaker(world)[0]
