"""A decorator that creates commands, the options that commands share, and help that ends with examples."""

from __future__ import annotations

import errno
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import EnumType
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.models import OptionInfo

from bilateral.cli import settings
from bilateral.cli.errors import ExitCode, MistakeError, ReaderLeftError
from bilateral.cli.invocation import Invocation
from bilateral.cli.output import Output, writing
from bilateral.core.errors import BilateralError, InvalidArgumentError, MalformedIdentifierError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic.fields import FieldInfo

    from bilateral.trust.features.reviews import Reviews


_EXAMPLES: Final = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8").splitlines()
"""The examples for all commands, in the order of the help."""


def option(metavar: str | None, about: str, *flags: str, default: Any = ..., **settings: Any) -> Any:
    """Return an option of a command, with a name for its value and its help text.

    Use it as the default of a parameter or field, or in its type annotation without `default`.
    """
    return typer.Option(default, *flags, metavar=metavar, help=about, **settings)


optional: Final = partial(option, default=None)
"""Return an option that may be omitted. See `option`."""


def flag(name: str, about: str, *, default: bool = False, **settings: Any) -> Any:
    """Return an option without a value."""
    return typer.Option(default, name, help=about, **settings)


def argument(metavar: str | None, about: str, *, default: Any = ..., **settings: Any) -> Any:
    """Return an argument of a command, with its name and help text. See `option`."""
    return typer.Argument(default, metavar=metavar, help=about, **settings)


class _Examples:
    """Help text that ends with examples and omits the types of flags and strings."""

    epilog: str | None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, followed by the examples."""
        with _unbroken(self, formatter):
            super().format_help(ctx, formatter)  # type: ignore[misc]  # of Typer's class, which follows this one

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the command's parameters without uninformative types."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # likewise
        for param in params:
            if getattr(param, "is_flag", False) or (isinstance(param, TyperArgument) and param.bare_type() == "str"):
                param.display_type_rich = _no_type
        return params


class ExampleCommand(_Examples, TyperCommand):
    """A command whose epilog lists its examples."""


class ExampleGroup(_Examples, TyperGroup):
    """A group whose epilog lists its examples."""


def examples_of(group: str, name: str) -> str:
    """Return a command's examples in the format of its help."""
    use = re.compile(rf"(\w+ )?{group} {name}( |$)" if group else rf"{name}( |$)")
    return example_text(line for line in _EXAMPLES if use.match(line.rpartition("| ")[2].partition("bilateral ")[2]))


def example_text(examples: Iterable[str]) -> str:
    """Return command lines in the format of the help."""
    return "\n".join(["Examples:", *(f"  {example}" for example in examples)])


def _no_type(*_: Any, **__: Any) -> None:
    """Return no type for the help."""


@contextmanager
def _unbroken(command: _Examples, formatter: Any) -> Iterator[None]:
    """Write the examples after the help, because Typer would wrap them at the width of the terminal."""
    examples, command.epilog = command.epilog, None
    try:
        with writing():
            yield
    except SystemExit:  # Rich raises it if the reader of the output has exited
        raise ReaderLeftError(os.strerror(errno.EPIPE)) from None
    finally:
        command.epilog = examples
    if examples:
        formatter.write(f"{examples}\n")


GROUPS: Final = {
    "account": "Create, import and list the keystores that commands sign with.",
    "agent": "Register, show, change and transfer agents.",
    "feedback": "Give, read, average, respond to and revoke feedback.",
    "rate": "As a server, rate clients and validators, and read those ratings. Ratings are final.",
    "blind": "Seal and open ratings that neither side can see before both have rated.",
    "validation": "Request validations of an agent's work, respond to requests, and read the responses.",
    "auth": "Authorise feedback as an agent's owner, give authorised feedback as a client, and read it.",
    "signals": "Publish what a watchtower measures.",
    "watchtower": "Measure which agents are alive, without acting or paying, and publish the results.",
    "transaction": "Speed up or cancel a pending transaction.",
    "deployment": "Show the registries in use and who can change their code; list the address book.",
    "check": "Check before money moves: should I pay this server? Should I serve this client?",
    "watch": "Print changes to agents and accounts as the index records them.",
    "webhooks": "Send signed changes to subscribers' URLs; add, list and remove subscriptions.",
    "trust": "Find coordinated and false ratings, and score agents without counting them.",
    "buyer": "Read and write buyers' records, which are backed by payments.",
    "x402": "Check a server that takes payments; rotate the keys that sign an agent's paid responses.",
    "solana": "Show a SATI agent on Solana, and change it with its owner's key.",
    "index": "Index events from all registries into an SQL database, and compare the rows with the chain.",
}
"""The help text of each group, in display order. A group's module has the same name as the group."""

