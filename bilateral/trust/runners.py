"""Databases that run the relational steps: they take rows, keep the rows of expressions, and give rows out.

Ibis writes the statements of each database. The differences between databases are here, so that a step has one text.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pyarrow as pa

from bilateral.core.errors import InvalidArgumentError, MissingExtraError, NodeUnreachableError
from bilateral.core.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

SPARK: Final = "sc://"
"""The beginning of the URL of a Spark Connect server."""

_RETRIES: Final = 8
"""The retries of a request. They take about 40 seconds: a restarting server answers, and a lost one is named."""

_PART: Final = 2**24
"""The bytes of rows that a Spark Connect server takes as part of a plan. A message has at most eight times as many, and
the largest plan of a step has seven tables of rows."""

_BATCH: Final = 2**17
"""The rows of a batch of DuckDB: it holds several beside its own limit, of up to 20 MB each."""

_SHOWN: Final = 300
"""The letters of a server's message that an error shows: two or three sentences."""


class Runner:
    """DuckDB or PostgreSQL.

    Attributes:
        connection: The Ibis connection.
        scans_in_order: True if every query sees the rows of a table in one order, so that several can read its columns.
    """

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.scans_in_order = connection.name == "duckdb"

    def rows(self, table: pa.Table) -> Any:
        """Return an Ibis table with rows of this process.

        Args:
            table: The rows.
        """
        import ibis  # noqa: PLC0415  # heavy, and for this path only

        return ibis.memtable(table)

    def place(self) -> Any:
        """Return a column with the place of each row in its table, ascending."""
        import ibis  # noqa: PLC0415  # heavy, and for this path only

        return ibis.row_number()

    def keep(self, expression: Any) -> Any:
        """Compute an expression once, and return an Ibis table of its rows, which stay in the database.

        Args:
            expression: An Ibis table.
        """
        with _interruptible():
            return self.connection.create_table(_name(), expression, temp=True)

    def drop(self, kept: Any) -> None:
        """Drop rows that `keep` gave.

        Args:
            kept: The Ibis table of the rows.
        """
        self.connection.drop_table(kept.op().name)

    def out(self, expression: Any) -> pa.Table:
        """Return the rows of an expression.

        Args:
            expression: An Ibis table.
        """
        with _interruptible():
            return self.connection.to_pyarrow(expression)

    def batches(self, expression: Any) -> Iterator[pa.RecordBatch]:
        """Yield the rows of an expression in parts, so that this process need not hold all of them at once.

        Args:
            expression: An Ibis table.
        """
        with _interruptible():
            yield from self.connection.to_pyarrow_batches(expression, chunk_size=_BATCH)

    def close(self) -> None:
        """Close the connection, and drop what was kept."""
        self.connection.disconnect()


