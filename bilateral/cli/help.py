"""The help of commands and groups, which ends with examples to paste, and the groups and commands of the root."""

import errno
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from bilateral.cli.errors import ReaderLeftError
from bilateral.cli.output import writing

_EXAMPLES: Final = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8").splitlines()
"""The examples of all commands, in the order of the help."""


def option(metavar: str | None, about: str, *flags: str, default: Any = ..., **settings: Any) -> Any:
    """Return an option of a command, with the name of its value and its help.

    It stands in place of the default of a parameter or field, or in its type, where `default` is left out.
    """
    return typer.Option(default, *flags, metavar=metavar, help=about, **settings)


optional: Final = partial(option, default=None)
"""The same for an option that may be left out."""


def flag(name: str, about: str, *, default: bool = False, **settings: Any) -> Any:
    """Return an option without a value."""
    return typer.Option(default, name, help=about, **settings)


def argument(metavar: str | None, about: str, *, default: Any = ..., **settings: Any) -> Any:
    """Return an argument of a command, with its name and its help. See `option`."""
    return typer.Argument(default, metavar=metavar, help=about, **settings)


class _Examples:
    """Help that ends with examples, and shows no type beside flags and texts."""

    epilog: str | None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, and below it the examples."""
        with _unbroken(self, formatter):
            super().format_help(ctx, formatter)  # type: ignore[misc]  # of Typer's class, which follows this one

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command, without the types that say nothing."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # likewise
        for param in params:
            if getattr(param, "is_flag", False) or (isinstance(param, TyperArgument) and param.bare_type() == "str"):
                param.display_type_rich = _no_type
        return params


class ExampleCommand(_Examples, TyperCommand):
    """A command whose epilog is its examples."""


class ExampleGroup(_Examples, TyperGroup):
    """A group whose epilog is its examples."""


def examples_of(group: str, name: str) -> str:
    """Return the examples of a command as its help shows them."""
    use = re.compile(rf"(\w+ )?{group} {name}( |$)" if group else rf"{name}( |$)")
    return example_text(line for line in _EXAMPLES if use.match(line.rpartition("| ")[2].partition("bilateral ")[2]))


def example_text(examples: Iterable[str]) -> str:
    """Return command lines as a help shows them."""
    return "\n".join(["Examples:", *(f"  {example}" for example in examples)])


def _no_type(*_: Any, **__: Any) -> None:
    """Return no type to show."""


@contextmanager
def _unbroken(command: _Examples, formatter: Any) -> Iterator[None]:
    """Write the examples after the help, because Typer would break their lines at the terminal's width."""
    examples, command.epilog = command.epilog, None
    try:
        with writing():
            yield
    except SystemExit:  # from Rich: the reader of the output has ended
        raise ReaderLeftError(os.strerror(errno.EPIPE)) from None
    finally:
        command.epilog = examples
    if examples:
        formatter.write(f"{examples}\n")


GROUPS: Final = {
    "account": "Create, import and list the keystores that commands sign with.",
    "agent": "Register, show, change and transfer agents.",
    "feedback": "Give, read, average, answer and revoke feedback.",
    "rate": "Rate clients and validators as a server, and read such ratings. Ratings are final.",
    "blind": "Seal and open ratings that neither side can see before both have rated.",
    "validation": "Request validations of an agent's work, respond to them and read the responses.",
    "auth": "Authorise feedback as an agent's owner, give it as a client, and read it.",
    "signals": "Publish what a watchtower measures.",
    "watchtower": "Measure which agents are alive, without acting or paying, and publish the results.",
    "transaction": "Speed up or cancel a pending transaction.",
    "deployment": "Show the registries in use and who can change their code; list the address book.",
    "check": "Ask before money moves: should I pay this server, should I serve this client?",
    "watch": "Print the changes of agents and accounts as the index records them.",
    "webhooks": "Send signed changes to subscribers' URLs; add, list and remove subscriptions.",
    "trust": "Find coordinated and false ratings, and score agents without counting them.",
    "buyer": "Read and write buyers' records, which are backed by payments.",
    "x402": "Check a server that takes payments; rotate the keys that sign an agent's paid answers.",
    "solana": "Show a SATI agent on Solana, and change it with its owner's key.",
    "index": "Index the events of all registries into SQL, and compare the rows with the chain.",
}
"""The help of each group, in the order of the help. The module of a group has the same name."""

COMMANDS: Final = {
    "info": ("info", "Show the chain, its last block, the registries, and the signer with its balance."),
    "search": ("search", "Find agents in the index by text, capability and rating."),
    "serve": ("service", "Serve agents, ratings and searches over HTTP while following the chains."),
    "mcp": ("service", "Serve tools for models on the standard input and output (Model Context Protocol)."),
    "dev": (
        "dev",
        "Start a local chain with registries, token, facilitator, two agents and the service. Ctrl-C stops everything.",
    ),
}
"""The module and the help of each command of the root that is imported when it runs."""
