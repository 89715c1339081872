"""`bilateral search`: agents by words, by what they do, and by how they are rated."""

from __future__ import annotations

import inspect
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bilateral.cli.index_options import Database
from bilateral.cli.index_processes import require_extra
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import command

if TYPE_CHECKING:
    from collections.abc import Callable

    from bilateral.query.search.agents import FoundAgent
    from bilateral.query.search.filters import AgentSearch

_SECONDS: Final = 30.0
"""Seconds that a search may take: fifteen times the limit of a service, as nobody else waits."""

_RATINGS: Final = "Ratings"
_FILE: Final = "Registration file"
_CHAIN: Final = "On chain"
_PAGE: Final = "Order and pages"


def add_commands(app: Any) -> None:
    """Add the command to the root.

    Args:
        app: The root.
    """
    command(
        app,
        "search",
        "bilateral search market data --tag starred --minimum 80 --count 5",
        "bilateral search --capability mcp_tool:get_weather --x402 --order registered",
        "bilateral search weather --reviewer 0x8004B663056A597Dffe9eCcC1965A193B7388713 --json",
        "bilateral search --gate tag=starred,minimum=80 --gate side=client,tag=,minimum=70",
        is_local=True,
    )(_with_filters(search))


def _option(  # noqa: PLR0913, PLR0917  # as those of Typer
    kind: Any, flag: str, about: str, panel: str, metavar: str | None = None, least: int | None = None
) -> Any:
    """Return the annotation of a parameter that is None if its option is left out."""
    option = typer.Option(
        flag, metavar=metavar, help=about, rich_help_panel=panel, min=least, show_default=kind is not bool
    )
    return Annotated[kind | None, option]


_FILTERS: Final[dict[str, Any]] = {
    "tag": _option(str, "--tag", "Rated under this tag; under any one if left out.", _RATINGS, "TAG"),
    "side": _option(str, "--side", "Rated on this side.", _RATINGS, "server|client|validator"),
    "minimum": _option(str, "--minimum", "The least mean.", _RATINGS, "NUMBER"),
    "maximum": _option(str, "--maximum", "The greatest mean.", _RATINGS, "NUMBER"),
    "lower_bound": _option(
        str, "--lower-bound", "The least lower bound, with a confidence of 95 %.", _RATINGS, "NUMBER"
    ),
    "count": _option(int, "--count", "The least number of ratings.", _RATINGS, least=1),
    "maximum_count": _option(int, "--maximum-count", "The greatest number of ratings.", _RATINGS, least=1),
    "clients": _option(
        int, "--clients", "The least number of distinct clients, or servers, that rated.", _RATINGS, least=1
    ),
    "reviewers": _option(
        list[str], "--reviewer", "Count only ratings by this account; may be repeated.", _RATINGS, "ADDRESS"
    ),
    "payment": _option(str, "--payment", "Count only feedback that claims a payment.", _RATINGS, "claimed|matching"),
    "blind": _option(
        str, "--blind", "Count only ratings that were sealed before either side saw them.", _RATINGS, "only"
    ),
    "gates": _option(
        list[str],
        "--gate",
        "A further condition, as tag=starred,minimum=80,count=5; may be repeated.",
        _RATINGS,
        "NAME=VALUE,…",
    ),
    "rated": _option(bool, "--rated/--not-rated", "With feedback, or without.", _RATINGS),
    "capabilities": _option(
        list[str], "--capability", "With this capability: mcp_tool:get_weather; may be repeated.", _FILE, "KIND:VALUE"
    ),
    "services": _option(
        list[str], "--service", "With a service of this kind, such as mcp; may be repeated.", _FILE, "KIND"
    ),
    "active": _option(bool, "--active/--inactive", "The file says so, or the contrary.", _FILE),
    "x402": _option(bool, "--x402/--no-x402", "The file says that it takes payments by x402, or not.", _FILE),
    "verified_domain": _option(
        bool, "--verified-domain/--no-verified-domain", "The domain of one of its services names it, or not.", _FILE
    ),
    "chains": _option(list[int], "--chain-id", "On this chain; may be repeated.", _CHAIN, least=1),
    "owner": _option(str, "--owner", "Of this owner.", _CHAIN, "ADDRESS"),
    "wallet": _option(str, "--wallet", "With this wallet.", _CHAIN, "ADDRESS"),
    "metadata": _option(list[str], "--metadata", "With this metadata on chain; may be repeated.", _CHAIN, "KEY[=TEXT]"),
    "registered_from": _option(
        int, "--registered-from", "Registered at this time or later, in Unix seconds.", _CHAIN, "SECONDS", 0
    ),
    "registered_to": _option(int, "--registered-to", "Registered at this time or earlier.", _CHAIN, "SECONDS", 0),
    "updated_from": _option(int, "--updated-from", "Changed last at this time or later.", _CHAIN, "SECONDS", 0),
    "updated_to": _option(int, "--updated-to", "Changed last at this time or earlier.", _CHAIN, "SECONDS", 0),
    "order": _option(
        str,
        "--order",
        "The order; docs/search.md has the default.",
        _PAGE,
        "standing|relevance|meaning|lower_bound|mean|activity|updated|registered|last_active",
    ),
}
"""The options of the fields of `AgentQuestion`, by their names."""


