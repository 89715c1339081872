"""Commands, and the options that they share, which a decorator adds so that each command says only what is its own."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bilateral.cli.errors import ExitCode
from bilateral.cli.help import ExampleCommand, ExampleGroup, example_text
from bilateral.cli.keys import ACCOUNT_VARIABLE, KEY_VARIABLE, PASSPHRASE_FILE_VARIABLE, PASSPHRASE_VARIABLE, aliases
from bilateral.cli.output import Output
from bilateral.cli.session import Session, Settings
from bilateral.errors import BilateralError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

Agent = Annotated[
    str, typer.Argument(metavar="AGENT", help="An agent: 42, 84532:42 or eip155:84532:0x…#42.", show_default=False)
]
FeedbackText = Annotated[
    str,
    typer.Argument(
        metavar="FEEDBACK",
        help="A feedback: agent:client:index, the index from 0, as lists show it.",
        show_default=False,
    ),
]
Tag1 = Annotated[str, typer.Option("--tag1", metavar="TAG", help="What is measured.")]
Tag2 = Annotated[str, typer.Option("--tag2", metavar="TAG", help="The qualifier.")]
Reviewers = Annotated[
    list[str] | None,
    typer.Option(
        "--reviewer", metavar="ADDRESS", help="Whose feedback counts; may be repeated. Everybody's if left out."
    ),
]
FileUri = Annotated[str, typer.Option("--uri", metavar="URI", help="A file that is kept elsewhere.")]
FileHash = Annotated[str | None, typer.Option("--hash", metavar="HASH", help="The keccak-256 hash of that file.")]

_NODE: Final = "Node"
_KEY: Final = "Key"
_SENDING: Final = "Sending"
_DOCUMENTS: Final = "Documents"


def _complete_account(incomplete: str) -> list[str]:
    return [alias for alias in aliases() if alias.startswith(incomplete)]


_JSON: Final[dict[str, tuple[Any, Any]]] = {
    "as_json": (
        Annotated[bool, typer.Option("--json", help="Write JSON, also of errors; see docs/cli.md.")],
        False,
    )
}
_READING: Final[dict[str, tuple[Any, Any]]] = {
    "rpc_url": (
        Annotated[
            str | None,
            typer.Option(
                "--rpc-url", envvar="BILATERAL_RPC_URL", metavar="URL", help="The node.", rich_help_panel=_NODE
            ),
        ],
        None,
    ),
    "deployment": (
        Annotated[
            Path | None,
            typer.Option(
                "--deployment",
                envvar="BILATERAL_DEPLOYMENT",
                metavar="FILE",
                help="Where the registries are: a deployment record, instead of the one packaged for the chain.",
                rich_help_panel=_NODE,
            ),
        ],
        None,
    ),
    "ipfs_gateways": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--ipfs-gateway",
                envvar="BILATERAL_IPFS_GATEWAYS",
                metavar="URL",
                help="Where ipfs: documents are loaded from; may be repeated.",
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
                help=f"The keystore to sign with, one of Ape's accounts. Without it, the key in {KEY_VARIABLE}.",
                autocompletion=_complete_account,
                rich_help_panel=_KEY,
            ),
        ],
        None,
    ),
    "passphrase_file": (
        Annotated[
            Path | None,
            typer.Option(
                "--passphrase-file",
                envvar=PASSPHRASE_FILE_VARIABLE,
                metavar="FILE",
                help=f"Holds the keystore's passphrase. Else {PASSPHRASE_VARIABLE} does, or you are asked.",
                rich_help_panel=_KEY,
            ),
        ],
        None,
    ),
}
_WRITING: Final[dict[str, tuple[Any, Any]]] = {
    "dry_run": (
        Annotated[
            bool,
            typer.Option("--dry-run", help="Check and simulate, but neither sign nor send.", rich_help_panel=_SENDING),
        ],
        False,
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
            typer.Option("--timeout", min=0, metavar="SECONDS", help="How long to wait.", rich_help_panel=_SENDING),
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
    "store_url": (
        Annotated[
            str | None,
            typer.Option(
                "--store-url",
                envvar="BILATERAL_STORE_URL",
                metavar="URL",
                help="The http or https URL at which that folder is published; what goes on chain begins with it.",
                rich_help_panel=_DOCUMENTS,
            ),
        ],
        None,
    ),
    "ipfs_api": (
        Annotated[
            str | None,
            typer.Option(
                "--ipfs-api",
                envvar="BILATERAL_IPFS_API",
                metavar="URL",
                help="Put documents into IPFS, through a node with Kubo's API.",
                rich_help_panel=_DOCUMENTS,
            ),
        ],
        None,
    ),
}


def moment(unix: int | None) -> datetime | None:
    """A time that a user gave in Unix seconds.

    Args:
        unix: The seconds; None if none was given.

    Raises:
        InvalidArgumentError: It is no time within years 1 to 9999.
    """
    try:
        return None if unix is None else datetime.fromtimestamp(unix, UTC)
    except (ValueError, OverflowError, OSError):
        raise InvalidArgumentError(f"{unix} is not a time in Unix seconds") from None


def make_group(name: str, about: str, **settings: Any) -> typer.Typer:
    """Make a group of commands, which shows its help if no command is named.

    Args:
        name: Its name.
        about: What it is for.
        **settings: Typer's own.
    """
    group = typer.Typer(name=name, help=about, invoke_without_command=True, **{"cls": ExampleGroup} | settings)
    group.callback()(show_help)
    return group


def show_help(context: typer.Context) -> None:
    """Show a group's help if no command is named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(ExitCode.USAGE)


def command(  # noqa: PLR0913  # what commands differ in
    app: typer.Typer,
    name: str,
    *examples: str,
    signs: bool = False,
    writes: bool = False,
    stores: bool = False,
    takes_negative_numbers: bool = False,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function whose first parameter is a `Session`.

    Args:
        app: The group that it belongs to.
        name: Its name.
        *examples: How it is used; its help shows them.
        signs: Whether it needs a key.
        writes: Whether it sends a transaction, and so signs.
        stores: Whether it may put documents somewhere.
        takes_negative_numbers: Whether an argument may begin with a minus sign.

    Returns:
        A decorator, which returns the function that Typer calls.
    """
    shared = _JSON | _READING
    if signs or writes:
        shared = shared | _SIGNING
    if writes:
        shared = shared | _WRITING
    if stores:
        shared = shared | _STORING

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def run(**arguments: Any) -> None:
            as_json = arguments.pop("as_json")
            common = {option: arguments.pop(option) for option in shared if option != "as_json"}
            common["ipfs_gateways"] = tuple(common["ipfs_gateways"] or ())
            output = Output(as_json=as_json)
            try:
                function(Session(Settings(**common), output), **arguments)
            except (BilateralError, KeyboardInterrupt) as error:
                output.fail(error)
            except Exception as mistake:  # of ours: it ends in a traceback, which shows the note
                mistake.add_note(f"sent: {', '.join(output.sent) or 'nothing'}")
                raise

        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
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
