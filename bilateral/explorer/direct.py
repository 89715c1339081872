"""Pages that the words of a search name: an agent by its id, an account, a transaction, a validation, or a tag."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from sqlalchemy import Connection, select

from bilateral.core.errors import BilateralError, InvalidArgumentError
from bilateral.core.identifiers import checksummed
from bilateral.explorer.look_alikes import readings, shape
from bilateral.explorer.networks import account_path, agent_path, chain_of, rating_path, ratings_path, slug_of
from bilateral.explorer.text import MAX_LENGTH
from bilateral.index.agents import tables as agent_tables
from bilateral.index.files.queries import names_of
from bilateral.index.log.text import key_text
from bilateral.index.payments.queries import logged_in, paid_in
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.validations import validation_records
from bilateral.index.reading.registries import AgentKey, Registries, agent_key
from bilateral.index.search.filters import AgentSearch, Side, storable
from bilateral.index.search.queries import search_agents

ADDRESS_LENGTH: Final = 42
"""The characters of an address."""

_ADDRESS: Final = re.compile("0x[0-9a-fA-F]{40}")
_HASH: Final = re.compile("0x[0-9a-fA-F]{64}")
_NUMBER: Final = re.compile(r"#?([0-9]{1,78})")
_PAIR: Final = re.compile(r"/?([a-z0-9-]{1,40})\s*(?:/|:|#|\s)\s*#?([0-9]{1,78})")
_MOST: Final = 5  # the results stand above those of the search, which must stay in sight
_MAX_INSPECTED: Final = 20
"""The agents among which names that look alike are looked for: those with the words in their names come first."""

_SIDES: Final = (Side.SERVER, Side.CLIENT, Side.VALIDATOR)


@dataclass(frozen=True, slots=True)
class Direct:
    """A page that the words of a search name.

    Attributes:
        kind: `agent`, `account`, `validation` or `tag`; `rating`, `registration` or `payment` for those of a
            transaction.
        name: The agent's id, the address, the hash or the tag.
        label: The agent's name, the word of a stranger; None for others.
        path: The path of the page.
    """

    kind: str
    name: str
    label: str | None
    path: str


def directly(connection: Connection, registries: Registries, words: str) -> tuple[Direct, ...]:
    """Return the pages that the words of a search name."""
    text = words.strip()
    if _ADDRESS.fullmatch(text):
        address = checksummed(text)
        return (Direct("account", address, None, account_path(address)),)
    if _HASH.fullmatch(text):
        return (
            *_validations(connection, registries, text.lower()),
            *_of_transaction(connection, registries, text.lower()),
        )
    agents = _agents(connection, registries, text)
    return agents or (*_tags(connection, registries, text), *_look_alikes(connection, text))


def _agents(connection: Connection, registries: Registries, text: str) -> tuple[Direct, ...]:
    """Return the agents of an id. A number alone may be an agent of each chain."""
    keys: list[AgentKey] = []
    if number := _NUMBER.fullmatch(text):
        candidates = [(chain_id, number[1]) for chain_id in registries.by_chain]
    elif (pair := _PAIR.fullmatch(text.lower())) and (chain := chain_of(pair[1])) is not None:
        candidates = [(chain, pair[2])]
    else:
        candidates = []
    texts = [f"{chain_id}:{int(number_)}" for chain_id, number_ in candidates] or ([text] if ":" in text else [])
    for word in texts[:_MOST]:
        try:
            keys.append(agent_key(registries, word))
        except BilateralError:
            continue
    ids = [key.id for key in keys if _exists(connection, key)]
    names = names_of(connection, registries, ids)
    return tuple(Direct("agent", id_, names.get(id_), agent_path(id_)) for id_ in ids)


def _look_alikes(connection: Connection, text: str) -> tuple[Direct, ...]:
    """Return the agents of the whole index whose names look like a text, but have other letters."""
    target = shape(text)
    names: dict[str, str] = {}
    for reading in readings(text):
        try:
            page = search_agents(connection, AgentSearch(text=reading), limit=_MAX_INSPECTED)
        except InvalidArgumentError:  # such as a text with too many words
            continue
        names.update(
            (agent.id, agent.name) for agent in page.items if agent.name and shape(agent.name[:MAX_LENGTH]) == target
        )
    return tuple(Direct("agent", id_, name, agent_path(id_)) for id_, name in list(names.items())[:_MOST])


def _exists(connection: Connection, key: AgentKey) -> bool:
    columns = agent_tables.agent.c
    return connection.execute(select(columns.agent_id).where(*key.of(columns))).first() is not None


def _validations(connection: Connection, registries: Registries, request: str) -> tuple[Direct, ...]:
    return tuple(
        Direct("validation", request, None, f"/{slug_of(chain_id)}/validations/{request}")
        for chain_id in registries.by_chain
        if validation_records(connection, chain_id, bytes.fromhex(request[2:]))
    )[:_MOST]


def _of_transaction(connection: Connection, registries: Registries, text: str) -> tuple[Direct, ...]:
    transaction = bytes.fromhex(text[2:])
    direct = []
    for chain_id in registries.by_chain:
        for paid in paid_in(connection, chain_id, transaction):
            path = ratings_path(f"{chain_id}:{paid.agent_id}", client=paid.payer)
            direct.append(Direct("payment", text, None, path))
        for logged in logged_in(connection, chain_id, transaction):
            path = rating_path(chain_id, logged.block, logged.log_index)
            if isinstance(logged.name, bytes):
                path = f"/{slug_of(chain_id)}/validations/0x{logged.name.hex()}"
            elif logged.name is not None:
                path = agent_path(f"{chain_id}:{logged.name}")
            direct.append(Direct(logged.kind, text, None, path))
    return tuple(direct)


def _tags(connection: Connection, registries: Registries, text: str) -> tuple[Direct, ...]:
    if not text:
        return ()
    columns, tag = rating_tables.summary.c, key_text(storable(text))
    direct = []
    for side in _SIDES:
        query = select(columns.tag).where(
            columns.chain_id.in_(registries.by_chain), columns.side == side.value, columns.tag == tag
        )
        if connection.execute(query.limit(1)).first() is not None:
            direct.append(Direct("tag", tag, None, f"/search?{urlencode({'side': side.value, 'tag': tag})}"))
    return tuple(direct)
