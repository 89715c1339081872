"""Names of agents, as their registration files say them: the words of strangers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, func, select

from bilateral.index.files import tables as files
from bilateral.index.files.tables import READ_FILES, agent_file
from bilateral.index.log.lists import in_parts
from bilateral.index.reading.registries import Registries, numbers_by_chain

_LENGTH: Final = 320
"""The characters of a name that are read."""


def names_of(connection: Connection, registries: Registries, ids: Iterable[str | None]) -> dict[str, str]:
    """Return the names of agents by their short ids. One without a name is left out."""
    return {
        f"{chain_id}:{agent_id}": name
        for chain_id, requested in numbers_by_chain(ids).items()
        for agent_id, name in _names(connection, chain_id, registries.identity_of(chain_id), requested)
    }


def _names(connection: Connection, chain_id: int, identity: str, wanted: list[int]) -> Iterable[tuple[int, str]]:
    """Yield the agents of a registry that have a name."""
    current, read = agent_file.c, files.registration_file.c
    query = select(current.agent_id, func.substr(read.name, 1, _LENGTH)).select_from(READ_FILES)
    query = query.where(current.chain_id == chain_id, current.identity_registry == identity)
    for part in in_parts(wanted):
        for agent_id, name in connection.execute(query.where(current.agent_id.in_(part))).all():
            if name:
                yield int(agent_id), name