def search(
    invocation: Invocation,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORDS]...", help="Words of names, descriptions, services, capabilities.", show_default=False
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=1000, help="The most agents.", rich_help_panel=_PAGE)
    ] = 20,
    cursor: Annotated[
        str | None,
        typer.Option(
            "--cursor",
            metavar="CURSOR",
            help="The next page: the cursor that the former one ended with.",
            rich_help_panel=_PAGE,
        ),
    ] = None,
    database: Database = None,
    **filters: Any,
) -> None:
    """Find agents in the index by words, by what they do, and by how they are rated."""
    require_extra()
    from bilateral.query.readers import Reader  # noqa: PLC0415
    from bilateral.query.registries import read_registries  # noqa: PLC0415  # slow to import
    from bilateral.query.search.agents import search_agents  # noqa: PLC0415

    wanted = _search(" ".join(words or ()), filters)
    reader = Reader(database, seconds=_SECONDS)
    try:
        with reader.connect() as connection:
            if wanted.chains:
                read_registries(connection).require_indexed(wanted.chains)
            page = search_agents(connection, wanted, limit=limit, cursor=cursor)
    finally:
        reader.close()
    if invocation.output.as_json:
        invocation.output.result(page)
        return
    invocation.output.results(page.items, _COLUMNS, none="no agent fulfils all conditions")
    if page.next is not None:
        invocation.output.note(f"more: --cursor {page.next}")


def _with_filters(function: Callable[..., None]) -> Callable[..., None]:
    """Name the filters among the parameters of the command, behind the words."""
    of_command, words, *others, _ = inspect.signature(function, eval_str=True).parameters.values()
    filters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _FILTERS.items()
    ]
    others = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in others]
    function.__signature__ = inspect.Signature([of_command, words, *filters, *others])  # type: ignore[attr-defined]
    return function


def _search(text: str, filters: dict[str, Any]) -> AgentSearch:
    """Return the search that the words and the options describe.

    Raises:
        InvalidArgumentError: A value is out of its limits, or malformed.
    """
    from pydantic import ValidationError  # noqa: PLC0415  # slow to import

    from bilateral.errors.invalid_fields import refusal  # noqa: PLC0415
    from bilateral.query.search.questions import AgentQuestion  # noqa: PLC0415  # slow to import

    try:
        question = AgentQuestion(
            text=text, **{name: value for name, value in filters.items() if value not in (None, [])}
        )
    except ValidationError as error:
        raise refusal(error) from None
    return question.search()


def _of_rating(name: str) -> Callable[[FoundAgent], Any]:
    """Return the column of a figure of the ratings that passed the first gate."""

    def read(agent: FoundAgent) -> Any:
        value = None if agent.rating is None else getattr(agent.rating, name)
        return f"{value:.2f}" if isinstance(value, float) else value

    return read


def _standing(agent: FoundAgent) -> str | None:
    """Return the column of the standing: the status, and the least rating or the reason for it."""
    if agent.status is None:
        return None
    status = agent.status.replace("_", " ")
    if agent.status in ("held_back", "contested"):
        return f"{status}: {agent.reason}".replace("_", " ")
    return f"{status}, {agent.standing:.0f}"


_COLUMNS: Final[dict[str, Callable[[Any], Any]]] = {
    "agent": attrgetter("id"),
    "name, as it calls itself": attrgetter("name"),
    "standing": _standing,
    "tag": _of_rating("tag"),
    "mean": _of_rating("mean"),
    "at least": _of_rating("lower_bound"),
    "ratings": _of_rating("count"),
    "raters": _of_rating("counterparts"),
    "active": attrgetter("active"),
    "x402": attrgetter("x402_support"),
    "owner": attrgetter("owner"),
}
"""The columns of the table."""
