"""Listed tokens that misbehave: no record grows for money that did not arrive."""

from __future__ import annotations

import ape
import pytest

from tests.buyers.conftest import CENT, settled_record
from tests.helpers import logged

TWO_OVERLOADS = pytest.mark.parametrize("in_parts", [False, True], ids=["whole", "in parts"])


@pytest.fixture
def listed(deployer, project, identity, attestor, anchorer, seller_id):
    """Deploys a registry that lists a token."""

    def listed(token):
        return deployer.deploy(project.BuyerReputationRegistry, identity, [token], attestor, anchorer)

    return listed


@pytest.fixture
def attempt(listed, signed, client, facilitator):
    """Settles a payment in a token by its own registry, and returns the receipt."""

    def attempt(token, registry=None, buyer=client, *, in_parts=False, **options):
        payment = signed(buyer, token=token, **options)
        return (registry or listed(token)).settle(*payment.settled_in(token, in_parts=in_parts), sender=facilitator)

    return attempt


@TWO_OVERLOADS
@pytest.mark.parametrize("is_silent", [False, True], ids=["returns false", "returns nothing"])
def test_token_that_transfers_nothing_records_nothing(listed, deployer, project, attempt, client, in_parts, is_silent):
    token = deployer.deploy(project.TokenReturnsFalse, is_silent)
    registry = listed(token)
    with ape.reverts(registry.PaymentFellShort, token=token.address, amount=CENT, arrived=0):
        attempt(token, registry, in_parts=in_parts)
    assert settled_record(registry, client).payments == 0


@TWO_OVERLOADS
def test_token_that_keeps_a_fee_is_refused(listed, funded, attempt, owner, in_parts):
    token = funded("TokenKeepsFee")
    registry = listed(token)
    with ape.reverts(registry.PaymentFellShort, token=token.address, amount=CENT, arrived=CENT * 99 // 100):
        attempt(token, registry, in_parts=in_parts)
    assert token.balanceOf(owner) == 10**13


@TWO_OVERLOADS
def test_payment_that_is_one_unit_short_is_refused_and_a_whole_one_recorded(listed, funded, attempt, client, in_parts):
    token = funded("TokenKeepsFee")  # a hundredth, rounded down
    registry = listed(token)
    with ape.reverts(registry.PaymentFellShort, token=token.address, amount=100, arrived=99):
        attempt(token, registry, in_parts=in_parts, amount=100)
    assert attempt(token, registry, in_parts=in_parts, amount=99).return_value is True
    assert settled_record(registry, client)[:2] == (1, 99)


def test_payment_to_oneself_in_a_token_with_a_fee_tells_that_nothing_arrived(listed, funded, attempt, owner):
    token = funded("TokenKeepsFee")
    registry = listed(token)
    with ape.reverts(registry.PaymentFellShort, token=token.address, amount=CENT, arrived=CENT * 99 // 100):
        attempt(token, registry=registry, buyer=owner)


@pytest.mark.parametrize("blocked", ["buyer", "seller"])
def test_blocked_account_gets_the_error_of_the_token(listed, funded, attempt, deployer, client, owner, blocked):
    token = funded("TokenBlocks")
    registry = listed(token)
    account = {"buyer": client, "seller": owner}[blocked]
    token.blockAccount(account, sender=deployer)
    with ape.reverts(token.AccountIsBlocked, account=account.address):
        attempt(token, registry=registry)
    assert settled_record(registry, client).payments == 0


def test_token_that_settles_another_payment_on_the_way_records_both(
    listed, funded, attempt, signed, deployer, client, other_client
):
    token = funded("TokenReenters")
    registry = listed(token)
    inner = signed(other_client, 3 * CENT, token=token)
    token.prepare(registry, registry.settle.encode_input(*inner.settled_in(token)), sender=deployer)
    receipt = attempt(token, registry=registry)
    assert token.entered() == 1
    assert settled_record(registry, client)[:2] == (1, CENT)
    assert settled_record(registry, other_client)[:2] == (1, 3 * CENT)
    assert [name for name, _ in logged(receipt)] == [
        "PaymentSettled", "AuthorizationUsed", "PaymentSettled", "AuthorizationUsed", "Transfer", "Transfer",
    ]  # fmt: skip


def test_token_that_settles_the_same_buyers_payment_on_the_way_loses_none(
    listed, funded, attempt, signed, deployer, client
):
    token = funded("TokenReenters")
    registry = listed(token)
    inner = signed(client, 3 * CENT, token=token)
    token.prepare(registry, registry.settle.encode_input(*inner.settled_in(token, in_parts=True)), sender=deployer)
    attempt(token, registry=registry)
    assert settled_record(registry, client)[:2] == (2, 4 * CENT)


def test_token_that_settles_the_same_payment_again_gains_nothing(listed, funded, signed, deployer, client, facilitator):
    token = funded("TokenReenters")
    registry = listed(token)
    payment = signed(client, token=token)
    token.prepare(registry, registry.settle.encode_input(*payment.settled_in(token)), sender=deployer)
    registry.settle(*payment.settled_in(token), sender=facilitator)
    assert token.entered() == 0
    assert settled_record(registry, client)[:2] == (1, CENT)


def test_token_that_changes_its_decimals_changes_no_record(listed, funded, attempt, deployer, client):
    token = funded("TokenChangesDecimals")
    registry = listed(token)
    attempt(token, registry=registry)
    token.change(18, sender=deployer)
    attempt(token, registry=registry)
    assert settled_record(registry, client)[:2] == (2, 2 * CENT)


def test_token_without_a_balance_settles_nothing(listed, deployer, project, attempt):
    token = deployer.deploy(project.TokenLosesBalances)
    registry = listed(token)
    with pytest.raises(ape.exceptions.ContractLogicError):
        attempt(token, registry=registry)
    token.refuse(sender=deployer)
    with ape.reverts(token.NoBalance):
        attempt(token, registry=registry)
