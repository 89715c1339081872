"""Pseudonyms of buyers in credentials: one for each buyer, scope and UTC day, whatever the number of its holders.

A pseudonym is HMAC-SHA-256 of buyer, scope and day by a secret of that day. The secret is random, shared by all workers
through the database, and deleted two days later: nobody can then tell which buyer a pseudonym was.
"""

from __future__ import annotations

import hmac
import secrets
from http import HTTPStatus
from typing import Final

from eth_utils.address import to_canonical_address
from sqlalchemy import Engine, delete, insert, select
from sqlalchemy.exc import IntegrityError

from bilateral.buyers.credentials import DAY_SECONDS
from bilateral.buyers.errors import BuyerRefusalError
from bilateral.buyers.tables import credential_holder, credential_secret

MAX_HOLDERS: Final = 8
"""Holders of one buyer in one scope and day. A buyer with a new address for each of some calls needs several."""

_RETAINED_DAYS: Final = 2
"""Today's secret and yesterday's are kept: the clocks of two workers differ at midnight."""

_SECRET_BYTES: Final = 32  # as many bits as the pseudonyms that it makes have


class Pseudonyms:
    """Gives buyers their pseudonyms, and counts their holders."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def admit(self, buyer: str, holder: str, scope: bytes, now: int) -> bytes:
        """Return the pseudonym of a buyer, after noting a holder. The same holder again is not counted twice."""
        day = now // DAY_SECONDS
        secret = self._secret_of(day)
        pseudonym = pseudonym_of(secret, buyer, scope, day)
        mark = _mac(secret, b"holder" + pseudonym + to_canonical_address(holder))
        while (is_noted := self._note(day, pseudonym, mark)) is None:
            pass  # another request took the place that was free; there are few
        if not is_noted:
            detail = (
                f"the buyer has had {MAX_HOLDERS} holders in this scope today, the limit: use one of them, or wait "
                "until the next UTC day"
            )
            seconds = DAY_SECONDS - now % DAY_SECONDS
            raise BuyerRefusalError(HTTPStatus.TOO_MANY_REQUESTS, "too_many_holders", detail, retry_seconds=seconds)
        return pseudonym

    def _note(self, day: int, pseudonym: bytes, mark: bytes) -> bool | None:
        """Note a holder. Return False if all places are taken, and None if another request took the free one."""
        table = credential_holder
        of_buyer = table.c.day == day, table.c.pseudonym == pseudonym
        try:
            with self._engine.begin() as connection:
                marks = connection.execute(select(table.c.mark).where(*of_buyer)).scalars().all()
                if mark in map(bytes, marks):
                    return True
                if len(marks) >= MAX_HOLDERS:
                    return False
                values = {"day": day, "pseudonym": pseudonym, "place": len(marks), "mark": mark}
                connection.execute(insert(table).values(values))
        except IntegrityError:
            return None
        return True

    def _secret_of(self, day: int) -> bytes:
        """Return the secret of a day, made by whichever worker needs it first."""
        secret = self._read_secret(day)
        if secret is not None:
            return secret
        try:
            with self._engine.begin() as connection:
                for table in (credential_secret, credential_holder):
                    connection.execute(delete(table).where(table.c.day <= day - _RETAINED_DAYS))
                values = {"day": day, "secret": secrets.token_bytes(_SECRET_BYTES)}
                connection.execute(insert(credential_secret).values(values))
        except IntegrityError:
            pass  # another worker made it
        return self._read_secret(day) or b""

    def _read_secret(self, day: int) -> bytes | None:
        query = select(credential_secret.c.secret).where(credential_secret.c.day == day)
        with self._engine.connect() as connection:
            secret = connection.execute(query).scalar_one_or_none()
        return None if secret is None else bytes(secret)


def pseudonym_of(secret: bytes, buyer: str, scope: bytes, day: int) -> bytes:
    """Return the pseudonym of a buyer: HMAC-SHA-256 of its 20 bytes, the scope's 32 and the day's 8."""
    return _mac(secret, to_canonical_address(buyer) + scope + day.to_bytes(8))


def _mac(secret: bytes, message: bytes) -> bytes:
    if len(secret) != _SECRET_BYTES:
        raise RuntimeError("the secret of the day is missing: it was deleted while it was read")
    return hmac.digest(secret, message, "sha256")
