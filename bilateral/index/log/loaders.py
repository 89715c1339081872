"""Values as psycopg gives them to the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg.adapt import Loader

if TYPE_CHECKING:
    from psycopg.abc import Buffer


class IntegerLoader(Loader):
    """Reads a NUMERIC without a fraction."""

    def load(self, data: Buffer) -> int:
        """Return the number."""
        return int(data)
