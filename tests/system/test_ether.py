"""Ether that somebody sends to a registry, in a transaction and not in a simulated call, stays where it was."""

from __future__ import annotations

import pytest

from tests.calls import encoded
from tests.system.rpc_chain import REGISTRIES


def send_ether(world, registry, data):
    """Send a wei with a transaction, which fails; the fixture compares everything at the end."""
    address = world.chain.addresses[registry]
    receipt = world.chain.send(world.everybody[0], address, data, value=1)
    world.something_happened()
    assert receipt["status"] == "0x0"
    assert int(world.chain.node("eth_getBalance", address, "latest"), 16) == 0


@pytest.mark.parametrize("registry", REGISTRIES)
def test_ether_without_a_call_is_refused(world, registry):
    send_ether(world, registry, b"")


@pytest.mark.parametrize("registry", REGISTRIES)
def test_ether_with_a_call_of_no_function_is_refused(world, registry):
    send_ether(world, registry, encoded("deposit()"))
