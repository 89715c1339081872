"""Gas cases of the identity registry."""

from ape.api import AccountAPI

from bench.measurement import GasCase, World, execution_gas

URI = "https://agent.example.com/.well-known/agent-card.json"
"""An agent URI of 53 characters, as those of the references' figures."""

METADATA = [("agentName", b"alice"), ("category", b"defi-trading")]


def _register_some(world: World, account: AccountAPI, count: int) -> None:
    for _ in range(count):
        world.identity.register(sender=account)


def _register(world: World, *arguments: object, earlier: int) -> int:
    _register_some(world, world.owner, earlier)
    return int(world.identity.register(*arguments, sender=world.owner).gas_used)


def _set_agent_uri(world: World) -> int:
    world.identity.register(URI, sender=world.owner)
    return int(world.identity.setAgentURI(1, URI[::-1], sender=world.owner).gas_used)


def _set_metadata(world: World) -> int:
    _register_some(world, world.owner, 1)
    return int(world.identity.setMetadata(1, "category", b"defi", sender=world.owner).gas_used)


def _transfer(world: World) -> int:
    _register_some(world, world.owner, 2)
    # The first of the two is the primary agent, which makes it the dearer one to give away.
    return int(world.identity.transferFrom(world.owner, world.receiver, 1, sender=world.owner).gas_used)


def _new_agent(world: World) -> int:
    return int(world.identity.newAgent("agent.example", world.owner, sender=world.owner).gas_used)


def _resolve_by_address(world: World) -> int:
    world.identity.newAgent("agent.example", world.owner, sender=world.owner)
    return execution_gas(world.identity.resolveByAddress, world.owner)


def _agent_of(world: World) -> int:
    _register_some(world, world.owner, 1)
    return execution_gas(world.identity.agentOf, world.owner)


CASES = [
    GasCase("register(), fresh account", 79_500, lambda w: _register(w, earlier=0), 106_883, 100_434),
    GasCase("register(), its second", 62_000, lambda w: _register(w, earlier=1), 89_783, 83_334),
    GasCase("register(uri), fresh account", 128_000, lambda w: _register(w, URI, earlier=0), 177_852, 170_255),
    GasCase("register(uri), its second", 111_000, lambda w: _register(w, URI, earlier=1), 160_752, 153_155),
    GasCase(
        "register(uri, 2 entries), second", 168_000, lambda w: _register(w, URI, METADATA, earlier=1), 220_505, 213_603
    ),
    GasCase("setAgentURI, as many words", 46_000, _set_agent_uri, 72_662, 67_105),
    GasCase("setMetadata, new key", 52_000, _set_metadata, 57_480, 52_213),
    GasCase("transferFrom to a fresh account", 62_500, _transfer, 68_292, 60_333),
    GasCase("newAgent", 135_000, _new_agent, None, 149_475),
    GasCase("resolveByAddress, execution", 9_000, _resolve_by_address, None, 9_876),
    GasCase("agentOf, execution", 3_000, _agent_of),
]
"""The identity registry's calls."""
