"""Pseudonyms of buyers: one a buyer, scope and day, by a secret that is gone two days later."""

from __future__ import annotations

import hmac

import pytest
from eth_account import Account
from sqlalchemy import select

from bilateral.buyers.errors import BuyerRefusalError
from bilateral.buyers.issuing import MAX_HOLDERS, Pseudonyms, pseudonym_of
from bilateral.buyers.policies import BuyerSettings
from bilateral.buyers.tables import credential_holder, credential_secret
from bilateral.core.errors import InvalidArgumentError
from bilateral.index.log.database import open_database

DAY = 86_400
TODAY = 20_000
SCOPE = b"\x05" * 32


def person():
    return Account.create().address


@pytest.fixture
def engine(tmp_path):
    engine = open_database(f"sqlite:///{tmp_path / 'index.sqlite'}")
    yield engine
    engine.dispose()


@pytest.fixture
def pseudonyms(engine):
    return Pseudonyms(engine)


def test_pseudonym_is_an_hmac_of_buyer_scope_and_day():
    buyer, secret = person(), b"\x07" * 32
    message = bytes.fromhex(buyer[2:]) + SCOPE + TODAY.to_bytes(8, "big")
    assert pseudonym_of(secret, buyer, SCOPE, TODAY) == hmac.new(secret, message, "sha256").digest()


def test_all_holders_of_a_buyer_have_one_pseudonym_and_two_buyers_have_two(pseudonyms, engine):
    buyer = person()
    words = {pseudonyms.admit(buyer, person(), SCOPE, TODAY * DAY + second) for second in (0, 5, DAY - 1)}
    assert len(words) == 1
    assert pseudonyms.admit(person(), person(), SCOPE, TODAY * DAY) not in words
    assert {Pseudonyms(engine).admit(buyer, person(), SCOPE, TODAY * DAY)} == words  # another worker


def test_pseudonym_of_the_next_day_and_of_another_scope_is_another(pseudonyms):
    buyer, holder = person(), person()
    words = [pseudonyms.admit(buyer, holder, SCOPE, (TODAY + day) * DAY) for day in (0, 1)]
    words.append(pseudonyms.admit(buyer, holder, b"\x06" * 32, TODAY * DAY))
    assert len(set(words)) == 3


def test_eight_holders_a_buyer_scope_and_day_are_admitted(pseudonyms):
    buyer, holders, noon = person(), [person() for _ in range(MAX_HOLDERS)], TODAY * DAY + DAY // 2
    for holder in holders * 2:
        pseudonyms.admit(buyer, holder, SCOPE, noon)
    with pytest.raises(BuyerRefusalError, match=f"has had {MAX_HOLDERS} holders in this scope today") as caught:
        pseudonyms.admit(buyer, person(), SCOPE, noon)
    assert (caught.value.status, caught.value.code, caught.value.retry_seconds) == (429, "too_many_holders", DAY // 2)
    pseudonyms.admit(buyer, person(), SCOPE, noon + DAY)
    pseudonyms.admit(person(), person(), SCOPE, noon)


def test_secrets_and_holders_of_the_day_before_yesterday_are_deleted(pseudonyms, engine):
    for day in range(4):
        pseudonyms.admit(person(), person(), SCOPE, (TODAY + day) * DAY)
    with engine.connect() as connection:
        for table in (credential_secret, credential_holder):
            assert connection.execute(select(table.c.day).order_by(table.c.day)).scalars().all() == [
                TODAY + 2,
                TODAY + 3,
            ]
        assert len(set(connection.execute(select(credential_secret.c.secret)).scalars())) == 2


def test_database_has_neither_buyer_nor_holder(pseudonyms, engine):
    buyer, holder = person(), person()
    pseudonyms.admit(buyer, holder, SCOPE, TODAY * DAY)
    with engine.connect() as connection:
        (row,) = connection.execute(select(credential_holder)).all()
    stored = b"".join(bytes(value) for value in row if isinstance(value, bytes))
    assert bytes.fromhex(buyer[2:]) not in stored
    assert bytes.fromhex(holder[2:]) not in stored


def test_unknown_policy_of_credentials_is_refused():
    with pytest.raises(InvalidArgumentError, match="unknown"):
        BuyerSettings(credential_policies=("brp-1.0", "unknown"))
