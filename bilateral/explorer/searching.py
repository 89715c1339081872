"""The search page, and the pages that a search text identifies: an agent, account, transaction, validation or tag."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from pydantic import ValidationError
from sqlalchemy import Connection, select

from bilateral.core.errors import BilateralError, InvalidArgumentError
from bilateral.core.errors.invalid_fields import refusal
from bilateral.core.identifiers import checksummed
from bilateral.core.text import quoted
from bilateral.explorer.listing import GATE_FILTERS
from bilateral.explorer.look_alikes import readings, shape
from bilateral.explorer.networks import account_path, agent_path, chain_of, rating_path, ratings_path, slug_of
from bilateral.explorer.text import MAX_LENGTH
from bilateral.index.agents import tables as agent_tables
from bilateral.index.files.queries import names_of
from bilateral.index.log.text import key_text
from bilateral.index.operating.chains import ChainProgress, chains
from bilateral.index.payments.queries import logged_in, paid_in
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.validations import validation_records
from bilateral.index.reading.registries import AgentKey, Registries, agent_key
from bilateral.index.search.filters import MAX_GATES, OF_GATE, AgentSearch, Capability, Gate, Order, Side, storable
from bilateral.index.search.gate_texts import AgentFilters, GateFilters
from bilateral.index.search.queries import FACET_SAMPLE, Facet, Facets, by_meaning, search_agents, search_with_facets
from bilateral.index.search.results import FoundAgent, RowDetails, row_details
from bilateral.index.standing.queries import Doubt, doubts_of

ADDRESS_LENGTH: Final = 42
"""The number of characters in an address."""

_ADDRESS: Final = re.compile("0x[0-9a-fA-F]{40}")
_HASH: Final = re.compile("0x[0-9a-fA-F]{64}")
_NUMBER: Final = re.compile(r"#?([0-9]{1,78})")
_PAIR: Final = re.compile(r"/?([a-z0-9-]{1,40})\s*(?:/|:|#|\s)\s*#?([0-9]{1,78})")
_MOST: Final = 5  # direct results, so that the search's results remain visible below
_MAX_INSPECTED: Final = 20
"""The maximum number of agents to examine for look-alike names, starting with names that contain the words."""

_SIDES: Final = (Side.SERVER, Side.CLIENT, Side.VALIDATOR)


@dataclass(frozen=True, slots=True)
class Direct:
    """A page that a search text identifies.

    Attributes:
        kind: `agent`, `account`, `validation` or `tag`; `rating`, `registration` or `payment` for the events in a
            transaction.
        name: The agent's id, the address, the hash or the tag.
        label: The agent's name (untrusted text); None for other pages.
        path: The path of the page.
    """

    kind: str
    name: str
    label: str | None
    path: str


def directly(connection: Connection, registries: Registries, words: str) -> tuple[Direct, ...]:
    """Return the pages that a search text identifies."""
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
    """Return the agents that an id identifies. A bare number may identify one agent per chain."""
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
    """Return all indexed agents whose names look like a text but contain different letters."""
    target = shape(text)
    names: dict[str, str] = {}
    for reading in readings(text):
        try:
            page = search_agents(connection, AgentSearch(text=reading), limit=_MAX_INSPECTED)
        except InvalidArgumentError:  # for example, if the text has too many words
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


GATE: Final = tuple(field.alias or name for name, field in GateFilters.model_fields.items())
"""The form fields of a gate (a rating condition). Those of the second gate end in `_2`, and so on."""

ENDS: Final = ("", *(f"_{number}" for number in range(2, MAX_GATES + 1)))
"""The suffix of each gate's field names."""

_ROWS: Final = 20  # the API's default page size
_USUAL_TAG: Final = "starred"
_DAY: Final = 86_400  # seconds; Unix time ignores leap seconds


class _Form(AgentFilters):
    """The form's fields, except those of gates."""

    order: Order | None = None


