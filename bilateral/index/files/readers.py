"""Readers derive further rows from the contents of files. Each reader belongs to a later kind of fact."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import Connection, Engine, Table

ReadRows: TypeAlias = Mapping[Table, list[dict[str, Any]]]


class Reader:
    """Derives rows from registration files. Methods do nothing unless overridden.

    Attributes:
        tables: Its tables. Rows of those with a `content_hash` belong to one content.
    """

    tables: Sequence[Table] = ()

    def read(self, content_hash: bytes, rows: ReadRows) -> ReadRows:  # noqa: ARG002
        """Return further rows that a registration file makes."""
        return {}

    def stored(self, connection: Connection, rows: ReadRows) -> None:
        """Take account of the rows of a content, in the transaction that stores them."""

    def catch_up(self, engine: Engine, stop: threading.Event) -> int:  # noqa: ARG002
        """Derive the rows that contents lack, until told to stop. Return the number of contents."""
        return 0
