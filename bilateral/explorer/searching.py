"""The page of searches: the gate as a form, and a path for every state of it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlencode

from bilateral.errors import InvalidArgumentError
from bilateral.explorer.networks import chain_of
from bilateral.index.queries.chains import ChainProgress, chains
from bilateral.index.queries.search import FoundAgent, search_agents
from bilateral.index.queries.search_filters import AgentSearch, Capability, Gate, Order, Payment, Side
from bilateral.text import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

T = TypeVar("T")

FIELDS: Final = (
    *("q", "chain", "side", "tag", "lower_bound", "minimum", "clients", "count", "reviewer", "payment"),
    *("service", "capability", "active", "x402", "order", "cursor"),
)
"""The names of the form's fields, in their order."""

_GATE: Final = ("tag", "lower_bound", "minimum", "clients", "count", "reviewer", "payment")
_ROWS: Final = 20
_MOST_DIGITS: Final = 18


@dataclass(frozen=True, slots=True)
class SearchPage:
    """The content of the page.

    Attributes:
        fields: The filled fields of the form.
        found: The agents.
        next: The path of the next page; None if this is the last one.
        problem: The sentence that says why the form is wrong; None if it is not.
        chains: The indexed chains.
    """

    fields: dict[str, str]
    found: tuple[FoundAgent, ...]
    next: str | None
    problem: str | None
    chains: tuple[ChainProgress, ...]


def filled(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of the form that are filled, in their order.

    Args:
        parameters: The parameters of the path.
    """
    found = {name: parameters.get(name, "").strip() for name in FIELDS}
    found = {name: value for name, value in found.items() if value}
    return {} if found == {"side": Side.SERVER.value} else found


def path_of(fields: Mapping[str, str]) -> str:
    """Return the path of a state of the form.

    Args:
        fields: The filled fields.
    """
    return f"/search?{urlencode(fields)}" if fields else "/search"


def search_page(connection: Connection, fields: dict[str, str]) -> SearchPage:
    """Read the page of a search.

    Args:
        connection: The database.
        fields: The filled fields of the form.
    """
    indexed = chains(connection)
    try:
        search = search_of(fields)
        page = search_agents(connection, search, limit=_ROWS, cursor=fields.get("cursor"))
    except InvalidArgumentError as error:
        return SearchPage(fields, (), None, str(error), indexed)
    following = None if page.next is None else path_of({**fields, "cursor": page.next})
    return SearchPage(fields, page.items, following, None, indexed)


def search_of(fields: Mapping[str, str]) -> AgentSearch:
    """Return the search of a form.

    Args:
        fields: The filled fields.

    Raises:
        InvalidArgumentError: A field is wrong.
    """
    side = _one_of(Side, "side", fields.get("side")) or Side.SERVER
    gate = (
        Gate(
            tag=fields.get("tag"),
            side=side,
            minimum=_number("minimum", fields),
            lower_bound=_number("lower_bound", fields),
            count=_count("count", fields) or 1,
            clients=_count("clients", fields) or 1,
            reviewers=tuple(fields.get("reviewer", "").replace(",", " ").split()),
            payment=_one_of(Payment, "payment", fields.get("payment")),
        )
        if side is not Side.SERVER or any(name in fields for name in _GATE)
        else None
    )
    text, owner = fields.get("q"), None
    if text and text[:2].lower() == "0x":
        text, owner = None, text
    return AgentSearch(
        text=text,
        owner=owner,
        chains=_chains(fields),
        capabilities=tuple(_capability(it) for it in fields.get("capability", "").split(",") if it.strip()),
        services=tuple(it.strip() for it in fields.get("service", "").split(",") if it.strip()),
        active=_yes_or_no("active", fields),
        x402=_yes_or_no("x402", fields),
        gates=() if gate is None else (gate,),
        order=_one_of(Order, "order", fields.get("order")),
    )


def _chains(fields: Mapping[str, str]) -> tuple[int, ...]:
    """Return the chain of a form, as a list."""
    if "chain" not in fields:
        return ()
    chain_id = chain_of(fields["chain"])
    if chain_id is None:
        raise InvalidArgumentError(f"the chain {quoted(fields['chain'])} is unknown: write its name or its number")
    return (chain_id,)


def _number(name: str, fields: Mapping[str, str]) -> Decimal | None:
    """Return a number of a form."""
    text = fields.get(name)
    try:
        return None if text is None else Decimal(text[:60])
    except InvalidOperation:
        raise InvalidArgumentError(f"{name} {quoted(text or '')} is not a number") from None


def _count(name: str, fields: Mapping[str, str]) -> int | None:
    """Return a count of a form."""
    text = fields.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise InvalidArgumentError(f"{name} {quoted(text)} is not a count: write an integer from 1")
    return int(text)


def _yes_or_no(name: str, fields: Mapping[str, str]) -> bool | None:
    """Return an answer of a form."""
    text = fields.get(name)
    if text not in (None, "yes", "no"):
        raise InvalidArgumentError(f"{name} {quoted(text or '')} is neither yes nor no")
    return None if text is None else text == "yes"


def _one_of(kind: type[T], name: str, text: str | None) -> T | None:
    """Return a choice of a form."""
    if text is None:
        return None
    try:
        return kind(text)  # type: ignore[call-arg]  # an enumeration of texts
    except ValueError:
        raise InvalidArgumentError(f"{name} {quoted(text)} is not a choice") from None


def _capability(text: str) -> tuple[Capability, str]:
    """Return a kind and a value; a value alone is that of an MCP tool."""
    kind, colon, value = text.strip().partition(":")
    if not colon:
        return Capability.MCP_TOOL, kind
    return _one_of(Capability, "capability", kind) or Capability.MCP_TOOL, value.strip()
