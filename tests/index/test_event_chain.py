"""The chain of made-up events answers several threads at once: rules of a proxy ask it beside the test."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor


def test_each_thread_gets_its_own_answers(event_chain):
    numbers = range(200)
    with ThreadPoolExecutor(8) as threads:
        hashes = list(threads.map(lambda number: event_chain.rpc("web3_sha3", hex(0x1000 + number)), numbers))
    assert hashes == [event_chain.rpc("web3_sha3", hex(0x1000 + number)) for number in numbers]
    assert len(set(hashes)) == len(numbers)
