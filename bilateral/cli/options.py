"""A decorator that makes commands, and the options that they share."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bilateral.cli.errors import ExitCode, MistakeError
from bilateral.cli.groups import GROUPS
from bilateral.cli.help import ExampleCommand, ExampleGroup, example_text
from bilateral.cli.invocation import Invocation, Settings
from bilateral.cli.models import gathered, parameters_of
from bilateral.cli.output import Output
from bilateral.cli.secrets import (
    ACCOUNT_VARIABLE,
    KEY_VARIABLE,
    KEYSTORE_VARIABLE,
    PASSPHRASE_FILE_VARIABLE,
    PASSPHRASE_VARIABLE,
    PINATA_VARIABLE,
    PINNING_VARIABLE,
)
from bilateral.errors import BilateralError, InvalidArgumentError, MalformedIdentifierError

if TYPE_CHECKING:
    from collections.abc import Callable

_AGENT_FORMS: Final = "write 42, 84532:42 or eip155:84532:0x…#42"

Agent = Annotated[
    str, typer.Argument(metavar="AGENT", help="An agent: 42, 84532:42 or eip155:84532:0x…#42.", show_default=False)
]
FeedbackText = Annotated[
    str,
    typer.Argument(
        metavar="FEEDBACK",
        help="A feedback: agent:client:index, the index from 0. The client is an address or an alias of your accounts.",
        show_default=False,
    ),
]
Tag1 = Annotated[str, typer.Option("--tag1", metavar="TAG", help="The main tag, such as starred or uptime.")]
Tag2 = Annotated[str, typer.Option("--tag2", metavar="TAG", help="The second tag, which qualifies the main one.")]
Reviewers = Annotated[
    list[str] | None,
    typer.Option(
        "--reviewer",
        metavar="ADDRESS",
        help="Count only feedback of this client; may be repeated. All clients count if left out.",
    ),
]
FileUri = Annotated[str, typer.Option("--uri", metavar="URI", help="The URI of a file that is stored already.")]
FileHash = Annotated[str | None, typer.Option("--hash", metavar="HASH", help="The keccak-256 hash of that file.")]

_NODE: Final = "Node"
_KEY: Final = "Key"
_SENDING: Final = "Sending"
_DOCUMENTS: Final = "Documents"


def _complete_account(incomplete: str) -> list[str]:
    from bilateral.cli.keystores import aliases  # noqa: PLC0415  # slow to import

    return [alias for alias in aliases() if alias.startswith(incomplete)]


def _text(flag: str, variable: str, metavar: str, about: str, panel: str) -> tuple[Any, Any]:
    """Return an option that takes one text."""
    option = typer.Option(flag, envvar=variable, metavar=metavar, help=about, rich_help_panel=panel)
    return Annotated[str | None, option], None


_JSON: Final[dict[str, tuple[Any, Any]]] = {
    "as_json": (
        Annotated[bool, typer.Option("--json", help="Write results and errors as JSON; see docs/cli.md.")],
        False,
    )
}
_PINNED: Final = typer.Option(
    "--chain",
    envvar="BILATERAL_CHAIN",
    metavar="ID",
    min=1,
    help="Refuse a node of another chain. Without it and a record, the node alone names the chain.",
    rich_help_panel=_NODE,
)
_READING: Final[dict[str, tuple[Any, Any]]] = {
    "rpc_url": _text("--rpc-url", "BILATERAL_RPC_URL", "URL", "The URL of the node's JSON-RPC.", _NODE),
    "deployment": (
        Annotated[
            Path | None,
            typer.Option(
                "--deployment",
                envvar="BILATERAL_DEPLOYMENT",
                metavar="FILE",
                help="The deployment record that lists the registries' addresses; or canonical or bilateral, for a "
                "packaged one. The canonical one if left out.",
                rich_help_panel=_NODE,
            ),
        ],
        None,
    ),
    "chain": (Annotated[int | None, _PINNED], None),
    "ipfs_gateways": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--ipfs-gateway",
                envvar="BILATERAL_IPFS_GATEWAYS",
                metavar="URL",
                help="Load ipfs: documents from this gateway; may be repeated.",
                rich_help_panel=_DOCUMENTS,
            ),
        ],
        None,
    ),
}
_SIGNING: Final[dict[str, tuple[Any, Any]]] = {
    "account": (
        Annotated[
            str | None,
            typer.Option(
                "--account",
                envvar=ACCOUNT_VARIABLE,
                metavar="ALIAS",
                help=f"Sign with this keystore of Ape's accounts. Without it, with the key in {KEY_VARIABLE}.",
                autocompletion=_complete_account,
                rich_help_panel=_KEY,
            ),
        ],
        None,
    ),
    "keystore": (
        Annotated[
            Path | None,
            typer.Option(
                "--keystore",
                envvar=KEYSTORE_VARIABLE,
                metavar="FILE",
                help="Sign with this keystore file, wherever it is.",
                rich_help_panel=_KEY,
            ),
        ],
        None,
    ),
}
_PASSPHRASE: Final[dict[str, tuple[Any, Any]]] = {
    "passphrase_file": (
        Annotated[
            Path | None,
            typer.Option(
                "--passphrase-file",
                envvar=PASSPHRASE_FILE_VARIABLE,
                metavar="FILE",
                help=f"Read the passphrase from this file. Without it, from {PASSPHRASE_VARIABLE} or the terminal.",
                rich_help_panel=_KEY,
            ),
        ],
        None,
    )
}
_WRITING: Final[dict[str, tuple[Any, Any]]] = {
    "dry_run": (
        Annotated[
            bool,
            typer.Option("--dry-run", help="Check and simulate, but neither sign nor send.", rich_help_panel=_SENDING),
        ],
        False,
    ),
    "max_fee_per_gas": _text(
        "--max-fee-per-gas",
        "BILATERAL_MAX_FEE_PER_GAS",
        "GWEI",
        "Sign no higher fee per gas. By default 500, with a narrower limit for the tip.",
        _SENDING,
    ),
    "max_cost": _text(
        "--max-cost",
        "BILATERAL_MAX_COST",
        "ETHER",
        "Sign no transaction that may cost more, in the chain's currency. By default without limit.",
        _SENDING,
    ),
    "wait": (
        Annotated[
            bool,
            typer.Option(
                "--wait/--no-wait", help="Wait until the transaction is in a block.", rich_help_panel=_SENDING
            ),
        ],
        True,
    ),
    "timeout": (
        Annotated[
            float,
            typer.Option("--timeout", min=0, metavar="SECONDS", help="Longest time to wait.", rich_help_panel=_SENDING),
        ],
        120.0,
    ),
}
_STORING: Final[dict[str, tuple[Any, Any]]] = {
    "store_folder": (
        Annotated[
            Path | None,
            typer.Option(
                "--store-folder",
                envvar="BILATERAL_STORE_FOLDER",
                metavar="FOLDER",
                help="Put documents there, to be published at --store-url. Without it, they go on chain as data: URIs.",
                rich_help_panel=_DOCUMENTS,
            ),
        ],
        None,
    ),
    "store_url": _text(
        "--store-url",
        "BILATERAL_STORE_URL",
        "URL",
        "The http or https URL at which that folder is published; what goes on chain begins with it.",
        _DOCUMENTS,
    ),
    "ipfs_api": _text(
        "--ipfs-api",
        "BILATERAL_IPFS_API",
        "URL",
        "Put documents into IPFS, through a node with Kubo's API.",
        _DOCUMENTS,
    ),
    "pinning_api": _text(
        "--pinning-api",
        "BILATERAL_PINNING_API",
        "URL",
        f"Have a service pin them (IPFS Pinning Service API). Its token is in {PINNING_VARIABLE}.",
        _DOCUMENTS,
    ),
    "pinata": (
        Annotated[
            bool,
            typer.Option(
                "--pinata",
                help=f"Put documents into IPFS, through Pinata. Its JWT is in {PINATA_VARIABLE}.",
                rich_help_panel=_DOCUMENTS,
            ),
        ],
        False,
    ),
    "put_url": _text(
        "--put-url",
        "BILATERAL_PUT_URL",
        "URL",
        "Put the document there by HTTP PUT, such as to a presigned URL.",
        _DOCUMENTS,
    ),
    "public_url": _text(
        "--public-url",
        "BILATERAL_PUBLIC_URL",
        "URL",
        "The URL of that document for readers. Without it, --put-url without its query.",
        _DOCUMENTS,
    ),
}


def moment(unix: int | None) -> datetime | None:
    """Return the time that a user gave in Unix seconds.

    Args:
        unix: The seconds; None if none were given.

    Raises:
        InvalidArgumentError: The time is outside of the years 1 to 9999.
    """
    try:
        return None if unix is None else datetime.fromtimestamp(unix, UTC)
    except (ValueError, OverflowError, OSError):
        raise InvalidArgumentError(f"{unix} is not a time in Unix seconds") from None


def _require_agent(text: str) -> None:
    """Refuse an invalid AGENT before a node is asked for anything.

    Raises:
        MalformedIdentifierError: The text has none of the forms of an agent id.
    """
    from bilateral.identifiers import AgentId, GlobalAgentId  # noqa: PLC0415  # slow to import

    try:
        (GlobalAgentId if "#" in text else AgentId).parse(text)
    except MalformedIdentifierError:
        raise MalformedIdentifierError("the id of an AGENT", text, _AGENT_FORMS) from None


def make_group(name: str, about: str = "", **settings: Any) -> typer.Typer:
    """Make a group of commands, which shows its help if no command is named.

    Args:
        name: Its name.
        about: Its help; that in `GROUPS` when left out.
        **settings: Settings of Typer.
    """
    about = about or GROUPS[name]
    group = typer.Typer(name=name, help=about, invoke_without_command=True, **{"cls": ExampleGroup} | settings)
    group.callback()(show_help)
    return group


def show_help(context: typer.Context) -> None:
    """Show a group's help if no command is named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(ExitCode.USAGE)


