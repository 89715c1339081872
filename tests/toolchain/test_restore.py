"""A snapshot is restored only when no transaction is left that could get in the way of those that follow."""

from __future__ import annotations

import threading

import pytest

from scripts import _anvil
from scripts._anvil import restore


@pytest.fixture
def waiting_transaction(chain, stranger):
    """A transaction that is in the pool and that nobody mines."""
    request = chain.provider.make_request
    request("evm_setAutomine", [False])
    request("eth_sendTransaction", [{"from": stranger.address, "to": stranger.address}])
    yield
    request("anvil_dropAllTransactions", [])
    request("evm_setAutomine", [True])


def test_transactions_that_are_being_mined_are_waited_for(chain, stranger, waiting_transaction):
    snapshot, nonce = chain.snapshot(), stranger.nonce
    mining = threading.Timer(0.2, chain.provider.make_request, ("anvil_mine", ["0x1"]))
    mining.start()
    restore(chain, snapshot)
    mining.join()
    assert chain.provider.make_request("txpool_status", []) == {"pending": "0x0", "queued": "0x0"}
    assert stranger.nonce == nonce


def test_transaction_that_nobody_mines_is_told(chain, waiting_transaction, monkeypatch):
    monkeypatch.setattr(_anvil, "POOL_TIMEOUT", 0.05)
    with pytest.raises(TimeoutError, match=r"^anvil's pool is not empty after 0\.05 seconds$"):
        restore(chain, chain.snapshot())
