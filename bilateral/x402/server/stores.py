"""Retained answers and reservations in a database, for a service with several processes. Needs the extra `index`.

    answers, reservations = StoredAnswers(url), StoredReservations(url)
    extension = Reputation8004ResourceServerExtension(key, reservations=reservations)
    app.add_middleware(ReputationMiddleware, routes=routes, server=server, answers=answers)

The database is SQLite or PostgreSQL. Missing tables are created.
"""

# ruff: noqa: E402  # imports come after the check of the extra

import json
import threading
import time
from collections.abc import Callable
from typing import Final

from bilateral.core.errors import require_modules

require_modules("index", "platformdirs", "sqlalchemy")

import sqlalchemy as sa

from bilateral.index.log.database import connect_engine, named_database_errors
from bilateral.index.log.dialects import insert_into
from bilateral.x402.proof.answers import MAX_STORED_BODY, SECONDS, PaidAnswer, PaidAnswers, size_of
from bilateral.x402.proof.errors import TooManyPaymentsError
from bilateral.x402.server.exchange import MAX_RESERVATIONS, Reservations
from bilateral.x402.server.exchange import SECONDS as RESERVED_SECONDS

METADATA: Final = sa.MetaData()

_ANSWER: Final = sa.Table(
    "x402_kept_answer",
    METADATA,
    sa.Column("payment", sa.LargeBinary(32), primary_key=True),
    sa.Column("request", sa.LargeBinary(32), nullable=False),
    sa.Column("status", sa.BigInteger, nullable=False),
    sa.Column("headers", sa.Text, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("expires", sa.Double, nullable=False),
    sa.Index("x402_kept_answer_expires", "expires"),
)
_RESERVATION: Final = sa.Table(
    "x402_reserved_payment",
    METADATA,
    sa.Column("authorization_key", sa.LargeBinary(32), primary_key=True),
    sa.Column("expires", sa.Double, nullable=False),
    sa.Column("is_settled", sa.Boolean, nullable=False),
    sa.Index("x402_reserved_payment_expires", "expires"),
    sa.Index("x402_reserved_payment_settled", "is_settled"),
)


class StoredAnswers(PaidAnswers):
    """Paid answers in a database, within limits. Processes and threads may share it.

    Args:
        url: The SQLAlchemy URL, `sqlite:///path` or `postgresql://…`.
        max_bytes: The maximum total size of all answers, in bytes. The oldest answers are removed first.
        seconds: How long an answer is retained.
        clock: Returns the time in Unix seconds. All processes must use the same clock.

    Raises:
        InvalidArgumentError: The URL is malformed, or the database is not supported.
        DatabaseUnavailableError: The database cannot be opened.
    """

    is_blocking = True

    def __init__(
        self,
        url: str,
        max_bytes: int = 1024 * MAX_STORED_BODY,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(max_bytes, seconds, clock)
        self._engine = opened(url)

    def keep(self, payment: bytes, answer: PaidAnswer) -> None:
        """Retain an answer, or only the proof if the body exceeds 1 MiB.

        Raises:
            DatabaseUnavailableError: The database cannot be written.
        """
        answer = self.stored_form(answer)
        now, columns = self._clock(), _ANSWER.c
        headers = json.dumps([[name.decode("latin-1"), text.decode("latin-1")] for name, text in answer.headers])
        values = {"request": answer.request, "status": answer.status, "headers": headers, "body": answer.body}
        values |= {"payment": payment, "size": size_of(answer), "expires": now + self._seconds}
        with named_database_errors(), self._engine.begin() as connection:
            connection.execute(sa.delete(_ANSWER).where((columns.payment == payment) | (columns.expires <= now)))
            connection.execute(sa.insert(_ANSWER).values(values))
            total = connection.execute(sa.select(sa.func.coalesce(sa.func.sum(columns.size), 0))).scalar_one()
            oldest = sa.select(columns.payment, columns.size).order_by(columns.expires, columns.payment)
            for key, size in connection.execute(oldest) if total > self._max_bytes else ():
                connection.execute(sa.delete(_ANSWER).where(columns.payment == key))
                total -= size
                if total <= self._max_bytes:
                    break

    def find(self, payment: bytes) -> PaidAnswer | None:
        """Return the answer that a payment bought, or None if there is none.

        Raises:
            DatabaseUnavailableError: The database cannot be read.
        """
        columns = _ANSWER.c
        statement = sa.select(columns.request, columns.status, columns.headers, columns.body)
        statement = statement.where(columns.payment == payment, columns.expires > self._clock())
        with named_database_errors(), self._engine.begin() as connection:
            row = connection.execute(statement).first()
        if row is None:
            return None
        headers = tuple((name.encode("latin-1"), text.encode("latin-1")) for name, text in json.loads(row.headers))
        return PaidAnswer(bytes(row.request), row.status, headers, bytes(row.body))

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


class StoredReservations(Reservations):
    """Authorizations reserved in a database that processes share. Used authorizations are stored until they expire.

    Args:
        url: The SQLAlchemy URL, `sqlite:///path` or `postgresql://…`.
        limit: The maximum number of payments in progress.
        seconds: How long a reservation lasts.
        clock: Returns the time in Unix seconds. All processes must use the same clock.

    Raises:
        InvalidArgumentError: The URL is malformed, or the database is not supported.
        DatabaseUnavailableError: The database cannot be opened.
    """

    is_shared = True

    def __init__(
        self,
        url: str,
        limit: int = MAX_RESERVATIONS,
        seconds: float = RESERVED_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(limit, seconds, clock)
        self._engine = opened(url)
        self._own: dict[bytes, object] = {}
        self._own_lock = threading.Lock()

    def take(self, key: bytes, holder: object) -> bool:
        """Reserve an authorization for a request. See `Reservations.take`.

        Raises:
            TooManyPaymentsError: Too many payments are in progress.
            DatabaseUnavailableError: The database cannot be written.
        """
        with self._own_lock:
            if self._own.get(key) is holder:
                return True
        now, columns = self._clock(), _RESERVATION.c
        values = {"authorization_key": key, "expires": now + self._seconds, "is_settled": False}
        with named_database_errors(), self._engine.begin() as connection:
            connection.execute(sa.delete(_RESERVATION).where(columns.expires <= now))
            reserve = insert_into(connection, _RESERVATION).values(values).on_conflict_do_nothing()
            if connection.execute(reserve.returning(columns.expires)).first() is None:
                return False  # another request has reserved it
            in_progress = sa.select(sa.func.count()).select_from(_RESERVATION).where(columns.is_settled.is_(False))
            if connection.execute(in_progress).scalar_one() > self._limit:
                raise TooManyPaymentsError(self._limit)
        with self._own_lock:
            self._own.pop(key, None)
            self._own[key] = holder
            while len(self._own) > self._limit:
                del self._own[next(iter(self._own))]
        return True

    def release(self, key: bytes, holder: object) -> None:
        """Release an authorization, if this request has reserved it.

        Raises:
            DatabaseUnavailableError: The database cannot be written.
        """
        self._end(key, holder, sa.delete(_RESERVATION))

    def settle(self, key: bytes, holder: object) -> None:
        """Mark an authorization as used, if this request has reserved it.

        Raises:
            DatabaseUnavailableError: The database cannot be written.
        """
        self._end(key, holder, sa.update(_RESERVATION).values(is_settled=True))

    def _end(self, key: bytes, holder: object, change: sa.Delete | sa.Update) -> None:
        """Change an authorization, and forget its holder. Do nothing if another request has reserved it."""
        with self._own_lock:
            if self._own.get(key) is not holder:
                return
            del self._own[key]
        with named_database_errors(), self._engine.begin() as connection:
            connection.execute(change.where(_RESERVATION.c.authorization_key == key))

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


def opened(url: str) -> sa.Engine:
    """Open a database, and create missing tables."""
    engine = connect_engine(url)
    with named_database_errors():
        METADATA.create_all(engine)
    return engine