FIELDS: Final = (
    *(field.alias or name for name, field in AgentFilters.model_fields.items()),
    *(f"{name}{end}" for end in ENDS for name in GATE),
    *("order", "cursor"),
)
"""The names of the form's fields, in order."""


@dataclass(frozen=True, slots=True)
class SearchPage:
    """The page's content.

    Attributes:
        fields: The form fields that are filled in.
        found: The agents that were found.
        details: The text and figures next to each agent, by short id.
        facets: Values by which users can narrow the search; None if the form is invalid.
        rated_side: The side of the first gate in use, whose ratings are shown next to each agent.
        next: The next page's path; None if this is the last page.
        problem: A sentence that explains why the form is invalid; None if it is valid.
        is_closest: True if no agent matches all words, so the results are the agents closest in meaning.
        doubts: Why agents on the page are held back or contested, by short id.
        direct: Pages that the text identifies: an agent, an account, a validation or a tag.
    """

    fields: dict[str, str]
    found: tuple[FoundAgent, ...]
    details: dict[str, RowDetails]
    facets: Facets | None
    rated_side: str
    next: str | None
    problem: str | None
    is_closest: bool
    doubts: dict[str, Doubt]
    direct: tuple[Direct, ...]
    chains: tuple[ChainProgress, ...]


