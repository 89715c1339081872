"""One agent by one statement, on PostgreSQL: there each statement is a way to the server and back."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, bindparam, column, func, select, table
from sqlalchemy.dialects.postgresql import aggregate_order_by

from bilateral.index.tables import files, schema
from bilateral.index.tables.blind import is_plain
from bilateral.query.prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ScalarSelect, Select

_KEY: Final = ("chain_id", "identity_registry", "agent_id")


class Columns:
    """The columns and limits of the statement. It is made once for each number of registries.

    Args:
        agent: The columns of the agent.
        view: The columns of the view `agent_registration`.
        summary: The columns of its summaries.
        entries: The largest number of entries of its metadata, and of summaries.
        size: The bytes of a value of metadata.
    """

    def __init__(
        self, agent: Sequence[str], view: Sequence[str], summary: Sequence[str], entries: int, size: int
    ) -> None:
        """See the class."""
        self.agent, self.view, self.summary, self.entries, self.size = agent, view, summary, entries, size


@cache
def agent_statement(columns: Columns, registries: int) -> Prepared:
    """Return the statement for an agent, with what belongs to it as lists.

    Its parameters are the agent (`chain`, `identity`, `agent`), and the registries of its ratings (`registry_0`, …).
    Its row has the columns of the agent, those of its registration file, and the rows of its services, capabilities,
    metadata and summaries, or None for a kind without rows. An agent that the index does not know has no row.

    Args:
        columns: The columns.
        registries: The number of registries.
    """
    agent = schema.agent.c
    view = table("agent_registration", *(column(name) for name in (*_KEY, "content_hash", *columns.view)))
    is_of_agent = and_(*(view.c[name] == agent[name] for name in _KEY))
    service, capability = files.registration_service.c, files.registration_capability.c
    parts = (
        _listed(
            select(service.name, service.endpoint, service.version, service.position)
            .where(service.content_hash == view.c.content_hash)
            .correlate(view),
            ("name", "endpoint", "version"),
            ("position",),
        ),
        _listed(
            select(capability.kind, capability.value, capability.position)
            .where(capability.content_hash == view.c.content_hash)
            .correlate(view),
            ("kind", "value"),
            ("kind", "position"),
        ),
        _listed(_metadata(columns), ("metadata_key", "value", "size"), ("metadata_key",)),
        _listed(_summaries(columns, registries), columns.summary, ("-counterparts", "registry", "side", "tag")),
    )
    return Prepared(
        select(*(agent[name] for name in columns.agent), *(view.c[name] for name in columns.view), *parts)
        .select_from(schema.agent.outerjoin(view, is_of_agent))
        .where(*_is(agent))
    )


def _is(columns: Any) -> list[Any]:
    """Return the conditions that a row is of the agent."""
    typed = schema.agent.c
    names = zip(_KEY, ("chain", "identity", "agent"), strict=True)
    return [columns[name] == bindparam(value, type_=typed[name].type) for name, value in names]


def _metadata(columns: Columns) -> Select[Any]:
    """Return the query for the metadata on chain."""
    entry = schema.agent_metadata.c
    value = func.encode(func.substr(entry.metadata_value, 1, columns.size), "hex").label("value")
    return (
        select(entry.metadata_key, value, func.length(entry.metadata_value).label("size"))
        .where(*_is(entry))
        .order_by(entry.metadata_key)
        .limit(columns.entries)
    )


def _summaries(columns: Columns, registries: int) -> Select[Any]:
    """Return the query for the summaries."""
    summary = schema.summary.c
    listed = [bindparam(f"registry_{place}", type_=summary.registry.type) for place in range(registries)]
    return (
        select(*(summary[name] for name in columns.summary))
        .where(
            summary.chain_id == bindparam("chain", type_=summary.chain_id.type),
            summary.registry.in_(listed),
            summary.agent_id == bindparam("agent", type_=summary.agent_id.type),
            is_plain(summary.side),
        )
        .order_by(summary.counterparts.desc(), summary.registry, summary.side, summary.tag)
        .limit(columns.entries)
    )


def _listed(query: Select[Any], names: Sequence[str], order: Sequence[str]) -> ScalarSelect[Any]:
    """Return the rows of a query as one list of lists, in an order of columns; those with a minus sign downwards."""
    rows = query.subquery()
    by = [rows.c[name[1:]].desc() if name.startswith("-") else rows.c[name] for name in order]
    item = func.json_build_array(*(rows.c[name] for name in names))
    return select(func.json_agg(aggregate_order_by(item, *by))).scalar_subquery()
