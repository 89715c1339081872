"""The vault, which stores sealed ratings and their salts on disk before anything is signed.

A rating whose salt is lost can never be opened, and two envelopes with different ratings for the same interaction would
contradict each other. The vault therefore stores the first rating for each interaction, and returns that rating on
every later call.
"""

from __future__ import annotations  # so that error messages can quote the annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bilateral.core.errors import AlreadySealedError
from bilateral.core.signatures import Domain
from bilateral.core.signatures.blind_messages import (
    FeedbackOpening,
    Opening,
    RatingOpening,
    SignedEnvelope,
    read_opening,
)
from bilateral.core.signatures.blind_ratings import SealedFeedback, SealedRating
from bilateral.core.values.arguments import checked_class

_TIMEOUT: Final = 30.0
"""How many seconds to wait while another program writes to the vault. A write takes milliseconds."""

_TABLE: Final = """
    CREATE TABLE IF NOT EXISTS sealed (
        chain_id INTEGER NOT NULL,
        registry TEXT NOT NULL,
        kind TEXT NOT NULL,
        client_id TEXT NOT NULL,
        client TEXT NOT NULL,
        server_id TEXT NOT NULL,
        server TEXT NOT NULL,
        interaction TEXT NOT NULL,
        opening TEXT NOT NULL,
        envelope TEXT,
        PRIMARY KEY (chain_id, registry, kind, client_id, client, server_id, server, interaction)
    )
"""

_PAID: Final = """
    CREATE TABLE IF NOT EXISTS paid (
        registry TEXT NOT NULL,
        client TEXT NOT NULL,
        interaction TEXT NOT NULL,
        PRIMARY KEY (registry, client, interaction)
    )
"""

_KEY: Final = "chain_id, registry, kind, client_id, client, server_id, server, interaction"
_MARKS: Final = "?, ?, ?, ?, ?, ?, ?, ?"
_STORE: Final = f"INSERT OR IGNORE INTO sealed ({_KEY}, opening) VALUES ({_MARKS}, ?)"  # noqa: S608  # fixed text
_SIGN: Final = f"UPDATE sealed SET envelope = ? WHERE ({_KEY}) = ({_MARKS})"  # noqa: S608  # fixed text
_OPENING: Final = f"SELECT opening FROM sealed WHERE ({_KEY}) = ({_MARKS})"  # noqa: S608  # fixed text


@dataclass(frozen=True)
class Sealed:
    """A rating in the vault.

    Attributes:
        chain_id: The chain's EIP-155 id.
        opening: The rating or feedback and its salt, which open the seal.
        signed: The most recently signed envelope; None if the program stopped before signing one.
    """

    chain_id: int
    registry: str
    opening: FeedbackOpening | RatingOpening
    signed: SignedEnvelope | None


@checked_class
class BlindVault:
    """A file that stores openings. Programs can share it, and a crash never loses a signed envelope's opening."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def keep(
        self, domain: Domain, envelope: SealedFeedback | SealedRating, opening: FeedbackOpening | RatingOpening
    ) -> Opening:
        """Store an opening, unless the vault already contains one for the same client, server and interaction.

        Args:
            domain: The registry's EIP-712 domain.
            envelope: The envelope that is to be signed. Its seal and deadline are ignored.
            opening: The opening, with a new salt.

        Returns:
            The opening that was stored first for this interaction. Its rating is the same as that of `opening`.

        Raises:
            InvalidArgumentError: The rating is out of range.
            AlreadySealedError: A different rating is stored for this interaction.
        """
        opening.seal_for(envelope)  # raises an error before a rating is stored that could never be opened
        key = _key(domain, envelope)
        with closing(self._connect()) as database, database:
            database.execute(_STORE, (*key, opening.to_json()))
            ((text,),) = database.execute(_OPENING, key).fetchall()
        stored = read_opening(text)
        if _content(stored) != _content(opening):
            raise AlreadySealedError(envelope.interaction)
        return stored

    def note(self, domain: Domain, signed: SignedEnvelope) -> None:
        """Store a signed envelope with its opening."""
        with closing(self._connect()) as database, database:
            database.execute(_SIGN, (signed.to_json(), *_key(domain, signed.envelope)))

    def count_interaction(self, registry: object, client: str, interaction: bytes) -> int:
        """Record a client's paid interaction, and count the client's interactions. Repeated calls count only once.

        Args:
            registry: The identity registry of the server's agent.
            client: The account that paid.

        Returns:
            How many interactions the client has had so far, including this one.
        """
        key = (str(registry), client)
        with closing(self._connect()) as database, database:
            database.execute("INSERT OR IGNORE INTO paid VALUES (?, ?, ?)", (*key, interaction.hex()))
            counted = "SELECT count(*) FROM paid WHERE registry = ? AND client = ?"
            ((number,),) = database.execute(counted, key).fetchall()
        return int(number)

    def opening_of(self, domain: Domain, envelope: SealedFeedback | SealedRating) -> Opening | None:
        """Return an envelope's opening, or None if the vault does not contain it."""
        with closing(self._connect()) as database:
            rows = database.execute(_OPENING, _key(domain, envelope)).fetchall()
        return read_opening(rows[0][0]) if rows else None

    def all(self) -> list[Sealed]:
        """Return all ratings in the vault, in the order in which they were stored."""
        with closing(self._connect()) as database:
            query = "SELECT chain_id, registry, opening, envelope FROM sealed ORDER BY rowid"
            rows = database.execute(query).fetchall()
        return [
            Sealed(
                chain_id, registry, read_opening(opening), None if signed is None else SignedEnvelope.from_json(signed)
            )
            for chain_id, registry, opening, signed in rows
        ]

    def _connect(self) -> sqlite3.Connection:
        """Open the file so that every committed transaction is written to disk immediately."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        database = sqlite3.connect(self.path, timeout=_TIMEOUT)
        database.execute("PRAGMA synchronous = FULL")
        for statement in (_TABLE, _PAID):
            database.execute(statement)
        return database


def _key(domain: Domain, envelope: SealedFeedback | SealedRating) -> tuple[int | str, ...]:
    """Return an interaction's key. Ids are stored as text, because SQLite's integers have only 63 bits."""
    client_id, client, server_id, server, interaction = envelope.common
    sides = (str(client_id), client, str(server_id), server, interaction.hex())
    return domain.chain_id, str(domain.verifying_contract), type(envelope).__name__, *sides


def _content(opening: FeedbackOpening | RatingOpening) -> object:
    return opening.feedback if isinstance(opening, FeedbackOpening) else opening.rating
