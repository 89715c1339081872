"""Pending transactions from the command line: sped up and cancelled."""

from __future__ import annotations

import pytest

from bilateral.cli.errors import ExitCode

pytestmark = pytest.mark.usefixtures("agent")

UNKNOWN = "0x" + "07" * 32


@pytest.fixture
def pending(done, stalled, client):
    """The hash of a feedback that no block takes."""
    sent = done("feedback", "give", 1, 87, "--no-wait", key=client)["hash"]
    assert stalled() == 1
    return sent


@pytest.fixture
def mine(chain):
    """Put the pending transactions into a block."""
    return lambda: chain.provider.make_request("evm_mine", [])


def test_a_pending_transaction_is_sped_up(done, pending, mine, stalled, reputation, client):
    faster = done("transaction", "speed-up", pending, "--no-wait", key=client)["hash"]
    assert (faster != pending, stalled()) == (True, 1)
    mine()
    assert done("transaction", "speed-up", faster, key=client)["result"] is True
    assert reputation.getLastIndex(1, client) == 1


def test_a_pending_transaction_is_cancelled(done, refused, pending, mine, stalled, reputation, client):
    done("transaction", "cancel", pending.upper().replace("X", "x"), "--no-wait", key=client)
    assert stalled() == 1
    mine()
    assert reputation.getLastIndex(1, client) == 0
    assert refused(ExitCode.UNSETTLED, "transaction", "cancel", pending, key=client)["reason"] == "transaction_dropped"


def test_a_transaction_in_a_block_is_not_cancelled(done, refused, client):
    sent = done("feedback", "give", 1, 87, key=client)["hash"]
    error = refused(ExitCode.UNSETTLED, "transaction", "cancel", sent, key=client)
    assert (error["reason"], error["transaction"]) == ("transaction_replaced", sent)


@pytest.mark.parametrize("name", ["speed-up", "cancel"])
def test_a_dry_run_replaces_nothing(done, pending, chain, client, name):
    tried = done("transaction", name, pending, "--dry-run", key=client)
    assert tried["hash"] is None
    assert tried["transaction"]["nonce"] == int(
        chain.provider.make_request("eth_getTransactionByHash", [pending])["nonce"], 16
    )
    assert chain.provider.make_request("eth_getTransactionByHash", [pending]) is not None


@pytest.mark.parametrize("name", ["speed-up", "cancel"])
def test_only_the_sender_replaces_a_transaction(refused, pending, stranger, name):
    error = refused(ExitCode.INPUT, "transaction", name, pending, key=stranger)
    assert (error["reason"], stranger.address in error["message"]) == ("invalid_argument", True)


@pytest.mark.parametrize("name", ["speed-up", "cancel"])
def test_an_unknown_transaction_is_not_replaced(refused, client, name):
    assert refused(ExitCode.UNSETTLED, "transaction", name, UNKNOWN, key=client)["reason"] == "transaction_dropped"


@pytest.mark.parametrize("malformed", ["", "0x07", UNKNOWN[2:], UNKNOWN + "0"])
def test_a_malformed_hash_is_refused(refused, client, malformed):
    assert refused(ExitCode.INPUT, "transaction", "cancel", malformed, key=client)["reason"] == "invalid_argument"


def test_a_replacement_keeps_to_the_limit_of_fees(refused, pending, client):
    error = refused(4, "transaction", "speed-up", pending, "--max-fee-per-gas", "0.001", key=client)
    assert error["reason"] == "fee_limit"
