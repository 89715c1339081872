"""Many rows between one pair of accounts, or of one transaction, are looked at a few times each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from bilateral.trust.detectors.wash import WashPayments
from bilateral.trust.features.context import Context
from bilateral.trust.tables.opinions import proven

COUNT = 2000
LOOKS = 100
"""The looks at a row that a detector may need. The product of rows would be 2,000 for each."""


class Counted(np.ndarray):
    """An array that counts the numbers that calculations take from it."""

    taken = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [np.asarray(argument) if isinstance(argument, Counted) else argument for argument in inputs]
        Counted.taken += max(np.size(entry) for entry in plain)
        return getattr(ufunc, method)(*plain, **options)


@pytest.fixture(autouse=True)
def _anew():
    Counted.taken = 0


def washed(scene):
    """The wash payments of a scene, whose amounts and times count how often they are looked at."""
    ledger = scene.ledger()
    columns = ("amount", "paid_at", "sent", "sent_at")
    counted = replace(ledger, **{name: getattr(ledger, name).view(Counted) for name in columns})
    return WashPayments().fit(replace(Context.of(ledger), ledger=counted))


@pytest.mark.parametrize("returned", [True, False])
def test_many_payments_and_returns_between_two_accounts_are_looked_at_a_few_times_each(scene, returned):
    scene.agent(1, "crook")
    for number in range(COUNT):
        scene.payment("washer", "crook", 1, 1.0, 1000.0 + number)
        scene.transfer("crook", "washer", 1.0 if returned else 1e-9, 1000.5 + number)
    assert washed(scene).returned_.all() == returned
    assert 0 < Counted.taken < LOOKS * COUNT


@pytest.mark.parametrize("equal", [True, False])
def test_many_payments_in_both_directions_are_looked_at_a_few_times_each(scene, equal):
    scene.agent(1, "crook")
    scene.agent(2, "partner")
    for number in range(COUNT):
        scene.payment("partner", "crook", 1, 1.0 + number, 1000.0 + number)
        scene.payment("crook", "partner", 2, (1.0 if equal else 1e6) + number, 1000.0 + number)
    assert washed(scene).returned_.all() == equal
    assert 0 < Counted.taken < LOOKS * COUNT


def test_many_feedbacks_that_name_one_transaction_are_looked_at_a_few_times_each():
    payer = np.arange(COUNT, dtype=np.int32)
    says = payer[::-1].copy(), np.zeros(COUNT, np.int32)
    transaction = pa.chunked_array([pa.array(["0xbatch"] * COUNT)])
    paid = proven(transaction, transaction, (payer.view(Counted), says[1].view(Counted)), says)
    assert paid.tolist() == payer[::-1].tolist()
    assert Counted.taken < LOOKS * COUNT


def test_a_feedback_proves_the_payment_of_its_client_to_its_agent_before_that_to_another():
    named = pa.chunked_array([pa.array(["0xnone", *["0xbatch"] * 5, "0xone", "0xtwo", "", None])])
    transactions = pa.chunked_array([pa.array(["0xone", *["0xbatch"] * 5, "0xtwo", "0xtwo", "0xunnamed"])])
    pays = np.array([9, 3, 1, 1, 2, 1, 1, 2, 1]), np.array([9, 7, 8, 7, 7, 7, 7, 7, 7])
    says = np.array([1, 1, 1, 2, 5, 5, 1, 2, 1, 1]), np.array([7, 7, 6, 6, 8, 6, 7, 7, 7, 7])
    assert proven(named, transactions, pays, says).tolist() == [-2, 3, 2, 4, 2, 1, 0, 7, -1, -1]
