"""Slow work leaves an event loop to other requests: hashes of large bodies, and keys of other programs."""

from __future__ import annotations

import asyncio
import threading

import pytest

from bilateral.x402 import AsyncVerifier, RemoteKey, declare_8004_reputation
from bilateral.x402.proof.fields import SLOW_BYTES
from tests.x402.buying import buy
from tests.x402.world import SIGNING_KEY


class Noting:
    """A key that notes the thread of each signature."""

    algorithm, public_key = SIGNING_KEY.algorithm, SIGNING_KEY.public_key

    def __init__(self):
        self.threads = []

    def sign(self, digest):
        self.threads.append(threading.get_ident())
        return SIGNING_KEY.sign(digest)


@pytest.mark.parametrize(
    ("size", "is_remote", "is_apart"),
    [(SLOW_BYTES // 2 - 1, False, False), (SLOW_BYTES // 2, False, True), (1, True, True)],
    ids=["small bodies", "large bodies", "key of another program"],
)
def test_slow_signatures_are_made_beside_the_event_loop(
    sell, agent, deployment, verifier, buyer, size, is_remote, is_apart
):
    key, loops = Noting(), []

    def add(app):
        @app.middleware("http")
        async def note(request, call_next):
            loops.append(threading.get_ident())
            return await call_next(request)

    used = RemoteKey(key.public_key, key.sign) if is_remote else key
    with sell(declare_8004_reputation(agent, deployment), key=used, register=add) as url:
        verification = verifier.verify(buy(url, buyer, content=b"a" * size))
    assert verification.is_verified, verification.problems
    assert len(set(loops)) == 1
    assert (key.threads[-1] not in loops) is is_apart


def test_large_bodies_are_verified_beside_the_event_loop(shop, rpc, deployment, loader, buyer, monkeypatch):
    paid, threads = buy(shop, buyer, content=b"a" * SLOW_BYTES), []
    hashes = type(paid.profile).hashes

    def noting(*arguments):
        threads.append(threading.get_ident())
        return hashes(*arguments)

    monkeypatch.setattr(type(paid.profile), "hashes", noting)

    async def verify():
        async with AsyncVerifier({rpc: deployment}, loader=loader) as verifier:
            return await verifier.verify(paid), threading.get_ident()

    verification, loop = asyncio.run(verify())
    assert verification.is_verified, verification.problems
    assert threads == [threads[0]] != [loop]
