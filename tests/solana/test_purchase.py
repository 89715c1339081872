"""A whole purchase on Solana, and what the chain itself refuses."""

from __future__ import annotations

import pytest
from solders.keypair import Keypair
from x402.http import decode_payment_required_header

from simulation.solana import instructions as ix
from simulation.solana.node import NodeProblem
from tests.solana.paying import buy, payment_for, send


def test_s43_purchase_is_paid_signed_and_verified(shop, buyer, rpc, verifier):
    paid = buy(shop[0], buyer, rpc)
    verification = verifier.verify(paid)
    assert verification.is_verified, verification.problems


def test_s43_payment_counts_once(shop, buyer, rpc):
    url, runs = shop
    payload, before = payment_for(url, buyer, rpc), len(runs)
    assert [send(url, payload).status_code for _ in range(2)] == [200, 402]
    assert len(runs) == before + 1


def test_s43_seller_without_a_token_account_is_not_paid(sell, agent, owner, buyer, rpc):
    with sell(agent, str(owner.pubkey())) as (url, _):
        refused = send(url, payment_for(url, buyer, rpc))
    assert refused.status_code == 402
    assert "transaction_simulation_failed" in decode_payment_required_header(refused.headers["payment-required"]).error


def test_s43_membership_needs_the_signature_of_the_registry(world, owner):
    """Only the program signs for the address of the registry. The group itself refuses another authority."""
    mint = Keypair()
    steps = [
        ix.create_mint(world.payer.pubkey(), mint.pubkey(), ix.POINTERS, 10**8),
        ix.pointer(39, mint.pubkey(), owner.pubkey(), mint.pubkey()),
        ix.pointer(41, mint.pubkey(), owner.pubkey(), mint.pubkey()),
        ix.initialize_mint(mint.pubkey(), world.payer.pubkey()),
    ]

    def join(authority):
        return [*steps, ix.initialize_member(mint.pubkey(), world.payer.pubkey(), world.group, authority)]

    with pytest.raises(NodeProblem, match="SignatureFailure"):
        world.run(join(ix.REGISTRY), mint)
    with pytest.raises(AssertionError, match="3406457180"):
        world.run(join(owner.pubkey()), mint, owner)
