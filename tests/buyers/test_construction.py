"""The constructor names everything that never changes, and refuses what could not work."""

from __future__ import annotations

import ape
import pytest

from tests.helpers import logged

ZERO = "0x" + "00" * 20


@pytest.fixture
def construct(deployer, project, identity, token, attestor, anchorer):
    """Deploys a registry with other arguments."""

    def construct(**changed):
        arguments = {"identity": identity, "tokens": [token], "attestor": attestor, "anchorer": anchorer} | changed
        return deployer.deploy(project.BuyerReputationRegistry, *arguments.values())

    return construct


def test_registry_tells_its_arguments(registry, identity, token):
    assert registry.getIdentityRegistry() == identity.address
    assert list(registry.getTokenAddresses()) == [token.address]


def test_deployment_tells_the_first_holders(construct, attestor, anchorer):
    assert logged(construct().creation_metadata.receipt) == [
        ("RoleTaken", {"role": 0, "formerHolder": ZERO, "holder": attestor.address}),
        ("RoleTaken", {"role": 1, "formerHolder": ZERO, "holder": anchorer.address}),
    ]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_up_to_four_tokens_are_listed_and_settled(construct, deployer, project, signed, client, facilitator, number):
    tokens = [deployer.deploy(project.MockPaymentToken) for _ in range(number)]
    registry = construct(tokens=tokens)
    assert list(registry.getTokenAddresses()) == [token.address for token in tokens]
    for token in tokens:
        token.mint(client, 10, sender=deployer)
        assert registry.settle(*signed(client, 10, token=token).settled_in(token), sender=facilitator).return_value


@pytest.mark.parametrize("number", [0, 5])
def test_no_token_and_five_are_refused(construct, project, deployer, number):
    tokens = [deployer.deploy(project.MockPaymentToken) for _ in range(number)]
    with ape.reverts(project.BuyerReputationRegistry.TokenCountOutOfRange, count=number, limit=4):
        construct(tokens=tokens)


def test_token_is_listed_once(construct, project, token, deployer):
    other = deployer.deploy(project.MockPaymentToken)
    with ape.reverts(project.BuyerReputationRegistry.TokenListedTwice, token=token.address):
        construct(tokens=[token, other, token])


@pytest.mark.parametrize("decimals", [0, 5, 7, 18])
def test_token_has_six_decimals(construct, project, deployer, decimals):
    token = deployer.deploy(project.TokenChangesDecimals)
    token.change(decimals, sender=deployer)
    refusal = {"token": token.address, "decimals": decimals, "required": 6}
    with ape.reverts(project.BuyerReputationRegistry.UnsuitableDecimals, **refusal):
        construct(tokens=[token])


def test_account_is_refused_as_a_token(construct, stranger):
    with pytest.raises(ape.exceptions.ContractLogicError, match="Transaction failed"):
        construct(tokens=[stranger])


@pytest.mark.parametrize(("name", "role"), [("attestor", 0), ("anchorer", 1)])
def test_role_needs_a_holder(construct, project, name, role):
    with ape.reverts(project.BuyerReputationRegistry.RoleWithoutHolder, role=role):
        construct(**{name: ZERO})


def test_identity_registry_has_code(construct, stranger):
    with ape.reverts("bad identity"):
        construct(identity=stranger)


def test_one_account_holds_both_roles(construct, attestor):
    registry = construct(anchorer=attestor)
    assert [registry.roleHolderOf(role)[0] for role in (0, 1)] == [attestor.address] * 2
