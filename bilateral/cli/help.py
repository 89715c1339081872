"""The help of commands and groups, which ends with examples that can be pasted as they stand."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

from bilateral.cli.errors import ReaderLeftError
from bilateral.cli.output import writing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class ExampleCommand(TyperCommand):
    """A command whose epilog is its examples."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, and below it the examples."""
        with _unbroken(self, formatter):
            super().format_help(ctx, formatter)


class ExampleGroup(TyperGroup):
    """A group whose epilog is its examples."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, and below it the examples."""
        with _unbroken(self, formatter):
            super().format_help(ctx, formatter)


def example_text(examples: Sequence[str]) -> str:
    """How a command is used, as its help shows it.

    Args:
        examples: Command lines.
    """
    return "\n".join(["Examples:", *(f"  {example}" for example in examples)])


@contextmanager
def _unbroken(command: ExampleCommand | ExampleGroup, formatter: Any) -> Iterator[None]:
    """Keep the examples from Typer, which breaks lines at the terminal's width, and write them after its help."""
    examples, command.epilog = command.epilog, None
    try:
        with writing():
            yield
    except SystemExit:  # Rich's, where nobody reads any further
        raise ReaderLeftError(os.strerror(errno.EPIPE)) from None
    finally:
        command.epilog = examples
    if examples:
        formatter.write(f"{examples}\n")
