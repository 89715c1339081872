"""The root of the command line, which contains all groups of commands and handles the commands' errors."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command as make_command
from typer.main import get_group as make_commands

from bilateral.cli.errors import ExitCode, InterruptionError, Stopped, TerminationError, UsageProblemError
from bilateral.cli.options import COMMANDS, GROUPS, ExampleCommand, ExampleGroup, example_text, make_group, show_help
from bilateral.cli.output import Output
from bilateral.cli.secrets import refuse_keys
from bilateral.core.errors import BilateralError


class CommandLine(ExampleGroup):
    """Runs a command, and turns an error into a message and an exit code.

    A command is imported when it runs, and a group when one of its commands runs. The root help imports none of them.
    """

    def main(self, args: Sequence[str] | None = None, **settings: Any) -> Any:  # type: ignore[override]  # passed on
        """Run the command in the arguments, and exit."""
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
        if code == ExitCode.INTERRUPTED:  # Typer returns this code for a KeyboardInterrupt
            output.fail(TerminationError() if Stopped.was_raised else InterruptionError())
        sys.exit(code or ExitCode.DONE)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the root's commands and groups."""
        return [*super().list_commands(ctx), *COMMANDS, *GROUPS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a group or command that has only the name and summary for the root help."""
        if cmd_name in GROUPS:
            return ExampleGroup(name=cmd_name, help=GROUPS[cmd_name])
        if cmd_name in COMMANDS:
            return ExampleCommand(name=cmd_name, help=COMMANDS[cmd_name][1])
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import and return the command that the arguments specify."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in COMMANDS or name in GROUPS:
            command = load(name)
        return name, command, rest


def load(name: str) -> Any:
    """Import a group with its commands, or a single command."""
    if name in GROUPS:
        return make_command(import_module(f"bilateral.cli.{name}").app)
    module, _ = COMMANDS[name]
    return make_commands(import_module(f"bilateral.cli.{module}").app).commands[name]


app = make_group(
    "bilateral",
    """Two-sided trust for AI agents: register, rate, validate, and check before money moves.

    A deployment record lists the addresses of a network's registries. Pass it with --deployment, unless it is built in.

    Keys come from keystores (--account, --keystore) or from BILATERAL_PRIVATE_KEY, never from an argument.
    """,
    cls=CommandLine,
    pretty_exceptions_enable=False,  # they would show the values of variables, including keys
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
    version: Annotated[bool, typer.Option("--version", help="Show the version and its commit.")] = False,
) -> None:
    """Show the version, or the help if no command is specified."""
    if version:
        from bilateral.cli.version import described  # noqa: PLC0415  # slow, and for one option

        Output(as_json=False).raw(f"bilateral {described()}")
        raise typer.Exit
    show_help(context)


def _is_text(argument: str) -> bool:
    """Return whether an argument is valid UTF-8. Invalid bytes arrive as lone surrogates."""
    return argument.isascii() or not any("\ud800" <= character <= "\udfff" for character in argument)


def _usage_message(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    hint = f" See {context.command_path} --help." if context else ""
    return f"{error.format_message()}{hint}"
