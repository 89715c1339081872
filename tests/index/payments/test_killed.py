"""Payments are stored exactly once, however often the process that learns them is killed."""

from __future__ import annotations

import threading
import time

import pytest
from sqlalchemy import func, select

from bilateral.index.files.worker import FileSettings
from bilateral.index.log.database import open_database
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.index.operating.worker import follow_chains
from bilateral.index.payments import worker as store
from bilateral.index.payments.tables import payment, payment_cursor
from bilateral.index.payments.terms import PaymentTerms
from tests.index.payments.world import DEPLOYMENT, TOKEN, account, stored
from tests.processes import CONTEXT

KILLS = 3
BLOCKS = 60


def follow(url, database, until_head):
    """Learn payments, few blocks at a time."""
    store._MOST_BLOCKS = 2
    engine = open_database(database)
    chain = ChainSettings((url,), (DEPLOYMENT,), payments=PaymentTerms({TOKEN: 6}))
    settings = IndexSettings((chain,), poll_seconds=0.05, files=FileSettings(workers=0), analyses=False)
    follow_chains(engine, settings, stop=threading.Event(), until_head=until_head)


def count(engine):
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(payment)).scalar_one()


@pytest.mark.one_engine
def test_killed_process_loses_and_doubles_nothing(world, event_chain, engine, database_url):
    sellers = [account(f"seller {number}") for number in range(4)]
    world.mine([log for agent, owner in enumerate(sellers, start=1) for log in world.register(agent, owner)])
    for number in range(BLOCKS):
        logs = [world.pay(account(f"buyer {number % 7}"), seller, number + 1) for seller in sellers]
        world.mine(*logs, world.set_wallet(1 + number % 4, sellers[number % 3]))
    expected = world.expected()
    kills = 0
    for _ in range(KILLS):
        before = count(engine)
        process = CONTEXT.Process(target=follow, args=(event_chain.url, database_url, False))
        process.start()
        while count(engine) == before and before < len(expected):
            time.sleep(0.002)
        process.kill()
        process.join()
        kills += before < len(expected)
        assert stored(engine) == expected[: count(engine)]  # whole ranges, in their order
    last = CONTEXT.Process(target=follow, args=(event_chain.url, database_url, True))
    last.start()
    last.join()
    assert last.exitcode == 0
    assert stored(engine) == expected
    assert kills > 0
    with engine.connect() as connection:
        assert connection.execute(select(payment_cursor.c.block_number)).scalar_one() == BLOCKS + 1
