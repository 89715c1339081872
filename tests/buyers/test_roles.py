"""The two roles: they are named at the deployment, and handed over in two steps."""

from __future__ import annotations

import ape
import pytest

from tests.helpers import logged

ATTESTOR, ANCHORER = 0, 1
ROLES = pytest.mark.parametrize("role", [ATTESTOR, ANCHORER], ids=["attestor", "anchorer"])
ZERO = "0x" + "00" * 20


@pytest.fixture
def holders(attestor, anchorer):
    return [attestor, anchorer]


@ROLES
def test_role_is_held_from_the_deployment(registry, holders, role):
    assert tuple(registry.roleHolderOf(role)) == (holders[role].address, ZERO)


@ROLES
def test_role_is_handed_over_in_two_steps(registry, holders, successor, role):
    holder = holders[role].address
    receipt = registry.setNominee(successor, role, sender=holders[role])
    assert logged(receipt) == [("SuccessorNominated", {"role": role, "holder": holder, "nominee": successor.address})]
    assert tuple(registry.roleHolderOf(role)) == (holder, successor.address)
    receipt = registry.takeRole(role, sender=successor)
    assert logged(receipt) == [("RoleTaken", {"role": role, "formerHolder": holder, "holder": successor.address})]
    assert tuple(registry.roleHolderOf(role)) == (successor.address, ZERO)
    assert tuple(registry.roleHolderOf(1 - role)) == (holders[1 - role].address, ZERO)


@ROLES
def test_former_holder_has_no_role(registry, holders, successor, role):
    registry.setNominee(successor, role, sender=holders[role])
    registry.takeRole(role, sender=successor)
    with ape.reverts(registry.NotRoleHolder, role=role, caller=holders[role].address):
        registry.setNominee(holders[role], role, sender=holders[role])
    with ape.reverts(registry.NotNominated, role=role, caller=successor.address):
        registry.takeRole(role, sender=successor)


@ROLES
def test_holder_of_the_other_role_nominates_nobody(registry, holders, successor, role):
    other = holders[1 - role]
    with ape.reverts(registry.NotRoleHolder, role=role, caller=other.address):
        registry.setNominee(successor, role, sender=other)


@ROLES
def test_account_that_is_not_nominated_takes_no_role(registry, holders, successor, stranger, role):
    registry.setNominee(successor, role, sender=holders[role])
    for caller in (stranger, holders[role]):
        with ape.reverts(registry.NotNominated, role=role, caller=caller.address):
            registry.takeRole(role, sender=caller)


@ROLES
def test_nomination_is_withdrawn(registry, holders, successor, role):
    registry.setNominee(successor, role, sender=holders[role])
    registry.setNominee(ZERO, role, sender=holders[role])
    with ape.reverts(registry.NotNominated, role=role, caller=successor.address):
        registry.takeRole(role, sender=successor)


def test_zero_address_takes_no_role_even_in_a_simulation(registry, chain):
    data = f"0x{bytes(registry.takeRole.encode_input(ATTESTOR)).hex()}"
    answer = chain.provider.web3.provider.make_request(
        "eth_call", [{"from": ZERO, "to": registry.address, "data": data}, "latest"]
    )
    assert "error" in answer


def test_anchorer_keeps_the_epoch_when_it_hands_over(registry, anchorer, successor):
    registry.anchorRoot(1, b"\1" * 32, sender=anchorer)
    registry.setNominee(successor, ANCHORER, sender=anchorer)
    registry.takeRole(ANCHORER, sender=successor)
    assert registry.getNextEpoch() == 2
    registry.anchorRoot(2, b"\2" * 32, sender=successor)
    assert bytes(registry.rootOf(2)) == b"\2" * 32