class SparkConnect(Runner):
    """Apache Spark or Sail, by Spark Connect.

    The backend of Ibis does not register rows of this process inside a cached expression, and Sail ignores `cache()`:
    it would compute an expression again for each use. So rows become views, and kept expressions are checkpointed, in
    the server's store: Spark loses a local checkpoint with the worker that holds it.
    """

    def __init__(self, session: Any) -> None:
        import ibis  # noqa: PLC0415  # heavy, and for this path only

        super().__init__(ibis.pyspark.connect(session))
        self._session = session

    @classmethod
    def open(cls, url: str) -> SparkConnect:
        """Connect to a server.

        Args:
            url: The URL of a Spark Connect server, such as `sc://localhost:50051`.

        Raises:
            MissingExtraError: PySpark is not installed.
            NodeUnreachableError: No such server answers.
            InvalidArgumentError: The server keeps no checkpoints.
        """
        try:
            from pyspark.sql import SparkSession  # noqa: PLC0415  # heavy, and an extra
            from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415
        except ImportError:
            raise MissingExtraError("spark", ["pyspark"]) from None
        with _answering():
            session = SparkSession.builder.remote(url).create()
            session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
            try:
                session.sql("SELECT 1").collect()
                _require_checkpoints(session)
            except Exception:
                session.stop()  # else PySpark would send the checkpoints of later sessions to this one
                raise
        return cls(session)

    def read(self, name: str, url: str) -> None:
        """Let a name stand for a Parquet file or folder that the server can read.

        Args:
            name: The name of the table.
            url: The path or the URL of the file, as the server sees it.

        Raises:
            InvalidArgumentError: The server cannot read it.
        """
        from pyspark.errors import AnalysisException  # noqa: PLC0415  # heavy, and an extra

        refused = f"the server cannot read table {name} at {quoted(url)}"
        with _answering():
            try:
                frame = self._session.read.parquet(url)
                if not frame.columns:  # Sail gives an empty table for a path that is missing
                    raise InvalidArgumentError(refused)
                frame.createOrReplaceTempView(name)
            except AnalysisException as error:
                raise InvalidArgumentError(f"{refused}: {_first_line(error)}") from None

    def rows(self, table: pa.Table) -> Any:
        """See `Runner`. Rows beyond one part are checkpointed, as each plan that used them would have them all."""
        import ibis  # noqa: PLC0415  # heavy, and for this path only
        from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415  # heavy, and an extra

        step = max(1, table.num_rows * _PART // max(table.nbytes, 1))
        parts = [table.slice(start, step) for start in range(0, table.num_rows, step)] or [table]
        schema = from_arrow_schema(table.schema)  # it cannot be inferred of no rows
        with _answering():
            frames = [self._session.createDataFrame(part, schema) for part in parts]
            if len(frames) > 1:
                frames = [frame.checkpoint() for frame in frames]
            return ibis.union(*map(self._view, frames))

    def place(self) -> Any:
        """See `Runner`. Row numbers would pass all rows through one worker; these numbers have gaps between workers."""
        import ibis  # noqa: PLC0415  # heavy, and for this path only

        @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]  # Ibis has no types
        def monotonically_increasing_id() -> int: ...  # type: ignore[empty-body]

        return monotonically_increasing_id()

    def keep(self, expression: Any) -> Any:
        """See `Runner`.

        Raises:
            InvalidArgumentError: The server computes with another type than Ibis expects.
        """
        with _answering():
            frame = self._session.sql(self.connection.compile(expression))
            _require_floats(expression, frame)
            return self._view(frame.checkpoint())

    def drop(self, kept: Any) -> None:
        """See `Runner`."""
        with _answering():
            self._session.catalog.dropTempView(kept.op().name)

    def out(self, expression: Any) -> pa.Table:
        """See `Runner`. Ibis would make a data frame of pandas of the rows first, with an object for each text."""
        with _answering():
            return self._session.sql(self.connection.compile(expression)).toArrow()

    def batches(self, expression: Any) -> Iterator[pa.RecordBatch]:
        """See `Runner`."""
        with _answering():
            frame, client = self._session.sql(self.connection.compile(expression)), self._session.client
            plan = frame._plan.to_proto(client)  # noqa: SLF001  # no public call yields Arrow's batches
            for part in client.to_table_as_iterator(plan, {}):
                if isinstance(part, pa.Table):  # the schema comes, too
                    yield from part.to_batches()

    def close(self) -> None:
        """See `Runner`."""
        self._session.stop()

    def _view(self, frame: Any) -> Any:
        """Return an Ibis table of the rows of a data frame."""
        name = _name()
        frame.createOrReplaceTempView(name)
        return self.connection.table(name)


def _name() -> str:
    """Return a name for rows that are kept. Other analyses of one database do not take it."""
    return f"bilateral_{uuid4().hex}"


def _require_floats(expression: Any, frame: Any) -> None:
    """Refuse a server that computes a float as a decimal: it overflows at large values and rounds small ones to 0."""
    computed = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    for column, kind in expression.schema().items():
        if kind.is_floating() and computed[column] != "double":
            raise InvalidArgumentError(f"the server computes column {column} as {computed[column]}: expected double")


def _require_checkpoints(session: Any) -> None:
    """Refuse a server without a store for checkpoints before the analysis begins."""
    from pyspark.errors import PySparkException  # noqa: PLC0415  # heavy, and an extra

    try:
        session.range(1).checkpoint()
    except PySparkException as error:
        raise InvalidArgumentError(
            "the server keeps no checkpoints: set spark.checkpoint.dir of Spark, or SAIL_EXECUTION__CHECKPOINT__PATH "
            f"of Sail, to a folder that all its workers share ({_first_line(error)})"
        ) from None


@contextmanager
def _answering() -> Iterator[None]:
    """Name the failures of a server: it is gone, or it refuses a statement."""
    from grpc import RpcError  # noqa: PLC0415  # an extra
    from pyspark.errors import PySparkException  # noqa: PLC0415  # heavy, and an extra

    try:
        yield
    except (RpcError, PySparkException) as error:
        raise NodeUnreachableError(f"the Spark Connect server failed: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    """Return the beginning of a server's message. Spark appends its whole plan."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:_SHOWN]


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end a query of DuckDB as it ends everything else. DuckDB has an error of its own for it."""
    import duckdb  # noqa: PLC0415  # heavy, and for this path only

    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