def filled(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of the form that are filled in, in order."""
    fields = {name: parameters.get(name, "").strip() for name in FIELDS}
    fields = {name: value for name, value in fields.items() if value}
    for end in ENDS[1:]:  # the form has a side for every gate, even for empty ones
        if fields.get(f"side{end}") == Side.SERVER:
            del fields[f"side{end}"]
    if fields.get("order") in {order.value for order in OF_GATE} and not any(
        f"{name}{end}" in fields for end in ENDS for name in GATE if name != "side"
    ):
        fields["tag"] = _USUAL_TAG  # these orders need a gate
        fields = {name: fields[name] for name in FIELDS if name in fields}
    return {} if fields == {"side": Side.SERVER.value} else fields


def path_of(fields: Mapping[str, str]) -> str:
    """Return the path for a form state."""
    return f"/search?{urlencode(fields)}" if fields else "/search"


def search_page(connection: Connection, registries: Registries, fields: dict[str, str]) -> SearchPage:
    """Read the content of the search page."""
    indexed = chains(connection)
    direct = directly(connection, registries, fields.get("q", ""))
    try:
        search = search_of(fields)
        registries.require_indexed(search.chains)
        sample = 0 if "cursor" in fields else FACET_SAMPLE
        page, facets = search_with_facets(connection, search, limit=_ROWS, cursor=fields.get("cursor"), sample=sample)
        closest = None if page.items or direct else by_meaning(search)
        is_closest = closest is not None
        if closest is not None:
            search = closest
            page, facets = search_with_facets(connection, search, limit=_ROWS, sample=sample)
    except InvalidArgumentError as error:
        return SearchPage(fields, (), {}, None, Side.SERVER, None, str(error), False, {}, direct, indexed)
    side = search.gates[0].side if search.gates else Side.SERVER
    order = {"order": Order.MEANING.value} if is_closest else {}
    following = None if page.next is None else path_of({**fields, **order, "cursor": page.next})
    ids = {agent.id for agent in page.items} | {page_.name for page_ in direct if page_.kind == "agent"}
    caveats = doubts_of(connection, registries, ids)
    # In a search by meaning, no word made a row match, so a snippet could highlight an irrelevant "and".
    text = "" if search.ranking is Order.MEANING else search.text
    details = row_details(connection, registries, page.items, text, side.value)
    return SearchPage(fields, page.items, details, facets, side, following, None, is_closest, caveats, direct, indexed)


def narrowed(fields: Mapping[str, str], facet: Facet, value: str) -> str | None:
    """Return the path of a search with an additional condition; None if the search already has such a condition."""
    if fields.get(facet.name):
        return None
    chosen = slug_of(int(value)) if facet.name == "chain" else value
    return path_of({**{name: text for name, text in fields.items() if name != "cursor"}, facet.name: chosen})


def evidence_path(page: SearchPage, agent: FoundAgent) -> str | None:
    """Return the path of the ratings by which an agent passed the first gate, with the gate's filters."""
    rating, gates = agent.rating, search_of(page.fields).gates
    if rating is None or not gates:
        return None
    raters = (reviewer.replace("agent ", f"{agent.chain_id}:") for reviewer in gates[0].reviewers)
    filters = {"reviewer": ",".join(raters) or None, **{name: getattr(gates[0], name) for name in GATE_FILTERS}}
    filters["registry"] = rating.registry
    return ratings_path(agent.id, gates[0].side, rating.tag, **filters)


def search_of(fields: Mapping[str, str]) -> AgentSearch:
    """Return the search that a form describes."""
    text, owner = fields.get("q"), fields.get("owner")
    if text and owner is None and text[:2].lower() == "0x" and len(text) == ADDRESS_LENGTH:
        text, owner = None, text
    gates = tuple(gate for end in ENDS if (gate := _gate(fields, end)) is not None)
    values: dict[str, Any] = {**fields, "q": text, "owner": owner, "chain": _chains(fields)}
    values |= {name: _listed(name, fields) for name in ("service", "metadata")}
    values["capability"] = list(map(_capability, _listed("capability", fields)))
    for name in ("registered", "updated"):
        values[f"{name}_from"] = _day(f"{name}_from", fields)
        values[f"{name}_to"] = _day(f"{name}_to", fields, is_end=True)
    try:
        form = _Form.model_validate(values)
    except ValidationError as error:
        raise refusal(error) from None
    if form.order in OF_GATE and not gates:
        raise InvalidArgumentError(
            "this order ranks agents by the first requirement: enter a tag, such as starred, or choose another order"
        )
    return form.search_by(gates, form.order)


def _gate(fields: Mapping[str, str], end: str) -> Gate | None:
    """Return one of a form's gates; None if it is empty. A side alone counts as a gate, except for the server side."""
    values: dict[str, Any] = {name: fields[f"{name}{end}"] for name in GATE if f"{name}{end}" in fields}
    if values.get("side", Side.SERVER) == Side.SERVER and not values.keys() - {"side"}:
        return None
    if "reviewer" in values:
        values["reviewer"] = values["reviewer"].replace(",", " ").split()
    try:
        return GateFilters(**values).gate()
    except ValidationError as error:
        raise refusal(error, end) from None


def _listed(name: str, fields: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(entry for part in fields.get(name, "").split(",") if (entry := part.strip()))


def _chains(fields: Mapping[str, str]) -> tuple[int, ...]:
    chain_ids = []
    for name in _listed("chain", fields):
        chain_id = chain_of(name)
        if chain_id is None:
            raise InvalidArgumentError(f"the chain {quoted(name)} is unknown: use its name or its number")
        chain_ids.append(chain_id)
    return tuple(chain_ids)


def _day(name: str, fields: Mapping[str, str], *, is_end: bool = False) -> int | None:
    text = fields.get(name)
    if text is None:
        return None
    try:
        first = datetime.fromisoformat(text).replace(tzinfo=UTC)
        return int(first.timestamp()) + (_DAY - 1 if is_end else 0)
    except ValueError:
        raise InvalidArgumentError(
            f"{name} {quoted(text)} is not a date: use the format YYYY-MM-DD, such as 2026-11-22"
        ) from None


def _capability(text: str) -> str:
    """Normalise a capability such as `mcp_tool:swap`. A bare value denotes an MCP tool."""
    kind, colon, value = text.partition(":")
    return f"{kind}:{value.strip()}" if colon else f"{Capability.MCP_TOOL}:{kind}"
