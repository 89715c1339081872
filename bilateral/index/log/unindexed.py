"""Indexes that SQLite must leave out, or must take. It has no statistics, and would take any index that it can."""

from typing import Any

from sqlalchemy import ColumnElement, TableClause
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class unindexed(FunctionElement[Any]):  # noqa: N801  # a function of SQL
    """The value of a column: with a plus before it on SQLite, which changes nothing but the plan; itself elsewhere."""

    name = "unindexed"
    inherit_cache = True

    def __init__(self, column: ColumnElement[Any]) -> None:
        super().__init__(column)
        self.type = column.type


class by_rater(TableClause):  # noqa: N801  # a form of SQL
    """A table of events that SQLite reads by the index of raters. Otherwise it would read the events of the chain."""

    inherit_cache = True


def newest_first(columns: ReadOnlyColumnCollection[str, Any]) -> tuple[ColumnElement[Any], ...]:
    """Return an order of events by an index without blocks, as SQLite would choose one with blocks, of all events."""
    return unindexed(columns.block_number).desc(), columns.log_index.desc()


@compiles(unindexed)
def _compile(element: unindexed, compiler: SQLCompiler, **options: Any) -> str:
    (column,) = element.clauses
    return compiler.process(column, **options)


@compiles(unindexed, "sqlite")
def _compile_for_sqlite(element: unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return f"+{_compile(element, compiler, **options)}"


@compiles(by_rater, "sqlite")
def _compile_with_index(element: by_rater, compiler: SQLCompiler, **options: Any) -> str:
    text: str = compiler.visit_table(element, **options)  # type: ignore[no-untyped-call]  # SQLAlchemy has no types here
    index = "by_client" if "client_address" in element.c else "by_server"
    return f"{text} INDEXED BY {element.name}_{index}" if options.get("asfrom") else text
