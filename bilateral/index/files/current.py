"""The current file of each agent: one row an agent, changed in the transaction that changes what it follows from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import Connection, and_, bindparam, delete, exists, insert, or_, select

from bilateral.core.events import Transfer, URIUpdated
from bilateral.index.agents import tables as agent_tables
from bilateral.index.files import tables as files
from bilateral.index.files.tables import Kind, agent_file
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import EventRows
from bilateral.index.log.rows import picker

AgentPlace = tuple[str, int]
"""An agent of a chain: the address of its identity registry, and its id."""

_NOBODY: Final = "0x" + "0" * 40
_UPDATED, _TRANSFERRED = (schema.EVENT_TABLES[event] for event in (URIUpdated, Transfer))
_pick_updated = picker(_UPDATED, "registry", "agent_id")
_pick_transferred = picker(_TRANSFERRED, "registry", "agent_id", "to_address")


def left_files(events: EventRows) -> set[AgentPlace]:
    """Return the agents that left their file by some events: they have another URI, or are burnt."""
    updated = {_pick_updated(row) for row in events.get(_UPDATED, ())}
    burnt = (_pick_transferred(row) for row in events.get(_TRANSFERRED, ()))
    return updated | {(registry, agent_id) for registry, agent_id, to in burnt if to == _NOBODY}


def left_files_after(connection: Connection, chain_id: int, block: int) -> set[AgentPlace]:
    """Return the agents that left their file in the blocks after one."""
    agents: set[AgentPlace] = set()
    for table in (_UPDATED, _TRANSFERRED):
        query = select(table.c.registry, table.c.agent_id).where(
            table.c.chain_id == chain_id, table.c.block_number > block
        )
        if table is _TRANSFERRED:
            query = query.where(table.c.to_address == _NOBODY)
        agents |= {(registry, agent_id) for registry, agent_id in connection.execute(query)}
    return agents


def forget_files(connection: Connection, chain_id: int, agents: Iterable[AgentPlace]) -> None:
    """Forget the current files of agents. The scan of their new URIs finds the new ones."""
    keys = [_parameters(chain_id, *agent) for agent in sorted(agents)]
    if keys:
        connection.execute(delete(agent_file).where(*_IS_ONE), keys)


def find_files(connection: Connection, chain_id: int, agents: Iterable[AgentPlace] | None = None) -> None:
    """Find the current files of agents again: those that their latest events name, if these name their URIs of now."""
    if agents is None:
        connection.execute(delete(agent_file).where(agent_file.c.chain_id == chain_id))
        connection.execute(_FOUND, {"of_chain": chain_id})
        return
    requested = sorted(agents)
    forget_files(connection, chain_id, requested)
    keys: Sequence[dict[str, Any]] = [_parameters(chain_id, *agent) for agent in requested]
    if keys:
        connection.execute(_FOUND_ONE, keys)


def _parameters(chain_id: int, registry: str, agent_id: int) -> dict[str, Any]:
    return {"of_chain": chain_id, "of_registry": registry, "of_agent": agent_id}


def _current_files() -> Any:
    """Return the query for the current file of each agent of a chain."""
    agent, file = agent_tables.agent.c, files.file.c
    named, later = files.file_reference.alias("named").c, files.file_reference.alias("later").c
    of_agent = ("chain_id", "registry", "agent_id", "kind")
    is_later = or_(
        later.block_number > named.block_number,
        and_(later.block_number == named.block_number, later.log_index > named.log_index),
    )
    replaced = exists().where(*(later[name] == named[name] for name in of_agent), is_later)
    return select(agent.chain_id, agent.identity_registry, agent.agent_id, named.file_id).where(
        agent.chain_id == bindparam("of_chain"),
        named.chain_id == agent.chain_id,
        named.registry == agent.identity_registry,
        named.agent_id == agent.agent_id,
        named.kind == Kind.REGISTRATION,
        ~replaced,
        file.file_id == named.file_id,
        file.uri == agent.uri,
    )


_COLUMNS: Final = ("chain_id", "identity_registry", "agent_id", "file_id")
_FOUND: Final = insert(agent_file).from_select(_COLUMNS, _current_files())
_FOUND_ONE: Final = insert(agent_file).from_select(
    _COLUMNS,
    _current_files().where(
        agent_tables.agent.c.identity_registry == bindparam("of_registry"),
        agent_tables.agent.c.agent_id == bindparam("of_agent", type_=agent_tables.agent.c.agent_id.type),
    ),
)
_IS_ONE: Final = (
    agent_file.c.chain_id == bindparam("of_chain"),
    agent_file.c.identity_registry == bindparam("of_registry"),
    agent_file.c.agent_id == bindparam("of_agent", type_=agent_file.c.agent_id.type),
)
