"""`bilateral search`: agents by text, capabilities and ratings."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, ClassVar, Final

import typer

from bilateral.cli.columns import field_at
from bilateral.cli.index_options import Database, require_extra
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import command, option, optional
from bilateral.index.search.gate_texts import AgentQuestion, GateFilters

if TYPE_CHECKING:
    from collections.abc import Callable

    from bilateral.index.search.queries import FoundAgent

app = typer.Typer()

_SECONDS: Final = 30.0
"""The time limit for a search in seconds: fifteen times a service's limit, because a command has a single user."""

_PAGE: Final = "Order and pages"


class SearchOptions(AgentQuestion):
    """The query, with flags and help panels for the command line."""

    flags: ClassVar[dict[str, str]] = {
        "text": "[WORDS]...",
        "chains": "--chain-id",
        "active": "--active/--inactive",
        "rated": "--rated/--not-rated",
    }
    panels: ClassVar[dict[str, tuple[str, ...]]] = {
        "Ratings": (*GateFilters.model_fields, "gates", "rated"),
        "Registration file": ("capabilities", "services", "active", "x402", "verified_domain", "alive"),
        "On chain": (
            *("chains", "owner", "wallet", "metadata"),
            *("registered_from", "registered_to", "updated_from", "updated_to"),
        ),
        _PAGE: ("order",),
    }


@command(app, is_local=True, needs=require_extra)
def search(
    invocation: Invocation,
    question: SearchOptions,
    limit: int = option(
        None, "The maximum number of agents to list.", default=20, min=1, max=1000, rich_help_panel=_PAGE
    ),
    cursor: str | None = optional(
        "CURSOR", "The cursor for the next page, printed at the end of the previous one.", rich_help_panel=_PAGE
    ),
    database: Database = None,
) -> None:
    """Find agents in the index by text, capability and rating."""
    from bilateral.index.reading.readers import Reader  # noqa: PLC0415  # slow to import
    from bilateral.index.search.queries import search_indexed  # noqa: PLC0415

    query = question.search()
    with closing(Reader(database, seconds=_SECONDS)) as reader:
        page = reader.read(search_indexed, query, limit=limit, cursor=cursor)
    if invocation.output.as_json:
        invocation.output.result(page)
        return
    if page.is_closest:
        invocation.output.note("no agent matches all words: these agents are closest in meaning")
    invocation.output.results(page.items, _COLUMNS, none="no agent meets all conditions")
    if page.next is not None:
        invocation.output.note(f"more: --cursor {page.next}")


def _of_rating(name: str) -> Callable[[FoundAgent], Any]:
    def read(agent: FoundAgent) -> Any:
        value = None if agent.rating is None else getattr(agent.rating, name)
        return f"{value:.2f}" if isinstance(value, float) else value

    return read


def _standing(agent: FoundAgent) -> str | None:
    """Return the standing's cell: its rating and lower bound, or its status and the reason."""
    if agent.status is None:
        return None
    status = agent.status.replace("_", " ")
    if agent.status in ("held_back", "contested"):
        return f"{status}: {agent.reason}".replace("_", " ")
    if agent.status != "ok" or agent.standing_rating is None:
        return status
    return f"{agent.standing_rating:.0f}, at least {agent.standing:.0f}"


_COLUMNS: Final[dict[str, Callable[[Any], Any]]] = {
    "agent": field_at("id"),
    "self-declared name": field_at("name"),
    "standing": _standing,
    "tag": _of_rating("tag"),
    "mean": _of_rating("mean"),
    "at least": _of_rating("lower_bound"),
    "ratings": _of_rating("count"),
    "raters": _of_rating("counterparts"),
    "active": field_at("active"),
    "x402": field_at("x402_support"),
    "owner": field_at("owner"),
}
"""The columns of the table."""
