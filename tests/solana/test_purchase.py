"""A whole purchase on Solana."""

from __future__ import annotations

from tests.solana.paying import buy


def test_purchase_is_paid_signed_and_verified(shop, buyer, rpc, verifier):
    paid = buy(shop[0], buyer, rpc)
    verification = verifier.verify(paid)
    assert verification.is_verified, verification.problems
