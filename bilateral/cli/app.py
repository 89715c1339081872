"""The root of the command line: its groups, and what becomes of errors."""

from __future__ import annotations

import sys
from importlib.metadata import version as distribution_version
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bilateral.cli import agent, auth, feedback, rate, signals, validation
from bilateral.cli.errors import ExitCode, InterruptionError, UsageProblemError
from bilateral.cli.help import ExampleGroup, example_text
from bilateral.cli.keys import refuse_keys
from bilateral.cli.options import make_group, show_help
from bilateral.cli.output import Output
from bilateral.errors import BilateralError

if TYPE_CHECKING:
    from collections.abc import Sequence


class CommandLine(ExampleGroup):
    """Runs a command, and turns what went wrong into a message and an exit code."""

    def main(self, args: Sequence[str] | None = None, **settings: Any) -> Any:  # type: ignore[override]  # passed on
        """Run the command that the arguments name, and end the process.

        Args:
            args: The arguments; those of the process when left out.
            **settings: Typer's own.
        """
        arguments = sys.argv[1:] if args is None else list(args)
        output = Output(as_json="--json" in arguments)
        settings["standalone_mode"] = False
        try:
            refuse_keys(arguments)
            if any(not _is_text(argument) for argument in arguments):
                raise UsageProblemError("an argument is not valid UTF-8")
            code = super().main(args=arguments, **settings)
        except BilateralError as error:
            output.fail(error)
        except typer.TyperException as error:
            output.fail(UsageProblemError(_usage_message(error)))
        if code == ExitCode.INTERRUPTED:  # Typer makes it of a KeyboardInterrupt
            output.fail(InterruptionError())
        sys.exit(code or ExitCode.DONE)


app = make_group(
    "bilateral",
    """Two-sided trust for AI agents: register, rate, validate, and check before money moves.

    Where a network's registries are, a deployment record says: name it by --deployment, unless it is packaged.

    Keys come from Ape's keystores (--account) or from BILATERAL_PRIVATE_KEY, never from an argument.
    """,
    cls=CommandLine,
    pretty_exceptions_enable=False,  # they would show the values of variables, keys among them
    epilog=example_text(
        [
            "export BILATERAL_RPC_URL=https://sepolia.base.org BILATERAL_DEPLOYMENT=84532.json",
            "bilateral agent show 42",
            "bilateral feedback summary 42 --reviewer 0x8004B663056A597Dffe9eCcC1965A193B7388713",
            "bilateral feedback give 42 87 --tag1 starred --account alice",
            "bilateral --install-completion",
        ]
    ),
)


@app.callback()
def run(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Tell the version.")] = False,
) -> None:
    """Tell the version, or show the help if no command is named."""
    if version:
        Output(as_json=False).raw(f"bilateral {distribution_version('bilateral')}")
        raise typer.Exit
    show_help(context)


for group in (agent, feedback, rate, validation, auth, signals):
    app.add_typer(group.app)


def _is_text(argument: str) -> bool:
    """Whether an argument can be written as UTF-8: bytes that are none come as halves of surrogate pairs."""
    return argument.isascii() or not any("\ud800" <= character <= "\udfff" for character in argument)


def _usage_message(error: typer.TyperException) -> str:
    """What is wrong with a command line, and where its help is."""
    context = getattr(error, "ctx", None)
    hint = f" See {context.command_path} --help." if context else ""
    return f"{error.format_message()}{hint}"