COMMANDS: Final = {
    "info": ("info", "Show the chain, its latest block, the registries, and the signer with its balance."),
    "search": ("search", "Find agents in the index by text, capability and rating."),
    "serve": ("service", "Serve agents, ratings and searches over HTTP while following the chains."),
    "mcp": ("service", "Serve tools to AI models over standard input and output (Model Context Protocol)."),
    "dev": (
        "dev",
        "Start a local chain with registries, a token, a facilitator, two agents and the service. Stop it with Ctrl-C.",
    ),
}
"""The module and the help of each root command, which is imported when it runs."""


_AGENT_FORMS: Final = "write 42, 84532:42 or eip155:84532:0x…#42"

Agent = Annotated[str, argument("AGENT", "An agent: 42, 84532:42 or eip155:84532:0x…#42.")]
FeedbackText = Annotated[
    str,
    argument(
        "FEEDBACK",
        "A feedback id: agent:client:index, with indexes starting at 0. The client is an address or an account alias.",
    ),
]
Tag1 = Annotated[str, option("TAG", "The main tag, such as starred or uptime.", "--tag1")]
Tag2 = Annotated[str, option("TAG", "The second tag, which qualifies the main one.", "--tag2")]
Reviewers = Annotated[
    list[str] | None,
    option(
        "ADDRESS", "Count only feedback from this client; may be repeated. All clients count by default.", "--reviewer"
    ),
]
FileUri = Annotated[str, option("URI", "The URI of a file that is already stored.", "--uri")]
FileHash = Annotated[str | None, option("HASH", "The keccak-256 hash of the stored file.", "--hash")]

_JSON: Final = inspect.Parameter(
    "as_json",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--json", help="Write results and errors as JSON; see docs/cli.md.")],
)


def parse_time(unix: int | None) -> datetime | None:
    """Return the time that a user entered in Unix seconds."""
    try:
        return None if unix is None else datetime.fromtimestamp(unix, UTC)
    except (ValueError, OverflowError, OSError):
        raise InvalidArgumentError(f"{unix} is not a valid Unix time in seconds") from None


def _require_agent(text: str) -> None:
    from bilateral.core.identifiers import AgentId, GlobalAgentId  # noqa: PLC0415  # slow to import

    try:
        (GlobalAgentId if "#" in text else AgentId).parse(text)
    except MalformedIdentifierError:
        raise MalformedIdentifierError("a valid AGENT id", text, _AGENT_FORMS) from None


def make_group(name: str, about: str = "", **settings: Any) -> typer.Typer:
    """Create a group of commands that shows its help if no command is specified."""
    about = about or GROUPS[name]
    group = typer.Typer(name=name, help=about, invoke_without_command=True, **{"cls": ExampleGroup} | settings)
    group.callback()(show_help)
    return group


def show_help(context: typer.Context) -> None:
    """Show a group's help if no command is specified."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(ExitCode.USAGE)


def command(  # noqa: PLR0913  # what commands differ in
    app: typer.Typer,
    name: str = "",
    *,
    signs: bool = False,
    writes: bool = False,
    stores: bool = False,
    creates: bool = False,
    is_local: bool = False,
    takes_negative_numbers: bool = False,
    needs: Callable[[], None] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Turn a function into a command. Its first parameter is an `Invocation`. It may require an extra's packages."""
    kinds = {
        settings.NodeOptions: not (creates or is_local),
        settings.KeyOptions: signs or writes,
        settings.PassphraseOptions: signs or writes or creates,
        settings.SendingOptions: writes,
        settings.StoreOptions: stores,
    }
    shared = [option for kind, applies in kinds.items() if applies for option in fields_of(kind)]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def run(**arguments: Any) -> None:
            as_json = arguments.pop("as_json")
            common = {option.name: arguments.pop(option.name) for option in shared}
            output = Output(as_json=as_json)
            try:
                for agent in agents:
                    _require_agent(arguments[agent])
                if needs is not None:
                    needs()
                function(Invocation(settings.Settings(**(_LEFT_OUT | common)), output), **gathered(function, arguments))
            except typer.Exit:  # the result has been shown, and the exit code describes it
                raise
            except (BilateralError, KeyboardInterrupt) as error:
                output.fail(error)
            except Exception as mistake:
                if as_json:
                    output.fail(MistakeError(mistake))
                mistake.add_note(f"sent: {', '.join(output.sent) or 'nothing'}")  # displayed with the traceback
                raise

        own = parameters_of(function)
        agents = [parameter.name for parameter in own if parameter.annotation == Agent]
        own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
        run.__signature__ = inspect.Signature([*own, _JSON, *shared])  # type: ignore[attr-defined]
        run.__annotations__ = {}
        command_name = name or function.__name__.replace("_", "-")
        app.command(
            command_name,
            cls=ExampleCommand,
            epilog=examples_of(app.info.name or "", command_name),
            context_settings={"ignore_unknown_options": True} if takes_negative_numbers else None,
        )(run)
        return function

    return decorate