def command(  # noqa: C901, PLR0913  # what commands differ in
    app: typer.Typer,
    name: str,
    *examples: str,
    signs: bool = False,
    writes: bool = False,
    stores: bool = False,
    creates: bool = False,
    is_local: bool = False,
    takes_negative_numbers: bool = False,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function whose first parameter is an `Invocation`.

    Args:
        app: The group that it belongs to.
        name: Its name.
        *examples: Command lines for its help.
        signs: True if it needs a key.
        writes: True if it sends a transaction, and so signs.
        stores: True if it may store documents.
        creates: True if it creates a keystore, and so needs a passphrase but no node.
        is_local: True if it needs no node.
        takes_negative_numbers: True if an argument may begin with a minus sign.

    Returns:
        A decorator, which returns the function that Typer calls.
    """
    shared = _JSON if creates or is_local else _JSON | _READING
    if creates:
        shared = shared | _PASSPHRASE
    if signs or writes:
        shared = shared | _SIGNING | _PASSPHRASE
    if writes:
        shared = shared | _WRITING
    if stores:
        shared = shared | _STORING

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def run(**arguments: Any) -> None:
            as_json = arguments.pop("as_json")
            common = {option: arguments.pop(option) for option in shared if option != "as_json"}
            common["ipfs_gateways"] = tuple(common.get("ipfs_gateways") or ())
            output = Output(as_json=as_json)
            try:
                for agent in agents:
                    _require_agent(arguments[agent])
                function(Invocation(Settings(**common), output), **gathered(function, arguments))
            except typer.Exit:  # the result is shown, and the exit code says more about it
                raise
            except (BilateralError, KeyboardInterrupt) as error:
                output.fail(error)
            except Exception as mistake:
                if as_json:
                    output.fail(MistakeError(mistake))
                mistake.add_note(f"sent: {', '.join(output.sent) or 'nothing'}")  # the traceback shows it
                raise

        own = parameters_of(function)
        agents = [parameter.name for parameter in own if parameter.annotation == Agent]
        options = [
            inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for option, (annotation, default) in shared.items()
        ]
        own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
        run.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
        run.__annotations__ = {}
        app.command(
            name,
            cls=ExampleCommand,
            epilog=example_text(examples),
            context_settings={"ignore_unknown_options": True} if takes_negative_numbers else None,
        )(run)
        return function

    return decorate
