"""The log's projections (derived tables), in the order in which they run. To add one, add a package and list it here.

A projection may import only those listed before it. Search is not a projection, because it reads file contents.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Table

from bilateral.index.agents.projection import Agents
from bilateral.index.changes.projection import Changes
from bilateral.index.files.projection import Files
from bilateral.index.files.reading import Reader
from bilateral.index.log.projection import Projection
from bilateral.index.log.tables import LOG_TABLES, is_partitioned
from bilateral.index.measurements.projection import Measurements
from bilateral.index.measurements.targets import EndpointReader
from bilateral.index.payments.projection import Payments
from bilateral.index.ratings.projection import Ratings
from bilateral.index.search.reader import SearchReader
from bilateral.index.standing.projection import Standing

PROJECTIONS: Final[Sequence[Projection]] = (
    Changes(),
    Agents(),
    Files(),
    Ratings(),
    Payments(),
    Standing(),
    Measurements(),
)

READERS: Final[Sequence[Reader]] = (
    SearchReader(),
    EndpointReader(),
)
"""The readers of file contents, in the order in which they run."""

DERIVED_TABLES: Final[Sequence[Table]] = tuple(table for projection in PROJECTIONS for table in projection.derived)
"""The tables that are derived only from events."""

PARTITIONED_TABLES: Final[Sequence[Table]] = tuple(
    table
    for table in (*LOG_TABLES, *(table for projection in PROJECTIONS for table in projection.tables))
    if is_partitioned(table)
)
"""The tables that have one partition per chain in PostgreSQL."""


def progress_of(connection: Connection, chain_id: int | None = None) -> Mapping[int, Mapping[str, Any]]:
    """Return the fields that the projections add to each chain's progress, keyed by chain id."""
    fields: dict[int, dict[str, Any]] = defaultdict(dict)
    for projection in PROJECTIONS:
        for chain, values in projection.progress(connection, chain_id).items():
            fields[chain].update(values)
    return fields
