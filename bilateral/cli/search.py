"""`bilateral search`: agents by words, by what they do, and by how they are rated."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bilateral.cli.index import Database, require_extra
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import command
from bilateral.errors import InvalidArgumentError
from bilateral.text import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from bilateral.query.search.agents import FoundAgent
    from bilateral.query.search.filters import AgentSearch

_SECONDS: Final = 30.0
"""Seconds that a search may take."""

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
    )(search)


def search(  # noqa: PLR0913, PLR0917  # one a filter
    invocation: Invocation,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORDS]...", help="Words of names, descriptions, services, capabilities.", show_default=False
        ),
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option(
            "--tag", metavar="TAG", help="Rated under this tag; under any one if left out.", rich_help_panel=_RATINGS
        ),
    ] = None,
    side: Annotated[
        str | None,
        typer.Option("--side", metavar="server|client|validator", help="Rated on this side.", rich_help_panel=_RATINGS),
    ] = None,
    minimum: Annotated[
        str | None, typer.Option("--minimum", metavar="NUMBER", help="The least mean.", rich_help_panel=_RATINGS)
    ] = None,
    maximum: Annotated[
        str | None, typer.Option("--maximum", metavar="NUMBER", help="The greatest mean.", rich_help_panel=_RATINGS)
    ] = None,
    lower_bound: Annotated[
        str | None,
        typer.Option(
            "--lower-bound",
            metavar="NUMBER",
            help="The least lower bound, with a confidence of 95 %.",
            rich_help_panel=_RATINGS,
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option("--count", min=1, help="The least number of ratings.", rich_help_panel=_RATINGS),
    ] = None,
    maximum_count: Annotated[
        int | None,
        typer.Option("--maximum-count", min=1, help="The greatest number of ratings.", rich_help_panel=_RATINGS),
    ] = None,
    clients: Annotated[
        int | None,
        typer.Option(
            "--clients",
            min=1,
            help="The least number of distinct clients, or servers, that rated.",
            rich_help_panel=_RATINGS,
        ),
    ] = None,
    reviewer: Annotated[
        list[str] | None,
        typer.Option(
            "--reviewer",
            metavar="ADDRESS",
            help="Count only ratings by this account; may be repeated.",
            rich_help_panel=_RATINGS,
        ),
    ] = None,
    payment: Annotated[
        str | None,
        typer.Option(
            "--payment",
            metavar="claimed|matching",
            help="Count only feedback that claims a payment.",
            rich_help_panel=_RATINGS,
        ),
    ] = None,
    gates: Annotated[
        list[str] | None,
        typer.Option(
            "--gate",
            metavar="NAME=VALUE,…",
            help="A further condition, as tag=starred,minimum=80,count=5; may be repeated.",
            rich_help_panel=_RATINGS,
        ),
    ] = None,
    rated: Annotated[
        bool | None,
        typer.Option(
            "--rated/--not-rated", help="With feedback, or without.", show_default=False, rich_help_panel=_RATINGS
        ),
    ] = None,
    capability: Annotated[
        list[str] | None,
        typer.Option(
            "--capability",
            metavar="KIND:VALUE",
            help="With this capability: mcp_tool:get_weather; may be repeated.",
            rich_help_panel=_FILE,
        ),
    ] = None,
    service: Annotated[
        list[str] | None,
        typer.Option(
            "--service",
            metavar="KIND",
            help="With a service of this kind, such as mcp; may be repeated.",
            rich_help_panel=_FILE,
        ),
    ] = None,
    active: Annotated[
        bool | None,
        typer.Option(
            "--active/--inactive", help="The file says so, or the contrary.", show_default=False, rich_help_panel=_FILE
        ),
    ] = None,
    x402: Annotated[
        bool | None,
        typer.Option(
            "--x402/--no-x402",
            help="The file says that it takes payments by x402, or not.",
            show_default=False,
            rich_help_panel=_FILE,
        ),
    ] = None,
    chains: Annotated[
        list[int] | None,
        typer.Option("--chain-id", min=1, help="On this chain; may be repeated.", rich_help_panel=_CHAIN),
    ] = None,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="ADDRESS", help="Of this owner.", rich_help_panel=_CHAIN)
    ] = None,
    wallet: Annotated[
        str | None, typer.Option("--wallet", metavar="ADDRESS", help="With this wallet.", rich_help_panel=_CHAIN)
    ] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(
            "--metadata",
            metavar="KEY[=TEXT]",
            help="With this metadata on chain; may be repeated.",
            rich_help_panel=_CHAIN,
        ),
    ] = None,
    registered_from: Annotated[
        int | None,
        typer.Option(
            "--registered-from",
            metavar="SECONDS",
            min=0,
            help="Registered at this time or later, in Unix seconds.",
            rich_help_panel=_CHAIN,
        ),
    ] = None,
    registered_to: Annotated[
        int | None,
        typer.Option(
            "--registered-to",
            metavar="SECONDS",
            min=0,
            help="Registered at this time or earlier.",
            rich_help_panel=_CHAIN,
        ),
    ] = None,
    updated_from: Annotated[
        int | None,
        typer.Option(
            "--updated-from",
            metavar="SECONDS",
            min=0,
            help="Changed last at this time or later.",
            rich_help_panel=_CHAIN,
        ),
    ] = None,
    updated_to: Annotated[
        int | None,
        typer.Option(
            "--updated-to",
            metavar="SECONDS",
            min=0,
            help="Changed last at this time or earlier.",
            rich_help_panel=_CHAIN,
        ),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            "--order",
            metavar="standing|relevance|lower_bound|mean|activity|updated|registered",
            help="The order; docs/search.md has the default.",
            rich_help_panel=_PAGE,
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
) -> None:
    """Find agents in the index by words, by what they do, and by how they are rated."""
    options = dict(locals())
    require_extra()
    from bilateral.query.readers import Reader  # noqa: PLC0415
    from bilateral.query.registries import read_registries  # noqa: PLC0415  # slow to import
    from bilateral.query.search.agents import search_agents  # noqa: PLC0415

    wanted = _search(options)
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


def _search(options: dict[str, Any]) -> AgentSearch:
    """Return the search that the options describe.

    Raises:
        InvalidArgumentError: A value is out of its limits, or malformed.
    """
    from pydantic import ValidationError  # noqa: PLC0415  # slow to import

    from bilateral.errors.invalid_fields import first_problem  # noqa: PLC0415
    from bilateral.query.search.filters import Order, Payment, Side  # noqa: PLC0415
    from bilateral.query.search.questions import AgentQuestion  # noqa: PLC0415  # slow to import

    fields = {name: options[name] for name in AgentQuestion.model_fields if options.get(name) not in (None, [])}
    for name, kind in (("side", Side), ("payment", Payment), ("order", Order)):
        if name in fields:
            fields[name] = _one_of(name, kind, fields[name])
    for name in ("minimum", "maximum", "lower_bound"):
        if name in fields:
            fields[name] = _decimal(name, fields[name])
    try:
        question = AgentQuestion(text=" ".join(options["words"] or ()), **fields)
    except ValidationError as error:
        raise InvalidArgumentError(first_problem(error)) from None
    return question.search()


def _one_of(name: str, kind: Any, text: str) -> Any:
    """Return a value of an enumeration."""
    if text not in list(kind):
        raise InvalidArgumentError(f"{name} {quoted(text)} is unknown: choose {', '.join(kind)}")
    return kind(text)


def _decimal(name: str, text: str) -> Decimal:
    """Return a number."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise InvalidArgumentError(f"{name} {quoted(text)} is not a number") from None


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
