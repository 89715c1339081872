"""Whatever a contract emits, the index goes on, and its tables hold what the plain model says."""

from __future__ import annotations

import random

import pytest
from sqlalchemy import select, text

from bilateral.core.contracts import Registry
from bilateral.index.log import tables as schema
from simulation.events import ADDRESSES, Log, encoded
from tests.index.comparison import assert_exact

ALICE, BOB, CAROL, NOBODY = ("0x" + byte * 20 for byte in ("a1", "b0", "c0", "00"))
AGENT = 7
LARGEST = 2**256 - 1
NOISE = random.Random(3).randbytes(100_000)  # noqa: S311  # reproducible, not secret


def minted(agent, owner):
    return [encoded(Registry.IDENTITY, "Transfer", NOBODY, owner, agent), wallet(agent, owner)]


def moved(agent, owner, receiver):
    return encoded(Registry.IDENTITY, "Transfer", owner, receiver, agent)


def wallet(agent, account=""):
    return entry(agent, b"agentWallet", bytes.fromhex(account[2:]))


def entry(agent, key, value):
    return encoded(Registry.IDENTITY, "MetadataSet", agent, bytes(32), key, value)


def feedback(*, agent=AGENT, client=ALICE, index=1, value=50, decimals=0, tag=b"quality", uri=b""):
    arguments = (agent, client, index, value, decimals, bytes(32), tag, b"", b"", uri, bytes(32))
    return encoded(Registry.BIDIRECTIONAL, "NewFeedback", *arguments)


def revoked(*, agent=AGENT, client=ALICE, index=1):
    return encoded(Registry.BIDIRECTIONAL, "FeedbackRevoked", agent, client, index)


def rated(client, server, rating):
    return encoded(Registry.BIDIRECTIONAL, "ClientRated", client, server, rating)


BLOCKS = {
    "a revocation before its feedback": [[revoked()], [feedback()]],
    "a revocation before its feedback, and one after it": [[revoked()], [feedback()], [revoked()]],
    "two revocations": [[feedback(), feedback(index=2)], [revoked()], [revoked()]],
    "two revocations in one block": [[feedback(), feedback(index=2)], [revoked(), revoked()]],
    "one index twice": [[feedback(value=10)], [feedback(value=90)], [revoked()]],
    "one index again after its revocation": [[feedback(value=10)], [revoked()], [feedback(value=90)], [revoked()]],
    "one index again in the block of its revocation": [
        [feedback(value=10), revoked(), feedback(value=90)],
        [revoked()],
    ],
    "one index twice and two revocations": [[feedback(value=10), feedback(value=90)], [revoked()], [revoked()]],
    "255 decimals": [[feedback(value=2**127 - 1, decimals=255)], [revoked()]],
    "255 decimals after an ordinary feedback of the same index": [[feedback()], [feedback(decimals=255)], [revoked()]],
    "19 decimals": [[feedback(decimals=19), feedback(index=2, decimals=18)]],
    "the least and the greatest value": [[feedback(value=-(2**127)), feedback(index=2, value=2**127 - 1)], [revoked()]],
    "the greatest agent, index and counterpart": [
        [feedback(agent=LARGEST, index=2**64 - 1), rated(LARGEST, LARGEST, 100)],
        [revoked(agent=LARGEST, index=2**64 - 1)],
        minted(LARGEST, ALICE),
    ],
    "a rating beyond its scale": [[rated(1, 2, 255), rated(1, 3, 0)]],
    "a tag of 100 kB": [[feedback(tag=NOISE.hex().encode()), feedback(index=2, tag=b"x" * 100_000)], [revoked()]],
    "100 kB that are not UTF-8": [[feedback(tag=NOISE, uri=NOISE)]],
    "tags at the limit of a key": [[feedback(tag=b"k" * 400), feedback(index=2, tag=b"k" * 401)]],
    "tags that differ in NUL": [[feedback(tag=b"a\0"), feedback(index=2, tag=b"a"), feedback(index=3, tag=b"a\xff")]],
    "a long key of metadata": [[*minted(AGENT, ALICE), entry(AGENT, NOISE.hex().encode(), NOISE)]],
    "metadata of an agent that does not exist": [[entry(AGENT, b"key", b"value"), wallet(AGENT, BOB)]],
    "an agent burnt and minted again": [minted(AGENT, ALICE), [moved(AGENT, ALICE, NOBODY)], minted(AGENT, BOB)],
    "an agent burnt and minted again in one block": [
        minted(AGENT, ALICE),
        [moved(AGENT, ALICE, NOBODY), *minted(AGENT, BOB)],
    ],
    "wallets of an agent before it is minted and after it is burnt": [
        [wallet(AGENT, BOB)],
        [wallet(AGENT, CAROL)],
        [*minted(AGENT, ALICE), wallet(AGENT, BOB)],
        [moved(AGENT, ALICE, NOBODY)],
        [wallet(AGENT, CAROL)],
        [wallet(AGENT)],
    ],
    "a wallet cleared, and the agent given to its former wallet by another transaction": [
        [*minted(AGENT, ALICE), wallet(AGENT, BOB)],
        [wallet(AGENT), feedback(agent=8), moved(AGENT, ALICE, BOB)],
    ],
    "a primary agent that another owner chose": [
        [*minted(AGENT, ALICE), encoded(Registry.IDENTITY, "PrimaryAgentSet", CAROL, AGENT)],
        [moved(AGENT, ALICE, BOB)],
    ],
    "no topic": [[Log(ADDRESSES[Registry.IDENTITY], (), b"\1")]],
    "an unknown topic": [[Log(ADDRESSES[Registry.VALIDATION], (b"\7" * 32,), NOISE)]],
    "data that are cut": [[Log(log.address, log.topics, log.data[:-1]) for log in [feedback(uri=b"ipfs://x" * 4)]]],
    "an offset beyond the data": [[Log(log.address, log.topics, b"\xff" * len(log.data)) for log in [feedback()]]],
}


