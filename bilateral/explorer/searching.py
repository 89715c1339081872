"""The page of searches: the gate as a form, and a path for every state of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from pydantic import ValidationError
from sqlalchemy import Connection

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.errors.invalid_fields import refusal
from bilateral.core.text import quoted
from bilateral.explorer.direct import ADDRESS_LENGTH, Direct, directly
from bilateral.explorer.listing import GATE_FILTERS
from bilateral.explorer.networks import chain_of, ratings_path, slug_of
from bilateral.index.operating.chains import ChainProgress, chains
from bilateral.index.reading.registries import Registries
from bilateral.index.search.filters import MAX_GATES, OF_GATE, AgentSearch, Capability, Gate, Order, Side
from bilateral.index.search.gate_texts import AgentFilters, GateFilters
from bilateral.index.search.queries import FACET_SAMPLE, Facet, Facets, by_meaning, search_with_facets
from bilateral.index.search.results import FoundAgent, RowDetails, row_details
from bilateral.index.standing.queries import Doubt, doubts_of

GATE: Final = tuple(field.alias or name for name, field in GateFilters.model_fields.items())
"""The names of a gate's fields. Those of the second gate end with `_2`, and so on."""

ENDS: Final = ("", *(f"_{number}" for number in range(2, MAX_GATES + 1)))
"""The ends of the names of each gate's fields."""

_ROWS: Final = 20  # the default page of the API
_USUAL_TAG: Final = "starred"
_DAY: Final = 86_400  # seconds; Unix time has no leap seconds


class _Form(AgentFilters):
    """The fields of the form beside those of gates."""

    order: Order | None = None


FIELDS: Final = (
    *(field.alias or name for name, field in AgentFilters.model_fields.items()),
    *(f"{name}{end}" for end in ENDS for name in GATE),
    *("order", "cursor"),
)
"""The names of the form's fields, in their order."""


@dataclass(frozen=True, slots=True)
class SearchPage:
    """The content of the page.

    Attributes:
        fields: The filled fields of the form.
        found: The agents.
        details: The words and figures beside each of them, by short id.
        facets: In what the first agents differ; None if the form is wrong.
        rated_side: The side of the first filled gate, as which the shown ratings rate the agents.
        next: The path of the next page; None if this is the last one.
        problem: The sentence that says why the form is wrong; None if it is not.
        is_closest: True if no agent has all words, and these come closest to their meaning.
        doubts: The agents of the page that are held back or contested, by short id.
        direct: Pages that the words name: an agent, an account, a validation or a tag.
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
    """Return the fields of the form that are filled, in their order."""
    fields = {name: parameters.get(name, "").strip() for name in FIELDS}
    fields = {name: value for name, value in fields.items() if value}
    for end in ENDS[1:]:  # a form names the side of every gate, also of those that are not filled
        if fields.get(f"side{end}") == Side.SERVER:
            del fields[f"side{end}"]
    if fields.get("order") in {order.value for order in OF_GATE} and not any(
        f"{name}{end}" in fields for end in ENDS for name in GATE if name != "side"
    ):
        fields["tag"] = _USUAL_TAG  # these orders rank by a gate
        fields = {name: fields[name] for name in FIELDS if name in fields}
    return {} if fields == {"side": Side.SERVER.value} else fields


def path_of(fields: Mapping[str, str]) -> str:
    """Return the path of a state of the form."""
    return f"/search?{urlencode(fields)}" if fields else "/search"


def search_page(connection: Connection, registries: Registries, fields: dict[str, str]) -> SearchPage:
    """Read the page of a search."""
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
    # By meaning no word made a row match: a snippet would name an "and".
    text = "" if search.ranking is Order.MEANING else search.text
    details = row_details(connection, registries, page.items, text, side.value)
    return SearchPage(fields, page.items, details, facets, side, following, None, is_closest, caveats, direct, indexed)


def narrowed(fields: Mapping[str, str], facet: Facet, value: str) -> str | None:
    """Return the path of a search with one more condition; None if it has a condition of this kind."""
    if fields.get(facet.name):
        return None
    chosen = slug_of(int(value)) if facet.name == "chain" else value
    return path_of({**{name: text for name, text in fields.items() if name != "cursor"}, facet.name: chosen})


def evidence_path(page: SearchPage, agent: FoundAgent) -> str | None:
    """Return the path of the ratings by which an agent passed the first gate: by its reviewers, with its payments."""
    rating, gates = agent.rating, search_of(page.fields).gates
    if rating is None or not gates:
        return None
    raters = (reviewer.replace("agent ", f"{agent.chain_id}:") for reviewer in gates[0].reviewers)
    filters = {"reviewer": ",".join(raters) or None, **{name: getattr(gates[0], name) for name in GATE_FILTERS}}
    filters["registry"] = rating.registry
    return ratings_path(agent.id, gates[0].side, rating.tag, **filters)


def search_of(fields: Mapping[str, str]) -> AgentSearch:
    """Return the search of a form."""
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
            "this order ranks agents by the first gate: fill in a tag, such as starred, or choose another order"
        )
    return form.search_by(gates, form.order)


def _gate(fields: Mapping[str, str], end: str) -> Gate | None:
    """Return a gate of a form; None if it is not filled. A side alone is a gate, but for that of servers."""
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
        raise InvalidArgumentError(f"{name} {quoted(text)} is not a date: use the form 2026-11-22") from None


def _capability(text: str) -> str:
    """Return a kind and a value; a value alone is that of an MCP tool."""
    kind, colon, value = text.partition(":")
    return f"{kind}:{value.strip()}" if colon else f"{Capability.MCP_TOOL}:{kind}"
