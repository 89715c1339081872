"""The chapters of `make demo`, in their order."""

from __future__ import annotations

from scripts._demo import (
    authorized,
    blind,
    buyers,
    companion,
    identity,
    index,
    paid,
    ratings,
    reputation,
    ring,
    service,
    solana,
    validation,
)

# The chapter of authorised feedback moves the chain's clock ahead of this machine's, by which x402 payments expire.
CHAPTERS = [
    identity.play,
    paid.play,
    buyers.play,
    authorized.play,
    reputation.play,
    validation.play,
    ratings.play,
    blind.play,
    companion.play,
    index.play,
    ring.play,
    service.play,
    solana.play,
]