@pytest.fixture
def play(event_chain, catch_up):
    """Mine blocks of logs and index them, each block by itself or all at once."""

    def run(blocks, *, one_by_one):
        for logs in blocks:
            event_chain.mine(logs)
            if one_by_one:
                catch_up()
        catch_up()

    return run


def test_events_that_no_registry_emits_are_indexed_like_the_model(engine, store, event_chain, play):
    play(BLOCKS_AT_ADDRESSES, one_by_one=False)
    assert_exact(engine, store, event_chain)


def test_it_is_the_same_block_by_block(engine, store, event_chain, play):
    play(BLOCKS_AT_ADDRESSES, one_by_one=True)
    assert_exact(engine, store, event_chain)


@pytest.mark.one_engine
def test_it_is_the_same_after_a_reorganisation_of_each_block(engine, store, event_chain, play, catch_up):
    for blocks in BLOCKS.values():
        play(blocks, one_by_one=False)
        event_chain.rpc("anvil_rollback", len(blocks))
        play(blocks[:1], one_by_one=True)
    assert_exact(engine, store, event_chain)


def test_the_view_of_feedback_says_which_feedback_a_revocation_removed(engine, event_chain, play):
    play([[revoked(), feedback(value=1)], [feedback(value=2)], [revoked()], [revoked()]], one_by_one=False)
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT value, is_revoked FROM feedback ORDER BY value")).all()
    assert [(int(value), bool(is_revoked)) for value, is_revoked in rows] == [(1, False), (2, True)]


def test_an_undecodable_log_is_kept_with_its_raw_data_and_the_reason(engine, event_chain, play):
    cut = Log(ADDRESSES[Registry.BIDIRECTIONAL], feedback().topics, b"\1\2\3")
    play([[cut]], one_by_one=False)
    table = schema.undecodable_log
    with engine.connect() as connection:
        row = connection.execute(select(table.c.topics, table.c.data, table.c.reason)).one()
    assert tuple(row) == (b"".join(cut.topics), cut.data, "3 bytes of data, fewer than 256")


BLOCKS_AT_ADDRESSES = [block for blocks in BLOCKS.values() for block in blocks]