@dataclass(frozen=True, kw_only=True)
class ReviewOptions:
    """The cases that people have reviewed, and the accounts that the user trusts."""

    reviews: Path | None = optional("FILE", "A JSON list of reviewed accounts, each with account, verdict and reason.")
    trusted: list[str] | None = optional("ADDRESS", "An account that you trust; may be repeated.", "--trust")

    def cases(self) -> Reviews | None:
        """Return the reviewed cases, or None if there is no file."""
        from bilateral.trust.features.reviews import Reviews  # noqa: PLC0415  # pyarrow is heavy, and an extra

        return None if self.reviews is None else Reviews.read(self.reviews)


_REQUIRED: Final = inspect.Parameter.empty


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return all parameters of a command except the first, with each model replaced by its fields."""
    _, *own = inspect.signature(function, eval_str=True).parameters.values()
    return [field for parameter in own for field in fields_of(parameter.annotation) or [parameter]]


def gathered(function: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a function, built from the arguments of the command that runs the function."""
    _, *own = inspect.signature(function, eval_str=True).parameters.values()
    return {parameter.name: _value(parameter, arguments) for parameter in own}


def _value(parameter: inspect.Parameter, arguments: dict[str, Any]) -> Any:
    kind = parameter.annotation
    names = [field.name for field in fields_of(kind)]
    if not names:
        return arguments[parameter.name]
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**{name: arguments[name] for name in names})
    from pydantic import ValidationError  # noqa: PLC0415  # slow to import

    from bilateral.core.errors.invalid_fields import refusal  # noqa: PLC0415

    values: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        value = " ".join(arguments[name] or ()) if _is_of_words(kind, name) else arguments[name]
        if value not in (None, "", [], ()):
            values[field.alias or name] = value
    try:
        return kind(**values)
    except ValidationError as error:
        raise refusal(error) from None


def fields_of(kind: Any) -> list[inspect.Parameter]:
    """Return the fields of a model as parameters; none for any other type."""
    if is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        options = {
            field.name: (hints[field.name], _REQUIRED if field.default is MISSING else field.default)
            for field in fields(kind)
        }
    else:
        options = {name: _option(kind, name, field) for name, field in getattr(kind, "model_fields", {}).items()}
    place = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(name, place, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
    ]


def _option(model: Any, name: str, field: FieldInfo) -> tuple[Any, Any]:
    """Return the type and default for a model's field: an argument if the field is required, otherwise an option."""
    public, about = field.alias or name, (field.description or "").replace("`", "")
    if field.is_required():
        return Annotated[str, argument(public.upper(), about, show_default=False)], _REQUIRED
    own = next((part for part in field.metadata if isinstance(part, OptionInfo)), None)
    parts = _parts(field.annotation)
    kind: Any = next((kind for kind in (int, bool) if kind in parts), str)  # texts are parsed later
    is_list = any(get_origin(part) is list for part in parts)
    flag = getattr(model, "flags", {}).get(name, f"--{public}" if is_list or field.alias else None)
    if _is_of_words(model, name):
        return Annotated[list[str] | None, argument(flag, about, show_default=False)], None
    declared = option(
        _metavar(public, parts) if kind is str else None,
        about,
        *filter(None, [flag]),
        min=next((part.ge for part in field.metadata if hasattr(part, "ge")), None) if kind is int else None,
        show_default=False,
        rich_help_panel=next((panel for panel, names in getattr(model, "panels", {}).items() if name in names), None),
    )
    return Annotated[(list[kind] if is_list else kind) | None, own or declared], None


def _is_of_words(model: Any, name: str) -> bool:
    """Return True if a field is an argument that takes several words."""
    return not getattr(model, "flags", {}).get(name, "-").startswith("-")


def _metavar(name: str, parts: list[Any]) -> str:
    """Return the placeholder for a text in the help: the possible values, or a noun."""
    choices = next((part for part in parts if isinstance(part, EnumType)), None)
    if choices is not None:
        return "|".join(choices)
    return "NUMBER" if Decimal in parts else name.upper()


def _parts(kind: Any) -> list[Any]:
    return [kind, *(part for inner in get_args(kind) for part in _parts(inner))]


_LEFT_OUT: Final = {field.name: field.default.default for field in fields_of(settings.Settings)}
"""The values of shared options for commands that lack them."""
