"""`make index-tables`: writes the columns of the index's tables into docs/index-tables.md."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import BigInteger, Boolean, Float, Integer, LargeBinary, String, inspect

from bilateral.buyers import tables as buyers
from bilateral.index.changes import tables as changes
from bilateral.index.log import tables as schema
from bilateral.index.log.columns import WideInteger
from bilateral.index.log.database import open_database
from bilateral.index.measurements import tables as measurements
from bilateral.index.payments import tables as payments
from bilateral.index.projections import DERIVED_TABLES
from scripts._build import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Column

PAGE: Final = ROOT / "docs" / "index-tables.md"

_PLACES: Final = 7
"""The columns with which every table of events begins."""

_STATE: Final = (
    schema.registry,
    schema.chain,
    schema.block,
    schema.endpoint_limit,
    schema.journal,
)
_HEAD: Final = """# Columns of the index's tables

Look up here which columns a table has. [index.md](index.md) says what they mean, and how values are stored.
`make index-tables` writes this page, and a test compares it with the tables.

These are the tables of version VERSION. `SELECT version_num FROM alembic_version` says the version of a database, and
`bilateral index schema` brings it to this one. A version may add tables and columns. One that renames or removes a
column, or changes its meaning, says so in [CHANGELOG.md](../CHANGELOG.md).

`?` marks columns that may be NULL. `wide` is an integer of up to 256 bits, `hash` 32 bytes, `address` text in checksum
form.
"""
_TYPES: Final = (
    (WideInteger, "wide"),
    (BigInteger, "integer"),
    (Integer, "integer"),
    (Boolean, "boolean"),
    (Float, "float"),
    (LargeBinary, "bytes"),
    (String, "text"),
)

_OF_FIXED_LENGTH: Final[dict[tuple[type, int | None], str]] = {(LargeBinary, 32): "hash", (String, 42): "address"}


def page() -> str:
    """Return the page as it must be."""
    events = sorted((*schema.EVENT_TABLES.values(), schema.undecodable_log), key=lambda table: table.name)
    paid = sorted((*payments.metadata.sorted_tables, *buyers.metadata.sorted_tables), key=lambda table: table.name)
    place = ", ".join(_described(column) for column in list(events[0].c)[:_PLACES])
    return "\n".join(
        (
            _HEAD.replace("VERSION", schema.REVISION),
            "## Tables of events\n",
            f"Each begins with the place of the event: {place}.\n",
            *_rows("columns behind the place", ((event.name, _columns(list(event.c)[_PLACES:])) for event in events)),
            "\n## Derived tables\n",
            *_rows("columns", ((table.name, _columns(table.c)) for table in DERIVED_TABLES)),
            "\n## Views\n",
            *_rows("columns", _views()),
            "\n## State of the index\n",
            *_rows("columns", ((table.name, _columns(table.c)) for table in _STATE)),
            "\n## Payments and buyers\n",
            *_rows("columns", ((table.name, _columns(table.c)) for table in paid)),
            "\n## Measurements\n",
            *_rows("columns", ((table.name, _columns(table.c)) for table in measurements.metadata.sorted_tables)),
            "\n## Change feed\n",
            *_rows("columns", ((table.name, _columns(table.c)) for table in changes.TABLES)),
            "\n## Webhooks\n",
            *_rows("columns", ((table.name, _columns(table.c)) for table in changes.WEBHOOK_TABLES)),
            "",
        )
    )


def _rows(title: str, described: Iterable[tuple[str, str]]) -> list[str]:
    """Return the lines of a table of the page."""
    return [f"| table | {title} |", "| --- | --- |", *(f"| `{name}` | {columns} |" for name, columns in described)]


def _columns(columns: Iterable[Column[object]]) -> str:
    """Return columns with their types."""
    return ", ".join(map(_described, columns))


def _described(column: Column[object]) -> str:
    """Return a column with its type."""
    length = getattr(column.type, "length", None)
    fixed = _OF_FIXED_LENGTH.get((type(column.type), length))
    kind = fixed or next(name for type_, name in _TYPES if isinstance(column.type, type_))
    return f"`{column.name}` {kind}{'?' if column.nullable else ''}"


def _views() -> list[tuple[str, str]]:
    """Return the views with their columns."""
    with tempfile.TemporaryDirectory() as folder:
        engine = open_database(f"sqlite:///{Path(folder) / 'index.sqlite'}")
        inspector = inspect(engine)
        views = [
            (name, ", ".join(f"`{column['name']}`" for column in inspector.get_columns(name))) for name in schema.VIEWS
        ]
        engine.dispose()
    return views


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
