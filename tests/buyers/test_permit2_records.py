"""Payments by Permit2 reach the records of buyers through the attestor: `settle` has no path for them."""

from __future__ import annotations

import ape
import pytest

from tests.buyers.conftest import attested_record, payment_word, settled_record
from tests.permit2 import PaymentChain


@pytest.fixture
def payment_chain(chain, project):
    return PaymentChain(chain.provider.uri, project)


@pytest.fixture
def buyer(payment_chain):
    return payment_chain.buyer()


def record_of(receipt, buyer, position, amount):
    """Return the record of a payment by the position of its transfer among the transaction's logs."""
    return bytes.fromhex(receipt["transactionHash"][2:]), payment_word(buyer, amount, 1_700_000_000, position)


def test_attestor_records_a_settled_amount_by_its_transfer(payment_chain, registry, attestor, chain, buyer, owner):
    receipt = payment_chain.settle(payment_chain.upto(buyer, owner.address, 5000), amount=1234)
    record = record_of(receipt, buyer, 0, 1234)
    registry.recordManyPayments(chain.chain_id, [record], sender=attestor)
    assert attested_record(registry, buyer.address)[:2] == (1, 1234)
    assert settled_record(registry, buyer.address).payments == 0
    with ape.reverts(registry.PaymentAlreadyRecorded, chainId=chain.chain_id, txHash=record[0], position=0):
        registry.recordManyPayments.call(chain.chain_id, [record], sender=attestor)


def test_attestor_records_each_payment_of_one_transaction(payment_chain, registry, attestor, chain, buyer, owner):
    payloads = [payment_chain.exact(buyer, owner.address, amount) for amount in (1000, 2000)]
    receipt = payment_chain.multicall(*map(payment_chain.call, payloads))
    records = [record_of(receipt, buyer, position, amount) for position, amount in ((0, 1000), (2, 2000))]
    registry.recordManyPayments(chain.chain_id, records, sender=attestor)
    assert attested_record(registry, buyer.address)[:2] == (2, 3000)
