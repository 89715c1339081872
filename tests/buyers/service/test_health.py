"""The service is ready once payments are read."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import select, update

from bilateral.index.log.database import open_database
from bilateral.index.payments.tables import payment_cursor


@pytest.fixture
def learned_until(buyers_database):
    """Move the last block whose payments are stored; it is put back after the test."""
    engine = open_database(buyers_database)
    with engine.connect() as connection:
        former = connection.execute(select(payment_cursor.c.block_number)).scalar_one()

    def move(block):
        with engine.begin() as connection:
            connection.execute(update(payment_cursor).values(block_number=block))

    yield former, move
    move(former)
    engine.dispose()


def readiness(buyers_with):
    with buyers_with() as url:
        response = httpx.get(f"{url}/readyz", timeout=30)
    return response.status_code, response.json()["problems"]


def test_service_is_ready_once_payments_are_close_to_the_index(buyers_with, learned_until):
    last, move = learned_until
    assert readiness(buyers_with) == (200, [])
    move(last - 20)
    assert readiness(buyers_with) == (200, [])
    move(last - 21)
    assert readiness(buyers_with) == (503, ["payments on chain 31337 are 21 blocks behind the index"])


def test_service_is_not_ready_before_any_payment_is_learned(buyers_with, learned_until):
    learned_until[1](-1)
    assert readiness(buyers_with) == (503, ["no payments on chain 31337 have been read yet"])
